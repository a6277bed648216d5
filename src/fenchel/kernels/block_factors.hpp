// What scales conjugate gradients where each class's curvatures differ: the blocks on the diagonal
// of the Hessian in block_newton.hpp,
//
//     M_k = sum_i h_ik (x_i, 1)(x_i, 1)' + D_k,
//
// factored; h_ik is s_i/S p_ik (1 - p_ik) of softmax, and s_i/S (1 - 1/m)/kappa of a hinge where k
// is among the m classes of a bent row's group. Of softmax most rows are so sure of a class that
// they say nothing: those with less than kFaint of the largest h_k are left out, which changes what
// is added up by little and its price by much.
//
// Scores that move alike for all classes change no slope, so that the Hessian there is D
// alone, which no block knows: M^-1 is used on what is left of a residual without its mean over
// classes, and the mean is divided by D's. Between classes, what is left looks like the Laplacian
// of a graph whose edges are confusions, scaled by its degrees: few products solve it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cholesky.hpp"
#include "output_products.hpp"

namespace fenchel {

class ClassFactors {
  public:
    static constexpr double kFaint = 0.003;
    static constexpr double kAlike = 1e-9;  // curvatures of two classes, as all are at W = 0
    static constexpr std::size_t kMostNumbers = 10'000'000;  // in all factors

    /// What factors of `rows` curvatures h (K a row) would cost, in products of two numbers.
    double price(const std::vector<double>& h, std::size_t rows, std::size_t n_columns,
                 std::size_t n_classes) {
        K_ = n_classes;
        width_ = n_columns + 1;
        if (K_ * width_ * width_ > kMostNumbers) return HUGE_VAL;
        alike_ = true;
        faint_.assign(K_, 0.0);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t k = 0; k < K_; ++k) {
                const double each = h[r * K_ + k];
                faint_[k] = std::max(faint_[k], kFaint * each);
                alike_ = alike_ && std::abs(each - h[r * K_]) <= kAlike * each;
            }
        std::size_t counted = 0;
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t k = 0; k < n_blocks(); ++k) counted += h[r * K_ + k] > faint_[k];
        const double width = static_cast<double>(width_);
        return width * width *
               (0.5 * static_cast<double>(counted) + width * static_cast<double>(n_blocks()) / 6);
    }

    /// Factors the blocks of the curvatures that were priced last, h_rk being that of row[r].
    void factor(const OutputProducts& X, const std::vector<double>& h, const std::int32_t* row,
                std::size_t rows, const double* D, const double* inertia, bool has_offsets) {
        L_.resize(K_);
        size_.assign(K_ * width_, 0.0);
        mean_.assign(width_, 0.0);
        weight_.assign(X.n_rows, 0.0);
        factored_ = true;
        for (std::size_t k = 0; k < K_; ++k) {
            if (k < n_blocks()) gather(X, h, row, rows, k, has_offsets);
            std::vector<double> M = gram_;
            for (std::size_t j = 0; j < width_; ++j) {
                const double penalty = j + 1 < width_ ? D[j * K_ + k] : inertia[k];
                M[j * width_ + j] += penalty;
                mean_[j] += penalty / static_cast<double>(K_);
                size_[k * width_ + j] = 1 / std::sqrt(M[j * width_ + j]);
            }
            right_.assign(width_, 0.0);
            factored_ = factored_ && fenchel::solve(M, width_, L_[k], right_.data());
        }
    }

    bool factored() const { return factored_; }

    /// x = M^-1 g, as said above; both have rows of K for each column and the offsets.
    void solve(const double* g, double* x) {
        for (std::size_t j = 0; j < width_; ++j) x[j * K_] = mean_of(g + j * K_);
        for (std::size_t k = K_; k-- > 0;) {
            for (std::size_t j = 0; j < width_; ++j)
                right_[j] = size_[k * width_ + j] * (g[j * K_ + k] - x[j * K_]);
            detail::substitute(L_[k].data(), width_, right_.data());
            for (std::size_t j = 0; j < width_; ++j) {
                const double each = size_[k * width_ + j] * right_[j];
                if (k > 0)
                    x[j * K_ + k] = each;
                else
                    right_[j] = each;
            }
        }
        for (std::size_t j = 0; j < width_; ++j) {
            double* to = x + j * K_;
            const double alike = to[0] / mean_[j];
            to[0] = right_[j];
            const double mean = mean_of(to);
            for (std::size_t k = 0; k < K_; ++k) to[k] += alike - mean;
        }
    }

  private:
    std::size_t n_blocks() const { return alike_ ? 1 : K_; }

    double mean_of(const double* row) const {
        double sum = 0;
        for (std::size_t k = 0; k < K_; ++k) sum += row[k];
        return sum / static_cast<double>(K_);
    }

    /// gram_ = sum_r h_rk (x, 1)(x, 1)' over the rows that are not faint.
    void gather(const OutputProducts& X, const std::vector<double>& h, const std::int32_t* row,
                std::size_t rows, std::size_t k, bool has_offsets) {
        chosen_.clear();
        for (std::size_t r = 0; r < rows; ++r) {
            const double each = h[r * K_ + k];
            if (!(each > faint_[k])) continue;
            chosen_.push_back(row[r]);
            weight_[static_cast<std::size_t>(row[r])] = each;
        }
        gram_.assign(width_ * width_, 0.0);
        X.gram(weight_.data(), chosen_.data(), chosen_.size(), gram_.data());
        if (!has_offsets)
            std::fill(gram_.end() - static_cast<std::ptrdiff_t>(width_), gram_.end(), 0.0);
    }

    std::size_t K_ = 0, width_ = 0;
    bool alike_ = false, factored_ = false;
    std::vector<double> faint_, weight_, gram_, size_, mean_, right_;
    std::vector<std::int32_t> chosen_;
    std::vector<std::vector<double>> L_;
};

}  // namespace fenchel

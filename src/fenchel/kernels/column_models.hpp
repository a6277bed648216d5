// The quadratic of column_descent.hpp, as a function of some columns, kept through the rows or
// through the Gram matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "column_storage.hpp"

namespace fenchel {

/// q as a function of the columns `which`, through the rows' slopes u.
template <class Columns>
class RowModel {
  public:
    /// `shift` is e, of which u knows nothing; `total` is sum_i h_i, or 0 without an offset.
    RowModel(const Columns& X, const std::int32_t* which, std::size_t size, RowCurvature h,
             double total, double damping, double* u)
        : X_(X), which_(which), size_(size), h_(h), total_(total), u_(u), q_(X.n_rows) {
        mean_.resize(size);
        curvature_.resize(size);
        if (total > 0) {
            double sum = 0;
            for (std::size_t i = 0; i < X.n_rows; ++i) sum += u[i];
            shift_ = -sum / total;
        }
        for (std::size_t p = 0; p < size; ++p) {
            const auto [sum, square] = moments(X, std::size_t(which[p]), h);
            work += double(X.count(std::size_t(which[p])));
            mean_[p] = total > 0 ? sum : 0.0;
            curvature_[p] = (1 + damping) * square;
            if (total > 0) curvature_[p] -= sum * sum / total;
            if (!(curvature_[p] > 1e-12 * square)) curvature_[p] = 0.0;  // a constant column
        }
    }

    std::size_t size() const { return size_; }
    double curvature(std::size_t p) const { return curvature_[p]; }

    double slope(std::size_t p) {
        work += double(X_.count(std::size_t(which_[p])));
        return product(X_, std::size_t(which_[p]), u_) + shift_ * mean_[p];
    }

    void move(std::size_t p, double step) {
        work += double(X_.count(std::size_t(which_[p])));
        add_column(X_, std::size_t(which_[p]), step, h_, u_);
        if (total_ > 0) shift_ -= step * mean_[p] / total_;
    }

    /// How much the sums over rows change if all columns move by `steps`.
    double rise(const double* steps) {
        std::fill(q_.begin(), q_.end(), 0.0);
        jump_ = 0;
        for (std::size_t p = 0; p < size_; ++p) {
            if (steps[p] == 0) continue;
            work += double(X_.count(std::size_t(which_[p])));
            add_column(X_, std::size_t(which_[p]), steps[p], {nullptr, 1.0}, q_.data());
            if (total_ > 0) jump_ -= steps[p] * mean_[p] / total_;
        }
        double change = 0;
        for (std::size_t i = 0; i < X_.n_rows; ++i) {
            const double step = q_[i] + jump_, h = h_(i);
            change += (u_[i] + h * (shift_ + 0.5 * step)) * step;
        }
        return change;
    }

    /// Makes the last change that `rise` was asked for.
    void jump() {
        for (std::size_t i = 0; i < X_.n_rows; ++i) u_[i] += h_(i) * q_[i];
        shift_ += jump_;
    }

    /// The slopes of the curvature along `steps`, X'diag(h) (X steps + e), in some of the columns.
    void bend(const double* steps, const std::vector<std::size_t>& some, double* out) {
        rise(steps);
        for (std::size_t i = 0; i < X_.n_rows; ++i) q_[i] = h_(i) * (q_[i] + jump_);
        for (const std::size_t p : some) {
            work += double(X_.count(std::size_t(which_[p])));
            out[p] = product(X_, std::size_t(which_[p]), q_.data());
        }
    }

    /// e, which from now on is in u as well.
    double settle() {
        if (shift_ != 0)
            for (std::size_t i = 0; i < X_.n_rows; ++i) u_[i] += h_(i) * shift_;
        const double moved = shift_;
        shift_ = 0;
        return moved;
    }

    double work = 0;  // numbers of X that were read

  private:
    const Columns X_;
    const std::int32_t* which_;
    std::size_t size_;
    RowCurvature h_;
    double total_, shift_ = 0, jump_ = 0;
    double* u_;
    std::vector<double> q_, mean_, curvature_;
};

/// q through the Gram matrix G of the columns, about their means where there is an offset; g are
/// the slopes.
class GramModel {
  public:
    GramModel(const double* G, std::size_t stride, std::size_t size, double damping, double* g)
        : G_(G), stride_(stride), size_(size), damping_(damping), g_(g), change_(size) {}

    std::size_t size() const { return size_; }
    double curvature(std::size_t p) const { return (1 + damping_) * G_[p * stride_ + p]; }
    double slope(std::size_t p) const { return g_[p]; }

    void move(std::size_t p, double step) {
        const double* __restrict column = G_ + p * stride_;
        double* __restrict g = g_;
#pragma omp simd
        for (std::size_t q = 0; q < size_; ++q) g[q] += step * column[q];
    }

    double rise(const double* steps) {
        std::fill(change_.begin(), change_.end(), 0.0);
        for (std::size_t p = 0; p < size_; ++p) {
            if (steps[p] == 0) continue;
            const double* column = G_ + p * stride_;
            for (std::size_t q = 0; q < size_; ++q) change_[q] += steps[p] * column[q];
        }
        double rise = 0;
        for (std::size_t p = 0; p < size_; ++p) rise += steps[p] * (g_[p] + 0.5 * change_[p]);
        return rise;
    }

    void jump() {
        for (std::size_t p = 0; p < size_; ++p) g_[p] += change_[p];
    }

    double entry(std::size_t p, std::size_t q) const { return G_[p * stride_ + q]; }

  private:
    const double* G_;
    std::size_t stride_, size_;
    double damping_;
    double* g_;
    std::vector<double> change_;
};

}  // namespace fenchel

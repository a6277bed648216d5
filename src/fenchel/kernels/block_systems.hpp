// Newton's systems of block_newton.hpp, (H + R) p = -g, where
//
//     H = sum over the bent rows i of s_i/S (x_i, 1)(x_i, 1)' (x) h_i
//
// and R is what else F bends by: the penalty, and a little for the offsets, which have none.
//
// They are solved by conjugate gradients to a residual that falls with the gradient (Dembo,
// Eisenstat and Steihaug 1982); a product reads the rows that are bent, which of a hinge are few.
// They are scaled by the blocks of single classes (block_factors.hpp), made anew once as much was
// spent on products as they cost; before that, and where they would be too large, by the diagonal.
// Where the parameters of a hinge are so few that the whole Hessian costs no more than a few
// products, it is made and factored at every step instead (block_hessian.hpp).
//
// Where few rows are bent, and the penalty is small for such columns, a step leads far beyond where
// other rows bend. R is then made stiffer by a part of C/kappa, which is at least the diagonal of H
// where all rows are bent: C_j = sum_i s_i/S x_ij^2, and 1 for the offsets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "block_bends.hpp"
#include "block_factors.hpp"
#include "block_hessian.hpp"
#include "output_products.hpp"
#include "vector_losses.hpp"

namespace fenchel {

template <class Loss>
class BlockSystems {
  public:
    using Label = typename Loss::Label;

    BlockSystems(const OutputProducts& X, const Loss& loss, const VectorRows<Label>& rows,
                 const double* D, double weight, bool has_intercept)
        : X(X),
          loss(loss),
          rows(rows),
          D(D),
          weight(weight),
          has_intercept(has_intercept),
          n(X.n_rows),
          d(X.n_columns),
          K(loss.size()),
          size((d + 1) * K),
          bend(K),
          bent(n),
          R(size) {
        for (auto* each : {&q, &t}) each->resize(n * K);
        for (auto* each : {&diagonal, &residual, &scaled, &direction, &product_})
            each->resize(size);
    }

    /// Finds the rows that are bent at slopes u, the diagonals of their h, and the sums of those.
    void find_bends(const double* slopes, double width) {
        u = slopes;
        kappa = width;
        n_bent = 0;
        std::fill(bend.begin(), bend.end(), 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            const double s = share(i);
            double* h = &t[n_bent * K];
            if (!(s > 0) || !bends_of_row(loss, rows.label(i), u + i * K, kappa, h)) continue;
            for (std::size_t k = 0; k < K; ++k) bend[k] += h[k] *= s;
            bent[n_bent++] = static_cast<std::int32_t>(i);
        }
        if (spent < 0) spent = kTypical * price();
    }

    /// How stiff an offset is.
    double bend_of(std::size_t k) const { return bend[k]; }

    bool is_stiffest() const { return stiffness >= 1; }

    /// Makes R stiffer, after a step that went too far.
    void stiffen() {
        stiffness = std::max(kStiffer * stiffness, kStiff);
        if (C.empty()) {
            std::vector<double> shares(n);
            for (std::size_t i = 0; i < n; ++i) shares[i] = share(i);
            C.assign(d, 0.0);
            X.squares(nullptr, n, shares.data(), 1, C.data());
            passes += 1;
        }
        find_bends(u, kappa);  // products have taken the place of what was found
    }

    /// Makes R softer, after one that did not.
    void soften() { stiffness = stiffness > kStiff ? stiffness / kSofter : 0.0; }

    /// p = -(H + R)^-1 g, up to round-off or roughly. The bends have to be found anew after it.
    void solve(const std::vector<double>& g, std::vector<double>& p) {
        for (std::size_t j = 0; j < d; ++j)
            for (std::size_t k = 0; k < K; ++k)
                R[j * K + k] = D[j * K + k] + (stiffness > 0 ? stiffness / kappa * C[j] : 0.0);
        for (std::size_t k = 0; k < K; ++k)
            R[d * K + k] = inertia(k, std::abs(g[d * K + k])) + stiffness / kappa;
        for (std::size_t j = 0; j < size; ++j) residual[j] = -g[j];
        if (factored_anew()) {
            hessian.solve(residual.data(), p.data());
        } else {
            factor_classes();
            if (!factors.factored()) {
                diagonal = R;
                X.squares(bent.data(), n_bent, t.data(), K, diagonal.data());
                for (std::size_t k = 0; k < K; ++k) diagonal[d * K + k] += bend[k];
            }
            gradients(p);
        }
        centre(p);
    }

    double passes = 0;  // that products took

  private:
    static constexpr double kInertia = 1e-6;  // of the offsets, which have no penalty
    static constexpr double kStiff = 1e-6, kStiffer = 100, kSofter = 10;
    static constexpr double kRough = 0.1;
    static constexpr std::size_t kRows = 64;
    static constexpr int kProducts = 300;
    static constexpr double kTypical = 30;  // products in a system, before any is solved
    static constexpr double kFew = 5;       // products that a factor of the Hessian may cost
    static constexpr std::size_t kMostFactored = 1500;  // parameters

    double share(std::size_t i) const { return rows.weight(i) / weight; }

    /// What an offset is held by: little, or where no row is bent as much as makes its step 1.
    double inertia(std::size_t k, double slope) const {
        if (bend[k] > 0) return kInertia * bend[k];
        return slope > 0 ? slope : 1.0;
    }

    /// No loss here knows a number that is added to all scores of a row, and offsets have no
    /// penalty: what of the step round-off sends that way, which may be far, is taken out.
    void centre(std::vector<double>& p) const {
        double* of = p.data() + d * K;
        const double mean = std::accumulate(of, of + K, 0.0) / static_cast<double>(K);
        for (std::size_t k = 0; k < K; ++k) of[k] -= mean;
    }

    /// out = (H + R) v; some rows at a time, which the caches keep between both products.
    void product(const std::vector<double>& v, std::vector<double>& out) {
        const double *by = v.data() + d * K, unit = 1 / weight;
        std::fill(out.begin(), out.end(), 0.0);
        double* sums = out.data() + d * K;
        for (std::size_t first = 0; first < n_bent; first += kRows) {
            const std::size_t count = std::min(kRows, n_bent - first);
            const std::int32_t* some = bent.data() + first;
            X.scores(some, count, v.data(), K, q.data());
            bend_rows(loss, rows, some, count, u, kappa, by, q.data(), t.data());
            X.adjoint(some, count, t.data(), K, out.data());
            for (std::size_t r = 0; r < count; ++r)
                for (std::size_t k = 0; k < K; ++k) sums[k] += t[r * K + k];
        }
        if (!has_intercept) std::fill(sums, sums + K, 0.0);
        for (std::size_t j = 0; j < size; ++j) out[j] = R[j] * v[j] + unit * out[j];
        passes += 2.0 * static_cast<double>(n_bent) / static_cast<double>(n);
    }

    /// Makes the classes' factors anew where that costs less than the products with the last ones.
    void factor_classes() {
        if (spent < factors.price(t, n_bent, d, K)) return;
        factors.factor(X, t, bent.data(), n_bent, R.data(), &R[d * K], has_intercept);
        spent = 0;
    }

    /// Makes the Hessian and its factor, if that takes less than a few products and solutions; in
    /// numbers multiplied, of which products take twice as long.
    bool factored_anew() {
        if constexpr (std::is_same_v<Loss, Softmax>) return false;
        if (!costs_less(2 * kFew * (price() + 2 * static_cast<double>(size * size)))) return false;
        hessian.factor(X, R.data(), &R[d * K]);
        return hessian.factored();
    }

    /// Of a product, in products of two numbers.
    double price() const { return 2.0 * static_cast<double>(n_bent * d * K); }

    /// Whether the Hessian and its factor take less.
    bool costs_less(double left) {
        const double width = static_cast<double>(d + 1), N = static_cast<double>(size);
        if (size > kMostFactored) return false;
        left -= N * N * N / 3;
        if (!(left > 0)) return false;
        hessian.clear(d, K, has_intercept);
        for (std::size_t r = 0; r < n_bent; ++r) {
            const auto i = static_cast<std::size_t>(bent[r]);
            if constexpr (!std::is_same_v<Loss, Softmax>)
                detail::with_groups(loss, rows.label(i), u + i * K, [&](auto&& member) {
                    left -= width * width * hessian.gather(i, share(i) / kappa, member);
                });
            if (!(left > 0)) return false;
        }
        return true;
    }

    /// scaled = (the factors that there are, or the diagonal)^-1 residual
    void precondition() {
        if (factors.factored()) return factors.solve(residual.data(), scaled.data());
        for (std::size_t j = 0; j < size; ++j) scaled[j] = residual[j] / diagonal[j];
    }

    double along_residual() const {
        double sum = 0;
        for (std::size_t j = 0; j < size; ++j) sum += residual[j] * scaled[j];
        return sum;
    }

    /// p by conjugate gradients, roughly.
    void gradients(std::vector<double>& p) {
        std::fill(p.begin(), p.end(), 0.0);
        precondition();
        direction = scaled;
        double along = along_residual();
        const double start = along;
        first = std::max(first, start);
        const double rough = std::min(kRough, std::sqrt(std::sqrt(start / first)));
        int k = 0;
        for (; k < kProducts && along > rough * rough * start; ++k) {
            product(direction, product_);
            double curvature = 0;
            for (std::size_t j = 0; j < size; ++j) curvature += direction[j] * product_[j];
            if (!(curvature > 0)) break;
            const double by = along / curvature;
            for (std::size_t j = 0; j < size; ++j) {
                p[j] += by * direction[j];
                residual[j] -= by * product_[j];
            }
            precondition();
            const double now = along_residual();
            for (std::size_t j = 0; j < size; ++j)
                direction[j] = scaled[j] + now / along * direction[j];
            along = now;
        }
        spent += k * price();
    }

    const OutputProducts& X;
    const Loss& loss;
    const VectorRows<Label> rows;  // without scores
    const double* D;
    const double weight;
    const bool has_intercept;
    const std::size_t n, d, K, size;
    const double* u = nullptr;
    double kappa = 1, stiffness = 0;
    std::vector<double> bend, q, t, C;
    std::vector<std::int32_t> bent;
    std::size_t n_bent = 0;
    std::vector<double> R, diagonal, residual, scaled, direction, product_;
    GroupHessian hessian;
    ClassFactors factors;
    double spent = -1;  // on products since the classes' factors were made
    double first = 0;   // the largest gradient
};

}  // namespace fenchel

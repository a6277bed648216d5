// Pegasos over batches of rows (Shalev-Shwartz et al. 2007), with L2 for the regulariser:
//
//     w_t+1 = (1 - eta_t lambda) w_t - eta_t a_t,    eta_t = 1 / (lambda t),
//
// a_t the subgradient of the batch, then w into the ball of a radius. A step on a sparse row must
// not touch every column, so w is kept as c v: shrinking and projecting change the number c alone,
// and a row goes into v. The norm is kept too: where delta x is added to w,
//
//     |w + delta x|^2 = |w|^2 + delta (<w, x> + <w + delta x, x>).
//
// So is the sum of the iterates. With C_k = c_1 + ... + c_k, and v_T the sum of what d_k was added
// at each step k,
//
//     sum_t c_t v_t = sum_k d_k (C_T - C_k-1) = C_T v_T - sum_k C_k-1 d_k.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dual_ascent.hpp"
#include "losses.hpp"
#include "matrix.hpp"

namespace fenchel {

/// What the rows have beside X; `s` and `offset` may be null, for 1 and 0.
struct SampledRows {
    const double *y, *s, *offset;
    double share;  // n / S, by which a mean over a batch estimates the whole
    double b;      // the intercept, held where it is
};

/// The iterate as c v, the sum of those before it, and the square of its norm.
class PegasosIterate {
  public:
    PegasosIterate(double* w, double* sum, std::size_t n) : v_(w), sum_(sum), n_(n), late_(n, 0.0) {
        for (std::size_t j = 0; j < n; ++j) square_ += w[j] * w[j];
    }

    template <class Matrix>
    double score(const Matrix& X, std::size_t i) const {
        return c_ * detail::row_dot(X, i, detail::Plain{}, v_);
    }

    /// w by (1 - 1/t).
    void shrink(double by) {
        if (by == 0) return restart();
        c_ *= by;
        square_ *= by * by;
        if (c_ < kSmall) flush();
    }

    template <class Matrix>
    void add(const Matrix& X, std::size_t i, double delta) {
        const double before = score(X, i), d = delta / c_;
        detail::row_add(X, i, d, v_);
        if (total_ != 0) detail::row_add(X, i, d * total_, late_.data());
        square_ = std::max(0.0, square_ + delta * (before + score(X, i)));
    }

    void project(double radius) {
        if (!(square_ > radius * radius)) return;
        if (radius == 0) return restart();
        c_ *= radius / std::sqrt(square_);
        square_ = radius * radius;
        if (c_ < kSmall) flush();
    }

    void count() { total_ += c_; }

    /// Writes w, and adds to the sum what has been counted.
    void flush() {
        for (std::size_t j = 0; j < n_; ++j) sum_[j] += total_ * v_[j] - late_[j];
        for (std::size_t j = 0; j < n_; ++j) v_[j] *= c_;
        std::fill(late_.begin(), late_.end(), 0.0);
        c_ = 1.0;
        total_ = 0.0;
    }

  private:
    static constexpr double kSmall = 1e-6;  // of c: so many digits of a sum are lost to it at most

    void restart() {
        flush();
        std::fill(v_, v_ + n_, 0.0);
        square_ = 0.0;
    }

    double *v_, *sum_;
    std::size_t n_;
    std::vector<double> late_;  // sum_k C_k-1 d_k
    double c_ = 1.0, total_ = 0.0, square_ = 0.0;
};

/// A step for each batch, order[0 .. ends[0]), order[ends[0] .. ends[1]) and so on, the first of
/// which is number t + 1. Moves w, and adds every iterate to `sum`; returns the last t.
template <class Matrix, class Loss>
std::uint64_t pegasos(const Matrix& X, const Loss& loss, const SampledRows& rows,
                      const std::int64_t* order, const std::int64_t* ends, std::size_t n_batches,
                      double lambda, double radius, std::uint64_t t, double* w, double* sum) {
    PegasosIterate at(w, sum, X.n_columns);
    std::vector<double> a;  // of the rows of a batch, all at the same w
    const std::size_t n = n_batches ? static_cast<std::size_t>(ends[n_batches - 1]) : 0;
    for (std::size_t k = 0, first = 0; k < n_batches; ++k) {
        const auto last = static_cast<std::size_t>(ends[k]);
        const double eta = 1 / (lambda * static_cast<double>(++t));
        const double mean = rows.share / static_cast<double>(last - first);
        a.resize(last - first);
        for (std::size_t l = first; l < last; ++l) {
            const auto i = static_cast<std::size_t>(order[l]);
            if (l + 2 < n) detail::fetch_row(X, static_cast<std::size_t>(order[l + 2]));
            const double z = at.score(X, i) + rows.b + (rows.offset ? rows.offset[i] : 0.0);
            a[l - first] = mean * (rows.s ? rows.s[i] : 1.0) * loss(z, rows.y[i]).slope;
        }
        at.shrink(1 - 1 / static_cast<double>(t));
        for (std::size_t l = first; l < last; ++l)
            if (a[l - first] != 0)
                at.add(X, static_cast<std::size_t>(order[l]), -eta * a[l - first]);
        at.project(radius);
        at.count();
        first = last;
    }
    at.flush();
    return t;
}

}  // namespace fenchel

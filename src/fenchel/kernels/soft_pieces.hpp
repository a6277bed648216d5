// Losses of K scores a row with their maxima made soft, and what Newton's method for offsets b that
// are added to the scores of every row needs of them (offsets.hpp; risks/offsets.py).
//
// A hinge is a maximum of lines, its pieces, and has no Hessian. Its maximum is softened,
//
//   m(z) = mu log sum_j exp(piece_j(z) / mu),   p_j = exp(piece_j / mu) / the sum,
//
// and the slopes a = sum_j p_j grad piece_j are dual variables of the hinge itself. With the same
// letters softmax is soft already, with the pieces z_k - z_y and mu = 1. The Hessian of m is the
// covariance of the pieces' gradients under p, over mu. As all losses here stay the same when all
// scores move together, it is a Laplacian: what is added up is C, minus its entries off the
// diagonal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "elementary.hpp"
#include "multiclass_losses.hpp"
#include "multilabel_losses.hpp"
#include "simd.hpp"
#include "vector_losses.hpp"

namespace fenchel {

/// The soft maximum of a row's pieces, their maximum (the loss), and their mean under p.
struct Softened {
    double soft, loss, mean;
};

namespace detail {

/// C += weight v v'
FENCHEL_INLINE void add_square(const double* v, std::size_t K, double weight, double* C) {
    for (std::size_t k = 0; k < K; ++k) {
        const double each = weight * v[k];
        if (each == 0) continue;
        double* row = C + k * K;
#pragma omp simd
        for (std::size_t l = 0; l < K; ++l) row[l] += each * v[l];
    }
}

/// Of one right class y, with p_k for the wrong classes in a: a_y = -sum p_k, v = p.
FENCHEL_INLINE void from_shares(std::size_t y, double right, double others, std::size_t K,
                                double* a, double* v) {
    const double total = others + right;
#pragma omp simd
    for (std::size_t k = 0; k < K; ++k) v[k] = a[k] /= total;
    v[y] = right / total;
    a[y] = -others / total;
}

/// v = p (1 - d), d_k = t_k - <p, t>, and a = v - e_y; returns sum p d^2.
FENCHEL_INLINE double tilt_shares(const double* t, std::size_t y, std::size_t K, double* a,
                                  double* v) {
    double mean = 0, square = 0, others = 0;
    for (std::size_t k = 0; k < K; ++k) mean += v[k] * t[k];
    for (std::size_t k = 0; k < K; ++k) {
        const double d = t[k] - mean;
        square += v[k] * d * d;
        a[k] = v[k] *= 1 - d;
        others += k == y ? 0.0 : a[k];
    }
    a[y] = -others;
    return square;
}

}  // namespace detail

/// Softmax as it is.
struct SoftmaxOffsets {
    using Label = Softmax::Label;
    Softmax loss;

    std::size_t size() const { return loss.size(); }

    FENCHEL_INLINE Softened operator()(const double* z, const Label* label, double* a,
                                       double* v) const {
        const double value = loss(z, label, a);
        std::copy(a, a + loss.K, v);
        v[static_cast<std::size_t>(*label)] += 1;
        return {value, value, value};
    }

    FENCHEL_INLINE void bend(const Label*, const double*, double* v, double weight,
                             double* C) const {
        detail::add_square(v, loss.K, weight, C);
    }

    /// With the slopes that p (1 - d) has: -l* of them plus their product with z is value - sum_k
    /// p_k (1 - d_k) log(1 - d_k), as sum p d = 0, and (1 - d) log(1 - d) <= d^2 - d.
    FENCHEL_INLINE double tilt(const double* z, const Label* label, const double* t, double* a,
                               double* v) const {
        const double value = (*this)(z, label, a, v).loss;
        return value - detail::tilt_shares(t, static_cast<std::size_t>(*label), loss.K, a, v);
    }
};

/// max over k of Delta(k, y) + z_k - z_y, softened
struct HingeOffsets {
    using Label = MulticlassHinge::Label;
    const MulticlassHinge& loss;
    double mu;

    std::size_t size() const { return loss.size(); }

    FENCHEL_INLINE Softened operator()(const double* z, const Label* label, double* a,
                                       double* v) const {
        const std::size_t K = size(), y = static_cast<std::size_t>(*label);
        const double* margin = loss.costs.of(y);
        double highest = kLowest;
#pragma omp simd reduction(max : highest)
        for (std::size_t k = 0; k < K; ++k) highest = std::max(highest, z[k] + margin[k]);
#pragma omp simd
        for (std::size_t k = 0; k < K; ++k)
            a[k] = exp_of_negative((z[k] + margin[k] - highest) / mu);
        const double right = a[y];
        a[y] = 0.0;
        double others = 0, below = 0;  // how far the mean of the pieces is below the highest
        for (std::size_t k = 0; k < K; ++k) {
            others += a[k];
            below += a[k] * (highest - (z[k] + margin[k]));
        }
        below = (below + right * (highest - z[y])) / (others + right);
        const double value = highest - z[y] + detail::finite(z, K);
        detail::from_shares(y, right, others, K, a, v);
        return {value + mu * std::log(others + right), value, value - below};
    }

    FENCHEL_INLINE void bend(const Label*, const double*, double* v, double weight,
                             double* C) const {
        detail::add_square(v, size(), weight / mu, C);
    }

    /// With the slopes that p (1 - d) has: the mean of the pieces.
    FENCHEL_INLINE double tilt(const double* z, const Label* label, const double* t, double* a,
                               double* v) const {
        const std::size_t K = size(), y = static_cast<std::size_t>(*label);
        const double* margin = loss.costs.of(y);
        const double value = (*this)(z, label, a, v).loss, highest = value + z[y];
        detail::tilt_shares(t, y, K, a, v);
        double below = 0;
        for (std::size_t k = 0; k < K; ++k) below += v[k] * (highest - (z[k] + margin[k]));
        return value - below;
    }
};

/// max over k of Delta(k, y) (1 + z_k - z_y), softened: gradients Delta_k (e_k - e_y)
struct SlackOffsets {
    using Label = MulticlassSlackHinge::Label;
    const MulticlassSlackHinge& loss;
    double mu;

    std::size_t size() const { return loss.size(); }

    FENCHEL_INLINE Softened operator()(const double* z, const Label* label, double* a,
                                       double* v) const {
        const std::size_t K = size(), y = static_cast<std::size_t>(*label);
        const double* cost = loss.costs.of(y);
        double highest = kLowest;
        for (std::size_t k = 0; k < K; ++k) {
            v[k] = cost[k] * (1 + (z[k] - z[y]));
            highest = std::max(highest, v[k]);
        }
        double total = 0, below = 0;
        for (std::size_t k = 0; k < K; ++k) {
            a[k] = exp_of_negative((v[k] - highest) / mu);
            total += a[k];
            below += a[k] * (highest - v[k]);
        }
        double sum = 0;
        for (std::size_t k = 0; k < K; ++k) sum += a[k] *= cost[k] / total;
        a[y] = -sum;
        const double value = highest + detail::finite(z, K);
        return {value + mu * std::log(total), value, value - below / total};
    }

    /// The covariance of two wrong classes is -a_k a_l, that with the right one a_k (a_y +
    /// Delta_k), with the other sign.
    FENCHEL_INLINE void bend(const Label* label, const double* a, double* v, double weight,
                             double* C) const {
        const std::size_t K = size(), y = static_cast<std::size_t>(*label);
        const double* cost = loss.costs.of(y);
        std::copy(a, a + K, v);
        v[y] = 0.0;
        detail::add_square(v, K, weight / mu, C);
        for (std::size_t k = 0; k < K; ++k) {
            const double with_right = weight / mu * v[k] * (cost[k] + a[y]);
            C[k * K + y] += with_right;
            C[y * K + k] += with_right;
        }
    }

    /// With p_k (1 - d_k), d_k = Delta_k (t_k - t_y) less its mean.
    FENCHEL_INLINE double tilt(const double* z, const Label* label, const double* t, double* a,
                               double* v) const {
        const std::size_t K = size(), y = static_cast<std::size_t>(*label);
        const double* cost = loss.costs.of(y);
        const double value = (*this)(z, label, a, v).loss;  // v: the pieces
        double total = 0, mean = 0, below = 0, sum = 0;
        for (std::size_t k = 0; k < K; ++k) {
            a[k] = exp_of_negative((v[k] - value) / mu);
            total += a[k];
            mean += a[k] * cost[k] * (t[k] - t[y]);
        }
        for (std::size_t k = 0; k < K; ++k) {
            const double p = a[k] / total * (1 - (cost[k] * (t[k] - t[y]) - mean / total));
            below += p * (value - v[k]);
            sum += a[k] = cost[k] * p;
        }
        a[y] = -sum;
        return value - below;
    }
};

/// max(0, tau + max over wrong k of z_k - min over right r of z_r), softened: with P_k the shares
/// of the wrong labels, Q_r those of the right ones, the pair (k, r) has p = pi P_k Q_r, and 0 the
/// rest.
struct MultilabelOffsets {
    using Label = MultilabelHinge::Label;
    const MultilabelHinge& loss;
    double mu;

    std::size_t size() const { return loss.size(); }

    FENCHEL_INLINE Softened operator()(const double* z, const Label* right, double* a,
                                       double* v) const {
        const std::size_t K = size();
        double ends[2] = {kLowest, kLowest}, sums[2] = {0, 0}, below[2] = {0, 0};
        for (std::size_t k = 0; k < K; ++k) {
            const int side = right[k] ? 1 : 0;
            v[k] = side ? -z[k] : z[k];
            ends[side] = std::max(ends[side], v[k]);
        }
        std::fill(a, a + K, 0.0);
        const double none = detail::finite(z, K);
        if (ends[0] == kLowest || ends[1] == kLowest) return {none, none, none};
        for (std::size_t k = 0; k < K; ++k) {
            const int side = right[k] ? 1 : 0;
            a[k] = exp_of_negative((v[k] - ends[side]) / mu);
            sums[side] += a[k];
            below[side] += a[k] * (ends[side] - v[k]);
        }
        const double gap = loss.tau + ends[0] + ends[1], highest = std::max(0.0, gap);
        const double lost = exp_of_negative((gap - highest) / mu) * sums[0] * sums[1];
        const double total = lost + exp_of_negative(-highest / mu), pi = lost / total;
        for (std::size_t k = 0; k < K; ++k) a[k] *= right[k] ? -pi / sums[1] : pi / sums[0];
        const double mean = pi * (gap - below[0] / sums[0] - below[1] / sums[1]);
        return {highest + mu * std::log(total) + none, highest + none, mean + none};
    }

    /// The covariance of labels on one side is -a_k a_l; of a wrong and a right one it is
    /// -pi (1 - pi) P_k Q_r.
    FENCHEL_INLINE void bend(const Label* right, const double* a, double* v, double weight,
                             double* C) const {
        const std::size_t K = size();
        double pi = 0;
        for (std::size_t k = 0; k < K; ++k) {
            v[k] = std::abs(a[k]);
            pi += right[k] ? 0.0 : v[k];
        }
        if (!(pi > 0)) return;
        const double across = std::max(0.0, 1 - pi) / pi;
        for (std::size_t k = 0; k < K; ++k) {
            const double each = weight / mu * v[k];
            if (each == 0) continue;
            for (std::size_t l = 0; l < K; ++l)
                C[k * K + l] += each * v[l] * (!right[k] == !right[l] ? 1.0 : across);
        }
    }

    /// With pi P_k Q_r (1 - d_kr), d_kr = t_k - t_r less its mean, added up over one of the two.
    FENCHEL_INLINE double tilt(const double* z, const Label* right, const double* t, double* a,
                               double* v) const {
        const std::size_t K = size();
        const double none = (*this)(z, right, a, v).mean * 0;
        double pi = 0, up = 0, down = 0;
        for (std::size_t k = 0; k < K; ++k) {
            pi += right[k] ? 0.0 : a[k];
            up += right[k] ? 0.0 : a[k] * t[k];
            down -= right[k] ? a[k] * t[k] : 0.0;
        }
        if (!(pi > 0)) return none;
        const double mean = up - down;
        double mass = 0, product = 0;
        for (std::size_t k = 0; k < K; ++k) {
            a[k] *= right[k] ? 1 - (up / pi - t[k] - mean) : 1 - (t[k] - down / pi - mean);
            mass += right[k] ? 0.0 : a[k];
            product += a[k] * z[k];
        }
        return loss.tau * mass + product;
    }
};

}  // namespace fenchel

// The best step on one row's K dual variables, for each loss of K scores (Keerthi et al. 2008;
// Shalev-Shwartz and Zhang 2013).
//
// The dual variables a of a row are slopes of its loss l, and z are its scores. A step moves a to
//
//     u = argmin l*(u) - <u, z> + kappa/2 |u - a|^2,
//
// which holds exactly if u is a subgradient of l at the scores t = z - kappa (u - a) that come of
// it:  t + kappa l'(t) = c  with  c = z + kappa a. It depends on a and z by c alone.
//
// Beside `block_step`, a loss says by `block_slack` how far z lies inside the piece of l whose
// slopes a are: as long as z moves by less, a is the best there is. 0 where a are no piece's.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "elementary.hpp"
#include "multiclass_losses.hpp"
#include "multilabel_losses.hpp"
#include "simd.hpp"

namespace fenchel {

/// What a step writes and keeps: K numbers each; and the same for the leaves of a tree of K nodes.
struct BlockWork {
    std::vector<double> z, u, t, c, d;
    std::vector<BlockWork> leaves;
    explicit BlockWork(std::size_t K) : z(K), u(K), t(K), c(K), d(K) {}
};

namespace detail {

/// The level theta with sum_k max(0, m_k - theta) = kappa > 0, from the one that the largest m_k
/// alone would ask for. The sum is convex in theta, so that Newton's steps from below never go too
/// far, and end where no m_k is passed any more: as many of them as there are m_k, at most.
FENCHEL_INLINE double level_of(const double* m, std::size_t K, double kappa) {
    double highest = kLowest;
#pragma omp simd reduction(max : highest)
    for (std::size_t k = 0; k < K; ++k) highest = std::max(highest, m[k]);
    double theta = highest - kappa;
    for (double last = HUGE_VAL;;) {
        double sum = 0, count = 0;
#pragma omp simd reduction(+ : sum, count)
        for (std::size_t k = 0; k < K; ++k) {
            sum += m[k] > theta ? m[k] - highest : 0.0;
            count += m[k] > theta ? 1.0 : 0.0;
        }
        if (!(count > 1 && count < last)) break;  // the largest alone, or the same as before
        last = count;
        theta = std::max(theta, highest + (sum - kappa) / count);
    }
    return theta;
}

/// log x for x >= 1e-300, to a few units of the last place.
FENCHEL_INLINE double log_of_positive(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    // An integer below 2^52 as the low bits of 2^52 + itself: there is no other vector code.
    const double exponent =
        std::bit_cast<double>((bits >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
    const double fraction =
        std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u) - 1.0;
    return 0.6931471805599453 * exponent + log1p_of_fraction(fraction);
}

}  // namespace detail

// ---- The hinge of rescaled margins -----------------------------------------------------------
//
// With u = p - e_y the conjugate is -<Delta, p> on the simplex, and p = max(0, m - theta) / kappa
// the projection of m / kappa on it, where m = c + Delta + kappa e_y.

FENCHEL_INLINE void block_step_loop(const MulticlassHinge& loss, const std::int64_t* label,
                                    double kappa, const double* a, BlockWork& work) {
    const std::size_t K = loss.size(), y = static_cast<std::size_t>(*label);
    const double *margin = loss.costs.of(y), *z = work.z.data();
    double *m = work.c.data(), *u = work.u.data();
#pragma omp simd
    for (std::size_t k = 0; k < K; ++k) m[k] = z[k] + margin[k] + kappa * a[k];
    m[y] = z[y] + margin[y] + kappa * (1 + a[y]);
    std::size_t top = 0;
    double second = kLowest;
    for (std::size_t k = 1; k < K; ++k) {
        const bool above = m[k] > m[top];
        second = std::max(second, above ? m[top] : m[k]);
        top = above ? k : top;
    }
    if (m[top] - second >= kappa) {  // a class alone, as of most rows
        std::fill(u, u + K, 0.0);
        u[y] -= 1;
        u[top] += 1;
        return;
    }
    const double theta = detail::level_of(m, K, kappa);
    double total = 0;  // kappa, up to round-off: divided by it, a class alone has exactly 1
#pragma omp simd reduction(+ : total)
    for (std::size_t k = 0; k < K; ++k) {
        u[k] = std::max(m[k] - theta, 0.0);
        total += u[k];
    }
    if (!(total > 0)) total = u[std::max_element(m, m + K) - m] = 1.0;  // kappa is lost in m
    u[y] = 0;
    double others = 0;
#pragma omp simd reduction(+ : others)
    for (std::size_t k = 0; k < K; ++k) {
        u[k] /= total;
        others += u[k];
    }
    u[y] = -others;
}

FENCHEL_INLINE double block_slack(const MulticlassHinge& loss, const double* z,
                                  const std::int64_t* label, const double* a) {
    const std::size_t K = loss.size(), y = static_cast<std::size_t>(*label);
    const double* margin = loss.costs.of(y);
    std::size_t r = y;
    if (a[y] != 0) {
        if (a[y] != -1) return 0.0;
        for (r = 0; r < K && a[r] != 1;) ++r;
        if (r == K) return 0.0;
    }
    double second = kLowest;
    for (std::size_t k = 0; k < K; ++k)
        if (k != r) second = std::max(second, z[k] + margin[k]);
    return z[r] + margin[r] - second;
}

// ---- Softmax ---------------------------------------------------------------------------------
//
// t + kappa softmax(t) = c + kappa e_y is where kappa logsumexp(t) + |t - c - kappa e_y|^2/2 has
// its minimum. Newton's step d solves (I + kappa H) d = -(t + kappa p - c - kappa e_y) with H =
// diag(p) - pp', in closed form. Along d the third derivative is at most R = max d - min d times
// the second, so that the slope after the step s is at most (-1 + (e^(R s) - 1) / R) times the
// curvature: it is negative until s = log(1 + R) / R, and steps of that length descend. They start
// where the tangent at the old p leads, which is a step ahead of z for the price of a logarithm.
// The last is taken along the slope's tangent, whose error is about R^2.

namespace detail {

/// d = (I + kappa H)^-1 r, given D = 1 + kappa p; by the formula of Sherman and Morrison, where
/// 1 - kappa sum p^2 / D = sum p / D. Gives the largest entry less the smallest.
FENCHEL_INLINE double softmax_newton(const double* p, double kappa, std::size_t K, const double* r,
                                     double* d) {
    double along = 0, total = 0;
#pragma omp simd reduction(+ : along, total)
    for (std::size_t k = 0; k < K; ++k) {
        const double share = p[k] / (1 + kappa * p[k]);
        along += share * r[k];
        total += share;
    }
    const double shift = kappa * along / total;
    double low = HUGE_VAL, high = -HUGE_VAL;
#pragma omp simd reduction(min : low) reduction(max : high)
    for (std::size_t k = 0; k < K; ++k) {
        d[k] = (r[k] + shift * p[k]) / (1 + kappa * p[k]);
        low = std::min(low, d[k]);
        high = std::max(high, d[k]);
    }
    return high - low;
}

/// p = softmax(t)
FENCHEL_INLINE void softmax_of(const double* t, std::size_t K, double* p) {
    double highest = kLowest, total = 0;
#pragma omp simd reduction(max : highest)
    for (std::size_t k = 0; k < K; ++k) highest = std::max(highest, t[k]);
#pragma omp simd reduction(+ : total)
    for (std::size_t k = 0; k < K; ++k) {
        p[k] = exp_of_negative(t[k] - highest);
        total += p[k];
    }
#pragma omp simd
    for (std::size_t k = 0; k < K; ++k) p[k] /= total;
}

}  // namespace detail

FENCHEL_INLINE void block_step_loop(const Softmax& loss, const std::int64_t* label, double kappa,
                                    const double* a, BlockWork& work) {
    constexpr double enough = 1e-3, tiny = 1e-300;
    constexpr int most = 100;
    const std::size_t K = loss.size(), y = static_cast<std::size_t>(*label);
    double *z = work.z.data(), *p = work.u.data(), *t = work.t.data(), *c = work.c.data(),
           *d = work.d.data();
    std::copy(a, a + K, p);
    p[y] += 1;
#pragma omp simd
    for (std::size_t k = 0; k < K; ++k) {
        c[k] = z[k] + kappa * p[k];
        t[k] = detail::log_of_positive(std::max(p[k], tiny));
        z[k] -= t[k];
    }
    detail::softmax_newton(p, kappa, K, z, d);
#pragma omp simd
    for (std::size_t k = 0; k < K; ++k) t[k] += d[k];
    for (int n = 0; n < most; ++n) {
        detail::softmax_of(t, K, p);
#pragma omp simd
        for (std::size_t k = 0; k < K; ++k) z[k] = c[k] - t[k] - kappa * p[k];
        const double R = detail::softmax_newton(p, kappa, K, z, d);
        if (!(R > enough) || !std::isfinite(R)) {
            double mean = 0;
#pragma omp simd reduction(+ : mean)
            for (std::size_t k = 0; k < K; ++k) mean += p[k] * d[k];
#pragma omp simd
            for (std::size_t k = 0; k < K; ++k) p[k] += p[k] * (d[k] - mean);
            break;
        }
        const double s = std::log1p(R) / R;
#pragma omp simd
        for (std::size_t k = 0; k < K; ++k) t[k] += s * d[k];
    }
    p[y] = 0;
    double others = 0;
    for (std::size_t k = 0; k < K; ++k) others += p[k];
    p[y] = -others;
}

FENCHEL_INLINE double block_slack(const Softmax&, const double*, const std::int64_t*,
                                  const double*) {
    return 0.0;
}

// ---- The hinge of a set of labels ------------------------------------------------------------
//
// With u_k >= 0 for wrong labels k, u_r <= 0 for right labels r and both sums equal to P <= 1, the
// conjugate is -tau P. Where P < 1 one level theta serves both sides,
//
//     u_k = max(0, c_k + tau - theta) / kappa,    u_r = -max(0, theta - c_r) / kappa,
//
// and the sums are equal there; else each side has its own, at which its sum is 1.

namespace detail {

/// The theta with sum_k max(0, up_k - theta) = sum_r max(0, theta - down_r), between low = min
/// down and high = max up; by Newton's steps in a bracket, exact on the last piece. Also the sum.
FENCHEL_INLINE double common_level(const double* m, const std::uint8_t* in, std::size_t K,
                                   double low, double high, double& sum) {
    double theta = low + 0.5 * (high - low);
    for (int n = 0; n < 200; ++n) {
        double up = 0, down = 0, count = 0;
        for (std::size_t k = 0; k < K; ++k) {
            const double over = in[k] ? theta - m[k] : m[k] - theta;
            if (!(over > 0)) continue;
            (in[k] ? down : up) += over;
            count += 1;
        }
        sum = 0.5 * (up + down);
        (down < up ? low : high) = theta;
        const double next = theta + (up - down) / std::max(count, 1.0), last = theta;
        if (std::abs(next - last) <= 1e-15 * std::abs(last)) break;
        theta = low < next && next < high ? next : low + 0.5 * (high - low);
        if (theta == last) break;
    }
    return theta;
}

/// The slopes of one side at a level, scaled so that they add up to `total`.
FENCHEL_INLINE void one_side(const double* m, const std::uint8_t* in, std::size_t K, bool inside,
                             double theta, double total, double* u) {
    double sum = 0;
    for (std::size_t k = 0; k < K; ++k) {
        if ((in[k] != 0) != inside) continue;
        u[k] = std::max(0.0, inside ? theta - m[k] : m[k] - theta);
        sum += u[k];
    }
    for (std::size_t k = 0; k < K; ++k)
        if ((in[k] != 0) == inside) u[k] = u[k] == sum ? total : u[k] * (total / sum);
    if (inside)
        for (std::size_t k = 0; k < K; ++k)
            if (in[k]) u[k] = -u[k];
}

}  // namespace detail

FENCHEL_INLINE void block_step_loop(const MultilabelHinge& loss, const std::uint8_t* in,
                                    double kappa, const double* a, BlockWork& work) {
    const std::size_t K = loss.size();
    double *m = work.c.data(), *u = work.u.data(), *side = work.d.data();
    double high = kLowest, low = -kLowest;
    for (std::size_t k = 0; k < K; ++k) {
        m[k] = work.z[k] + kappa * a[k] + (in[k] ? 0.0 : loss.tau);
        (in[k] ? low : high) = in[k] ? std::min(low, m[k]) : std::max(high, m[k]);
        u[k] = 0.0;
    }
    if (!(high > low) || !std::isfinite(high) || !std::isfinite(low)) return;
    double sum = 0;
    const double theta = detail::common_level(m, in, K, low, high, sum);
    if (sum < kappa) {
        detail::one_side(m, in, K, false, theta, sum / kappa, u);
        detail::one_side(m, in, K, true, theta, sum / kappa, u);
        return;
    }
    for (std::size_t k = 0; k < K; ++k) side[k] = in[k] ? kLowest : m[k];
    detail::one_side(m, in, K, false, detail::level_of(side, K, kappa), 1.0, u);
    for (std::size_t k = 0; k < K; ++k) side[k] = in[k] ? -m[k] : kLowest;
    detail::one_side(m, in, K, true, -detail::level_of(side, K, kappa), 1.0, u);
}

FENCHEL_INLINE double block_slack(const MultilabelHinge& loss, const double* z,
                                  const std::uint8_t* in, const double* a) {
    const std::size_t K = loss.size();
    std::size_t outside = K, inside = K;  // of the piece that a are the slopes of
    for (std::size_t k = 0; k < K; ++k) {
        if (a[k] == 0) continue;
        if (std::abs(a[k]) != 1) return 0.0;
        (in[k] ? inside : outside) = k;
    }
    double up = kLowest, down = kLowest;
    for (std::size_t k = 0; k < K; ++k) {
        if (in[k] && k != inside) down = std::max(down, -z[k]);
        if (!in[k] && k != outside) up = std::max(up, z[k]);
    }
    if (outside == K) return -(loss.tau + up + down);
    return std::min({loss.tau + z[outside] - z[inside], z[outside] - up, -z[inside] - down});
}

// ---- Compiled for whatever the machine has -----------------------------------------------------

namespace detail {

template <class Loss>
FENCHEL_AVX2 void block_step_avx2(const Loss& loss, const typename Loss::Label* label, double kappa,
                                  const double* a, BlockWork& work) {
    block_step_loop(loss, label, kappa, a, work);
}

}  // namespace detail

/// Puts the best slopes of a row with the scores work.z and the slopes a in the place of work.u;
/// work.z is not kept.
template <class Loss>
void block_step(const Loss& loss, const typename Loss::Label* label, double kappa, const double* a,
                BlockWork& work) {
    has_avx2() ? detail::block_step_avx2(loss, label, kappa, a, work)
               : block_step_loop(loss, label, kappa, a, work);
}

}  // namespace fenchel

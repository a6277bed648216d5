// Losses smoothed by a strongly convex term in the dual ([Zhang11] section 5.1, eq. 53), row by
// row:
//
//     l_mu(z) = max over u of u z - l*(u) - mu/2 u^2 = min over t of l(t) + (z - t)^2 / (2 mu),
//
// with the slope u = (z - t) / mu at the t of dual_ascent.hpp, t + mu l'(t) = z. It lies below l.
// With an intercept, b is the multiplier of sum_i s_i u_i = 0: of the hinge that is the quadratic
// over a box and a plane of [Zhang11] section 5.5.1, and Newton's steps on b, exact between two
// kinks of the slope, end after a few sweeps over the rows, whatever the loss.
#pragma once

#include <cstddef>
#include <vector>

#include "multipliers.hpp"
#include "offset.hpp"

namespace fenchel {

/// What rows add up to: values and slopes of l_mu, and how fast the slopes on kinks rise.
struct Smoothed {
    double value, slope, rise;
};

namespace detail {

/// Row i is smoothed by mu * width(i) > 0.
template <class Loss, class Weight, class Width>
FENCHEL_INLINE Smoothed smoothed_loop(const Loss loss, const Rows rows, const Weight weight,
                                      const Width width, const double mu, const double b,
                                      double* __restrict u, const std::size_t n) {
    const double* __restrict z = rows.z, * __restrict y = rows.y;
    double value = 0, slope = 0, rise = 0;
#pragma omp simd reduction(+ : value, slope, rise)
    for (std::size_t i = 0; i < n; ++i) {
        const double kappa = mu * width(i), at = z[i] + b, s = weight(i);
        const Augmented found = augmented(loss, kappa, 0.0, at, y[i]);
        const double t = at - kappa * found.u;
        const double l = loss(t, y[i]).value + 0.5 * kappa * found.u * found.u;
        u[i] = found.u;
        value += s > 0 ? s * l : 0.0;  // a row of weight 0 is not there, even at inf
        slope += s > 0 ? s * found.u : 0.0;
        rise += s > 0 ? s * found.kink / kappa : 0.0;
    }
    return {value, slope, rise};
}

template <class Loss>
FENCHEL_INLINE Smoothed smoothed_cases(const Loss loss, const Rows rows, const double mu,
                                       const double* widths, const double b, double* u,
                                       const std::size_t n) {
    if (rows.s == nullptr && widths == nullptr)
        return smoothed_loop(loss, rows, Unweighted{}, Unweighted{}, mu, b, u, n);
    if (widths == nullptr)
        return smoothed_loop(loss, rows, Weighted{rows.s}, Unweighted{}, mu, b, u, n);
    if (rows.s == nullptr)
        return smoothed_loop(loss, rows, Unweighted{}, Weighted{widths}, mu, b, u, n);
    return smoothed_loop(loss, rows, Weighted{rows.s}, Weighted{widths}, mu, b, u, n);
}

template <class Loss>
FENCHEL_AVX2 Smoothed smoothed_avx2(const Loss loss, const Rows rows, const double mu,
                                    const double* widths, const double b, double* u,
                                    const std::size_t n) {
    return smoothed_cases(loss, rows, mu, widths, b, u, n);
}

}  // namespace detail

/// sum_i s_i l_mu(z_i + b) and its slopes in b, and in `u` the rows' slopes without their weights.
/// Row i is smoothed by mu, or by mu * widths_i; by mu = 0 it stays as it is.
template <class Loss>
Smoothed smoothed(const Loss& loss, const Rows& rows, double mu, const double* widths, double b,
                  double* u, std::size_t n) {
    if (mu > 0)
        return has_avx2() ? detail::smoothed_avx2(loss, rows, mu, widths, b, u, n)
                          : detail::smoothed_cases(loss, rows, mu, widths, b, u, n);
    const Rows plain{rows.z, rows.y, nullptr};
    const Bend total = sums(loss, rows, b, n);
    slopes(loss, plain, b, u, 0, n);
    return {total.value, total.slope, 0.0};
}

/// The same at the best offset b, sought from `near`, over `total`, the sum of the weights: the
/// slopes are those of the mean of two tangents whose slopes in b cancel.
template <class Loss>
Offset smoothed_offset(const Loss& loss, const Rows& rows, double mu, const double* widths,
                       double total, double near, double* u, std::size_t n) {
    constexpr int kSteps = 10;
    const double resolution = offset_resolution(rows, n);
    for (int k = 0; k < kSteps; ++k) {
        const Smoothed at = smoothed(loss, rows, mu, widths, near, u, n);
        const double step = at.slope / at.rise;
        if (!std::isfinite(step)) break;
        near -= step;
        if (std::abs(step) <= resolution) break;
    }
    const auto trial = [&](double b) -> OffsetTrial {
        const Smoothed at = smoothed(loss, rows, mu, widths, b, u, n);
        return {b, at.value / total, at.slope / total};
    };
    const Offset best = best_offset(trial, near, resolution, true);
    smoothed(loss, rows, mu, widths, best.below, u, n);
    if (best.above == best.below) return best;
    std::vector<double> above(n);
    smoothed(loss, rows, mu, widths, best.above, above.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
        const double mean = best.weight_below * u[i] + best.weight_above * above[i];
        // The weights add up to 1 but for round-off, which must not lead out of the domain.
        u[i] = std::clamp(mean, std::min(u[i], above[i]), std::max(u[i], above[i]));
    }
    return best;
}

}  // namespace fenchel

// A step of the primal-dual hybrid gradient method on the dual variables of some rows (Chambolle
// and Pock, J. Math. Imaging and Vision 2011). With the scores z of the last point, those of the
// next and its offset, row i's slope a_i moves to
//
//     u = argmin l*(u) - u z_ahead + kappa/2 (u - a_i)^2,    z_ahead = 2 z_next - z + b_ahead,
//
// which is the slope of multipliers.hpp. The same sweep adds up what the method asks of all rows,
// and moves the means of scores and slopes towards the new ones.
#pragma once

#include <cstddef>

#include "multipliers.hpp"

namespace fenchel {

/// The rows of a point: its scores and slopes, and the means over the points so far.
struct SaddleRows {
    const double* z;
    const double* a;
    const double* mean_z;
    const double* mean_a;
};

/// The same of the next point; the scores are known, all else is to be written.
struct NextSaddleRows {
    const double* z;
    double* a;
    double* mean_z;
    double* mean_a;
};

/// Offsets, 1 / sigma, and the share of the next point in the means.
struct SaddleStep {
    double b, b_ahead, kappa, share;
};

/// sum_i s_i times: the loss at z_next + b; the squared change of a slope; the new slope.
struct SaddleSums {
    double value, change, imbalance;
};

namespace detail {

template <class Loss, class Weight, class Fixed>
FENCHEL_INLINE SaddleSums saddle_loop(const Loss loss, const double* __restrict y,
                                      const Weight weight, const Fixed fixed, const SaddleRows at,
                                      const NextSaddleRows next, const SaddleStep step,
                                      const std::size_t n) {
    const double* __restrict z = at.z, * __restrict a = at.a;
    const double* __restrict mean_z = at.mean_z, * __restrict mean_a = at.mean_a;
    const double* __restrict to = next.z;
    double* __restrict u = next.a, * __restrict new_z = next.mean_z, * __restrict new_a = next.mean_a;
    double value = 0, change = 0, imbalance = 0;
#pragma omp simd reduction(+ : value, change, imbalance)
    for (std::size_t i = 0; i < n; ++i) {
        const double ahead = 2 * to[i] - z[i] + (step.b_ahead + fixed(i)), s = weight(i);
        const double slope = augmented(loss, step.kappa, a[i], ahead, y[i]).u;
        const double moved = slope - a[i], l = loss(to[i] + (step.b + fixed(i)), y[i]).value;
        value += s > 0 ? s * l : 0.0;  // a row of weight 0 is not there, even at inf
        change += s > 0 ? s * (moved * moved) : 0.0;
        imbalance += s > 0 ? s * slope : 0.0;
        new_z[i] = mean_z[i] + step.share * (to[i] - mean_z[i]);
        new_a[i] = mean_a[i] + step.share * (slope - mean_a[i]);
        u[i] = slope;
    }
    return {value, change, imbalance};
}

struct NotShifted {
    FENCHEL_INLINE double operator()(std::size_t) const { return 0.0; }
};

template <class Loss>
FENCHEL_INLINE SaddleSums saddle_cases(const Loss loss, const double* y, const double* s,
                                       const double* fixed, const SaddleRows at,
                                       const NextSaddleRows next, const SaddleStep step,
                                       const std::size_t n) {
    if (s == nullptr && fixed == nullptr)
        return saddle_loop(loss, y, Unweighted{}, NotShifted{}, at, next, step, n);
    if (fixed == nullptr) return saddle_loop(loss, y, Weighted{s}, NotShifted{}, at, next, step, n);
    if (s == nullptr) return saddle_loop(loss, y, Unweighted{}, Weighted{fixed}, at, next, step, n);
    return saddle_loop(loss, y, Weighted{s}, Weighted{fixed}, at, next, step, n);
}

template <class Loss>
FENCHEL_AVX2 SaddleSums saddle_avx2(const Loss loss, const double* y, const double* s,
                                    const double* fixed, const SaddleRows at,
                                    const NextSaddleRows next, const SaddleStep step,
                                    const std::size_t n) {
    return saddle_cases(loss, y, s, fixed, at, next, step, n);
}

}  // namespace detail

/// `s` and `fixed`, what is added to the rows' scores, may be null.
template <class Loss>
SaddleSums saddle_step(const Loss& loss, const double* y, const double* s, const double* fixed,
                       const SaddleRows& at, const NextSaddleRows& next, const SaddleStep& step,
                       std::size_t n) {
    return has_avx2() ? detail::saddle_avx2(loss, y, s, fixed, at, next, step, n)
                      : detail::saddle_cases(loss, y, s, fixed, at, next, step, n);
}

}  // namespace fenchel

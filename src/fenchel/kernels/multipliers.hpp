// The augmented Lagrangian of a risk with kinks, row by row. With multiplier a_i and weight
// 1/kappa,
//
//     M_i(z) = min over t of l(t) + a_i (z - t) + (z - t)^2 / (2 kappa)
//
// is smooth; its slope is the u_i of dual_ascent.hpp, and where the best t is a kink of the loss
// the slope rises at the rate 1/kappa.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "bends.hpp"
#include "dual_ascent.hpp"

namespace fenchel {

namespace detail {

/// What M_i says at one score: its slope, and 1 where t is a kink, else 0.
struct Augmented {
    double u, kink;
};

/// For a piecewise linear loss without a branch, as no guess of one would be right: across each
/// kink, and they come in order, u rises at the rate 1/kappa from the slope on its left to that on
/// its right.
template <class Loss>
FENCHEL_INLINE Augmented augmented(const Loss& loss, double kappa, double a, double z, double y) {
    if constexpr (requires { loss.to_kink(0.0, 0.0); }) {
        const auto pieces = loss.pieces(y);
        const double rate = 1 / kappa;  // the same for all rows, and so divided once
        double u = pieces.start, left = pieces.start, kink = 0;
        for (const Piece& piece : pieces.breaks) {
            const double rise = (z - piece.at) * rate + (a - left);
            const double reached = rise > 0 ? rise : 0.0;
            const double inside = reached < piece.jump ? reached : piece.jump;
            u += inside;
            kink += inside == rise ? 1.0 : 0.0;
            left += piece.jump;
        }
        return {u, kink};
    } else {
        const Landing at = landing(loss, kappa, z + kappa * a, z, y);
        return {at.u, at.kink ? 1.0 : 0.0};
    }
}

template <class Loss>
FENCHEL_INLINE void augmented_slopes_loop(const Loss loss, const Rows rows,
                                          const double* __restrict a, const double kappa,
                                          const double b, double* __restrict u,
                                          double* __restrict kink, const std::size_t n) {
    const double* __restrict z = rows.z, * __restrict y = rows.y;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const Augmented at = augmented(loss, kappa, a[i], z[i] + b, y[i]);
        u[i] = at.u;
        kink[i] = at.kink;
    }
}

template <class Loss>
FENCHEL_AVX2 void augmented_slopes_avx2(const Loss loss, const Rows rows, const double* a,
                                        const double kappa, const double b, double* u, double* kink,
                                        const std::size_t n) {
    augmented_slopes_loop(loss, rows, a, kappa, b, u, kink, n);
}

struct Unweighted {
    FENCHEL_INLINE double operator()(std::size_t) const { return 1.0; }
};

struct Weighted {
    const double* __restrict s;
    FENCHEL_INLINE double operator()(std::size_t i) const { return s[i]; }
};

template <class Loss, class Weight>
FENCHEL_INLINE Slope augmented_slope_sums(const Loss loss, const Rows rows, const Weight weight,
                                          const double* __restrict a, const double kappa,
                                          const double b, const double* __restrict q,
                                          const double rate, const double eta,
                                          const std::size_t n) {
    const double* __restrict z = rows.z, * __restrict y = rows.y;
    double slope = 0, bent = 0;
#pragma omp simd reduction(+ : slope, bent)
    for (std::size_t i = 0; i < n; ++i) {
        const double by = q[i] + rate, weighted = weight(i) * by;
        const Augmented at = augmented(loss, kappa, a[i], z[i] + b + eta * by, y[i]);
        slope += weighted * at.u;
        bent += at.kink * weighted * by;
    }
    return {slope, bent / kappa};
}

template <class Loss>
FENCHEL_INLINE Slope augmented_slope_loop(const Loss loss, const Rows rows, const double* a,
                                          const double kappa, const double b, const double* q,
                                          const double rate, const double eta,
                                          const std::size_t n) {
    if (rows.s == nullptr)
        return augmented_slope_sums(loss, rows, Unweighted{}, a, kappa, b, q, rate, eta, n);
    return augmented_slope_sums(loss, rows, Weighted{rows.s}, a, kappa, b, q, rate, eta, n);
}

template <class Loss>
FENCHEL_AVX2 Slope augmented_slope_avx2(const Loss loss, const Rows rows, const double* a,
                                        const double kappa, const double b, const double* q,
                                        const double rate, const double eta, const std::size_t n) {
    return augmented_slope_loop(loss, rows, a, kappa, b, q, rate, eta, n);
}

}  // namespace detail

/// u_i, and in `bent` the rows whose t is a kink; returns how many they are.
template <class Loss>
std::size_t augmented_slopes(const Loss& loss, const Rows& rows, const double* a, double kappa,
                             double b, double* u, std::int32_t* bent, std::size_t n) {
    constexpr std::size_t kBlock = 512;
    double kink[kBlock];
    std::size_t count = 0;
    for (std::size_t first = 0; first < n; first += kBlock) {
        const std::size_t size = std::min(kBlock, n - first);
        const Rows block{rows.z + first, rows.y + first, nullptr};
        if (has_avx2())
            detail::augmented_slopes_avx2(loss, block, a + first, kappa, b, u + first, kink, size);
        else
            detail::augmented_slopes_loop(loss, block, a + first, kappa, b, u + first, kink, size);
        for (std::size_t i = 0; i < size; ++i) {
            bent[count] = static_cast<std::int32_t>(first + i);
            count += kink[i] > 0;
        }
    }
    return count;
}

/// The same of t |x|: the slope at x, and the best v, which is 0 on the kink.
inline double augmented_modulus(double t, double c, double kappa, double x, double& best) {
    best = x;
    if (!(t > 0)) return 0;
    const double slope = x / kappa + c;
    if (std::abs(slope) <= t) {
        best = 0;
        return slope;
    }
    best = x + kappa * (c - std::copysign(t, slope));
    return std::copysign(t, slope);
}

/// The u_i, and in `bent` the rows, if every row stays where its multiplier says: a_i, and if that
/// is between two slopes on their kink, where u rises at the rate 1/kappa beyond them, too.
template <class Loss>
std::size_t supposed_slopes(const Loss& loss, const Rows& rows, const double* a, double kappa,
                            double b, double* u, std::int32_t* bent, std::size_t n) {
    constexpr double kEnd = 1e-9;  // of a jump: so near its ends a multiplier is at one of them
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        u[i] = a[i];
        if constexpr (requires { loss.to_kink(0.0, 0.0); }) {
            const auto pieces = loss.pieces(rows.y[i]);
            double left = pieces.start;
            for (const Piece& piece : pieces.breaks) {
                const double end = kEnd * piece.jump;
                if (a[i] > left + end && a[i] < left + piece.jump - end) {
                    u[i] += (rows.z[i] + b - piece.at) / kappa;
                    bent[count++] = static_cast<std::int32_t>(i);
                }
                left += piece.jump;
            }
        }
    }
    return count;
}

/// The slope of eta -> sum_i s_i M_i(z_i + b + eta (q_i + rate)), and its slope.
template <class Loss>
Slope augmented_slope_along(const Loss& loss, const Rows& rows, const double* a, double kappa,
                            double b, const double* q, double rate, double eta, std::size_t n) {
    return has_avx2() ? detail::augmented_slope_avx2(loss, rows, a, kappa, b, q, rate, eta, n)
                      : detail::augmented_slope_loop(loss, rows, a, kappa, b, q, rate, eta, n);
}

}  // namespace fenchel

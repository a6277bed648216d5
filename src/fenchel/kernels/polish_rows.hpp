// The loops over rows of polish.hpp; `share` are the rows' shares s_i / S in the mean. They hold no
// branch on a slope, as no guess of one would be right, and add up in the same order every time.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>

#include "losses.hpp"

namespace fenchel::detail {

/// l*(u, y) of a piecewise linear loss: from its leftmost line on, l* rises at the rate of the kink
/// that a slope belongs to.
template <class Loss>
FENCHEL_INLINE double conjugate_of_row(const Loss& loss, double u, double y) {
    const auto pieces = loss.pieces(y);
    const double first = pieces.breaks[0].at;
    double left = pieces.start, value = left * first - loss(first, y).value;
    for (const Piece& piece : pieces.breaks) {
        const double rise = u - left > 0 ? u - left : 0.0;
        value += piece.at * (rise < piece.jump ? rise : piece.jump);
        left += piece.jump;
    }
    return value;
}

/// sum_i share_i l*(scale u_i, y_i)
template <class Loss>
double conjugates(const Loss loss, const double* __restrict y, const double* __restrict share,
                  const double* __restrict u, const double scale, const std::size_t n) {
    double total = 0;
    if constexpr (requires { loss.to_kink(0.0, 0.0); }) {
#pragma omp simd reduction(+ : total)
        for (std::size_t i = 0; i < n; ++i)
            total += share[i] * conjugate_of_row(loss, scale * u[i], y[i]);
    }
    return total;
}

/// What slopes above 0 add up to, and those below it.
inline std::pair<double, double> signed_sums(const double* __restrict share,
                                             const double* __restrict a, const std::size_t n) {
    double up = 0, down = 0;
#pragma omp simd reduction(+ : up, down)
    for (std::size_t i = 0; i < n; ++i) {
        const double each = share[i] * a[i];
        up += each > 0 ? each : 0.0;
        down += each < 0 ? -each : 0.0;
    }
    return {up, down};
}

/// a_i <- above a_i where a_i > 0, else below a_i
inline void shrink(double* __restrict a, const double above, const double below,
                   const std::size_t n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) a[i] *= a[i] > 0 ? above : below;
}

/// Shrinks the slopes of the sign that outweighs the other; false if neither does.
inline bool balance(const double* share, double* slopes, const std::size_t n) {
    constexpr double kEven = 1e-15;
    const auto [up, down] = signed_sums(share, slopes, n);
    if (std::abs(up - down) <= kEven * (up + down)) return false;
    shrink(slopes, up > down ? down / up : 1.0, up > down ? 1.0 : up / down, n);
    return true;
}

/// weighted_i = share_i (now_i - before_i); returns the sum of share_i now_i and how many have
/// changed.
inline std::pair<double, std::size_t> weigh_change(const double* __restrict share,
                                                   const double* __restrict now,
                                                   const double* __restrict before,
                                                   double* __restrict weighted,
                                                   const std::size_t n) {
    double total = 0, changed = 0;
#pragma omp simd reduction(+ : total, changed)
    for (std::size_t i = 0; i < n; ++i) {
        const double by = now[i] - before[i];
        weighted[i] = share[i] * by;
        total += share[i] * now[i];
        changed += by != 0 ? 1.0 : 0.0;
    }
    return {total, static_cast<std::size_t>(changed)};
}

/// sum_i share_i x_i y_i
inline double inner(const double* __restrict share, const double* __restrict x,
                    const double* __restrict y, const std::size_t n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t i = 0; i < n; ++i) total += share[i] * x[i] * y[i];
    return total;
}

/// sum_i share_i (u_i - a_i)^2
inline double squared_change(const double* __restrict share, const double* __restrict a,
                             const double* __restrict u, const std::size_t n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t i = 0; i < n; ++i) total += share[i] * (u[i] - a[i]) * (u[i] - a[i]);
    return total;
}

}  // namespace fenchel::detail

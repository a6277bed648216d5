// Exact line search ([Yu10] algorithm 3, for every piecewise quadratic loss): where the slope of
// eta -> sum_i s_i l(z_i + eta q_i, y_i) bends, and where it crosses zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <vector>

#include "losses.hpp"

namespace fenchel {

/// The slope of a function of eta jumps by `jump` at eta, and its curvature changes by `bend`.
struct Kink {
    double eta, jump, bend;
};

/// The slope and curvature of a piecewise quadratic function just right of some eta.
struct Slope {
    double slope, curvature;
};

namespace detail {

/// Which side of a breakpoint a step is on is decided by comparing steps, here and everywhere, so
/// that round-off can never lose a kink or count it twice.
template <class Loss>
FENCHEL_INLINE Slope slope_of_row(const Loss& loss, double z, double q, double y, double eta) {
    const auto pieces = loss.pieces(y);
    double slope = pieces.start + pieces.curvature * (z + eta * q), curvature = pieces.curvature;
    const auto pass = [&](const Piece& piece) {
        const double step = (piece.at - z) / q;
        const double crossed =
            step <= eta ? 1.0 : 0.0;  // numbers: GCC vectorises no choice of bools
        const double right = q > 0 ? crossed : 1.0 - crossed;  // of the breakpoint
        slope += right * (piece.jump + piece.bend * (z + eta * q - piece.at));
        curvature += right * piece.bend;
    };
    std::apply([&](const auto&... piece) { (pass(piece), ...); }, pieces.breaks);
    const bool moves = q != 0;
    return {moves ? slope * q : 0.0, moves ? curvature * q * q : 0.0};
}

template <class Loss>
FENCHEL_INLINE Slope slope_loop(const Loss loss, const Rows rows, const double* __restrict q,
                                const double eta, const std::size_t n) {
    const double* __restrict z = rows.z, * __restrict y = rows.y, * __restrict s = rows.s;
    double slope = 0, curvature = 0;
    if (s == nullptr) {
#pragma omp simd reduction(+ : slope, curvature)
        for (std::size_t i = 0; i < n; ++i) {
            const Slope row = slope_of_row(loss, z[i], q[i], y[i], eta);
            slope += row.slope;
            curvature += row.curvature;
        }
        return {slope, curvature};
    }
#pragma omp simd reduction(+ : slope, curvature)
    for (std::size_t i = 0; i < n; ++i) {
        const Slope row = slope_of_row(loss, z[i], q[i], y[i], eta);
        slope += s[i] * row.slope;
        curvature += s[i] * row.curvature;
    }
    return {slope, curvature};
}

template <class Loss>
FENCHEL_AVX2 Slope slope_avx2(const Loss loss, const Rows rows, const double* q, const double eta,
                              const std::size_t n) {
    return slope_loop(loss, rows, q, eta, n);
}

}  // namespace detail

/// The slope just right of eta; zero for a loss that is not piecewise quadratic.
template <class Loss>
Slope slope_along(const Loss& loss, const Rows& rows, const double* q, double eta, std::size_t n) {
    if constexpr (requires { loss.pieces(0.0); }) {
        return has_avx2() ? detail::slope_avx2(loss, rows, q, eta, n)
                          : detail::slope_loop(loss, rows, q, eta, n);
    } else {
        return {0.0, 0.0};
    }
}

/// The kinks in (low, high], in no order.
template <class Loss>
std::vector<Kink> kinks_along(const Loss& loss, const Rows& rows, const double* q, double low,
                              double high, std::size_t n) {
    std::vector<Kink> kinks;
    if constexpr (requires { loss.pieces(0.0); }) {
        for (std::size_t i = 0; i < n; ++i) {
            const double weight = rows.s == nullptr ? 1.0 : rows.s[i];
            const auto pieces = loss.pieces(rows.y[i]);
            for (const Piece& piece : pieces.breaks) {
                const double step = (piece.at - rows.z[i]) / q[i];  // nan or inf where q = 0
                if (step > low && step <= high && weight > 0) {
                    const double size = std::abs(q[i]);
                    kinks.push_back(
                        {step, weight * piece.jump * size, weight * piece.bend * size * q[i]});
                }
            }
        }
    }
    return kinks;
}

/// The first eta >= low at which a slope that starts at `from` is >= 0; inf if there is none.
///
/// Kinks are halved by selection until few are left, which are walked in order: linear time, where
/// [Yu10] sorts.
inline double crossing(Slope from, double low, std::vector<Kink>& kinks) {
    if (from.slope >= 0) return low;
    auto first = kinks.begin(), last = kinks.end();
    const auto before = [](const Kink& a, const Kink& b) { return a.eta < b.eta; };
    while (last - first > 32) {
        const auto middle = first + (last - first) / 2;
        std::nth_element(first, middle, last, before);
        Slope there{from.slope + from.curvature * (middle->eta - low), from.curvature};
        for (auto k = first; k != middle; ++k) {
            there.slope += k->jump + k->bend * (middle->eta - k->eta);
            there.curvature += k->bend;
        }
        if (there.slope >= 0) {
            last = middle;
        } else {  // `middle` itself stays among those to come
            from = there;
            low = middle->eta;
            first = middle;
        }
    }
    std::sort(first, last, before);
    for (auto k = first; k != last; ++k) {
        const double slope = from.slope + from.curvature * (k->eta - low);
        if (slope >= 0) break;
        from = {slope + k->jump, from.curvature + k->bend};
        low = k->eta;
        if (from.slope >= 0) return low;
    }
    const double curvature = std::max(from.curvature, 0.0);
    return curvature > 0 ? low - from.slope / curvature : std::numeric_limits<double>::infinity();
}

}  // namespace fenchel

// The line searches of solvers/_line_search.py, with the same letters, for J(w + eta p) as kernels
// know it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bends.hpp"
#include "losses.hpp"
#include "tolerances.hpp"

namespace fenchel {

namespace detail {

inline constexpr double kDecrease = 1e-4, kCurvature = 0.9, kFar = 1e100;
inline constexpr int kTrials = 200, kNarrowings = 4;
inline constexpr double kFlat = 0.1;  // of the slope at 0: good enough for a step of Newton's
inline constexpr int kFlatTrials = 40;

/// The secant's zero of the slope, kept away from the ends; the middle where it is unknown.
inline double between(double low, double low_slope, double high, double high_slope) {
    const double width = high - low;
    if (!(low_slope < high_slope && high_slope < std::numeric_limits<double>::infinity()))
        return low + 0.5 * width;
    const double eta = low - low_slope * width / (high_slope - low_slope);
    return std::min(std::max(eta, low + 0.1 * width), high - 0.1 * width);
}

/// Sufficient decrease, or its slope form where the values differ by round-off only.
inline bool descends(const Bend& trial, const Bend& start, double eta) {
    if (trial.value <= start.value + kDecrease * eta * start.slope) return true;
    const bool flat = trial.value <= start.value + FEW_OPERATIONS * std::abs(start.value);
    return flat && trial.slope <= (2 * kDecrease - 1) * start.slope;
}

}  // namespace detail

/// A step at which the slope along the ray is a tenth of that at 0, `start`: Newton's, in a
/// bracket. slope(eta) gives slope and curvature; 0 where the ray does not descend. A ray that
/// rises again, though little, may do so from far behind: such a step is taken only where the
/// minimum is in its second half, as its curvature has it.
template <class SlopeAt>
double flat_step(double start, SlopeAt&& slope) {
    if (!(start < 0)) return 0;
    constexpr double inf = std::numeric_limits<double>::infinity();
    double low = 0, high = inf, eta = 1;
    for (int k = 0; k < detail::kFlatTrials; ++k) {
        const auto [total, rise] = slope(eta);
        const bool beyond = total > 0 && total > rise * eta / 2;
        if (std::abs(total) <= -detail::kFlat * start && !beyond) return eta;
        (total < 0 ? low : high) = eta;
        eta = rise > 0 ? eta - total / rise : inf;
        if (!(low < eta && eta < high)) eta = high < inf ? 0.5 * (low + high) : 4 * low;
    }
    return low;
}

/// A step with sufficient decrease and |phi'(eta)| <= 0.9 |phi'(0)|, 1 being tried first; 0 if
/// round-off leaves none, or phi falls for ever. phi(eta) gives value and slope, `start` is phi(0).
template <class Phi>
double wolfe(Phi&& phi, const Bend start) {
    double low = 0, low_slope = start.slope, eta = 1;
    double high = std::numeric_limits<double>::infinity(), high_slope = 0;
    for (int k = 0; k < detail::kTrials; ++k) {
        const Bend trial = phi(eta);
        const bool descends = detail::descends(trial, start, eta);
        if (descends && std::abs(trial.slope) <= -detail::kCurvature * start.slope) return eta;
        if (descends && trial.slope < 0) {
            low = eta;
            low_slope = trial.slope;
        } else {
            high = eta;
            high_slope = trial.slope;
        }
        if (eta > detail::kFar) return 0;
        eta = std::isinf(high) ? 4 * eta : detail::between(low, low_slope, high, high_slope);
        if (!(low < eta && eta < high)) return low;
    }
    return low;
}

/// Argmin over eta >= 0 of a piecewise quadratic J, 1 being tried first; 0 where it falls for ever.
/// slope(eta) gives the slope just right of eta, kinks(low, high) where it bends in between.
template <class SlopeAt, class Kinks>
double exact(SlopeAt&& slope, Kinks&& kinks) {
    double low = 0, high = 1;
    Slope at_low = slope(low);
    if (!(at_low.slope < 0)) return 0;
    Slope at_high = slope(high);
    while (at_high.slope < 0) {
        low = high;
        at_low = at_high;
        high *= 4;
        if (high > detail::kFar) return 0;
        at_high = slope(high);
    }
    for (int k = 0; k < detail::kNarrowings; ++k) {
        const double eta = detail::between(low, at_low.slope, high, at_high.slope);
        const Slope at = slope(eta);
        (at.slope < 0 ? low : high) = eta;
        (at.slope < 0 ? at_low : at_high) = at;
    }
    std::vector<Kink> left = kinks(low, high);
    return std::min(crossing(at_low, low, left), high);
}

/// The b with the least sum_i s_i l(z_i + b) of a piecewise linear loss, sought from `b` on; that
/// itself if there is none.
template <class Loss>
double best_offset(const Loss& loss, const Rows& rows, double b, std::size_t n) {
    for (const double sign : {1.0, -1.0}) {
        const std::vector<double> rate(n, sign);
        const double from = sign * b;
        const double eta =
            exact([&](double eta) { return slope_along(loss, rows, rate.data(), from + eta, n); },
                  [&](double low, double high) {
                      auto kinks = kinks_along(loss, rows, rate.data(), from + low, from + high, n);
                      for (Kink& each : kinks) each.eta -= from;
                      return kinks;
                  });
        if (eta > 0) return b + sign * eta;
    }
    return b;
}

}  // namespace fenchel

// The best offset at given scores: risks/intercept.py, where the method is derived, for all rows in
// one place. L(b) = (1/S) sum_i s_i l(z_i + b, y_i) is convex; two offsets enclose its minimiser,
// and the mean of their tangents whose slopes cancel bounds it from below.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "losses.hpp"
#include "tolerances.hpp"

namespace fenchel {

/// L at one offset.
struct OffsetTrial {
    double b, value, slope;
};

/// The best offset, with the bracket that proves it and the weights of its two tangents. L(best) =
/// `value` is an upper bound of the least L, and `floor`, the height of the mixed tangent, a lower.
struct Offset {
    double below, above, weight_below, weight_above;
    double best, value, floor;
};

namespace detail {

inline constexpr double kWidestStep = 0x1p400;

/// Two offsets with slopes <= 0 and >= 0.
struct OffsetBracket {
    OffsetTrial below, above;

    /// The least distance of offsets that round-off does not blur.
    double finest(double resolution) const {
        return std::max(resolution, OFFSET_BLUR * std::max(std::abs(below.b), std::abs(above.b)));
    }
    /// Where the two tangents meet: the minimiser if L bends once in between.
    double crossing() const {
        const double rise = above.slope * (above.b - below.b);
        return below.b + (below.value - above.value + rise) / (above.slope - below.slope);
    }
    const OffsetTrial& better() const { return below.value <= above.value ? below : above; }
};

/// The mean of two tangents whose slopes in b cancel; one of them if it is flat.
inline Offset mix(const OffsetBracket& at) {
    const OffsetTrial &below = at.below, &above = at.above;
    for (const OffsetTrial* flat : {&below, &above})
        if (flat->slope == 0 || below.b == above.b)
            return {flat->b, flat->b, 1.0, 0.0, flat->b, flat->value, flat->value};
    const OffsetTrial& best = at.better();
    const double rise = above.slope - below.slope;
    const double weight_below = above.slope / rise, weight_above = -below.slope / rise;
    // The tangents at `best`, so that no large offset cancels.
    const double at_below = below.value + below.slope * (best.b - below.b);
    const double at_above = above.value + above.slope * (best.b - above.b);
    double floor = weight_below * at_below + weight_above * at_above;
    double lost = weight_below * (std::abs(below.value) + std::abs(at_below - below.value));
    lost += weight_above * (std::abs(above.value) + std::abs(at_above - above.value));
    floor -= FEW_OPERATIONS * lost;
    return {below.b,
            above.b,
            weight_below,
            weight_above,
            best.b,
            best.value,
            std::min(floor, best.value)};
}

/// Where the slope vanishes if it is linear; nan or infinite where two trials do not tell.
inline double secant(const OffsetTrial& before, const OffsetTrial& last) {
    return last.b - last.slope * (last.b - before.b) / (last.slope - before.slope);
}

/// Two offsets with slopes <= 0 and >= 0, found by growing steps from `start`.
template <class Trial>
OffsetBracket bracket(Trial&& trial, double start, double resolution) {
    OffsetTrial here = trial(start);
    if (here.slope == 0 || std::isnan(here.slope)) return {here, here};
    // A loss has slopes and curvatures of order 1, so the minimiser is about a slope away.
    const double first = std::max(2 * std::min(std::abs(here.slope), 1.0), resolution);
    for (double step = -std::copysign(first, here.slope); std::abs(step) < kWidestStep;) {
        const OffsetTrial there = trial(here.b + step);
        if (there.slope == 0) return {there, there};
        if ((there.slope > 0) != (here.slope > 0))
            return here.slope < 0 ? OffsetBracket{here, there} : OffsetBracket{there, here};
        // Twice as far as the slope would vanish were it linear, within limits.
        const double fall = 1 - there.slope / here.slope;
        step *= fall > 0 ? std::min(std::max(2 * (1 - fall) / fall, 1.0), 4.0) : 4.0;
        here = there;
    }
    // L falls for ever, or the scores are out of range
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {{start, nan, nan}, {start, nan, nan}};
}

/// Shrinks a bracket to the resolution, or until its tangents leave nothing to gain.
///
/// Where the slope jumps, the next trial is where the tangents meet, or the middle after one that
/// did not halve the bracket. Of a smooth L it is where the line through the slopes of the last two
/// trials vanishes, or the middle after one that did not halve the slope.
template <class Trial>
OffsetBracket narrowed(Trial&& trial, OffsetBracket at, double resolution, bool smooth) {
    bool halving = false;
    OffsetTrial before = at.below, last = at.above;
    if (!(std::abs(last.slope) <= std::abs(before.slope))) std::swap(before, last);
    for (double width; (width = at.above.b - at.below.b) > at.finest(resolution);) {
        const Offset offset = mix(at);
        if (offset.value - offset.floor <= OFFSET_CUT * std::abs(offset.value)) break;
        const double b = smooth ? secant(before, last) : at.crossing();
        const bool inside = at.below.b < b && b < at.above.b;
        const OffsetTrial here = trial(halving || !inside ? 0.5 * (at.below.b + at.above.b) : b);
        if (here.slope == 0) return {here, here};
        (here.slope < 0 ? at.below : at.above) = here;
        const bool slow = smooth ? std::abs(here.slope) > 0.5 * std::abs(last.slope)
                                 : at.above.b - at.below.b > 0.5 * width;
        halving = slow && !halving;
        before = last;
        last = here;
    }
    return at;
}

/// The mix with both ends moved off the kinks they may lie on, the outer sides first.
template <class Trial>
Offset off_kinks(Trial&& trial, const OffsetBracket& at, double resolution) {
    const double width = at.finest(resolution);
    Offset best = mix(at);
    const double enough = best.floor - OFFSET_CUT * std::abs(best.floor);
    bool found = false;
    for (const auto& [left, right] : {std::pair{1, 1}, {1, -1}, {-1, 1}, {-1, -1}}) {
        const OffsetBracket moved{trial(at.below.b - left * width),
                                  trial(at.above.b + right * width)};
        if (!(moved.below.slope <= 0 && 0 <= moved.above.slope && moved.below.b <= moved.above.b))
            continue;
        const Offset offset = mix(moved);
        if (!found || offset.floor > best.floor) best = offset;
        found = true;
        if (offset.floor >= enough) break;
    }
    return best;
}

}  // namespace detail

/// Minimises the convex L over the offset; `trial(b)` gives (b, L(b), a slope of L at b).
///
/// Where L has kinks (not `smooth`), the bracket's ends are kept `resolution` away from them, so
/// that scores that differ by round-off are on the same side of every kink.
template <class Trial>
Offset best_offset(Trial&& trial, double near, double resolution, bool smooth) {
    const detail::OffsetBracket wide = detail::bracket(trial, near, resolution);
    const detail::OffsetBracket at = detail::narrowed(trial, wide, resolution, smooth);
    const OffsetTrial best = at.better();
    Offset offset = smooth ? detail::mix(at) : detail::off_kinks(trial, at, resolution);
    offset.best = best.b;
    offset.value = best.value;
    offset.floor = std::min(offset.floor, best.value);
    return offset;
}

/// The least distance of offsets that makes a difference: `OFFSET_BLUR` of 1 and the largest score.
inline double offset_resolution(const Rows& rows, std::size_t n) {
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i)
        if (!rows.s || rows.s[i] > 0) largest = std::max(largest, std::abs(rows.z[i]));
    return OFFSET_BLUR * (1.0 + largest);
}

/// The same for rows of a loss, whose weights add up to `total`, with an offset sought from `near`.
template <class Loss>
Offset best_offset(const Loss& loss, const Rows& rows, std::size_t n, double total, double near) {
    const auto trial = [&](double b) -> OffsetTrial {
        const Bend sum = sums(loss, rows, b, n);
        return {b, sum.value / total, sum.slope / total};
    };
    constexpr bool smooth = !requires { loss.to_kink(0.0, 0.0); };
    return best_offset(trial, near, offset_resolution(rows, n), smooth);
}

/// a_i = s_i l'(z_i + b, y_i), mixed over the bracket of an offset.
template <class Loss>
void mixed_slopes(const Loss& loss, const Rows& rows, std::size_t n, const Offset& at, double* a) {
    slopes(loss, rows, at.below, a, 0, n);
    if (at.above == at.below) return;
    std::vector<double> above(n);
    slopes(loss, rows, at.above, above.data(), 0, n);
    for (std::size_t i = 0; i < n; ++i) a[i] = at.weight_below * a[i] + at.weight_above * above[i];
}

}  // namespace fenchel

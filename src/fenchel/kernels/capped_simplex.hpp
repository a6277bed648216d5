// The entropy's prox on the capped simplex {0 <= x <= cap, sum x = 1} ([Zhang11] example 5):
//
//     argmin over x of  <g, x> + weight sum_i x_i log(x_i / x0_i)  =  min(cap, exp(e_i + shift)),
//     e_i = log x0_i - g_i / weight,
//
// with the shift for which the sum is 1. All sums are of exponentials scaled by their largest, and
// the shift is kept as a difference of two numbers, one of which is among the e_i, so that scores
// of any size are safe: beyond 1e16 their sum with a single number would tell nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace fenchel {

/// log of a sum of exponentials that grows term by term.
struct LogSum {
    double top = -std::numeric_limits<double>::infinity(), scaled = 0.0;

    template <class Iterator>
    void add(Iterator first, Iterator last) {
        if (first == last) return;
        const double highest = std::max(top, *std::max_element(first, last));
        if (highest == -std::numeric_limits<double>::infinity()) return;
        scaled *= std::exp(top - highest);
        top = highest;
        for (; first != last; ++first) scaled += std::exp(*first - top);
    }
    /// The logarithm less `from`.
    double log_from(double from) const { return (top - from) + std::log(scaled); }
};

/// rest - base, where base is one of the e_i.
struct Shift {
    double base, rest;
    double at(double e) const { return (e - base) + rest; }
};

/// The shift, where n cap >= 1 even without the rows with e = -inf. A median e decides: with the
/// shift at which e just reaches the cap, either the mass is more than 1, and rows up to e stay
/// below the cap, or it is not, and rows from e upwards are at the cap. Half of the rows in doubt
/// are settled either way: linear time on average.
inline Shift capped_simplex_shift(std::vector<double>& e, double cap) {
    LogSum below;  // rows below the cap
    below.add(e.begin(), e.end());
    if (-std::log(below.scaled) <= std::log(cap)) return {below.top, -std::log(below.scaled)};
    below = {};
    double mass = 1.0, lowest = std::numeric_limits<double>::infinity();  // of the rows at the cap
    for (auto first = e.begin(), last = e.end(); first != last;) {
        const auto middle = first + (last - first) / 2;
        std::nth_element(first, middle, last);
        const double pivot = *middle;
        const auto end = std::partition(middle, last, [pivot](double x) { return x <= pivot; });
        const auto begin = std::partition(first, middle, [pivot](double x) { return x < pivot; });
        LogSum under = below;
        under.add(first, begin);
        const double rest = under.scaled > 0 ? std::exp(under.log_from(pivot)) : 0.0;
        const double capped = cap * static_cast<double>(last - begin);
        if (capped + cap * rest > mass) {
            under.add(begin, end);
            below = under;
            first = end;
        } else {
            mass -= capped;
            lowest = pivot;
            last = begin;
        }
    }
    const Shift at_cap{lowest, std::log(cap)};  // no less, or the lowest would not be there
    if (below.scaled == 0) return at_cap;
    const Shift shift{below.top, std::log(std::max(mass, 0.0)) - std::log(below.scaled)};
    return shift.at(lowest) < at_cap.rest ? at_cap : shift;
}

/// Writes the minimiser and gives the shift; x0 = nullptr stands for equal x0_i = 1.
inline double entropy_prox(const double* g, std::size_t n, double weight, const double* x0,
                           double cap, double* x) {
    std::vector<double> e(n);
    for (std::size_t i = 0; i < n; ++i) e[i] = (x0 ? std::log(x0[i]) : 0.0) - g[i] / weight;
    std::vector<double> permuted = e;
    const Shift shift = capped_simplex_shift(permuted, cap);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::min(cap, std::exp(shift.at(e[i])));
    return shift.rest - shift.base;
}

}  // namespace fenchel

// The entropy's prox on the capped simplex {0 <= x <= cap, sum x = 1} ([Zhang11] example 5):
//
//     argmin over x of  <g, x> + weight sum_i x_i log(x_i / x0_i)  =  min(cap, exp(e_i + shift)),
//     e_i = log x0_i - g_i / weight,
//
// with the shift for which the sum is 1. All sums are of exponentials scaled by their largest, so
// that scores of any size are safe.
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
    double log() const { return top + std::log(scaled); }
};

/// The shift, where n cap >= 1 even without the rows with e = -inf. A median e decides: with the
/// shift at which e just reaches the cap, either the mass is more than 1, and rows up to e stay
/// below the cap, or it is not, and rows from e upwards are at the cap. Half of the rows in doubt
/// are settled either way: linear time on average.
inline double capped_simplex_shift(std::vector<double>& e, double cap) {
    LogSum below;  // rows below the cap
    below.add(e.begin(), e.end());
    const double free_shift = -below.log();
    if (below.top + free_shift <= std::log(cap)) return free_shift;
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
        const double rest = under.scaled > 0 ? std::exp(under.log() - pivot) : 0.0;
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
    const double at_cap = std::log(cap) - lowest;  // no less, or the lowest would not be there
    if (below.scaled == 0) return at_cap;
    return std::max(std::log(std::max(mass, 0.0)) - below.log(), at_cap);
}

/// Writes the minimiser and gives the shift; x0 = nullptr stands for equal x0_i = 1.
inline double entropy_prox(const double* g, std::size_t n, double weight, const double* x0,
                           double cap, double* x) {
    std::vector<double> e(n);
    for (std::size_t i = 0; i < n; ++i) e[i] = (x0 ? std::log(x0[i]) : 0.0) - g[i] / weight;
    std::vector<double> permuted = e;
    const double shift = capped_simplex_shift(permuted, cap);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::min(cap, std::exp(e[i] + shift));
    return shift;
}

}  // namespace fenchel

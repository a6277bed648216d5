// The losses of one right class among K of losses/multiclass.py, one struct each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "elementary.hpp"
#include "envelope.hpp"
#include "simd.hpp"
#include "vector_parts.hpp"

namespace fenchel {

/// max over z of Delta(z, y) + score_z - score_y ([Yu10] eq. 42)
struct MulticlassHinge {
    using Label = std::int64_t;
    static constexpr bool kSets = false;
    Costs costs;

    std::size_t size() const { return costs.size(); }

    FENCHEL_INLINE double operator()(const double* z, const Label* label, double* a) const {
        const std::size_t K = costs.size(), y = static_cast<std::size_t>(*label);
        const double* margin = costs.of(y);
        double highest = kLowest;
#pragma omp simd reduction(max : highest)
        for (std::size_t k = 0; k < K; ++k) highest = std::max(highest, z[k] + margin[k]);
        std::size_t best = 0;
        while (best + 1 < K && z[best] + margin[best] < highest) ++best;
        std::fill(a, a + K, 0.0);
        a[best] += 1;
        a[y] -= 1;
        return highest - z[y] + detail::finite(z, K);
    }

    static double slope(const Line& highest) { return highest.slope; }

    FENCHEL_INLINE Line at(const double* z, const double* q, const Label* label, double eta) const {
        const std::size_t K = costs.size(), y = static_cast<std::size_t>(*label);
        const double* margin = costs.of(y);
        double highest = kLowest, slope = kLowest;
#pragma omp simd reduction(max : highest)
        for (std::size_t k = 0; k < K; ++k)
            highest = std::max(highest, (z[k] + margin[k]) + eta * q[k]);
#pragma omp simd reduction(max : slope)
        for (std::size_t k = 0; k < K; ++k)
            slope = std::max(slope, (z[k] + margin[k]) + eta * q[k] >= highest ? q[k] : kLowest);
        return {highest - (z[y] + eta * q[y]), slope - q[y]};
    }

    template <class Emit>
    void corners(const double* z, const double* q, const Label* label, double low, Line at_low,
                 double high, Line at_high, Workspace& work, Emit&& emit) const {
        const std::size_t K = costs.size(), y = static_cast<std::size_t>(*label);
        const double* margin = costs.of(y);
        work.lines.clear();
        for (std::size_t k = 0; k < K; ++k)
            work.lines.push_back(
                {(z[k] + margin[k]) + low * q[k] - (z[y] + low * q[y]), q[k] - q[y]});
        envelope(work.lines, at_low, at_high.slope, low, high,
                 [&](const Corner& at) { emit(at.eta, at.to.slope - at.from.slope); });
    }

    FENCHEL_INLINE bool tied(const double* z, const Label* label, double tolerance) const {
        const std::size_t K = costs.size();
        const double* margin = costs.of(static_cast<std::size_t>(*label));
        double highest = kLowest;
#pragma omp simd reduction(max : highest)
        for (std::size_t k = 0; k < K; ++k) highest = std::max(highest, z[k] + margin[k]);
        const double near = highest - detail::blur(z, K, tolerance);
        std::size_t count = 0;
#pragma omp simd reduction(+ : count)
        for (std::size_t k = 0; k < K; ++k) count += z[k] + margin[k] >= near ? 1 : 0;
        return count > 1;
    }

    void steepest(const double* z, const double* q, const Label* label, double tolerance,
                  double* a) const {
        const std::size_t K = costs.size(), y = static_cast<std::size_t>(*label);
        const double* margin = costs.of(y);
        double highest = kLowest;
        for (std::size_t k = 0; k < K; ++k) highest = std::max(highest, z[k] + margin[k]);
        const double near = highest - detail::blur(z, K, tolerance);
        std::size_t best = y;
        double slope = z[y] + margin[y] >= near ? q[y] : kLowest;
        for (std::size_t k = 0; k < K; ++k)
            if (z[k] + margin[k] >= near && q[k] > slope) slope = q[best = k];
        std::fill(a, a + K, 0.0);
        a[best] += 1;
        a[y] -= 1;
    }
};

/// max over z of Delta(z, y) (1 + score_z - score_y): pieces of as many lengths as there are costs
struct MulticlassSlackHinge {
    using Label = std::int64_t;
    static constexpr bool kSets = false;
    Costs costs;

    std::size_t size() const { return costs.size(); }

    FENCHEL_INLINE double operator()(const double* z, const Label* label, double* a) const {
        const std::size_t K = costs.size(), y = static_cast<std::size_t>(*label);
        const double* cost = costs.of(y);
        const double highest = top(z, y, cost);
        std::size_t best = 0;
        while (best + 1 < K && piece(z, y, cost, best) < highest) ++best;
        take(best, y, cost, a);
        return highest + detail::finite(z, K);
    }

    static double slope(const Line& highest) { return highest.slope; }

    FENCHEL_INLINE Line at(const double* z, const double* q, const Label* label, double eta) const {
        const std::size_t K = costs.size(), y = static_cast<std::size_t>(*label);
        const double* cost = costs.of(y);
        double highest = kLowest, slope = kLowest;
#pragma omp simd reduction(max : highest)
        for (std::size_t k = 0; k < K; ++k)
            highest = std::max(highest, line(z, q, y, cost, k, eta).value);
#pragma omp simd reduction(max : slope)
        for (std::size_t k = 0; k < K; ++k) {
            const Line each = line(z, q, y, cost, k, eta);
            slope = std::max(slope, each.value >= highest ? each.slope : kLowest);
        }
        return {highest, slope};
    }

    template <class Emit>
    void corners(const double* z, const double* q, const Label* label, double low, Line at_low,
                 double high, Line at_high, Workspace& work, Emit&& emit) const {
        const std::size_t y = static_cast<std::size_t>(*label);
        const double* cost = costs.of(y);
        work.lines.clear();
        for (std::size_t k = 0; k < costs.size(); ++k)
            work.lines.push_back(line(z, q, y, cost, k, low));
        envelope(work.lines, at_low, at_high.slope, low, high,
                 [&](const Corner& at) { emit(at.eta, at.to.slope - at.from.slope); });
    }

    FENCHEL_INLINE bool tied(const double* z, const Label* label, double tolerance) const {
        const std::size_t K = costs.size(), y = static_cast<std::size_t>(*label);
        const double* cost = costs.of(y);
        const double near = top(z, y, cost) - blur(z, cost, tolerance);
        std::size_t count = near <= 0 ? 1 : 0;  // 0 is one piece, however many mistakes are free
#pragma omp simd reduction(+ : count)
        for (std::size_t k = 0; k < K; ++k)
            count += cost[k] > 0 && piece(z, y, cost, k) >= near ? 1 : 0;
        return count > 1;
    }

    void steepest(const double* z, const double* q, const Label* label, double tolerance,
                  double* a) const {
        const std::size_t y = static_cast<std::size_t>(*label);
        const double* cost = costs.of(y);
        const double near = top(z, y, cost) - blur(z, cost, tolerance);
        std::size_t best = y;
        double slope = near <= 0 ? 0.0 : kLowest;
        for (std::size_t k = 0; k < costs.size(); ++k) {
            const double rise = cost[k] * (q[k] - q[y]);
            if (piece(z, y, cost, k) >= near && rise > slope) slope = rise, best = k;
        }
        take(best, y, cost, a);
    }

  private:
    FENCHEL_INLINE static double piece(const double* z, std::size_t y, const double* cost,
                                       std::size_t k) {
        return cost[k] * (1 + (z[k] - z[y]));
    }

    FENCHEL_INLINE static Line line(const double* z, const double* q, std::size_t y,
                                    const double* cost, std::size_t k, double eta) {
        const double rise = q[k] - q[y];
        return {cost[k] * ((1 + (z[k] - z[y])) + eta * rise), cost[k] * rise};
    }

    FENCHEL_INLINE double top(const double* z, std::size_t y, const double* cost) const {
        double highest = kLowest;
#pragma omp simd reduction(max : highest)
        for (std::size_t k = 0; k < costs.size(); ++k)
            highest = std::max(highest, piece(z, y, cost, k));
        return highest;
    }

    /// The round-off of a score counts as often as the largest cost says.
    FENCHEL_INLINE double blur(const double* z, const double* cost, double tolerance) const {
        const std::size_t K = costs.size();
        return detail::blur(z, K, tolerance) * std::max(1.0, *std::max_element(cost, cost + K));
    }

    FENCHEL_INLINE void take(std::size_t best, std::size_t y, const double* cost, double* a) const {
        std::fill(a, a + costs.size(), 0.0);
        a[best] += cost[best];
        a[y] -= cost[best];
    }
};

/// log sum_z exp(score_z) - score_y
struct Softmax {
    using Label = std::int64_t;
    static constexpr bool kSets = false;
    std::size_t K;

    std::size_t size() const { return K; }

    /// Exponentials of the differences to the largest score cannot overflow.
    FENCHEL_INLINE double operator()(const double* z, const Label* label, double* a) const {
        const auto y = static_cast<std::size_t>(*label);
        const auto best = static_cast<std::size_t>(std::max_element(z, z + K) - z);
        const double highest = z[best];
#pragma omp simd
        for (std::size_t k = 0; k < K; ++k) a[k] = exp_of_negative(z[k] - highest);
        const double at_y = a[y];
        a[best] = 0.0;  // its exponential is 1, which would swallow the others' digits
        double rest = 0;
        for (std::size_t k = 0; k < K; ++k) rest += a[k];
        a[best] = 1.0;
        a[y] = 0.0;
        double others = 0;
        for (std::size_t k = 0; k < K; ++k) others += a[k];
        const double total = others + at_y;
#pragma omp simd
        for (std::size_t k = 0; k < K; ++k) a[k] /= total;
        a[y] = -others / total;
        return (highest - z[y]) + std::log1p(rest) + detail::finite(z, K);
    }
};

}  // namespace fenchel

// The losses of a set of right labels among K of losses/multilabel.py, one struct each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "envelope.hpp"
#include "simd.hpp"
#include "vector_parts.hpp"

namespace fenchel {

/// max(0, tau + max outside the set - min inside it) ([Yu10] eq. 54); 0 if either has no label
struct MultilabelHinge {
    using Label = std::uint8_t;
    static constexpr bool kSets = true;
    std::size_t K;
    double tau;

    std::size_t size() const { return K; }

    /// The highest score outside the set, and the highest of minus the scores inside.
    struct Ends {
        Line outside, inside;
    };

    FENCHEL_INLINE Ends at(const double* z, const double* q, const Label* in, double eta) const {
        Ends at{{kLowest, kLowest}, {kLowest, kLowest}};
        for (std::size_t k = 0; k < K; ++k) {
            const double score = z[k] + eta * q[k];
            if (in[k]) {
                at.inside = detail::steeper_of_highest(at.inside, {-score, -q[k]});
            } else {
                at.outside = detail::steeper_of_highest(at.outside, {score, q[k]});
            }
        }
        return at;
    }

    /// tau + both, without the maximum with 0
    FENCHEL_INLINE Line sum(const Ends& at) const {
        return {tau + at.outside.value + at.inside.value, at.outside.slope + at.inside.slope};
    }

    static bool positive(const Line& f) { return f.value > 0 || (f.value == 0 && f.slope > 0); }

    FENCHEL_INLINE double operator()(const double* z, const Label* in, double* a) const {
        std::size_t outside = K, inside = K;
        for (std::size_t k = 0; k < K; ++k) {
            if (in[k]) {
                if (inside == K || z[k] < z[inside]) inside = k;
            } else if (outside == K || z[k] > z[outside]) {
                outside = k;
            }
        }
        std::fill(a, a + K, 0.0);
        if (outside == K || inside == K) return detail::finite(z, K);
        const double f = tau + z[outside] - z[inside];
        if (f > 0) a[outside] = 1, a[inside] = -1;
        return std::max(f, 0.0) + detail::finite(z, K);
    }

    double slope(const Ends& at) const {
        const Line f = sum(at);
        return positive(f) ? f.slope : 0.0;
    }

    /// Two envelopes, outside and inside, and where their sum crosses zero.
    template <class Emit>
    void corners(const double* z, const double* q, const Label* in, double low, const Ends& at_low,
                 double high, const Ends& at_high, Workspace& work, Emit&& emit) const {
        std::vector<Corner>& found = work.corners;
        found.clear();
        const auto collect = [&](bool inside, Line first, double last) {
            work.lines.clear();
            for (std::size_t k = 0; k < K; ++k) {
                const double score = z[k] + low * q[k];
                if ((in[k] != 0) == inside)
                    work.lines.push_back(inside ? Line{-score, -q[k]} : Line{score, q[k]});
            }
            envelope(work.lines, first, last, low, high,
                     [&](const Corner& at) { found.push_back(at); });
        };
        collect(false, at_low.outside, at_high.outside.slope);
        const std::size_t n_outside = found.size();
        collect(true, at_low.inside, at_high.inside.slope);

        Line f = sum(at_low);
        double eta = low, outside = at_low.outside.slope, inside = at_low.inside.slope;
        bool on = positive(f);
        const auto walk = [&](double to) {
            const double value = f.value + f.slope * (to - eta);
            if (on ? value <= 0 && f.slope < 0 : value > 0) {
                emit(std::clamp(eta - f.value / f.slope, eta, to), std::abs(f.slope));
                on = !on;
            }
            eta = to;
            f.value = value;
        };
        const auto turn = [&](double slope) {
            const Line next{f.value, slope};
            const double before = on ? f.slope : 0.0;
            on = on || (f.value >= 0 && slope > 0);
            if (on) emit(eta, slope - before);
            f = next;
        };
        std::size_t i = 0, j = n_outside;
        while (i < n_outside || j < found.size()) {
            const bool first = j == found.size() || (i < n_outside && found[i].eta <= found[j].eta);
            const Corner& at = found[first ? i++ : j++];
            walk(at.eta);
            (first ? outside : inside) = at.to.slope;
            turn(outside + inside);
        }
        walk(high);
        const double rest = slope(at_high) - (on ? f.slope : 0.0);
        if (rest != 0) emit(high, rest);
    }

    bool tied(const double* z, const Label* in, double tolerance) const {
        double outside = kLowest, inside = kLowest;
        for (std::size_t k = 0; k < K; ++k) {
            outside = in[k] ? outside : std::max(outside, z[k]);
            inside = in[k] ? std::max(inside, -z[k]) : inside;
        }
        const double f = tau + outside + inside, near = detail::blur(z, K, tolerance);
        if (!(f >= -near)) return false;
        if (f <= near) return true;
        std::size_t n_outside = 0, n_inside = 0;
        for (std::size_t k = 0; k < K; ++k) {
            n_outside += !in[k] && z[k] >= outside - near;
            n_inside += in[k] && -z[k] >= inside - near;
        }
        return n_outside > 1 || n_inside > 1;
    }

    void steepest(const double* z, const double* q, const Label* in, double tolerance,
                  double* a) const {
        std::fill(a, a + K, 0.0);
        const Ends now = at(z, z, in, 0.0);
        const double f = sum(now).value, near = detail::blur(z, K, tolerance);
        if (!(f >= -near)) return;
        std::size_t outside = K, inside = K;
        for (std::size_t k = 0; k < K; ++k) {
            if (in[k]) {
                if (-z[k] >= now.inside.value - near && (inside == K || q[k] < q[inside]))
                    inside = k;
            } else if (z[k] >= now.outside.value - near && (outside == K || q[k] > q[outside])) {
                outside = k;
            }
        }
        if (f > near || q[outside] > q[inside]) a[outside] = 1, a[inside] = -1;
    }
};

/// max over z in the set, z' outside it or z itself, of Delta(z', z) + score_z' - score_z (eq. 55)
struct MultilabelCostHinge {
    using Label = std::uint8_t;
    static constexpr bool kSets = true;
    Costs costs;

    std::size_t size() const { return costs.size(); }

    /// use(inside, outside, Delta) for every pair
    template <class Use>
    FENCHEL_INLINE void pairs(const Label* in, Use&& use) const {
        const std::size_t K = costs.size();
        for (std::size_t o = 0; o < K; ++o) {
            if (in[o]) continue;
            for (std::size_t i = 0; i < K; ++i)
                if (in[i]) use(i, o, costs.of(i)[o]);
        }
    }

    double operator()(const double* z, const Label* in, double* a) const {
        const std::size_t K = costs.size();
        double highest = 0;
        std::size_t inside = K, outside = K;
        pairs(in, [&](std::size_t i, std::size_t o, double cost) {
            const double value = cost + z[o] - z[i];
            if (value > highest) highest = value, inside = i, outside = o;
        });
        std::fill(a, a + K, 0.0);
        if (inside < K) a[outside] = 1, a[inside] = -1;
        return highest + detail::finite(z, K);
    }

    static double slope(const Line& highest) { return highest.slope; }

    Line at(const double* z, const double* q, const Label* in, double eta) const {
        Line best{0.0, 0.0};
        pairs(in, [&](std::size_t i, std::size_t o, double cost) {
            best = detail::steeper_of_highest(best, piece(z, q, i, o, cost, eta));
        });
        return best;
    }

    template <class Emit>
    void corners(const double* z, const double* q, const Label* in, double low, Line at_low,
                 double high, Line at_high, Workspace& work, Emit&& emit) const {
        work.lines.assign(1, {0.0, 0.0});
        pairs(in, [&](std::size_t i, std::size_t o, double cost) {
            work.lines.push_back(piece(z, q, i, o, cost, low));
        });
        envelope(work.lines, at_low, at_high.slope, low, high,
                 [&](const Corner& at) { emit(at.eta, at.to.slope - at.from.slope); });
    }

    bool tied(const double* z, const Label* in, double tolerance) const {
        const double near = at(z, z, in, 0.0).value - detail::blur(z, costs.size(), tolerance);
        std::size_t count = near <= 0 ? 1 : 0;
        pairs(in, [&](std::size_t i, std::size_t o, double cost) {
            count += cost + z[o] - z[i] >= near ? 1 : 0;
        });
        return count > 1;
    }

    void steepest(const double* z, const double* q, const Label* in, double tolerance,
                  double* a) const {
        const std::size_t K = costs.size();
        const double near = at(z, z, in, 0.0).value - detail::blur(z, K, tolerance);
        double slope = near <= 0 ? 0.0 : kLowest;
        std::size_t inside = K, outside = K;
        pairs(in, [&](std::size_t i, std::size_t o, double cost) {
            if (cost + z[o] - z[i] >= near && q[o] - q[i] > slope)
                slope = q[o] - q[i], inside = i, outside = o;
        });
        std::fill(a, a + K, 0.0);
        if (inside < K) a[outside] = 1, a[inside] = -1;
    }

  private:
    static Line piece(const double* z, const double* q, std::size_t i, std::size_t o, double cost,
                      double eta) {
        return {(cost + z[o] - z[i]) + eta * (q[o] - q[i]), q[o] - q[i]};
    }
};

}  // namespace fenchel

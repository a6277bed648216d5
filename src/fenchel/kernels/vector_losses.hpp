// The losses of K scores of losses/multiclass.py and multilabel.py, one struct each, and the loops
// over rows, written once.
//
// A hinge is a maximum of lines in the scores, its pieces. Besides value and slopes it knows
//   at        the highest piece at z + eta q, of several the one that rises most,
//   slope     its slope in eta,
//   corners   where it changes between two steps, given what `at` said at both: asked once more,
//             code compiled for other instructions might round to another answer,
//   tied      whether a second piece is as high up to round-off,
//   steepest  the slopes of the piece among those that rises most along q.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "bends.hpp"
#include "elementary.hpp"
#include "envelope.hpp"
#include "simd.hpp"

namespace fenchel {

inline constexpr double kLowest = -std::numeric_limits<double>::infinity();

/// The costs Delta(z, y) of taking y for z: all the same, or a matrix with a row for each y.
class Costs {
  public:
    explicit Costs(std::size_t K, double uniform) : K_(K), numbers_(2 * K - 1, uniform) {
        numbers_[K - 1] = 0.0;  // the K numbers that begin at K - 1 - y have their zero at y
    }
    Costs(std::size_t K, const double* matrix)
        : K_(K), matrix_(true), numbers_(matrix, matrix + K * K) {}
    std::size_t size() const { return K_; }
    const double* of(std::size_t y) const {
        return numbers_.data() + (matrix_ ? y * K_ : K_ - 1 - y);
    }

  private:
    std::size_t K_;
    bool matrix_ = false;
    std::vector<double> numbers_;
};

/// Storage that a search for corners uses again and again.
struct Workspace {
    std::vector<Line> lines;
    std::vector<Corner> corners;
};

namespace detail {

/// 0 if all scores are finite, else nan: a maximum would pass over a nan.
FENCHEL_INLINE double finite(const double* z, std::size_t K) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < K; ++k) sum += z[k] - z[k];
    return sum;
}

/// A hundred-odd units in the last place of the largest score.
FENCHEL_INLINE double blur(const double* z, std::size_t K, double tolerance) {
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (std::size_t k = 0; k < K; ++k) largest = std::max(largest, std::abs(z[k]));
    return tolerance * (1 + largest);
}

FENCHEL_INLINE Line steeper_of_highest(Line a, Line b) {
    return a.value > b.value || (a.value == b.value && a.slope >= b.slope) ? a : b;
}

}  // namespace detail

/// max over z of Delta(z, y) + score_z - score_y (000 eq. 42)
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

/// max(0, tau + max outside the set - min inside it) (000 eq. 54); 0 if either has no label
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

/// Scores, labels and sample weights of n rows; `s` is null where all weights are 1.
template <class Label>
struct VectorRows {
    std::size_t n, K;
    const double* Z;
    const Label* y;
    const double* s;
    std::size_t label_stride;

    FENCHEL_INLINE double weight(std::size_t i) const { return s == nullptr ? 1.0 : s[i]; }
    FENCHEL_INLINE const double* z(std::size_t i) const { return Z + i * K; }
    FENCHEL_INLINE const Label* label(std::size_t i) const { return y + i * label_stride; }
};

namespace detail {

template <class Loss, class Rows>
FENCHEL_INLINE double vector_slopes_loop(const Loss& loss, const Rows rows, double* A) {
    double sum = 0;
    for (std::size_t i = 0; i < rows.n; ++i) {
        double* a = A + i * rows.K;
        const double value = loss(rows.z(i), rows.label(i), a), weight = rows.weight(i);
        if (rows.s != nullptr)  // a row of weight 0 is not there, even at inf
            for (std::size_t k = 0; k < rows.K; ++k) a[k] = weight > 0 ? weight * a[k] : 0.0;
        sum += weight > 0 ? weight * value : 0.0;
    }
    return sum;
}

template <class Loss, class Rows>
FENCHEL_INLINE double vector_slope_loop(const Loss& loss, const Rows rows, const double* Q,
                                        double eta) {
    double sum = 0;
    for (std::size_t i = 0; i < rows.n; ++i) {
        const double weight = rows.weight(i);
        const double slope = loss.slope(loss.at(rows.z(i), Q + i * rows.K, rows.label(i), eta));
        sum += weight > 0 ? weight * slope : 0.0;
    }
    return sum;
}

template <class Loss, class Rows, class Emit>
FENCHEL_INLINE void vector_kinks_loop(const Loss& loss, const Rows rows, const double* Q,
                                      double low, double high, Emit& emit) {
    Workspace work;
    for (std::size_t i = 0; i < rows.n; ++i) {
        const double* z = rows.z(i);
        const double* q = Q + i * rows.K;
        const double weight = rows.weight(i);
        if (!(weight > 0)) continue;
        const auto at_low = loss.at(z, q, rows.label(i), low);
        const auto at_high = loss.at(z, q, rows.label(i), high);
        if (loss.slope(at_low) == loss.slope(at_high)) continue;  // convex, so straight in between
        loss.corners(z, q, rows.label(i), low, at_low, high, at_high, work,
                     [&](double eta, double jump) { emit(Kink{eta, weight * jump, 0.0}); });
    }
}

template <class Loss, class Rows>
FENCHEL_AVX2 double vector_slopes_avx2(const Loss& loss, const Rows rows, double* A) {
    return vector_slopes_loop(loss, rows, A);
}

template <class Loss, class Rows>
FENCHEL_AVX2 double vector_slope_avx2(const Loss& loss, const Rows rows, const double* Q,
                                      double eta) {
    return vector_slope_loop(loss, rows, Q, eta);
}

template <class Loss, class Rows, class Emit>
FENCHEL_AVX2 void vector_kinks_avx2(const Loss& loss, const Rows rows, const double* Q, double low,
                                    double high, Emit& emit) {
    vector_kinks_loop(loss, rows, Q, low, high, emit);
}

}  // namespace detail

/// A_i = s_i times a subgradient at row i; returns sum_i s_i l(z_i, y_i).
template <class Loss, class Rows>
double vector_slopes(const Loss& loss, const Rows& rows, double* A) {
    return has_avx2() ? detail::vector_slopes_avx2(loss, rows, A)
                      : detail::vector_slopes_loop(loss, rows, A);
}

/// The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i) just right of eta.
template <class Loss, class Rows>
double vector_slope_along(const Loss& loss, const Rows& rows, const double* Q, double eta) {
    return has_avx2() ? detail::vector_slope_avx2(loss, rows, Q, eta)
                      : detail::vector_slope_loop(loss, rows, Q, eta);
}

/// The kinks of the same function in (low, high], in no order.
template <class Loss, class Rows>
std::vector<Kink> vector_kinks_along(const Loss& loss, const Rows& rows, const double* Q,
                                     double low, double high) {
    std::vector<Kink> kinks;
    auto emit = [&](const Kink& kink) { kinks.push_back(kink); };
    has_avx2() ? detail::vector_kinks_avx2(loss, rows, Q, low, high, emit)
               : detail::vector_kinks_loop(loss, rows, Q, low, high, emit);
    return kinks;
}

/// The rows where more than one piece is the highest, up to `tolerance` of the largest score.
template <class Loss, class Rows>
std::vector<std::int64_t> vector_ties(const Loss& loss, const Rows& rows, double tolerance) {
    std::vector<std::int64_t> tied;
    for (std::size_t i = 0; i < rows.n; ++i)
        if (loss.tied(rows.z(i), rows.label(i), tolerance))
            tied.push_back(static_cast<std::int64_t>(i));
    return tied;
}

/// A_i = s_i times the subgradient at row i that is the largest along q_i.
template <class Loss, class Rows>
void vector_steepest(const Loss& loss, const Rows& rows, const double* Q, double tolerance,
                     double* A) {
    for (std::size_t i = 0; i < rows.n; ++i) {
        double* a = A + i * rows.K;
        loss.steepest(rows.z(i), Q + i * rows.K, rows.label(i), tolerance, a);
        if (rows.s != nullptr)
            for (std::size_t k = 0; k < rows.K; ++k) a[k] *= rows.s[i];
    }
}

}  // namespace fenchel

// Measures of a labelling of all rows, by the worst labelling y' (Joachims, ICML 2005; [Zhang11]
// eq. 43):
//
//     max over y' in {-1, 1}^n of  Delta(y', y) + (1/n) <f, y'> - (1/n) <f, right>
//
// as c + <g, f>. Delta depends on the number of false negatives and false positives only, so the
// worst y' takes the lowest of the positives and the highest of the negatives for wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sorted.hpp"

namespace fenchel {

/// Positives and negatives, apart.
struct TwoClasses {
    std::vector<Scored> positive, negative;

    TwoClasses(const double* f, const double* y, std::size_t n) {
        const auto n_positive = std::count_if(y, y + n, [](double label) { return label > 0; });
        positive.reserve(n_positive);
        negative.reserve(n - n_positive);
        for (std::size_t i = 0; i < n; ++i) {
            auto& same = y[i] > 0 ? positive : negative;
            same.push_back({f[i], static_cast<std::uint32_t>(i)});
        }
    }
};

/// Delta = 1 - F_beta with a true and b lost positives, c false ones:
/// F_beta = (1 + beta^2) a / D,  D = beta^2 (a + b) + a + c.
class FScore {
  public:
    FScore(double beta, std::size_t n_positive)
        : square_(beta * beta), n_positive_(static_cast<double>(n_positive)) {}

    double delta(std::size_t b, double c) const {
        const double a = n_positive_ - static_cast<double>(b);
        return 1.0 - (1.0 + square_) * a / (square_ * n_positive_ + a + c);
    }

    /// Delta(b, c + 1) - Delta(b, c).
    double rise(std::size_t b, double c) const {
        const double a = n_positive_ - static_cast<double>(b);
        const double D = square_ * n_positive_ + a + c;
        return (1.0 + square_) * a / (D * (D + 1.0));
    }

    /// Delta between whole numbers, of `most` at most: straight.
    double between(std::size_t b, double c, std::size_t most) const {
        const double low = std::min(std::floor(c), static_cast<double>(most) - 1.0);
        const double at_low = delta(b, low);
        return at_low + (c - low) * (delta(b, low + 1.0) - at_low);
    }

  private:
    double square_, n_positive_;
};

/// The worst labelling by Delta = 1 - F_beta.
///
/// For a fixed b the maximum over c is that of a concave function: -1/D is concave in c, and so
/// are the sums of the highest scores. Where its increments
///     (1 + beta^2) a / (D (D + 1)) + (2/n) f_(c+1)
/// end to be > 0 is found by bisection, from where it was for b - 1.
///
/// A shift t of all scores does not change their order, so that one sort serves every t. The loss
/// is the maximum of lines in t of the slopes (2/n) (c - b).
class FBeta {
  public:
    FBeta(double beta, const double* f, const double* y, std::size_t n)
        : rows_(f, y, n),
          measure_(beta, rows_.positive.size()),
          step_(2.0 / static_cast<double>(n)) {
        std::vector<Scored> spare;
        sort_rows(rows_.positive, spare, Order::rising);
        sort_rows(rows_.negative, spare, Order::falling);
        gain_.assign(rows_.negative.size() + 1, 0.0);
        for (std::size_t c = 0; c < rows_.negative.size(); ++c)
            gain_[c + 1] = gain_[c] + rows_.negative[c].score;
    }

    /// The worst labelling at a shift: the first b of the positives and c of the negatives.
    struct Worst {
        double t, value;
        std::size_t b, c;
    };

    Worst worst(double t) const {
        Worst best{t, -1.0, 0, 0};
        std::size_t c = 0;
        double loss = 0.0;  // of the b lowest positives
        for (std::size_t b = 0; b <= rows_.positive.size(); ++b) {
            if (b > 0) loss += rows_.positive[b - 1].score;
            c = count(b, t, c);
            const double moved = t * (static_cast<double>(c) - static_cast<double>(b));
            const double value = delta(b, c) + step_ * (gain_[c] - loss + moved);
            if (value > best.value || b == 0) best = {t, value, b, c};
        }
        return best;
    }

    /// Adds the slopes of a labelling times a weight, and gives its Delta.
    double add(const Worst& at, double weight, double* g) const {
        for (std::size_t b = 0; b < at.b; ++b) g[rows_.positive[b].row] -= weight * step_;
        for (std::size_t c = 0; c < at.c; ++c) g[rows_.negative[c].row] += weight * step_;
        return delta(at.b, at.c);
    }

    /// The slope of the loss in t.
    double slope(const Worst& at) const {
        return step_ * (static_cast<double>(at.c) - static_cast<double>(at.b));
    }

    /// The shift of the least loss, from a guess, with the lines that meet there: the first falls
    /// and the second rises, or both are the same and flat.
    std::pair<Worst, Worst> least(double guess) const {
        Worst below = worst(guess), above = below;
        for (double width = spread(); slope(below) > 0 && std::isfinite(below.t); width *= 4) {
            above = below;
            below = worst(below.t - width);
        }
        for (double width = spread(); slope(above) < 0 && std::isfinite(above.t); width *= 4) {
            below = above;
            above = worst(above.t + width);
        }
        for (bool halve = false; slope(below) < 0 && slope(above) > 0;) {
            const double width = above.t - below.t,
                         t = halve ? below.t + 0.5 * width : meeting(below, above);
            if (!(below.t < t && t < above.t)) break;
            const Worst here = worst(t);
            const double line = below.value + slope(below) * (t - below.t);
            if (!halve && here.value <= line + kRoundOff * std::abs(line)) {
                below.t = above.t = t;
                below.value = above.value = here.value;
                break;
            }
            (slope(here) < 0 ? below : above) = here;
            halve = !halve && above.t - below.t > 0.5 * width;
        }
        if (slope(below) == 0) return {below, below};
        if (slope(above) == 0) return {above, above};
        return {below, above};
    }

  private:
    static constexpr double kRoundOff = 1e-15;

    double delta(std::size_t b, std::size_t c) const {
        return measure_.delta(b, static_cast<double>(c));
    }

    /// How many of the increments for this b are > 0; near `guess` most of the time.
    std::size_t count(std::size_t b, double t, std::size_t guess) const {
        return count_first(rows_.negative.size(), guess, [&](std::size_t c) {
            const double rise = measure_.rise(b, static_cast<double>(c));
            return rise + step_ * (rows_.negative[c].score + t) > 0;
        });
    }

    /// How far to look for the least loss at first: a share of how far the scores are apart.
    double spread() const {
        const double lowest = std::min(rows_.positive.front().score, rows_.negative.back().score);
        const double highest = std::max(rows_.positive.back().score, rows_.negative.front().score);
        return 1.0 + 0.01 * (highest - lowest);
    }

    /// Where two lines meet.
    double meeting(const Worst& below, const Worst& above) const {
        const double rise = slope(above) * (above.t - below.t);
        return below.t + (below.value - above.value + rise) / (slope(above) - slope(below));
    }

    TwoClasses rows_;
    FScore measure_;
    double step_;
    std::vector<double> gain_;  // of the c highest negatives
};

/// c, with the slopes in g: the loss is c + <g, f>.
inline double fbeta(double beta, const double* f, const double* y, std::size_t n, double* g) {
    const FBeta loss(beta, f, y, n);
    std::fill(g, g + n, 0.0);
    return loss.add(loss.worst(0.0), 1.0, g);
}

/// (t, value) for the shift t of the least loss; in g a subgradient of the least loss, whose slopes
/// add up to 0. nan where shifts that would matter are out of range.
inline std::pair<double, double> least_fbeta(double beta, const double* f, const double* y,
                                             std::size_t n, double guess, double* g) {
    const FBeta loss(beta, f, y, n);
    const auto [below, above] = loss.least(guess);
    const double falls = -loss.slope(below), rises = loss.slope(above);
    const bool found = falls >= 0 && rises >= 0 && std::isfinite(below.t + above.t);
    const double share = falls + rises > 0 ? rises / (falls + rises) : 1.0;  // of `below`
    std::fill(g, g + n, found ? 0.0 : std::numeric_limits<double>::quiet_NaN());
    if (!found) return {guess, std::numeric_limits<double>::quiet_NaN()};
    loss.add(below, share, g);
    if (share < 1) loss.add(above, 1 - share, g);
    const auto& best = below.value <= above.value ? below : above;
    return {best.t, best.value};
}

/// k rows are taken for positive, a of them rightly: Delta = 1 - a / `whole`. `right` is the mean
/// of the best such labellings, so that the loss is >= 0 and shifts of all scores do not matter;
/// with y itself, as Joachims has it, neither is true unless k is the number of positives.
inline double top_k(const double* f, const double* y, std::size_t n, std::size_t k, double whole,
                    double* g) {
    TwoClasses rows(f, y, n);
    std::vector<Scored> spare;
    const auto sum_top = [&](std::vector<Scored>& scored) {
        const std::size_t size = std::min(k, scored.size());
        sort_rows(scored, spare, Order::falling);
        std::vector<double> sums(size + 1, 0.0);
        for (std::size_t i = 0; i < size; ++i) sums[i + 1] = sums[i] + scored[i].score;
        return sums;
    };
    const double step = 2.0 / static_cast<double>(n), n_taken = static_cast<double>(k);
    const double n_positive = static_cast<double>(rows.positive.size());
    const double n_negative = static_cast<double>(rows.negative.size());
    const std::vector<double> right = sum_top(rows.positive), wrong = sum_top(rows.negative);
    const std::size_t least = k - std::min(k, rows.negative.size());
    std::size_t best_a = least;
    double best = 0.0;
    for (std::size_t a = least; a < right.size(); ++a) {
        const double value =
            1.0 - static_cast<double>(a) / whole + step * (right[a] + wrong[k - a]);
        if (value > best || a == least) best = value, best_a = a;
    }
    const double share_positive = std::min(1.0, n_taken / n_positive);
    const double share_negative = std::max(0.0, n_taken - n_positive) / n_negative;
    for (std::size_t i = 0; i < n; ++i) g[i] = -step * (y[i] > 0 ? share_positive : share_negative);
    for (std::size_t i = 0; i < best_a; ++i) g[rows.positive[i].row] += step;
    for (std::size_t i = 0; i < k - best_a; ++i) g[rows.negative[i].row] += step;
    return 1.0 - static_cast<double>(best_a) / whole;
}

}  // namespace fenchel

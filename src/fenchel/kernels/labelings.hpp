// Measures of a labelling of all rows, by the worst labelling y' (Joachims, ICML 2005; 004 eq. 43):
//
//     max over y' in {-1, 1}^n of  Delta(y', y) + (1/n) <f, y'> - (1/n) <f, right>
//
// as c + <g, f>. Delta depends on the number of false negatives and false positives only, so the
// worst y' takes the lowest of the positives and the highest of the negatives for wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
///
/// For a fixed b the maximum over c is that of a concave function: -1/D is concave in c, and so
/// are the sums of the highest scores. Where its increments
///     (1 + beta^2) a / (D (D + 1)) + (2/n) f_(c+1)
/// end to be > 0 is found by bisection, from where it was for b - 1.
class FBeta {
  public:
    FBeta(double beta, std::size_t n_positive, std::size_t n)
        : square_(beta * beta), n_positive_(static_cast<double>(n_positive)), step_(2.0 / n) {}

    double operator()(const double* f, const double* y, std::size_t n, double* g) const {
        TwoClasses rows(f, y, n);
        auto& lost = rows.positive;   // the first b of them
        auto& found = rows.negative;  // the first c of them
        std::vector<Scored> spare;
        sort_rows(lost, spare, Order::rising);
        sort_rows(found, spare, Order::falling);
        std::vector<double> gain(found.size() + 1, 0.0);  // of the c highest negatives
        for (std::size_t c = 0; c < found.size(); ++c) gain[c + 1] = gain[c] + found[c].score;
        std::size_t best_b = 0, best_c = 0, c = 0;
        double best = -1.0, loss = 0.0;  // `loss` of the b lowest positives
        for (std::size_t b = 0; b <= lost.size(); ++b) {
            if (b > 0) loss += lost[b - 1].score;
            c = count(b, found, c);
            const double value = delta(b, c) + step_ * (gain[c] - loss);
            if (value > best || b == 0) best = value, best_b = b, best_c = c;
        }
        std::fill(g, g + n, 0.0);
        for (std::size_t b = 0; b < best_b; ++b) g[lost[b].row] = -step_;
        for (std::size_t k = 0; k < best_c; ++k) g[found[k].row] = step_;
        return delta(best_b, best_c);
    }

  private:
    double delta(std::size_t b, std::size_t c) const {
        const double a = n_positive_ - static_cast<double>(b);
        return 1.0 - (1.0 + square_) * a / (square_ * n_positive_ + a + static_cast<double>(c));
    }

    /// How many of the increments for this b are > 0; near `guess` most of the time.
    std::size_t count(std::size_t b, const std::vector<Scored>& found, std::size_t guess) const {
        const double a = n_positive_ - static_cast<double>(b);
        const auto rises = [&](std::size_t c) {
            const double D = square_ * n_positive_ + a + static_cast<double>(c);
            return (1.0 + square_) * a / (D * (D + 1.0)) + step_ * found[c].score > 0;
        };
        std::size_t low = 0, high = found.size(), step = 1;  // the count is in [low, high]
        if (guess < high && rises(guess)) {
            low = guess + 1;
            while (low + step < high && rises(low + step)) low += step + 1, step *= 2;
            high = std::min(high, low + step);
        } else {
            high = guess;
            while (high > step && !rises(high - step)) high -= step, step *= 2;
            low = high > step ? high - step + 1 : 0;
        }
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (rises(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    double square_, n_positive_, step_;
};

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

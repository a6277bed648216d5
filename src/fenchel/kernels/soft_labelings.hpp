// F_beta's loss with its maximum over labellings made soft, as c + <g, f> - lack
// (losses/labeling.py has the formula): for each number b of lost positives shares of the rows take
// the place of sets, and the maximum over b is made soft by the entropy of a distribution.
//
// For each b, Delta is concave in the number of found negatives: between whole numbers c it is
// straight, and the best C, no whole number in general, is where the slope of Delta is worth what
// the threshold says.
#pragma once

#include <numbers>

#include "labelings.hpp"
#include "soft_sets.hpp"

namespace fenchel {

class SoftFBeta {
  public:
    SoftFBeta(double beta, double mu, const double* f, const double* y, std::size_t n)
        : rows_(f, y, n), measure_(beta, rows_.positive.size()), n_(static_cast<double>(n)) {
        const auto n_positive = static_cast<double>(rows_.positive.size());
        step_ = 2.0 / n_, tau_ = mu / (2 * std::log(n_positive + 1.0));
        const double nu = mu * n_ / (4 * n_positive);
        for (Scored& row : rows_.positive) row.score = -row.score;
        std::vector<Scored> spare;
        sort_rows(rows_.positive, spare, Order::falling);
        sort_rows(rows_.negative, spare, Order::falling);
        lost_.assign(rows_.positive, nu, rows_.positive.size());
        found_.assign(rows_.negative, nu, rows_.negative.size());
    }

    /// (c, lack), and the slopes in g.
    std::pair<double, double> operator()(double* g) {
        const std::size_t n_counts = rows_.positive.size() + 1;
        std::vector<double> kappa(n_counts), lambda(n_counts), delta(n_counts), values(n_counts),
            squares(n_counts);
        std::size_t c = 0;
        Taken near;
        for (std::size_t b = 0; b < n_counts; ++b) {
            const auto [C, taken] = best_count(b, c, near);
            const Taken& lost = lost_.of(b);
            kappa[b] = lost.kappa, lambda[b] = taken.kappa;
            delta[b] = measure_.between(b, C, rows_.negative.size());
            squares[b] = lost_.square(lost) + found_.square(taken);
            const double gained = lost_.worth(lost) + found_.worth(taken);
            values[b] = delta[b] + step_ * (gained - lost_.nu() / 2 * squares[b]);
        }
        const double lack = theta_.assign(values, tau_);
        theta_.shares(lost_, kappa, [&](auto row, double share) { g[row] = -step_ * share; });
        theta_.shares(found_, lambda, [&](auto row, double share) { g[row] = step_ * share; });
        return {theta_.mean(delta), tau_ * lack + step_ * lost_.nu() / 2 * theta_.mean(squares)};
    }

  private:
    /// The best C for b lost positives, and the threshold of shares that add up to it.
    ///
    /// One more row brings rise(c) to Delta between c and c + 1, so that rows with step f > -rise
    /// are worth it: the first c at which they are no more than c + 1. If they are fewer than c,
    /// then C = c, as between c - 1 and c they are more. Both are near those for b - 1.
    std::pair<double, Taken> best_count(std::size_t b, std::size_t& c, Taken& near) const {
        const auto taken = [&](std::size_t count) {
            return near = found_.at(-measure_.rise(b, static_cast<double>(count)) / step_, near);
        };
        c = count_first(found_.size() - 1, c, [&](std::size_t count) {
            return !(found_.total(taken(count)) <= static_cast<double>(count) + 1.0);
        });
        const Taken at = taken(c);
        const double low = static_cast<double>(c), total = found_.total(at);
        if (total < low) return {low, found_.of(c)};
        return {total < low + 1.0 ? total : low + 1.0, at};
    }

    TwoClasses rows_;
    FScore measure_;
    double n_, step_ = 0.0, tau_ = 0.0;
    SoftSets lost_, found_;
    SoftMaximum theta_;
};

}  // namespace fenchel

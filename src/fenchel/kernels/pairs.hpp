// The hinge over pairs of rows of different levels: ROC area, ordinal regression, ranking.
//
//     sum over pairs with level_i < level_j of cost(level_i, level_j) s_i s_j max(0, 1 + f_i - f_j)
//
// as c + <g, f>. Rows are sorted by f once. For the slopes of the upper rows j they are swept
// downwards: the lower rows i that j has not left behind, f_j - 1 < f_i, are then only ever added,
// to one sum for each level. The slopes of the lower rows come from a sweep upwards. Both ask for
// f_j - 1 < f_i in these words, so that they agree on every pair whatever the round-off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sorted.hpp"

namespace fenchel {

/// Sums of weights by level where all pairs cost the same: a Fenwick tree, O(log n_levels) a step.
class PrefixSums {
  public:
    void reset(std::size_t n_levels) { tree_.assign(n_levels + 1, 0.0); }
    void add(std::size_t level, double s) {
        for (std::size_t k = level + 1; k < tree_.size(); k += k & -k) tree_[k] += s;
    }
    /// The sum over the levels below this one.
    double below(std::size_t level) const {
        double sum = 0.0;
        for (std::size_t k = level; k > 0; k -= k & -k) sum += tree_[k];
        return sum;
    }

  private:
    std::vector<double> tree_;
};

/// What the lower rows add up to for an upper row, and the other way round.
class EqualCosts {
  public:
    void reset(std::size_t n_levels) {
        n_levels_ = n_levels;
        lower_.reset(n_levels);
        upper_.reset(n_levels);
    }
    void add_lower(std::size_t level, double s) { lower_.add(level, s); }
    void add_upper(std::size_t level, double s) { upper_.add(n_levels_ - 1 - level, s); }
    double below(std::size_t level) const { return lower_.below(level); }
    double above(std::size_t level) const { return upper_.below(n_levels_ - 1 - level); }

  private:
    std::size_t n_levels_ = 0;
    PrefixSums lower_, upper_;
};

/// The same with a matrix of costs, cost[lower, upper]: O(n_levels) a step.
class CostMatrix {
  public:
    CostMatrix(const double* cost, std::size_t n_levels) : cost_(cost), n_levels_(n_levels) {}
    void reset(std::size_t) {
        lower_.assign(n_levels_, 0.0);
        upper_.assign(n_levels_, 0.0);
    }
    void add_lower(std::size_t level, double s) { lower_[level] += s; }
    void add_upper(std::size_t level, double s) { upper_[level] += s; }
    double below(std::size_t level) const {
        double sum = 0.0;
        for (std::size_t l = 0; l < level; ++l) sum += cost_[l * n_levels_ + level] * lower_[l];
        return sum;
    }
    double above(std::size_t level) const {
        double sum = 0.0;
        for (std::size_t u = level + 1; u < n_levels_; ++u) {
            sum += cost_[level * n_levels_ + u] * upper_[u];
        }
        return sum;
    }

  private:
    const double* cost_;
    std::size_t n_levels_;
    std::vector<double> lower_, upper_;
};

/// Rows with their levels 0 .. n_levels-1 and weights (null: all 1).
struct Levels {
    const std::int32_t* level;
    const double* s;

    double weight(std::size_t row) const { return s == nullptr ? 1.0 : s[row]; }
};

/// sum over pairs of different levels of s_i s_j.
inline double weight_of_pairs(const Levels& rows, Span span, std::vector<double>& totals) {
    std::size_t n_levels = 0;
    for (std::size_t i = span.first; i < span.last; ++i) {
        n_levels = std::max<std::size_t>(n_levels, rows.level[i] + 1);
    }
    totals.assign(n_levels, 0.0);
    for (std::size_t i = span.first; i < span.last; ++i) totals[rows.level[i]] += rows.weight(i);
    double pairs = 0.0, below = 0.0;
    for (const double total : totals) {
        pairs += below * total;
        below += total;
    }
    return pairs;
}

/// Arrays that one span leaves to the next.
struct Workspace {
    std::vector<Scored> sorted, spare;
    std::vector<double> totals, slopes;
};

/// The mean over the pairs of one span, times `share`: returns c, writes g.
template <class Sums>
double mean_pairwise_hinge(const double* f, const Levels& rows, Span span, double share, Sums& sums,
                           Workspace& space, double* g) {
    auto& [sorted, spare, totals, slopes] = space;
    const double pairs = weight_of_pairs(rows, span, totals);
    if (!(pairs > 0)) {  // nothing to be ordered
        std::fill(g + span.first, g + span.last, 0.0);
        return 0.0;
    }
    sums.reset(totals.size());
    sorted.clear();
    sorted.reserve(span.size());
    for (std::size_t i = span.first; i < span.last; ++i) {
        const auto row = static_cast<std::uint32_t>(i);
        sorted.push_back({f[i], row, static_cast<std::uint32_t>(rows.level[i])});
    }
    sort_rows(sorted, spare, Order::rising);
    slopes.resize(sorted.size());
    double c = 0.0;
    std::size_t added = sorted.size();
    for (std::size_t k = sorted.size(); k-- > 0;) {
        const Scored upper = sorted[k];
        while (added > 0 && upper.score - 1.0 < sorted[added - 1].score) {
            const Scored& lower = sorted[--added];
            sums.add_lower(lower.level, rows.weight(lower.row));
        }
        slopes[k] = sums.below(upper.level);
        c += rows.weight(upper.row) * slopes[k];
    }
    const double scale = share / pairs;
    added = 0;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
        const Scored lower = sorted[k];
        while (added < sorted.size() && sorted[added].score - 1.0 < lower.score) {
            const Scored& upper = sorted[added++];
            sums.add_upper(upper.level, rows.weight(upper.row));
        }
        const double slope = sums.above(lower.level) - slopes[k];
        g[lower.row] = scale * rows.weight(lower.row) * slope;
    }
    return c * scale;
}

/// The mean over groups of the mean over their pairs.
template <class Sums>
double pairwise_hinge(const double* f, const Levels& rows, const Groups& groups, Sums sums,
                      double* g) {
    Workspace space;
    double c = 0.0;
    for (std::size_t q = 0; q < groups.size(); ++q) {
        c += mean_pairwise_hinge(f, rows, groups[q], groups.share(), sums, space, g);
    }
    return c;
}

}  // namespace fenchel

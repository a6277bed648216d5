// Measures of a ranking of the documents of each query, by the worst ranking ([Teo07] section 3.1).
//
// For every threshold of relevance, with n of the m documents of a query above it,
//
//     max over pi of  weight lost(pi) + (weight whole / n) (sum of f over the first n places - over
//                                                          the n relevant documents)
//
// added up over thresholds, as c + <g, f>; the mean over queries. `lost` is what the measure loses
// against a right ranking, which has `whole`. Only how many places of the first n go to irrelevant
// documents, t, matters to the second term: they are the t highest, and the t lowest of the
// relevant ones leave. The measure loses most with the irrelevant documents ahead in both parts.
//
// Made soft, shares of documents take the place of both sets, and the maximum over t is that of a
// distribution over t with its entropy (soft_sets.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "soft_sets.hpp"

namespace fenchel {

/// A place p is worth a_p; `sums` are those of the first 0, 1, 2, ... places.
struct DiscountedGain {
    const double* sums;

    double whole(std::size_t n) const { return sums[n]; }
    double lost(std::size_t t, std::size_t, std::size_t m) const {
        return sums[t] - (sums[m] - sums[m - t]);
    }
};

/// One over the first place with a relevant document.
struct ReciprocalRank {
    double whole(std::size_t) const { return 1.0; }
    double lost(std::size_t t, std::size_t n, std::size_t m) const {
        return 1.0 - 1.0 / static_cast<double>(t < n ? t + 1 : m - n + 1);
    }
};

/// Levels of relevance 0, 1, ... in each query, and the gain of each document's level.
struct Documents {
    const std::int32_t* level;
    const double* gain;
    Groups queries;
};

template <class Measure>
class Rankings {
  public:
    explicit Rankings(Measure measure) : measure_(measure) {}

    double operator()(const double* f, const Documents& documents, double* g) {
        const double share = documents.queries.share();
        double c = 0.0;
        for_thresholds(f, documents, g, [&](double weight) { c += worst(share * weight, g); });
        return c;
    }

    /// (c, lack) of the soft maxima, mu wide.
    std::pair<double, double> soft(const double* f, const Documents& documents, double mu,
                                   double* g) {
        const double share = documents.queries.share();
        double c = 0.0, lack = 0.0;
        for_thresholds(f, documents, g, [&](double weight) {
            const auto [more, less] = soft_worst(weight, share, mu, g);
            c += more, lack += less;
        });
        return {c, lack};
    }

  private:
    /// The documents in falling order of f, and the gains of the levels.
    void sort(const double* f, const Documents& documents, Span span) {
        sorted_.clear();
        gains_.clear();
        for (std::size_t i = span.first; i < span.last; ++i) {
            const auto level = static_cast<std::uint32_t>(documents.level[i]);
            sorted_.push_back({f[i], static_cast<std::uint32_t>(i), level});
            if (level >= gains_.size()) gains_.resize(level + 1);
            gains_[level] = documents.gain[i];
        }
        sort_rows(sorted_, spare_, Order::falling);
    }

    /// add(the gains' step) for each threshold, with relevant and other documents parted.
    template <class Add>
    void for_thresholds(const double* f, const Documents& documents, double* g, Add&& add) {
        for (std::size_t q = 0; q < documents.queries.size(); ++q) {
            const Span span = documents.queries[q];
            std::fill(g + span.first, g + span.last, 0.0);
            sort(f, documents, span);
            for (std::uint32_t threshold = 1; threshold < gains_.size(); ++threshold) {
                relevant_.clear();
                irrelevant_.clear();
                for (const Scored& row : sorted_)
                    (row.level >= threshold ? relevant_ : irrelevant_).push_back(row);
                add(gains_[threshold] - gains_[threshold - 1]);
            }
        }
    }

    double worst(double weight, double* g) {
        const std::size_t n = relevant_.size(), m = sorted_.size();
        const double factor = weight * measure_.whole(n) / static_cast<double>(n);
        double margin = 0.0, best = 0.0;
        std::size_t swapped = 0;
        for (std::size_t t = 1; t <= std::min(n, m - n); ++t) {
            margin += irrelevant_[t - 1].score - relevant_[n - t].score;
            const double value = weight * measure_.lost(t, n, m) + factor * margin;
            if (value > best) best = value, swapped = t;
        }
        for (std::size_t t = 0; t < swapped; ++t) {
            g[irrelevant_[t].row] += factor;
            g[relevant_[n - 1 - t].row] -= factor;
        }
        return weight * measure_.lost(swapped, n, m);
    }

    /// (c, lack) of one threshold, of which the mean over queries takes `share`.
    std::pair<double, double> soft_worst(double weight, double share, double mu, double* g) {
        const std::size_t n = relevant_.size(), m = sorted_.size(), most = std::min(n, m - n);
        const double whole = weight * measure_.whole(n);
        if (whole == 0 || most == 0) return {0.0, 0.0};
        const double nu = mu / 2, factor = whole / static_cast<double>(n);
        const double tau = whole * mu / (2 * std::log(static_cast<double>(most) + 1.0));
        std::reverse(relevant_.begin(), relevant_.end());
        for (Scored& row : relevant_) row.score = -row.score;
        found_.assign(irrelevant_, nu, most), fallen_.assign(relevant_, nu, most);
        for (auto* each : {&kappa_, &lambda_, &lost_, &squares_, &values_}) each->resize(most + 1);
        for (std::size_t t = 0; t <= most; ++t) {
            const Taken &found = found_.of(t), &fallen = fallen_.of(t);
            kappa_[t] = found.kappa, lambda_[t] = fallen.kappa;
            lost_[t] = weight * measure_.lost(t, n, m);
            squares_[t] = found_.square(found) + fallen_.square(fallen);
            const double gained = found_.worth(found) + fallen_.worth(fallen);
            values_[t] = lost_[t] + factor * (gained - nu / 2 * squares_[t]);
        }
        const double lack = theta_.assign(values_, tau), each = share * factor;
        theta_.shares(found_, kappa_, [&](auto row, double u) { g[row] += each * u; });
        theta_.shares(fallen_, lambda_, [&](auto row, double u) { g[row] -= each * u; });
        return {share * theta_.mean(lost_),
                share * (tau * lack + factor * nu / 2 * theta_.mean(squares_))};
    }

    Measure measure_;
    std::vector<double> gains_;
    std::vector<Scored> sorted_, spare_, relevant_, irrelevant_;
    SoftSets found_, fallen_;
    SoftMaximum theta_;
    std::vector<double> kappa_, lambda_, lost_, squares_, values_;  // for each t
};

}  // namespace fenchel

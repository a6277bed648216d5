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
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sorted.hpp"

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
        for (std::size_t q = 0; q < documents.queries.size(); ++q) {
            const Span span = documents.queries[q];
            std::fill(g + span.first, g + span.last, 0.0);
            sort(f, documents, span);
            for (std::uint32_t threshold = 1; threshold < gains_.size(); ++threshold) {
                const double weight = share * (gains_[threshold] - gains_[threshold - 1]);
                c += worst(threshold, weight, g);
            }
        }
        return c;
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

    double worst(std::uint32_t threshold, double weight, double* g) {
        relevant_.clear();
        irrelevant_.clear();
        for (const Scored& row : sorted_) {
            (row.level >= threshold ? relevant_ : irrelevant_).push_back(row);
        }
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

    Measure measure_;
    std::vector<double> gains_;
    std::vector<Scored> sorted_, spare_, relevant_, irrelevant_;
};

}  // namespace fenchel

// Measures of a ranking of the documents of each query, by the worst ranking (003 section 3.1):
//
//     max over pi of  Delta(pi) + sum_p a_p f_pi(p) - <right, f>
//
// as c + <g, f>, pi(p) the document in place p, a_p >= a_p+1 >= 0 what a place is worth, `right`
// what a document's place is worth in a right ranking. The mean over queries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sorted.hpp"

namespace fenchel {

/// What all queries have in common, and what each document has.
struct Documents {
    const double* worth;  // of places 1, 2, ...
    const double* right;
    Groups queries;
};

/// Delta(pi) = 1 - sum_p a_p gain_pi(p), the gains such that a right ranking has Delta = 0.
///
/// The maximum is over sum_p a_p (f - gain)_pi(p), a linear assignment whose matrix is a product:
/// as a_p falls, the documents in falling order of f - gain attain it (rearrangement inequality),
/// so that a sort does what 003 has an assignment solver for. A query whose gains are all 0
/// has nothing to be ordered, and no part in the loss.
inline double gain_ranking(const double* f, const Documents& documents, const double* gain,
                           double* g) {
    std::vector<Scored> sorted, spare;
    const double share = documents.queries.share();
    double loss = 0.0;
    for (std::size_t q = 0; q < documents.queries.size(); ++q) {
        const Span span = documents.queries[q];
        sorted.clear();
        bool relevant = false;
        for (std::size_t i = span.first; i < span.last; ++i) {
            g[i] = 0.0;
            relevant = relevant || gain[i] > 0;
            sorted.push_back({f[i] - gain[i], static_cast<std::uint32_t>(i)});
        }
        if (!relevant) continue;
        sort_rows(sorted, spare, Order::falling);
        double measure = 0.0;
        for (std::size_t p = 0; p < sorted.size(); ++p) {
            const std::size_t i = sorted[p].row;
            measure += documents.worth[p] * gain[i];
            g[i] = share * (documents.worth[p] - documents.right[i]);
        }
        loss += share * (1.0 - measure);
    }
    return loss;
}

/// Delta(pi) = 1 - 1/r, r the place of the first relevant document; no linear assignment where
/// several are relevant.
///
/// With the first r - 1 places kept for irrelevant documents, the best is to put the highest of
/// them there and all others behind in falling order. From r to r + 1 the r-th irrelevant document
/// passes the t relevant ones above it, each of which falls by a place. To claim 1 - 1/r where the
/// first relevant one stands even further behind is no more than the maximum.
class ReciprocalRank {
  public:
    double operator()(const double* f, const Documents& documents, const double* y, double* g) {
        const double share = documents.queries.share();
        double loss = 0.0;
        for (std::size_t q = 0; q < documents.queries.size(); ++q) {
            const Span span = documents.queries[q];
            split(f, y, span);
            std::fill(g + span.first, g + span.last, 0.0);
            if (relevant_.empty() || irrelevant_.empty()) continue;
            const std::size_t first = worst(documents.worth);
            place(first, documents.worth, share, g);
            for (std::size_t i = span.first; i < span.last; ++i) g[i] -= share * documents.right[i];
            loss += share * (1.0 - 1.0 / static_cast<double>(first + 1));
        }
        return loss;
    }

  private:
    void split(const double* f, const double* y, Span span) {
        relevant_.clear();
        irrelevant_.clear();
        for (std::size_t i = span.first; i < span.last; ++i) {
            (y[i] > 0 ? relevant_ : irrelevant_).push_back({f[i], static_cast<std::uint32_t>(i)});
        }
        sort_rows(relevant_, spare_, Order::falling);
        sort_rows(irrelevant_, spare_, Order::falling);
    }

    /// How many irrelevant documents the worst ranking begins with.
    std::size_t worst(const double* a) const {
        double value = 0.0, best = 0.0;
        std::size_t first = 0, t = 0;
        for (std::size_t r = 0; r < irrelevant_.size(); ++r) {
            while (t < relevant_.size() && higher(relevant_[t], irrelevant_[r])) ++t;
            value += irrelevant_[r].score * (a[r] - a[r + t]);
            for (std::size_t j = 0; j < t; ++j) {
                value -= relevant_[j].score * (a[r + j] - a[r + j + 1]);
            }
            const double delta = 1.0 - 1.0 / static_cast<double>(r + 2);
            if (delta + value > best) best = delta + value, first = r + 1;
        }
        return first;
    }

    /// g = share a_p for the document in place p.
    void place(std::size_t first, const double* a, double share, double* g) const {
        std::size_t p = 0, i = 0, j = 0;
        for (; i < first; ++i) g[irrelevant_[i].row] = share * a[p++];
        while (i < irrelevant_.size() || j < relevant_.size()) {
            const bool next = j < relevant_.size() &&
                              (i == irrelevant_.size() || higher(relevant_[j], irrelevant_[i]));
            g[next ? relevant_[j++].row : irrelevant_[i++].row] = share * a[p++];
        }
    }

    std::vector<Scored> relevant_, irrelevant_, spare_;
};

}  // namespace fenchel

// Linear chains. The score of the labels y of a sequence of tokens is
//
//     s(y) = sum_t z_t(y_t) + sum_t T(y_t-1, y_t),     z_t(l) = sum_f x_tf w(f, l),
//
// with one weight for each pair (feature, label) that the model has, and for each transition: the
// label before is a feature as any other, the last n_labels of them. Weights of a feature stand
// together, so that a token reads a few short runs of w and writes the same runs of the gradient.
//
// Labels are padded with scores of -inf to whole vectors of four. A sequence at a time is scored,
// summed over and scattered: what is kept of it fits the cache, whatever the size of the data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "elementary.hpp"
#include "matrix.hpp"  // Pack
#include "simd.hpp"

namespace fenchel {

/// The pairs of feature f are start[f] .. start[f + 1] - 1; w has one number for each.
///
/// `run` holds the label of each pair, with kLast set at the last pair of a feature. Features with
/// many labels are dense: a copy of their weights has room for all labels, to be added as vectors.
struct Pairs {
    std::size_t n_features, n_labels;  // without, and of, the labels before
    const std::int64_t* start;         // n_features + n_labels + 1 of them
    const std::uint16_t* run;
    std::size_t n_dense;
    const std::int32_t* dense;  // the features of the dense rows
};

inline constexpr std::uint16_t kLast = 1 << 15;

/// Tokens, of which sequence i is start[i] .. start[i + 1] - 1.
///
/// Token t has the features row_start[t] .. row_start[t + 1] - 1. Their `place` says where their
/// numbers are without a look at anything else, which is what makes them quick to fetch: a dense
/// row r as r, pairs from k on as ~k.
template <class Value>
struct Chains {
    std::size_t n_sequences, n_tokens;
    const std::int64_t *start, *row_start;
    const std::int32_t* place;
    const Value* value;
    Pairs pairs;
};

/// What a sequence is to be compared with, and how.
struct Gold {
    const std::int64_t* y;           // labels of all tokens
    const double* cost = nullptr;    // cost[k n_labels + l] of the label k in place of l, or none
    const double* weight = nullptr;  // how often each sequence counts, or once

    double weight_of(std::size_t sequence) const {
        return weight == nullptr ? 1 : weight[sequence];
    }
};

inline std::size_t padded(std::size_t n_labels) { return (n_labels + 3) / 4 * 4; }

namespace detail {

/// Calls use.template operator()<R>() with R the number of packs, at most kMost.
template <int kMost, int R = 1, class Use>
FENCHEL_INLINE void with_count(std::size_t packs, Use&& use) {
    if constexpr (R < kMost) {
        if (packs > R) return with_count<kMost, R + 1>(packs, use);
    }
    use.template operator()<R>();
}

inline constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

/// T(i, j) at T[i width + j]; 0 for a transition without a weight.
inline void transitions(const Pairs& pairs, const double* w, std::size_t width, double* T) {
    for (std::size_t i = 0; i < pairs.n_labels; ++i) {
        double* row = T + i * width;
        std::fill(row, row + pairs.n_labels, 0.0);
        std::fill(row + pairs.n_labels, row + width, kMinusInf);
        const std::int64_t* start = pairs.start + pairs.n_features + i;
        for (std::int64_t k = start[0]; k < start[1]; ++k) row[pairs.run[k] & ~kLast] = w[k];
    }
}

/// g += the slopes E of the transitions that have a weight.
inline void add_transitions(const Pairs& pairs, const double* E, std::size_t width, double* g) {
    for (std::size_t i = 0; i < pairs.n_labels; ++i) {
        const std::int64_t* start = pairs.start + pairs.n_features + i;
        for (std::int64_t k = start[0]; k < start[1]; ++k)
            g[k] += E[i * width + (pairs.run[k] & ~kLast)];
    }
}

/// The rows of dense features for numbers of pairs, 0 for pairs that there are not.
inline std::vector<double> dense_rows(const Pairs& pairs, const double* w, std::size_t width) {
    std::vector<double> rows(pairs.n_dense * width);
    for (std::size_t r = 0; r < pairs.n_dense; ++r) {
        const std::int64_t* start = pairs.start + pairs.dense[r];
        for (std::int64_t k = start[0]; k < start[1]; ++k)
            rows[r * width + (pairs.run[k] & ~kLast)] = w[k];
    }
    return rows;
}

/// g += what the rows of dense features hold.
inline void add_dense_rows(const Pairs& pairs, const std::vector<double>& rows, std::size_t width,
                           double* g) {
    for (std::size_t r = 0; r < pairs.n_dense; ++r) {
        const std::int64_t* start = pairs.start + pairs.dense[r];
        for (std::int64_t k = start[0]; k < start[1]; ++k)
            g[k] += rows[r * width + (pairs.run[k] & ~kLast)];
    }
}

/// Weights, or a gradient, of pairs, and the rows of dense features.
template <class Number>
struct Numbers {
    Number *of_pairs, *of_dense;
};

// Features between prefetch and use: 1.5x on CoNLL-2000.
inline constexpr std::int64_t kFeaturesAhead = 16;

template <class Value, class Number>
FENCHEL_INLINE void fetch_ahead(const Chains<Value>& chains, std::int64_t n, std::int64_t last,
                                std::size_t width, Numbers<Number> numbers) {
    const std::int32_t place = chains.place[std::min(n + kFeaturesAhead, last)];
    if (place >= 0) {
        const auto* row = numbers.of_dense + static_cast<std::size_t>(place) * width;
        fetch(row);
        fetch(row + 8);
        fetch(row + 16);
    } else {
        fetch(numbers.of_pairs + ~place);
        fetch(chains.pairs.run + ~place);
    }
}

/// z(l) = sum_f x_f w(f, l) for one token.
template <class Value>
FENCHEL_INLINE void score_token(const Chains<Value>& chains, std::size_t token, std::size_t width,
                                Numbers<const double> w, double* z) {
    const std::int64_t last = chains.row_start[chains.n_tokens] - 1;
    std::fill(z, z + width, 0.0);
    for (std::int64_t n = chains.row_start[token]; n < chains.row_start[token + 1]; ++n) {
        fetch_ahead(chains, n, last, width, w);
        const double x = chains.value[n];
        const std::int32_t place = chains.place[n];
        if (place >= 0) {
            const double* row = w.of_dense + static_cast<std::size_t>(place) * width;
            for (std::size_t k = 0; k < width; ++k) z[k] += x * row[k];
            continue;
        }
        for (std::int32_t k = ~place;; ++k) {
            const std::uint16_t label = chains.pairs.run[k];
            z[label & ~kLast] += x * w.of_pairs[k];
            if (label & kLast) break;
        }
    }
}

/// g(f, l) += x_f a(l) for one token.
template <class Value>
FENCHEL_INLINE void scatter_token(const Chains<Value>& chains, std::size_t token, std::size_t width,
                                  const double* a, Numbers<double> g) {
    const std::int64_t last = chains.row_start[chains.n_tokens] - 1;
    for (std::int64_t n = chains.row_start[token]; n < chains.row_start[token + 1]; ++n) {
        fetch_ahead(chains, n, last, width, g);
        const double x = chains.value[n];
        const std::int32_t place = chains.place[n];
        if (place >= 0) {
            double* row = g.of_dense + static_cast<std::size_t>(place) * width;
            for (std::size_t k = 0; k < width; ++k) row[k] += x * a[k];
            continue;
        }
        for (std::int32_t k = ~place;; ++k) {
            const std::uint16_t label = chains.pairs.run[k];
            g.of_pairs[k] += x * a[label & ~kLast];
            if (label & kLast) break;
        }
    }
}

/// The scores of a sequence, plus the costs if there are any; padded by -inf.
template <class Value>
FENCHEL_INLINE void score_sequence(const Chains<Value>& chains, std::size_t first, std::size_t n,
                                   const Gold& gold, Numbers<const double> w, std::size_t width,
                                   double* Z) {
    const std::size_t L = chains.pairs.n_labels;
    for (std::size_t t = 0; t < n; ++t) {
        double* z = Z + t * width;
        score_token(chains, first + t, width, w, z);
        std::fill(z + L, z + width, kMinusInf);
        if (gold.cost != nullptr)
            for (std::size_t k = 0; k < L; ++k)
                z[k] += gold.cost[k * L + static_cast<std::size_t>(gold.y[first + t])];
    }
}

/// s(y) from scores that were computed; what y itself costs is 0.
inline double score_of(const double* Z, const double* T, std::size_t width, const std::int64_t* y,
                       std::size_t n) {
    double sum = 0;
    for (std::size_t t = 0; t < n; ++t) {
        sum += Z[t * width + static_cast<std::size_t>(y[t])];
        if (t > 0)
            sum += T[static_cast<std::size_t>(y[t - 1]) * width + static_cast<std::size_t>(y[t])];
    }
    return sum;
}

template <class Value>
std::size_t longest(const Chains<Value>& chains) {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < chains.n_sequences; ++i)
        n = std::max(n, chains.start[i + 1] - chains.start[i]);
    return static_cast<std::size_t>(n);
}

}  // namespace detail
}  // namespace fenchel

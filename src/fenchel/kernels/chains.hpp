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
#include "matrix.hpp"
#include "simd.hpp"

namespace fenchel {

/// The pairs of feature f are start[f] .. start[f + 1] - 1; w has one number for each.
struct Pairs {
    std::size_t n_features, n_labels;  // without, and of, the labels before
    const std::int64_t* start;         // n_features + n_labels + 1 of them
    const std::uint16_t* label;
};

/// Tokens X, of which sequence i is the rows start[i] .. start[i + 1] - 1.
template <class Value>
struct Chains {
    std::size_t n_sequences;
    const std::int64_t* start;
    Csr<Value, std::int64_t, std::int32_t> X;
    Pairs pairs;
};

/// What a sequence is to be compared with, and how.
struct Gold {
    const std::int64_t* y;  // labels of all tokens
    const double* cost;     // cost[k n_labels + l] of the label k in place of l; may be null
};

inline std::size_t padded(std::size_t n_labels) { return (n_labels + 3) / 4 * 4; }

namespace detail {

inline constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

/// T(i, j) at T[i width + j]; 0 for a transition without a weight.
inline void transitions(const Pairs& pairs, const double* w, std::size_t width, double* T) {
    for (std::size_t i = 0; i < pairs.n_labels; ++i) {
        double* row = T + i * width;
        std::fill(row, row + pairs.n_labels, 0.0);
        std::fill(row + pairs.n_labels, row + width, kMinusInf);
        const std::int64_t* start = pairs.start + pairs.n_features + i;
        for (std::int64_t k = start[0]; k < start[1]; ++k) row[pairs.label[k]] = w[k];
    }
}

/// g += the slopes E of the transitions that have a weight.
inline void add_transitions(const Pairs& pairs, const double* E, std::size_t width, double* g) {
    for (std::size_t i = 0; i < pairs.n_labels; ++i) {
        const std::int64_t* start = pairs.start + pairs.n_features + i;
        for (std::int64_t k = start[0]; k < start[1]; ++k) g[k] += E[i * width + pairs.label[k]];
    }
}

// Nonzeros ahead of use whose pairs are fetched: 1.3x on CoNLL-2000 with 19 features a token.
inline constexpr std::int64_t kPairsAhead = 16;

/// z(l) = sum_f x_f w(f, l) for one token; the padding is left alone.
template <class Value>
FENCHEL_INLINE void score_token(const Chains<Value>& chains, std::size_t token, const double* w,
                                double* z) {
    const auto& X = chains.X;
    const std::int64_t last = X.row_start[X.n_rows];
    std::fill(z, z + chains.pairs.n_labels, 0.0);
    for (std::int64_t n = X.row_start[token]; n < X.row_start[token + 1]; ++n) {
        const std::int64_t ahead = std::min(n + kPairsAhead, last - 1);
        const std::int64_t next = chains.pairs.start[X.column[ahead]];
        __builtin_prefetch(w + next);
        __builtin_prefetch(chains.pairs.label + next);
        const std::int64_t* start = chains.pairs.start + X.column[n];
        const double x = X.value[n];
        const std::int64_t first = start[0], n_pairs = start[1] - first;
        if (n_pairs == static_cast<std::int64_t>(chains.pairs.n_labels)) {
            for (std::int64_t k = 0; k < n_pairs; ++k) z[k] += x * w[first + k];
        } else {
            for (std::int64_t k = first; k < start[1]; ++k) z[chains.pairs.label[k]] += x * w[k];
        }
    }
}

/// g(f, l) += x_f a(l) for one token.
template <class Value>
FENCHEL_INLINE void scatter_token(const Chains<Value>& chains, std::size_t token, const double* a,
                                  double* g) {
    const auto& X = chains.X;
    const std::int64_t last = X.row_start[X.n_rows];
    for (std::int64_t n = X.row_start[token]; n < X.row_start[token + 1]; ++n) {
        const std::int64_t ahead = std::min(n + kPairsAhead, last - 1);
        const std::int64_t next = chains.pairs.start[X.column[ahead]];
        __builtin_prefetch(g + next, 1);
        __builtin_prefetch(chains.pairs.label + next);
        const std::int64_t* start = chains.pairs.start + X.column[n];
        const double x = X.value[n];
        const std::int64_t first = start[0], n_pairs = start[1] - first;
        if (n_pairs == static_cast<std::int64_t>(chains.pairs.n_labels)) {
            for (std::int64_t k = 0; k < n_pairs; ++k) g[first + k] += x * a[k];
        } else {
            for (std::int64_t k = first; k < start[1]; ++k) g[k] += x * a[chains.pairs.label[k]];
        }
    }
}

/// The scores of a sequence, plus the costs if there are any; padded by -inf.
template <class Value>
FENCHEL_INLINE void score_sequence(const Chains<Value>& chains, std::size_t first, std::size_t n,
                                   const Gold& gold, const double* w, std::size_t width,
                                   double* Z) {
    const std::size_t L = chains.pairs.n_labels;
    for (std::size_t t = 0; t < n; ++t) {
        double* z = Z + t * width;
        score_token(chains, first + t, w, z);
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

// The best labellings of a chain: Viterbi, the k best, and those that violate a margin most.
//
// Only scores are kept on the way forward. On the way back the label before is looked for once
// more, by the same additions, which takes L steps a token instead of L^2 comparisons with memory.
// Of equal ones the first label is taken.
#pragma once

#include "chains.hpp"

namespace fenchel {
namespace detail {

template <int Lanes, int R>
FENCHEL_INLINE void extend_packs(const double* before, const double* T, const double* z,
                                 std::size_t n_labels, std::size_t width, double* delta) {
    Pack<Lanes> most[R], sum, add;
    for (int r = 0; r < R; ++r) most[r] = Pack<Lanes>{} + kMinusInf;
    for (std::size_t i = 0; i < n_labels; ++i) {
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            std::memcpy(&sum, T + i * width + static_cast<std::size_t>(r) * Lanes, sizeof sum);
            sum += before[i];
            keep_larger<Lanes>(most[r], sum);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
        std::memcpy(&add, z + static_cast<std::size_t>(r) * Lanes, sizeof add);
        add += most[r];
        std::memcpy(delta + static_cast<std::size_t>(r) * Lanes, &add, sizeof add);
    }
}

/// delta(j) = z(j) + max_i before(i) + T(i, j).
template <int Lanes>
FENCHEL_INLINE void extend(const double* before, const double* T, const double* z,
                           std::size_t n_labels, std::size_t width, double* delta) {
    constexpr std::size_t most = 8;
    for (std::size_t j = 0; j < width; j += most * Lanes) {
        const std::size_t packs = std::min(most, (width - j) / Lanes);
        with_count<most>(packs, [&]<int R>() FENCHEL_INLINE_LAMBDA {
            extend_packs<Lanes, R>(before, T + j, z + j, n_labels, width, delta + j);
        });
    }
}

/// The label before j.
inline std::size_t before(const double* delta, const double* T, std::size_t j, std::size_t n_labels,
                          std::size_t width) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < n_labels; ++i)
        if (delta[i] + T[i * width + j] > delta[best] + T[best * width + j]) best = i;
    return best;
}

/// The best labels for scores Z; their score. `delta` is room for as many numbers.
template <int Lanes>
FENCHEL_INLINE double best_labels(const double* Z, const double* T, std::size_t n_labels,
                                  std::size_t width, std::size_t n, double* delta,
                                  std::int64_t* labels) {
    std::copy(Z, Z + width, delta);
    for (std::size_t t = 1; t < n; ++t)
        extend<Lanes>(delta + (t - 1) * width, T, Z + t * width, n_labels, width,
                      delta + t * width);
    const double* last = delta + (n - 1) * width;
    std::size_t label = static_cast<std::size_t>(std::max_element(last, last + n_labels) - last);
    const double score = last[label];
    for (std::size_t t = n; t-- > 0;) {
        labels[t] = static_cast<std::int64_t>(label);
        if (t > 0) label = before(delta + (t - 1) * width, T, label, n_labels, width);
    }
    return score;
}

/// g += scale (phi(labels) - phi(y)), where they differ; E the same of transitions.
template <class Value>
void add_difference(const Chains<Value>& chains, std::size_t first, std::size_t n,
                    const std::int64_t* labels, const std::int64_t* y, double scale,
                    std::size_t width, double* a, double* E, Numbers<double> g) {
    for (std::size_t t = 0; t < n; ++t) {
        const auto k = static_cast<std::size_t>(labels[t]), l = static_cast<std::size_t>(y[t]);
        if (k != l) {
            a[k] = scale;
            a[l] = -scale;
            scatter_token(chains, first + t, width, a, g);
            a[k] = a[l] = 0;
        }
        if (t > 0) {
            E[static_cast<std::size_t>(labels[t - 1]) * width + k] += scale;
            E[static_cast<std::size_t>(y[t - 1]) * width + l] -= scale;
        }
    }
}

/// What is needed to find a labelling and to add what it says to the gradient.
struct PathRoom {
    std::size_t n_labels, width;
    std::vector<double> T, Z, delta, E, a, dense;

    template <class Value>
    PathRoom(const Chains<Value>& chains, const double* w, std::size_t layers,
             const double* extra = nullptr)
        : n_labels(chains.pairs.n_labels),
          width(padded(n_labels)),
          T(width * width, kMinusInf),
          Z(longest(chains) * width),
          delta(layers * Z.size()),
          E(width * width),
          a(width),
          dense(dense_rows(chains.pairs, w, width)) {
        transitions(chains.pairs, w, width, T.data());
        for (std::size_t i = 0; i < n_labels && extra != nullptr; ++i)
            for (std::size_t j = 0; j < n_labels; ++j) T[i * width + j] += extra[i * n_labels + j];
    }
};

/// max over y' of c (s(y') - s(y) + 1), c being the number of wrong labels of y'; the best y'.
///
/// delta(t, c, j) is the best score of t + 1 labels that end in j, c of which are wrong.
template <int Lanes>
FENCHEL_INLINE double best_slack(const PathRoom& room, const std::int64_t* y, std::size_t n,
                                 double right, double* delta, std::int64_t* labels, double* wrong) {
    const std::size_t L = room.n_labels, width = room.width, layer = (n + 1) * width;
    const auto at = [&](std::size_t t, std::size_t c) { return delta + t * layer + c * width; };
    std::fill(delta, delta + n * layer, kMinusInf);
    std::vector<double> longer(width);
    for (std::size_t j = 0; j < L; ++j) at(0, static_cast<std::int64_t>(j) != y[0])[j] = room.Z[j];
    for (std::size_t t = 1; t < n; ++t)
        for (std::size_t c = 0; c <= t; ++c) {
            extend<Lanes>(at(t - 1, c), room.T.data(), room.Z.data() + t * width, L, width,
                          longer.data());
            for (std::size_t j = 0; j < L; ++j)
                at(t, c + (static_cast<std::int64_t>(j) != y[t]))[j] = longer[j];
        }
    double most = 0;
    std::size_t count = 0;
    for (std::size_t c = 1; c <= n; ++c) {
        const double score = *std::max_element(at(n - 1, c), at(n - 1, c) + L);
        const double value = static_cast<double>(c) * (score - right + 1);
        if (value > most) {
            most = value;
            count = c;
        }
    }
    *wrong = static_cast<double>(count);
    if (count == 0) {
        std::copy(y, y + n, labels);
        return 0;
    }
    const double* last = at(n - 1, count);
    auto label = static_cast<std::size_t>(std::max_element(last, last + L) - last);
    for (std::size_t t = n; t-- > 0;) {
        labels[t] = static_cast<std::int64_t>(label);
        count -= labels[t] != y[t];
        if (t > 0) label = before(at(t - 1, count), room.T.data(), label, L, width);
    }
    return most;
}

template <int Lanes, class Value>
FENCHEL_INLINE double hinge_body(const Chains<Value>& chains, const Gold& gold,
                                 const std::int64_t* sequence, std::size_t n_chosen, bool slack,
                                 const double* w, std::int64_t* labels, double* g) {
    PathRoom room(chains, w, slack ? longest(chains) + 1 : 1);
    std::vector<double> dense_gradient(room.dense.size());
    double total = 0;
    for (std::size_t i = 0; i < n_chosen; ++i) {
        const auto s = sequence == nullptr ? i : static_cast<std::size_t>(sequence[i]);
        const auto first = static_cast<std::size_t>(chains.start[s]);
        const auto n = static_cast<std::size_t>(chains.start[s + 1]) - first;
        const std::int64_t* y = gold.y + first;
        const double weight = gold.weight_of(s);
        double scale = 1;
        score_sequence(chains, first, n, gold, {w, room.dense.data()}, room.width, room.Z.data());
        const double right = score_of(room.Z.data(), room.T.data(), room.width, y, n);
        const double value =
            slack ? best_slack<Lanes>(room, y, n, right, room.delta.data(), labels + first, &scale)
                  : best_labels<Lanes>(room.Z.data(), room.T.data(), room.n_labels, room.width, n,
                                       room.delta.data(), labels + first) -
                        right;
        total += weight * value;
        add_difference(chains, first, n, labels + first, y, weight * scale, room.width,
                       room.a.data(), room.E.data(), {g, dense_gradient.data()});
    }
    add_dense_rows(chains.pairs, dense_gradient, room.width, g);
    add_transitions(chains.pairs, room.E.data(), room.width, g);
    return total;
}

template <class Value>
FENCHEL_AVX2 double hinge_avx2(const Chains<Value>& chains, const Gold& gold,
                               const std::int64_t* sequence, std::size_t n_chosen, bool slack,
                               const double* w, std::int64_t* labels, double* g) {
    return hinge_body<4>(chains, gold, sequence, n_chosen, slack, w, labels, g);
}

template <int Lanes, class Value>
FENCHEL_INLINE void best_body(const Chains<Value>& chains, const double* w, PathRoom& room,
                              double* scores, std::int64_t* labels) {
    for (std::size_t s = 0; s < chains.n_sequences; ++s) {
        const auto first = static_cast<std::size_t>(chains.start[s]);
        const auto n = static_cast<std::size_t>(chains.start[s + 1]) - first;
        score_sequence(chains, first, n, {nullptr}, {w, room.dense.data()}, room.width,
                       room.Z.data());
        scores[s] = best_labels<Lanes>(room.Z.data(), room.T.data(), room.n_labels, room.width, n,
                                       room.delta.data(), labels + first);
    }
}

template <class Value>
FENCHEL_AVX2 void best_avx2(const Chains<Value>& chains, const double* w, PathRoom& room,
                            double* scores, std::int64_t* labels) {
    best_body<4>(chains, w, room, scores, labels);
}

/// One of the k best ways to reach a label: its score, and the way before it.
struct Way {
    double score;
    std::uint32_t label, rank;
};

template <class Value>
void k_best(const Chains<Value>& chains, const double* w, PathRoom& room, std::size_t k,
            double* scores, std::int64_t* labels) {
    const std::size_t L = room.n_labels, width = room.width;
    const auto n_tokens = static_cast<std::size_t>(chains.start[chains.n_sequences]);
    const Way none{kMinusInf, 0, 0};
    const auto better = [](const Way& a, const Way& b) {
        if (a.score != b.score) return a.score > b.score;
        return a.label != b.label ? a.label < b.label : a.rank < b.rank;
    };
    std::vector<Way> ways(longest(chains) * L * k), candidates(L * k);
    for (std::size_t s = 0; s < chains.n_sequences; ++s) {
        const auto first = static_cast<std::size_t>(chains.start[s]);
        const auto n = static_cast<std::size_t>(chains.start[s + 1]) - first;
        score_sequence(chains, first, n, {nullptr}, {w, room.dense.data()}, width, room.Z.data());
        for (std::size_t j = 0; j < L; ++j) {
            std::fill_n(ways.begin() + static_cast<std::ptrdiff_t>(j * k), k, none);
            ways[j * k] = {room.Z[j], 0, 0};
        }
        const auto kth = static_cast<std::ptrdiff_t>(k);
        for (std::size_t t = 1; t < n; ++t) {
            const Way* last = ways.data() + (t - 1) * L * k;
            for (std::size_t j = 0; j < L; ++j) {
                for (std::size_t i = 0; i < L; ++i)
                    for (std::size_t r = 0; r < k; ++r)
                        candidates[i * k + r] = {last[i * k + r].score + room.T[i * width + j],
                                                 static_cast<std::uint32_t>(i),
                                                 static_cast<std::uint32_t>(r)};
                std::partial_sort(candidates.begin(), candidates.begin() + kth, candidates.end(),
                                  better);
                for (std::size_t r = 0; r < k; ++r) {
                    Way& way = ways[(t * L + j) * k + r];
                    way = candidates[r];
                    way.score += room.Z[t * width + j];
                }
            }
        }
        for (std::size_t j = 0; j < L; ++j)
            for (std::size_t r = 0; r < k; ++r)
                candidates[j * k + r] = {ways[((n - 1) * L + j) * k + r].score,
                                         static_cast<std::uint32_t>(j),
                                         static_cast<std::uint32_t>(r)};
        std::partial_sort(candidates.begin(), candidates.begin() + kth, candidates.end(), better);
        for (std::size_t r = 0; r < k; ++r) {
            scores[s * k + r] = candidates[r].score;
            std::size_t label = candidates[r].label, rank = candidates[r].rank;
            for (std::size_t t = n; t-- > 0;) {
                labels[r * n_tokens + first + t] = static_cast<std::int64_t>(label);
                const Way& way = ways[(t * L + label) * k + rank];
                label = way.label;
                rank = way.rank;
            }
        }
    }
}

}  // namespace detail

/// sum_i weight_i max over y' of cost(y', y_i) + s(y') - s(y_i), or with `slack` of the number of
/// wrong labels times 1 + s(y') - s(y_i); the best y' of each sequence, and g += the gradient.
template <class Value>
double hinge(const Chains<Value>& chains, const Gold& gold, const std::int64_t* sequence,
             std::size_t n_chosen, bool slack, const double* w, std::int64_t* labels, double* g) {
    if (has_avx2())
        return detail::hinge_avx2(chains, gold, sequence, n_chosen, slack, w, labels, g);
    return detail::hinge_body<2>(chains, gold, sequence, n_chosen, slack, w, labels, g);
}

/// The k best labellings of each sequence, best first, and their scores; `extra` is added to the
/// transitions, -inf for those that are forbidden. Where there are less than k, scores of -inf.
/// The best of several is the one that k = 1 finds, by Viterbi, to the last bit.
template <class Value>
void best(const Chains<Value>& chains, const double* w, const double* extra, std::size_t k,
          double* scores, std::int64_t* labels) {
    detail::PathRoom room(chains, w, k == 1 ? 1 : 0, extra);
    if (k > 1)
        detail::k_best(chains, w, room, k, scores, labels);
    else if (has_avx2())
        detail::best_avx2(chains, w, room, scores, labels);
    else
        detail::best_body<2>(chains, w, room, scores, labels);
}

}  // namespace fenchel

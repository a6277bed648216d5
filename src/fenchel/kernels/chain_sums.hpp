// Sums over all labellings of a chain: log Z and the marginals, by forward-backward.
//
// Messages are kept as probabilities that add up to 1, with the scores exponentiated once for each
// token: three products of matrices instead of L^2 exponentials. That is exact while transitions
// differ by at most kSpread: a label whose own score is so low that exp underflows could be put
// right for at most 2 kSpread, and so has a probability below exp(2 kSpread - 708). Beyond it the
// same sums are taken of logarithms, some ten times slower.
#pragma once

#include "chains.hpp"

namespace fenchel {
namespace detail {

inline constexpr double kSpread = 250;

/// The matrices of one call.
struct Transitions {
    std::size_t n_labels, width;
    std::vector<double> T, A, At, S;  // T; exp(T - highest), and its transpose; what is summed up
    double highest = 0;
    bool logarithms = false;

    Transitions(const Pairs& pairs, const double* w, double temperature)
        : n_labels(pairs.n_labels),
          width(padded(n_labels)),
          T(width * width, kMinusInf),
          A(width * width),
          At(width * width),
          S(width * width) {
        transitions(pairs, w, width, T.data());
        double lowest = std::numeric_limits<double>::infinity();
        highest = kMinusInf;
        for (std::size_t i = 0; i < n_labels; ++i)
            for (std::size_t j = 0; j < n_labels; ++j) {
                double& score = T[i * width + j];
                score /= temperature;
                lowest = std::min(lowest, score);
                highest = std::max(highest, score);
            }
        logarithms = !(highest - lowest <= kSpread);
        for (std::size_t i = 0; i < n_labels; ++i)
            for (std::size_t j = 0; j < n_labels; ++j)
                A[i * width + j] = At[j * width + i] = std::exp(T[i * width + j] - highest);
    }

    /// The expected numbers of transitions, of what was added up in S.
    const double* expected() {
        if (!logarithms)
            for (std::size_t k = 0; k < S.size(); ++k) S[k] *= A[k];
        return S.data();
    }
};

/// out(j) = sum_i x(i) A(i, j) for R packs of j, in registers.
template <int Lanes, int R>
FENCHEL_INLINE void product_packs(const double* A, std::size_t width, const double* x,
                                  std::size_t n, double* out) {
    Pack<Lanes> sum[R] = {}, a;
    for (std::size_t i = 0; i < n; ++i) {
        const double xi = x[i];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            std::memcpy(&a, A + i * width + static_cast<std::size_t>(r) * Lanes, sizeof a);
            sum[r] += xi * a;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
        std::memcpy(out + static_cast<std::size_t>(r) * Lanes, &sum[r], sizeof sum[r]);
}

template <int Lanes>
FENCHEL_INLINE void product(const double* A, std::size_t width, const double* x, std::size_t n,
                            double* out) {
    constexpr std::size_t most = 8;
    for (std::size_t j = 0; j < width; j += most * Lanes) {
        const std::size_t packs = std::min(most, (width - j) / Lanes);
        with_count<most>(packs, [&]<int R>() FENCHEL_INLINE_LAMBDA {
            product_packs<Lanes, R>(A + j, width, x, n, out + j);
        });
    }
}

/// S(i .. i+3, j ..) += sum_t a_t(i) v_t(j) over R packs of j.
template <int Lanes, int R>
FENCHEL_INLINE void outer_packs(const double* a, const double* v, std::size_t width, std::size_t n,
                                double* S) {
    Pack<Lanes> sum[4][R] = {}, vt[R], old;
    for (std::size_t t = 0; t < n; ++t) {
        for (int r = 0; r < R; ++r)
            std::memcpy(&vt[r], v + t * width + static_cast<std::size_t>(r) * Lanes, sizeof vt[r]);
        for (int i = 0; i < 4; ++i)
            for (int r = 0; r < R; ++r)
                sum[i][r] += a[t * width + static_cast<std::size_t>(i)] * vt[r];
    }
    for (int i = 0; i < 4; ++i)
        for (int r = 0; r < R; ++r) {
            double* to =
                S + static_cast<std::size_t>(i) * width + static_cast<std::size_t>(r) * Lanes;
            std::memcpy(&old, to, sizeof old);
            old += sum[i][r];
            std::memcpy(to, &old, sizeof old);
        }
}

/// S += sum_t a_t v_t', the tokens of both being `width` apart.
template <int Lanes>
FENCHEL_INLINE void outer(const double* a, const double* v, std::size_t width, std::size_t n,
                          double* S) {
    constexpr std::size_t most = 2;
    for (std::size_t i = 0; i < width; i += 4)
        for (std::size_t j = 0; j < width; j += most * Lanes) {
            const std::size_t packs = std::min(most, (width - j) / Lanes);
            with_count<most>(packs, [&]<int R>() FENCHEL_INLINE_LAMBDA {
                outer_packs<Lanes, R>(a + i, v + j, width, n, S + i * width + j);
            });
        }
}

/// The logarithm of a product of many factors, taken once in a while.
struct LogProduct {
    double product = 1, sum = 0;
    void times(double factor) {
        product *= factor;
        if (product < 1e-100 || product > 1e100) {
            sum += std::log(product);
            product = 1;
        }
    }
    double value() const { return sum + std::log(product); }
};

/// exp(z - its largest) in place of z; the largest.
FENCHEL_INLINE double exponentiate(double* z, std::size_t n_labels, std::size_t width) {
    double most = z[0];
    for (std::size_t k = 1; k < width; ++k) most = z[k] > most ? z[k] : most;
    for (std::size_t k = 0; k < width; ++k) z[k] = exp_of_negative(z[k] - most);
    for (std::size_t k = n_labels; k < width; ++k) z[k] = 0;
    return most;
}

FENCHEL_INLINE double sum_of(const double* x, std::size_t width) {
    double sum[4] = {};
    for (std::size_t k = 0; k < width; k += 4)
        for (std::size_t u = 0; u < 4; ++u) sum[u] += x[k + u];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// log Z of n tokens with scores Z, which are lost; their marginals, and S += weight times those of
/// pairs but for the factor A. `alpha` is room for as many numbers.
template <int Lanes>
FENCHEL_INLINE double sum_scaled(Transitions& by, std::size_t n, double weight, double* Z,
                                 double* alpha, double* marginal) {
    const std::size_t L = by.n_labels, width = by.width;
    LogProduct scales;
    double shift = static_cast<double>(n - 1) * by.highest;
    for (std::size_t t = 0; t < n; ++t) {
        double *psi = Z + t * width, *a = alpha + t * width;
        shift += exponentiate(psi, L, width);
        if (t == 0) {
            std::copy(psi, psi + width, a);
        } else {
            product<Lanes>(by.A.data(), width, a - width, L, a);
            for (std::size_t k = 0; k < width; ++k) a[k] *= psi[k];
        }
        const double scale = sum_of(a, width), inverse = 1 / scale;
        scales.times(scale);
        for (std::size_t k = 0; k < width; ++k) a[k] *= inverse;
        for (std::size_t k = 0; k < width; ++k) psi[k] *= inverse;
    }
    std::copy(alpha + (n - 1) * width, alpha + n * width, marginal + (n - 1) * width);
    double* beta = marginal;  // becomes a marginal as soon as v has been made of it
    for (std::size_t t = n - 1; t > 0; --t) {
        double* v = Z + t * width;  // psi times beta; the last beta is 1
        if (t < n - 1)
            for (std::size_t k = 0; k < width; ++k) v[k] *= beta[t * width + k];
        if (t < n - 1)
            for (std::size_t k = 0; k < width; ++k) beta[t * width + k] *= alpha[t * width + k];
        product<Lanes>(by.At.data(), width, v, L, beta + (t - 1) * width);
    }
    if (n > 1) {
        for (std::size_t k = 0; k < width; ++k) beta[k] *= alpha[k];
        if (weight != 1)
            for (std::size_t k = 0; k < (n - 1) * width; ++k) alpha[k] *= weight;
        outer<Lanes>(alpha, Z + width, width, n - 1, by.S.data());
    }
    return shift + scales.value();
}

/// Below exp(kFaded) of the largest share one is 0: numbers that are not normal take a hundred
/// times as long, and products of two shares are to be normal.
inline constexpr double kFaded = -300;

/// exp(x - most), 0 if it has faded; nan where x is.
FENCHEL_INLINE double faded(double x, double most) {
    const double below = x - most;
    return (below < kFaded ? 0.0 : exp_of_negative(below)) + 0.0 * below;
}

/// most(j) = max_i x(i) + T(i, j), and sum(j) = sum_i exp(x(i) + T(i, j) - most(j)).
FENCHEL_INLINE void column_sums(const double* T, std::size_t width, const double* x, std::size_t n,
                                double* most, double* sum) {
    std::fill(most, most + n, std::numeric_limits<double>::lowest());
    std::fill(sum, sum + n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        const double xi = x[i], *row = T + i * width;
#pragma omp simd
        for (std::size_t j = 0; j < n; ++j) most[j] = std::max(most[j], xi + row[j]);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double xi = x[i], *row = T + i * width;
#pragma omp simd
        for (std::size_t j = 0; j < n; ++j) sum[j] += faded(xi + row[j], most[j]);
    }
}

/// The same from logarithms, for scores of any size; S gets the marginals of pairs themselves.
///
/// Each token's marginal is that of the next one, parted by the probabilities of the labels before
/// it. So the marginals are those of one distribution over labellings to a few units of themselves,
/// whatever the scores' round-off, and the cut that they make is one: as exp(alpha + beta - log Z)
/// they would be off by the round-off of log Z, which a large w multiplies.
FENCHEL_INLINE double sum_logarithms(Transitions& by, std::size_t n, double weight, double* Z,
                                     double* alpha, double* marginal) {
    const std::size_t L = by.n_labels, width = by.width;
    const double* T = by.T.data();
    std::vector<double> memory(2 * L);
    double *most = memory.data(), *sum = most + L;
    std::copy(Z, Z + L, alpha);
    for (std::size_t t = 1; t < n; ++t) {
        column_sums(T, width, alpha + (t - 1) * width, L, most, sum);
        for (std::size_t j = 0; j < L; ++j)
            alpha[t * width + j] = Z[t * width + j] + (most[j] + std::log(sum[j]));
    }
    const double* last = alpha + (n - 1) * width;
    double *end = marginal + (n - 1) * width, all = 0;
    const double highest = *std::max_element(last, last + L);
    for (std::size_t k = 0; k < L; ++k) all += end[k] = faded(last[k], highest);
    for (std::size_t k = 0; k < L; ++k) end[k] /= all;
    for (std::size_t t = n - 1; t-- > 0;) {
        const double* x = alpha + t * width;
        double *here = marginal + t * width, *next = here + width;
        column_sums(T, width, x, L, most, sum);
        for (std::size_t j = 0; j < L; ++j) sum[j] = next[j] / sum[j];
        for (std::size_t i = 0; i < L; ++i) {
            const double xi = x[i], *row = T + i * width;
            double *S = by.S.data() + i * width, total = 0;
#pragma omp simd reduction(+ : total)
            for (std::size_t j = 0; j < L; ++j) {
                const double pair = faded(xi + row[j], most[j]) * sum[j];
                total += pair;
                S[j] += weight * pair;
            }
            here[i] = total;
        }
    }
    return highest + std::log(all);
}

template <int Lanes>
FENCHEL_INLINE double sum_sequence(Transitions& by, std::size_t n, double weight, double* Z,
                                   double* alpha, double* marginal) {
    return by.logarithms ? sum_logarithms(by, n, weight, Z, alpha, marginal)
                         : sum_scaled<Lanes>(by, n, weight, Z, alpha, marginal);
}

/// E[Delta] of a sequence, from its marginals; none is below 0.
inline double expected_cost(const double* marginal, const Gold& gold, std::size_t first,
                            std::size_t n, std::size_t n_labels) {
    double sum = 0;
    for (std::size_t t = 0; t < n; ++t) {
        const auto y = static_cast<std::size_t>(gold.y[first + t]);
        for (std::size_t k = 0; k < n_labels; ++k)
            sum += marginal[t * padded(n_labels) + k] * gold.cost[k * n_labels + y];
    }
    return sum;
}

/// sum_i tau (log Z_i - s(y_i)) over some sequences with costs in the scores, each as often as it
/// counts; g += its gradient.
template <int Lanes, class Value>
FENCHEL_INLINE double log_loss_body(const Chains<Value>& chains, const Gold& gold,
                                    const std::int64_t* sequence, std::size_t n_chosen,
                                    double temperature, const double* w, double* g, double* cost) {
    Transitions by(chains.pairs, w, temperature);
    const std::size_t width = by.width, room = longest(chains) * width;
    std::vector<double> memory(3 * room);
    double *Z = memory.data(), *alpha = Z + room, *marginal = alpha + room;
    std::vector<double> seen(width * width);  // transitions of y
    const std::vector<double> dense = dense_rows(chains.pairs, w, width);
    std::vector<double> dense_gradient(dense.size());
    double total = 0;
    for (std::size_t i = 0; i < n_chosen; ++i) {
        const auto s = sequence == nullptr ? i : static_cast<std::size_t>(sequence[i]);
        const auto first = static_cast<std::size_t>(chains.start[s]);
        const auto n = static_cast<std::size_t>(chains.start[s + 1]) - first;
        const std::int64_t* y = gold.y + first;
        const double weight = gold.weight_of(s);
        score_sequence(chains, first, n, gold, {w, dense.data()}, width, Z);
        if (temperature != 1)
            for (std::size_t k = 0; k < n * width; ++k) Z[k] /= temperature;
        const double right = score_of(Z, by.T.data(), width, y, n);
        const double all = sum_sequence<Lanes>(by, n, weight, Z, alpha, marginal);
        total += weight * std::max(all - right, 0.0);  // the right labels are among all
        if (cost != nullptr) *cost += weight * expected_cost(marginal, gold, first, n, by.n_labels);
        for (std::size_t t = 0; t < n; ++t)
            marginal[t * width + static_cast<std::size_t>(y[t])] -= 1;
        if (weight != 1)
            for (std::size_t k = 0; k < n * width; ++k) marginal[k] *= weight;
        for (std::size_t t = 0; t < n; ++t) {
            scatter_token(chains, first + t, width, marginal + t * width,
                          {g, dense_gradient.data()});
            if (t > 0)
                seen[static_cast<std::size_t>(y[t - 1]) * width + static_cast<std::size_t>(y[t])] -=
                    weight;
        }
    }
    add_dense_rows(chains.pairs, dense_gradient, width, g);
    add_transitions(chains.pairs, by.expected(), width, g);
    add_transitions(chains.pairs, seen.data(), width, g);
    return temperature * total;
}

/// The probability of each label at each token, of which there are n_labels side by side.
template <int Lanes, class Value>
FENCHEL_INLINE void marginals_body(const Chains<Value>& chains, const double* w, double* out) {
    Transitions by(chains.pairs, w, 1.0);
    const std::size_t width = by.width, L = by.n_labels, room = longest(chains) * width;
    std::vector<double> memory(3 * room);
    double *Z = memory.data(), *alpha = Z + room, *marginal = alpha + room;
    const std::vector<double> dense = dense_rows(chains.pairs, w, width);
    for (std::size_t i = 0; i < chains.n_sequences; ++i) {
        const auto first = static_cast<std::size_t>(chains.start[i]);
        const auto n = static_cast<std::size_t>(chains.start[i + 1]) - first;
        score_sequence(chains, first, n, {nullptr}, {w, dense.data()}, width, Z);
        sum_sequence<Lanes>(by, n, 1.0, Z, alpha, marginal);
        for (std::size_t t = 0; t < n; ++t)
            std::copy_n(marginal + t * width, L, out + (first + t) * L);
    }
}

template <class Value>
FENCHEL_AVX2 double log_loss_avx2(const Chains<Value>& chains, const Gold& gold,
                                  const std::int64_t* sequence, std::size_t n_chosen,
                                  double temperature, const double* w, double* g, double* cost) {
    return log_loss_body<4>(chains, gold, sequence, n_chosen, temperature, w, g, cost);
}

template <class Value>
FENCHEL_AVX2 void marginals_avx2(const Chains<Value>& chains, const double* w, double* out) {
    marginals_body<4>(chains, w, out);
}

}  // namespace detail

/// sum_i weight_i tau log sum_y' exp((cost(y', y_i) + s(y') - s(y_i)) / tau) over the sequences
/// named, or the first n_chosen; g += its gradient, and cost += sum_i weight_i E[cost].
template <class Value>
double log_loss(const Chains<Value>& chains, const Gold& gold, const std::int64_t* sequence,
                std::size_t n_chosen, double temperature, const double* w, double* g,
                double* cost = nullptr) {
    if (has_avx2())
        return detail::log_loss_avx2(chains, gold, sequence, n_chosen, temperature, w, g, cost);
    return detail::log_loss_body<2>(chains, gold, sequence, n_chosen, temperature, w, g, cost);
}

/// The probability of each label at each token.
template <class Value>
void marginals(const Chains<Value>& chains, const double* w, double* out) {
    if (has_avx2()) return detail::marginals_avx2(chains, w, out);
    detail::marginals_body<2>(chains, w, out);
}

}  // namespace fenchel

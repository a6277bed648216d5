// The loss of rows as a function of K offsets b that are added to the scores of every row: sums
// over the rows of the soft losses of soft_pieces.hpp, and slopes that are moved to have the sum 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simd.hpp"
#include "soft_pieces.hpp"

namespace fenchel {

namespace detail {

template <class Loss, class Rows>
FENCHEL_INLINE void offset_loop(const Loss& loss, const Rows rows, const double* b, double* work,
                                double* sums) {
    const std::size_t K = rows.K;
    double *z = work, *v = work + K, *a = work + 2 * K, *r = sums + 3, *C = r + K;
    for (std::size_t i = 0; i < rows.n; ++i) {
        const double weight = rows.weight(i);
        if (!(weight > 0)) continue;  // a row of weight 0 is not there, even at inf
        for (std::size_t k = 0; k < K; ++k) z[k] = rows.z(i)[k] + b[k];
        const Softened row = loss(z, rows.label(i), a, v);
        loss.bend(rows.label(i), a, v, weight, C);
        sums[0] += weight * row.soft, sums[1] += weight * row.loss, sums[2] += weight * row.mean;
        for (std::size_t k = 0; k < K; ++k) r[k] += weight * a[k];
    }
}

template <class Loss, class Rows>
FENCHEL_INLINE void tilted_loop(const Loss& loss, const Rows rows, const double* b, const double* t,
                                double* A, double* work, double* sums) {
    const std::size_t K = rows.K;
    double *z = work, *v = work + K;
    for (std::size_t i = 0; i < rows.n; ++i) {
        double* a = A + i * K;
        const double weight = rows.weight(i);
        if (!(weight > 0)) {
            std::fill(a, a + K, 0.0);
            continue;
        }
        for (std::size_t k = 0; k < K; ++k) z[k] = rows.z(i)[k] + b[k];
        sums[0] += weight * loss.tilt(z, rows.label(i), t, a, v);
        for (std::size_t k = 0; k < K; ++k) sums[1 + k] += a[k] *= weight;
    }
}

template <class Loss, class Rows>
FENCHEL_AVX2 void tilted_avx2(const Loss& loss, const Rows rows, const double* b, const double* t,
                              double* A, double* work, double* sums) {
    tilted_loop(loss, rows, b, t, A, work, sums);
}

template <class Loss, class Rows>
FENCHEL_AVX2 void offset_avx2(const Loss& loss, const Rows rows, const double* b, double* work,
                              double* sums) {
    offset_loop(loss, rows, b, work, sums);
}

}  // namespace detail

/// Adds to `sums` those over the rows at z_i + b, with weights: of the soft maximum, of the loss,
/// of the mean of the pieces; the K slopes a_i; and C, of K x K numbers.
template <class Loss, class Rows>
void offset_sums(const Loss& loss, const Rows& rows, const double* b, double* sums) {
    std::vector<double> work(3 * rows.K);
    has_avx2() ? detail::offset_avx2(loss, rows, b, work.data(), sums)
               : detail::offset_loop(loss, rows, b, work.data(), sums);
}

/// A_i = s_i (a_i - Cov_i t), the slopes of shares p that are tilted by t; adds to `sums` that of
/// the cut's heights and the K slopes.
template <class Loss, class Rows>
void tilted_sums(const Loss& loss, const Rows& rows, const double* b, const double* t, double* A,
                 double* sums) {
    std::vector<double> work(2 * rows.K);
    has_avx2() ? detail::tilted_avx2(loss, rows, b, t, A, work.data(), sums)
               : detail::tilted_loop(loss, rows, b, t, A, work.data(), sums);
}

/// A_i = keep (A_i + s_i T[y_i]): slopes that are moved alike for all rows of a class.
inline void even_classes(std::size_t n, std::size_t K, const std::int64_t* y, const double* s,
                         const double* T, double keep, double* A) {
    for (std::size_t i = 0; i < n; ++i) {
        const double* move = T + static_cast<std::size_t>(y[i]) * K;
        const double weight = s == nullptr ? 1.0 : s[i];
        double* a = A + i * K;
        for (std::size_t k = 0; k < K; ++k) a[k] = keep * (a[k] + weight * move[k]);
    }
}

/// A_i = keep (A_i + s_i sum of m_lk (e_k - e_l)) over the pairs of a right l and a wrong k.
inline void even_sets(std::size_t n, std::size_t K, const std::uint8_t* y, const double* s,
                      const double* moves, double keep, double* A) {
    struct Pair {
        std::size_t from, to;
        double share;
    };
    std::vector<Pair> pairs;
    for (std::size_t j = 0; j < K * K; ++j)
        if (moves[j] > 0) pairs.push_back({j / K, j % K, moves[j]});
    for (std::size_t i = 0; i < n; ++i) {
        const double weight = s == nullptr ? 1.0 : s[i];
        const std::uint8_t* right = y + i * K;
        double* a = A + i * K;
        for (const Pair& pair : pairs) {
            if (!right[pair.from] || right[pair.to]) continue;
            a[pair.to] += weight * pair.share;
            a[pair.from] -= weight * pair.share;
        }
        for (std::size_t k = 0; k < K; ++k) a[k] *= keep;
    }
}

}  // namespace fenchel

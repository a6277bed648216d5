// The loss of rows as a function of K offsets b that are added to the scores of every row, with what
// Newton's method for the best of them needs: see risks/offsets.py.
//
// A hinge is a maximum of lines, its pieces, and has no Hessian. Its maximum is softened,
//
//   m(z) = mu log sum_j exp(piece_j(z) / mu),   p_j = exp(piece_j / mu) / the sum,
//
// and the slopes a = sum_j p_j grad piece_j are dual variables of the hinge itself. With the same
// letters softmax is soft already, with the pieces z_k - z_y and mu = 1. The Hessian of m is the
// covariance of the pieces' gradients under p, over mu. As all losses here stay the same when all
// scores move together, it is a Laplacian: what is added up is C, minus its entries off the diagonal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "elementary.hpp"
#include "multiclass_losses.hpp"
#include "simd.hpp"
#include "vector_losses.hpp"

namespace fenchel {

/// The soft maximum of a row's pieces, their maximum (the loss), and their mean under p.
struct Softened {
    double soft, loss, mean;
};

namespace detail {

/// C += weight v v'
FENCHEL_INLINE void add_square(const double* v, std::size_t K, double weight, double* C) {
    for (std::size_t k = 0; k < K; ++k) {
        const double each = weight * v[k];
        if (each == 0) continue;
        double* row = C + k * K;
#pragma omp simd
        for (std::size_t l = 0; l < K; ++l) row[l] += each * v[l];
    }
}

/// Of one right class y, with p_k for the wrong classes in a: a_y = -sum p_k, v = p.
FENCHEL_INLINE void from_shares(std::size_t y, double right, double others, std::size_t K,
                                double* a, double* v) {
    const double total = others + right;
#pragma omp simd
    for (std::size_t k = 0; k < K; ++k) v[k] = a[k] /= total;
    v[y] = right / total;
    a[y] = -others / total;
}

}  // namespace detail

/// Softmax as it is.
struct SoftmaxOffsets {
    using Label = Softmax::Label;
    Softmax loss;

    std::size_t size() const { return loss.size(); }

    FENCHEL_INLINE Softened operator()(const double* z, const Label* label, double* a,
                                       double* v) const {
        const double value = loss(z, label, a);
        std::copy(a, a + loss.K, v);
        v[static_cast<std::size_t>(*label)] += 1;
        return {value, value, value};
    }

    FENCHEL_INLINE void bend(const Label*, const double*, const double* v, double weight,
                             double* C) const {
        detail::add_square(v, loss.K, weight, C);
    }
};

/// max over k of Delta(k, y) + z_k - z_y, softened
struct HingeOffsets {
    using Label = MulticlassHinge::Label;
    const MulticlassHinge& loss;
    double mu;

    std::size_t size() const { return loss.size(); }

    FENCHEL_INLINE Softened operator()(const double* z, const Label* label, double* a,
                                       double* v) const {
        const std::size_t K = size(), y = static_cast<std::size_t>(*label);
        const double* margin = loss.costs.of(y);
        double highest = kLowest;
#pragma omp simd reduction(max : highest)
        for (std::size_t k = 0; k < K; ++k) highest = std::max(highest, z[k] + margin[k]);
#pragma omp simd
        for (std::size_t k = 0; k < K; ++k)
            a[k] = exp_of_negative((z[k] + margin[k] - highest) / mu);
        const double right = a[y];
        a[y] = 0.0;
        double others = 0, below = 0;  // how far the mean of the pieces is below the highest
        for (std::size_t k = 0; k < K; ++k) {
            others += a[k];
            below += a[k] * (highest - (z[k] + margin[k]));
        }
        below = (below + right * (highest - z[y])) / (others + right);
        const double value = highest - z[y] + detail::finite(z, K);
        detail::from_shares(y, right, others, K, a, v);
        return {value + mu * std::log(others + right), value, value - below};
    }

    FENCHEL_INLINE void bend(const Label*, const double*, const double* v, double weight,
                             double* C) const {
        detail::add_square(v, size(), weight / mu, C);
    }
};

namespace detail {

template <class Loss, class Rows>
FENCHEL_INLINE void offset_loop(const Loss& loss, const Rows rows, const double* b, double* A,
                                double* work, double* sums) {
    const std::size_t K = rows.K;
    double *z = work, *v = work + K, *r = sums + 3, *C = r + K;
    for (std::size_t i = 0; i < rows.n; ++i) {
        double* a = A + i * K;
        const double weight = rows.weight(i);
        if (!(weight > 0)) {  // a row of weight 0 is not there, even at inf
            std::fill(a, a + K, 0.0);
            continue;
        }
        for (std::size_t k = 0; k < K; ++k) z[k] = rows.z(i)[k] + b[k];
        const Softened row = loss(z, rows.label(i), a, v);
        loss.bend(rows.label(i), a, v, weight, C);
        sums[0] += weight * row.soft, sums[1] += weight * row.loss, sums[2] += weight * row.mean;
        for (std::size_t k = 0; k < K; ++k) r[k] += a[k] *= weight;
    }
}

template <class Loss, class Rows>
FENCHEL_AVX2 void offset_avx2(const Loss& loss, const Rows rows, const double* b, double* A,
                              double* work, double* sums) {
    offset_loop(loss, rows, b, A, work, sums);
}

}  // namespace detail

/// A_i = s_i a_i at z_i + b; adds to `sums` those over the rows, with weights: of the soft maximum,
/// of the loss, of the mean of the pieces; the K slopes; and C, of K x K numbers.
template <class Loss, class Rows>
void offset_sums(const Loss& loss, const Rows& rows, const double* b, double* A, double* sums) {
    std::vector<double> work(2 * rows.K);
    has_avx2() ? detail::offset_avx2(loss, rows, b, A, work.data(), sums)
               : detail::offset_loop(loss, rows, b, A, work.data(), sums);
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

}  // namespace fenchel

// Hinges of K scores with their maxima made soft, at every row: soft_pieces.hpp has the soft
// maximum of one row, for the best offsets; here there are none, and no Hessian.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "simd.hpp"
#include "soft_pieces.hpp"

namespace fenchel {

namespace detail {

template <class Loss, class Rows>
FENCHEL_INLINE double soft_slopes_loop(const Loss& loss, const Rows rows, double* A, double* work) {
    double sum = 0;
    for (std::size_t i = 0; i < rows.n; ++i) {
        double* a = A + i * rows.K;
        const double weight = rows.weight(i);
        if (!(weight > 0)) {  // a row of weight 0 is not there, even at inf
            std::fill(a, a + rows.K, 0.0);
            continue;
        }
        sum += weight * loss(rows.z(i), rows.label(i), a, work).soft;
        if (rows.s != nullptr)
            for (std::size_t k = 0; k < rows.K; ++k) a[k] *= weight;
    }
    return sum;
}

template <class Loss, class Rows>
FENCHEL_AVX2 double soft_slopes_avx2(const Loss& loss, const Rows rows, double* A, double* work) {
    return soft_slopes_loop(loss, rows, A, work);
}

}  // namespace detail

/// A_i = s_i times the gradient of row i's soft maximum; returns the sum of those, with weights.
template <class Loss, class Rows>
double soft_slopes(const Loss& loss, const Rows& rows, double* A) {
    std::vector<double> work(rows.K);
    return has_avx2() ? detail::soft_slopes_avx2(loss, rows, A, work.data())
                      : detail::soft_slopes_loop(loss, rows, A, work.data());
}

}  // namespace fenchel

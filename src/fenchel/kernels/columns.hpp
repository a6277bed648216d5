// Sums over the columns of a shard.
#pragma once

#include <cstddef>

#include "matrix.hpp"

namespace fenchel {

/// g_j += sum_i s_i x_ij^2; s is null where all weights are 1
template <class Value, class Pointer, class Column>
void squares(const Csr<Value, Pointer, Column>& X, const double* s, double* g) {
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        const double weight = s ? s[i] : 1.0;
        for (Pointer k = X.row_start[i]; k < X.row_start[i + 1]; ++k) {
            const double x = static_cast<double>(X.value[k]);
            g[X.column[k]] += weight * x * x;
        }
    }
}

namespace detail {

/// The same for rows in one piece each.
template <class Value>
FENCHEL_INLINE void row_major_squares(const Dense<Value>& X, const double* s,
                                      double* __restrict g) {
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        const double weight = s ? s[i] : 1.0;
        const Value* __restrict row = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
#pragma omp simd
        for (std::size_t j = 0; j < X.n_columns; ++j) {
            const double x = static_cast<double>(row[j]);
            g[j] += weight * x * x;
        }
    }
}

template <class Value>
FENCHEL_AVX2 void row_major_squares_avx2(const Dense<Value>& X, const double* s, double* g) {
    row_major_squares(X, s, g);
}

}  // namespace detail

/// g_j += sum_i s_i x_ij^2; s is null where all weights are 1
template <class Value>
void squares(const Dense<Value>& X, const double* s, double* g) {
    if (detail::row_major(X))
        return has_avx2() ? detail::row_major_squares_avx2(X, s, g)
                          : detail::row_major_squares(X, s, g);
    for (std::size_t j = 0; j < X.n_columns; ++j) {
        const Value* column = X.value + static_cast<std::ptrdiff_t>(j) * X.column_stride;
        for (std::size_t i = 0; i < X.n_rows; ++i) {
            const double x =
                static_cast<double>(column[static_cast<std::ptrdiff_t>(i) * X.row_stride]);
            g[j] += (s ? s[i] : 1.0) * x * x;
        }
    }
}

}  // namespace fenchel

// Sums over the columns of a shard.
#pragma once

#include <cstddef>

#include "matrix.hpp"

namespace fenchel {

namespace detail {

/// The squares of numbers, in place of them.
template <class Value>
struct Squares {
    const Value* value;
    FENCHEL_INLINE double operator[](std::size_t k) const {
        const double x = value[k];
        return x * x;
    }
};
template <class Value>
FENCHEL_INLINE Squares<Value> operator+(Squares<Value> squares, std::size_t k) {
    return {squares.value + k};
}
template <class Value>
FENCHEL_INLINE void fetch_numbers(Squares<Value> squares) {
    fetch(squares.value);
}
template <int Lanes, class Value>
FENCHEL_INLINE void load(Squares<Value> squares, Pack<Lanes>& pack) {
    load<Lanes>(squares.value, pack);
    pack *= pack;
}

template <class Value>
FENCHEL_INLINE Squares<Value> squared(const Value* value) {
    return {value};
}
FENCHEL_INLINE Ones squared(Ones ones) { return ones; }

template <int Lanes, class Matrix>
FENCHEL_INLINE void sparse_squares(const Matrix& X, const double* s, double* g) {
    for_each_row(X, [&](std::size_t i, auto column, auto value, std::size_t length,
                        std::size_t ahead) FENCHEL_INLINE_LAMBDA {
        add_row<Lanes>(column, squared(value), length, ahead, s ? s[i] : 1.0, g);
    });
}

template <class Matrix>
FENCHEL_AVX2 void sparse_squares_avx2(const Matrix& X, const double* s, double* g) {
    sparse_squares<4>(X, s, g);
}

}  // namespace detail

/// g_j += sum_i s_i x_ij^2; s is null where all weights are 1
template <class Value, class Pointer, class Column>
void squares(const Csr<Value, Pointer, Column>& X, const double* s, double* g) {
    has_avx2() ? detail::sparse_squares_avx2(X, s, g) : detail::sparse_squares<2>(X, s, g);
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

// The two products every fit is made of, over one row shard of the caller's own arrays:
// z = X w (scores) and g += X' a (adjoint), and both with the loss's slopes in between.
//
// Figures in comments: one core of a 2.8 GHz Ice Lake Xeon (48 KB L1, 1.25 MB L2), gcc 12.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lines.hpp"
#include "simd.hpp"
#include "sparse_lines.hpp"

namespace fenchel {

/// Compressed rows: row i is the nonzeros row_start[i] .. row_start[i + 1] - 1.
template <class Value, class Pointer, class Column>
struct Csr {
    std::size_t n_rows, n_columns;
    const Pointer* row_start;  // need not start at 0: a shard is a slice of the whole matrix
    const Column* column;      // whole array; in any order within a row, repeats add up
    const Value* value;        // whole array
    bool ones = false;         // all numbers are 1, and need not be read
};

/// Dense: x(i, j) = value[i row_stride + j column_stride], one of the strides being 1.
template <class Value>
struct Dense {
    std::size_t n_rows, n_columns;
    const Value* value;
    std::ptrdiff_t row_stride, column_stride;  // in elements
};

namespace detail {

// ---- Compressed rows -------------------------------------------------------------------------

// Nonzeros between prefetch and use of the column and value arrays: 1.1x to 1.2x on 20news, imdb
// and 5e7 nonzeros. Prefetching g[column] itself costs 1.1x to 1.3x; AVX2 gathers cost 1.3x.
inline constexpr std::size_t kAhead = 384;

// Nonzeros scored before they are scattered: their columns and values are then still in the second
// cache. On Zen 5 blocks of 2^20 are 1.1x to 1.3x slower (imdb, 20news), those of 1024 1.3x.
inline constexpr std::size_t kBlockNonzeros = std::size_t{1} << 14;

/// The distance to prefetch at from a row ending at `end`: 0 where it would leave the shard.
inline std::size_t distance(std::size_t end, std::size_t shard_end) {
    return end + kAhead <= shard_end ? kAhead : 0;
}

template <class Value, class Column>
inline void prefetch(const Column* column, const Value* value) {
    fetch(column);
    fetch(value);
}

/// sum_k value[k] w[column[k]], in four partial sums so that additions do not wait on each other.
template <class Value, class Column>
inline double sparse_dot(const Column* column, const Value* value, std::size_t length,
                         std::size_t ahead, const double* w) {
    double sum[4] = {};
    std::size_t k = 0;
    for (; k + 8 <= length; k += 8) {
        prefetch(column + k + ahead, value + k + ahead);
        for (std::size_t u = 0; u < 8; ++u) sum[u % 4] += value[k + u] * w[column[k + u]];
    }
    for (; k + 4 <= length; k += 4)
        for (std::size_t u = 0; u < 4; ++u) sum[u] += value[k + u] * w[column[k + u]];
    for (; k < length; ++k) sum[0] += value[k] * w[column[k]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// g[column[k]] += a value[k]
template <class Value, class Column>
inline void sparse_add(const Column* __restrict column, const Value* __restrict value,
                       std::size_t length, std::size_t ahead, double a, double* __restrict g) {
    std::size_t k = 0;
    for (; k + 8 <= length; k += 8) {
        prefetch(column + k + ahead, value + k + ahead);
        for (std::size_t u = 0; u < 8; ++u) g[column[k + u]] += a * value[k + u];
    }
    for (; k < length; ++k) g[column[k]] += a * value[k];
}

/// One past the last row of the block starting at row `first`: at least one row.
template <class Value, class Pointer, class Column>
std::size_t block_end(const Csr<Value, Pointer, Column>& X, std::size_t first) {
    const auto begin = static_cast<std::size_t>(X.row_start[first]);
    const auto beyond = [begin](std::size_t, Pointer start) {
        return static_cast<std::size_t>(start) - begin > kBlockNonzeros;
    };
    const Pointer* rows_end = X.row_start + X.n_rows + 1;
    const Pointer* stop =
        std::upper_bound(X.row_start + first + 2, rows_end, kBlockNonzeros, beyond);
    return static_cast<std::size_t>(stop - X.row_start) - 1;
}

template <class Value, class Pointer, class Column>
Csr<Value, Pointer, Column> rows(const Csr<Value, Pointer, Column>& X, std::size_t first,
                                 std::size_t last) {
    return {last - first, X.n_columns, X.row_start + first, X.column, X.value, X.ones};
}

/// body(i, column, value, length, ahead) for each row.
template <class Value, class Pointer, class Column, class Body>
FENCHEL_INLINE void for_each_row(const Csr<Value, Pointer, Column>& X, Body&& body) {
    const auto shard_end = static_cast<std::size_t>(X.row_start[X.n_rows]);
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        const auto k = static_cast<std::size_t>(X.row_start[i]);
        const auto end = static_cast<std::size_t>(X.row_start[i + 1]);
        if (X.ones)
            body(i, X.column + k, Ones{}, end - k, distance(end, shard_end));
        else
            body(i, X.column + k, X.value + k, end - k, distance(end, shard_end));
    }
}

template <int Lanes, class Matrix>
FENCHEL_INLINE void sparse_scores(const Matrix& X, const double* w, double* z) {
    for_each_row(
        X, [&](std::size_t i, auto column, auto value, std::size_t length, std::size_t ahead)
               FENCHEL_INLINE_LAMBDA { z[i] = dot_row<Lanes>(column, value, length, ahead, w); });
}

template <int Lanes, class Matrix>
FENCHEL_INLINE void sparse_adjoint(const Matrix& X, const double* a, double* g) {
    for_each_row(X, [&](std::size_t i, auto column, auto value, std::size_t length,
                        std::size_t ahead) FENCHEL_INLINE_LAMBDA {
        if (a[i] != 0) add_row<Lanes>(column, value, length, ahead, a[i], g);
    });
}

template <class Matrix>
FENCHEL_AVX2 void sparse_scores_avx2(const Matrix& X, const double* w, double* z) {
    sparse_scores<4>(X, w, z);
}

template <class Matrix>
FENCHEL_AVX2 void sparse_adjoint_avx2(const Matrix& X, const double* a, double* g) {
    sparse_adjoint<4>(X, a, g);
}

// ---- Dense -----------------------------------------------------------------------------------

template <class Value>
bool row_major(const Dense<Value>& X) {
    return X.column_stride == 1;
}

/// Rows first .. last - 1 as lines: those of the next block are prefetched, or the next columns.
template <class Value>
Lines<Value> lines(const Dense<Value>& X, std::size_t first, std::size_t last) {
    const Value* value = X.value + static_cast<std::ptrdiff_t>(first) * X.row_stride;
    if (row_major(X))
        return {last - first, X.n_columns, value, X.row_stride, last - first, X.n_rows - first};
    return {X.n_columns, last - first, value, X.column_stride, kTogether, X.n_columns};
}

// Rows per block: a row-major block stays in the first cache between the two products, together
// with the next one, which is being fetched; a column-major one in the second, in pieces of a
// column of 1 KB or more.
template <class Value>
std::size_t block_rows(const Dense<Value>& X) {
    const std::size_t row_bytes = sizeof(Value) * std::max<std::size_t>(X.n_columns, 1);
    if (row_major(X))
        return std::clamp<std::size_t>((std::size_t{16} << 10) / row_bytes / 4 * 4, 4, 512);
    return std::clamp<std::size_t>((std::size_t{800} << 10) / row_bytes / 8 * 8, 128, 4096);
}

/// body(first, last) for each block of rows in turn.
template <class Value, class Body>
void for_each_block(const Dense<Value>& X, Body&& body) {
    const std::size_t step = block_rows(X);
    for (std::size_t first = 0; first < X.n_rows; first += step)
        body(first, std::min(first + step, X.n_rows));
}

template <Fetched fetched, class Value>
void dense_scores(const Dense<Value>& X, std::size_t first, std::size_t last, const double* w,
                  double* z) {
    std::fill(z + first, z + last, 0.0);
    const Lines<Value> block = lines(X, first, last);
    row_major(X) ? dot<fetched>(block, w, z + first) : add<kAll>(block, w, z + first);
}

template <Fetched fetched, class Value>
void dense_adjoint(const Dense<Value>& X, std::size_t first, std::size_t last, const double* a,
                   double* g) {
    const Lines<Value> block = lines(X, first, last);
    row_major(X) ? add<fetched>(block, a + first, g) : dot<kAll>(block, a + first, g);
}

}  // namespace detail

/// z = X w
template <class Value, class Pointer, class Column>
void scores(const Csr<Value, Pointer, Column>& X, const double* w, double* z) {
    has_avx2() ? detail::sparse_scores_avx2(X, w, z) : detail::sparse_scores<2>(X, w, z);
}

/// g += X' a; rows with a_i = 0 are not read
template <class Value, class Pointer, class Column>
void adjoint(const Csr<Value, Pointer, Column>& X, const double* a, double* g) {
    has_avx2() ? detail::sparse_adjoint_avx2(X, a, g) : detail::sparse_adjoint<2>(X, a, g);
}

/// z = X w; slopes(first, last) reads z and writes a for those rows, block by block; g += X' a
template <class Value, class Pointer, class Column, class Slopes>
void evaluate(const Csr<Value, Pointer, Column>& X, const double* w, double* z, double* a,
              double* g, Slopes&& slopes) {
    for (std::size_t first = 0; first < X.n_rows;) {
        const std::size_t last = detail::block_end(X, first);
        const auto block = detail::rows(X, first, last);
        scores(block, w, z + first);
        slopes(first, last);
        adjoint(block, a + first, g);
        first = last;
    }
}

/// z = X w
template <class Value>
void scores(const Dense<Value>& X, const double* w, double* z) {
    detail::for_each_block(X, [&](std::size_t first, std::size_t last) {
        detail::dense_scores<detail::kAll>(X, first, last, w, z);
    });
}

/// g += X' a
template <class Value>
void adjoint(const Dense<Value>& X, const double* a, double* g) {
    detail::for_each_block(X, [&](std::size_t first, std::size_t last) {
        detail::dense_adjoint<detail::kAll>(X, first, last, a, g);
    });
}

/// z = X w; slopes(first, last) reads z and writes a for those rows, block by block; g += X' a
template <class Value, class Slopes>
void evaluate(const Dense<Value>& X, const double* w, double* z, double* a, double* g,
              Slopes&& slopes) {
    detail::for_each_block(X, [&](std::size_t first, std::size_t last) {
        detail::dense_scores<detail::kFirstTwo>(X, first, last, w, z);
        slopes(first, last);
        detail::dense_adjoint<detail::kLastTwo>(X, first, last, a, g);
    });
}

/// The numbers of X that are not 0, row after row; false where there is no `room` for them. Each
/// number of a row is written, and stays where the next does not overwrite it, but where nothing
/// must be written beyond them.
template <class Value>
bool compress(const Dense<Value>& X, std::size_t room, std::int64_t* row_start,
              std::int32_t* column, Value* value) {
    std::size_t k = 0;
    row_start[0] = 0;
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        const Value* x = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
        const auto at = [&](std::size_t j) {
            return x[static_cast<std::ptrdiff_t>(j) * X.column_stride];
        };
        std::size_t count = 0;
        for (std::size_t j = 0; j < X.n_columns; ++j) count += at(j) != 0;
        if (k + count > room) return false;
        const bool last = k + count == room;
        for (std::size_t j = 0; j < X.n_columns; ++j) {
            if (last && at(j) == 0) continue;
            value[k] = at(j);
            column[k] = static_cast<std::int32_t>(j);
            k += at(j) != 0;
        }
        row_start[i + 1] = static_cast<std::int64_t>(k);
    }
    return true;
}

}  // namespace fenchel

// What the kernels rely on, checked once before they see the data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "matrix.hpp"

namespace fenchel {

/// What a scan of numbers found.
struct Scan {
    std::size_t nonfinite = 0;  // how many are nan or inf
    std::size_t row = 0;        // the first of those
    std::size_t column = 0;
    double largest = 0;  // the largest finite magnitude
};

namespace detail {

/// Whether all numbers of a line are at most so large; nan is not.
template <class Value>
FENCHEL_INLINE bool within_line(const Value* x, std::size_t length, double most) {
    bool outside = false;
    for (std::size_t k = 0; k < length; ++k)
        outside |= !(std::abs(static_cast<double>(x[k])) <= most);
    return !outside;
}

template <class Value>
FENCHEL_AVX2 bool within_line_avx2(const Value* x, std::size_t length, double most) {
    return within_line(x, length, most);
}

}  // namespace detail

/// Whether all numbers of X, in rows or columns of one piece, are finite and at most so large.
template <class Value>
bool within(const Dense<Value>& X, double most) {
    const bool by_rows = X.column_stride == 1;
    const std::size_t lines = by_rows ? X.n_rows : X.n_columns;
    const std::size_t length = by_rows ? X.n_columns : X.n_rows;
    const std::ptrdiff_t stride = by_rows ? X.row_stride : X.column_stride;
    for (std::size_t l = 0; l < lines; ++l) {
        const Value* x = X.value + static_cast<std::ptrdiff_t>(l) * stride;
        const bool inside = has_avx2() ? detail::within_line_avx2(x, length, most)
                                       : detail::within_line(x, length, most);
        if (!inside) return false;
    }
    return true;
}

/// Whether all numbers are 1; of most arrays the first number tells.
template <class Value>
bool all_ones(const Value* x, std::size_t length) {
    constexpr std::size_t step = 1024;
    for (std::size_t k = 0; k < length; k += step) {
        bool others = false;
        for (std::size_t l = k; l < std::min(k + step, length); ++l) others |= x[l] != 1;
        if (others) return false;
    }
    return true;
}

/// Counts nan and inf in X and finds the first, row by row.
template <class Value>
Scan scan(const Dense<Value>& X) {
    Scan found;
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        const Value* x = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
        for (std::size_t j = 0; j < X.n_columns; ++j) {
            const double magnitude =
                std::abs(static_cast<double>(x[static_cast<std::ptrdiff_t>(j) * X.column_stride]));
            if (magnitude <= std::numeric_limits<double>::max()) {
                found.largest = magnitude > found.largest ? magnitude : found.largest;
            } else if (found.nonfinite++ == 0) {
                found.row = i;
                found.column = j;
            }
        }
    }
    return found;
}

/// The first row that names a column twice, or n_rows; `seen` holds n_columns entries, all -1. A
/// row of ascending columns, as most are, tells by itself.
template <class Value, class Pointer, class Column>
std::size_t first_duplicate(const Csr<Value, Pointer, Column>& X, std::int64_t* seen) {
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        const Pointer first = X.row_start[i], end = X.row_start[i + 1];
        bool ascending = true;
        for (Pointer k = first + 1; k < end; ++k) ascending &= X.column[k - 1] < X.column[k];
        if (ascending) continue;
        for (Pointer k = first; k < end; ++k) {
            std::int64_t& last = seen[X.column[k]];
            if (last == static_cast<std::int64_t>(i)) return i;
            last = static_cast<std::int64_t>(i);
        }
    }
    return X.n_rows;
}

}  // namespace fenchel

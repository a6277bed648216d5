// What the kernels rely on, checked once before they see the data.
#pragma once

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

/// The first row that names a column twice, or n_rows; `seen` holds n_columns entries, all -1.
template <class Value, class Pointer, class Column>
std::size_t first_duplicate(const Csr<Value, Pointer, Column>& X, std::int64_t* seen) {
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        for (Pointer k = X.row_start[i]; k < X.row_start[i + 1]; ++k) {
            std::int64_t& last = seen[X.column[k]];
            if (last == static_cast<std::int64_t>(i)) return i;
            last = static_cast<std::int64_t>(i);
        }
    }
    return X.n_rows;
}

}  // namespace fenchel

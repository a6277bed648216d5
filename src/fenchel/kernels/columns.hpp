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

/// g_j += sum_i s_i x_ij^2; s is null where all weights are 1
template <class Value>
void squares(const Dense<Value>& X, const double* s, double* g) {
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        const double weight = s ? s[i] : 1.0;
        const Value* row = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
        for (std::size_t j = 0; j < X.n_columns; ++j) {
            const double x =
                static_cast<double>(row[static_cast<std::ptrdiff_t>(j) * X.column_stride]);
            g[j] += weight * x * x;
        }
    }
}

}  // namespace fenchel

// The products of rows with each other, X diag(scale) X', where rows are sparse and not many.
#pragma once

#include <cstddef>
#include <cstdint>

#include "matrix.hpp"

namespace fenchel {

/// H(i, j) += sum_c x_ic y_jc for the rows i = first .. last - 1 of X and the rows j <= i of Y,
/// which is given by its columns, in each of which rows ascend; H has as many columns as X has
/// rows.
template <class Column>
void row_products(const Csr<double, std::int64_t, Column>& X, const std::int64_t* column_start,
                  const Column* row, const double* value, std::size_t first, std::size_t last,
                  double* H) {
    for (std::size_t i = first; i < last; ++i) {
        double* to = H + i * X.n_rows;
        for (std::int64_t k = X.row_start[i]; k < X.row_start[i + 1]; ++k) {
            const double x = X.value[k];
            const std::int64_t end = column_start[X.column[k] + 1];
            for (std::int64_t l = column_start[X.column[k]]; l < end; ++l) {
                if (static_cast<std::size_t>(row[l]) > i) break;
                to[row[l]] += x * value[l];
            }
        }
    }
}

}  // namespace fenchel

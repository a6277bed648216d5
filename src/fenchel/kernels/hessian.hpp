// The Hessian of a linear risk: the loss's curvature row by row, and the products of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "losses.hpp"
#include "matrix.hpp"

namespace fenchel {

/// l''(z), on the right of a break.
template <class Loss>
FENCHEL_INLINE double curvature(const Loss& loss, double z, double y) {
    if constexpr (requires { loss.pieces(0.0); }) {
        const auto pieces = loss.pieces(y);
        double curvature = pieces.curvature;
        for (const Piece& piece : pieces.breaks) curvature += z >= piece.at ? piece.bend : 0.0;
        return curvature;
    } else {
        return loss.curvature(z, y);
    }
}

namespace detail {

template <class Loss>
FENCHEL_INLINE void curvatures_loop(const Loss loss, const Rows rows, const double b,
                                    double* __restrict h, const std::size_t n) {
    const double* __restrict z = rows.z, * __restrict y = rows.y, * __restrict s = rows.s;
    if (s == nullptr) {
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) h[i] = curvature(loss, z[i] + b, y[i]);
        return;
    }
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i)
        h[i] = s[i] > 0 ? s[i] * curvature(loss, z[i] + b, y[i]) : 0.0;
}

template <class Loss>
FENCHEL_AVX2 void curvatures_avx2(const Loss loss, const Rows rows, const double b, double* h,
                                  const std::size_t n) {
    curvatures_loop(loss, rows, b, h, n);
}

}  // namespace detail

/// h_i = s_i l''(z_i + b), and in `bent` the rows where it is not 0; returns how many they are.
template <class Loss>
std::size_t curvatures(const Loss& loss, const Rows& rows, double b, double* h, std::int32_t* bent,
                       std::size_t n) {
    has_avx2() ? detail::curvatures_avx2(loss, rows, b, h, n)
               : detail::curvatures_loop(loss, rows, b, h, n);
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        bent[count] = static_cast<std::int32_t>(i);
        count += h[i] > 0;
    }
    return count;
}

/// G += sum over the chosen rows of s_i x_i x_i', of which the entries (j, k) with k <= j are made,
/// with a last row for a last column of ones; G has n_columns + 1 rows.
template <class Value, class Pointer, class Column>
void gram(const Csr<Value, Pointer, Column>& X, const double* s, const std::int32_t* chosen,
          std::size_t count, double* G) {
    const std::size_t width = X.n_columns + 1;
    double* ones = G + X.n_columns * width;
    for (std::size_t r = 0; r < count; ++r) {
        const auto i = static_cast<std::size_t>(chosen[r]);
        const double weight = s ? s[i] : 1.0;
        const Pointer first = X.row_start[i];
        Column last = 0;  // the largest column so far: they may come in any order
        for (Pointer k = first; k < X.row_start[i + 1]; ++k) {
            const double x = weight * static_cast<double>(X.value[k]);
            const Column column = X.column[k];
            const auto j = static_cast<std::size_t>(column);
            double* row = G + j * width;
            ones[j] += x;
            if (column >= last) {
                for (Pointer l = first; l <= k; ++l)
                    row[X.column[l]] += x * static_cast<double>(X.value[l]);
                last = column;
                continue;
            }
            for (Pointer l = first; l <= k; ++l) {
                const auto m = static_cast<std::size_t>(X.column[l]);
                (m <= j ? row[m] : G[m * width + j]) += x * static_cast<double>(X.value[l]);
            }
        }
        ones[X.n_columns] += weight;
    }
}

}  // namespace fenchel

// The products of rows that a Hessian is made of, for dense rows: G += sum_i s_i x_i x_i'.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "matrix.hpp"

namespace fenchel {

namespace detail {

// Rows are copied, as they are and times s, in blocks, and there in strips of eight columns, so
// that a product of two strips reads memory in order and keeps its sums in registers.
inline constexpr std::size_t kStrip = 8, kGramRows = 128;

/// Rows x_i of a block and s_i x_i, with a one and zeros to fill the last strip: number k of row r
/// is at [(k / 8 * rows + r) * 8 + k % 8].
struct Strips {
    std::size_t rows;
    std::vector<double> x, sx;
};

/// Row r of a block becomes row i of X, whose weight is s.
template <class Value>
void copy_row(const Dense<Value>& X, std::size_t i, double s, std::size_t r, Strips& block) {
    const Value* from = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
    for (std::size_t k = 0; k <= X.n_columns; k += kStrip) {
        double *x = block.x.data() + (k / kStrip * block.rows + r) * kStrip,
               *sx = block.sx.data() + (x - block.x.data());
        for (std::size_t l = 0; l < kStrip; ++l) {
            const auto j = static_cast<std::ptrdiff_t>(k + l);
            x[l] = k + l < X.n_columns ? static_cast<double>(from[j * X.column_stride])
                                       : (k + l == X.n_columns ? 1.0 : 0.0);
            sx[l] = s * x[l];
        }
    }
}

/// Half a square of G: sum_r sx[r][first + m] x[r][k] for four m and eight k.
template <int Lanes>
FENCHEL_INLINE void half_square(const double* sx, const double* x, std::size_t rows, double* out) {
    constexpr int packs = static_cast<int>(kStrip) / Lanes;
    Pack<Lanes> sum[4][packs] = {}, xk[packs];
    for (std::size_t r = 0; r < rows; ++r) {
        for (int v = 0; v < packs; ++v) load<Lanes>(x + r * kStrip + v * Lanes, xk[v]);
        for (int m = 0; m < 4; ++m)
            for (int v = 0; v < packs; ++v) sum[m][v] += sx[r * kStrip + m] * xk[v];
    }
    for (int m = 0; m < 4; ++m)
        for (int v = 0; v < packs; ++v)
            for (int u = 0; u < Lanes; ++u) out[m * kStrip + v * Lanes + u] = sum[m][v][u];
}

/// G[j][k] += sum_r sx[r][j] x[r][k] for k <= j < n.
template <int Lanes>
FENCHEL_INLINE void gram_body(const Strips& block, double* G, std::size_t n) {
    const std::size_t strip = block.rows * kStrip;
    double square[4 * kStrip];
    for (std::size_t j = 0; j < n; j += 4) {
        const double* sx = block.sx.data() + j / kStrip * strip + j % kStrip;
        for (std::size_t k = 0; k <= j; k += kStrip) {
            half_square<Lanes>(sx, block.x.data() + k / kStrip * strip, block.rows, square);
            for (std::size_t m = 0; m < 4 && j + m < n; ++m)
                for (std::size_t l = 0; l < kStrip && k + l <= j + m; ++l)
                    G[(j + m) * n + k + l] += square[m * kStrip + l];
        }
    }
}

FENCHEL_AVX2 inline void gram_avx2(const Strips& block, double* G, std::size_t n) {
    gram_body<4>(block, G, n);
}

}  // namespace detail

/// G += sum over the chosen rows of s_i x_i x_i', of which the entries (j, k) with k <= j are made,
/// with a last row for a last column of ones; G has n_columns + 1 rows.
template <class Value>
void gram(const Dense<Value>& X, const double* s, const std::int32_t* chosen, std::size_t count,
          double* G) {
    using namespace detail;
    const std::size_t n = X.n_columns + 1, width = (n + kStrip - 1) / kStrip * kStrip;
    Strips block{0, std::vector<double>(kGramRows * width), std::vector<double>(kGramRows * width)};
    for (std::size_t first = 0; first < count; first += kGramRows) {
        block.rows = std::min(kGramRows, count - first);
        for (std::size_t r = 0; r < block.rows; ++r) {
            const auto i = static_cast<std::size_t>(chosen[first + r]);
            copy_row(X, i, s ? s[i] : 1.0, r, block);
        }
        has_avx2() ? gram_avx2(block, G, n) : gram_body<2>(block, G, n);
    }
}

}  // namespace fenchel

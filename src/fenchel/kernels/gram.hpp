// G += sum over chosen rows of s_i x_i x_i' for dense rows, in tiles that stay in registers;
// hessian.hpp has the same for sparse ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "simd.hpp"

namespace fenchel {

namespace detail {

inline constexpr std::size_t kGramRows = 64;  // copied at once: they stay in the first cache
inline constexpr std::size_t kTileRows = 4, kTileColumns = 8;

/// G_jk += sum_r y_rj x_rk over a tile of j and k, of which those with k <= j < width are kept.
template <int Lanes>
FENCHEL_INLINE void gram_tile(const double* x, const double* y, std::size_t stride,
                              std::size_t count, std::size_t j, std::size_t k, double* G,
                              std::size_t width) {
    constexpr int kPacks = kTileColumns / Lanes;
    Pack<Lanes> sum[kTileRows][kPacks] = {}, xk[kPacks];
    for (std::size_t r = 0; r < count; ++r) {
        const double *xr = x + r * stride + k, *yr = y + r * stride + j;
        for (int p = 0; p < kPacks; ++p) load<Lanes>(xr + p * Lanes, xk[p]);
        for (std::size_t t = 0; t < kTileRows; ++t)
            for (int p = 0; p < kPacks; ++p) sum[t][p] += yr[t] * xk[p];
    }
    for (std::size_t t = 0; t < kTileRows && j + t < width; ++t)
        for (std::size_t l = 0; l < kTileColumns && k + l <= j + t; ++l)
            G[(j + t) * width + k + l] += sum[t][l / Lanes][l % Lanes];
}

template <int Lanes>
FENCHEL_INLINE void gram_block(const double* x, const double* y, std::size_t stride,
                               std::size_t count, double* G, std::size_t width) {
    for (std::size_t j = 0; j < width; j += kTileRows)
        for (std::size_t k = 0; k < std::min(j + kTileRows, width); k += kTileColumns)
            gram_tile<Lanes>(x, y, stride, count, j, k, G, width);
}

FENCHEL_AVX2 inline void gram_avx2(const double* x, const double* y, std::size_t stride,
                                   std::size_t count, double* G, std::size_t width) {
    gram_block<4>(x, y, stride, count, G, width);
}

}  // namespace detail

/// Of G the entries (j, k) with k <= j are made, with a last row for a last column of ones; G has
/// n_columns + 1 rows. See hessian.hpp for sparse rows.
template <class Value>
void gram(const Dense<Value>& X, const double* s, const std::int32_t* chosen, std::size_t count,
          double* G) {
    const std::size_t d = X.n_columns, width = d + 1;
    const std::size_t stride = (width + 2 * detail::kTileColumns - 1) / 8 * 8;
    std::vector<double> x(std::min(detail::kGramRows, count) * stride), y(x.size());
    for (std::size_t first = 0; first < count; first += detail::kGramRows) {
        const std::size_t block = std::min(detail::kGramRows, count - first);
        for (std::size_t r = 0; r < block; ++r) {
            const auto i = static_cast<std::size_t>(chosen[first + r]);
            const Value* row = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
            double *xr = &x[r * stride], *yr = &y[r * stride];
            const double weight = s ? s[i] : 1.0;
            for (std::size_t j = 0; j < d; ++j)
                xr[j] = row[static_cast<std::ptrdiff_t>(j) * X.column_stride];
            xr[d] = 1.0;
            for (std::size_t j = 0; j < width; ++j) yr[j] = weight * xr[j];
        }
        has_avx2() ? detail::gram_avx2(x.data(), y.data(), stride, block, G, width)
                   : detail::gram_block<2>(x.data(), y.data(), stride, block, G, width);
    }
}

}  // namespace fenchel

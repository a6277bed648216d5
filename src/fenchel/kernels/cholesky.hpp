// H x = g for a symmetric positive definite H of few rows, as risks/views/newton.py solves it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "matrix.hpp"
#include "simd.hpp"
#include "triangular_factor.hpp"

namespace fenchel {

namespace detail {

inline constexpr std::size_t kTile = 4;

/// s_pq = sum over k < n of x_pk y_qk for four rows x and four rows y.
template <int Lanes>
FENCHEL_INLINE void tile_dots(const double* x, const double* y, std::size_t stride, std::size_t n,
                              double (&s)[kTile][kTile]) {
    Pack<Lanes> sum[kTile][kTile] = {}, xk[kTile], yk;
    std::size_t k = 0;
    for (; k + Lanes <= n; k += Lanes) {
        for (std::size_t p = 0; p < kTile; ++p) load<Lanes>(x + p * stride + k, xk[p]);
        for (std::size_t q = 0; q < kTile; ++q) {
            load<Lanes>(y + q * stride + k, yk);
            for (std::size_t p = 0; p < kTile; ++p) sum[p][q] += xk[p] * yk;
        }
    }
    for (std::size_t p = 0; p < kTile; ++p)
        for (std::size_t q = 0; q < kTile; ++q) {
            s[p][q] = 0;
            for (int l = 0; l < Lanes; ++l) s[p][q] += sum[p][q][l];
            for (std::size_t r = k; r < n; ++r) s[p][q] += x[p * stride + r] * y[q * stride + r];
        }
}

/// Entry (i, j) of the factor, of whose sum over k < j the part k < from is known; `inverse` are
/// those of the diagonal.
FENCHEL_INLINE double entry(const double* L, const double* inverse, std::size_t n, std::size_t i,
                            std::size_t j, std::size_t from, double known) {
    const double *li = L + i * n, *lj = L + j * n;
    double rest = li[j] - known;
    for (std::size_t k = from; k < j; ++k) rest -= li[k] * lj[k];
    return i == j ? rest : rest * inverse[j];
}

/// The tile of the factor at rows i and the four columns j before them, column after column, four
/// rows at once: the last row for those beyond it. Of the sums over k < j `known` has the rows from
/// `top` on.
FENCHEL_INLINE void tile(double* L, const double* inverse, std::size_t n, std::size_t i,
                         std::size_t j, std::size_t top, const double (&known)[kTile][kTile]) {
    double x[kTile][kTile];  // of columns
    const double* above = L + j * n + j;
    std::size_t row[kTile];
    for (std::size_t p = 0; p < kTile; ++p) row[p] = std::min(i + p, n - 1);
#pragma GCC unroll 4
    for (std::size_t q = 0; q < kTile; ++q) {
#pragma GCC unroll 4
        for (std::size_t p = 0; p < kTile; ++p)
            x[q][p] = L[row[p] * n + j + q] - known[row[p] - top][q];
#pragma GCC unroll 4
        for (std::size_t k = 0; k < q; ++k)
#pragma GCC unroll 4
            for (std::size_t p = 0; p < kTile; ++p) x[q][p] -= x[k][p] * above[q * n + k];
#pragma GCC unroll 4
        for (std::size_t p = 0; p < kTile; ++p) x[q][p] *= inverse[j + q];
    }
#pragma GCC unroll 4
    for (std::size_t p = 0; p < kTile; ++p)
#pragma GCC unroll 4
        for (std::size_t q = 0; q < kTile; ++q) L[row[p] * n + j + q] = x[q][p];
}

/// The factor L of a matrix whose lower triangle is given, in its place; false if it has none.
/// Four rows at a time, and of them tiles of four columns, so that numbers are read once for four:
/// where fewer are left, with those before them.
template <int Lanes>
FENCHEL_INLINE bool factor_body(double* L, std::size_t n) {
    double s[kTile][kTile] = {};
    std::vector<double> inverse(n);
    const std::size_t last = n < kTile ? 0 : n - kTile;
    for (std::size_t i = 0; i < n; i += kTile) {
        for (std::size_t j = 0; j < std::min(i + kTile, n); j += kTile) {
            const std::size_t top = std::min(i, last), left = std::min(j, last);
            if (j > 0) tile_dots<Lanes>(L + top * n, L + left * n, n, j, s);
            if (j < i) {
                tile(L, inverse.data(), n, i, j, top, s);
                continue;
            }
            for (std::size_t p = i; p < std::min(i + kTile, n); ++p)
                for (std::size_t q = j; q < std::min(j + kTile, p + 1); ++q) {
                    const double known = s[p - top][q - left];
                    const double value = entry(L, inverse.data(), n, p, q, j, known);
                    L[p * n + q] = value;
                    if (p > q) continue;
                    if (!(value > 0 && std::isfinite(value))) return false;
                    L[p * n + p] = std::sqrt(value);
                    inverse[p] = 1 / L[p * n + p];
                }
        }
        std::fill_n(&s[0][0], kTile * kTile, 0.0);
    }
    return true;
}

FENCHEL_AVX2 inline bool factor_avx2(double* L, std::size_t n) { return factor_body<4>(L, n); }

inline bool factor(double* L, std::size_t n) {
    return has_avx2() ? factor_avx2(L, n) : factor_body<2>(L, n);
}

/// x <- (L L')^-1 x
inline void substitute(const double* L, std::size_t n, double* x) {
    for (std::size_t i = 0; i < n; ++i) x[i] = (x[i] - dot(L + i * n, x, i)) / L[i * n + i];
    for (std::size_t i = n; i-- > 0;) {
        x[i] /= L[i * n + i];
        for (std::size_t j = 0; j < i; ++j) x[j] -= L[i * n + j] * x[i];
    }
}

}  // namespace detail

/// x <- H^-1 x, where of H the lower triangle is read and kept.
///
/// H is brought to a diagonal of ones, as columns may be of any size. Where they are so alike that
/// round-off leaves it no factor, a little is added to that. False if H is not finite.
inline bool solve(const std::vector<double>& H, std::size_t n, std::vector<double>& L, double* x) {
    static constexpr std::array<double, 9> kRidges{0,    1e-14, 1e-12, 1e-10, 1e-8,
                                                   1e-6, 1e-4,  1e-2,  1};
    std::vector<double> size(n);
    for (std::size_t i = 0; i < n; ++i) size[i] = 1 / std::sqrt(H[i * n + i]);
    for (const double ridge : kRidges) {
        L.resize(n * n);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < i; ++j) L[i * n + j] = H[i * n + j] * size[i] * size[j];
            L[i * n + i] = 1 + ridge;
        }
        if (!detail::factor(L.data(), n)) continue;
        for (std::size_t i = 0; i < n; ++i) x[i] *= size[i];
        detail::substitute(L.data(), n, x);
        for (std::size_t i = 0; i < n; ++i) x[i] *= size[i];
        return true;
    }
    return false;
}

}  // namespace fenchel

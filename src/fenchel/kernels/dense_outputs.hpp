// The products of outputs.hpp for dense rows that lie in one piece, some rows at a time: numbers of
// W or G that are in registers meet all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "outputs.hpp"

namespace fenchel {
namespace detail {

/// Rows at a time for P packs of outputs: sixteen registers hold what they need.
template <std::size_t P>
inline constexpr std::size_t kRowsAtOnce = P <= 3 ? 4 : (P <= 5 ? 2 : 1);

/// Z_r[k] = sum_j x_rj W[j][k] for `width` numbers in P packs and R rows; Z has K numbers a row
template <std::size_t P, std::size_t R, class Value>
FENCHEL_AVX2 void sum_rows(const Value* const* x, std::size_t length, const double* W,
                           std::size_t K, std::size_t width, double* Z) {
    Pack<4> sum[R][P] = {}, w[P];
    for (std::size_t j = 0; j < length; ++j) {
        const double* from = W + j * K;
#pragma GCC unroll 8
        for (std::size_t p = 0; p < P; ++p)
            std::memcpy(&w[p], from + offset<P>(p, width), sizeof w[p]);
#pragma GCC unroll 4
        for (std::size_t r = 0; r < R; ++r) {
            const double each = x[r][j];
#pragma GCC unroll 8
            for (std::size_t p = 0; p < P; ++p) sum[r][p] += each * w[p];
        }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (std::size_t p = 0; p < P; ++p)
            std::memcpy(Z + r * K + offset<P>(p, width), &sum[r][p], sizeof w[p]);
}

/// G[j][k] += sum_r x_rj a_r[k]; A has K numbers a row
template <std::size_t P, std::size_t R, class Value>
FENCHEL_AVX2 void add_rows(const Value* const* x, std::size_t length, const double* A,
                           std::size_t K, std::size_t width, double* G) {
    Pack<4> slope[R][P], g[P];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (std::size_t p = 0; p < P; ++p)
            std::memcpy(&slope[r][p], A + r * K + offset<P>(p, width), sizeof g[p]);
    for (std::size_t j = 0; j < length; ++j) {
        double* to = G + j * K;
#pragma GCC unroll 8
        for (std::size_t p = 0; p < P; ++p)
            std::memcpy(&g[p], to + offset<P>(p, width), sizeof g[p]);
#pragma GCC unroll 4
        for (std::size_t r = 0; r < R; ++r) {
            const double each = x[r][j];
#pragma GCC unroll 8
            for (std::size_t p = 0; p < P; ++p) g[p] += each * slope[r][p];
        }
#pragma GCC unroll 8
        for (std::size_t p = 0; p < P; ++p)
            std::memcpy(to + offset<P>(p, width), &g[p], sizeof g[p]);
    }
}

/// Calls many(x, r) with the rows x from r on that are taken at once, and one(r) for each that is
/// left: false where rows are not in one piece, or outputs too few or too many for that.
template <class Value, class RowAt, class Many, class One>
bool by_rows(const Dense<Value>& X, std::size_t K, std::size_t count, RowAt&& row_at, Many&& many,
             One&& one) {
    if (X.column_stride != 1 || K < kLanes || K > 5 * kLanes || !has_avx2()) return false;
    with_packs(K, [&]<std::size_t P>() {
        constexpr std::size_t R = kRowsAtOnce<P>;
        const Value* x[R];
        std::size_t r = 0;
        for (; r + R <= count; r += R) {
            for (std::size_t each = 0; each < R; ++each)
                x[each] = X.value + static_cast<std::ptrdiff_t>(row_at(r + each)) * X.row_stride;
            many.template operator()<P, R>(x, r);
        }
        for (; r < count; ++r) one(r);
    });
    return true;
}

/// Z_r = W'x_r for fewer outputs than a pack has, with zeros in the place of the others; false
/// where rows are not in one piece.
template <class Value, class RowAt>
bool sum_few(const Dense<Value>& X, const double* W, std::size_t K, std::size_t count,
             RowAt&& row_at, double* Z) {
    if (X.column_stride != 1 || K >= kLanes || !has_avx2()) return false;
    constexpr std::size_t R = kRowsAtOnce<1>;
    std::vector<double> wide(X.n_columns * kLanes);
    for (std::size_t j = 0; j < X.n_columns; ++j) std::copy_n(W + j * K, K, &wide[j * kLanes]);
    double sums[R * kLanes];
    const auto keep = [&](std::size_t first, std::size_t rows) {
        for (std::size_t r = 0; r < rows; ++r)
            std::copy_n(sums + r * kLanes, K, Z + (first + r) * K);
    };
    const auto many = [&]<std::size_t P, std::size_t N>(const Value* const* x, std::size_t r) {
        sum_rows<P, N>(x, X.n_columns, wide.data(), kLanes, kLanes, sums);
        keep(r, N);
    };
    const auto one = [&](std::size_t r) {
        const Value* x = X.value + static_cast<std::ptrdiff_t>(row_at(r)) * X.row_stride;
        sum_rows<1, 1>(&x, X.n_columns, wide.data(), kLanes, kLanes, sums);
        keep(r, 1);
    };
    return by_rows(X, kLanes, count, row_at, many, one);
}

}  // namespace detail
}  // namespace fenchel

// The two products of matrix.hpp with K outputs: Z = X W (n x K) and G += X' A (d x K). W, Z, A and
// G are row-major, so that a nonzero of X meets K consecutive numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "matrix.hpp"
#include "simd.hpp"

namespace fenchel {
namespace detail {

// Eight sums stay in registers, but only where the loops over them are unrolled by order: left to
// itself, GCC 12 keeps four or more in memory (2x slower).
inline constexpr std::size_t kLanes = 4, kPacks = 8;

/// One row of a Csr: `length` nonzeros.
template <class Value, class Column>
struct SparseRow {
    const Column* column;
    const Value* value;
    std::size_t length;
};

/// Where pack p of P begins: the last one ends with the numbers and may overlap the one before.
template <std::size_t P>
FENCHEL_INLINE std::size_t offset(std::size_t p, std::size_t width) {
    return p + 1 < P ? p * kLanes : width - kLanes;
}

/// z[k] = sum_n x_n W[column_n][k] for `width` numbers in P packs, 4 (P - 1) < width <= 4 P
template <std::size_t P, class Row>
FENCHEL_AVX2 void sum_packs(const Row row, const double* W, std::size_t K, std::size_t width,
                            double* z) {
    Pack<4> sum[P] = {}, w;
    for (std::size_t n = 0; n < row.length; ++n) {
        const double* from = W + static_cast<std::size_t>(row.column[n]) * K;
        const double x = row.value[n];
#pragma GCC unroll 8
        for (std::size_t p = 0; p < P; ++p) {
            std::memcpy(&w, from + offset<P>(p, width), sizeof w);
            sum[p] += x * w;
        }
    }
#pragma GCC unroll 8
    for (std::size_t p = 0; p < P; ++p) std::memcpy(z + offset<P>(p, width), &sum[p], sizeof w);
}

/// G[column_n][k] += x_n a[k]
template <std::size_t P, class Row>
FENCHEL_AVX2 void add_packs(const Row row, const double* a, std::size_t K, std::size_t width,
                            double* G) {
    Pack<4> slope[P], g[P];
#pragma GCC unroll 8
    for (std::size_t p = 0; p < P; ++p)
        std::memcpy(&slope[p], a + offset<P>(p, width), sizeof slope[p]);
    for (std::size_t n = 0; n < row.length; ++n) {
        double* to = G + static_cast<std::size_t>(row.column[n]) * K;
        const double x = row.value[n];
        // All are read before any is written: where the last two overlap, a read of what was just
        // written would wait for it (0.6x), and both hold the same sum.
#pragma GCC unroll 8
        for (std::size_t p = 0; p < P; ++p) {
            std::memcpy(&g[p], to + offset<P>(p, width), sizeof g[p]);
            g[p] += x * slope[p];
        }
#pragma GCC unroll 8
        for (std::size_t p = 0; p < P; ++p)
            std::memcpy(to + offset<P>(p, width), &g[p], sizeof g[p]);
    }
}

/// Calls use.template operator()<P>() with the number of packs that `width` numbers take.
template <std::size_t P = 1, class Use>
FENCHEL_INLINE void with_packs(std::size_t width, Use&& use) {
    if constexpr (P < kPacks) {
        if (width > P * kLanes) return with_packs<P + 1>(width, use);
    }
    use.template operator()<P>();
}

/// The K numbers in parts of at most kPacks packs, none of them shorter than a pack.
template <class Use>
FENCHEL_INLINE void for_each_part(std::size_t K, Use&& use) {
    for (std::size_t k = 0; k < K;) {
        std::size_t width = std::min(K - k, kPacks * kLanes);
        if (const std::size_t rest = K - k - width; rest > 0 && rest < kLanes) width -= kLanes;
        use(k, width);
        k += width;
    }
}

template <class Row>
void sum_row(const Row& row, const double* W, std::size_t K, double* z) {
    if (K >= kLanes && has_avx2()) {
        for_each_part(K, [&](std::size_t k, std::size_t width) {
            with_packs(width, [&]<std::size_t P>() { sum_packs<P>(row, W + k, K, width, z + k); });
        });
        return;
    }
    std::fill(z, z + K, 0.0);
    for (std::size_t n = 0; n < row.length; ++n) {
        const double* w = W + static_cast<std::size_t>(row.column[n]) * K;
        for (std::size_t k = 0; k < K; ++k) z[k] += row.value[n] * w[k];
    }
}

/// G[column_n][k] += x_n a for one k
template <class Row>
FENCHEL_INLINE void add_one(const Row& row, double a, std::size_t K, double* G) {
    for (std::size_t n = 0; n < row.length; ++n)
        G[static_cast<std::size_t>(row.column[n]) * K] += row.value[n] * a;
}

/// A hinge's slopes have two entries other than 0, softmax's K: few are added one by one.
template <class Row>
void add_row(const Row& row, const double* a, std::size_t K, double* G) {
    const auto n_slopes = K - static_cast<std::size_t>(std::count(a, a + K, 0.0));
    if (K >= kLanes && has_avx2() && n_slopes * kLanes > K) {
        for_each_part(K, [&](std::size_t k, std::size_t width) {
            with_packs(width, [&]<std::size_t P>() { add_packs<P>(row, a + k, K, width, G + k); });
        });
        return;
    }
    for (std::size_t k = 0; k < K; ++k)
        if (a[k] != 0) add_one(row, a[k], K, G + k);
}

template <class Value, class Pointer, class Column>
SparseRow<Value, Column> row_of(const Csr<Value, Pointer, Column>& X, std::size_t i) {
    const auto first = static_cast<std::size_t>(X.row_start[i]);
    const auto last = static_cast<std::size_t>(X.row_start[i + 1]);
    return {X.column + first, X.value + first, last - first};
}

}  // namespace detail

/// Z = X W
template <class Value, class Pointer, class Column>
void scores(const Csr<Value, Pointer, Column>& X, const double* W, std::size_t K, double* Z) {
    for (std::size_t i = 0; i < X.n_rows; ++i)
        detail::sum_row(detail::row_of(X, i), W, K, Z + i * K);
}

/// G += X' A; rows with A_i = 0 are not read
template <class Value, class Pointer, class Column>
void adjoint(const Csr<Value, Pointer, Column>& X, const double* A, std::size_t K, double* G) {
    for (std::size_t i = 0; i < X.n_rows; ++i)
        detail::add_row(detail::row_of(X, i), A + i * K, K, G);
}

}  // namespace fenchel

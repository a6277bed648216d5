// The Hessians H_i of the rows' losses in their K scores, and what a column of X makes of them:
// steps of it in the slopes of its rows, and sums over these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "block_products.hpp"
#include "column_storage.hpp"
#include "outputs.hpp"

namespace fenchel {

/// H_i = h_i (diag(p_i + floor) - p_i p_i'), as softmax has it; h_i times the unit without p.
struct RowHessians {
    const double *h, *p;
    double floor;
    std::size_t n, K;
};

namespace detail {

template <class Value>
SparseRow<Value, std::int32_t> row_of(const SparseColumns<Value>& X, std::size_t j) {
    const auto first = static_cast<std::size_t>(X.start[j]);
    return {X.row + first, X.value + first, X.count(j)};
}

template <class Value>
DenseRow<Value> row_of(const DenseColumns<Value>& X, std::size_t j) {
    return {{}, {X.column(j), 1}, X.n_rows};
}

/// The numbers of a column, times the weights of their rows.
template <class Column>
struct Weighted {
    struct Values {
        const Column* of;
        const double* h;
        FENCHEL_INLINE double operator[](std::size_t n) const {
            return of->value[n] * h[static_cast<std::size_t>(of->column[n])];
        }
    };
    decltype(Column::column) column;
    Values value;
    std::size_t length;
};

template <class Column>
Weighted<Column> weighted(const Column& x, const double* h) {
    return {x.column, {&x, h}, x.length};
}

/// u_i += x_i H_i d, in P packs: lanes of the last that the one before has as well count once in
/// the product with p.
template <std::size_t P, class Column>
FENCHEL_AVX2 void bend_packs(const Column& x, const RowHessians& H, const double* d, double* U) {
    const std::size_t K = H.K;
    double padded[P * kLanes] = {};  // d, where the last pack has no lanes of the one before
    for (std::size_t k = 0; k < K; ++k)
        padded[k < (P - 1) * kLanes ? k : k + P * kLanes - K] = d[k];
    Pack<4> step[P], once[P], p[P], u[P];
#pragma GCC unroll 8
    for (std::size_t a = 0; a < P; ++a) {
        std::memcpy(&step[a], d + offset<P>(a, K), sizeof step[a]);
        std::memcpy(&once[a], padded + a * kLanes, sizeof once[a]);
    }
    for (std::size_t n = 0; n < x.length; ++n) {
        const auto i = static_cast<std::size_t>(x.column[n]);
        const double hx = H.h[i] * x.value[n];
        Pack<4> dot = {};
#pragma GCC unroll 8
        for (std::size_t a = 0; a < P; ++a) {
            std::memcpy(&p[a], H.p + i * K + offset<P>(a, K), sizeof p[a]);
            std::memcpy(&u[a], U + i * K + offset<P>(a, K), sizeof u[a]);
            dot += p[a] * once[a];
        }
        const double mean = (dot[0] + dot[1]) + (dot[2] + dot[3]);
#pragma GCC unroll 8
        for (std::size_t a = 0; a < P; ++a)
            u[a] += hx * (p[a] * (step[a] + (-mean)) + H.floor * step[a]);
#pragma GCC unroll 8
        for (std::size_t a = 0; a < P; ++a)
            std::memcpy(U + i * K + offset<P>(a, K), &u[a], sizeof u[a]);
    }
}

/// u += x H_i d for one row
inline void bend_row(const RowHessians& H, std::size_t i, double x, const double* d, double* u) {
    const double hx = H.h[i] * x;
    const double* p = H.p ? H.p + i * H.K : nullptr;
    double mean = 0;
    if (p != nullptr)
        for (std::size_t k = 0; k < H.K; ++k) mean += p[k] * d[k];
    for (std::size_t k = 0; k < H.K; ++k)
        u[k] += hx * (p ? p[k] * (d[k] - mean) + H.floor * d[k] : d[k]);
}

/// u_i += x_i H_i d for a column x
template <class Column>
void bend(const Column& x, const RowHessians& H, const double* d, double* U) {
    const std::size_t K = H.K;
    if (H.p == nullptr) return add_row(weighted(x, H.h), d, K, U);
    if (K >= kLanes && K <= kPacks * kLanes && has_avx2())
        return with_packs(K, [&]<std::size_t P>() { bend_packs<P>(x, H, d, U); });
    for (std::size_t n = 0; n < x.length; ++n) {
        const auto i = static_cast<std::size_t>(x.column[n]);
        bend_row(H, i, x.value[n], d, U + i * K);
    }
}

/// The same as `offset`, of a pack that is known when the program runs.
inline std::size_t offset_of(std::size_t p, std::size_t P, std::size_t width) {
    return p + 1 < P ? p * kLanes : width - kLanes;
}

/// Rows 4 B .. 4 B + 3 of sum_n c_n p_n p_n', from their diagonal on, taken off S.
template <std::size_t P, std::size_t B, class Column>
FENCHEL_AVX2 void outer_packs(const Column& x, const RowHessians& H, double* S) {
    const std::size_t K = H.K, first = offset<P>(B, K);
    Pack<4> sum[kLanes][P - B] = {}, p;
    for (std::size_t n = 0; n < x.length; ++n) {
        const auto i = static_cast<std::size_t>(x.column[n]);
        const double *from = H.p + i * K, hx = H.h[i] * x.value[n];
        double each[kLanes];
#pragma GCC unroll 4
        for (std::size_t r = 0; r < kLanes; ++r) each[r] = hx * from[first + r];
#pragma GCC unroll 8
        for (std::size_t a = B; a < P; ++a) {
            std::memcpy(&p, from + offset<P>(a, K), sizeof p);
#pragma GCC unroll 4
            for (std::size_t r = 0; r < kLanes; ++r) sum[r][a - B] += each[r] * p;
        }
    }
    for (std::size_t r = 0; r < kLanes; ++r) {
        const std::size_t k = first + r;
        if (k < B * kLanes) continue;  // the block before has it
        for (std::size_t l = k; l < K; ++l) {
            const std::size_t a = std::min(l / kLanes, P - 1);
            S[k * K + l] -= sum[r][a - B][l - offset_of(a, P, K)];
        }
    }
    if constexpr (B + 1 < P) outer_packs<P, B + 1>(x, H, S);
}

/// S += sum_n c_n H_n over the rows of a column, S of K x K numbers or, without p, of one; the
/// upper triangle of it.
template <class Column>
void add_hessians(const Column& x, const RowHessians& H, double* S) {
    const std::size_t K = H.K;
    double total = 0;
    for (std::size_t n = 0; n < x.length; ++n)
        total += H.h[static_cast<std::size_t>(x.column[n])] * x.value[n];
    if (H.p == nullptr) {
        S[0] += total;
        return;
    }
    std::vector<double> diagonal(K);
    sum_row(weighted(x, H.h), H.p, K, diagonal.data());
    for (std::size_t k = 0; k < K; ++k) S[k * K + k] += diagonal[k] + H.floor * total;
    if (K >= kLanes && K <= kPacks * kLanes && has_avx2())
        return with_packs(K, [&]<std::size_t P>() { outer_packs<P, 0>(x, H, S); });
    for (std::size_t n = 0; n < x.length; ++n) {
        const auto i = static_cast<std::size_t>(x.column[n]);
        const double *p = H.p + i * K, hx = H.h[i] * x.value[n];
        for (std::size_t k = 0; k < K; ++k)
            for (std::size_t l = k; l < K; ++l) S[k * K + l] -= hx * p[k] * p[l];
    }
}

inline void mirror(double* S, std::size_t K) {
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t l = 0; l < k; ++l) S[k * K + l] = S[l * K + k];
}

}  // namespace detail

}  // namespace fenchel

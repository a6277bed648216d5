// Columns of X, compressed or dense: their products with numbers of the rows, and sums of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "matrix.hpp"

namespace fenchel {

/// Compressed columns: column j is the nonzeros start[j] .. start[j + 1] - 1.
template <class Value>
struct SparseColumns {
    std::size_t n_rows, n_columns;
    const std::int64_t* start;
    const std::int32_t* row;
    const Value* value;

    std::size_t count(std::size_t j) const { return std::size_t(start[j + 1] - start[j]); }
};

/// Dense columns, each of them contiguous.
template <class Value>
struct DenseColumns {
    std::size_t n_rows, n_columns;
    const Value* value;
    std::ptrdiff_t stride;

    std::size_t count(std::size_t) const { return n_rows; }
    const Value* column(std::size_t j) const { return value + std::ptrdiff_t(j) * stride; }
};

/// The curvatures of rows: h_i, or the same for all where h is null.
struct RowCurvature {
    const double* h;
    double each;
    double operator()(std::size_t i) const { return h ? h[i] : each; }
};

namespace detail {

// Nonzeros between prefetch and use of the place that a column has got to.
inline constexpr std::size_t kColumnsAhead = 16;

/// x'u in four partial sums, so that additions do not wait on each other.
template <int Lanes, class Value>
FENCHEL_INLINE double column_dot(const Value* x, const double* u, std::size_t n) {
    Pack<Lanes> sum[4] = {}, xk, uk;
    std::size_t k = 0;
    for (; k + 4 * Lanes <= n; k += 4 * Lanes)
        for (int s = 0; s < 4; ++s) {
            load<Lanes>(x + k + s * Lanes, xk);
            load<Lanes>(u + k + s * Lanes, uk);
            sum[s] += xk * uk;
        }
    const Pack<Lanes> whole = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    double total = 0;
    for (int lane = 0; lane < Lanes; ++lane) total += whole[lane];
    for (; k < n; ++k) total += x[k] * u[k];
    return total;
}

template <class Value>
FENCHEL_AVX2 double column_dot_avx2(const Value* x, const double* u, std::size_t n) {
    return column_dot<4>(x, u, n);
}

inline double dot_of(const double* x, const double* y, std::size_t n) {
    return has_avx2() ? column_dot_avx2(x, y, n) : column_dot<2>(x, y, n);
}

/// u_i += c h_i x_i
template <class Value>
FENCHEL_INLINE void column_add(const Value* __restrict x, double c, RowCurvature h,
                               double* __restrict u, std::size_t n) {
    if (h.h == nullptr) {
        const double scaled = c * h.each;
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) u[i] += scaled * double(x[i]);
        return;
    }
    const double* __restrict each = h.h;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) u[i] += c * each[i] * double(x[i]);
}

template <class Value>
FENCHEL_AVX2 void column_add_avx2(const Value* x, double c, RowCurvature h, double* u,
                                  std::size_t n) {
    column_add(x, c, h, u, n);
}

// Columns whose products with each other are added up at once, so that each is read once for all.
inline constexpr std::size_t kTileLeft = 4, kTileRight = 2;

/// s_pq = <x_p, y_q>
template <int Lanes, class Value>
FENCHEL_INLINE void column_tile(const double* const (&x)[kTileLeft],
                                const Value* const (&y)[kTileRight], std::size_t n,
                                double (&s)[kTileLeft][kTileRight]) {
    Pack<Lanes> sum[kTileLeft][kTileRight] = {}, xk, yk[kTileRight];
    std::size_t k = 0;
    for (; k + Lanes <= n; k += Lanes) {
        for (std::size_t q = 0; q < kTileRight; ++q) load<Lanes>(y[q] + k, yk[q]);
        for (std::size_t p = 0; p < kTileLeft; ++p) {
            load<Lanes>(x[p] + k, xk);
            for (std::size_t q = 0; q < kTileRight; ++q) sum[p][q] += xk * yk[q];
        }
    }
    for (std::size_t p = 0; p < kTileLeft; ++p)
        for (std::size_t q = 0; q < kTileRight; ++q) {
            s[p][q] = 0;
            for (int l = 0; l < Lanes; ++l) s[p][q] += sum[p][q][l];
            for (std::size_t r = k; r < n; ++r) s[p][q] += x[p][r] * double(y[q][r]);
        }
}

template <class Value>
FENCHEL_AVX2 void column_tile_avx2(const double* const (&x)[kTileLeft],
                                   const Value* const (&y)[kTileRight], std::size_t n,
                                   double (&s)[kTileLeft][kTileRight]) {
    column_tile<4>(x, y, n, s);
}

template <class Value>
FENCHEL_AVX512 void column_tile_avx512(const double* const (&x)[kTileLeft],
                                       const Value* const (&y)[kTileRight], std::size_t n,
                                       double (&s)[kTileLeft][kTileRight]) {
    column_tile<8>(x, y, n, s);
}

}  // namespace detail

/// <x_j, u>
template <class Value>
double product(const SparseColumns<Value>& X, std::size_t j, const double* u) {
    const auto k = std::size_t(X.start[j]);
    return detail::sparse_dot(X.row + k, X.value + k, X.count(j), 0, u);
}

template <class Value>
double product(const DenseColumns<Value>& X, std::size_t j, const double* u) {
    return has_avx2() ? detail::column_dot_avx2(X.column(j), u, X.n_rows)
                      : detail::column_dot<2>(X.column(j), u, X.n_rows);
}

/// u_i += c h_i x_ij
template <class Value>
void add_column(const SparseColumns<Value>& X, std::size_t j, double c, RowCurvature h, double* u) {
    const auto first = std::size_t(X.start[j]), last = std::size_t(X.start[j + 1]);
    if (h.h == nullptr) {
        detail::sparse_add(X.row + first, X.value + first, last - first, 0, c * h.each, u);
        return;
    }
    for (std::size_t k = first; k < last; ++k)
        u[X.row[k]] += c * h.h[X.row[k]] * double(X.value[k]);
}

template <class Value>
void add_column(const DenseColumns<Value>& X, std::size_t j, double c, RowCurvature h, double* u) {
    has_avx2() ? detail::column_add_avx2(X.column(j), c, h, u, X.n_rows)
               : detail::column_add(X.column(j), c, h, u, X.n_rows);
}

/// (sum_i h_i x_ij, sum_i h_i x_ij^2)
template <class Value>
std::array<double, 2> moments(const SparseColumns<Value>& X, std::size_t j, RowCurvature h) {
    double sum = 0, square = 0;
    for (auto k = X.start[j]; k < X.start[j + 1]; ++k) {
        const double x = double(X.value[k]), hx = h(std::size_t(X.row[k])) * x;
        sum += hx;
        square += hx * x;
    }
    return {sum, square};
}

template <class Value>
std::array<double, 2> moments(const DenseColumns<Value>& X, std::size_t j, RowCurvature h) {
    double sum = 0, square = 0;
    const Value* column = X.column(j);
#pragma omp simd reduction(+ : sum, square)
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        const double x = double(column[i]), hx = (h.h ? h.h[i] : h.each) * x;
        sum += hx;
        square += hx * x;
    }
    return {sum, square};
}

/// v_j = <x_j, a> where it may exceed t_j; the number of columns for which it was computed.
///
/// `top_j` is what |v_j| was at most when it was last computed, less norm_j times the way that a
/// had come by then; a has now come `way`. By the triangle inequality |v_j| is at most
/// top_j + norm_j way, so that columns for which that is below t_j are known to be inside, and keep
/// their old v_j.
template <class Columns>
std::size_t products(const Columns& X, const double* a, const double* t, const double* norm,
                     double way, double* top, double* v) {
    std::size_t count = 0;
    for (std::size_t j = 0; j < X.n_columns; ++j) {
        if (top[j] + norm[j] * way <= t[j]) continue;
        v[j] = product(X, j, a);
        top[j] = std::abs(v[j]) - norm[j] * way;
        ++count;
    }
    return count;
}

/// G_jk = sum_i h_i x_ij x_ik over the columns `which`; `space` is of n_rows zeros.
template <class Value>
void gram(const SparseColumns<Value>& X, const std::int32_t* which, std::size_t size,
          RowCurvature h, double* space, double* G) {
    for (std::size_t p = 0; p < size; ++p) {
        const auto j = std::size_t(which[p]);
        for (auto k = X.start[j]; k < X.start[j + 1]; ++k)
            space[X.row[k]] = h(std::size_t(X.row[k])) * double(X.value[k]);
        for (std::size_t q = p; q < size; ++q)
            G[p * size + q] = G[q * size + p] = product(X, std::size_t(which[q]), space);
        for (auto k = X.start[j]; k < X.start[j + 1]; ++k) space[X.row[k]] = 0.0;
    }
}

/// The same in tiles: the last column stands for those beyond it.
template <class Value>
void gram(const DenseColumns<Value>& X, const std::int32_t* which, std::size_t size, RowCurvature h,
          double*, double* G) {
    using namespace detail;
    const std::size_t n = X.n_rows;
    std::vector<double> bent(kTileLeft * n);  // h_i x_ij
    double s[kTileLeft][kTileRight];
    for (std::size_t first = 0; first < size; first += kTileLeft) {
        const double* x[kTileLeft];
        for (std::size_t p = 0; p < kTileLeft; ++p) {
            const Value* column = X.column(std::size_t(which[std::min(first + p, size - 1)]));
            for (std::size_t i = 0; i < n; ++i) bent[p * n + i] = h(i) * double(column[i]);
            x[p] = &bent[p * n];
        }
        for (std::size_t q = first; q < size; q += kTileRight) {
            const Value* y[kTileRight];
            for (std::size_t r = 0; r < kTileRight; ++r)
                y[r] = X.column(std::size_t(which[std::min(q + r, size - 1)]));
            has_avx512() ? column_tile_avx512(x, y, n, s)
            : has_avx2() ? column_tile_avx2(x, y, n, s)
                         : column_tile<2>(x, y, n, s);
            for (std::size_t p = first; p < std::min(first + kTileLeft, size); ++p)
                for (std::size_t r = q; r < std::min(q + kTileRight, size); ++r)
                    G[p * size + r] = G[r * size + p] = s[p - first][r - q];
        }
    }
}

/// X by columns, which begin at `start` (n_columns + 1 numbers), each in the order of the rows.
///
/// Until the end start[j] is where column j has got to: places all over memory, fetched ahead.
template <class Value, class Pointer, class Column>
void by_columns(const Csr<Value, Pointer, Column>& X, std::int64_t* start, std::int32_t* row,
                Value* value) {
    const std::size_t d = X.n_columns, end = std::size_t(X.row_start[X.n_rows]);
    std::fill(start, start + d + 1, 0);
    for (auto k = std::size_t(X.row_start[0]); k < end; ++k) ++start[std::size_t(X.column[k]) + 1];
    for (std::size_t j = 0; j < d; ++j) start[j + 1] += start[j];
    for (std::size_t i = 0; i < X.n_rows; ++i)
        for (auto k = std::size_t(X.row_start[i]); k < std::size_t(X.row_start[i + 1]); ++k) {
            const std::size_t later = std::min(k + detail::kColumnsAhead, end - 1);
            const std::int64_t there = start[X.column[later]], here = start[X.column[k]]++;
            fetch(row + there);
            fetch(value + there);
            row[here] = std::int32_t(i);
            value[here] = X.value[k];
        }
    std::copy_backward(start, start + d, start + d + 1);
    start[0] = 0;
}

}  // namespace fenchel

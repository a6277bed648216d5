// Systems with a symmetric positive definite matrix of few rows.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "simd.hpp"

namespace fenchel {

namespace detail {

/// sum_k x_k y_k, in eight partial sums that become vector registers.
FENCHEL_INLINE double inner(const double* __restrict x, const double* __restrict y, std::size_t n) {
    double sum[8] = {};
    std::size_t k = 0;
    for (; k + 8 <= n; k += 8)
        for (std::size_t u = 0; u < 8; ++u) sum[u] += x[k + u] * y[k + u];
    for (; k < n; ++k) sum[0] += x[k] * y[k];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/// The lower triangle of a matrix of m rows becomes its factor L; false where it has none.
FENCHEL_INLINE bool factor_body(double* L, std::size_t m) {
    for (std::size_t i = 0; i < m; ++i) {
        double* row = L + i * m;
        for (std::size_t j = 0; j < i; ++j)
            row[j] = (row[j] - inner(row, L + j * m, j)) / L[j * m + j];
        const double pivot = row[i] - inner(row, row, i);
        if (!(pivot > 0)) return false;
        row[i] = std::sqrt(pivot);
    }
    return true;
}

FENCHEL_AVX2 inline bool factor_avx2(double* L, std::size_t m) { return factor_body(L, m); }

inline bool factor(double* L, std::size_t m) {
    return has_avx2() ? factor_avx2(L, m) : factor_body(L, m);
}

/// x <- (L L')^-1 x
inline void substitute(const double* L, double* x, std::size_t m) {
    for (std::size_t i = 0; i < m; ++i) x[i] = (x[i] - inner(L + i * m, x, i)) / L[i * m + i];
    for (std::size_t i = m; i-- > 0;) {
        x[i] /= L[i * m + i];
        for (std::size_t j = 0; j < i; ++j) x[j] -= L[i * m + j] * x[i];
    }
}

}  // namespace detail

/// x <- H^-1 x for a symmetric positive definite H of m rows, of which the lower triangle is read.
///
/// H is brought to a diagonal of ones, as columns may be of any size. Where they are so alike that
/// round-off leaves it no factor, a little is added to that. x stays where H is not finite.
inline void solve(const std::vector<double>& H, std::vector<double>& x) {
    const std::size_t m = x.size();
    std::vector<double> size(m), L(m * m);
    for (std::size_t i = 0; i < m; ++i) size[i] = 1 / std::sqrt(H[i * m + i]);
    for (const double ridge : {0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0}) {
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < i; ++j) L[i * m + j] = H[i * m + j] * size[i] * size[j];
            L[i * m + i] = 1.0 + ridge;
        }
        if (!detail::factor(L.data(), m)) continue;
        for (std::size_t i = 0; i < m; ++i) x[i] *= size[i];
        detail::substitute(L.data(), x.data(), m);
        for (std::size_t i = 0; i < m; ++i) x[i] *= size[i];
        return;
    }
}

}  // namespace fenchel

// H x = g for a symmetric positive definite H of few rows, as risks/views/newton.py solves it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "simd.hpp"

namespace fenchel {

namespace detail {

FENCHEL_INLINE double line_dot(const double* x, const double* y, std::size_t n) {
    double s[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (std::size_t k = 0; k < 8; ++k) s[k] += x[i + k] * y[i + k];
    for (; i < n; ++i) s[0] += x[i] * y[i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/// The factor L of a matrix whose lower triangle is given, in its place; false if it has none.
FENCHEL_INLINE bool factor_body(double* L, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        double* li = L + i * n;
        for (std::size_t j = 0; j < i; ++j) {
            const double* lj = L + j * n;
            li[j] = (li[j] - line_dot(li, lj, j)) / lj[j];
        }
        const double pivot = li[i] - line_dot(li, li, i);
        if (!(pivot > 0) || !std::isfinite(pivot)) return false;
        li[i] = std::sqrt(pivot);
    }
    return true;
}

FENCHEL_AVX2 inline bool factor_avx2(double* L, std::size_t n) { return factor_body(L, n); }

inline bool factor(double* L, std::size_t n) {
    return has_avx2() ? factor_avx2(L, n) : factor_body(L, n);
}

/// x <- (L L')^-1 x
inline void substitute(const double* L, std::size_t n, double* x) {
    for (std::size_t i = 0; i < n; ++i) x[i] = (x[i] - line_dot(L + i * n, x, i)) / L[i * n + i];
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

// Dot products of many long lines of numbers with one vector, and the sum of multiples of them:
// what the two products with a dense matrix come down to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "pack.hpp"
#include "simd.hpp"

namespace fenchel::detail {

// Lines are what is contiguous: the rows of a row-major matrix, the columns of a column-major one.
template <class Value>
struct Lines {
    std::size_t count, length;
    const Value* first;
    std::ptrdiff_t stride;
    std::size_t ahead;      // lines from use to prefetching
    std::size_t reachable;  // lines from `first` that prefetching may touch; 0 for no prefetching
};

// Four lines at a time: w or g is then read (and written) once per four.
inline constexpr int kTogether = 4;

// Numbers of a line at a time, each with a sum of its own, however many a pack has: additions do
// not wait on each other, and the bits do not depend on the instructions.
inline constexpr int kStep = 8, kHalfStep = 4;

/// Which of every four lines are prefetched. Two products after each other over a block fetch two
/// each: so the next block comes in all the while, not during the first one alone.
struct Fetched {
    int first, last;
};
inline constexpr Fetched kAll{0, 4}, kFirstTwo{0, 2}, kLastTwo{2, 4};

/// Lanes of a pack at a line's end, where less than a step is left.
template <int Lanes>
inline constexpr int kHalf = std::min(Lanes, kHalfStep);

/// out[l] += sum_k x[l stride + k] w[k] for L lines, prefetching `ahead` elements further on.
template <int Lanes, Fetched fetched, int L, class Value>
FENCHEL_INLINE void dot_few(const Value* x, std::ptrdiff_t stride, std::size_t length,
                            std::ptrdiff_t ahead, const double* w, double* out) {
    constexpr int packs = kStep / Lanes, half = kHalf<Lanes>;
    Pack<Lanes> sum[L][packs] = {}, wk, xk;
    std::size_t k = 0;
    for (; k + kStep <= length; k += kStep) {
        for (int l = fetched.first; l < std::min(fetched.last, L); ++l)
            fetch(x + k + (l * stride + ahead));
        for (int u = 0; u < packs; ++u) {
            load<Lanes>(w + k + u * Lanes, wk);
            for (int l = 0; l < L; ++l) {
                load<Lanes>(x + k + (l * stride + u * Lanes), xk);
                sum[l][u] += xk * wk;
            }
        }
    }
    Pack<half> rest[L][kHalfStep / half] = {}, wr, xr;
    if (k + kHalfStep <= length) {
        for (int u = 0; u < kHalfStep / half; ++u) {
            load<half>(w + k + u * half, wr);
            for (int l = 0; l < L; ++l) {
                load<half>(x + k + (l * stride + u * half), xr);
                rest[l][u] = xr * wr;
            }
        }
        k += kHalfStep;
    }
    double total[L] = {};
#pragma GCC unroll 4
    for (int l = 0; l < L; ++l) {
#pragma GCC unroll 8
        for (int u = 0; u < kStep; ++u) total[l] += sum[l][u / Lanes][u % Lanes];
#pragma GCC unroll 4
        for (int u = 0; u < kHalfStep; ++u) total[l] += rest[l][u / half][u % half];
    }
    for (; k < length; ++k)
#pragma GCC unroll 4
        for (int l = 0; l < L; ++l) total[l] += (x + l * stride)[k] * w[k];
#pragma GCC unroll 4
    for (int l = 0; l < L; ++l) out[l] += total[l];
}

/// g[k] += sum_l a[l] x[l stride + k] over L lines, for the k of one pack.
template <int Lanes, int L, class Value>
FENCHEL_INLINE void add_pack(const Value* x, std::ptrdiff_t stride, const double* a, double* g) {
    Pack<Lanes> gk, xk;
    load<Lanes>(g, gk);
    for (int l = 0; l < L; ++l) {
        load<Lanes>(x + l * stride, xk);
        gk += a[l] * xk;
    }
    std::memcpy(g, &gk, sizeof gk);
}

/// g[k] += sum_l a[l] x[l stride + k] over L lines, prefetching `ahead` elements further on.
template <int Lanes, Fetched fetched, int L, class Value>
FENCHEL_INLINE void add_few(const Value* x, std::ptrdiff_t stride, std::size_t length,
                            std::ptrdiff_t ahead, const double* a, double* __restrict g) {
    constexpr int half = kHalf<Lanes>;
    std::size_t k = 0;
    for (; k + kStep <= length; k += kStep) {
        for (int l = fetched.first; l < std::min(fetched.last, L); ++l)
            fetch(x + k + (l * stride + ahead));
        for (int u = 0; u < kStep; u += Lanes) add_pack<Lanes, L>(x + k + u, stride, a, g + k + u);
    }
    for (; k + half <= length; k += half) add_pack<half, L>(x + k, stride, a, g + k);
    for (; k < length; ++k)
        for (int l = 0; l < L; ++l) g[k] += a[l] * (x + l * stride)[k];
}

/// The prefetch distance at line l, 0 if there are no lines there.
template <class Value>
FENCHEL_INLINE std::ptrdiff_t distance(const Lines<Value>& X, std::size_t l) {
    const auto ahead = static_cast<std::ptrdiff_t>(X.ahead);
    return l + X.ahead + kTogether <= X.reachable ? ahead * X.stride : 0;
}

/// out[l] += sum_k x(l, k) w[k] over the lines l
template <int Lanes, Fetched fetched, class Value>
FENCHEL_INLINE void dot_body(const Lines<Value>& X, const double* w, double* out) {
    std::size_t l = 0;
    const Value* x = X.first;
    for (; l + kTogether <= X.count; l += kTogether, x += kTogether * X.stride)
        dot_few<Lanes, fetched, kTogether>(x, X.stride, X.length, distance(X, l), w, out + l);
    for (; l < X.count; ++l, x += X.stride)
        dot_few<Lanes, fetched, 1>(x, X.stride, X.length, 0, w, out + l);
}

/// g[k] += sum_l a[l] x(l, k)
template <int Lanes, Fetched fetched, class Value>
FENCHEL_INLINE void add_body(const Lines<Value>& X, const double* a, double* g) {
    std::size_t l = 0;
    const Value* x = X.first;
    for (; l + kTogether <= X.count; l += kTogether, x += kTogether * X.stride)
        if (std::any_of(a + l, a + l + kTogether, [](double al) { return al != 0; }))
            add_few<Lanes, fetched, kTogether>(x, X.stride, X.length, distance(X, l), a + l, g);
    for (; l < X.count; ++l, x += X.stride)
        if (a[l] != 0) add_few<Lanes, fetched, 1>(x, X.stride, X.length, 0, a + l, g);
}

template <Fetched fetched, class Value>
FENCHEL_AVX2 void dot_avx2(const Lines<Value>& X, const double* w, double* out) {
    dot_body<4, fetched>(X, w, out);
}

template <Fetched fetched, class Value>
FENCHEL_AVX2 void add_avx2(const Lines<Value>& X, const double* a, double* g) {
    add_body<4, fetched>(X, a, g);
}

template <Fetched fetched, class Value>
FENCHEL_AVX512 void dot_avx512(const Lines<Value>& X, const double* w, double* out) {
    dot_body<8, fetched>(X, w, out);
}

template <Fetched fetched, class Value>
FENCHEL_AVX512 void add_avx512(const Lines<Value>& X, const double* a, double* g) {
    add_body<8, fetched>(X, a, g);
}

// Of float64 packs of eight gain nothing, as each is a cache line, of which most lie across two.
template <class Value>
bool takes_eight() {
    return sizeof(Value) == 4 && has_avx512();
}

template <Fetched fetched, class Value>
void dot(const Lines<Value>& X, const double* w, double* out) {
    if (takes_eight<Value>()) return dot_avx512<fetched>(X, w, out);
    has_avx2() ? dot_avx2<fetched>(X, w, out) : dot_body<2, fetched>(X, w, out);
}

template <Fetched fetched, class Value>
void add(const Lines<Value>& X, const double* a, double* g) {
    if (takes_eight<Value>()) return add_avx512<fetched>(X, a, g);
    has_avx2() ? add_avx2<fetched>(X, a, g) : add_body<2, fetched>(X, a, g);
}

}  // namespace fenchel::detail

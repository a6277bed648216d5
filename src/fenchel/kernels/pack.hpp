// A few doubles that one instruction works on: 2 for SSE2 and NEON, 4 for AVX2 (gcc splits 4 for
// SSE2 badly: 2.5x slower). Where the compiler has no such type, a struct with the same operators.
#pragma once

#include <cstddef>
#include <cstring>

#include "simd.hpp"

// FENCHEL_PLAIN_PACKS takes the struct all the same, to see with gcc what MSVC will do.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(FENCHEL_PLAIN_PACKS)
#define FENCHEL_VECTOR_TYPES
#endif

namespace fenchel::detail {

#if defined(FENCHEL_VECTOR_TYPES)

template <class Value, int Lanes>
struct Vector {
    typedef Value Type __attribute__((vector_size(Lanes * sizeof(Value))));
};
template <int Lanes>
using Pack = typename Vector<double, Lanes>::Type;

// By reference, as a vector passed by value would tie the ABI to the instruction set.
template <int Lanes, class Value>
FENCHEL_INLINE void load(const Value* x, Pack<Lanes>& pack) {
    typename Vector<Value, Lanes>::Type stored;
    std::memcpy(&stored, x, sizeof stored);
    pack = __builtin_convertvector(stored, Pack<Lanes>);
}

/// most = max(most, each), lane by lane; a nan in `each` is passed over.
template <int Lanes>
FENCHEL_INLINE void keep_larger(Pack<Lanes>& most, const Pack<Lanes>& each) {
    most = each > most ? each : most;
}

#else

template <int Lanes>
struct Pack {
    double lane[Lanes];

    FENCHEL_INLINE double operator[](std::size_t l) const { return lane[l]; }
    FENCHEL_INLINE Pack& operator+=(const Pack& other) {
        for (int l = 0; l < Lanes; ++l) lane[l] += other.lane[l];
        return *this;
    }
    FENCHEL_INLINE Pack& operator+=(double number) {
        for (int l = 0; l < Lanes; ++l) lane[l] += number;
        return *this;
    }
    FENCHEL_INLINE Pack& operator*=(const Pack& other) {
        for (int l = 0; l < Lanes; ++l) lane[l] *= other.lane[l];
        return *this;
    }
    FENCHEL_INLINE Pack& operator*=(double number) {
        for (int l = 0; l < Lanes; ++l) lane[l] *= number;
        return *this;
    }
    FENCHEL_INLINE friend Pack operator+(Pack a, const Pack& b) { return a += b; }
    FENCHEL_INLINE friend Pack operator+(Pack a, double number) { return a += number; }
    FENCHEL_INLINE friend Pack operator*(Pack a, const Pack& b) { return a *= b; }
    FENCHEL_INLINE friend Pack operator*(double number, Pack a) { return a *= number; }
};

template <int Lanes, class Value>
FENCHEL_INLINE void load(const Value* x, Pack<Lanes>& pack) {
    for (int l = 0; l < Lanes; ++l) pack.lane[l] = static_cast<double>(x[l]);
}

template <int Lanes>
FENCHEL_INLINE void keep_larger(Pack<Lanes>& most, const Pack<Lanes>& each) {
    for (int l = 0; l < Lanes; ++l)
        most.lane[l] = each.lane[l] > most.lane[l] ? each.lane[l] : most.lane[l];
}

#endif

}  // namespace fenchel::detail

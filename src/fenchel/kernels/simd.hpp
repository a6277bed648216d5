// Which vector instructions a function is compiled for, whether the machine has them, and what
// else compilers call by different names.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
/// Inlined into its caller, and so compiled for whatever that is compiled for.
#define FENCHEL_INLINE __forceinline
#define FENCHEL_INLINE_LAMBDA
#else
#define FENCHEL_INLINE [[gnu::always_inline]] inline
/// The same of a lambda, between its parameters and its body.
#define FENCHEL_INLINE_LAMBDA __attribute__((always_inline))
#endif

// The wheel is built for SSE2; AVX2 is chosen at run time, and AVX-512 where float32 is converted,
// as else memory is the limit. By a plain test, as an ifunc would be resolved before the sanitizers
// are ready. Not with the tools of Windows: the compiler has no functions for other machines than
// the program's, and clang there lacks the library that knows the processor.
#if defined(__x86_64__) && !defined(_MSC_VER)
#define FENCHEL_HAS_AVX2_FUNCTIONS
#define FENCHEL_AVX2 __attribute__((target("avx2,fma")))
#define FENCHEL_AVX512 __attribute__((target("avx2,fma,avx512f")))
#else
#define FENCHEL_AVX2
#define FENCHEL_AVX512
#endif

namespace fenchel {

inline bool has_avx2() {
#if defined(FENCHEL_HAS_AVX2_FUNCTIONS)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

inline bool has_avx512() {
#if defined(FENCHEL_HAS_AVX2_FUNCTIONS)
    return has_avx2() && __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

/// Asks for the cache line at `place`, which may lie anywhere.
FENCHEL_INLINE void fetch(const void* place) {
#if !defined(_MSC_VER) || defined(__clang__)
    __builtin_prefetch(place);
#elif defined(_M_X64)
    _mm_prefetch(static_cast<const char*>(place), _MM_HINT_T0);
#else
    __prefetch(place);
#endif
}

}  // namespace fenchel

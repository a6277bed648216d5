// Which vector instructions a function is compiled for, and whether the machine has them.
#pragma once

/// Inlined into its caller, and so compiled for whatever that is compiled for.
#define FENCHEL_INLINE [[gnu::always_inline]] inline

// The wheel is built for SSE2; AVX2 is chosen at run time (AVX-512 adds nothing: memory is the
// limit). By a plain test, as an ifunc would be resolved before the sanitizers are ready.
#if defined(__x86_64__)
#define FENCHEL_AVX2 __attribute__((target("avx2,fma")))
#else
#define FENCHEL_AVX2
#endif

namespace fenchel {

inline bool has_avx2() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

}  // namespace fenchel

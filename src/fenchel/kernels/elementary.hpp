// exp and log1p without branches, so that loops over rows become vector code. Both are good to two
// units in the last place on the ranges named; the library's own take 20 ns a row, these 3. And by
// how much exp exceeds its tangent, where the library's own would cancel.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "simd.hpp"

namespace fenchel {

/// exp(x) for x <= 0, but at least exp(-708) = 3e-308, the end of the normal numbers.
FENCHEL_INLINE double exp_of_negative(double x) {
    constexpr double log2_e = 1.4426950408889634, ln2_high = 6.93147180369123816490e-01,
                     ln2_low =
                         1.90821492927058770002e-10;  // high has 21 zero bits: k * high is exact
    constexpr double round = 6755399441055744.0;      // 1.5 * 2^52: adding it rounds to integers
    x = x < -708.0 ? -708.0 : x;
    const double shifted = x * log2_e + round;
    const double k = shifted - round;
    const double r = (x - k * ln2_high) - k * ln2_low;  // |r| <= ln(2) / 2
    double p = 1.0 / 6227020800;                        // 1/13!, and Taylor's other terms
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    // Multiplies by 2^k: the low bits of `shifted` are k.
    const auto exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + exponent);
}

/// log(1 + e) for 0 <= e <= 1, as 2 atanh(e / (2 + e)).
FENCHEL_INLINE double log1p_of_fraction(double e) {
    const double s = e / (2 + e), t = s * s;  // t <= 1/9: 17 terms leave less than 1e-17
    double p = 1.0 / 33;
    p = p * t + 1.0 / 31;
    p = p * t + 1.0 / 29;
    p = p * t + 1.0 / 27;
    p = p * t + 1.0 / 25;
    p = p * t + 1.0 / 23;
    p = p * t + 1.0 / 21;
    p = p * t + 1.0 / 19;
    p = p * t + 1.0 / 17;
    p = p * t + 1.0 / 15;
    p = p * t + 1.0 / 13;
    p = p * t + 1.0 / 11;
    p = p * t + 1.0 / 9;
    p = p * t + 1.0 / 7;
    p = p * t + 1.0 / 5;
    p = p * t + 1.0 / 3;
    return 2 * s + 2 * s * (t * p);
}

/// exp(t) - 1 - t to a few units of itself: Taylor's terms where that would cancel.
FENCHEL_INLINE double exp_beyond_tangent(double t) {
    if (!(std::abs(t) < 0.5)) return std::expm1(t) - t;
    double p = 1.0;  // 1 + t/3 (1 + t/4 (1 + ...)); the first term left out is below 1e-18
    for (int k = 15; k >= 3; --k) p = 1.0 + p * t / k;
    return 0.5 * t * t * p;
}

}  // namespace fenchel

// Decimal text to double and back, bit for bit as Python's float() and repr() have it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "float_chars.hpp"

namespace fenchel {

constexpr bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// Appends the digits at p to m (modulo 2^64) and returns their end.
inline const char* digits(const char* p, std::uint64_t& m) {
    for (; is_digit(*p); ++p) m = 10 * m + static_cast<std::uint64_t>(*p - '0');
    return p;
}

/// The powers of ten that a double holds exactly.
inline constexpr std::array<double, 23> exact_power_of_ten = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// The exponent at p, "e-05" say, added to `scale`; null where no digits follow the e.
inline const char* exponent(const char* p, std::int64_t& scale) {
    const bool negative = *++p == '-';
    if (negative || *p == '+') ++p;
    if (!is_digit(*p)) return nullptr;
    std::int64_t e = 0;
    for (; is_digit(*p); ++p) e = e < 100'000'000'000'000'000 ? 10 * e + (*p - '0') : e;
    scale += negative ? -e : e;
    return p;
}

/// Reads a decimal such as -1, .5, 3. or 1e-05, and returns its end; null where there is none.
/// Too large a number reads as inf. A byte that no decimal holds must follow.
inline const char* decimal(const char* p, double& value) {
    const bool negative = *p == '-';
    if (negative || *p == '+') ++p;
    const char* const first = p;
    std::uint64_t m = 0;
    p = digits(p, m);
    std::int64_t n_digits = p - first, scale = 0;
    if (*p == '.') {
        const char* const point = p;
        p = digits(p + 1, m);
        scale = point + 1 - p;
        n_digits -= scale;
    }
    if (n_digits == 0) return nullptr;
    if ((*p | 0x20) == 'e' && !(p = exponent(p, scale))) return nullptr;
    // Clinger: both numbers are exact, so that the one operation rounds correctly.
    constexpr std::uint64_t exact_integer = std::uint64_t{1} << 53;
    if (n_digits <= 19 && m <= exact_integer && scale >= -22 && scale <= 22) {
        const double exact = static_cast<double>(m);
        value = scale < 0 ? exact / exact_power_of_ten[static_cast<std::size_t>(-scale)]
                          : exact * exact_power_of_ten[static_cast<std::size_t>(scale)];
    } else {
        value = rounded(first, p, scale);
    }
    if (negative) value = -value;
    return p;
}

}  // namespace fenchel

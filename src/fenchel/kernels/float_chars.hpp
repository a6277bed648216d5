// What std::from_chars and std::to_chars do for doubles, also where the library has none.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

// libc++ (before 20, and on macOS before 13.3) has both functions for integers only;
// then C's own functions are asked, slowly. Most numbers come nowhere near: see decimal.hpp.
#if !defined(__cpp_lib_to_chars) || defined(FENCHEL_NO_FLOAT_CHARS)
#define FENCHEL_LOCALE_CHARS
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <string>
#endif

namespace fenchel {

#if defined(FENCHEL_LOCALE_CHARS)

/// The locale in which a decimal has a point, whatever the program's is.
inline locale_t c_locale() {
    static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
}

/// In the C locale, for as long as it lives; of this thread only.
class CLocale {
  public:
    CLocale() : before_(uselocale(c_locale())) {}
    ~CLocale() { uselocale(before_); }
    CLocale(const CLocale&) = delete;
    CLocale& operator=(const CLocale&) = delete;

  private:
    locale_t before_;
};

/// The text [p, end), a valid decimal without sign, rounded correctly; inf or 0 beyond all range.
inline double rounded(const char* p, const char* end, std::int64_t) {
    const CLocale c;
    return strtod(std::string(p, end).c_str(), nullptr);
}

/// Writes a decimal that reads back as `value`, as short as 15 to 17 digits allow.
inline char* write_decimal(char* p, double value) {
    const CLocale c;
    for (int digits = 15;; ++digits) {
        const int n = snprintf(p, 32, "%.*g", digits, value);
        if (digits == 17 || strtod(p, nullptr) == value) return p + n;
    }
}

#else

/// The text [p, end), a valid decimal without sign whose last digit counts 10^scale.
/// Too large a number gives inf, too small a one 0.
inline double rounded(const char* p, const char* end, std::int64_t scale) {
    double value = 0;
    if (std::from_chars(p, end, value).ec != std::errc::result_out_of_range) return value;
    std::int64_t magnitude = scale;  // of the first digit that is not 0
    while (*p == '0' || *p == '.') ++p;
    for (; p < end && (*p == '.' || (*p >= '0' && *p <= '9')); ++p) magnitude += *p != '.';
    return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

/// Writes the shortest decimal that reads back as `value`; 32 bytes suffice.
inline char* write_decimal(char* p, double value) { return std::to_chars(p, p + 32, value).ptr; }

#endif

}  // namespace fenchel

// Rows sorted by score, and groups of rows that stand together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fenchel {

struct Scored {
    double score;
    std::uint32_t row;
};

/// Rows first .. last - 1.
struct Span {
    std::size_t first, last;

    std::size_t size() const { return last - first; }
};

/// Groups given by where each starts, and where the last one ends.
struct Groups {
    const std::int64_t* start;
    std::size_t n;

    std::size_t size() const { return n; }
    Span operator[](std::size_t q) const {
        return {static_cast<std::size_t>(start[q]), static_cast<std::size_t>(start[q + 1])};
    }
    double share() const { return 1.0 / static_cast<double>(n); }
};

/// Of equal scores the first row comes first, in both orders.
inline bool lower(const Scored& a, const Scored& b) {
    return a.score < b.score || (a.score == b.score && a.row < b.row);
}
inline bool higher(const Scored& a, const Scored& b) {
    return a.score > b.score || (a.score == b.score && a.row < b.row);
}

inline void sort_ascending(const double* f, Span span, std::vector<Scored>& sorted) {
    sorted.resize(span.size());
    for (std::size_t i = span.first; i < span.last; ++i) {
        sorted[i - span.first] = {f[i], static_cast<std::uint32_t>(i)};
    }
    std::sort(sorted.begin(), sorted.end(), lower);
}

inline bool all_finite(const double* f, std::size_t n) {
    double sum = 0.0;  // of zeros and nans: without a branch for each
    for (std::size_t i = 0; i < n; ++i) sum += f[i] - f[i];
    return sum == 0.0;
}

}  // namespace fenchel

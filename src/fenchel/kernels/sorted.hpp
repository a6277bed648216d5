// Rows sorted by score, and groups of rows that stand together.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fenchel {

struct Scored {
    double score;
    std::uint32_t row;
    std::uint32_t level = 0;  // of losses over pairs
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

enum class Order { rising, falling };

/// Scores as whole numbers of the same order; -0 is 0.
inline std::uint64_t radix_key(double score, Order order) {
    const auto bits = std::bit_cast<std::uint64_t>(score + 0.0);
    const std::uint64_t sign = std::uint64_t{1} << 63;
    const std::uint64_t key = bits & sign ? ~bits : bits | sign;
    return order == Order::rising ? key : ~key;
}

/// Sorts rows that come in their own order. Unlike std::sort alone, radix sort hardly slows down as
/// n grows: digit by digit, from the lowest, over the highest half of the bits. Rows that agree in
/// those stand together then, and are few, or equal and in order already, or left to std::sort.
inline void sort_rows(std::vector<Scored>& rows, std::vector<Scored>& spare, Order order) {
    constexpr std::size_t kFew = 512, kBits = 11, kDigits = 3, kValues = 1 << kBits;
    constexpr std::size_t kShift = 64 - kBits * kDigits;
    const auto before = order == Order::rising ? lower : higher;
    if (rows.size() < kFew) return std::sort(rows.begin(), rows.end(), before);
    const auto high = [order](const Scored& row) { return radix_key(row.score, order) >> kShift; };
    const auto digit = [&](const Scored& row, std::size_t d) {
        return (high(row) >> (d * kBits)) % kValues;
    };
    std::array<std::array<std::uint32_t, kValues>, kDigits> counts{};
    for (const Scored& row : rows) {
        for (std::size_t d = 0; d < kDigits; ++d) ++counts[d][digit(row, d)];
    }
    spare.resize(rows.size());
    for (std::size_t d = 0; d < kDigits; ++d) {
        std::uint32_t start = 0;
        for (std::uint32_t& count : counts[d]) start += std::exchange(count, start);
        for (const Scored& row : rows) spare[counts[d][digit(row, d)]++] = row;
        rows.swap(spare);
    }
    for (auto first = rows.begin(), last = first; first != rows.end(); first = last) {
        while (last != rows.end() && high(*last) == high(*first)) ++last;
        if (!std::is_sorted(first, last, before)) std::sort(first, last, before);
    }
}

/// How many of 0 .. n - 1 are such that `holds`, which holds for the first of them alone. It is
/// searched for from a guess, n at most, in steps that double.
template <class Holds>
std::size_t count_first(std::size_t n, std::size_t guess, Holds&& holds) {
    std::size_t low = 0, high = n, step = 1;  // the count is in [low, high]
    if (guess < high && holds(guess)) {
        low = guess + 1;
        while (low + step < high && holds(low + step)) low += step + 1, step *= 2;
        high = std::min(high, low + step);
    } else {
        high = guess;
        while (high > step && !holds(high - step)) high -= step, step *= 2;
        low = high > step ? high - step + 1 : 0;
    }
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (holds(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

inline bool all_finite(const double* f, std::size_t n) {
    double sum = 0.0;  // of zeros and nans: without a branch for each
    for (std::size_t i = 0; i < n; ++i) sum += f[i] - f[i];
    return sum == 0.0;
}

}  // namespace fenchel

// The hinge over pairs of rows of different levels with each pair's maximum made soft:
//
//     sum over pairs of cost s_i s_j max over 0 <= alpha <= 1 of alpha t - width/2 alpha^2,
//     t = 1 + f_i - f_j,  alpha = clip(t / width, 0, 1),
//
// as c + <g, f> - lack. With the keys f_i of lower and f_j - 1 of upper rows t is a difference of
// keys. For one row the others are of three kinds: those with alpha = 1, those with alpha = 0, and
// a window between them, which moves as the row does. Its sums are of distances from the row, which
// are no longer than the width: sums of keys themselves would cancel. Pairs of levels are parted by
// the bits of the levels where all cost the same, else taken two levels at a time.
#pragma once

#include <bit>

#include "pairs.hpp"

namespace fenchel {

/// A row on one side of the pairs.
struct Keyed {
    double key, s;
    std::uint32_t row;
};

/// sum s, sum s x and sum s x^2 over some rows, x = key - at.
class Window {
  public:
    void move(double at) {
        const double by = at - at_;
        second_ += by * (by * mass_ - 2 * first_);
        first_ -= by * mass_;
        at_ = at;
    }
    void add(const Keyed& row) { change(row, row.s, 1); }
    void drop(const Keyed& row) { change(row, -row.s, -1); }
    double first() const { return first_; }
    double second() const { return std::max(second_, 0.0); }

  private:
    void change(const Keyed& row, double s, int count) {
        const double x = row.key - at_;
        mass_ += s, first_ += s * x, second_ += s * x * x;
        size_ += count;
        if (size_ == 0) mass_ = first_ = second_ = 0.0;  // but for round-off
    }

    double at_ = 0.0, mass_ = 0.0, first_ = 0.0, second_ = 0.0;
    std::ptrdiff_t size_ = 0;
};

/// Where slopes, c and lack of one group are added up.
struct SoftSums {
    double* g;
    double c = 0.0, lack = 0.0;
};

/// All pairs of a lower and an upper row, both sorted by their keys; each weighs `scale` s_i s_j.
inline void add_soft_pairs(const std::vector<Keyed>& lower, const std::vector<Keyed>& upper,
                           double width, double scale, SoftSums& sums) {
    double whole = 0.0;  // of the lower rows with alpha = 1
    for (const Keyed& row : lower) whole += row.s;
    Window window;
    std::size_t entered = 0, left = 0;
    for (const Keyed& row : upper) {
        window.move(row.key);
        for (; entered < lower.size() && lower[entered].key < row.key + width; ++entered) {
            whole -= lower[entered].s;
            window.add(lower[entered]);
        }
        for (; left < entered && lower[left].key <= row.key; ++left) window.drop(lower[left]);
        if (entered == lower.size()) whole = 0.0;
        const double each = scale * row.s;
        const double slope = each * std::max(whole + window.first() / width, 0.0);
        sums.g[row.row] -= slope;
        sums.c += slope;
        sums.lack += each * (whole + window.second() / (width * width)) * width / 2;
    }
    whole = 0.0, window = {}, entered = left = 0;
    for (const Keyed& row : lower) {
        window.move(row.key);
        for (; entered < upper.size() && upper[entered].key < row.key; ++entered) {
            window.add(upper[entered]);
        }
        for (; left < entered && upper[left].key <= row.key - width; ++left) {
            window.drop(upper[left]);
            whole += upper[left].s;
        }
        const double slope = std::max(whole - window.first() / width, 0.0);
        sums.g[row.row] += scale * row.s * slope;
    }
}

/// The mean over the pairs of one span, times `share`; cost = nullptr: all pairs cost 1.
class SoftPairs {
  public:
    SoftPairs(const double* f, const Levels& rows, const double* cost, double width, double* g)
        : f_(f), rows_(rows), cost_(cost), width_(width), sums_{g} {}

    void add(Span span, double share) {
        std::fill(sums_.g + span.first, sums_.g + span.last, 0.0);
        const double pairs = weight_of_pairs(rows_, span, totals_);
        if (!(pairs > 0)) return;
        sorted_.clear();
        for (std::size_t i = span.first; i < span.last; ++i) {
            const auto row = static_cast<std::uint32_t>(i);
            sorted_.push_back({f_[i], row, static_cast<std::uint32_t>(rows_.level[i])});
        }
        sort_rows(sorted_, spare_, Order::rising);
        const std::size_t n = totals_.size();
        if (cost_ != nullptr) {
            for (std::size_t low = 0; low < n; ++low) {
                for (std::size_t high = low + 1; high < n; ++high) {
                    part(sorted_.begin(), sorted_.end(), low, high);
                    add_soft_pairs(lower_, upper_, width_, share / pairs * cost_[low * n + high],
                                   sums_);
                }
            }
            return;
        }
        for (int bit = std::bit_width(n - 1) - 1; bit >= 0; --bit) {
            const auto node = [bit](const Scored& row) { return row.level >> (bit + 1); };
            std::stable_sort(sorted_.begin(), sorted_.end(),
                             [&](const Scored& a, const Scored& b) { return node(a) < node(b); });
            for (auto first = sorted_.begin(), last = first; first != sorted_.end(); first = last) {
                while (last != sorted_.end() && node(*last) == node(*first)) ++last;
                lower_.clear(), upper_.clear();
                for (auto row = first; row != last; ++row) put(*row, (row->level >> bit) % 2 == 0);
                add_soft_pairs(lower_, upper_, width_, share / pairs, sums_);
            }
        }
    }

    const SoftSums& sums() const { return sums_; }

  private:
    template <class Iterator>
    void part(Iterator first, Iterator last, std::size_t low, std::size_t high) {
        lower_.clear(), upper_.clear();
        for (; first != last; ++first) {
            if (first->level == low || first->level == high) put(*first, first->level == low);
        }
    }

    void put(const Scored& row, bool is_lower) {
        const double key = is_lower ? row.score : row.score - 1.0;
        (is_lower ? lower_ : upper_).push_back({key, rows_.weight(row.row), row.row});
    }

    const double* f_;
    Levels rows_;
    const double* cost_;
    double width_;
    SoftSums sums_;
    std::vector<Scored> sorted_, spare_;
    std::vector<double> totals_;
    std::vector<Keyed> lower_, upper_;
};

}  // namespace fenchel

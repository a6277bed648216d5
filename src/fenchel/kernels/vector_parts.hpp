// What the losses of K scores share: costs of mistakes, storage, and what round-off may do.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "envelope.hpp"
#include "simd.hpp"

namespace fenchel {

inline constexpr double kLowest = -std::numeric_limits<double>::infinity();

/// The costs Delta(z, y) of taking y for z: all the same, or a matrix with a row for each y.
class Costs {
  public:
    explicit Costs(std::size_t K, double uniform) : K_(K), numbers_(2 * K - 1, uniform) {
        numbers_[K - 1] = 0.0;  // the K numbers that begin at K - 1 - y have their zero at y
    }
    Costs(std::size_t K, const double* matrix)
        : K_(K), matrix_(true), numbers_(matrix, matrix + K * K) {}
    std::size_t size() const { return K_; }
    const double* of(std::size_t y) const {
        return numbers_.data() + (matrix_ ? y * K_ : K_ - 1 - y);
    }

  private:
    std::size_t K_;
    bool matrix_ = false;
    std::vector<double> numbers_;
};

/// Storage that a search for corners uses again and again.
struct Workspace {
    std::vector<Line> lines;
    std::vector<Corner> corners;
};

namespace detail {

/// 0 if all scores are finite, else nan: a maximum would pass over a nan.
FENCHEL_INLINE double finite(const double* z, std::size_t K) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < K; ++k) sum += z[k] - z[k];
    return sum;
}

/// A hundred-odd units in the last place of the largest score.
FENCHEL_INLINE double blur(const double* z, std::size_t K, double tolerance) {
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (std::size_t k = 0; k < K; ++k) largest = std::max(largest, std::abs(z[k]));
    return tolerance * (1 + largest);
}

FENCHEL_INLINE Line steeper_of_highest(Line a, Line b) {
    return a.value > b.value || (a.value == b.value && a.slope >= b.slope) ? a : b;
}

}  // namespace detail

}  // namespace fenchel

// What dual block ascent does with one row x_i at a time: the scores W'x_i, where W = shrink(V),
// and V += x_i by'. V has a row for each column of X and K numbers in it, as everywhere
// (outputs.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "dual_ascent.hpp"
#include "outputs.hpp"
#include "simd.hpp"

namespace fenchel {

namespace detail {

/// The numbers 0, 1, 2 ...: the columns of a dense row.
struct Counting {
    FENCHEL_INLINE std::size_t operator[](std::size_t n) const { return n; }
};

template <class Value>
struct Strided {
    const Value* first;
    std::ptrdiff_t stride;
    FENCHEL_INLINE Value operator[](std::size_t n) const {
        return first[static_cast<std::ptrdiff_t>(n) * stride];
    }
};

template <class Value>
struct DenseRow {
    Counting column;
    Strided<Value> value;
    std::size_t length;
};

template <class Value>
DenseRow<Value> row_of(const Dense<Value>& X, std::size_t i) {
    return {{},
            {X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride, X.column_stride},
            X.n_columns};
}

/// z = W'x for a row x
template <class Row>
FENCHEL_INLINE void block_scores(const Row& row, const Plain&, const double* V, std::size_t K,
                                 double* z) {
    sum_row(row, V, K, z);
}

template <class Row>
FENCHEL_INLINE void block_scores(const Row& row, const Shrunk& shrink, const double* V,
                                 std::size_t K, double* z) {
    std::fill(z, z + K, 0.0);
    for (std::size_t n = 0; n < row.length; ++n) {
        const std::size_t first = static_cast<std::size_t>(row.column[n]) * K;
        for (std::size_t k = 0; k < K; ++k) z[k] += row.value[n] * shrink(V[first + k], first + k);
    }
}

}  // namespace detail

/// V as it is: a number of X meets K consecutive ones.
template <class Matrix, class Shrink>
struct ByColumn {
    const Matrix& X;
    const Shrink& shrink;
    double* V;
    std::size_t K;

    void scores(std::size_t i, double* z) const {
        detail::block_scores(detail::row_of(X, i), shrink, V, K, z);
    }
    void add(std::size_t i, const double* by) const {
        detail::add_row(detail::row_of(X, i), by, K, V);
    }
};

namespace detail {

/// z[p] = <x, column p of W> for P columns, `stride` numbers apart; lengths are multiples of 4
template <std::size_t P>
FENCHEL_INLINE void dot_packs(const double* x, std::size_t length, const double* W,
                              std::size_t stride, double* z) {
    Pack<4> sum[P] = {}, w, each;
    for (std::size_t j = 0; j < length; j += kLanes) {
        std::memcpy(&each, x + j, sizeof each);
#pragma GCC unroll 8
        for (std::size_t p = 0; p < P; ++p) {
            std::memcpy(&w, W + p * stride + j, sizeof w);
            sum[p] += each * w;
        }
    }
#pragma GCC unroll 8
    for (std::size_t p = 0; p < P; ++p) z[p] = (sum[p][0] + sum[p][1]) + (sum[p][2] + sum[p][3]);
}

template <std::size_t P>
FENCHEL_AVX2 void dot_packs_avx2(const double* x, std::size_t length, const double* W,
                                 std::size_t stride, double* z) {
    dot_packs<P>(x, length, W, stride, z);
}

/// w += by x
FENCHEL_INLINE void add_multiple_loop(double by, const double* x, std::size_t length, double* w) {
#pragma omp simd
    for (std::size_t j = 0; j < length; ++j) w[j] += by * x[j];
}

FENCHEL_AVX2 inline void add_multiple_avx2(double by, const double* x, std::size_t length,
                                           double* w) {
    add_multiple_loop(by, x, length, w);
}

}  // namespace detail

/// For long dense rows: the columns of V one after another while a sweep lasts, so that a step that
/// moves few of a row's dual variables touches few consecutive parts of it, and a row meets its
/// scores' columns in whole packs.
template <class Value>
class ByClass {
  public:
    const Dense<Value>& X;

    ByClass(const Dense<Value>& X, double* V, std::size_t K)
        : X(X),
          V_(V),
          K_(K),
          length_((X.n_columns + 3) / 4 * 4),
          stride_(((length_ + 7) / 8 | 1) * 8),  // an odd number of cache lines: no two collide
          W_(K * stride_, 0.0),
          x_(length_, 0.0) {
        for (std::size_t j = 0; j < X.n_columns; ++j)
            for (std::size_t k = 0; k < K; ++k) W_[k * stride_ + j] = V[j * K + k];
    }
    ByClass(const ByClass&) = delete;
    ~ByClass() {
        for (std::size_t j = 0; j < X.n_columns; ++j)
            for (std::size_t k = 0; k < K_; ++k) V_[j * K_ + k] = W_[k * stride_ + j];
    }

    void scores(std::size_t i, double* z) {
        const auto [first_of, step] = detail::row_of(X, i).value;
        if (step == 1) {
            std::copy(first_of, first_of + X.n_columns, x_.begin());
        } else {
            for (std::size_t j = 0; j < X.n_columns; ++j)
                x_[j] = first_of[static_cast<std::ptrdiff_t>(j) * step];
        }
        const std::size_t n_parts = (K_ + detail::kPacks - 1) / detail::kPacks;
        for (std::size_t part = 0; part < n_parts; ++part) {
            const std::size_t first = part * K_ / n_parts, last = (part + 1) * K_ / n_parts;
            detail::with_packs((last - first) * detail::kLanes, [&]<std::size_t P>() {
                const double* W = W_.data() + first * stride_;
                has_avx2() ? detail::dot_packs_avx2<P>(x_.data(), length_, W, stride_, z + first)
                           : detail::dot_packs<P>(x_.data(), length_, W, stride_, z + first);
            });
        }
    }

    /// Of the row whose scores were asked for last.
    void add(std::size_t, const double* by) {
        for (std::size_t k = 0; k < K_; ++k) {
            if (by[k] == 0) continue;
            double* w = W_.data() + k * stride_;
            has_avx2() ? detail::add_multiple_avx2(by[k], x_.data(), length_, w)
                       : detail::add_multiple_loop(by[k], x_.data(), length_, w);
        }
    }

  private:
    double* V_;
    std::size_t K_, length_, stride_;
    std::vector<double> W_, x_;
};

}  // namespace fenchel

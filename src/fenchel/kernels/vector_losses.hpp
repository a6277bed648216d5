// The loops over rows of the losses of K scores, written once.
//
// A hinge is a maximum of lines in the scores, its pieces. Besides value and slopes it knows
//   at        the highest piece at z + eta q, of several the one that rises most,
//   slope     its slope in eta,
//   corners   where it changes between two steps, given what `at` said at both: asked once more,
//             code compiled for other instructions might round to another answer,
//   tied      whether a second piece is as high up to round-off,
//   steepest  the slopes of the piece among those that rises most along q.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bends.hpp"
#include "simd.hpp"
#include "vector_parts.hpp"

namespace fenchel {

/// Scores, labels and sample weights of n rows; `s` is null where all weights are 1.
template <class Label>
struct VectorRows {
    std::size_t n, K;
    const double* Z;
    const Label* y;
    const double* s;
    std::size_t label_stride;

    FENCHEL_INLINE double weight(std::size_t i) const { return s == nullptr ? 1.0 : s[i]; }
    FENCHEL_INLINE const double* z(std::size_t i) const { return Z + i * K; }
    FENCHEL_INLINE const Label* label(std::size_t i) const { return y + i * label_stride; }
};

namespace detail {

template <class Loss, class Rows>
FENCHEL_INLINE double vector_slopes_loop(const Loss& loss, const Rows rows, double* A) {
    double sum = 0;
    for (std::size_t i = 0; i < rows.n; ++i) {
        double* a = A + i * rows.K;
        const double value = loss(rows.z(i), rows.label(i), a), weight = rows.weight(i);
        if (rows.s != nullptr)  // a row of weight 0 is not there, even at inf
            for (std::size_t k = 0; k < rows.K; ++k) a[k] = weight > 0 ? weight * a[k] : 0.0;
        sum += weight > 0 ? weight * value : 0.0;
    }
    return sum;
}

template <class Loss, class Rows>
FENCHEL_INLINE double vector_slope_loop(const Loss& loss, const Rows rows, const double* Q,
                                        double eta) {
    double sum = 0;
    for (std::size_t i = 0; i < rows.n; ++i) {
        const double weight = rows.weight(i);
        const double slope = loss.slope(loss.at(rows.z(i), Q + i * rows.K, rows.label(i), eta));
        sum += weight > 0 ? weight * slope : 0.0;
    }
    return sum;
}

template <class Loss, class Rows, class Emit>
FENCHEL_INLINE void vector_kinks_loop(const Loss& loss, const Rows rows, const double* Q,
                                      double low, double high, Emit& emit) {
    Workspace work;
    for (std::size_t i = 0; i < rows.n; ++i) {
        const double* z = rows.z(i);
        const double* q = Q + i * rows.K;
        const double weight = rows.weight(i);
        if (!(weight > 0)) continue;
        const auto at_low = loss.at(z, q, rows.label(i), low);
        const auto at_high = loss.at(z, q, rows.label(i), high);
        if (loss.slope(at_low) == loss.slope(at_high)) continue;  // convex, so straight in between
        loss.corners(z, q, rows.label(i), low, at_low, high, at_high, work,
                     [&](double eta, double jump) { emit(Kink{eta, weight * jump, 0.0}); });
    }
}

template <class Loss, class Rows>
FENCHEL_AVX2 double vector_slopes_avx2(const Loss& loss, const Rows rows, double* A) {
    return vector_slopes_loop(loss, rows, A);
}

template <class Loss, class Rows>
FENCHEL_AVX2 double vector_slope_avx2(const Loss& loss, const Rows rows, const double* Q,
                                      double eta) {
    return vector_slope_loop(loss, rows, Q, eta);
}

template <class Loss, class Rows, class Emit>
FENCHEL_AVX2 void vector_kinks_avx2(const Loss& loss, const Rows rows, const double* Q, double low,
                                    double high, Emit& emit) {
    vector_kinks_loop(loss, rows, Q, low, high, emit);
}

}  // namespace detail

/// A_i = s_i times a subgradient at row i; returns sum_i s_i l(z_i, y_i).
template <class Loss, class Rows>
double vector_slopes(const Loss& loss, const Rows& rows, double* A) {
    return has_avx2() ? detail::vector_slopes_avx2(loss, rows, A)
                      : detail::vector_slopes_loop(loss, rows, A);
}

/// The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i) just right of eta.
template <class Loss, class Rows>
double vector_slope_along(const Loss& loss, const Rows& rows, const double* Q, double eta) {
    return has_avx2() ? detail::vector_slope_avx2(loss, rows, Q, eta)
                      : detail::vector_slope_loop(loss, rows, Q, eta);
}

/// The kinks of the same function in (low, high], in no order.
template <class Loss, class Rows>
std::vector<Kink> vector_kinks_along(const Loss& loss, const Rows& rows, const double* Q,
                                     double low, double high) {
    std::vector<Kink> kinks;
    auto emit = [&](const Kink& kink) { kinks.push_back(kink); };
    has_avx2() ? detail::vector_kinks_avx2(loss, rows, Q, low, high, emit)
               : detail::vector_kinks_loop(loss, rows, Q, low, high, emit);
    return kinks;
}

/// The rows where more than one piece is the highest, up to `tolerance` of the largest score.
template <class Loss, class Rows>
std::vector<std::int64_t> vector_ties(const Loss& loss, const Rows& rows, double tolerance) {
    std::vector<std::int64_t> tied;
    for (std::size_t i = 0; i < rows.n; ++i)
        if (loss.tied(rows.z(i), rows.label(i), tolerance))
            tied.push_back(static_cast<std::int64_t>(i));
    return tied;
}

/// A_i = s_i times the subgradient at row i that is the largest along q_i.
template <class Loss, class Rows>
void vector_steepest(const Loss& loss, const Rows& rows, const double* Q, double tolerance,
                     double* A) {
    for (std::size_t i = 0; i < rows.n; ++i) {
        double* a = A + i * rows.K;
        loss.steepest(rows.z(i), Q + i * rows.K, rows.label(i), tolerance, a);
        if (rows.s != nullptr)
            for (std::size_t k = 0; k < rows.K; ++k) a[k] *= rows.s[i];
    }
}

}  // namespace fenchel

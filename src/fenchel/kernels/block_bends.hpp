// How the slopes of a row of K scores bend: the K x K matrices h of block_newton.hpp, never made,
// and the conjugates of the slopes.
//
// Of softmax h = diag(p) - pp'. Of a hinge in its augmented form (kappa) the slopes are u =
// (c - theta)/kappa on a set of classes, the group, with the one theta that keeps their sum, and do
// not move elsewhere; so h = (I - 11'/m)/kappa on each group of m classes. A row whose groups have
// one class each is not bent.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "elementary.hpp"
#include "multiclass_losses.hpp"
#include "multilabel_losses.hpp"
#include "simd.hpp"

namespace fenchel {

namespace detail {

inline constexpr double kNoShare = 1e-13;  // of slopes between 0 and 1: round-off

/// Calls use(member) for each group of a row, where member(k) tells whether k belongs to it.
template <class Use>
FENCHEL_INLINE void with_groups(const MulticlassHinge&, const std::int64_t* label, const double* u,
                                Use&& use) {
    const auto y = static_cast<std::size_t>(*label);
    use([&](std::size_t k) { return (k == y ? 1 + u[k] : u[k]) > kNoShare; });
}

template <class Use>
FENCHEL_INLINE void with_groups(const MultilabelHinge& loss, const std::uint8_t* in,
                                const double* u, Use&& use) {
    double share = 0;
    for (std::size_t k = 0; k < loss.size(); ++k) share += in[k] ? 0.0 : u[k];
    const auto moves = [&](std::size_t k) { return std::abs(u[k]) > kNoShare; };
    if (share < 1 - kNoShare) return use(moves);
    use([&](std::size_t k) { return !in[k] && moves(k); });
    use([&](std::size_t k) { return in[k] && moves(k); });
}

}  // namespace detail

/// t = h q for a row with slopes u
template <class Loss>
FENCHEL_INLINE void bend_row(const Loss& loss, const typename Loss::Label* label, const double* u,
                             double kappa, const double* q, double* t) {
    const std::size_t K = loss.size();
    std::fill(t, t + K, 0.0);
    detail::with_groups(loss, label, u, [&](auto&& member) {
        double sum = 0, m = 0;
        for (std::size_t k = 0; k < K; ++k)
            if (member(k)) sum += q[k], m += 1;
        if (m < 2) return;
        for (std::size_t k = 0; k < K; ++k)
            if (member(k)) t[k] = (q[k] - sum / m) / kappa;
    });
}

FENCHEL_INLINE void bend_row(const Softmax& loss, const std::int64_t* label, const double* u,
                             double, const double* q, double* t) {
    const std::size_t K = loss.size(), y = static_cast<std::size_t>(*label);
    double mean = q[y];
    for (std::size_t k = 0; k < K; ++k) mean += u[k] * q[k];
    for (std::size_t k = 0; k < K; ++k) t[k] = u[k] * (q[k] - mean);
    t[y] += q[y] - mean;
}

namespace detail {

/// t_r = s_i h_i (q_r + b) for rows i = chosen[r] with slopes u_i
template <class Loss, class Rows>
FENCHEL_INLINE void bend_rows_loop(const Loss& loss, const Rows& rows, const std::int32_t* chosen,
                                   std::size_t count, const double* U, double kappa,
                                   const double* b, double* q, double* t) {
    const std::size_t K = loss.size();
    for (std::size_t r = 0; r < count; ++r) {
        const auto i = static_cast<std::size_t>(chosen[r]);
        double *each = q + r * K, *to = t + r * K;
        for (std::size_t k = 0; k < K; ++k) each[k] += b[k];
        bend_row(loss, rows.label(i), U + i * K, kappa, each, to);
        const double s = rows.weight(i);
        for (std::size_t k = 0; k < K; ++k) to[k] *= s;
    }
}

template <class Loss, class Rows>
FENCHEL_AVX2 void bend_rows_avx2(const Loss& loss, const Rows& rows, const std::int32_t* chosen,
                                 std::size_t count, const double* U, double kappa, const double* b,
                                 double* q, double* t) {
    bend_rows_loop(loss, rows, chosen, count, U, kappa, b, q, t);
}

}  // namespace detail

/// t_r = s_i h_i (q_r + b) for rows i = chosen[r] with slopes u_i; b is added to q.
template <class Loss, class Rows>
void bend_rows(const Loss& loss, const Rows& rows, const std::int32_t* chosen, std::size_t count,
               const double* U, double kappa, const double* b, double* q, double* t) {
    has_avx2() ? detail::bend_rows_avx2(loss, rows, chosen, count, U, kappa, b, q, t)
               : detail::bend_rows_loop(loss, rows, chosen, count, U, kappa, b, q, t);
}

/// The diagonal of h; false where the row is not bent.
template <class Loss>
FENCHEL_INLINE bool bends_of_row(const Loss& loss, const typename Loss::Label* label,
                                 const double* u, double kappa, double* h) {
    const std::size_t K = loss.size();
    bool bent = false;
    std::fill(h, h + K, 0.0);
    detail::with_groups(loss, label, u, [&](auto&& member) {
        double m = 0;
        for (std::size_t k = 0; k < K; ++k) m += member(k) ? 1.0 : 0.0;
        if (m < 2) return;
        bent = true;
        for (std::size_t k = 0; k < K; ++k)
            if (member(k)) h[k] = (1 - 1 / m) / kappa;
    });
    return bent;
}

FENCHEL_INLINE bool bends_of_row(const Softmax& loss, const std::int64_t* label, const double* u,
                                 double, double* h) {
    const std::size_t K = loss.size(), y = static_cast<std::size_t>(*label);
    for (std::size_t k = 0; k < K; ++k) h[k] = u[k] * (1 - u[k]);
    h[y] = -u[y] * (1 + u[y]);
    return true;
}

/// -l*(u) of a row
FENCHEL_INLINE double height(const MulticlassHinge& loss, const std::int64_t* label,
                             const double* u) {
    const double* margin = loss.costs.of(static_cast<std::size_t>(*label));
    double sum = 0;
    for (std::size_t k = 0; k < loss.size(); ++k) sum += margin[k] * u[k];
    return sum;
}

FENCHEL_INLINE double height(const MultilabelHinge& loss, const std::uint8_t* in, const double* u) {
    double sum = 0;
    for (std::size_t k = 0; k < loss.size(); ++k) sum += in[k] ? 0.0 : u[k];
    return loss.tau * sum;
}

FENCHEL_INLINE double height(const Softmax& loss, const std::int64_t* label, const double* u) {
    const auto y = static_cast<std::size_t>(*label);
    double sum = 0;
    for (std::size_t k = 0; k < loss.size(); ++k) {
        const double p = k == y ? 1 + u[k] : u[k];
        sum -= p > 0 ? p * std::log(p) : 0.0;
    }
    return sum;
}

}  // namespace fenchel

// Dual block coordinate ascent over the rows of one shard: dual_ascent.hpp with K scores a row.
// The K dual variables a_i of row i are slopes of its loss, and
//
//     V = -sum_i rate_i x_i a_i',    W = shrink(V)    (a row for each column of X, K numbers each)
//     b = centre - offset_rate sum_i rate_i a_i       (the K offsets, if there are any)
//
// are kept up to date, and z = W'x_i + b. A step moves all of a_i at once, which block_steps.hpp
// does. A hinge's steps change few of them, and only those columns of V.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "block_products.hpp"
#include "block_steps.hpp"
#include "dual_ascent.hpp"
#include "leaf_steps.hpp"
#include "slack_step.hpp"

namespace fenchel {

/// The data of a shard's dual problem, with an entry, or `label_stride` labels, for each row.
template <class Label>
struct BlockRows {
    const Label* y;
    std::size_t label_stride;
    const double *rate, *kappa;
    FENCHEL_INLINE const Label* label(std::size_t i) const { return y + i * label_stride; }
};

/// The K offsets; each changes by `rate` where V changes as by a row of one 1.
struct BlockOffsets {
    double* b;
    double rate;
};

/// A step on each of the rows active[0..n), in random order. Rows whose scores lie more than
/// `margin` inside the piece of their loss whose slopes they have are let go.
template <class Products, class Loss>
Sweep block_sweep(Products& W, const Loss& loss, const BlockRows<typename Loss::Label>& rows,
                  double* A, const BlockOffsets& offsets, std::int32_t* active, std::size_t n,
                  double margin, std::uint64_t seed) {
    const std::size_t K = loss.size();
    BlockWork work(K);
    detail::Random random{seed};
    for (std::size_t k = n; k > 1; --k) std::swap(active[k - 1], active[random.below(k)]);
    Sweep done{n, 0, 0.0, 0.0};
    for (std::size_t k = 0; k < done.n_active;) {
        const auto i = static_cast<std::size_t>(active[k]);
        if (k + 2 < done.n_active) detail::fetch_row(W.X, static_cast<std::size_t>(active[k + 2]));
        double* a = A + i * K;
        W.scores(i, work.z.data());
        for (std::size_t l = 0; l < K; ++l) work.z[l] += offsets.b[l];
        const double slack = block_slack(loss, work.z.data(), rows.label(i), a);
        if (slack > 0) {  // a stays where it is
            slack > margin ? std::swap(active[k], active[--done.n_active]) : (void)++k;
            continue;
        }
        block_step(loss, rows.label(i), rows.kappa[i], a, work);
        double low = 0, high = 0, square = 0;
        for (std::size_t l = 0; l < K; ++l) {
            const double by = work.u[l] - a[l];
            a[l] = work.u[l];
            low = std::min(low, by);
            high = std::max(high, by);
            square += by * by;
            work.u[l] = -rows.rate[i] * by;
        }
        if (low < high) {
            W.add(i, work.u.data());
            for (std::size_t l = 0; l < K; ++l) offsets.b[l] += offsets.rate * work.u[l];
            done.violation = std::max(done.violation, rows.kappa[i] * (high - low));
            done.rise += rows.rate[i] * rows.kappa[i] * square;
            std::swap(active[k++], active[done.n_moved++]);
        } else {
            ++k;
        }
    }
    return done;
}

/// The rows on which a step may do something: all but those that a sweep would let go.
template <class Loss>
std::size_t block_movable(const Loss& loss, const BlockRows<typename Loss::Label>& rows,
                          const double* Z, const double* A, std::size_t n, double margin,
                          std::int32_t* active) {
    const std::size_t K = loss.size();
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const bool resting =
            rows.kappa[i] == 0 || block_slack(loss, Z + i * K, rows.label(i), A + i * K) > margin;
        active[count] = static_cast<std::int32_t>(i);
        count += !resting;
    }
    return count;
}

}  // namespace fenchel

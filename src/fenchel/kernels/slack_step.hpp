// The best step of block_steps.hpp for the hinge of rescaled slacks,
//
//     l(z) = max(0, max over k of Delta_k (1 + z_k - z_y)).
//
// Its slopes are u_k = Delta_k p_k for the wrong classes, with p >= 0 and sum_k p_k <= 1, and
// u_y = -sigma with sigma = sum_k u_k, and l*(u) = -sigma. With c = z + kappa a and m_k = 1 + c_k -
// c_y the step minimises
//
//     kappa/2 (sum_k u_k^2 + sigma^2) - sum_k m_k u_k    over u >= 0 with sum_k u_k / Delta_k <= 1,
//
// which holds if and only if, for a multiplier mu >= 0 that is 0 where the condition leaves room,
//
//     kappa u_k = max(0, m_k - tau - mu / Delta_k),    tau = kappa sigma, the sum of these.
//
// For each mu there is one such tau: the sum less tau is convex and falls with tau, so that
// Newton's steps from 0 never go too far, and end where no m_k is passed any more. The sum of
// u_k / Delta_k is then 1 plus the slope, in mu, of the concave dual of this problem: it falls with
// mu, from its value at 0 to 0 at the largest m_k Delta_k, in pieces that are straight. Newton's
// steps in that bracket find where it is 1, exactly on the last piece. What is left of round-off is
// taken off by dividing by the sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "block_steps.hpp"
#include "multiclass_losses.hpp"
#include "simd.hpp"

namespace fenchel {

namespace detail {

/// At a mu: tau, kappa times the sum of u_k / Delta_k, and how fast that falls with mu.
struct SlackLevel {
    double tau, share, fall;
};

/// r_k are the 1 / Delta_k; m_k of classes that cost nothing are -inf.
FENCHEL_INLINE SlackLevel slack_level(const double* m, const double* r, std::size_t K, double mu) {
    double tau = 0;
    for (double last = HUGE_VAL;;) {
        double count = 0, sum = 0, share = 0, R = 0, RR = 0;
        for (std::size_t k = 0; k < K; ++k) {
            const double over = m[k] - mu * r[k];
            if (!(over > tau)) continue;
            count += 1;
            sum += over;
            share += r[k] * over;
            R += r[k];
            RR += r[k] * r[k];
        }
        if (!(count < last)) return {tau, share - tau * R, RR - R * R / (count + 1)};
        last = count;
        tau = std::max(tau, sum / (count + 1));
    }
}

/// The mu in [0, high] at which the share is kappa; `at` is the level there, given that at 0.
FENCHEL_INLINE double slack_multiplier(const double* m, const double* r, std::size_t K,
                                       double kappa, double high, SlackLevel& at) {
    double low = 0, mu = 0;
    for (int n = 0; n < 200; ++n) {
        const double next = mu + (at.share - kappa) / at.fall, last = mu;
        if (std::abs(next - last) <= 1e-15 * std::abs(last)) break;
        mu = low < next && next < high ? next : low + 0.5 * (high - low);
        if (mu == last) break;
        at = slack_level(m, r, K, mu);
        (at.share > kappa ? low : high) = mu;
    }
    return mu;
}

}  // namespace detail

FENCHEL_INLINE void block_step_loop(const MulticlassSlackHinge& loss, const std::int64_t* label,
                                    double kappa, const double* a, BlockWork& work) {
    const std::size_t K = loss.size(), y = static_cast<std::size_t>(*label);
    const double *cost = loss.costs.of(y), *z = work.z.data();
    double *m = work.c.data(), *r = work.d.data(), *u = work.u.data();
    const double right = z[y] + kappa * a[y];
    double high = 0;
    std::size_t worst = y;
    for (std::size_t k = 0; k < K; ++k) {
        const bool costs = cost[k] > 0;
        m[k] = costs ? 1 + (z[k] + kappa * a[k] - right) : kLowest;
        r[k] = costs ? 1 / cost[k] : 0.0;
        if (costs && m[k] * cost[k] > high) high = m[k] * cost[k], worst = k;
    }
    detail::SlackLevel at = detail::slack_level(m, r, K, 0.0);
    const bool full = at.share > kappa;
    const double mu = full ? detail::slack_multiplier(m, r, K, kappa, high, at) : 0.0;
    double total = 0;
    for (std::size_t k = 0; k < K; ++k) {
        u[k] = std::max(0.0, m[k] - at.tau - mu * r[k]) / kappa;
        total += u[k] * r[k];
    }
    if (full && !(total > 0 && std::isfinite(total))) {  // kappa is lost in m
        std::fill(u, u + K, 0.0);
        u[worst] = cost[worst];
        total = 1;
    }
    double others = 0;
    for (std::size_t k = 0; k < K; ++k) {  // a class alone has exactly its cost
        if (full || total > 1) u[k] = cost[k] * (u[k] * r[k] / total);
        others += u[k];
    }
    u[y] = -others;
}

/// In scores: what the pieces' heights differ by, over the largest cost.
FENCHEL_INLINE double block_slack(const MulticlassSlackHinge& loss, const double* z,
                                  const std::int64_t* label, const double* a) {
    const std::size_t K = loss.size(), y = static_cast<std::size_t>(*label);
    const double* cost = loss.costs.of(y);
    std::size_t r = y;  // the class of the piece that a are the slopes of
    for (std::size_t k = 0; k < K; ++k) {
        if (k == y || a[k] == 0) continue;
        if (r != y || a[k] != cost[k]) return 0.0;
        r = k;
    }
    double second = r == y ? kLowest : 0.0, largest = 0;
    for (std::size_t k = 0; k < K; ++k) {
        if (!(cost[k] > 0)) continue;
        largest = std::max(largest, cost[k]);
        if (k != r) second = std::max(second, cost[k] * (1 + (z[k] - z[y])));
    }
    if (!(largest > 0)) return HUGE_VAL;  // l is 0
    return ((r == y ? 0.0 : cost[r] * (1 + (z[r] - z[y]))) - second) / largest;
}

}  // namespace fenchel

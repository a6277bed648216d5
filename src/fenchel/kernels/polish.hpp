// The dual polish of solvers/polish.py for rows in one memory and few columns, with nothing but
// kernels between its passes. Minimised is
//
//     J(w, b) = sum_j t_j |w_j| + h_j/2 w_j^2 + 1/S sum_i s_i l(<x_i, w> + b + o_i, y_i),
//
// where l is piecewise linear. An |w_j| is a piecewise linear loss too, of the "row" e_j, and is
// treated as one: it has a multiplier c_j in [-t_j, t_j], and the augmented form
//
//     N_j(w_j) = min over v_j of t_j |v_j| + c_j (w_j - v_j) + (w_j - v_j)^2 / (2 kappa_j),
//
// whose v_j = soft(w_j + kappa_j c_j, kappa_j t_j) is exactly 0 on the kink; there alone N_j is
// bent. Where a column has no curvature h_j the sum of M, the N_j and the h_j may be flat, and the
// proximal method of multipliers (Rockafellar 1976) adds r_j/2 (w_j - centre_j)^2 about the w of
// the last step of the multipliers. So an outer step is
//
//     (w, b) = argmin of F = sum_j h_j/2 w_j^2 + N_j(w_j) + r_j/2 (w_j - centre_j)^2 + M(w, b)
//     a, c   = the slopes of M and N there;   centre = w
//
// after which kappa and the kappa_j fall, or the r_j do, whichever keep J from its bound; and F,
// being piecewise quadratic, is minimised by a few Newton steps, each searched along its
// ray. (v, b) is where J is taken. The slopes u of M prove a bound: with v = X'(s u)/S and, where
// there is an intercept, u balanced so that sum_i s_i u_i = 0,
//
//     D(u) = -1/S sum_i s_i l*(u_i) - sum_j max(0, |v_j| - t_j)^2 / (2 h_j),
//
// u being scaled until |v_j| <= t_j where h_j = 0; where t_j = 0 as well u has to be moved to where
// v_j = 0, which costs about |v_j| |w_j|. What is claimed here decides only when to stop:
// whoever asked computes J and D anew, with their round-off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "bends.hpp"
#include "bent_gram.hpp"
#include "cholesky.hpp"
#include "line_search.hpp"
#include "losses.hpp"
#include "multipliers.hpp"
#include "polish_rows.hpp"
#include "polish_state.hpp"
#include "products.hpp"

namespace fenchel {

class Polish {
  public:
    Polish(const Products& X, const ScalarLoss& loss, const Rows& rows, const double* offset,
           const ColumnTerms& terms, const PolishSettings& settings, PolishState& at)
        : X(X),
          loss(loss),
          rows(rows),
          offset(offset),
          terms(terms),
          settings(settings),
          at(at),
          n(X.n_rows),
          d(X.n_columns),
          share(n),
          z(n),
          u(n),
          earlier(n),
          q(n),
          weighted(n),
          bent(n),
          v(d),
          cu(d),
          gradient(d),
          g(d),
          p(d + 1),
          gram(X),
          H((d + 1) * (d + 1)) {
        for (std::size_t i = 0; i < n; ++i) share[i] = (rows.s ? rows.s[i] : 1.0) / settings.weight;
        for (std::size_t j = 0; j < d; ++j) sparse = sparse || terms.t[j] > 0;
    }

    /// Newton steps, and steps of the multipliers between them.
    ///
    /// J and the bound are computed wherever that takes no more than a pass; under L1 it takes two,
    /// and little is proved before F is minimised.
    Polished run() {
        score();
        look();
        for (;;) {
            const bool first = done.newton == 0, last = done.newton == settings.steps;
            const double left = remainder();
            const bool early = done.newton < settings.at_least && !last;
            if (!early && (first || last || !sparse || settled(left))) evaluate(left);
            done.passes = (read + n - 1) / n;
            if (last || done.reached) return done;
            const bool settles = settled(left);
            if (settles) update();
            ++done.newton;
            const bool loose = settles && n_bent <= d;
            if (!(loose && supposed_step()) && !step()) update();  // already at the minimum of F
        }
    }

  private:
    static constexpr double kInexact =
        0.1;  // the gap that F's gradient leaves, to the multipliers'
    static constexpr double kLoose = 1e-3;
    static constexpr double kShare =
        0.3;  // of the larger of two causes, from which on both are met
    static constexpr double kInertia = 1e-6;  // of the intercept, which has no penalty
    static constexpr double kFine = 1e6;  // times the least kappa: round-off of z shows in its u
    static constexpr double kGain = 3;    // times what it is about: what the best offset may gain
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    double r(std::size_t j) const { return at.rho * terms.prox[j]; }
    double kappa(std::size_t j) const { return at.kappa * terms.ratio[j]; }

    /// The scores at w without the round-off of many steps: a pass.
    void score() {
        X.scores(at.w, z.data());
        shift(z);
        read += n;
    }

    void shift(std::vector<double>& scores) const {
        if (offset)
            for (std::size_t i = 0; i < n; ++i) scores[i] += offset[i];
    }

    Rows at_scores(const std::vector<double>& scores) const {
        return {scores.data(), rows.y, rows.s};
    }

    /// The slopes u and cu, what is bent, and the gradient of F at (w, b).
    void look() {
        std::swap(u, earlier);
        n_bent = with_loss(loss, [&](const auto& l) {
            return augmented_slopes(l, at_scores(z), at.a, at.kappa, at.b, u.data(), bent.data(),
                                    n);
        });
        offset_slope = follow(earlier, u, gradient);
        for (std::size_t j = 0; j < d; ++j) {
            const double w = at.w[j];
            cu[j] = column_slope(j, w, v[j]);
            g[j] = gradient[j] + terms.h[j] * w + cu[j] + r(j) * (w - at.centre[j]);
        }
    }

    /// X'(s before)/S becomes X'(s now)/S, of which only rows are read that have changed; returns
    /// the sum of s now / S.
    double follow(const std::vector<double>& before, const std::vector<double>& now,
                  std::vector<double>& to) {
        const auto [total, changed] =
            detail::weigh_change(share.data(), now.data(), before.data(), weighted.data(), n);
        X.adjoint(weighted.data(), to.data());
        read += changed;
        return total;
    }

    /// The slope of N_j at w_j = x, and its v_j.
    double column_slope(std::size_t j, double x, double& best) const {
        return augmented_modulus(terms.t[j], at.c[j], kappa(j), x, best);
    }

    /// What F's gradient may cost: F is above its least by so much, or the dual point outside.
    double remainder() const {
        double left = 0, outside = 0;
        for (std::size_t j = 0; j < d; ++j) {
            const double flat = terms.h[j] > 0 ? kInfinity : std::abs(g[j]) * reach(j);
            left += std::min(g[j] * g[j] / (2 * (terms.h[j] + r(j))), flat);
            outside = std::max(outside, excess(j, g[j]));
        }
        return left + cost(outside);
    }

    /// About how far w_j may be from the best: as far as from 0, or as the last step led.
    double reach(std::size_t j) const { return std::max(std::abs(at.w[j]), std::abs(p[j])); }

    /// How far a slope x leads out of the box |v_j| <= t_j, relative to it, where that is a bound.
    double excess(std::size_t j, double x) const {
        return terms.h[j] == 0 && terms.t[j] > 0 && v[j] != 0 ? std::abs(x) / terms.t[j] : 0.0;
    }

    /// What a bound loses that must be scaled into the box.
    double cost(double outside) const {
        return outside > 0 && std::isfinite(at.upper) ? at.upper * outside : 0.0;
    }

    /// Whether F is as good as minimised.
    bool settled(double left) const {
        const double open = std::isfinite(at.lower) ? kLoose * (at.upper - at.lower) : 0.0;
        return left <= kInexact * std::max(distance(), open);
    }

    /// J and the bound here, and whether they are near enough. They cannot be where F's gradient
    /// leaves more than the gap, of which it is a part (the losses' share is >= 0).
    void evaluate(double left) {
        double size = 0;
        for (std::size_t j = 0; j < d; ++j)
            size += terms.t[j] * std::abs(v[j]) + terms.h[j] / 2 * v[j] * v[j];
        const std::vector<double>& scores = sparse ? scores_at_v() : z;
        const Bend mean = mean_at(scores, at.b);
        double b = at.b, J = size + mean.value;
        const bool last = done.newton == settings.steps;
        if (sparse || last || left <= settings.gap * std::abs(J)) bound();
        const double excess = J - at.lower - settings.gap * std::abs(J);
        if (settings.has_intercept && excess > 0 && excess <= kGain * offset_gain(mean.slope)) {
            b = with_loss(loss,
                          [&](const auto& l) { return best_offset(l, at_scores(scores), b, n); });
            J = size + mean_at(scores, b).value;
        }
        if (J < at.upper) {
            at.upper = J;
            at.best_b = b;
            std::copy(v.begin(), v.end(), at.best_w);
        }
        done.reached = at.upper - at.lower <= settings.gap * std::abs(at.upper);
    }

    const std::vector<double>& scores_at_v() {
        X.scores(v.data(), q.data());
        shift(q);
        read += n;
        return q;
    }

    Bend mean_at(const std::vector<double>& scores, double b) const {
        const Bend sum =
            with_loss(loss, [&](const auto& l) { return sums(l, at_scores(scores), b, n); });
        return {sum.value / settings.weight, sum.slope / settings.weight};
    }

    /// What the best offset would gain, about: rows that are bent have their kinks within kappa.
    double offset_gain(double slope) const {
        return slope * slope * at.kappa * static_cast<double>(n) /
               (2 * static_cast<double>(std::max<std::size_t>(n_bent, 1)));
    }

    /// What the slopes u prove, kept with them if it is the best.
    void bound() {
        std::vector<double> balanced = u, slope = gradient;
        if (settings.has_intercept && detail::balance(share.data(), balanced.data(), n))
            follow(u, balanced, slope);
        double scale = 1, conjugate = 0;
        for (std::size_t j = 0; j < d; ++j)
            if (terms.t[j] > 0 && terms.h[j] == 0 && std::abs(slope[j]) > terms.t[j])
                scale = std::min(scale, terms.t[j] / std::abs(slope[j]));
        for (std::size_t j = 0; j < d; ++j) {
            const double above = std::abs(scale * slope[j]) - terms.t[j];
            if (above > 0 && terms.h[j] > 0) conjugate += above * above / (2 * terms.h[j]);
            if (terms.t[j] == 0 && terms.h[j] == 0) conjugate += std::abs(slope[j]) * reach(j);
        }
        double total = with_loss(loss, [&](const auto& l) {
            return detail::conjugates(l, rows.y, share.data(), balanced.data(), scale, n);
        });
        if (offset) total -= scale * detail::inner(share.data(), balanced.data(), offset, n);
        const double D = -total - conjugate;
        if (D > at.lower) {
            at.lower = D;
            std::copy(balanced.begin(), balanced.end(), at.best_u);
        }
    }

    /// What the multipliers have yet to pay for: the squares of t_i - z_i and v_j - w_j.
    double distance() const {
        double sum = detail::squared_change(share.data(), at.a, u.data(), n) * at.kappa / 2;
        for (std::size_t j = 0; j < d; ++j)
            sum += (cu[j] - at.c[j]) * (cu[j] - at.c[j]) * kappa(j) / 2;
        return sum;
    }

    /// What the proximal terms add to F, and may cost.
    double moved() const {
        double sum = 0, outside = 0;
        for (std::size_t j = 0; j < d; ++j) {
            const double by = at.w[j] - at.centre[j];
            sum += r(j) / 2 * by * by;
            outside = std::max(outside, excess(j, r(j) * by));
        }
        return sum + cost(outside);
    }

    /// Takes the slopes for multipliers, and lowers kappa or rho, whichever holds up the rest.
    void update() {
        const double multipliers = distance(), centre = moved(), growth = settings.growth;
        if (multipliers >= kShare * centre) at.kappa = std::max(at.kappa / growth, settings.least);
        if (centre >= kShare * multipliers) at.rho /= growth * growth;
        std::copy(u.begin(), u.end(), at.a);
        std::copy(cu.begin(), cu.end(), at.c);
        std::copy(at.w, at.w + d, at.centre);
        ++done.updates;
        if (at.kappa < kFine * settings.least) score();
        look();
    }

    /// A Newton step, as far as the search along its ray says; false if it says nowhere.
    bool step() {
        newton(g, offset_slope);
        return move();
    }

    /// The same after a step of the multipliers, as if every row stayed where its multiplier says:
    /// on the kink if that is between two slopes, else on its line.
    ///
    /// There z - kink = kappa (u - a). With a = u and a smaller kappa the next u overshoots by what
    /// the last step changed, until rows seem to have left the kinks. Where fewer are there than w
    /// has entries, nothing holds it any more and Newton's step leads far out. The search is F's
    /// own, so that nothing is lost where the supposition fails.
    bool supposed_step() {
        std::vector<double> stays(n), slope = g;
        n_bent = with_loss(loss, [&](const auto& l) {
            return supposed_slopes(l, at_scores(z), at.a, at.kappa, at.b, stays.data(), bent.data(),
                                   n);
        });
        const double rate = follow(u, stays, slope);
        newton(slope, rate);
        const bool moved = move();
        if (!moved) look();
        return moved;
    }

    bool move() {
        X.scores(p.data(), q.data());
        read += n;
        const double eta = search();
        if (!(eta > 0)) return false;
        for (std::size_t i = 0; i < n; ++i) z[i] += eta * q[i];
        for (std::size_t j = 0; j < d; ++j) at.w[j] += eta * p[j];
        at.b += eta * p[d];
        look();
        return true;
    }

    /// (p, rate of b) = -(Hessian of F)^-1 (slope, rate).
    void newton(const std::vector<double>& slope, double rate) {
        const std::size_t width = d + 1;
        const std::vector<double>& G = gram.of(rows.s, bent.data(), n_bent);
        const double unit = 1 / (settings.weight * at.kappa);
        for (std::size_t k = 0; k < H.size(); ++k) H[k] = unit * G[k];
        double* ones = &H[d * width];
        if (!settings.has_intercept) std::fill(ones, ones + width, 0.0);
        const double inertia = kInertia * ones[d];
        ones[d] += inertia > 0 ? inertia : 1.0;
        for (std::size_t j = 0; j < d; ++j) {
            const bool kink = terms.t[j] > 0 && v[j] == 0;
            H[j * width + j] += terms.h[j] + r(j) + (kink ? 1 / kappa(j) : 0.0);
            p[j] = -slope[j];
        }
        p[d] = settings.has_intercept ? -rate : 0.0;
        solve(H, width, L, p.data());
        if (!settings.has_intercept) p[d] = 0;
    }

    /// The slope of F along the ray at eta, and its own.
    Slope slope(double eta) const {
        const double rate = p[d];
        Slope at_eta = with_loss(loss, [&](const auto& l) {
            return augmented_slope_along(l, at_scores(z), at.a, at.kappa, at.b, q.data(), rate, eta,
                                         n);
        });
        at_eta.slope /= settings.weight;
        at_eta.curvature /= settings.weight;
        for (std::size_t j = 0; j < d; ++j) {
            double best;
            const double x = at.w[j] + eta * p[j], c = column_slope(j, x, best);
            const bool kink = terms.t[j] > 0 && best == 0;
            at_eta.slope += p[j] * (terms.h[j] * x + c + r(j) * (x - at.centre[j]));
            at_eta.curvature += p[j] * p[j] * (terms.h[j] + r(j) + (kink ? 1 / kappa(j) : 0.0));
        }
        return at_eta;
    }

    double search() const {
        double start = offset_slope * p[d];
        for (std::size_t j = 0; j < d; ++j) start += g[j] * p[j];
        return flat_step(start, [this](double eta) { return slope(eta); });
    }

    const Products& X;
    const ScalarLoss& loss;
    const Rows rows;
    const double* offset;
    const ColumnTerms terms;
    const PolishSettings settings;
    PolishState& at;
    const std::size_t n, d;
    std::vector<double> share, z, u, earlier, q, weighted;  // `gradient` is X'(s u)/S
    std::vector<std::int32_t> bent;                         // the rows on a kink
    std::vector<double> v, cu, gradient, g, p;              // `gradient` is that of M, g that of F
    BentGram gram;
    std::vector<double> H, L;          // the Hessian of F and its factor
    std::size_t n_bent = 0, read = 0;  // rows, and rows that were read
    double offset_slope = 0;
    bool sparse = false;  // some t_j > 0
    Polished done;
};

}  // namespace fenchel

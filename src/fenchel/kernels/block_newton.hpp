// Newton's method with products for losses of K scores a row, for rows in one memory, with nothing
// but kernels between its passes. Minimised is
//
//     J(W, b) = 1/2 sum_jk D_jk W_jk^2 + 1/S sum_i s_i l(W'x_i + b, y_i)
//
// over W and, if they are free, the K offsets b: the last row of the parameters.
//
// A hinge is no business of Newton's. As polish.hpp has it for one score, l is put in its augmented
// form, with multipliers a_i that are slopes of l and a width kappa,
//
//     M_i(z) = max over u of <u, z> - l*(u) - kappa/2 |u - a_i|^2,
//
// whose gradient u_i is the step of block_steps.hpp, a projection on a scaled simplex, and whose
// Hessian h_i is that of block_bends.hpp: F, with M in the place of l, is piecewise quadratic and
// smooth. A handful of Newton steps minimise it; then the slopes are taken for multipliers and
// kappa falls. u are dual variables of l itself at every step, and once the K sums of s_i u_i are
// 0,
//
//     D(u) = -1/S sum_i s_i l*(u_i) - sum_jk V_jk^2 / (2 D_jk),    V = X'(s u)/S,
//
// is a bound. What the sums still cost is put down as their share in flows (risks/class_flows.py)
// of all there is to lose. What is claimed here decides only when to stop: whoever asked computes J
// and the bound anew. Softmax is smooth: M is l, u its slopes, and there are no multipliers.
//
// Newton's systems are solved in block_systems.hpp, which makes them stiffer where a step goes so
// far beyond where the model holds that little of it is left.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "block_bends.hpp"
#include "block_newton_state.hpp"
#include "block_steps.hpp"
#include "block_systems.hpp"
#include "line_search.hpp"
#include "output_products.hpp"
#include "vector_losses.hpp"

namespace fenchel {

template <class Loss>
class BlockNewton {
  public:
    using Label = typename Loss::Label;
    static constexpr bool kSmooth = std::is_same_v<Loss, Softmax>;

    BlockNewton(const OutputProducts& X, const Loss& loss, const VectorRows<Label>& rows,
                const double* D, const BlockNewtonSettings& settings, BlockNewtonState& at)
        : X(X),
          loss(loss),
          rows(rows),
          D(D),
          settings(settings),
          at(at),
          n(X.n_rows),
          d(X.n_columns),
          K(loss.size()),
          size((d + 1) * K),
          systems(X, loss, rows, D, settings.weight, settings.has_intercept),
          work(K) {
        for (auto* each : {&z, &u, &trial, &next, &q}) each->resize(n * K);
        for (auto* each : {&g, &p, &gradient}) each->resize(size);
    }

    BlockNewtonDone run() {
        score();
        slopes_at(z, u);
        look();
        for (;;) {
            const double left = remainder();
            evaluate(left);
            if (done.newton == settings.steps || done.reached) return paid();
            if (settled(left)) update();
            ++done.newton;
            if (!step()) {
                if (kSmooth || at.kappa <= settings.least) return paid();
                update();
            }
        }
    }

  private:
    static constexpr double kInexact = 0.1, kLoose = 1e-3;
    static constexpr double kShort = 0.003;  // of a step that went too far

    BlockNewtonDone paid() {
        done.passes += systems.passes;
        return done;
    }

    double share(std::size_t i) const { return rows.weight(i) / settings.weight; }
    double* offsets(std::vector<double>& v) const { return v.data() + d * K; }

    /// Z = X W + b: a pass.
    void scores(const double* w, std::vector<double>& Z) {
        X.scores(nullptr, n, w, K, Z.data());
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t k = 0; k < K; ++k) Z[i * K + k] += w[d * K + k];
        done.passes += 1;
    }
    void score() { scores(at.w, z); }

    /// The gradients of M, or of l.
    void slopes_at(const std::vector<double>& Z, std::vector<double>& U) {
        if constexpr (kSmooth) {
            vector_slopes(loss,
                          VectorRows<Label>{n, K, Z.data(), rows.y, nullptr, rows.label_stride},
                          U.data());
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                std::copy_n(&Z[i * K], K, work.z.data());
                block_step(loss, rows.label(i), at.kappa, at.a + i * K, work);
                std::copy_n(work.u.data(), K, &U[i * K]);
            }
        }
    }

    /// The gradient of F, a pass, and the rows that are bent.
    void look() {
        for (std::size_t i = 0; i < n; ++i) {
            const double s = share(i);
            for (std::size_t k = i * K; k < (i + 1) * K; ++k) next[k] = s > 0 ? s * u[k] : 0.0;
        }
        std::fill(gradient.begin(), gradient.end(), 0.0);
        X.adjoint(nullptr, n, next.data(), K, gradient.data());
        done.passes += 1;
        double* sums = offsets(gradient);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t k = 0; k < K; ++k) sums[k] += next[i * K + k];
        for (std::size_t j = 0; j < d * K; ++j) g[j] = gradient[j] + D[j] * at.w[j];
        for (std::size_t k = 0; k < K; ++k) g[d * K + k] = settings.has_intercept ? sums[k] : 0.0;
        systems.find_bends(u.data(), at.kappa);
    }

    /// What F's gradient may cost.
    double remainder() const {
        double left = 0;
        for (std::size_t j = 0; j < d * K; ++j) left += g[j] * g[j] / (2 * D[j]);
        for (std::size_t k = 0; k < K; ++k) {
            const double slope = g[d * K + k];
            const double bend = systems.bend_of(k);
            if (slope != 0) left += bend > 0 ? slope * slope / (2 * bend) : std::abs(slope);
        }
        return left;
    }

    double distance() const {
        double sum = 0;
        if constexpr (!kSmooth)
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t k = i * K; k < (i + 1) * K; ++k)
                    sum += share(i) * (u[k] - at.a[k]) * (u[k] - at.a[k]);
        return at.kappa / 2 * sum;
    }

    /// Whether F is as good as minimised, and its slopes nearly as good a bound as they will be.
    bool settled(double left) const {
        if (kSmooth) return false;
        const double apart = distance();
        const double open = std::isfinite(at.lower) ? at.upper - at.lower : 0.0;
        return left <= kInexact * std::max(apart, kLoose * open) &&
               toll(at.upper) <= kInexact * std::max(apart, open);
    }

    /// What the sums of the slopes take off a bound of such a height.
    double toll(double height) const {
        double phi = 0, square = 0;
        for (std::size_t k = 0; k < K && settings.has_intercept; ++k) {
            const double sum = gradient[d * K + k];
            phi += sum > 0 ? sum * settings.up[k] : -sum * settings.down[k];
        }
        for (std::size_t i = 0; phi > 0 && i < n; ++i)
            for (std::size_t k = i * K; k < (i + 1) * K; ++k) square += share(i) * z[k] * z[k];
        return phi * (std::abs(height) + std::sqrt(square));
    }

    void evaluate(double left) {
        double J = 0;
        for (std::size_t j = 0; j < d * K; ++j) J += D[j] * at.w[j] * at.w[j] / 2;
        const VectorRows<Label> here{n, K, z.data(), rows.y, rows.s, rows.label_stride};
        J += vector_slopes(loss, here, trial.data()) / settings.weight;
        if (J < at.upper) {
            at.upper = J;
            std::copy_n(at.w, size, at.best_w);
        }
        if (kSmooth) {
            at.lower = std::max(at.lower, J - left);
        } else if (J - left > at.lower) {
            bound();
        }
        done.reached = at.upper - at.lower <= settings.gap * std::abs(at.upper);
    }

    void bound() {
        double D_u = 0;
        for (std::size_t i = 0; i < n; ++i)
            D_u += share(i) > 0 ? share(i) * height(loss, rows.label(i), &u[i * K]) : 0.0;
        for (std::size_t j = 0; j < d * K; ++j) D_u -= gradient[j] * gradient[j] / (2 * D[j]);
        D_u -= toll(D_u);
        if (!(D_u > at.lower)) return;
        at.lower = D_u;
        std::copy(u.begin(), u.end(), at.best_u);
    }

    void update() {
        std::copy(u.begin(), u.end(), at.a);
        at.kappa = std::max(at.kappa / settings.growth, settings.least);
        score();
        slopes_at(z, u);
        look();
    }

    bool step() {
        double eta = direction();
        while (!kSmooth && eta < kShort && !systems.is_stiffest()) {
            systems.stiffen();
            eta = direction();
        }
        if (!(eta > 0)) return false;
        if (eta >= kShort) systems.soften();
        for (std::size_t j = 0; j < size; ++j) at.w[j] += eta * p[j];
        if (eta != tried) move_to(eta);
        std::swap(z, trial);
        std::swap(u, next);
        look();
        return true;
    }

    /// Newton's direction p, the rates q of the scores along it, and how far to go.
    double direction() {
        systems.solve(g, p);
        scores(p.data(), q);
        return search();
    }

    /// The scores at eta along the ray, and the slopes there: where the search ends, the next ones.
    void move_to(double eta) {
        for (std::size_t k = 0; k < n * K; ++k) trial[k] = z[k] + eta * q[k];
        slopes_at(trial, next);
        tried = eta;
    }

    /// The slope of F along the ray at eta, and its own.
    Slope slope(double eta) {
        Slope at_eta{0, 0};
        for (std::size_t j = 0; j < d * K; ++j) {
            at_eta.slope += D[j] * p[j] * (at.w[j] + eta * p[j]);
            at_eta.curvature += D[j] * p[j] * p[j];
        }
        move_to(eta);
        for (std::size_t i = 0; i < n; ++i) {
            const double s = share(i);
            if (!(s > 0)) continue;
            const double *along = &q[i * K], *slopes = &next[i * K];
            bend_row(loss, rows.label(i), slopes, at.kappa, along, work.t.data());
            double rise = 0, rate = 0;
            for (std::size_t k = 0; k < K; ++k) {
                rate += slopes[k] * along[k];
                rise += work.t[k] * along[k];
            }
            at_eta.slope += s * rate;
            at_eta.curvature += s * rise;
        }
        return at_eta;
    }

    double search() {
        double start = 0;
        for (std::size_t j = 0; j < size; ++j) start += g[j] * p[j];
        return flat_step(start, [this](double eta) { return slope(eta); });
    }

    const OutputProducts& X;
    const Loss& loss;
    const VectorRows<Label> rows;  // without scores
    const double* D;
    const BlockNewtonSettings settings;
    BlockNewtonState& at;
    const std::size_t n, d, K, size;
    std::vector<double> z, u, trial, next, q;
    std::vector<double> g, p, gradient;  // `gradient` is that of M, g that of F
    BlockSystems<Loss> systems;
    BlockWork work;
    double tried = 0;  // where on the ray the search looked last
    BlockNewtonDone done;
};

}  // namespace fenchel

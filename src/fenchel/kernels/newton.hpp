// Newton's method for a smooth loss and a separable quadratic regulariser, of few columns and rows
// that are all in one place: solvers/newton.py without Python between its passes.
//
//     J(w, b) = 1/2 sum_j D_j w_j^2 + (1/S) sum_i s_i l(<x_i, w> + b, y_i)
//     (D + X' diag(h) X) p = -grad J(w, b),    (w, b) <- (w, b) + eta p
//
// with h_i = s_i/S l''. The offset b moves with w, as one more coordinate without a penalty, whose
// column is of ones; that it is the best one for w matters only to whoever certifies w in the end.
// The search along p is exact where the loss is piecewise quadratic, so that the method ends after
// finitely many steps, and else up to the Wolfe conditions.
//
// Where columns are many a step costs as much as tens of gradients. Along a path L-BFGS's steps
// then come first, for losses that have no pieces: while they have cost less than a few of
// Newton's, and as long as they get on. Its p is -B grad J(w, b) (quasi_newton.hpp), where B begins
// as a multiple of diag(1, .., 1, r): without r, which makes b as hard to move as w is in the mean,
// Poisson regression on 100 columns took twice as many steps.
//
// It goes on until what a tangent leaves of the gap is small. With g the gradient in w and slopes
// that add up to g_b = 0 that is g'D^-1 g / 2 ([Teo07] lemma 5). If they do not quite, the best
// offset is -g_b / sum_i h_i away, up to second order, and J lower by g_b^2 / (2 sum_i h_i).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cholesky.hpp"
#include "hessian.hpp"
#include "line_search.hpp"
#include "losses.hpp"
#include "products.hpp"
#include "quasi_newton.hpp"

namespace fenchel {

/// What is minimised. `offsets` (o_i, or null) are added to the rows' scores.
struct NewtonProblem {
    const Products& X;
    const ScalarLoss& loss;
    const double *y, *s, *offsets, *D;
    double total;  // S
    bool intercept;
};

struct NewtonBounds {
    double J, lower;
};

class NewtonMethod {
  public:
    NewtonMethod(const NewtonProblem& problem, double* w, double b)
        : on_(problem),
          w_(w),
          b_(b),
          z_(problem.X.n_rows),
          q_(problem.X.n_rows),
          a_(problem.X.n_rows),
          t_(problem.X.n_rows),
          h_(problem.X.n_rows),
          bent_(problem.X.n_rows),
          g_(width()),
          p_(width()),
          ahead_(width()) {
        if (std::any_of(w_, w_ + on_.X.n_columns, [](double w) { return w != 0; }))
            on_.X.scores(w_, z_.data());
        for (std::size_t i = 0; i < on_.X.n_rows; ++i)
            z_[i] += b_ + (on_.offsets ? on_.offsets[i] : 0.0);
    }

    double b() const { return b_; }

    /// J where it is, with an offset of which little is left to gain, and the tangent's bound.
    NewtonBounds bounds() {
        double J = look();
        for (int k = 0; on_.intercept && k < kOffsetSteps; ++k) {
            const double slope = g_[on_.X.n_columns], step = -slope / h_total_;
            if (!(std::abs(slope) * std::abs(step) > kLittle * std::abs(J))) break;
            shift(step);
            const double moved = look();
            if (!(std::abs(g_[on_.X.n_columns]) < std::abs(slope))) {  // it was too long
                shift(-step);
                J = look();
                break;
            }
            J = moved;
        }
        return {J, J - what_is_left()};
    }

    /// s_i l'(z_i), as `bounds` saw them.
    const std::vector<double>& slopes_seen() const { return a_; }

    /// One step; false where none is needed for a gap of `gap` |J|, or none leads down.
    bool step(double gap) {
        const double J = look();
        const double left = what_is_left();
        if (!(left > gap * std::abs(J))) return false;
        quasi_ = quasi_ && gets_on(left);
        quasi_ ? quasi_direction() : direction();
        const double eta = search(J);
        if (!(eta > 0) && quasi_) {  // Newton's method has the last word
            quasi_ = false;
            return step(gap);
        }
        if (!(eta > 0)) return false;
        if (quasi_) before_ = g_;
        move(eta);
        return true;
    }

    /// To be said when D has changed: steps of L-BFGS come first again, if they are cheap.
    void begin() {
        fresh_ = false;
        B_.forget(1.0);
        before_.clear();
        taken_ = 0;
        quasi_ = with_loss(on_.loss, [&](const auto& l) {
            if constexpr (requires { l.pieces(0.0); })
                return false;
            else
                return newton_work() >= kCheap * quasi_work();
        });
    }

  private:
    static constexpr int kOffsetSteps = 4;
    static constexpr double kLittle = 1e-14;  // of J
    static constexpr double kCheap = 8;       // L-BFGS's steps for one of Newton's: worth a try
    static constexpr double kWorth = 3;       // of Newton's steps, that L-BFGS's may cost together
    static constexpr double kRate = 0.7;  // by which a step of L-BFGS lowers what is left, about
    static constexpr std::size_t kFirst = 8;  // of its steps, before that is looked at

    /// Products of two numbers that a step takes: of Newton's, the Gram matrix and its factor.
    double newton_work() const {
        const auto n = static_cast<double>(on_.X.n_rows), m = static_cast<double>(width());
        return n * per_row() * per_row() / 2 + m * m * m / 6;
    }

    /// Of L-BFGS's, two passes; they wait for memory, and count twice.
    double quasi_work() const { return 4 * static_cast<double>(on_.X.n_rows) * per_row(); }

    double per_row() const {
        return static_cast<double>(on_.X.n_numbers) / static_cast<double>(on_.X.n_rows) + 1;
    }

    /// Whether L-BFGS's steps are fast enough, and few enough.
    bool gets_on(double left) {
        if (taken_ == 0) first_left_ = left;
        const auto k = static_cast<double>(taken_++);
        if (k * quasi_work() > kWorth * newton_work()) return false;
        return k < kFirst || left <= first_left_ * std::pow(kRate, k);
    }

    void shift(double step) {
        for (double& each : z_) each += step;
        b_ += step;
        fresh_ = seen_ = false;
    }

    std::size_t width() const { return on_.X.n_columns + 1; }

    /// J, its gradient g (whose last entry is the slope in b) and the rows' curvatures h.
    double look() {
        if (fresh_) return J_;
        const std::size_t n = on_.X.n_rows, d = on_.X.n_columns;
        const Rows rows{z_.data(), on_.y, on_.s};
        double J = with_loss(on_.loss, [&](const auto& l) {
            n_bent_ = curvatures(l, rows, 0.0, h_.data(), bent_.data(), n);
            if (!seen_) sum_ = slopes(l, rows, 0.0, a_.data(), 0, n);
            return sum_ / on_.total;
        });
        seen_ = true;
        if (arrived_) {
            g_ = ahead_;
        } else {
            std::fill(g_.begin(), g_.end(), 0.0);
            on_.X.adjoint(a_.data(), g_.data());
        }
        arrived_ = false;
        h_total_ = 0;
        for (std::size_t i = 0; i < n; ++i) {
            g_[d] += a_[i];
            h_[i] /= on_.total;
            h_total_ += h_[i];
        }
        for (double& each : g_) each /= on_.total;
        if (!on_.intercept) g_[d] = 0;
        for (std::size_t j = 0; j < d; ++j) {
            g_[j] += on_.D[j] * w_[j];
            J += 0.5 * on_.D[j] * w_[j] * w_[j];
        }
        fresh_ = true;
        return J_ = J;
    }

    double what_is_left() const {
        const double slope = g_[on_.X.n_columns];
        double left = slope == 0 ? 0.0 : slope * slope / (2 * h_total_);
        for (std::size_t j = 0; j < on_.X.n_columns; ++j) left += g_[j] * g_[j] / (2 * on_.D[j]);
        return left;
    }

    /// p = -H^-1 g, and q = X p with the offset's rate added.
    void direction() {
        const std::size_t d = on_.X.n_columns, m = width();
        std::vector<double> H(m * m);
        on_.X.gram(h_.data(), bent_.data(), n_bent_, H.data());
        for (std::size_t j = 0; j < d; ++j) H[j * m + j] += on_.D[j];
        if (!on_.intercept) std::fill(&H[d * m], &H[d * m] + d, 0.0);
        if (!on_.intercept || !(H[d * m + d] > 0)) H[d * m + d] = 1.0;
        for (std::size_t j = 0; j < m; ++j) p_[j] = -g_[j];
        solve(H, m, L_, p_.data());
        rates();
    }

    void rates() {
        on_.X.scores(p_.data(), q_.data());
        for (double& each : q_) each += p_[on_.X.n_columns];
        looked_ahead_ = false;
    }

    /// The same, and in that pass what a step of 1 leads to, as most of L-BFGS's are that long.
    void rates_and_ahead() {
        std::fill(ahead_.begin(), ahead_.end(), 0.0);
        sum_ = with_loss(on_.loss, [&](const auto& l) {
            double sum = 0;
            const auto slopes_there = [&](std::size_t first, std::size_t last) {
                for (std::size_t i = first; i < last; ++i) {
                    q_[i] += p_[on_.X.n_columns];
                    t_[i] = z_[i] + q_[i];
                }
                sum += slopes(l, {t_.data(), on_.y, on_.s}, 0.0, a_.data(), first, last);
            };
            on_.X.evaluate(p_.data(), q_.data(), a_.data(), ahead_.data(), slopes_there);
            return sum;
        });
        fresh_ = seen_ = false;  // a_ is no longer that of z_
        looked_ahead_ = true;
    }

    /// p = -B g; at first -g, as far as the curvature along it says.
    void quasi_direction() {
        if (!before_.empty()) {
            for (std::size_t j = 0; j < width(); ++j) before_[j] = g_[j] - before_[j];
            B_.learn(moved_, before_);
        }
        for (std::size_t j = 0; j < width(); ++j) p_[j] = -g_[j];
        if (B_.empty()) return first_direction();
        B_.times(p_);
        rates_and_ahead();
    }

    /// p = -g, its last entry times the r that makes the curvature along the offset that of the
    /// rest, as long as the curvature along all of it says.
    void first_direction() {
        const std::size_t n = on_.X.n_rows, d = on_.X.n_columns;
        on_.X.scores(p_.data(), q_.data());
        double square = 0, regular = 0, curvature = 0;
        for (std::size_t j = 0; j < d; ++j) square += p_[j] * p_[j];
        for (std::size_t j = 0; j < d; ++j) regular += on_.D[j] * p_[j] * p_[j];
        for (std::size_t i = 0; i < n; ++i) curvature += h_[i] * q_[i] * q_[i];
        const double r = on_.intercept && curvature > 0 && h_total_ > 0
                             ? (regular + curvature) / (square * h_total_)
                             : 1.0;
        B_.forget(r);
        p_[d] *= r;
        square += p_[d] * p_[d] / r;
        curvature = regular;
        for (std::size_t i = 0; i < n; ++i) {
            q_[i] += p_[d];
            curvature += h_[i] * q_[i] * q_[i];
        }
        const double scale = curvature > 0 ? square / curvature : 1.0;
        for (double& each : p_) each *= scale;
        for (double& each : q_) each *= scale;
        looked_ahead_ = false;
    }

    // Before `search`: clang 14 does not instantiate a member that stands after the lambda calling
    // it.
    template <class Loss>
    double by_values(const Loss& loss, double J, double slope, double curvature) {
        const std::size_t n = on_.X.n_rows;
        double start = 0;
        for (std::size_t j = 0; j < width(); ++j) start += g_[j] * p_[j];
        if (!(start < 0)) return 0;
        double regular = 0;
        for (std::size_t j = 0; j < on_.X.n_columns; ++j) regular += 0.5 * on_.D[j] * w_[j] * w_[j];
        const auto phi = [&](double eta) -> Bend {
            if (!(looked_ahead_ && eta == 1)) {
                for (std::size_t i = 0; i < n; ++i) t_[i] = z_[i] + eta * q_[i];
                sum_ = slopes(loss, {t_.data(), on_.y, on_.s}, 0.0, a_.data(), 0, n);
            }
            tried_ = eta;
            fresh_ = seen_ = false;
            const double rate = detail::dot(a_.data(), q_.data(), n);
            return {regular + eta * (slope + 0.5 * eta * curvature) + sum_ / on_.total,
                    slope + eta * curvature + rate / on_.total};
        };
        return wolfe(phi, {J, start});
    }

    double search(double J) {
        double slope = 0, curvature = 0;  // of the regulariser along p
        for (std::size_t j = 0; j < on_.X.n_columns; ++j) {
            slope += on_.D[j] * w_[j] * p_[j];
            curvature += on_.D[j] * p_[j] * p_[j];
        }
        const Rows rows{z_.data(), on_.y, on_.s};
        return with_loss(on_.loss, [&](const auto& l) {
            if constexpr (requires { l.pieces(0.0); }) {
                return exact(
                    [&](double eta) -> Slope {
                        const Slope at = slope_along(l, rows, q_.data(), eta, on_.X.n_rows);
                        return {slope + eta * curvature + at.slope / on_.total,
                                curvature + at.curvature / on_.total};
                    },
                    [&](double low, double high) {
                        auto kinks = kinks_along(l, rows, q_.data(), low, high, on_.X.n_rows);
                        for (Kink& each : kinks) {
                            each.jump /= on_.total;
                            each.bend /= on_.total;
                        }
                        return kinks;
                    });
            } else {
                return by_values(l, J, slope, curvature);
            }
        });
    }

    /// Most often to where the search looked last: there the slopes are known.
    void move(double eta) {
        moved_ = p_;
        for (double& each : moved_) each *= eta;
        for (std::size_t j = 0; j < on_.X.n_columns; ++j) w_[j] += moved_[j];
        for (std::size_t i = 0; i < on_.X.n_rows; ++i) z_[i] += eta * q_[i];
        b_ += eta * p_[on_.X.n_columns];
        seen_ = eta == tried_;
        arrived_ = looked_ahead_ && eta == 1;
        tried_ = 0;
        fresh_ = false;
    }

    const NewtonProblem on_;
    double* w_;
    double b_;
    std::vector<double> z_, q_, a_, t_, h_;  // of rows: scores with b, their rates, slopes, ...
    std::vector<std::int32_t> bent_;
    std::size_t n_bent_ = 0;
    std::vector<double> g_, p_, L_;  // of columns and b: gradient, step; the Hessian's factor
    std::vector<double> ahead_;      // X'a where a step of 1 leads
    double h_total_ = 0;
    double J_ = 0, sum_ = 0, tried_ = 0;  // J; the losses' sum where a_ is, at which step that was
    bool seen_ = false, fresh_ = false;   // a_ and sum_ are those of z_; J_, g_ and h_ as well
    InverseHessian B_;
    std::vector<double> before_, moved_;  // the gradient before the last step, and that step
    std::size_t taken_ = 0;               // of L-BFGS's steps
    double first_left_ = 0;
    bool quasi_ = false;
    bool looked_ahead_ = false, arrived_ = false;  // ahead_ is known; it is X'a where w_ is
};

}  // namespace fenchel

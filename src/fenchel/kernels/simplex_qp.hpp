// The bundle method's dual: a convex quadratic on the simplex, kept warm from one cut to the next.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "triangular_factor.hpp"

namespace fenchel {

// min f(α) = ½ α'Qα − b'α  over  α ≥ 0, Σα = 1,  with Q positive semidefinite: a primal active set.
//
// On a support S the subproblem min f, Σα = 1 is solved by a Newton step d from the current α, with
// gradient g = Qα − b:  Q_SS d + g_S = ν1, Σd = 0.  Since Σd = 0, Q_SS may be replaced by
// M = Q_SS + σ11', which is positive definite as soon as Q_SS is so along the simplex. With M =
// U'U,
//     w = U⁻ᵀ g_S,   z = U⁻ᵀ 1,   ν = z'w / z'z,   d = −U⁻¹(w − νz),
// and after a step t the gradient on S is (1−t) g_S + tν1, so w ← (1−t) w + tνz needs no product
// with Q. A variable that blocks the step leaves S: one column of U goes, rotations restore the
// triangle, and as they act on the rows of U they carry w and z along. A variable enters by one
// substitution. Being a step from α and not a solution from nothing, each Newton step also refines
// away the rounding left by the one before.
//
// Affinely dependent cuts have a vanishing pivot. It is raised to a tiny multiple of the diagonal:
// along the null direction the step then becomes huge, hits a bound, and a variable leaves. Unlike
// a move along a direction taken to be flat, it stays a descent if the pivot is small but real.
class SimplexQp {
  public:
    std::size_t size() const { return n_; }
    const std::vector<double>& weights() const { return alpha_; }
    const double* q(std::size_t i) const { return &Q_[i * ld_]; }  // row i of Q
    double objective() { return n_ == 0 ? 0.0 : price().f; }

    // Adds a variable of weight 0 (1 if it is the first) with Q_{n,i} = cross[i], Q_nn = diagonal.
    void append(const double* cross, double diagonal, double linear) {
        detail::widen(Q_, ld_, n_, n_ + 1);
        double* row = &Q_[n_ * ld_];
        for (std::size_t i = 0; i < n_; ++i) row[i] = Q_[i * ld_ + n_] = cross[i];
        row[n_] = diagonal;
        b_.push_back(linear);
        alpha_.push_back(n_ == 0 ? 1.0 : 0.0);
        radius_.push_back(std::sqrt(std::max(diagonal, 0.0)));
        position_.push_back(none);
        g_.push_back(detail::dot(row, alpha_.data(), n_ + 1) - linear);
        if (n_++ == 0) adopt();
    }

    // Deletes variables; a weight that goes with them is shared among the rest in proportion.
    void remove(const std::size_t* sorted, std::size_t count) {
        if (count == 0) return;
        std::vector<std::size_t> kept;
        double lost = 0.0;
        for (std::size_t i = 0, k = 0; i < n_; ++i) {
            if (k == count || sorted[k] != i) {
                kept.push_back(i);
                continue;
            }
            while (k < count && sorted[k] == i) ++k;
            lost += alpha_[i];
            if (position_[i] != none) exclude(position_[i]);
        }
        n_ = kept.size();
        for (std::size_t i = 0; i < n_; ++i) {  // kept[i] >= i, so nothing is overwritten early
            for (auto* v : {&b_, &alpha_, &radius_, &g_}) (*v)[i] = (*v)[kept[i]];
            position_[i] = position_[kept[i]];
            if (position_[i] != none) support_[position_[i]] = i;
            if (raised_ == kept[i]) raised_ = i;
            const double* from = q(kept[i]);
            for (std::size_t j = 0; j < n_; ++j) Q_[i * ld_ + j] = from[kept[j]];
        }
        for (auto* v : {&b_, &alpha_, &radius_, &g_}) v->resize(n_);
        position_.resize(n_);
        if (lost > 0.0) start();
        if (!factored_) adopt();
    }

    void set_linear(const double* b) {
        std::copy(b, b + n_, b_.begin());
        fresh_ = false;
    }

    // Replaces the problem; starts at alpha, clipped and normalised, or (null) at the best vertex.
    void assign(std::size_t n, const double* Q, const double* b, const double* alpha) {
        detail::widen(Q_, ld_, 0, n);
        n_ = n;
        b_.assign(b, b + n);
        alpha_.assign(n, 0.0);
        if (alpha != nullptr) alpha_.assign(alpha, alpha + n);
        g_.assign(n, 0.0);
        radius_.resize(n);
        position_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            std::copy(Q + i * n, Q + (i + 1) * n, &Q_[i * ld_]);
            radius_[i] = std::sqrt(std::max(Q[i * n + i], 0.0));
        }
        start();
        adopt();
    }

    // Minimises until the Frank-Wolfe gap g'α − min g is at most tolerance·|f|, or what rounding in
    // g hides. Returns the gap, from a gradient computed anew at the α returned; f does not rise.
    // `finished` says whether the steps were enough. They bound the time of a call, which no
    // tolerance does where rounding has made Q indefinite; another call goes on from α.
    double solve(double tolerance, std::size_t max_steps) {
        if (n_ == 0) return 0.0;
        const double ratio = sigma_ / level();
        bool anew = !factored_ || updates_ > refactor_after || !(ratio < 1e3 && ratio > 1e-3);
        Price now = price(), best = now;
        best_alpha_ = alpha_;
        bool current = true;
        // Rounds that make no visible progress use up patience: little if g proves a descent.
        const std::size_t idle = n_ + 16, patience = 6 * idle;
        std::size_t steps = 0, stalled = 0;
        while (now.gap > now.goal(tolerance) && steps < max_steps && stalled < patience) {
            if (anew || !enter(now.j)) {
                rebuild();
                now = price();
                enter(now.j);
            }
            steps += newton(now.rho, max_steps - steps);
            now = price();
            const bool sound = now.f <= best.f + now.noise;
            const bool progress = now.f < best.f - now.noise || (sound && now.gap < 0.5 * best.gap);
            const std::size_t was = stalled;
            stalled = progress ? 0 : stalled + (sound && descended_ ? 1 : idle);
            anew = was < patience / 2 && stalled >= patience / 2;  // perhaps U has drifted
            current = sound && (progress || descended_ || now.gap < best.gap);
            if (!current) continue;
            best = now;
            best_alpha_ = alpha_;
        }
        if (!current) {
            alpha_ = best_alpha_;
            adopt();
        }
        // The active set stalls only where rounding rules; far above that, plain descent goes on.
        if (stalled >= patience && best.gap > std::max(best.goal(tolerance), 1e3 * best.floor))
            steps += descend(tolerance, max_steps - std::min(steps, max_steps));
        finished_ = steps < max_steps;
        return price().gap;
    }

    bool finished() const { return finished_; }

  private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    static constexpr double epsilon = std::numeric_limits<double>::epsilon();
    static constexpr double pivot_floor = 1e-13;        // above the rounding of a pivot, ~ √m ε
    static constexpr std::size_t refactor_after = 500;  // updates of U, each adding ~ ε

    struct Price {
        double f, gap;        // objective and Frank-Wolfe gap
        double floor, noise;  // what rounding may contribute to the gap, to f
        double rho;           // Σ r_i α_i
        std::size_t j;        // the variable of least gradient
        double goal(double tolerance) const { return std::max(tolerance * std::abs(f), floor); }
    };

    // Puts α on the simplex by clipping and scaling; at the vertex of least f if nothing is left.
    void start() {
        if (n_ == 0 || normalise()) return;
        std::size_t best = 0;
        const auto f = [this](std::size_t i) { return 0.5 * q(i)[i] - b_[i]; };
        for (std::size_t i = 1; i < n_; ++i)
            if (f(i) < f(best)) best = i;
        std::fill(alpha_.begin(), alpha_.end(), 0.0);
        alpha_[best] = 1.0;
        fresh_ = factored_ = false;
    }

    bool normalise() {
        double sum = 0.0;
        for (double& a : alpha_) sum += a = a > 0.0 ? a : 0.0;
        if (!(sum > 0.0 && std::isfinite(sum))) return false;
        for (double& a : alpha_) a /= sum;
        fresh_ = false;
        return true;
    }

    // The support is where α is positive, and has no factor yet.
    void adopt() {
        support_.clear();
        for (std::size_t i = 0; i < n_; ++i)
            if (alpha_[i] > 0.0) support_.push_back(i);
        std::fill(position_.begin(), position_.end(), none);
        U_.clear();
        fresh_ = factored_ = false;
        raised_ = none;
    }

    // g = Qα − b, four rows of Q at a time to spare passes over g.
    void refresh() {
        if (fresh_) return;
        double* __restrict g = g_.data();
        for (std::size_t j = 0; j < n_; ++j) g[j] = -b_[j];
        std::size_t k = 0;
        for (; k + 4 <= support_.size(); k += 4) {
            const std::size_t* s = &support_[k];
            const double *q0 = q(s[0]), *q1 = q(s[1]), *q2 = q(s[2]), *q3 = q(s[3]);
            const double a0 = alpha_[s[0]], a1 = alpha_[s[1]], a2 = alpha_[s[2]], a3 = alpha_[s[3]];
            for (std::size_t j = 0; j < n_; ++j)
                g[j] += (a0 * q0[j] + a1 * q1[j]) + (a2 * q2[j] + a3 * q3[j]);
        }
        for (; k < support_.size(); ++k) detail::axpy(alpha_[support_[k]], q(support_[k]), g, n_);
        fresh_ = true;
    }

    // As |Q_ji| ≤ r_j r_i, r² being Q's diagonal, g_j is rounded by about ε(r_j Σ r_i α_i + |b_j|).
    Price price() {
        refresh();
        const auto least = std::min_element(g_.begin(), g_.end());
        const auto j = static_cast<std::size_t>(least - g_.begin());
        double f = 0.0, gap = 0.0, rho = 0.0, beta = 0.0;
        for (const std::size_t i : support_) {
            f += 0.5 * alpha_[i] * (g_[i] - b_[i]);
            gap += alpha_[i] * (g_[i] - *least);
            rho += alpha_[i] * radius_[i];
            beta += alpha_[i] * std::abs(b_[i]);
        }
        const double noise = epsilon * (rho * rho + beta);
        const double floor = noise + epsilon * (rho * radius_[j] + std::abs(b_[j]));
        return {f, gap, floor, 8.0 * noise, rho, j};
    }

    // The size of Q's entries; a mean of roots, so that a few huge cuts do not drown the others.
    double level() const {
        const double sum = std::accumulate(radius_.begin(), radius_.end(), 0.0);
        const double mean = sum / static_cast<double>(n_);
        return mean > 0.0 ? mean * mean : 1.0;
    }

    // Factor from scratch, of the variables with positive weight, freed of affine dependence.
    void rebuild() {
        adopt();
        refresh();
        std::vector<std::size_t> members;
        members.swap(support_);
        sigma_ = level();
        for (const std::size_t i : members)
            while (alpha_[i] > 0.0 && !include(i, false)) slide(i);
        normalise();
        factored_ = true;
        updates_ = 0;
    }

    bool enter(std::size_t j) { return factored_ && (position_[j] != none || include(j, true)); }

    // Appends variable j to the support: U gains the column (y, pivot) with U'y = M_Sj. A pivot is
    // raised only if it is the only one: noise over raised pivots would grow column by column.
    bool include(std::size_t j, bool raise) {
        const std::size_t m = support_.size();
        y_.resize(m);
        for (std::size_t k = 0; k < m; ++k) y_[k] = q(j)[support_[k]] + sigma_;
        U_.substitute(y_);
        const double least = pivot_floor * (q(j)[j] + sigma_);
        double pivot2 = q(j)[j] + sigma_ - detail::dot(y_.data(), y_.data(), m);
        if (!(pivot2 > least) && m > 0) {
            if (!raise || raised_ != none) return false;
            pivot2 = least;
            raised_ = j;
        }
        const double pivot = std::sqrt(pivot2);
        U_.append(y_, pivot);
        z_.resize(m);
        z_.push_back((1.0 - detail::dot(y_.data(), z_.data(), m)) / pivot);
        position_[j] = m;
        support_.push_back(j);
        ++updates_;
        return true;
    }

    // Takes position p out of the support, rotating U, w and z back to m−1 rows.
    void exclude(std::size_t p) {
        const std::size_t m = support_.size();
        w_.resize(m);
        position_[support_[p]] = none;
        support_.erase(support_.begin() + static_cast<std::ptrdiff_t>(p));
        for (std::size_t k = p; k + 1 < m; ++k) position_[support_[k]] = k;
        U_.remove(p, {&w_, &z_});
        ++updates_;
        if (raised_ == none) return;
        // Without the variable it depended on, the raised pivot is a proper one.
        const std::size_t r = position_[raised_];
        const double least = pivot_floor * (q(raised_)[raised_] + sigma_);
        if (r == none || U_.pivot(r) * U_.pivot(r) > 2.0 * least) raised_ = none;
    }

    // Variable j depends on the support, y being U⁻ᵀM_Sj: Qd = 0 for d = (−U⁻¹y, 1). Moves along
    // ±d, downhill, which leaves g as it is, until a weight vanishes; its variable is out.
    void slide(std::size_t j) {
        const std::size_t m = support_.size();
        U_.substitute_back(y_);
        double slope = 0.0;
        for (std::size_t k = 0; k < m; ++k) slope += y_[k] * (g_[j] - g_[support_[k]]);
        const double sign = slope > 0.0 ? -1.0 : 1.0;
        double t = sign < 0.0 ? alpha_[j] : std::numeric_limits<double>::infinity();
        const std::size_t block = ratio_test(y_, -sign, t);
        alpha_[j] = block == none ? 0.0 : alpha_[j] + sign * t;
        if (block != none) exclude(block);
    }

    // Moves α_S by t·sign·d, with t cut to where the first weight vanishes; returns which, or none.
    std::size_t ratio_test(const std::vector<double>& d, double sign, double& t) {
        std::size_t block = none;
        for (std::size_t k = 0; k < d.size(); ++k)
            if (const double a = alpha_[support_[k]]; sign * d[k] < 0.0 && a / -(sign * d[k]) < t) {
                t = a / -(sign * d[k]);
                block = k;
            }
        if (!std::isfinite(t)) t = 0.0;
        for (std::size_t k = 0; k < d.size(); ++k) {
            double& a = alpha_[support_[k]];
            a = k == block ? 0.0 : std::max(a + t * (sign * d[k]), 0.0);
        }
        return block;
    }

    // Minimises over the support, dropping whatever blocks; returns the number of steps. Notes
    // whether a step descended by more than the rounding of g can feign.
    std::size_t newton(double rho, std::size_t max_steps) {
        std::size_t steps = 0, block = 0;
        descended_ = false;
        w_.resize(support_.size());
        // A constant in g only moves ν: taking it off first keeps the digits that differ.
        const double shift = g_[support_[0]];
        for (std::size_t k = 0; k < w_.size(); ++k) w_[k] = g_[support_[k]] - shift;
        U_.substitute(w_);
        while (block != none && steps++ < max_steps) {
            const std::size_t m = support_.size();
            const double nu =
                detail::dot(z_.data(), w_.data(), m) / detail::dot(z_.data(), z_.data(), m);
            d_.resize(m);
            for (std::size_t k = 0; k < m; ++k) d_[k] = nu * z_[k] - w_[k];
            const double slope =
                detail::dot(d_.data(), d_.data(), m);  // −g'd, as U'(w − νz) = g_S − ν1
            U_.substitute_back(d_);
            double radius = 0.0, error = 0.0, sum = 0.0, size = 0.0;
            for (std::size_t k = 0; k < m; ++k) {
                radius += std::abs(d_[k]) * radius_[support_[k]];
                error += std::abs(d_[k] * b_[support_[k]]);
                sum += d_[k];
                size += std::abs(d_[k]);
            }
            if (!std::isfinite(radius + slope)) break;
            if (!(std::abs(sum) < 0.1 * size)) break;  // d is 0, or rounding: it leaves the simplex
            const bool real = slope > 8.0 * epsilon * (rho * radius + error);
            double t = raised_ != none && real ? reach(slope, epsilon * radius * radius) : 1.0;
            block = ratio_test(d_, 1.0, t);
            descended_ |= real && t > 0.0;
            if (block != none) {
                for (std::size_t k = 0; k < m; ++k) w_[k] = (1.0 - t) * w_[k] + t * nu * z_[k];
                exclude(block);
            }
            if (t > 1.0) break;  // past the model's minimum, g on S is not what w says
        }
        if (!normalise()) {
            alpha_ = best_alpha_;
            adopt();
        }
        return steps;
    }

    // With a raised pivot a Newton step falls short: the step that minimises f along d.
    double reach(double slope, double noise) const {
        double curvature = 0.0;
        for (std::size_t k = 0; k < d_.size(); ++k)
            for (std::size_t l = 0; l < d_.size(); ++l)
                curvature += d_[k] * d_[l] * q(support_[k])[support_[l]];
        if (!(curvature > noise)) return std::numeric_limits<double>::infinity();
        return slope > 1.01 * curvature ? slope / curvature : 1.0;
    }

    // Monotone pairwise descent: weight moves from the worst variable in use to the best of all.
    // Returns the number of steps.
    std::size_t descend(double tolerance, std::size_t max_steps) {
        std::size_t step = 0;
        for (; step < max_steps; ++step) {
            const bool drifted = step % 64 == 0;
            adopt();
            fresh_ = !drifted;
            const Price now = price();
            if (!(now.gap > now.goal(tolerance))) break;
            const std::size_t j = now.j;
            const std::size_t i =
                *std::max_element(support_.begin(), support_.end(),
                                  [this](std::size_t a, std::size_t c) { return g_[a] < g_[c]; });
            const double curvature = q(i)[i] + q(j)[j] - 2.0 * q(i)[j], slope = g_[i] - g_[j];
            const double t = slope < curvature * alpha_[i] ? slope / curvature : alpha_[i];
            alpha_[i] -= t;
            alpha_[j] += t;
            detail::axpy(t, q(j), g_.data(), n_);
            detail::axpy(-t, q(i), g_.data(), n_);
        }
        normalise();
        adopt();
        return step;
    }

    std::size_t n_ = 0, ld_ = 0, updates_ = 0;
    double sigma_ = 1.0;
    bool fresh_ = false, factored_ = false;  // is g the gradient at α? is U the factor of S?
    bool descended_ = false, finished_ = true;
    std::size_t raised_ = none;  // the variable whose pivot was raised
    std::vector<double> Q_, b_, alpha_, g_, radius_;
    TriangularFactor U_;
    std::vector<std::size_t> support_, position_;  // S in the order of U's columns, and its inverse
    std::vector<double> w_, z_, d_, y_, best_alpha_;
};

}  // namespace fenchel

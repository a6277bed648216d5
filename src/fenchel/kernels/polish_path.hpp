// The dual polish (polish.hpp) at one strength after the other, from the largest down.
//
// strength * Omega has the terms t = strength t1 and h = strength h1. Multipliers, w and b of one
// strength are where the next begins. They are nearly right there, but not all of their signs are:
// kappa begins at a few times where it ended, so that rows may change sides in one Newton step,
// and the multipliers of L1 are what the slopes of the rows leave for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "polish.hpp"

namespace fenchel {

/// What a path is given beside a polish: the terms of strength 1, and the kappa and rho of a start
/// from 0.
struct PolishPath {
    const Products& X;
    const ScalarLoss& loss;
    const Rows rows;
    const double* offset;
    const ColumnTerms unit;
    const PolishSettings settings;
    double kappa, rho;
};

/// What is known of a strength, for each of them: rows of d and n numbers, and J with its bound.
struct PolishedStrengths {
    double *w, *b, *u, *bounds;
};

/// How far a path was followed: strengths that are done, steps at the one that is not, passes.
struct Followed {
    std::size_t strengths = 0, newton = 0, passes = 0;
};

class PolishFollower {
  public:
    PolishFollower(const PolishPath& path, PolishState& at)
        : on_(path), at_(at), h_(path.X.n_columns), t_(path.X.n_columns) {}

    /// Newton steps until all strengths are done, or as many as the settings allow.
    ///
    /// `at` is where the first of the strengths was left; if not `begun`, the last one before it.
    Followed run(const double* strengths, std::size_t count, bool begun, PolishedStrengths to) {
        const std::size_t n = on_.X.n_rows, d = on_.X.n_columns;
        Followed done;
        std::size_t left = on_.settings.steps;
        for (std::size_t k = 0; k < count; ++k) {
            for (std::size_t j = 0; j < d; ++j) {
                h_[j] = strengths[k] * on_.unit.h[j];
                t_[j] = strengths[k] * on_.unit.t[j];
            }
            if (k > 0 || !begun) begin(done);
            PolishSettings settings = on_.settings;
            settings.steps = left;
            settings.at_least = 1;  // or strengths that are close to each other would share their w
            Polish polish(on_.X, on_.loss, on_.rows, on_.offset,
                          {h_.data(), t_.data(), on_.unit.ratio, on_.unit.prox}, settings, at_);
            const Polished one = polish.run();
            left -= one.newton;
            done.passes += one.passes;
            done.newton = one.newton;
            std::copy(at_.best_w, at_.best_w + d, to.w + k * d);
            std::copy(at_.best_u, at_.best_u + n, to.u + k * n);
            to.b[k] = at_.best_b;
            to.bounds[2 * k] = at_.upper;
            to.bounds[2 * k + 1] = at_.lower;
            if (!one.reached) return done;
            ++done.strengths;
        }
        done.newton = 0;
        return done;
    }

  private:
    static constexpr double kWider = 5;  // kappa, relative to where the last strength left it

    void begin(Followed& done) {
        const std::size_t n = on_.X.n_rows, d = on_.X.n_columns;
        std::copy(at_.best_u, at_.best_u + n, at_.a);
        std::copy(at_.w, at_.w + d, at_.centre);
        at_.kappa = std::min(kWider * at_.kappa, on_.kappa);
        at_.rho = on_.rho;
        at_.upper = std::numeric_limits<double>::infinity();
        at_.lower = -at_.upper;
        if (std::none_of(t_.begin(), t_.end(), [](double t) { return t > 0; })) return;
        std::vector<double> weighted(n), g(d);
        for (std::size_t i = 0; i < n; ++i)
            weighted[i] = (on_.rows.s ? on_.rows.s[i] : 1.0) / on_.settings.weight * at_.a[i];
        on_.X.adjoint(weighted.data(), g.data());
        ++done.passes;
        for (std::size_t j = 0; j < d; ++j)
            at_.c[j] = std::clamp(-g[j] - h_[j] * at_.w[j], -t_[j], t_[j]);
    }

    const PolishPath on_;
    PolishState& at_;
    std::vector<double> h_, t_;
};

}  // namespace fenchel

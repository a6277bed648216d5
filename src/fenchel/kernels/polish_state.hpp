// What polish.hpp is given, what it changes and what it answers.
#pragma once

#include <cstddef>

namespace fenchel {

/// The terms of a column: h_j and t_j; `ratio` is kappa_j / kappa, `prox` r_j / rho.
struct ColumnTerms {
    const double *h, *t, *ratio, *prox;
};

struct PolishSettings {
    bool has_intercept;
    double weight;             // S
    double growth;             // of 1/kappa
    double least;              // below which kappa does not fall
    double gap;                // the relative gap that is asked for
    std::size_t steps;         // of Newton's, at most
    std::size_t at_least = 0;  // of them, before J is looked at
};

/// Where the method is, and the best that it has seen: `upper` at (best_w, best_b), `lower` by u.
struct PolishState {
    double *w, *a, *c, *centre, *best_w, *best_u;
    double b, kappa, rho, best_b, upper, lower;
};

/// What was done: steps of Newton's and of the multipliers, passes, and whether the gap is reached.
struct Polished {
    std::size_t newton = 0, updates = 0, passes = 0;
    bool reached = false;
};

}  // namespace fenchel

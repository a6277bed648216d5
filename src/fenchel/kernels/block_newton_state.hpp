// What block_newton.hpp is given, what it changes and what it answers.
#pragma once

#include <cstddef>

namespace fenchel {

struct BlockNewtonSettings {
    bool has_intercept;
    double weight;            // S
    double growth;            // of 1/kappa
    double least;             // below which kappa does not fall
    double gap;               // the relative gap that is asked for
    std::size_t steps;        // of Newton's, at most
    const double *up, *down;  // what a sum of slopes above or below 0 costs, for each class
};

/// Where the method is: parameters of d + 1 rows of K, multipliers of n rows of K. And the best
/// that it has seen: `upper` at best_w, `lower` by best_u.
struct BlockNewtonState {
    double *w, *a, *best_w, *best_u;
    double kappa, upper, lower;
};

/// What was done: steps of Newton's, products, and whether the gap is reached.
struct BlockNewtonDone {
    std::size_t newton = 0;
    double passes = 0;
    bool reached = false;
};

}  // namespace fenchel

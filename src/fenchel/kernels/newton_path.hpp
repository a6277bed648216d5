// Newton's method (newton.hpp) at one strength after the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "newton.hpp"

namespace fenchel {

/// What is known of a strength, for each of them: rows of d and n numbers, and J with its bound.
struct NewtonStrengths {
    double *w, *b, *alpha, *bounds;
};

/// The same at one strength after the other, D being that of strength 1; each starts from the last.
/// Ends before the strength at which `steps` are taken; returns how many are done, and the steps.
inline std::pair<std::size_t, std::size_t> newton_path(NewtonProblem problem, double* w, double b,
                                                       const double* strengths, std::size_t count,
                                                       double gap, std::size_t most,
                                                       std::size_t steps, NewtonStrengths to) {
    const std::size_t n = problem.X.n_rows, d = problem.X.n_columns;
    std::vector<double> D(d);
    const double* unit = problem.D;
    problem.D = D.data();
    NewtonMethod method(problem, w, b);
    std::size_t taken = 0, k = 0;
    for (; k < count && taken < steps; ++k) {
        for (std::size_t j = 0; j < d; ++j) D[j] = strengths[k] * unit[j];
        method.begin();
        std::size_t here = 0;
        const auto is_open = [gap](NewtonBounds at) {
            return at.J - at.lower > gap * std::abs(at.J);
        };
        while (here < most && method.step(gap)) ++here;
        NewtonBounds found = method.bounds();  // at the best offset, where more may be left
        for (; is_open(found) && here < most && method.step(gap); ++here) found = method.bounds();
        taken += here + 1;
        std::copy(w, w + d, to.w + k * d);
        for (std::size_t i = 0; i < n; ++i)
            to.alpha[k * n + i] = method.slopes_seen()[i] / problem.total;
        to.b[k] = method.b();
        to.bounds[2 * k] = found.J;
        to.bounds[2 * k + 1] = found.lower;
    }
    return {k, taken};
}

}  // namespace fenchel

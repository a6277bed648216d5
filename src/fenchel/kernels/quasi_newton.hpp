// The inverse Hessian of L-BFGS (Nocedal 1980): what the last steps s and the changes y of the
// gradient along them tell of it. Before it is told anything it is a multiple of diag(1, .., 1, r):
// the last coordinate, an offset, may be far easier to move than the others.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "matrix.hpp"

namespace fenchel {

class InverseHessian {
  public:
    bool empty() const { return pairs_.empty(); }
    void forget(double last) {
        pairs_.clear();
        last_ = last;
    }

    /// A step and the change of the gradient along it, if that says anything.
    void learn(std::vector<double> s, std::vector<double> y) {
        const double rise = detail::dot(s.data(), y.data(), s.size());
        const double square =
            detail::dot(y.data(), y.data(), y.size()) + (last_ - 1) * y.back() * y.back();
        if (!(rise > kFlat * square)) return;
        if (pairs_.size() == kPairs) pairs_.pop_front();
        scale_ = rise / square;
        pairs_.push_back({std::move(s), std::move(y), 1 / rise, 0});
    }

    /// x <- B x, by the two loops over the pairs.
    void times(std::vector<double>& x) {
        const std::size_t n = x.size();
        for (auto pair = pairs_.rbegin(); pair != pairs_.rend(); ++pair) {
            pair->alpha = pair->rho * detail::dot(pair->s.data(), x.data(), n);
            for (std::size_t j = 0; j < n; ++j) x[j] -= pair->alpha * pair->y[j];
        }
        for (double& each : x) each *= scale_;
        x.back() *= last_;
        for (const Pair& pair : pairs_) {
            const double beta = pair.rho * detail::dot(pair.y.data(), x.data(), n);
            for (std::size_t j = 0; j < n; ++j) x[j] += (pair.alpha - beta) * pair.s[j];
        }
    }

  private:
    static constexpr std::size_t kPairs = 10;
    static constexpr double kFlat = 1e-12;  // curvature along y, in its own units

    struct Pair {
        std::vector<double> s, y;
        double rho, alpha;
    };

    std::deque<Pair> pairs_;
    double scale_ = 1, last_ = 1;  // r
};

}  // namespace fenchel

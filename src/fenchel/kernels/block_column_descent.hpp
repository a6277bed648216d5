// Block coordinate descent over columns of X that have K numbers each: the least of a quadratic
// (block_columns.hpp) with a penalty of single numbers or of groups.
//
//     q(D) + sum t |w| + m/2 w^2   over all numbers, or   q(D) + sum_g c_g |w_g|
//
// A step is on one group of columns, all other columns fixed: their Hessian G is made once, and the
// least within the group is sought by steps on single numbers, or of proximal gradients
//
//     w_g <- shrink(w_g - v / L, c_g / L),   v the slope,
//
// with an L that is raised wherever a step d has <d, G d> > L |d|^2, so that each lowers q. Epochs
// over those that are not 0 follow each epoch over all, and every few epochs a jump to where their
// sequence leads (column_descent.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "block_columns.hpp"
#include "column_descent.hpp"

namespace fenchel {

/// c_g of groups and their units; without c, the penalty of each number.
struct BlockPenalty {
    ColumnPenalty numbers;
    const double *c, *unit;
};

namespace detail {

inline double norm(const double* x, std::size_t n) {
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += x[k] * x[k];
    return std::sqrt(sum);
}

template <class Model>
class BlockDescent {
  public:
    BlockDescent(Model& model, const BlockPenalty& penalty, double* w)
        : model_(model),
          penalty_(penalty),
          w_(w),
          ahead_(model.first(model.groups())),
          to_(model.first(model.groups())),
          steepest_(model.groups()) {
        std::size_t largest = 0;
        for (std::size_t g = 0; g < model.groups(); ++g) largest = std::max(largest, model.size(g));
        for (auto* each : {&slope_, &step_, &moved_, &bent_}) each->resize(largest);
    }

    /// Epochs until no group violates its optimality by more than `tolerance`, or `most` of them.
    std::array<double, 2> run(double tolerance, std::size_t most) {
        double violation = 0;
        while (n_epochs_ < most) {
            violation = all();
            if (violation <= tolerance || !moved_any_) break;
            const double enough = std::max(0.3 * tolerance, 0.03 * violation);
            while (n_epochs_ < most && few() > enough && moved_any_) {
            }
        }
        return {violation, double(n_epochs_)};
    }

  private:
    double all() {
        double worst = 0;
        moved_any_ = false;
        for (std::size_t g = 0; g < model_.groups(); ++g) worst = std::max(worst, step(g));
        some_.clear();
        for (std::size_t g = 0; g < model_.groups(); ++g)
            if (!is_zero(g)) some_.push_back(g);
        finish();
        return worst;
    }

    double few() {
        double worst = 0;
        moved_any_ = false;
        for (const std::size_t g : some_) worst = std::max(worst, step(g));
        finish();
        return worst;
    }

    bool is_zero(std::size_t g) const {
        const double* w = w_ + model_.first(g);
        return std::all_of(w, w + model_.size(g), [](double each) { return each == 0; });
    }

    /// Lowers q in one group; how far it violated its optimality.
    double step(std::size_t g) {
        model_.slope(g, slope_.data());
        const double violation = violated(g);
        if (violation == 0) return 0;
        std::fill_n(step_.begin(), model_.size(g), 0.0);
        penalty_.c ? shrink(g) : shrink_each(g);
        const double* end = step_.data() + model_.size(g);
        if (std::any_of(std::as_const(step_).data(), end, [](double d) { return d != 0; })) {
            model_.move(g, step_.data());
            moved_any_ = true;
        }
        return violation;
    }

    double violated(std::size_t g) const {
        const std::size_t first = model_.first(g), size = model_.size(g);
        double worst = 0;
        if (!penalty_.c) {
            for (std::size_t k = 0; k < size; ++k)
                worst = std::max(worst,
                                 penalty_.numbers.violation(first + k, w_[first + k], slope_[k]));
            return worst;
        }
        const double length = norm(w_ + first, size), c = penalty_.c[g];
        if (length == 0) return std::max(0.0, norm(slope_.data(), size) - c) / penalty_.unit[g];
        for (std::size_t k = 0; k < size; ++k) {
            const double each = slope_[k] + c * w_[first + k] / length;
            worst += each * each;
        }
        return std::sqrt(worst) / penalty_.unit[g];
    }

    /// Sweeps over the numbers of a group, each to its best.
    void shrink_each(std::size_t g) {
        const std::size_t first = model_.first(g), size = model_.size(g);
        double longest = 0;
        for (std::size_t sweep = 0; sweep < kSweeps; ++sweep) {
            double here = 0;
            for (std::size_t k = 0; k < size; ++k) {
                double& w = w_[first + k];
                const double curvature = model_.curvature(g, k);
                const double d = penalty_.numbers.best(first + k, w, slope_[k], curvature) - w;
                if (d == 0) continue;
                w += d;
                step_[k] += d;
                here = std::max(here, std::abs(d));
                model_.follow_entry(g, k, d, slope_.data());
            }
            longest = std::max(longest, here);
            if (here <= kEnough * longest) break;
        }
    }

    /// Proximal gradient steps within a group.
    void shrink(std::size_t g) {
        const std::size_t first = model_.first(g), size = model_.size(g);
        double *w = w_ + first, &L = steepest_[g], longest = 0;
        for (std::size_t k = 0; k < size; ++k) L = std::max(L, model_.curvature(g, k));
        for (std::size_t sweep = 0; sweep < kSweeps; ++sweep) {
            const double here = try_shrink(g, L);
            if (here == 0) return;
            double bend = 0;
            for (std::size_t k = 0; k < size; ++k) bend += moved_[k] * bent_[k];
            if (bend > (1 + kSlack) * L * here * here) {
                L = (1 + kSlack) * bend / (here * here);
                continue;
            }
            for (std::size_t k = 0; k < size; ++k) {
                w[k] += moved_[k];
                step_[k] += moved_[k];
                slope_[k] += bent_[k];
            }
            longest = std::max(longest, here);
            if (here <= kEnough * longest) return;
        }
    }

    /// The step with this L, how it bends q's slopes, and its length.
    double try_shrink(std::size_t g, double L) {
        const std::size_t first = model_.first(g), size = model_.size(g);
        const double *w = w_ + first, c = penalty_.c[g];
        for (std::size_t k = 0; k < size; ++k) moved_[k] = L * w[k] - slope_[k];
        const double length = norm(moved_.data(), size);
        const double keep = length > c && L > 0 ? (1 - c / length) / L : 0.0;
        for (std::size_t k = 0; k < size; ++k) moved_[k] = keep * moved_[k] - w[k];
        // What is 0 stays so exactly: w - w is.
        model_.bend(g, moved_.data(), bent_.data());
        return norm(moved_.data(), size);
    }

    void finish() {
        ++n_epochs_;
        if (ahead_.add(w_) && ahead_.step(to_.data())) jump();
    }

    double value(std::size_t g, const double* w) const {
        const std::size_t first = model_.first(g), size = model_.size(g);
        if (penalty_.c) return penalty_.c[g] * norm(w + first, size);
        double sum = 0;
        for (std::size_t p = first; p < first + size; ++p) sum += penalty_.numbers.value(p, w[p]);
        return sum;
    }

    void jump() {
        const std::size_t d = to_.size();
        double change = model_.rise(to_.data());
        std::vector<double>& there = there_;
        there.resize(d);
        for (std::size_t p = 0; p < d; ++p) there[p] = w_[p] + to_[p];
        for (std::size_t g = 0; g < model_.groups(); ++g)
            change += value(g, there.data()) - value(g, w_);
        if (!(change < 0)) return;
        model_.jump();
        std::copy(there.begin(), there.end(), w_);
    }

    static constexpr std::size_t kSweeps = 20;  // within a group
    static constexpr double kEnough = 0.1;      // of the longest step: the last of them
    static constexpr double kSlack = 1e-3;      // of L

    Model& model_;
    const BlockPenalty& penalty_;
    double* w_;
    Extrapolation ahead_;
    std::vector<double> to_, there_, steepest_, slope_, step_, moved_, bent_;
    std::vector<std::size_t> some_;
    std::size_t n_epochs_ = 0;
    bool moved_any_ = false;
};

}  // namespace detail

/// Lowers q and the penalty from w, which is changed; (the violation met in the last epoch over
/// all, the epochs).
template <class Model>
std::array<double, 2> block_descend(Model& model, const BlockPenalty& penalty, double* w,
                                    double tolerance, std::size_t most) {
    return detail::BlockDescent<Model>(model, penalty, w).run(tolerance, most);
}

}  // namespace fenchel

// Coordinate descent over columns of X: the least of a quadratic with an L1 penalty.
//
//     q(w) = <u, X d + e> + 1/2 sum_i h_i (<x_i, d> + e)^2 + sum_j t_j |w_j| + m_j/2 w_j^2
//
// with d the change of w from where u, the slopes of the rows, was taken, and e that of an offset,
// which is minimised out: e = -(sum_i u_i + sum_i h_i <x_i, d>) / sum_i h_i at every d.
//
// The sums over rows are kept either as u itself, which a step on w_j changes along x_j, or through
// the Gram matrix X'diag(h) X of the few columns in question. Epochs over those that are not 0
// follow each epoch over all (Friedman et al. 2010), and every few epochs a jump to where their
// sequence seems to lead (Anderson's extrapolation: Bertrand and Massias 2021), if q falls by it.
// Where these are slow, those that are not 0 go towards the least of q among the w of their signs:
// by the factor of their Gram matrix where that is known, else by conjugate gradients.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "column_models.hpp"
#include "triangular_factor.hpp"

namespace fenchel {

/// t_j and m_j, and the unit in which a violation of the optimality of w_j is measured.
struct ColumnPenalty {
    const double *t, *m, *unit;

    double value(std::size_t p, double w) const { return t[p] * std::abs(w) + 0.5 * m[p] * w * w; }

    /// How far 0 is from the subdifferential at w_p, given the slope of the rest.
    double violation(std::size_t p, double w, double slope) const {
        const double excess = w == 0 ? std::max(0.0, std::abs(slope) - t[p])
                                     : std::abs(slope + m[p] * w + std::copysign(t[p], w));
        return excess / unit[p];
    }

    /// Argmin over w of slope (w - w0) + curvature/2 (w - w0)^2 + t |w| + m/2 w^2.
    double best(std::size_t p, double w0, double slope, double curvature) const {
        const double total = curvature + m[p];
        if (!(total > 0)) return t[p] > 0 ? 0.0 : w0;  // nothing but the penalty moves it
        const double v = curvature * w0 - slope;
        return std::copysign(std::max(0.0, std::abs(v) - t[p]), v) / total;
    }
};

namespace detail {

/// Where a sequence of vectors leads: the mean of the last ones whose steps cancel best.
class Extrapolation {
  public:
    explicit Extrapolation(std::size_t size) : size_(size), kept_((kSteps + 1) * size) {}

    void restart() { n_ = 0; }

    /// Adds the next vector; whether there are enough of them.
    bool add(const double* w) {
        std::copy(w, w + size_, kept_.begin() + std::ptrdiff_t(n_ * size_));
        return n_++ == kSteps;
    }

    /// The step from the last vector to the limit; false where none can be told.
    bool step(double* out) {
        n_ = 0;
        std::array<std::array<double, kSteps>, kSteps> U{};
        double trace = 0;
        for (std::size_t a = 0; a < kSteps; ++a)
            for (std::size_t b = 0; b <= a; ++b) {
                double sum = 0;
                for (std::size_t p = 0; p < size_; ++p) sum += moved(a, p) * moved(b, p);
                U[a][b] = sum;
                if (a == b) trace += sum;
            }
        for (std::size_t a = 0; a < kSteps; ++a) U[a][a] += 1e-12 * trace;
        std::array<double, kSteps> c{};
        if (!(trace > 0) || !solve(U, c)) return false;
        const double* last = kept_.data() + kSteps * size_;
        for (std::size_t p = 0; p < size_; ++p) {
            double sum = 0;
            for (std::size_t a = 0; a < kSteps; ++a)
                sum += c[a] * (kept_[(a + 1) * size_ + p] - last[p]);
            out[p] = sum;
        }
        return true;
    }

  private:
    static constexpr std::size_t kSteps = 5;

    double moved(std::size_t a, std::size_t p) const {
        return kept_[(a + 1) * size_ + p] - kept_[a * size_ + p];
    }

    /// c with U c = 1, scaled to add up to 1; U's lower triangle becomes its Cholesky factor.
    static bool solve(std::array<std::array<double, kSteps>, kSteps>& U,
                      std::array<double, kSteps>& c) {
        for (std::size_t a = 0; a < kSteps; ++a) {
            for (std::size_t b = 0; b <= a; ++b) {
                double sum = U[a][b];
                for (std::size_t k = 0; k < b; ++k) sum -= U[a][k] * U[b][k];
                if (a == b && !(sum > 0)) return false;
                U[a][b] = a == b ? std::sqrt(sum) : sum / U[b][b];
            }
        }
        for (std::size_t a = 0; a < kSteps; ++a) {
            double sum = 1;
            for (std::size_t k = 0; k < a; ++k) sum -= U[a][k] * c[k];
            c[a] = sum / U[a][a];
        }
        double total = 0;
        for (std::size_t a = kSteps; a-- > 0;) {
            for (std::size_t k = a + 1; k < kSteps; ++k) c[a] -= U[k][a] * c[k];
            c[a] /= U[a][a];
            total += c[a];
        }
        for (double& each : c) each /= total;
        return std::isfinite(total) && total != 0;
    }

    std::size_t size_, n_ = 0;
    std::vector<double> kept_;
};

template <class Model>
class Descent {
  public:
    Descent(Model& model, const ColumnPenalty& penalty, double* w)
        : model_(model),
          penalty_(penalty),
          w_(w),
          ahead_(model.size()),
          to_(model.size()),
          residual_(model.size()) {
        some_.reserve(model.size());
    }

    /// Epochs until no column violates its optimality by more than `tolerance`, or `most` of them.
    std::array<double, 2> run(double tolerance, std::size_t most) {
        double violation = 0;
        while (n_epochs_ < most) {
            violation = all();
            if (violation <= tolerance || !moved_) break;
            const double enough = std::max(0.3 * tolerance, 0.03 * violation);
            choose();
            std::size_t until_newton = epochs_to_newton();
            for (double here = few(); n_epochs_ < most && here > enough && moved_;) {
                const bool jumps = --until_newton == 0;
                if (jumps && !newton()) break;
                const double before = std::exchange(here, few());
                if (!jumps) continue;
                pays_ = kKnowsSlopes || here <= kWorth * before;
                until_newton = epochs_to_newton();
            }
        }
        return {violation, double(n_epochs_)};
    }

  private:
    double all() {
        double worst = 0;
        moved_ = false;
        for (std::size_t p = 0; p < model_.size(); ++p) worst = std::max(worst, step(p));
        finish();
        if constexpr (kKnowsSlopes) {
            worst = 0;
            for (std::size_t p = 0; p < model_.size(); ++p) worst = std::max(worst, left(p));
        }
        return worst;
    }

    double few() {
        double worst = 0;
        moved_ = false;
        for (const std::size_t p : some_) worst = std::max(worst, step(p));
        finish();
        if constexpr (kKnowsSlopes) {
            worst = 0;
            for (const std::size_t p : some_) worst = std::max(worst, left(p));
        }
        return worst;
    }

    /// Those that are not 0.
    void choose() {
        some_.clear();
        for (std::size_t p = 0; p < model_.size(); ++p)
            if (w_[p] != 0 || penalty_.t[p] == 0) some_.push_back(p);
    }

    double step(std::size_t p) {
        const double w = w_[p], slope = model_.slope(p);
        const double best = penalty_.best(p, w, slope, model_.curvature(p));
        if (best != w) {
            w_[p] = best;
            model_.move(p, best - w);
            moved_ = true;
        }
        return penalty_.violation(p, w, slope);
    }

    /// Until columns that are 0 have most likely come to stay so; never, where it did not pay.
    std::size_t epochs_to_newton() const {
        if (kKnowsSlopes) return kEpochsToNewton + some_.size() / 5;
        return pays_ ? kEpochsToConjugateSteps : kNowhere;
    }

    /// Steps to the least of q among the w of these signs, as far as q falls; a column that gets to
    /// 0 on the way stays there, and the rest go on. False where nothing moves.
    bool newton() {
        std::erase_if(some_, [&](std::size_t p) { return w_[p] == 0 && penalty_.t[p] > 0; });
        ahead_.restart();
        if (some_.empty()) return false;
        if constexpr (!kKnowsSlopes) {
            conjugate_gradients();
            return search() != kNowhere;
        } else {
            if (!factorise()) return false;
            for (bool first = true;; first = false) {
                residual_.clear();
                for (const std::size_t p : some_)
                    residual_.push_back(-model_.slope(p) - penalty_.m[p] * w_[p] - pull(p));
                factor_.substitute(residual_);
                factor_.substitute_back(residual_);
                std::fill(to_.begin(), to_.end(), 0.0);
                for (std::size_t a = 0; a < some_.size(); ++a) to_[some_[a]] = residual_[a];
                const std::size_t landed = search();
                if (landed == kNowhere) return !first;
                if (landed == model_.size() || some_.size() == 1) return true;
                const auto place = std::find(some_.begin(), some_.end(), landed);
                factor_.remove(std::size_t(place - some_.begin()), {});
                some_.erase(place);
            }
        }
    }

    /// The way to that least as far as a few steps of conjugate gradients lead, in units in which
    /// each column has the curvature 1. A common mean of the columns, which epochs take long to
    /// find, is one large eigenvalue, and costs one step.
    void conjugate_gradients() {
        std::fill(to_.begin(), to_.end(), 0.0);
        std::vector<double> way(model_.size()), bent(model_.size()), left(model_.size());
        for (const std::size_t p : some_)
            left[p] = -model_.slope(p) - penalty_.m[p] * w_[p] - pull(p);
        const auto scaled = [&](std::size_t p) {
            const double curvature = model_.curvature(p) + penalty_.m[p];
            return curvature > 0 ? left[p] / curvature : 0.0;
        };
        double before = 0, first = 0;
        for (std::size_t k = 0; k <= kConjugateSteps; ++k) {
            double size = 0;
            for (const std::size_t p : some_) size += left[p] * scaled(p);
            if (k == 0) first = size;
            if (k == kConjugateSteps || !(size > kSettled * first)) break;
            double curvature = 0;
            for (const std::size_t p : some_) way[p] = scaled(p) + (k ? size / before * way[p] : 0);
            model_.bend(way.data(), some_, bent.data());
            for (const std::size_t p : some_) {
                bent[p] += penalty_.m[p] * way[p];
                curvature += bent[p] * way[p];
            }
            if (!(curvature > 0)) break;
            for (const std::size_t p : some_) {
                to_[p] += size / curvature * way[p];
                left[p] -= size / curvature * bent[p];
            }
            before = size;
            ++n_epochs_;
        }
    }

    /// The slope of t |w| at w_p.
    double pull(std::size_t p) const {
        return w_[p] == 0 ? 0.0 : std::copysign(penalty_.t[p], w_[p]);
    }

    /// The factor of the Gram matrix in `some_`. Where columns depend on each other, a little is
    /// added to the diagonal.
    bool factorise() {
        factor_.clear();
        std::vector<double>& y = residual_;
        for (std::size_t a = 0; a < some_.size(); ++a) {
            y.clear();
            for (std::size_t b = 0; b < a; ++b) y.push_back(model_.entry(some_[a], some_[b]));
            factor_.substitute(y);
            const double square = model_.entry(some_[a], some_[a]);
            const double left =
                (1 + 1e-10) * square + penalty_.m[some_[a]] - dot_of(y.data(), y.data(), a);
            if (!(left > 0)) return false;
            factor_.append(y, std::sqrt(left));
        }
        return true;
    }

    /// Goes along `to_` to the least of q, which is piecewise quadratic there: it bends where a w_p
    /// changes its sign. The column that is 0 from now on, or the number of columns if none is.
    std::size_t search() {
        const double all = model_.rise(to_.data());  // also with the change of the slopes
        double slope = 0, curvature = 2 * all;
        kinks_.clear();
        for (const std::size_t p : some_) {
            const double w = w_[p], step = to_[p], rate = step * model_.slope(p);
            curvature += penalty_.m[p] * step * step - 2 * rate;
            slope += rate + penalty_.m[p] * w * step + pull(p) * step;
            if (w * step < 0) kinks_.push_back({-w / step, p});
        }
        if (!(slope < 0)) return kNowhere;
        std::sort(kinks_.begin(), kinks_.end());
        double at = 0;
        std::size_t landed = model_.size();
        for (const auto& [eta, p] : kinks_) {
            if (slope + curvature * (eta - at) >= 0) break;
            slope += curvature * (eta - at) + 2 * penalty_.t[p] * std::abs(to_[p]);
            at = eta;
            if (slope < 0) continue;
            landed = p;
            break;
        }
        if (slope < 0) {
            if (!(curvature > 0)) return kNowhere;
            at -= slope / curvature;
        }
        for (double& each : to_) each *= at;
        if (landed < model_.size()) to_[landed] = -w_[landed];
        model_.rise(to_.data());
        model_.jump();
        for (const std::size_t p : some_) w_[p] += to_[p];
        if (landed < model_.size()) w_[landed] = 0.0;
        return landed;
    }

    /// The violation that is left; those that steps meet on the way say too little of it where
    /// columns are alike, as each undoes a part of what the others did.
    double left(std::size_t p) { return penalty_.violation(p, w_[p], model_.slope(p)); }

    void finish() {
        ++n_epochs_;
        if (ahead_.add(w_) && ahead_.step(to_.data())) jump();
    }

    void jump() {
        double change = model_.rise(to_.data());
        for (std::size_t p = 0; p < model_.size(); ++p)
            if (to_[p] != 0) change += penalty_.value(p, w_[p] + to_[p]) - penalty_.value(p, w_[p]);
        if (!(change < 0)) return;
        model_.jump();
        for (std::size_t p = 0; p < model_.size(); ++p) w_[p] += to_[p];
    }

    Model& model_;
    const ColumnPenalty& penalty_;
    double* w_;
    static constexpr bool kKnowsSlopes = requires(Model m) { m.entry(0, 0); };  // without a pass
    static constexpr std::size_t kEpochsToNewton = 5, kEpochsToConjugateSteps = 10,
                                 kConjugateSteps = 10, kNowhere = std::size_t(-1);
    static constexpr double kSettled = 1e-4;  // of a squared length
    static constexpr double kWorth = 0.3;     // of a violation: what these must leave at most

    Extrapolation ahead_;
    std::vector<double> to_, residual_;
    std::vector<std::pair<double, std::size_t>> kinks_;
    TriangularFactor factor_;
    std::vector<std::size_t> some_;
    std::size_t n_epochs_ = 0;
    bool moved_ = false;
    bool pays_ = true;  // the last steps of conjugate gradients were worth their passes
};

}  // namespace detail

/// Lowers q from w, which is changed; (the violation met in the last epoch over all, the epochs).
template <class Model>
std::array<double, 2> descend(Model& model, const ColumnPenalty& penalty, double* w,
                              double tolerance, std::size_t most) {
    return detail::Descent<Model>(model, penalty, w).run(tolerance, most);
}

}  // namespace fenchel

// The lasso and the elastic net at one strength after the other, through the Gram matrix.
//
// With rows of shares p_i, sum_i p_i = 1, taken about their means where there is an offset,
// G = sum_i p_i x_i x_i', c = sum_i p_i y_i x_i and q = 1/2 sum_i p_i y_i^2 tell all:
//
//     J(w) = R(w) + sum_j t_j |w_j| + m_j/2 w_j^2        t = lambda t1, m = lambda m1
//     R(w) = q - <c, w> + 1/2 <w, G w>                   v = R'(w) = G w - c
//
// So does the dual. At s times the slopes alpha_i = p_i (<x_i, w> - y_i) of the rows it is
//
//     D(s) = s (2q - <c, w>) - s^2 R(w) - sum_{m_j > 0} max(0, s |v_j| - t_j)^2 / (2 m_j)
//
// where s |v_j| <= t_j for all j with m_j = 0. It is concave: without its last sum it is largest
// at s = (2q - <c, w>) / (2 R(w)), or as near to that as the box allows. A strength is done when
// J(w) - D(s) is as small as asked, and the next starts from its w (Friedman et al. 2010).
//
// Round-off. Let ||y|| and ||x_j|| be the roots of the mean squares, not about the means. Each of
// the sums above has terms of at most r = ||y|| + sum_j |w_j| ||x_j|| squared, and those of v_j of
// ||x_j|| r; a sum over rows is off by kRoundOff of that. What that may add to D and to |v_j| is
// taken off the bound, and where it is most of the gap, the rows themselves must be asked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "column_descent.hpp"

namespace fenchel {

/// The problem, but for its strength; `size` has the ||x_j||, and `size_y` is ||y||.
struct GramProblem {
    const double *G, *c;
    double q;
    const double* size;
    double size_y;
    const double *t1, *m1;
    std::size_t d;
};

/// What is known of J at some w: J(w), and a bound of its least, round-off taken off.
struct GramBounds {
    double J, bound;
};

class GramPath {
  public:
    /// `round_off` is that of a sum over rows, relative to its terms.
    GramPath(const GramProblem& at, double round_off)
        : at_(at), round_off_(round_off), v_(at.d), t_(at.d), m_(at.d), unit_(at.d) {}

    /// Lowers J at this strength from w until its certified gap is at most `gap`, or `most` epochs.
    GramBounds solve(double strength, double gap, std::size_t most, double* w) {
        for (std::size_t j = 0; j < at_.d; ++j) {
            t_[j] = strength * at_.t1[j];
            m_[j] = strength * at_.m1[j];
            unit_[j] = t_[j] > 0 ? t_[j] : strength;
        }
        GramBounds known = bounds(w);
        double tolerance = kFirst * gap;
        for (std::size_t round = 0; round < kRounds && open(known, gap); ++round) {
            GramModel model(at_.G, at_.d, at_.d, 0.0, v_.data());
            descend(model, ColumnPenalty{t_.data(), m_.data(), unit_.data()}, w, tolerance, most);
            known = bounds(w);
            if (tolerance < blur_) break;  // no violation is known any better
            tolerance *= kTighter;
        }
        return known;
    }

  private:
    static constexpr std::size_t kRounds = 8;
    static constexpr double kFirst = 0.1, kTighter = 0.03;

    static bool open(const GramBounds& known, double gap) {
        return std::isfinite(known.J) && known.J - known.bound > gap * std::abs(known.J);
    }

    /// Computes v anew, and with it both sides.
    GramBounds bounds(const double* w) {
        slopes(w);
        double vw = 0, cw = 0, penalty = 0, reach = at_.size_y, steepest = 0;
        for (std::size_t j = 0; j < at_.d; ++j) {
            vw += v_[j] * w[j];
            cw += at_.c[j] * w[j];
            penalty += t_[j] * std::abs(w[j]) + 0.5 * m_[j] * w[j] * w[j];
            reach += at_.size[j] * std::abs(w[j]);
            steepest = std::max(steepest, at_.size[j] / unit_[j]);
        }
        blur_ = round_off_ * reach * steepest;
        const double R = std::max(0.0, at_.q + 0.5 * (vw - cw)), linear = 2 * at_.q - cw;
        const double inside = scale(reach), best = R > 0 ? linear / (2 * R) : 1.0;
        const double most = std::max(dual(std::clamp(best, 0.0, inside), linear, R, reach),
                                     dual(std::min(1.0, inside), linear, R, reach));
        return {penalty + R + round_off_ * reach * reach, std::max(most, 0.0)};
    }

    void slopes(const double* w) {
        for (std::size_t j = 0; j < at_.d; ++j) v_[j] = -at_.c[j];
        for (std::size_t k = 0; k < at_.d; ++k) {
            if (w[k] == 0) continue;
            const double* column = at_.G + k * at_.d;
            for (std::size_t j = 0; j < at_.d; ++j) v_[j] += w[k] * column[j];
        }
    }

    /// The most that v_j may be, as far as is known.
    double magnitude(std::size_t j, double reach) const {
        return std::abs(v_[j]) + round_off_ * at_.size[j] * reach;
    }

    /// The largest s for which s |v_j| <= t_j where that must hold.
    double scale(double reach) const {
        double s = std::numeric_limits<double>::max();
        for (std::size_t j = 0; j < at_.d; ++j) {
            const double v = magnitude(j, reach);
            if (m_[j] == 0 && s * v > t_[j]) s = t_[j] / v;
        }
        return s;
    }

    double dual(double s, double linear, double R, double reach) const {
        double D = s * linear - s * s * R - round_off_ * (2 * s + s * s) * reach * reach;
        for (std::size_t j = 0; j < at_.d; ++j) {
            const double over = m_[j] > 0 ? s * magnitude(j, reach) - t_[j] : 0.0;
            if (over > 0) D -= over * over / (2 * m_[j]);
        }
        return D;
    }

    const GramProblem at_;
    double round_off_, blur_ = 0;  // what is not known of violations
    std::vector<double> v_, t_, m_, unit_;
};

}  // namespace fenchel

// Proximal Newton steps on few columns of a linear risk under L1 or the elastic net (Yuan, Ho and
// Lin 2012: newGLMNET).
//
//     J(w, b) = sum_i p_i l(<x_i, w> + b, y_i) + sum_j t_j |w_j| + m_j/2 w_j^2
//
// A step is coordinate descent on the quadratic model of the first sum (column_descent.hpp), with
// alpha_i = p_i l' and h_i = p_i l'' of the rows, through its Gram matrix in those columns that are
// not 0 or may leave it, as |X'alpha|_j is not far below t_j; then a search along the
// line to its minimiser: J must fall by a part of what its slope and the change of the penalty
// promise (Tseng and Yun 2009). Where the rows are flat the model has no minimum, so that their h
// is at least a small part of the loss's largest curvature; the part grows where a search has to
// come back far, and shrinks where it need not.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "column_descent.hpp"
#include "hessian.hpp"

namespace fenchel {

/// The rows: their labels and weights, of which `total` is the sum.
struct WeightedRows {
    ScalarLoss loss;
    const double *y, *s;
    double total;
    std::size_t n;

    double value(const double* z, double b) const {
        const Rows rows{z, y, s};
        return with_loss(loss, [&](const auto& l) { return sums(l, rows, b, n); }).value / total;
    }

    /// alpha and h at the scores z + b; the mean loss.
    double at(const double* z, double b, double* alpha, double* h, std::int32_t* space) const {
        const Rows rows{z, y, s};
        const double sum = with_loss(loss, [&](const auto& l) {
            curvatures(l, rows, b, h, space, n);
            return slopes(l, rows, b, alpha, 0, n);
        });
        for (std::size_t i = 0; i < n; ++i) {
            alpha[i] /= total;
            h[i] /= total;
        }
        return sum / total;
    }
};

template <class Columns>
class ColumnNewton {
  public:
    /// `smoothness` is the loss's largest curvature, or 0 if it has none.
    ColumnNewton(const Columns& X, const WeightedRows& rows, const ColumnPenalty& penalty,
                 double smoothness, bool intercept, double* z, double b, double* w)
        : X_(X),
          rows_(rows),
          penalty_(penalty),
          smoothness_(smoothness),
          intercept_(intercept),
          z_(z),
          w_(w),
          b(b),
          alpha_(rows.n),
          h_(rows.n),
          q_(rows.n),
          space_(rows.n),
          there_(rows.n),
          bent_(rows.n),
          v_(X.n_columns),
          mean_(X.n_columns),
          to_(X.n_columns),
          next_(X.n_columns),
          slope_(X.n_columns),
          t_(X.n_columns),
          m_(X.n_columns),
          unit_(X.n_columns),
          G_(X.n_columns * X.n_columns) {}

    /// Steps until no column violates its optimality by more than `tolerance`, or `most` of them.
    /// The number of steps, in which J fell.
    std::size_t run(double tolerance, std::size_t most) {
        for (std::size_t k = 0; k < most; ++k) {
            value_ = rows_.at(z_, b, alpha_.data(), h_.data(), bent_.data());
            const double worst = violation();
            if (!(worst > tolerance) || !step(kForcing * worst)) return k;
        }
        return most;
    }

  private:
    static constexpr double kForcing = 0.01, kSufficient = 0.01, kRoundOff = 2e-14;
    static constexpr double kLowest = 1e-9, kNear = 0.8;  // times t_j
    static constexpr int kTrials = 40, kMany = 3;
    static constexpr std::size_t kEpochs = 1000;

    /// Of the columns, with v = X'alpha, and of the offset relative to what its slopes add up from.
    double violation() {
        double worst = 0, sum = 0, size = 0;
        for (std::size_t i = 0; i < rows_.n; ++i) {
            sum += alpha_[i];
            size += std::abs(alpha_[i]);
        }
        alpha_sum_ = intercept_ ? sum : 0.0;
        if (intercept_ && std::abs(sum) > kRoundOff * size) worst = std::abs(sum) / size;
        for (std::size_t j = 0; j < X_.n_columns; ++j) {
            v_[j] = product(X_, j, alpha_.data());
            worst = std::max(worst, penalty_.violation(j, w_[j], v_[j]));
        }
        return worst;
    }

    /// The columns of the model, and what is known of them.
    void choose() {
        which_.clear();
        for (std::size_t j = 0; j < X_.n_columns; ++j) {
            if (w_[j] == 0 && std::abs(v_[j]) < kNear * penalty_.t[j]) continue;
            const std::size_t p = which_.size();
            next_[p] = w_[j];
            slope_[p] = v_[j];
            t_[p] = penalty_.t[j];
            m_[p] = penalty_.m[j];
            unit_[p] = penalty_.unit[j];
            which_.push_back(std::int32_t(j));
        }
    }

    /// The Gram matrix of the model, about the means of the columns where there is an offset.
    void model() {
        const double least = floor_ * smoothness_ / rows_.total;
        h_sum_ = 0;
        for (std::size_t i = 0; i < rows_.n; ++i) {
            h_[i] = std::max(h_[i], least * (rows_.s ? rows_.s[i] : 1.0));
            h_sum_ += h_[i];
        }
        gram(X_, which_.data(), which_.size(), {h_.data(), 0.0}, space_.data(), G_.data());
        if (!intercept_ || !(h_sum_ > 0)) return;
        const std::size_t size = which_.size();
        for (std::size_t p = 0; p < size; ++p)
            mean_[p] = product(X_, std::size_t(which_[p]), h_.data()) / h_sum_;
        for (std::size_t p = 0; p < size; ++p)
            for (std::size_t q = 0; q < size; ++q) G_[p * size + q] -= h_sum_ * mean_[p] * mean_[q];
    }

    bool step(double tolerance) {
        choose();
        model();
        const std::size_t size = which_.size();
        const double first = intercept_ && h_sum_ > 0 ? -alpha_sum_ / h_sum_ : 0.0;
        double offset = first;
        for (std::size_t p = 0; p < size; ++p) slope_[p] += first * h_sum_ * mean_[p];
        GramModel quadratic(G_.data(), size, size, 0.0, slope_.data());
        descend(quadratic, chosen(), next_.data(), tolerance, kEpochs);
        double before = 0, after = 0;
        std::fill(q_.begin(), q_.end(), 0.0);
        for (std::size_t p = 0; p < size; ++p) {
            const double w = w_[which_[p]];
            to_[p] = next_[p] - w;
            before += chosen().value(p, w);
            after += chosen().value(p, next_[p]);
            if (to_[p] == 0) continue;
            add_column(X_, std::size_t(which_[p]), to_[p], {nullptr, 1.0}, q_.data());
            offset -= mean_[p] * to_[p];
        }
        const double rate = offset * alpha_sum_ + detail::dot_of(alpha_.data(), q_.data(), rows_.n);
        return search(offset, before, std::min(rate + after - before, 0.0));
    }

    /// Moves along `to_` and the offset as far as J falls by a part of what is promised.
    bool search(double offset, double penalty, double promised) {
        const double J = value_ + penalty;
        double eta = 1;
        for (int trial = 0; trial < kTrials; ++trial, eta *= 0.5) {
            double there = 0;
            for (std::size_t p = 0; p < which_.size(); ++p) {
                if (eta < 1) next_[p] = w_[which_[p]] + eta * to_[p];
                there += chosen().value(p, next_[p]);
            }
            for (std::size_t i = 0; i < rows_.n; ++i) there_[i] = z_[i] + eta * q_[i];
            there += rows_.value(there_.data(), b + eta * offset);
            if (!(there <= J + kSufficient * eta * promised + kRoundOff * std::abs(J))) continue;
            const double factor = trial > kMany ? 100.0 : trial == 0 ? 0.1 : 1.0;
            floor_ = std::clamp(factor * floor_, kLowest, 1.0);
            bool moved = offset != 0;
            for (std::size_t p = 0; p < which_.size(); ++p) {
                moved = moved || next_[p] != w_[which_[p]];
                w_[which_[p]] = next_[p];
            }
            std::copy(there_.begin(), there_.end(), z_);
            b += eta * offset;
            return moved;
        }
        return false;
    }

    /// The penalty of the model's columns.
    ColumnPenalty chosen() const { return {t_.data(), m_.data(), unit_.data()}; }

    const Columns X_;
    const WeightedRows rows_;
    const ColumnPenalty penalty_;
    double smoothness_;
    bool intercept_;
    double *z_, *w_;

  public:
    double b;

  private:
    std::vector<double> alpha_, h_, q_, space_, there_;
    std::vector<std::int32_t> bent_, which_;
    std::vector<double> v_;                                            // X'alpha
    std::vector<double> mean_, to_, next_, slope_, t_, m_, unit_, G_;  // of the model's columns
    double value_ = 0, alpha_sum_ = 0, h_sum_ = 0, floor_ = 1e-6;
};

}  // namespace fenchel

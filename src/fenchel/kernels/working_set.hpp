// Dual ascent on few rows of a kernel problem, with all products of pairs of them at hand: SMO with
// libsvm's second-order choice of pairs (Fan, Chen and Lin 2005), for any piecewise quadratic loss.
//
// With shares c_i = s_i/S, slopes a_i and alpha_i = c_i a_i, the dual is
//
//     D = -sum_i c_i l*(a_i) - alpha'K alpha / (2 lambda),    z = -K alpha / lambda its scores.
//
// The scores at which a_i is a slope of l are an interval [low_i, high_i], the subdifferential of
// l* at a_i. Without an intercept D is largest where z_i is in it for all i. With one, where z_i +
// b is, for one b: so a pair with low_i - z_i > high_j - z_j is not optimal, and D rises where
// alpha_i falls and alpha_j rises by the same, which keeps their sum. Along such a move
//
//     dD/dt = low_i(a_i - t/c_i) - high_j(a_j + t/c_j) - (z_i - z_j) - eta t,
//     eta = (K_ii + K_jj - 2 K_ij) / lambda,
//
// which is linear in t from one end of a piece to the next: the best t is found exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "dual_ascent.hpp"

namespace fenchel {

/// The derivative of l* on one side of a slope, how fast it changes with the slope, and where on
/// that side the next piece begins.
struct Side {
    double score, rate, end;
};

namespace detail {

/// Calls visit(bottom, top, score at a, rate) for the pieces of l*, from the lowest slopes to the
/// highest, until it says that it is done.
template <class Loss, class Visit>
void conjugate_pieces(const Loss& loss, double y, double a, const Visit& visit) {
    auto pieces = loss.pieces(y);
    if constexpr (pieces.breaks.size() == 2)
        if (pieces.breaks[0].at > pieces.breaks[1].at)
            std::swap(pieces.breaks[0], pieces.breaks[1]);
    double slope = pieces.start, curvature = pieces.curvature;
    double bottom = curvature > 0 ? -HUGE_VAL : slope;
    for (const Piece& piece : pieces.breaks) {
        const double left = slope + curvature * piece.at, right = left + piece.jump;
        if (curvature > 0 && visit(bottom, left, (a - slope) / curvature, 1 / curvature)) return;
        if (piece.jump > 0 && visit(left, right, piece.at, 0.0)) return;
        slope += piece.jump - piece.bend * piece.at;
        curvature += piece.bend;
        bottom = right;
    }
    if (curvature > 0) visit(bottom, HUGE_VAL, (a - slope) / curvature, 1 / curvature);
}

}  // namespace detail

/// The side of smaller slopes; its score is -inf where there are none.
template <class Loss>
Side below(const Loss& loss, double y, double a) {
    Side found{-HUGE_VAL, 0.0, a};
    detail::conjugate_pieces(loss, y, a, [&](double bottom, double top, double score, double rate) {
        if (bottom < a && bottom < top) found = {score, rate, bottom};
        return a <= top;
    });
    return found;
}

/// The side of larger slopes; its score is inf where there are none.
template <class Loss>
Side above(const Loss& loss, double y, double a) {
    Side found{HUGE_VAL, 0.0, a};
    detail::conjugate_pieces(loss, y, a, [&](double bottom, double top, double score, double rate) {
        if (!(a < top) || !(bottom < top)) return false;
        found = {score, rate, top};
        return true;
    });
    return found;
}

/// The rows of a working set: n of them, K in rows of n numbers; a and z are moved.
struct WorkingSet {
    std::size_t n;
    const double *K, *y, *share;
    double *a, *z;
    double strength;
    bool intercept;
};

/// What came of it: the steps, and by how much the conditions are still violated.
struct Ascended {
    std::size_t steps;
    double violation;
};

namespace detail {

constexpr int kMostPieces = 16;

template <class Loss>
class Ascent {
  public:
    Ascent(const Loss& loss, const WorkingSet& at) : loss_(loss), at_(at), down_(at.n), up_(at.n) {
        for (std::size_t i = 0; i < at.n; ++i) look(i);
    }

    Ascended run(double enough, std::size_t most) {
        double violation = HUGE_VAL;
        for (std::size_t step = 0; step < most; ++step) {
            const auto [i, j, found] = at_.intercept ? pair() : single();
            violation = found;
            if (!(violation > enough)) return {step, violation};
            if (!move(i, j)) return {step, violation};
        }
        return {most, violation};
    }

  private:
    struct Choice {
        std::size_t falls, rises;  // n where no row does
        double violation;
    };

    double k(std::size_t i, std::size_t j) const { return at_.K[i * at_.n + j]; }

    void look(std::size_t i) {
        down_[i] = below(loss_, at_.y[i], at_.a[i]);
        up_[i] = above(loss_, at_.y[i], at_.a[i]);
    }

    /// The row that violates most, and the other for which the quadratic model of D rises most.
    Choice pair() const {
        const std::size_t n = at_.n;
        std::size_t i = n, j = n;
        double most = -HUGE_VAL, least = HUGE_VAL;
        for (std::size_t l = 0; l < n; ++l) {
            const double falls = down_[l].score - at_.z[l];
            if (falls > most) most = falls, i = l;
            least = std::min(least, up_[l].score - at_.z[l]);
        }
        if (i == n || !(most > least)) return {n, n, 0.0};
        const double* row = at_.K + i * n;
        const double own = k(i, i), bend = down_[i].rate / at_.share[i];
        double best = -1;
        for (std::size_t l = 0; l < n; ++l) {
            const double gap = most - (up_[l].score - at_.z[l]);
            if (!(gap > 0)) continue;
            const double eta =
                (own + k(l, l) - 2 * row[l]) / at_.strength + bend + up_[l].rate / at_.share[l];
            const double gain = gap * gap / std::max(eta, 1e-12 * own / at_.strength);
            if (gain > best) best = gain, j = l;
        }
        return {i, j, most - least};
    }

    /// The row on which a step makes D rise most, by its quadratic model.
    Choice single() const {
        const std::size_t n = at_.n;
        Choice found{n, n, 0.0};
        double best = 0;
        for (std::size_t l = 0; l < n; ++l) {
            const double falls = down_[l].score - at_.z[l], rises = at_.z[l] - up_[l].score;
            const bool down = falls > rises;
            const double gap = down ? falls : rises;
            if (!(gap > 0)) continue;
            found.violation = std::max(found.violation, gap);
            const double eta =
                k(l, l) / at_.strength + (down ? down_[l].rate : up_[l].rate) / at_.share[l];
            const double gain = gap * gap / std::max(eta, 1e-300);
            if (gain <= best) continue;
            best = gain;
            found.falls = down ? l : n;
            found.rises = down ? n : l;
        }
        return found;
    }

    /// alpha_i falls and alpha_j rises by the t that is best; false where that is nothing.
    bool move(std::size_t i, std::size_t j) {
        const bool falls = i < at_.n, rises = j < at_.n;
        if (!falls && !rises) return false;
        const double cross = falls && rises ? k(i, j) : 0.0;
        const double eta =
            ((falls ? k(i, i) : 0.0) + (rises ? k(j, j) : 0.0) - 2 * cross) / at_.strength;
        const double apart = (falls ? at_.z[i] : 0.0) - (rises ? at_.z[j] : 0.0);
        double t = 0;
        for (int piece = 0; piece < kMostPieces; ++piece) {
            const Side low = falls ? down_[i] : Side{0.0, 0.0, -HUGE_VAL};
            const Side high = rises ? up_[j] : Side{0.0, 0.0, HUGE_VAL};
            const double slope = low.score - high.score - apart - eta * t;
            if (!(slope > 0)) break;
            const double room_i = falls ? at_.share[i] * (at_.a[i] - low.end) : HUGE_VAL;
            const double room_j = rises ? at_.share[j] * (high.end - at_.a[j]) : HUGE_VAL;
            const double room = std::min(room_i, room_j);
            const double bend = eta + (falls ? low.rate / at_.share[i] : 0.0) +
                                (rises ? high.rate / at_.share[j] : 0.0);
            const double whole = bend > 0 ? slope / bend : HUGE_VAL;
            const double step = std::min(whole, room);
            if (!(step < HUGE_VAL)) break;
            if (falls) at_.a[i] = step == room_i ? low.end : at_.a[i] - step / at_.share[i];
            if (rises) at_.a[j] = step == room_j ? high.end : at_.a[j] + step / at_.share[j];
            t += step;
            if (falls) look(i);
            if (rises) look(j);
            if (whole <= room) break;
        }
        if (!(t > 0)) return false;
        const double by = t / at_.strength;
        const double* row_i = at_.K + (falls ? i : 0) * at_.n;
        const double* row_j = at_.K + (rises ? j : 0) * at_.n;
        const double by_i = falls ? by : 0.0, by_j = rises ? by : 0.0;
        for (std::size_t l = 0; l < at_.n; ++l) at_.z[l] += by_i * row_i[l] - by_j * row_j[l];
        return true;
    }

    const Loss& loss_;
    const WorkingSet& at_;
    std::vector<Side> down_, up_;
};

}  // namespace detail

/// Steps until conditions are violated by `enough` at most, or `most` of them.
template <class Loss>
Ascended ascend(const Loss& loss, const WorkingSet& at, double enough, std::size_t most) {
    if constexpr (detail::piecewise<Loss>) {
        return detail::Ascent<Loss>(loss, at).run(enough, most);
    } else {
        return {0, HUGE_VAL};
    }
}

/// The scores at which each a_i is a slope, [low_i, high_i]; false where the loss has no pieces.
template <class Loss>
bool conjugate_scores(const Loss& loss, const double* y, const double* a, std::size_t n,
                      double* low, double* high) {
    if constexpr (detail::piecewise<Loss>) {
        for (std::size_t i = 0; i < n; ++i) {
            low[i] = below(loss, y[i], a[i]).score;
            high[i] = above(loss, y[i], a[i]).score;
        }
    }
    return detail::piecewise<Loss>;
}

}  // namespace fenchel

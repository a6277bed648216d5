// Dual coordinate ascent over the rows of one shard (Hsieh et al. 2008; Shalev-Shwartz and Zhang
// 2013). The dual variable a_i of row i is a slope of its loss, and
//
//     v = -sum_i rate_i a_i x_i,    w_j = shrink(v_j),    b = centre - sum_i offset_rate_i a_i,
//
// are kept up to date. A step on row i, with z = <x_i, w> + b, moves a_i to
//
//     u = argmin l*(u) - u z + kappa_i/2 (u - a_i)^2,    kappa_i > half of rate_i <x_i, x_i>,
//
// which holds exactly if u is a slope of l at the score t = z - kappa_i (u - a_i) that comes of it:
// t + kappa_i l'(t) = z + kappa_i a_i. All losses are done from that one equation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "losses.hpp"
#include "matrix.hpp"

namespace fenchel {

/// Where a step ends: the score, the slope there, and whether the score is a kink of the loss.
struct Landing {
    double t, u;
    bool kink;
};

namespace detail {

/// The root of an increasing h in [low, high], from `start`: Newton's steps, kept in the bracket.
template <class H>
double increasing_root(const H& h, double low, double high, double start) {
    constexpr double enough = 1e-8;  // of a Newton step: the next would be its square
    double t = std::clamp(start, low, high);
    for (int k = 0; k < 100; ++k) {
        const auto [value, slope] = h(t);
        (value < 0 ? low : high) = t;
        const double step = -value / slope;
        const double next = t + step;
        if (std::abs(step) <= enough * (1 + std::abs(t))) return std::clamp(next, low, high);
        t = low < next && next < high ? next : 0.5 * (low + high);
    }
    return t;
}

template <class Loss>
constexpr bool piecewise = requires(const Loss& loss) { loss.pieces(0.0); };

/// t + kappa l'(t) = c for a piecewise quadratic loss: from piece to piece, in closed form.
template <class Loss>
    requires piecewise<Loss>
FENCHEL_INLINE Landing landing(const Loss& loss, double kappa, double c, double, double y) {
    auto pieces = loss.pieces(y);
    if constexpr (pieces.breaks.size() == 2)
        if (pieces.breaks[0].at > pieces.breaks[1].at)
            std::swap(pieces.breaks[0], pieces.breaks[1]);
    double slope = pieces.start, curvature = pieces.curvature;
    for (const Piece& piece : pieces.breaks) {
        const double left = slope + curvature * piece.at;
        if (c <= piece.at + kappa * left) break;
        if (c <= piece.at + kappa * (left + piece.jump))
            return {piece.at, std::clamp((c - piece.at) / kappa, left, left + piece.jump), true};
        slope += piece.jump - piece.bend * piece.at;
        curvature += piece.bend;
    }
    const double t = (c - kappa * slope) / (1 + kappa * curvature);
    return {t, slope + curvature * t, false};
}

/// Newton's steps in a bracket, of which the last is taken along the slope's tangent. They start
/// where the tangent at the old slope a leads, which is a step ahead of z for the price of a
/// logarithm. One number at a time, the library's functions are faster than those of
/// elementary.hpp. Of scores beyond 1e13 the round-off is more than enough: the bracket then ends
/// at two neighbours.
FENCHEL_INLINE Landing landing(const Logistic&, double kappa, double c, double z, double y) {
    constexpr double enough = 1e-3;  // of a step: the tangent's error is less than its square
    double low = y > 0 ? c : c - kappa, high = y > 0 ? c + kappa : c;
    const double a = (c - z) / kappa, p = -y * a, bend = kappa * p * (1 - p);
    const double start = bend > 0 ? (z - y * bend * std::log(p / (1 - p))) / (1 + bend) : z;
    double t = std::clamp(start, low, high);
    for (;;) {
        const double e = std::exp(-std::abs(t)), share = 1 / (1 + e);
        const double slope = -y * (y * t > 0 ? e * share : share), curvature = e * share * share;
        const double value = t + kappa * slope - c;
        (value < 0 ? low : high) = t;
        const double step = -value / (1 + kappa * curvature);
        if (std::abs(step) <= enough || !(low < high))
            return {t + step, slope + curvature * step, false};
        const double last = t;
        t = low < t + step && t + step < high ? t + step : 0.5 * (low + high);
        if (t == last) return {t, slope, false};
    }
}

/// The root of t + kappa exp(t) = total.
inline double exponential_root(double kappa, double total, double start) {
    const auto h = [&](double t) {
        const double e = kappa * std::exp(t);
        return Bend{t + e - total, 1 + e};
    };
    const double level = total > 0 ? std::log(total / kappa) : 0.0;  // where h(t) = t
    const double low = total > 0 ? std::min(0.0, level) : total - kappa * std::exp(total);
    const double high = total > 0 ? std::min(total, std::max(0.0, level)) : total;
    return increasing_root(h, low, high, start);
}

FENCHEL_INLINE Landing landing(const Exponential& loss, double kappa, double c, double z,
                               double y) {
    const double t = -y * exponential_root(kappa, -y * c, -y * z);
    return {t, loss(t, y).slope, false};
}

FENCHEL_INLINE Landing landing(const Poisson& loss, double kappa, double c, double z, double y) {
    const double t = exponential_root(kappa, c + kappa * y, z);
    return {t, loss(t, y).slope, false};
}

/// A smooth loss with a curvature that can tell in which bracket the score lies.
template <class Loss>
    requires requires(const Loss& loss) { loss.bracket(1.0, 0.0, 0.0); }
FENCHEL_INLINE Landing landing(const Loss& loss, double kappa, double c, double z, double y) {
    const auto [low, high] = loss.bracket(kappa, c, y);
    const auto h = [&](double t) {
        return Bend{t + kappa * loss(t, y).slope - c, 1 + kappa * loss.curvature(t, y)};
    };
    const double t = increasing_root(h, low, high, z);
    return {t, loss(t, y).slope, false};
}

/// How far the score z lies inside a piece on which the slope is constant; 0 where it is not.
template <class Loss>
FENCHEL_INLINE double slack(const Loss& loss, double z, double y) {
    if constexpr (piecewise<Loss>) {
        const auto pieces = loss.pieces(y);
        double curvature = pieces.curvature, distance = HUGE_VAL;
        for (const Piece& piece : pieces.breaks) {
            distance = std::min(distance, std::abs(z - piece.at));
            if (z > piece.at) curvature += piece.bend;
        }
        return curvature == 0 ? distance : 0.0;
    } else {
        return 0.0;
    }
}

// ---- Rows one at a time ----------------------------------------------------------------------

/// w_j = v_j.
struct Plain {
    FENCHEL_INLINE double operator()(double v, std::size_t) const { return v; }
};

/// w_j = soft(v_j, threshold_j) scale_j: the elastic net, and L2 with a weight for each column.
struct Shrunk {
    const double *threshold, *scale;
    FENCHEL_INLINE double operator()(double v, std::size_t j) const {
        const double above = std::abs(v) - threshold[j];
        return above > 0 ? std::copysign(above, v) * scale[j] : 0.0;
    }
};

template <class Value, class Pointer, class Column>
FENCHEL_INLINE double row_dot(const Csr<Value, Pointer, Column>& X, std::size_t i, const Plain&,
                              const double* v) {
    const auto k = static_cast<std::size_t>(X.row_start[i]);
    const auto end = static_cast<std::size_t>(X.row_start[i + 1]);
    return sparse_dot(X.column + k, X.value + k, end - k, 0, v);
}

template <class Value, class Pointer, class Column>
FENCHEL_INLINE double row_dot(const Csr<Value, Pointer, Column>& X, std::size_t i,
                              const Shrunk& shrink, const double* v) {
    double sum = 0;
    for (Pointer k = X.row_start[i]; k < X.row_start[i + 1]; ++k)
        sum += X.value[k] * shrink(v[X.column[k]], static_cast<std::size_t>(X.column[k]));
    return sum;
}

template <class Value, class Shrink>
FENCHEL_INLINE double row_dot(const Dense<Value>& X, std::size_t i, const Shrink& shrink,
                              const double* v) {
    const Value* x = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
    double sum[4] = {};
    std::size_t j = 0;
    for (; j + 4 <= X.n_columns; j += 4)
        for (std::size_t u = 0; u < 4; ++u)
            sum[u] +=
                x[static_cast<std::ptrdiff_t>(j + u) * X.column_stride] * shrink(v[j + u], j + u);
    for (; j < X.n_columns; ++j)
        sum[0] += x[static_cast<std::ptrdiff_t>(j) * X.column_stride] * shrink(v[j], j);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <class Value, class Pointer, class Column>
FENCHEL_INLINE void row_add(const Csr<Value, Pointer, Column>& X, std::size_t i, double by,
                            double* v) {
    const auto k = static_cast<std::size_t>(X.row_start[i]);
    const auto end = static_cast<std::size_t>(X.row_start[i + 1]);
    sparse_add(X.column + k, X.value + k, end - k, 0, by, v);
}

template <class Value>
FENCHEL_INLINE void row_add(const Dense<Value>& X, std::size_t i, double by, double* v) {
    const Value* x = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
    for (std::size_t j = 0; j < X.n_columns; ++j)
        v[j] += by * x[static_cast<std::ptrdiff_t>(j) * X.column_stride];
}

/// The rows come in random order: the next one's place in memory is known only here.
template <class Value, class Pointer, class Column>
FENCHEL_INLINE void fetch_row(const Csr<Value, Pointer, Column>& X, std::size_t i) {
    const auto k = static_cast<std::size_t>(X.row_start[i]);
    const auto end = std::min(static_cast<std::size_t>(X.row_start[i + 1]), k + 256);
    for (std::size_t l = k; l < end; l += 64 / sizeof(Column)) fetch(X.column + l);
    for (std::size_t l = k; l < end; l += 64 / sizeof(Value)) fetch(X.value + l);
}

template <class Value>
FENCHEL_INLINE void fetch_row(const Dense<Value>& X, std::size_t i) {
    const Value* x = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
    const std::size_t end = X.column_stride == 1 ? std::min<std::size_t>(X.n_columns, 512) : 1;
    for (std::size_t j = 0; j < end; j += 64 / sizeof(Value)) fetch(x + j);
}

/// SplitMix64: 64 random bits for each call.
struct Random {
    std::uint64_t state;
    std::uint64_t operator()() {
        std::uint64_t x = (state += 0x9e3779b97f4a7c15u);
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }
    /// A number below n (n < 2^32), as good as even.
    std::size_t below(std::size_t n) { return ((*this)() >> 32) * n >> 32; }
};

}  // namespace detail

/// The data of a shard's dual problem, each with an entry for each row; `offset` is null where no
/// number is added to the scores.
struct DualRows {
    const double *y, *rate, *kappa, *offset;
    FENCHEL_INLINE double shifted(double z, std::size_t i) const {
        return offset ? z + offset[i] : z;
    }
};

/// The dual point that a sweep moves; b changes by `offset_rate` where rate changes by 1.
struct DualPoint {
    double *a, *v;
    double b, offset_rate;
};

/// What came of a sweep.
struct Sweep {
    std::size_t n_active;  // rows that may move again
    std::size_t n_moved;   // of which these did, and come first
    double violation;      // how far a score had to move, at most
    double rise;           // of the dual, up to a factor
};

/// A step on each of the rows active[0..n), in random order. Rows that lie more than `margin`
/// inside a piece of their loss where its slope is constant, and have that slope, are let go.
template <class Matrix, class Shrink, class Loss>
Sweep sweep(const Matrix& X, const Loss& loss, const DualRows& rows, const Shrink& shrink,
            DualPoint& at, std::int32_t* active, std::size_t n, double margin, std::uint64_t seed) {
    detail::Random random{seed};
    for (std::size_t k = n; k > 1; --k) std::swap(active[k - 1], active[random.below(k)]);
    Sweep done{n, 0, 0.0, 0.0};
    for (std::size_t k = 0; k < done.n_active;) {
        const auto i = static_cast<std::size_t>(active[k]);
        if (k + 2 < done.n_active) detail::fetch_row(X, static_cast<std::size_t>(active[k + 2]));
        const double z = rows.shifted(detail::row_dot(X, i, shrink, at.v) + at.b, i);
        const double a = at.a[i], y = rows.y[i];
        const auto [t, u, kink] = detail::landing(loss, rows.kappa[i], z + rows.kappa[i] * a, z, y);
        if (u != a) {
            const double by = -rows.rate[i] * (u - a);
            detail::row_add(X, i, by, at.v);
            at.b += at.offset_rate * by;
            at.a[i] = u;
            done.violation = std::max(done.violation, std::abs(z - t));
            done.rise += rows.rate[i] * rows.kappa[i] * (u - a) * (u - a);
            std::swap(active[k++], active[done.n_moved++]);
        } else if (detail::slack(loss, z, y) > margin) {
            std::swap(active[k], active[--done.n_active]);
        } else {
            ++k;
        }
    }
    return done;
}

/// The rows on which a step may do something: all but those that a sweep would let go.
template <class Loss>
std::size_t movable(const Loss& loss, const double* z, const DualRows& rows, const double* a,
                    std::size_t n, double margin, std::int32_t* active) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double t = rows.shifted(z[i], i), y = rows.y[i];
        const bool resting =
            rows.kappa[i] == 0 || (loss(t, y).slope == a[i] && detail::slack(loss, t, y) > margin);
        active[count] = static_cast<std::int32_t>(i);
        count += !resting;
    }
    return count;
}

/// q_i = sum_j x_ij^2 scale_j; scale is null where it is 1
template <class Value, class Pointer, class Column>
void row_squares(const Csr<Value, Pointer, Column>& X, const double* scale, double* q) {
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        double sum = 0;
        for (Pointer k = X.row_start[i]; k < X.row_start[i + 1]; ++k) {
            const double x = static_cast<double>(X.value[k]);
            sum += x * x * (scale ? scale[X.column[k]] : 1.0);
        }
        q[i] = sum;
    }
}

template <class Value>
void row_squares(const Dense<Value>& X, const double* scale, double* q) {
    for (std::size_t i = 0; i < X.n_rows; ++i) {
        const Value* row = X.value + static_cast<std::ptrdiff_t>(i) * X.row_stride;
        double sum = 0;
        for (std::size_t j = 0; j < X.n_columns; ++j) {
            const double x =
                static_cast<double>(row[static_cast<std::ptrdiff_t>(j) * X.column_stride]);
            sum += x * x * (scale ? scale[j] : 1.0);
        }
        q[i] = sum;
    }
}

}  // namespace fenchel

// The scalar losses of losses/margin.py, residual.py and log_link.py, one struct each, and the
// loops over rows, written once. Comparisons are such that a score that is nan has the value nan: a
// w whose scores overflowed must not look like one without a loss.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include "elementary.hpp"
#include "simd.hpp"

namespace fenchel {

/// A loss at one score: its value and one subgradient in z.
struct Bend {
    double value;
    double slope;
};

/// A breakpoint of a piecewise quadratic loss: at the score `at` its slope jumps by `jump`, and its
/// curvature changes by `bend`.
struct Piece {
    double at, jump, bend;
};

/// A piecewise quadratic loss: left of all breaks its slope is start + curvature z.
template <std::size_t n>
struct Pieces {
    double start, curvature;
    std::array<Piece, n> breaks;
};

struct Perceptron {
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double u = y * z;
        return {u >= 0 ? 0.0 : -u, u < 0 ? -y : 0.0};
    }
    FENCHEL_INLINE double to_kink(double z, double) const { return z; }
    FENCHEL_INLINE Pieces<1> pieces(double y) const {
        return {y > 0 ? -1.0 : 0.0, 0.0, {{{0.0, 1.0, 0.0}}}};
    }
};

struct SquaredPerceptron {
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double r = y * z >= 0 ? 0.0 : z;
        return {0.5 * r * r, r};
    }
    FENCHEL_INLINE Pieces<1> pieces(double y) const {
        return {0.0, y > 0 ? 1.0 : 0.0, {{{0.0, 0.0, -y}}}};
    }
};

struct Hinge {
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double gap = 1 - y * z;
        return {gap <= 0 ? 0.0 : gap, gap > 0 ? -y : 0.0};
    }
    FENCHEL_INLINE double to_kink(double z, double y) const { return z - y; }
    FENCHEL_INLINE Pieces<1> pieces(double y) const {
        return {y > 0 ? -1.0 : 0.0, 0.0, {{{y, 1.0, 0.0}}}};
    }
};

struct SquaredHinge {
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double gap = 1 - y * z, inside = gap <= 0 ? 0.0 : gap;
        return {0.5 * inside * inside, -y * inside};
    }
    FENCHEL_INLINE Pieces<1> pieces(double y) const {
        return {y > 0 ? -1.0 : 0.0, y > 0 ? 1.0 : 0.0, {{{y, 0.0, -y}}}};
    }
};

struct SmoothedHinge {
    double mu;
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double gap = 1 - y * z, inside = gap <= 0 ? 0.0 : gap;
        const bool curved = inside < mu;
        return {curved ? inside * inside / (2 * mu) : inside - mu / 2,
                -y * (curved ? inside / mu : 1.0)};
    }
    FENCHEL_INLINE Pieces<2> pieces(double y) const {
        return {y > 0 ? -1.0 : 0.0, 0.0, {{{y * (1 - mu), 0.0, y / mu}, {y, 0.0, -y / mu}}}};
    }
};

struct Exponential {
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double e = exp_of(-y * z);
        return {e, -y * e};
    }
    FENCHEL_INLINE double curvature(double z, double y) const { return exp_of(-y * z); }
};

struct Logistic {
    /// One exponential, of -|u|, serves value and slope and cannot overflow.
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double u = y * z, size = std::abs(u);
        const double e = exp_of_negative(-size);
        return {log1p_of_fraction(e) + 0.5 * (size - u), -y * ((u < 0 ? 1.0 : e) / (1 + e))};
    }
    FENCHEL_INLINE double curvature(double z, double) const {
        const double e = exp_of_negative(-std::abs(z));
        return e / ((1 + e) * (1 + e));
    }
};

struct Novelty {
    double rho;
    FENCHEL_INLINE Bend operator()(double z, double) const {
        const double gap = rho - z;
        return {gap <= 0 ? 0.0 : gap, gap > 0 ? -1.0 : 0.0};
    }
    FENCHEL_INLINE double to_kink(double z, double) const { return z - rho; }
    FENCHEL_INLINE Pieces<1> pieces(double) const { return {-1.0, 0.0, {{{rho, 1.0, 0.0}}}}; }
};

struct SquaredError {
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double r = z - y;
        return {0.5 * r * r, r};
    }
    FENCHEL_INLINE Pieces<0> pieces(double y) const { return {-y, 1.0, {}}; }
};

struct AbsoluteError {
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double r = z - y, sign = r > 0 ? 1.0 : 0.0;
        return {r > 0 ? r : -r, sign - (r < 0 ? 1.0 : 0.0)};
    }
    FENCHEL_INLINE double to_kink(double z, double y) const { return z - y; }
    FENCHEL_INLINE Pieces<1> pieces(double y) const { return {-1.0, 0.0, {{{y, 2.0, 0.0}}}}; }
};

struct Quantile {
    double q;
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double r = z - y, slope = r > 0 ? 1 - q : -q;
        return {slope * r, slope};
    }
    FENCHEL_INLINE double to_kink(double z, double y) const { return z - y; }
    FENCHEL_INLINE Pieces<1> pieces(double y) const { return {-q, 0.0, {{{y, 1.0, 0.0}}}}; }
};

struct Expectile {
    double q;
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double r = z - y, weight = r > 0 ? 1 - q : q;
        return {0.5 * weight * (r * r), weight * r};
    }
    FENCHEL_INLINE Pieces<1> pieces(double y) const { return {-q * y, q, {{{y, 0.0, 1 - 2 * q}}}}; }
};

struct EpsilonInsensitive {
    double epsilon;
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double r = z - y, excess = (r > 0 ? r : -r) - epsilon;
        const double sign = r > 0 ? 1.0 : -1.0;
        return {excess <= 0 ? 0.0 : excess, excess > 0 ? sign : 0.0};
    }
    FENCHEL_INLINE double to_kink(double z, double y) const { return std::abs(z - y) - epsilon; }
    FENCHEL_INLINE Pieces<2> pieces(double y) const {
        return {-1.0, 0.0, {{{y - epsilon, 1.0, 0.0}, {y + epsilon, 1.0, 0.0}}}};
    }
};

struct SquaredEpsilonInsensitive {
    double epsilon;
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double r = z - y, excess = (r > 0 ? r : -r) - epsilon;
        const double inside = excess <= 0 ? 0.0 : excess;
        return {0.5 * inside * inside, r > 0 ? inside : -inside};
    }
    FENCHEL_INLINE Pieces<2> pieces(double y) const {
        return {epsilon - y, 1.0, {{{y - epsilon, 0.0, -1.0}, {y + epsilon, 0.0, 1.0}}}};
    }
};

struct Huber {
    double delta;
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double r = z - y, size = r > 0 ? r : -r;
        const double near = size < delta ? size : delta;
        return {near * (size - 0.5 * near), r > 0 ? near : -near};
    }
    FENCHEL_INLINE Pieces<2> pieces(double y) const {
        return {-delta, 0.0, {{{y - delta, 0.0, 1.0}, {y + delta, 0.0, -1.0}}}};
    }
};

/// exp(z) - y z + (y log y - y), which with t = z - log y is y (exp(t) - 1 - t): so nothing cancels
/// but what an error of t would change as well, however large y. For |t| > 1 nothing does anyway.
struct Poisson {
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double t = z - log_of(y > 0 ? y : 1.0), e = exp_of(z);
        const double size = std::abs(t), beyond = exp_beyond_tangent(size <= 1 ? t : 0.0);
        const bool near = size <= 1 && y > 0, some = y > 0;
        return {near ? y * beyond : e - (some ? y * (1 + t) : 0.0),
                near ? y * (t + beyond) : e - y};
    }
    FENCHEL_INLINE double curvature(double z, double) const { return exp_of(z); }
};

/// y exp(-z) + z - (1 + log y), which with t = log y - z is exp(t) - 1 - t.
struct Gamma {
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double t = log_of(y) - z, size = std::abs(t), e = exp_of(t);
        const double beyond = exp_beyond_tangent(size <= 1 ? t : 0.0);
        return {size <= 1 ? beyond : e - (1 + t), size <= 1 ? -(t + beyond) : 1 - e};
    }
    FENCHEL_INLINE double curvature(double z, double y) const { return y * exp_of(-z); }
    /// Where t + kappa l'(t) = c: between c and the minimum at log y, and no further from c than
    /// kappa l' can lead: l' <= 1, and y exp(-t) = 1 + (t - c) / kappa <= 1 + (log y - c) / kappa.
    std::pair<double, double> bracket(double kappa, double c, double y) const {
        const double best = std::log(y);
        if (c >= best) return {std::max(best, c - kappa), c};
        return {std::max(c, best - std::log1p((best - c) / kappa)), best};
    }
};

struct Tweedie {
    double power;
    /// y^b ((exp(b t) - 1) / b + (exp(-a t) - 1) / a) for t = z - log y, a = p - 1 and b = 2 - p,
    /// where nothing cancels but what an error of t would change as well, however small a or b.
    FENCHEL_INLINE Bend operator()(double z, double y) const {
        const double a = power - 1, b = 2 - power;
        const double level = std::pow(y, b), t = z - std::log(y);  // 0 and inf where y = 0
        // Of a large t nothing cancels, while exp(b t) may overflow where exp(b z) does not.
        const double rise =
            b * t <= 1 ? level * (std::expm1(b * t) / b) : (std::exp(b * z) - level) / b;
        const double fall = level * (std::expm1(-a * t) / a);
        return {std::max(rise + fall, 0.0), b * rise - a * fall};
    }
    FENCHEL_INLINE double curvature(double z, double y) const {
        const double a = power - 1, b = 2 - power;
        return b * std::exp(b * z) + (y > 0 ? a * y * std::exp(-a * z) : 0.0);
    }
    /// Where t + kappa l'(t) = c. For y > 0 between c and the minimum at log y, and as the force
    /// that pushes back is at most |c - log y| / kappa + y^(2-p), within the logarithm of that. For
    /// y = 0 it is t + kappa exp((2-p) t) = c, of which the second part alone is c at `even`.
    std::pair<double, double> bracket(double kappa, double c, double y) const {
        const double rise = 2 - power, fall = power - 1;
        if (y > 0) {
            const double best = std::log(y);
            const double reach = std::log1p(std::abs(c - best) / (kappa * std::pow(y, rise)));
            if (c >= best) return {best, std::min(c, best + reach / rise)};
            return {std::max(c, best - reach / fall), best};
        }
        if (!(c > 0)) return {c - kappa * std::exp(rise * c), c};
        const double even = std::log(c / kappa) / rise;
        return {std::min(0.0, even), std::min(c, std::max(0.0, even))};
    }
};

using ScalarLoss =
    std::variant<std::monostate, Perceptron, SquaredPerceptron, Hinge, SquaredHinge, SmoothedHinge,
                 Exponential, Logistic, Novelty, SquaredError, AbsoluteError, Quantile, Expectile,
                 EpsilonInsensitive, SquaredEpsilonInsensitive, Huber, Poisson, Gamma, Tweedie>;

/// The loss of that name; monostate if there is none.
inline ScalarLoss scalar_loss(std::string_view name, double parameter) {
    if (name == "perceptron") return Perceptron{};
    if (name == "squared_perceptron") return SquaredPerceptron{};
    if (name == "hinge") return Hinge{};
    if (name == "squared_hinge") return SquaredHinge{};
    if (name == "smoothed_hinge") return SmoothedHinge{parameter};
    if (name == "exponential") return Exponential{};
    if (name == "logistic") return Logistic{};
    if (name == "novelty") return Novelty{parameter};
    if (name == "squared_error") return SquaredError{};
    if (name == "absolute_error") return AbsoluteError{};
    if (name == "quantile") return Quantile{parameter};
    if (name == "expectile") return Expectile{parameter};
    if (name == "epsilon_insensitive") return EpsilonInsensitive{parameter};
    if (name == "squared_epsilon_insensitive") return SquaredEpsilonInsensitive{parameter};
    if (name == "huber") return Huber{parameter};
    if (name == "poisson") return Poisson{};
    if (name == "gamma") return Gamma{};
    if (name == "tweedie") return Tweedie{parameter};
    return std::monostate{};
}

/// Calls `use` with the loss itself, so that the loop inside is compiled for it.
template <class Use>
auto with_loss(const ScalarLoss& loss, Use&& use) {
    using Result = decltype(use(Hinge{}));  // named here: clang 14 falls over it in the lambda
    return std::visit(
        [&](const auto& l) -> Result {
            if constexpr (std::is_same_v<std::decay_t<decltype(l)>, std::monostate>) {
                return {};
            } else {
                return use(l);
            }
        },
        loss);
}

/// Scores, labels and sample weights of some rows; `s` is null where all weights are 1.
struct Rows {
    const double* z;
    const double* y;
    const double* s;
};

// Conditions above are selections, not branches, and the loops below hold all they read in local
// variables, so that they become vector code. Each adds up in the same order every time.
namespace detail {

template <class Loss>
FENCHEL_INLINE double slopes_loop(const Loss loss, const Rows rows, const double b,
                                  double* __restrict a, const std::size_t first,
                                  const std::size_t last) {
    const double* __restrict z = rows.z, * __restrict y = rows.y, * __restrict s = rows.s;
    double sum = 0;
    if (s == nullptr) {
#pragma omp simd reduction(+ : sum)
        for (std::size_t i = first; i < last; ++i) {
            const Bend at = loss(z[i] + b, y[i]);
            a[i] = at.slope;
            sum += at.value;
        }
        return sum;
    }
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = first; i < last; ++i) {
        const Bend at = loss(z[i] + b, y[i]);
        a[i] = s[i] > 0 ? s[i] * at.slope : 0.0;  // a row of weight 0 is not there, even at inf
        sum += s[i] > 0 ? s[i] * at.value : 0.0;
    }
    return sum;
}

template <class Loss>
FENCHEL_INLINE Bend sums_loop(const Loss loss, const Rows rows, const double b,
                              const std::size_t n) {
    const double* __restrict z = rows.z, * __restrict y = rows.y, * __restrict s = rows.s;
    double value = 0, slope = 0;
    if (s == nullptr) {
#pragma omp simd reduction(+ : value, slope)
        for (std::size_t i = 0; i < n; ++i) {
            const Bend at = loss(z[i] + b, y[i]);
            value += at.value;
            slope += at.slope;
        }
        return {value, slope};
    }
#pragma omp simd reduction(+ : value, slope)
    for (std::size_t i = 0; i < n; ++i) {
        const Bend at = loss(z[i] + b, y[i]);
        value += s[i] > 0 ? s[i] * at.value : 0.0;
        slope += s[i] > 0 ? s[i] * at.slope : 0.0;
    }
    return {value, slope};
}

// The same, compiled for AVX2: 4 ns a row instead of 25 for the logistic loss.
template <class Loss>
FENCHEL_AVX2 double slopes_avx2(const Loss loss, const Rows rows, const double b, double* a,
                                const std::size_t first, const std::size_t last) {
    return slopes_loop(loss, rows, b, a, first, last);
}

template <class Loss>
FENCHEL_AVX2 Bend sums_avx2(const Loss loss, const Rows rows, const double b, const std::size_t n) {
    return sums_loop(loss, rows, b, n);
}

}  // namespace detail

/// The number of rows whose score is within tolerance (1 + |z|) of a kink of the loss.
template <class Loss>
std::size_t near_kinks(const Loss& loss, const Rows& rows, double tolerance, std::size_t n) {
    std::size_t count = 0;
    if constexpr (requires { loss.to_kink(0.0, 0.0); }) {
        const double* __restrict z = rows.z, * __restrict y = rows.y;
#pragma omp simd reduction(+ : count)
        for (std::size_t i = 0; i < n; ++i)
            count += std::abs(loss.to_kink(z[i], y[i])) <= tolerance * (1 + std::abs(z[i]));
    }
    return count;
}

/// a_i = s_i l'(z_i + b, y_i) for rows first..last-1; returns their sum of s_i l(z_i + b, y_i).
template <class Loss>
double slopes(const Loss& loss, const Rows& rows, double b, double* a, std::size_t first,
              std::size_t last) {
    return has_avx2() ? detail::slopes_avx2(loss, rows, b, a, first, last)
                      : detail::slopes_loop(loss, rows, b, a, first, last);
}

/// (sum_i s_i l(z_i + b, y_i), sum_i s_i l'(z_i + b, y_i)).
template <class Loss>
Bend sums(const Loss& loss, const Rows& rows, double b, std::size_t n) {
    return has_avx2() ? detail::sums_avx2(loss, rows, b, n) : detail::sums_loop(loss, rows, b, n);
}

}  // namespace fenchel

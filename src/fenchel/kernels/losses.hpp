// The scalar losses of losses/scalar.py, one struct each, and the loops over rows, written once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <variant>

namespace fenchel {

/// A loss at one score: its value and one subgradient in z.
struct Bend {
    double value;
    double slope;
};

struct Perceptron {
    Bend operator()(double z, double y) const {
        const double u = y * z;
        return u < 0 ? Bend{-u, -y} : Bend{0, 0};
    }
};

struct SquaredPerceptron {
    Bend operator()(double z, double y) const {
        return y * z < 0 ? Bend{0.5 * z * z, z} : Bend{0, 0};
    }
};

struct Hinge {
    Bend operator()(double z, double y) const {
        const double u = y * z;
        return u < 1 ? Bend{1 - u, -y} : Bend{0, 0};
    }
};

struct SquaredHinge {
    Bend operator()(double z, double y) const {
        const double gap = 1 - y * z;
        return gap > 0 ? Bend{0.5 * gap * gap, z - y} : Bend{0, 0};
    }
};

struct SmoothedHinge {
    double mu;
    Bend operator()(double z, double y) const {
        const double gap = 1 - y * z;
        if (gap <= 0) return {0, 0};
        return gap < mu ? Bend{gap * gap / (2 * mu), -y * (gap / mu)} : Bend{gap - mu / 2, -y};
    }
};

struct Exponential {
    Bend operator()(double z, double y) const {
        const double e = std::exp(-y * z);
        return {e, -y * e};
    }
};

struct Logistic {
    /// One exponential, of -|u|, serves value and slope and cannot overflow.
    Bend operator()(double z, double y) const {
        const double u = y * z;
        const double e = std::exp(-std::abs(u));
        const double p = (u >= 0 ? e : 1.0) / (1 + e);
        return {std::log1p(e) + std::max(0.0, -u), -y * p};
    }
};

struct Novelty {
    double rho;
    Bend operator()(double z, double) const { return z < rho ? Bend{rho - z, -1} : Bend{0, 0}; }
};

struct SquaredError {
    Bend operator()(double z, double y) const {
        const double r = z - y;
        return {0.5 * r * r, r};
    }
};

struct AbsoluteError {
    Bend operator()(double z, double y) const {
        const double r = z - y;
        return {std::abs(r), static_cast<double>((r > 0) - (r < 0))};
    }
};

struct Quantile {
    double q;
    Bend operator()(double z, double y) const {
        const double r = z - y;
        return r > 0 ? Bend{(1 - q) * r, 1 - q} : Bend{-q * r, -q};
    }
};

struct EpsilonInsensitive {
    double epsilon;
    Bend operator()(double z, double y) const {
        const double r = z - y, excess = std::abs(r) - epsilon;
        return excess > 0 ? Bend{excess, std::copysign(1.0, r)} : Bend{0, 0};
    }
};

struct SquaredEpsilonInsensitive {
    double epsilon;
    Bend operator()(double z, double y) const {
        const double r = z - y, excess = std::abs(r) - epsilon;
        return excess > 0 ? Bend{0.5 * excess * excess, std::copysign(excess, r)} : Bend{0, 0};
    }
};

struct Huber {
    double delta;
    Bend operator()(double z, double y) const {
        const double r = z - y;
        if (std::abs(r) <= delta) return {0.5 * r * r, r};
        return {delta * (std::abs(r) - 0.5 * delta), std::copysign(delta, r)};
    }
};

struct Poisson {
    Bend operator()(double z, double y) const {
        const double rate = std::exp(z);
        const double entropy = y > 0 ? y * std::log(y) - y : 0.0;
        return {std::max(0.0, rate - y * z + entropy), rate - y};
    }
};

using ScalarLoss =
    std::variant<std::monostate, Perceptron, SquaredPerceptron, Hinge, SquaredHinge, SmoothedHinge,
                 Exponential, Logistic, Novelty, SquaredError, AbsoluteError, Quantile,
                 EpsilonInsensitive, SquaredEpsilonInsensitive, Huber, Poisson>;

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
    if (name == "epsilon_insensitive") return EpsilonInsensitive{parameter};
    if (name == "squared_epsilon_insensitive") return SquaredEpsilonInsensitive{parameter};
    if (name == "huber") return Huber{parameter};
    if (name == "poisson") return Poisson{};
    return std::monostate{};
}

/// Calls `use` with the loss itself, so that the loop inside is compiled for it.
template <class Use>
auto with_loss(const ScalarLoss& loss, Use&& use) {
    return std::visit(
        [&](const auto& l) -> decltype(use(Hinge{})) {
            if constexpr (std::is_same_v<std::decay_t<decltype(l)>, std::monostate>) {
                return {};
            } else {
                return use(l);
            }
        },
        loss);
}

/// Labels and sample weights of some rows; `s` is null where all weights are 1.
struct Rows {
    const double* y;
    const double* s;
    double weight(std::size_t i) const { return s ? s[i] : 1.0; }
};

/// a_i = s_i l'(z_i + b, y_i) for rows first..last-1; returns their sum of s_i l(z_i + b, y_i).
template <class Loss>
double slopes(const Loss& loss, const double* z, const Rows& rows, double b, double* a,
              std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) {
        const Bend at = loss(z[i] + b, rows.y[i]);
        const double s = rows.weight(i);
        a[i] = s > 0 ? s * at.slope : 0.0;  // a row of weight 0 is not there, even at inf
        sum += s > 0 ? s * at.value : 0.0;
    }
    return sum;
}

/// (sum_i s_i l(z_i + b, y_i), sum_i s_i l'(z_i + b, y_i)).
template <class Loss>
Bend sums(const Loss& loss, const double* z, const Rows& rows, double b, std::size_t n) {
    Bend sum{0, 0};
    for (std::size_t i = 0; i < n; ++i) {
        const Bend at = loss(z[i] + b, rows.y[i]);
        const double s = rows.weight(i);
        if (s > 0) sum = {sum.value + s * at.value, sum.slope + s * at.slope};
    }
    return sum;
}

}  // namespace fenchel

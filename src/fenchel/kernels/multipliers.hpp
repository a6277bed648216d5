// The augmented Lagrangian of a risk with kinks, row by row. With multiplier a_i and weight
// 1/kappa,
//
//     M_i(z) = min over t of l(t) + a_i (z - t) + (z - t)^2 / (2 kappa)
//
// is smooth; its slope is the u_i of dual_ascent.hpp, and where the best t is a kink of the loss
// the slope rises at the rate 1/kappa.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bends.hpp"
#include "dual_ascent.hpp"

namespace fenchel {

/// u_i, and in `bent` the rows whose t is a kink; returns how many they are.
template <class Loss>
std::size_t augmented_slopes(const Loss& loss, const Rows& rows, const double* a, double kappa,
                             double b, double* u, std::int32_t* bent, std::size_t n) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double z = rows.z[i] + b;
        const Landing at = detail::landing(loss, kappa, z + kappa * a[i], z, rows.y[i]);
        u[i] = at.u;
        bent[count] = static_cast<std::int32_t>(i);
        count += at.kink;
    }
    return count;
}

/// The slope of eta -> sum_i s_i M_i(z_i + b + eta (q_i + rate)), and its slope.
template <class Loss>
Slope augmented_slope_along(const Loss& loss, const Rows& rows, const double* a, double kappa,
                            double b, const double* q, double rate, double eta, std::size_t n) {
    Slope sum{0.0, 0.0};
    for (std::size_t i = 0; i < n; ++i) {
        const double by = q[i] + rate, z = rows.z[i] + b + eta * by;
        const Landing at = detail::landing(loss, kappa, z + kappa * a[i], z, rows.y[i]);
        const double weighted = rows.s ? rows.s[i] * by : by;
        sum.slope += weighted * at.u;
        sum.curvature += at.kink ? weighted * by / kappa : 0.0;
    }
    return sum;
}

}  // namespace fenchel

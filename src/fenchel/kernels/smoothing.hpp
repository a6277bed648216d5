// Losses smoothed by a strongly convex term in the dual ([Zhang11] section 5.1, eq. 53), row by
// row:
//
//     l_mu(z) = max over u of u z - l*(u) - mu/2 u^2 = min over t of l(t) + (z - t)^2 / (2 mu),
//
// with the slope u = (z - t) / mu at the t of dual_ascent.hpp, t + mu l'(t) = z. It lies below l.
#pragma once

#include <cstddef>

#include "dual_ascent.hpp"

namespace fenchel {

/// What rows add up to: values and slopes of l_mu, and how fast the slopes on kinks rise.
struct Smoothed {
    double value, slope, rise;
};

/// sum_i s_i l_mu(z_i + b) and its slopes in b, and in `u` the rows' slopes without their weights.
/// Row i is smoothed by mu, or by mu * widths_i; by 0 it stays as it is.
template <class Loss>
Smoothed smoothed(const Loss& loss, const Rows& rows, double mu, const double* widths, double b,
                  double* u, std::size_t n) {
    Smoothed total{0.0, 0.0, 0.0};
    for (std::size_t i = 0; i < n; ++i) {
        const double z = rows.z[i] + b, width = widths ? mu * widths[i] : mu, y = rows.y[i];
        double value, rise = 0;
        if (width > 0) {
            const Landing at = detail::landing(loss, width, z, z, y);
            value = loss(at.t, y).value + 0.5 * width * at.u * at.u;
            rise = at.kink ? 1 / width : 0.0;
            u[i] = at.u;
        } else {
            const auto at = loss(z, y);
            value = at.value;
            u[i] = at.slope;
        }
        const double weight = rows.s ? rows.s[i] : 1.0;
        if (weight > 0) {  // a row of weight 0 is not there, even at inf
            total.value += weight * value;
            total.slope += weight * u[i];
            total.rise += weight * rise;
        }
    }
    return total;
}

}  // namespace fenchel

// Bindings of the small problems that accelerated methods solve in each iteration.
#include <cmath>

#include "bindings.hpp"
#include "box_plane.hpp"
#include "capped_simplex.hpp"
#include "elastic_net_ball.hpp"

namespace bindings {

using namespace nb::literals;

namespace {

/// A number as a message shows it.
std::string shown(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
}

void demand(bool holds, const char* rule, double got) {
    if (!holds) throw std::invalid_argument(std::string(rule) + "; got " + shown(got));
}

template <class Holds>
void demand_all(const Vector<double>& values, const char* name, const char* rule, Holds&& holds) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (holds(values(i))) continue;
        throw std::invalid_argument(std::string(name) + " must be " + rule + "; " + name + "[" +
                                    std::to_string(i) + "] is " + shown(values(i)));
    }
}

void demand_finite(const Vector<double>& values, const char* name) {
    demand_all(values, name, "finite", [](double value) { return std::isfinite(value); });
}

bool positive(double number) { return number > 0 && std::isfinite(number); }
bool nonnegative(double number) { return number >= 0 && std::isfinite(number); }

double box_plane_qp(const double* d2, std::size_t d2_stride, const Vector<double>& m,
                    const Vector<double>& lower, const Vector<double>& upper,
                    const Vector<double>& sigma, double z, const Output& x) {
    const std::size_t n = m.size();
    require(lower.size() == n, "lower", lower.size(), n);
    require(upper.size() == n, "upper", upper.size(), n);
    require(sigma.size() == n, "sigma", sigma.size(), n);
    require(x.size() == n, "x", x.size(), n);
    demand_finite(m, "m");
    demand_finite(sigma, "sigma");
    demand(std::isfinite(z), "z must be finite", z);
    for (std::size_t i = 0; i < n; ++i) {
        if (lower(i) <= upper(i)) continue;
        throw std::invalid_argument("the box is empty: lower[" + std::to_string(i) +
                                    "] = " + shown(lower(i)) + ", upper = " + shown(upper(i)));
    }
    const fenchel::BoxPlane problem{d2,           d2_stride,    m.data(), lower.data(),
                                    upper.data(), sigma.data(), n};
    const auto [least, most, doubt] = fenchel::plane_range(problem);
    if (z < least - doubt || z > most + doubt) {
        throw std::invalid_argument("no point of the box has <sigma, x> = " + shown(z) +
                                    ": it lies between " + shown(least) + " and " + shown(most));
    }
    nb::gil_scoped_release unlocked;
    return fenchel::box_plane_qp(problem, std::clamp(z, least, most), x.data());
}

double box_plane_qp_even(double d2, Vector<double> m, Vector<double> lower, Vector<double> upper,
                         Vector<double> sigma, double z, Output x) {
    demand(positive(d2), "d2 must be finite and > 0", d2);
    return box_plane_qp(&d2, 0, m, lower, upper, sigma, z, x);
}

double box_plane_qp_uneven(Vector<double> d2, Vector<double> m, Vector<double> lower,
                           Vector<double> upper, Vector<double> sigma, double z, Output x) {
    require(d2.size() == m.size(), "d2", d2.size(), m.size());
    demand_all(d2, "d2", "finite and > 0", positive);
    return box_plane_qp(d2.data(), 1, m, lower, upper, sigma, z, x);
}

void elastic_net_prox(Vector<double> v, double l1, double l2, Weights c, Output x) {
    require(x.size() == v.size(), "x", x.size(), v.size());
    if (c) require(c->size() == v.size(), "c", c->size(), v.size());
    demand(nonnegative(l1), "l1 must be finite and >= 0", l1);
    demand(nonnegative(l2), "l2 must be finite and >= 0", l2);
    nb::gil_scoped_release unlocked;
    fenchel::elastic_net_prox(v.data(), v.size(), l1, l2, c ? c->data() : nullptr, x.data());
}

double project_elastic_net_ball(Vector<double> v, double l1, double l2, double radius, Output x) {
    require(x.size() == v.size(), "x", x.size(), v.size());
    demand_finite(v, "v");
    demand(nonnegative(l1), "l1 must be finite and >= 0", l1);
    demand(nonnegative(l2), "l2 must be finite and >= 0", l2);
    demand(l1 + l2 > 0, "l1 or l2 must be > 0, or all of space is the ball", 0.0);
    demand(nonnegative(radius), "radius must be finite and >= 0", radius);
    nb::gil_scoped_release unlocked;
    return fenchel::project_elastic_net_ball(v.data(), v.size(), l1, l2, radius, x.data());
}

double entropy_prox(Vector<double> g, double weight, Weights x0, double cap, Output x) {
    require(x.size() == g.size(), "x", x.size(), g.size());
    demand_finite(g, "g");
    demand(positive(weight), "weight must be finite and > 0", weight);
    std::size_t n = g.size();
    if (x0) {
        require(x0->size() == g.size(), "x0", x0->size(), g.size());
        demand_all(*x0, "x0", "finite and >= 0", nonnegative);
        n = 0;
        for (std::size_t i = 0; i < x0->size(); ++i) n += (*x0)(i) > 0;
    }
    const double most = cap * static_cast<double>(n);
    if (!(n > 0 && most >= 1 - 1e-12)) {
        throw std::invalid_argument("the capped simplex is empty: " + std::to_string(n) +
                                    " entries of at most " + shown(cap) + " do not sum up to 1");
    }
    nb::gil_scoped_release unlocked;
    return fenchel::entropy_prox(g.data(), g.size(), weight, x0 ? x0->data() : nullptr, cap,
                                 x.data());
}

}  // namespace

void bind_ground_problems(nb::module_& m) {
    m.def("box_plane_qp", &box_plane_qp_even, "d2"_a, "m"_a.noconvert(), "lower"_a.noconvert(),
          "upper"_a.noconvert(), "sigma"_a.noconvert(), "z"_a, "x"_a.noconvert(),
          "Argmin of 1/2 sum d2 (x - m)^2 with lower <= x <= upper and <sigma, x> = z.");
    m.def("box_plane_qp", &box_plane_qp_uneven, "d2"_a.noconvert(), "m"_a.noconvert(),
          "lower"_a.noconvert(), "upper"_a.noconvert(), "sigma"_a.noconvert(), "z"_a,
          "x"_a.noconvert());
    m.def("elastic_net_prox", &elastic_net_prox, "v"_a.noconvert(), "l1"_a, "l2"_a, "c"_a.none(),
          "x"_a.noconvert(), "Argmin of sum c (l1 |x| + l2/2 x^2) + 1/2 |x - v|^2.");
    m.def("project_elastic_net_ball", &project_elastic_net_ball, "v"_a.noconvert(), "l1"_a, "l2"_a,
          "radius"_a, "x"_a.noconvert(),
          "Argmin of 1/2 |x - v|^2 with l1 |x|_1 + l2/2 |x|^2 <= radius.");
    m.def("entropy_prox", &entropy_prox, "g"_a.noconvert(), "weight"_a, "x0"_a.none(), "cap"_a,
          "x"_a.noconvert(),
          "Argmin of <g, x> + weight sum x log(x / x0) with 0 <= x <= cap and sum x = 1.");
}

}  // namespace bindings

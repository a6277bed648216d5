// Bindings of the steps that a primal-dual method takes on the rows' dual variables.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"
#include "saddle.hpp"

namespace bindings {

using namespace nb::literals;

namespace {

std::tuple<double, double, double> saddle_step(
    const Loss& loss, const Vector<double>& y, const Weights& s, const Weights& fixed,
    const Vector<double>& z, const Vector<double>& a, const Vector<double>& mean_z,
    const Vector<double>& mean_a, const Vector<double>& z_next, double b, double b_ahead,
    double kappa, double share, Output& a_next, Output& mean_z_next, Output& mean_a_next) {
    const std::size_t n = y.size();
    require(z.size() == n, "z", z.size(), n);
    require(a.size() == n, "a", a.size(), n);
    require(mean_z.size() == n, "mean_z", mean_z.size(), n);
    require(mean_a.size() == n, "mean_a", mean_a.size(), n);
    require(z_next.size() == n, "z_next", z_next.size(), n);
    require(a_next.size() == n, "a_next", a_next.size(), n);
    require(mean_z_next.size() == n, "mean_z_next", mean_z_next.size(), n);
    require(mean_a_next.size() == n, "mean_a_next", mean_a_next.size(), n);
    if (s) require(s->size() == n, "sample weights", s->size(), n);
    if (fixed) require(fixed->size() == n, "fixed offsets", fixed->size(), n);
    if (!(kappa > 0)) throw std::invalid_argument("kappa must be > 0");
    const fenchel::SaddleRows at{z.data(), a.data(), mean_z.data(), mean_a.data()};
    const fenchel::NextSaddleRows next{z_next.data(), a_next.data(), mean_z_next.data(),
                                       mean_a_next.data()};
    const fenchel::SaddleStep step{b, b_ahead, kappa, share};
    nb::gil_scoped_release unlocked;
    const fenchel::SaddleSums sums = fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::saddle_step(l, y.data(), s ? s->data() : nullptr,
                                    fixed ? fixed->data() : nullptr, at, next, step, n);
    });
    return {sums.value, sums.change, sums.imbalance};
}

}  // namespace

void bind_saddle(nb::module_& m) {
    m.def("saddle_step", &saddle_step, "loss"_a, "y"_a.noconvert(), "s"_a.none(), "fixed"_a.none(),
          "z"_a.noconvert(), "a"_a.noconvert(), "mean_z"_a.noconvert(), "mean_a"_a.noconvert(),
          "z_next"_a.noconvert(), "b"_a, "b_ahead"_a, "kappa"_a, "share"_a, "a_next"_a.noconvert(),
          "mean_z_next"_a.noconvert(), "mean_a_next"_a.noconvert());
}

}  // namespace bindings

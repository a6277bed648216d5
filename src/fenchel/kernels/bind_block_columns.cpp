// Bindings of block_column_descent.hpp: array types, sizes and the GIL. No mathematics.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <variant>

#include "bind_columns.hpp"
#include "bindings.hpp"
#include "block_column_descent.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

void check_groups(const Which& start, std::size_t end) {
    require(start.size() > 0, "start", 0, 1);
    if (start(0) != 0 || std::size_t(start(start.size() - 1)) != end ||
        !std::is_sorted(start.data(), start.data() + start.size()))
        throw std::invalid_argument("start must rise from 0 to the number of columns");
}

/// Penalties of groups, or of all numbers.
fenchel::BlockPenalty block_penalty(const Weights& c, const Vector<double>& t,
                                    const Vector<double>& m, const Vector<double>& unit,
                                    std::size_t groups, std::size_t size) {
    if (!c) return {penalty(t, m, unit, size), nullptr, nullptr};
    require(c->size() == groups, "c", c->size(), groups);
    require(unit.size() == groups, "unit", unit.size(), groups);
    return {{nullptr, nullptr, nullptr}, c->data(), unit.data()};
}

std::tuple<double, double, double> block_descend(
    const Columns& X, const Which& which, const Which& start, const Vector<double>& h,
    const std::optional<Matrix>& p, double floor, bool has_offsets, OutputMatrix& u, Output& w,
    const Weights& c, const Vector<double>& t, const Vector<double>& m, const Vector<double>& unit,
    double tolerance, std::size_t most, Output& shift) {
    const std::size_t n = X.n_rows(), K = u.shape(1), groups = start.size() - 1;
    check_groups(start, which.size());
    X.check(which);
    require(w.size() == which.size() * K, "w", w.size(), which.size() * K);
    require(u.shape(0) == n, "u", u.shape(0), n);
    require(h.size() == n, "h", h.size(), n);
    require(shift.size() == K, "shift", shift.size(), K);
    if (p) require(p->shape(0) == n && p->shape(1) == K && K > 1, "p", p->shape(0), n);
    const fenchel::BlockPenalty lines = block_penalty(c, t, m, unit, groups, w.size());
    const fenchel::RowHessians H{h.data(), p ? p->data() : nullptr, floor, n, K};
    nb::gil_scoped_release unlocked;
    return std::visit(
        [&](const auto& view) {
            fenchel::BlockModel model(view, which.data(), start.data(), groups, H, has_offsets,
                                      u.data());
            const auto [violation, epochs] =
                fenchel::block_descend(model, lines, w.data(), tolerance, most);
            std::copy(model.shift().begin(), model.shift().end(), shift.data());
            return std::make_tuple(violation, epochs, model.work);
        },
        X.view);
}

/// Z += the columns times steps, K numbers each.
void block_combine(const Columns& X, const Which& which, const Matrix& steps, OutputMatrix& Z) {
    const std::size_t K = steps.shape(1);
    require(steps.shape(0) == which.size(), "steps", steps.shape(0), which.size());
    require(Z.shape(0) == X.n_rows(), "Z", Z.shape(0), X.n_rows());
    require(Z.shape(1) == K, "Z", Z.shape(1), K);
    X.check(which);
    nb::gil_scoped_release unlocked;
    std::visit(
        [&](const auto& view) {
            for (std::size_t c = 0; c < which.size(); ++c)
                fenchel::detail::add_row(
                    fenchel::detail::row_of(view, std::size_t(which.data()[c])),
                    steps.data() + c * K, K, Z.data());
        },
        X.view);
}

/// V = the columns' products with K numbers of each row.
void block_products(const Columns& X, const Which& which, const Matrix& A, OutputMatrix& V) {
    const std::size_t K = A.shape(1);
    require(A.shape(0) == X.n_rows(), "A", A.shape(0), X.n_rows());
    require(V.shape(0) == which.size(), "V", V.shape(0), which.size());
    require(V.shape(1) == K, "V", V.shape(1), K);
    X.check(which);
    nb::gil_scoped_release unlocked;
    std::visit(
        [&](const auto& view) {
            for (std::size_t c = 0; c < which.size(); ++c)
                fenchel::detail::sum_row(
                    fenchel::detail::row_of(view, std::size_t(which.data()[c])), A.data(), K,
                    V.data() + c * K);
        },
        X.view);
}

}  // namespace

namespace bindings {

void bind_block_columns(nb::module_& m) {
    m.def("block_descend", &block_descend, "X"_a, "which"_a.noconvert(), "start"_a.noconvert(),
          "h"_a.noconvert(), "p"_a.none(), "floor"_a, "has_offsets"_a, "u"_a.noconvert(),
          "w"_a.noconvert(), "c"_a.none(), "t"_a.noconvert(), "m"_a.noconvert(),
          "unit"_a.noconvert(), "tolerance"_a, "most"_a, "shift"_a.noconvert());
    m.def("block_combine", &block_combine, "X"_a, "which"_a.noconvert(), "steps"_a.noconvert(),
          "Z"_a.noconvert());
    m.def("block_products", &block_products, "X"_a, "which"_a.noconvert(), "A"_a.noconvert(),
          "V"_a.noconvert());
}

}  // namespace bindings

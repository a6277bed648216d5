// Bindings of column_descent.hpp, column_newton.hpp and gram_path.hpp: array types, sizes and the
// GIL. No mathematics.
#include "bind_columns.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "column_descent.hpp"
#include "column_newton.hpp"
#include "gram_path.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

template <class Value>
Columns sparse_columns(const Vector<std::int64_t>& start, const Which& row,
                       const Vector<Value>& value, std::size_t n_rows) {
    require(start.size() > 0, "start", 0, 1);
    require(row.size() == value.size(), "row", row.size(), value.size());
    const auto end = std::size_t(start(start.size() - 1));
    require(start(0) == 0 && end == value.size() &&
                std::is_sorted(start.data(), start.data() + start.size()),
            "value", value.size(), end);
    check_inside(row, n_rows, "row names a row that is not there");
    return {fenchel::SparseColumns<Value>{n_rows, start.size() - 1, start.data(), row.data(),
                                          value.data()},
            {nb::cast(start), nb::cast(row), nb::cast(value)}};
}

template <class Value>
Columns dense_columns(const Table<Value>& X) {
    if (X.stride(0) != 1 && X.shape(0) > 1)
        throw std::invalid_argument("X must have contiguous columns");
    return {fenchel::DenseColumns<Value>{X.shape(0), X.shape(1), X.data(), X.stride(1)},
            {nb::cast(X), nb::none(), nb::none()}};
}

std::size_t products(const Columns& X, const Vector<double>& a, const Vector<double>& t,
                     const Vector<double>& norm, double way, Output& top, Output& v) {
    const std::size_t d = X.n_columns();
    require(a.size() == X.n_rows(), "a", a.size(), X.n_rows());
    require(t.size() == d, "t", t.size(), d);
    require(norm.size() == d, "norm", norm.size(), d);
    require(top.size() == d, "top", top.size(), d);
    require(v.size() == d, "v", v.size(), d);
    nb::gil_scoped_release unlocked;
    return std::visit(
        [&](const auto& view) {
            return fenchel::products(view, a.data(), t.data(), norm.data(), way, top.data(),
                                     v.data());
        },
        X.view);
}

void chosen_products(const Columns& X, const Which& which, const Vector<double>& a, Output& v) {
    require(a.size() == X.n_rows(), "a", a.size(), X.n_rows());
    require(v.size() == which.size(), "v", v.size(), which.size());
    X.check(which);
    nb::gil_scoped_release unlocked;
    std::visit(
        [&](const auto& view) {
            for (std::size_t p = 0; p < which.size(); ++p)
                v.data()[p] = fenchel::product(view, std::size_t(which.data()[p]), a.data());
        },
        X.view);
}

void chosen_moments(const Columns& X, const Which& which, const Weights& h, double each,
                    Output& sum, Output& square) {
    require(sum.size() == which.size(), "sum", sum.size(), which.size());
    require(square.size() == which.size(), "square", square.size(), which.size());
    X.check(which);
    const fenchel::RowCurvature curvature = X.curvature(h, each);
    nb::gil_scoped_release unlocked;
    std::visit(
        [&](const auto& view) {
            for (std::size_t p = 0; p < which.size(); ++p) {
                const auto both = fenchel::moments(view, std::size_t(which.data()[p]), curvature);
                sum.data()[p] = both[0];
                square.data()[p] = both[1];
            }
        },
        X.view);
}

void combine(const Columns& X, const Which& which, const Vector<double>& steps, Output& z) {
    require(steps.size() == which.size(), "steps", steps.size(), which.size());
    require(z.size() == X.n_rows(), "z", z.size(), X.n_rows());
    X.check(which);
    nb::gil_scoped_release unlocked;
    std::visit(
        [&](const auto& view) {
            for (std::size_t p = 0; p < which.size(); ++p)
                if (steps.data()[p] != 0)
                    fenchel::add_column(view, std::size_t(which.data()[p]), steps.data()[p],
                                        {nullptr, 1.0}, z.data());
        },
        X.view);
}

void column_gram(const Columns& X, const Which& which, const Weights& h, double each,
                 OutputMatrix& G) {
    const std::size_t size = which.size();
    require(G.shape(0) == size && G.shape(1) == size, "G", G.shape(0), size);
    X.check(which);
    const fenchel::RowCurvature curvature = X.curvature(h, each);
    nb::gil_scoped_release unlocked;
    std::vector<double> space(X.n_rows());
    std::visit(
        [&](const auto& view) {
            fenchel::gram(view, which.data(), size, curvature, space.data(), G.data());
        },
        X.view);
}

std::tuple<double, double, double, double> descend(const Columns& X, const Which& which,
                                                   const Weights& h, double each, double total,
                                                   double damping, Output& u, Output& w,
                                                   const Vector<double>& t, const Vector<double>& m,
                                                   const Vector<double>& unit, double tolerance,
                                                   std::size_t most) {
    require(w.size() == which.size(), "w", w.size(), which.size());
    require(u.size() == X.n_rows(), "u", u.size(), X.n_rows());
    X.check(which);
    const fenchel::ColumnPenalty lines = penalty(t, m, unit, which.size());
    const fenchel::RowCurvature curvature = X.curvature(h, each);
    nb::gil_scoped_release unlocked;
    return std::visit(
        [&](const auto& view) {
            fenchel::RowModel model(view, which.data(), which.size(), curvature, total, damping,
                                    u.data());
            const auto [violation, epochs] =
                fenchel::descend(model, lines, w.data(), tolerance, most);
            const double offset = model.settle();
            return std::make_tuple(offset, violation, epochs, model.work);
        },
        X.view);
}

std::pair<double, std::size_t> newton(const Columns& X, const Loss& loss, const Vector<double>& y,
                                      const Weights& s, double total, double smoothness,
                                      bool intercept, Output& z, double b, Output& w,
                                      const Vector<double>& t, const Vector<double>& m,
                                      const Vector<double>& unit, double tolerance,
                                      std::size_t most) {
    const std::size_t n = X.n_rows();
    require(w.size() == X.n_columns(), "w", w.size(), X.n_columns());
    require(y.size() == n, "y", y.size(), n);
    if (s) require(s->size() == n, "s", s->size(), n);
    require(z.size() == n, "z", z.size(), n);
    const fenchel::ColumnPenalty lines = penalty(t, m, unit, w.size());
    const fenchel::WeightedRows rows{loss.scalar, y.data(), s ? s->data() : nullptr, total, n};
    nb::gil_scoped_release unlocked;
    return std::visit(
        [&](const auto& view) {
            fenchel::ColumnNewton at(view, rows, lines, smoothness, intercept, z.data(), b,
                                     w.data());
            const std::size_t steps = at.run(tolerance, most);
            return std::make_pair(at.b, steps);
        },
        X.view);
}

std::pair<double, double> descend_gram(const Matrix& G, double damping, Output& g, Output& w,
                                       const Vector<double>& t, const Vector<double>& m,
                                       const Vector<double>& unit, double tolerance,
                                       std::size_t most) {
    const std::size_t size = w.size();
    require(G.shape(0) == size && G.shape(1) == size, "G", G.shape(0), size);
    require(g.size() == size, "g", g.size(), size);
    const fenchel::ColumnPenalty lines = penalty(t, m, unit, size);
    nb::gil_scoped_release unlocked;
    fenchel::GramModel model(G.data(), size, size, damping, g.data());
    const auto [violation, epochs] = fenchel::descend(model, lines, w.data(), tolerance, most);
    return {violation, epochs};
}

void gram_path(const Matrix& G, const Vector<double>& c, double q, const Vector<double>& size,
               double size_y, const Vector<double>& t1, const Vector<double>& m1,
               const Vector<double>& strengths, double gap, double round_off, std::size_t most,
               const Vector<double>& w, OutputMatrix& W, OutputMatrix& bounds) {
    const std::size_t d = w.size(), n = strengths.size();
    require(G.shape(0) == d && G.shape(1) == d, "G", G.shape(0), d);
    require(c.size() == d, "c", c.size(), d);
    require(size.size() == d, "size", size.size(), d);
    require(t1.size() == d, "t1", t1.size(), d);
    require(m1.size() == d, "m1", m1.size(), d);
    require(W.shape(0) == n && W.shape(1) == d, "W", W.shape(0), n);
    require(bounds.shape(0) == n && bounds.shape(1) == 2, "bounds", bounds.shape(0), n);
    nb::gil_scoped_release unlocked;
    fenchel::GramPath path({G.data(), c.data(), q, size.data(), size_y, t1.data(), m1.data(), d},
                           round_off);
    const double* last = w.data();
    for (std::size_t k = 0; k < n; ++k) {
        double* here = W.data() + k * d;
        std::copy(last, last + d, here);
        const auto [J, bound] = path.solve(strengths.data()[k], gap, most, here);
        bounds.data()[2 * k] = J;
        bounds.data()[2 * k + 1] = bound;
        last = here;
    }
}

template <class Value, class Column>
void by_columns(const Vector<std::int64_t>& row_start, const Vector<Column>& column,
                const Vector<Value>& value, Written<std::int64_t>& start,
                Written<std::int32_t>& row, Written<Value>& out) {
    require(start.size() > 0, "start", 0, 1);
    const auto X = csr_view(row_start, column, value, start.size() - 1);
    const auto count = std::size_t(X.row_start[X.n_rows] - X.row_start[0]);
    require(row.size() == count, "row", row.size(), count);
    require(out.size() == count, "out", out.size(), count);
    nb::gil_scoped_release unlocked;
    fenchel::by_columns(X, start.data(), row.data(), out.data());
}

template <class Value, class Column>
void bind_turn(nb::module_& m) {
    m.def("csr_by_columns", &by_columns<Value, Column>, "row_start"_a.noconvert(),
          "column"_a.noconvert(), "value"_a.noconvert(), "start"_a.noconvert(), "row"_a.noconvert(),
          "out"_a.noconvert());
}

template <class Value>
void bind_storage(nb::module_& m) {
    bind_turn<Value, std::int32_t>(m);
    bind_turn<Value, std::int64_t>(m);
    m.def("sparse_columns", &sparse_columns<Value>, "start"_a.noconvert(), "row"_a.noconvert(),
          "value"_a.noconvert(), "n_rows"_a);
    m.def("dense_columns", &dense_columns<Value>, "X"_a.noconvert());
}

}  // namespace

namespace bindings {

void bind_columns(nb::module_& m) {
    nb::class_<Columns>(m, "Columns")
        .def("products", &products, "a"_a.noconvert(), "t"_a.noconvert(), "norm"_a.noconvert(),
             "way"_a, "top"_a.noconvert(), "v"_a.noconvert())
        .def("chosen_products", &chosen_products, "which"_a.noconvert(), "a"_a.noconvert(),
             "v"_a.noconvert())
        .def("chosen_moments", &chosen_moments, "which"_a.noconvert(), "h"_a.none(), "each"_a,
             "sum"_a.noconvert(), "square"_a.noconvert())
        .def("combine", &combine, "which"_a.noconvert(), "steps"_a.noconvert(), "z"_a.noconvert())
        .def("gram", &column_gram, "which"_a.noconvert(), "h"_a.none(), "each"_a, "G"_a.noconvert())
        .def("newton", &newton, "loss"_a, "y"_a.noconvert(), "s"_a.none(), "total"_a,
             "smoothness"_a, "intercept"_a, "z"_a.noconvert(), "b"_a, "w"_a.noconvert(),
             "t"_a.noconvert(), "m"_a.noconvert(), "unit"_a.noconvert(), "tolerance"_a, "most"_a)
        .def("descend", &descend, "which"_a.noconvert(), "h"_a.none(), "each"_a, "total"_a,
             "damping"_a, "u"_a.noconvert(), "w"_a.noconvert(), "t"_a.noconvert(),
             "m"_a.noconvert(), "unit"_a.noconvert(), "tolerance"_a, "most"_a);
    bind_storage<double>(m);
    bind_storage<float>(m);
    m.def("descend_gram", &descend_gram, "G"_a.noconvert(), "damping"_a, "g"_a.noconvert(),
          "w"_a.noconvert(), "t"_a.noconvert(), "m"_a.noconvert(), "unit"_a.noconvert(),
          "tolerance"_a, "most"_a);
    m.def("gram_path", &gram_path, "G"_a.noconvert(), "c"_a.noconvert(), "q"_a,
          "size"_a.noconvert(), "size_y"_a, "t1"_a.noconvert(), "m1"_a.noconvert(),
          "strengths"_a.noconvert(), "gap"_a, "round_off"_a, "most"_a, "w"_a.noconvert(),
          "W"_a.noconvert(), "bounds"_a.noconvert());
}

}  // namespace bindings

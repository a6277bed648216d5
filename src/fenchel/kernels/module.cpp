// Bindings: array types, sizes and the GIL. No mathematics.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bends.hpp"
#include "bindings.hpp"
#include "check.hpp"
#include "columns.hpp"
#include "losses.hpp"
#include "matrix.hpp"
#include "offset.hpp"
#include "unlocked.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

fenchel::Rows rows_view(const double* z, const Vector<double>& y, const Weights& s) {
    if (s) require(s->size() == y.size(), "sample weights", s->size(), y.size());
    return {z, y.data(), s ? s->data() : nullptr};
}

template <class Matrix>
void scores(const Matrix& X, const Vector<double>& w, Output& z) {
    require(w.size() == X.n_columns, "w", w.size(), X.n_columns);
    require(z.size() == X.n_rows, "z", z.size(), X.n_rows);
    const Unlocked unlocked;
    fenchel::scores(X, w.data(), z.data());
}

template <class Matrix>
void adjoint(const Matrix& X, const Vector<double>& a, Output& g) {
    require(a.size() == X.n_rows, "a", a.size(), X.n_rows);
    require(g.size() == X.n_columns, "g", g.size(), X.n_columns);
    const Unlocked unlocked;
    fenchel::adjoint(X, a.data(), g.data());
}

template <class Matrix>
void squares(const Matrix& X, const Weights& s, Output& g) {
    if (s) require(s->size() == X.n_rows, "sample weights", s->size(), X.n_rows);
    require(g.size() == X.n_columns, "g", g.size(), X.n_columns);
    const Unlocked unlocked;
    fenchel::squares(X, s ? s->data() : nullptr, g.data());
}

template <class Matrix>
double evaluate(const Matrix& X, const Loss& loss, const Vector<double>& y, const Weights& s,
                const Vector<double>& w, Output& z, Output& a, Output& g) {
    require(y.size() == X.n_rows, "y", y.size(), X.n_rows);
    require(w.size() == X.n_columns, "w", w.size(), X.n_columns);
    require(z.size() == X.n_rows, "z", z.size(), X.n_rows);
    require(a.size() == X.n_rows, "a", a.size(), X.n_rows);
    require(g.size() == X.n_columns, "g", g.size(), X.n_columns);
    const fenchel::Rows rows = rows_view(z.data(), y, s);
    const Unlocked unlocked;
    return fenchel::with_loss(loss.scalar, [&](const auto& l) {
        double sum = 0;
        fenchel::evaluate(X, w.data(), z.data(), a.data(), g.data(),
                          [&](std::size_t first, std::size_t last) {
                              sum += fenchel::slopes(l, rows, 0.0, a.data(), first, last);
                          });
        return sum;
    });
}

double slopes(const Loss& loss, const Vector<double>& z, const Vector<double>& y, const Weights& s,
              double b, Output& a) {
    require(y.size() == z.size(), "y", y.size(), z.size());
    require(a.size() == z.size(), "a", a.size(), z.size());
    const fenchel::Rows rows = rows_view(z.data(), y, s);
    const Unlocked unlocked;
    return fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::slopes(l, rows, b, a.data(), 0, z.size());
    });
}

std::pair<double, double> sums(const Loss& loss, const Vector<double>& z, const Vector<double>& y,
                               const Weights& s, double b) {
    require(y.size() == z.size(), "y", y.size(), z.size());
    const fenchel::Rows rows = rows_view(z.data(), y, s);
    const Unlocked unlocked;
    const fenchel::Bend sum = fenchel::with_loss(
        loss.scalar, [&](const auto& l) { return fenchel::sums(l, rows, b, z.size()); });
    return {sum.value, sum.slope};
}

/// (below, above, weight_below, weight_above, best, value, floor).
auto as_tuple(const fenchel::Offset& at) {
    return std::make_tuple(at.below, at.above, at.weight_below, at.weight_above, at.best, at.value,
                           at.floor);
}

auto best_offset(const Loss& loss, const Vector<double>& z, const Vector<double>& y,
                 const Weights& s, double total, double near) {
    require(y.size() == z.size(), "y", y.size(), z.size());
    const fenchel::Rows rows = rows_view(z.data(), y, s);
    fenchel::Offset found;
    {
        const Unlocked unlocked;
        found = fenchel::with_loss(loss.scalar, [&](const auto& l) {
            return fenchel::best_offset(l, rows, z.size(), total, near);
        });
    }
    return as_tuple(found);
}

/// The best offset at the scores z + eta q, to which `fixed` ones are added; moved = z + eta q, the
/// slopes a there, and last sum_i a_i q_i.
auto step_along(const Loss& loss, const Vector<double>& z, const Vector<double>& q,
                const Vector<double>& y, const Weights& s, const Weights& fixed, double eta,
                double total, double near, Output& moved, Output& a) {
    const std::size_t n = z.size();
    require(y.size() == n, "y", y.size(), n);
    require(q.size() == n, "q", q.size(), n);
    require(moved.size() == n, "moved", moved.size(), n);
    require(a.size() == n, "a", a.size(), n);
    if (fixed) require(fixed->size() == n, "fixed offsets", fixed->size(), n);
    fenchel::Offset found;
    double rate = 0;
    {
        const Unlocked unlocked;
        for (std::size_t i = 0; i < n; ++i) moved.data()[i] = z.data()[i] + eta * q.data()[i];
        std::vector<double> at(fixed ? n : 0);
        for (std::size_t i = 0; i < at.size(); ++i) at[i] = moved.data()[i] + fixed->data()[i];
        const fenchel::Rows rows = rows_view(fixed ? at.data() : moved.data(), y, s);
        found = fenchel::with_loss(loss.scalar, [&](const auto& l) {
            const fenchel::Offset best = fenchel::best_offset(l, rows, n, total, near);
            fenchel::mixed_slopes(l, rows, n, best, a.data());
            return best;
        });
        for (std::size_t i = 0; i < n; ++i) rate += a.data()[i] * q.data()[i];
    }
    return std::make_pair(as_tuple(found), rate);
}

std::size_t near_kinks(const Loss& loss, const Vector<double>& z, const Vector<double>& y,
                       double tolerance) {
    require(y.size() == z.size(), "y", y.size(), z.size());
    const fenchel::Rows rows{z.data(), y.data(), nullptr};
    const Unlocked unlocked;
    return fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::near_kinks(l, rows, tolerance, z.size());
    });
}

std::pair<double, double> slope_along(const Loss& loss, const Vector<double>& z,
                                      const Vector<double>& q, const Vector<double>& y,
                                      const Weights& s, double eta) {
    require(y.size() == z.size(), "y", y.size(), z.size());
    require(q.size() == z.size(), "q", q.size(), z.size());
    const fenchel::Rows rows = rows_view(z.data(), y, s);
    const Unlocked unlocked;
    const fenchel::Slope at = fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::slope_along(l, rows, q.data(), eta, z.size());
    });
    return {at.slope, at.curvature};
}

/// The kinks as an array of rows (eta, jump, bend).
auto kinks_along(const Loss& loss, const Vector<double>& z, const Vector<double>& q,
                 const Vector<double>& y, const Weights& s, double low, double high) {
    require(y.size() == z.size(), "y", y.size(), z.size());
    require(q.size() == z.size(), "q", q.size(), z.size());
    const fenchel::Rows rows = rows_view(z.data(), y, s);
    std::vector<fenchel::Kink> kinks;
    {
        const Unlocked unlocked;
        kinks = fenchel::with_loss(loss.scalar, [&](const auto& l) {
            return fenchel::kinks_along(l, rows, q.data(), low, high, z.size());
        });
    }
    return array_of<double>(std::move(kinks), 3);
}

double crossing(double slope, double curvature, double low,
                const nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig>& kinks) {
    std::vector<fenchel::Kink> list(kinks.shape(0));
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = {kinks(i, 0), kinks(i, 1), kinks(i, 2)};
    const Unlocked unlocked;
    return fenchel::crossing({slope, curvature}, low, list);
}

template <class Value, class Column>
void bind_csr(nb::module_& m) {
    using Start = Vector<std::int64_t>;
    m.def(
        "csr_scores",
        [](Start row_start, Vector<Column> column, Vector<Value> value, Vector<double> w, Output z,
           bool ones) { scores(csr_view(row_start, column, value, w.size(), ones), w, z); },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "w"_a.noconvert(),
        "z"_a.noconvert(), "ones"_a = false);
    m.def(
        "csr_adjoint",
        [](Start row_start, Vector<Column> column, Vector<Value> value, Vector<double> a, Output g,
           bool ones) { adjoint(csr_view(row_start, column, value, g.size(), ones), a, g); },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "a"_a.noconvert(),
        "g"_a.noconvert(), "ones"_a = false);
    m.def(
        "csr_squares",
        [](Start row_start, Vector<Column> column, Vector<Value> value, Weights s, Output g,
           bool ones) { squares(csr_view(row_start, column, value, g.size(), ones), s, g); },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "s"_a.none(),
        "g"_a.noconvert(), "ones"_a = false);
    m.def(
        "csr_evaluate",
        [](Start row_start, Vector<Column> column, Vector<Value> value, const Loss& loss,
           Vector<double> y, Weights s, Vector<double> w, Output z, Output a, Output g, bool ones) {
            const auto X = csr_view(row_start, column, value, w.size(), ones);
            return evaluate(X, loss, y, s, w, z, a, g);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "loss"_a,
        "y"_a.noconvert(), "s"_a.none(), "w"_a.noconvert(), "z"_a.noconvert(), "a"_a.noconvert(),
        "g"_a.noconvert(), "ones"_a = false);
    m.def(
        "csr_first_duplicate",
        [](Start row_start, Vector<Column> column, Vector<Value> value,
           Written<std::int64_t> seen) {
            const auto X = csr_view(row_start, column, value, seen.size());
            const Unlocked unlocked;
            return fenchel::first_duplicate(X, seen.data());
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(),
        "seen"_a.noconvert());
}

template <class Value>
void bind_dense(nb::module_& m) {
    m.def(
        "dense_scores",
        [](Table<Value> X, Vector<double> w, Output z) { scores(dense_view(X), w, z); },
        "X"_a.noconvert(), "w"_a.noconvert(), "z"_a.noconvert());
    m.def(
        "dense_adjoint",
        [](Table<Value> X, Vector<double> a, Output g) { adjoint(dense_view(X), a, g); },
        "X"_a.noconvert(), "a"_a.noconvert(), "g"_a.noconvert());
    m.def(
        "dense_squares", [](Table<Value> X, Weights s, Output g) { squares(dense_view(X), s, g); },
        "X"_a.noconvert(), "s"_a.none(), "g"_a.noconvert());
    m.def(
        "dense_evaluate",
        [](Table<Value> X, const Loss& loss, Vector<double> y, Weights s, Vector<double> w,
           Output z, Output a,
           Output g) { return evaluate(dense_view(X), loss, y, s, w, z, a, g); },
        "X"_a.noconvert(), "loss"_a, "y"_a.noconvert(), "s"_a.none(), "w"_a.noconvert(),
        "z"_a.noconvert(), "a"_a.noconvert(), "g"_a.noconvert());
    m.def(
        "dense_compress",
        [](Table<Value> X, Written<std::int64_t> row_start, Written<std::int32_t> column,
           Written<Value> value) {
            require(row_start.size() == X.shape(0) + 1, "row_start", row_start.size(),
                    X.shape(0) + 1);
            require(column.size() == value.size(), "column", column.size(), value.size());
            const Unlocked unlocked;
            if (!fenchel::compress(dense_view(X), value.size(), row_start.data(), column.data(),
                                   value.data()))
                throw std::invalid_argument("X has more numbers than column and value have room");
        },
        "X"_a.noconvert(), "row_start"_a.noconvert(), "column"_a.noconvert(),
        "value"_a.noconvert());
    m.def(
        "all_ones",
        [](Vector<Value> x) {
            const Unlocked unlocked;
            return fenchel::all_ones(x.data(), x.size());
        },
        "x"_a.noconvert());
    m.def(
        "within",
        [](Table<Value> X, double most) {
            const Unlocked unlocked;
            return fenchel::within(dense_view(X), most);
        },
        "X"_a.noconvert(), "most"_a);
    m.def(
        "scan",
        [](Table<Value> X) {
            const Unlocked unlocked;
            const fenchel::Scan found = fenchel::scan(dense_view(X));
            return std::make_tuple(found.nonfinite, found.row, found.column, found.largest);
        },
        "X"_a.noconvert());
}

}  // namespace

NB_MODULE(_kernels, m) {
    // Shards keep the loss that they are bound to, and a server keeps its shards to the very end.
    nb::set_leak_warnings(false);
    nb::class_<Loss>(m, "Loss").def(nb::init<const std::string&, double>(), "name"_a,
                                    "parameter"_a);
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
    bind_bell(m);
    bind_block_ascent(m);
    bind_chains(m);
    bind_columns(m);
    bind_block_columns(m);
    bind_dual_ascent(m);
    bind_ground_problems(m);
    bind_kernel_rows(m);
    bind_multivariate_losses(m);
    bind_newton(m);
    bind_pegasos(m);
    bind_polish(m);
    bind_block_newton(m);
    bind_offsets(m);
    bind_saddle(m);
    bind_simplex_qp(m);
    bind_svmlight(m);
    bind_vector_losses(m);
    m.def("slopes", &slopes, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "b"_a,
          "a"_a.noconvert());
    m.def("near_kinks", &near_kinks, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(), "tolerance"_a);
    m.def("slope_along", &slope_along, "loss"_a, "z"_a.noconvert(), "q"_a.noconvert(),
          "y"_a.noconvert(), "s"_a.none(), "eta"_a);
    m.def("kinks_along", &kinks_along, "loss"_a, "z"_a.noconvert(), "q"_a.noconvert(),
          "y"_a.noconvert(), "s"_a.none(), "low"_a, "high"_a);
    m.def("crossing", &crossing, "slope"_a, "curvature"_a, "low"_a, "kinks"_a);
    m.def("best_offset", &best_offset, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(),
          "total"_a, "near"_a);
    m.def("step_along", &step_along, "loss"_a, "z"_a.noconvert(), "q"_a.noconvert(),
          "y"_a.noconvert(), "s"_a.none(), "fixed"_a.none(), "eta"_a, "total"_a, "near"_a,
          "moved"_a.noconvert(), "a"_a.noconvert());
    m.def("sums", &sums, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "b"_a);
}

// Bindings of dual_ascent.hpp, multipliers.hpp and smoothing.hpp: array types, sizes and the GIL.
// No mathematics.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <tuple>

#include "bindings.hpp"
#include "dual_ascent.hpp"
#include "gram.hpp"
#include "hessian.hpp"
#include "multipliers.hpp"
#include "smoothing.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

/// The arrays of a dual problem on one shard; `threshold` and `scale` are given together.
struct DualProblem {
    Loss loss;
    Vector<double> y, rate, kappa;
    Weights threshold, scale, offset;

    fenchel::DualRows rows() const {
        return {y.data(), rate.data(), kappa.data(), offset ? offset->data() : nullptr};
    }

    void check(std::size_t n_rows, std::size_t n_columns) const {
        require(y.size() == n_rows, "y", y.size(), n_rows);
        require(rate.size() == n_rows, "rate", rate.size(), n_rows);
        require(kappa.size() == n_rows, "kappa", kappa.size(), n_rows);
        if (offset) require(offset->size() == n_rows, "offset", offset->size(), n_rows);
        for (const Weights& each : {threshold, scale})
            if (each) require(each->size() == n_columns, "threshold", each->size(), n_columns);
        if (threshold.has_value() != scale.has_value())
            throw std::invalid_argument("threshold and scale belong together");
    }
};

template <class Matrix>
auto sweep(const Matrix& X, const DualProblem& dual, Output& a, Output& v, double b,
           double offset_rate, Active& active, std::size_t n_active, double margin,
           std::uint64_t seed) {
    dual.check(X.n_rows, X.n_columns);
    require(a.size() == X.n_rows, "a", a.size(), X.n_rows);
    require(v.size() == X.n_columns, "v", v.size(), X.n_columns);
    check_active(active, n_active, X.n_rows);
    nb::gil_scoped_release unlocked;
    fenchel::DualPoint at{a.data(), v.data(), b, offset_rate};
    const fenchel::Sweep done = fenchel::with_loss(dual.loss.scalar, [&](const auto& l) {
        const auto with = [&](const auto& shrink) {
            return fenchel::sweep(X, l, dual.rows(), shrink, at, active.data(), n_active, margin,
                                  seed);
        };
        return dual.scale
                   ? with(fenchel::detail::Shrunk{dual.threshold->data(), dual.scale->data()})
                   : with(fenchel::detail::Plain{});
    });
    return std::make_tuple(at.b, done.n_active, done.n_moved, done.violation, done.rise);
}

std::size_t movable(const DualProblem& dual, const Vector<double>& z, const Vector<double>& a,
                    double margin, Active& active) {
    const std::size_t n = dual.y.size();
    if (dual.offset) require(dual.offset->size() == n, "offset", dual.offset->size(), n);
    require(z.size() == n, "z", z.size(), n);
    require(a.size() == n, "a", a.size(), n);
    require(active.size() == n, "active", active.size(), n);
    nb::gil_scoped_release unlocked;
    return fenchel::with_loss(dual.loss.scalar, [&](const auto& l) {
        return fenchel::movable(l, z.data(), dual.rows(), a.data(), n, margin, active.data());
    });
}

template <class Matrix>
void row_squares(const Matrix& X, const Weights& scale, Output& q) {
    if (scale) require(scale->size() == X.n_columns, "scale", scale->size(), X.n_columns);
    require(q.size() == X.n_rows, "q", q.size(), X.n_rows);
    nb::gil_scoped_release unlocked;
    fenchel::row_squares(X, scale ? scale->data() : nullptr, q.data());
}

std::size_t augmented_slopes(const Loss& loss, const Vector<double>& z, const Vector<double>& y,
                             const Vector<double>& a, double kappa, double b, Output& u,
                             Active& bent) {
    const std::size_t n = z.size();
    require(y.size() == n, "y", y.size(), n);
    require(a.size() == n, "a", a.size(), n);
    require(u.size() == n, "u", u.size(), n);
    require(bent.size() == n, "bent", bent.size(), n);
    const fenchel::Rows rows{z.data(), y.data(), nullptr};
    nb::gil_scoped_release unlocked;
    return fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::augmented_slopes(l, rows, a.data(), kappa, b, u.data(), bent.data(), n);
    });
}

std::size_t curvatures(const Loss& loss, const Vector<double>& z, const Vector<double>& y,
                       const Weights& s, double b, Output& h, Active& bent) {
    const std::size_t n = z.size();
    require(y.size() == n, "y", y.size(), n);
    if (s) require(s->size() == n, "sample weights", s->size(), n);
    require(h.size() == n, "h", h.size(), n);
    require(bent.size() == n, "bent", bent.size(), n);
    const fenchel::Rows rows{z.data(), y.data(), s ? s->data() : nullptr};
    nb::gil_scoped_release unlocked;
    return fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::curvatures(l, rows, b, h.data(), bent.data(), n);
    });
}

std::pair<double, double> augmented_slope_along(const Loss& loss, const Vector<double>& z,
                                                const Vector<double>& y, const Weights& s,
                                                const Vector<double>& a, double kappa, double b,
                                                const Vector<double>& q, double rate, double eta) {
    const std::size_t n = z.size();
    require(y.size() == n, "y", y.size(), n);
    require(a.size() == n, "a", a.size(), n);
    require(q.size() == n, "q", q.size(), n);
    if (s) require(s->size() == n, "sample weights", s->size(), n);
    const fenchel::Rows rows{z.data(), y.data(), s ? s->data() : nullptr};
    nb::gil_scoped_release unlocked;
    const fenchel::Slope at = fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::augmented_slope_along(l, rows, a.data(), kappa, b, q.data(), rate, eta, n);
    });
    return {at.slope, at.curvature};
}

std::tuple<double, double, double> smoothed(const Loss& loss, const Vector<double>& z,
                                            const Vector<double>& y, const Weights& s, double mu,
                                            const Weights& widths, double b, Output& u) {
    const std::size_t n = z.size();
    require(y.size() == n, "y", y.size(), n);
    require(u.size() == n, "u", u.size(), n);
    if (s) require(s->size() == n, "sample weights", s->size(), n);
    if (widths) require(widths->size() == n, "widths", widths->size(), n);
    const fenchel::Rows rows{z.data(), y.data(), s ? s->data() : nullptr};
    nb::gil_scoped_release unlocked;
    const fenchel::Smoothed total = fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::smoothed(l, rows, mu, widths ? widths->data() : nullptr, b, u.data(), n);
    });
    return {total.value, total.slope, total.rise};
}

/// (The best offset, the value there) and in u the slopes that belong to it.
std::pair<double, double> smoothed_offset(const Loss& loss, const Vector<double>& z,
                                          const Vector<double>& y, const Weights& s, double mu,
                                          const Weights& widths, double total, double near,
                                          Output& u) {
    const std::size_t n = z.size();
    require(y.size() == n, "y", y.size(), n);
    require(u.size() == n, "u", u.size(), n);
    if (s) require(s->size() == n, "sample weights", s->size(), n);
    if (widths) require(widths->size() == n, "widths", widths->size(), n);
    const fenchel::Rows rows{z.data(), y.data(), s ? s->data() : nullptr};
    nb::gil_scoped_release unlocked;
    const fenchel::Offset found = fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::smoothed_offset(l, rows, mu, widths ? widths->data() : nullptr, total, near,
                                        u.data(), n);
    });
    return {found.best, found.value};
}

template <class Matrix>
void gram(const Matrix& X, const Weights& s, const Active& chosen, std::size_t count,
          OutputMatrix& G) {
    require(G.shape(0) == X.n_columns + 1, "G", G.shape(0), X.n_columns + 1);
    require(G.shape(1) == X.n_columns + 1, "G", G.shape(1), X.n_columns + 1);
    if (s) require(s->size() == X.n_rows, "sample weights", s->size(), X.n_rows);
    check_active(chosen, count, X.n_rows);
    nb::gil_scoped_release unlocked;
    fenchel::gram(X, s ? s->data() : nullptr, chosen.data(), count, G.data());
}

template <class Value, class Column>
void bind_csr(nb::module_& m) {
    using Start = Vector<std::int64_t>;
    m.def(
        "csr_sweep",
        [](Start row_start, Vector<Column> column, Vector<Value> value, const DualProblem& dual,
           Output a, Output v, double b, double offset_rate, Active active, std::size_t n_active,
           double margin, std::uint64_t seed) {
            return sweep(csr_view(row_start, column, value, v.size()), dual, a, v, b, offset_rate,
                         active, n_active, margin, seed);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "dual"_a,
        "a"_a.noconvert(), "v"_a.noconvert(), "b"_a, "offset_rate"_a, "active"_a.noconvert(),
        "n_active"_a, "margin"_a, "seed"_a);
    m.def(
        "csr_gram",
        [](Start row_start, Vector<Column> column, Vector<Value> value, Weights s, Active chosen,
           std::size_t count, OutputMatrix G) {
            require(G.shape(0) > 0, "G", G.shape(0), 1);
            gram(csr_view(row_start, column, value, G.shape(0) - 1), s, chosen, count, G);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "s"_a.none(),
        "chosen"_a.noconvert(), "count"_a, "G"_a.noconvert());
    m.def(
        "csr_row_squares",
        [](Start row_start, Vector<Column> column, Vector<Value> value, std::size_t n_columns,
           Weights scale,
           Output q) { row_squares(csr_view(row_start, column, value, n_columns), scale, q); },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "n_columns"_a,
        "scale"_a.none(), "q"_a.noconvert());
}

template <class Value>
void bind_dense(nb::module_& m) {
    m.def(
        "dense_sweep",
        [](Table<Value> X, const DualProblem& dual, Output a, Output v, double b,
           double offset_rate, Active active, std::size_t n_active, double margin,
           std::uint64_t seed) {
            return sweep(dense_view(X), dual, a, v, b, offset_rate, active, n_active, margin, seed);
        },
        "X"_a.noconvert(), "dual"_a, "a"_a.noconvert(), "v"_a.noconvert(), "b"_a, "offset_rate"_a,
        "active"_a.noconvert(), "n_active"_a, "margin"_a, "seed"_a);
    m.def(
        "dense_gram",
        [](Table<Value> X, Weights s, Active chosen, std::size_t count, OutputMatrix G) {
            gram(dense_view(X), s, chosen, count, G);
        },
        "X"_a.noconvert(), "s"_a.none(), "chosen"_a.noconvert(), "count"_a, "G"_a.noconvert());
    m.def(
        "dense_row_squares",
        [](Table<Value> X, Weights scale, Output q) { row_squares(dense_view(X), scale, q); },
        "X"_a.noconvert(), "scale"_a.none(), "q"_a.noconvert());
}

}  // namespace

void bindings::bind_dual_ascent(nb::module_& m) {
    nb::class_<DualProblem>(m, "DualProblem")
        .def(
            "__init__",
            [](DualProblem* self, const Loss& loss, Vector<double> y, Vector<double> rate,
               Vector<double> kappa, Weights threshold, Weights scale, Weights offset) {
                new (self) DualProblem{loss, y, rate, kappa, threshold, scale, offset};
            },
            "loss"_a, "y"_a.noconvert(), "rate"_a.noconvert(), "kappa"_a.noconvert(),
            "threshold"_a.none(), "scale"_a.none(), "offset"_a.none() = nb::none());
    m.def("augmented_slopes", &augmented_slopes, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(),
          "a"_a.noconvert(), "kappa"_a, "b"_a, "u"_a.noconvert(), "bent"_a.noconvert());
    m.def("curvatures", &curvatures, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(),
          "b"_a, "h"_a.noconvert(), "bent"_a.noconvert());
    m.def("augmented_slope_along", &augmented_slope_along, "loss"_a, "z"_a.noconvert(),
          "y"_a.noconvert(), "s"_a.none(), "a"_a.noconvert(), "kappa"_a, "b"_a, "q"_a.noconvert(),
          "rate"_a, "eta"_a);
    m.def("smoothed_offset", &smoothed_offset, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(),
          "s"_a.none(), "mu"_a, "widths"_a.none(), "total"_a, "near"_a, "u"_a.noconvert());
    m.def("smoothed", &smoothed, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(),
          "mu"_a, "widths"_a.none(), "b"_a, "u"_a.noconvert());
    m.def("movable", &movable, "dual"_a, "z"_a.noconvert(), "a"_a.noconvert(), "margin"_a,
          "active"_a.noconvert());
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
}

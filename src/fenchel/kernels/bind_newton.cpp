// Bindings of newton.hpp: array types, sizes and the GIL. No mathematics.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <utility>

#include "bindings.hpp"
#include "newton.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

/// The arrays that J is made of, but for X.
struct NewtonTerms {
    Loss loss;
    Vector<double> y;
    Weights s, offsets;
    Vector<double> D;
    double total;
    bool intercept;
};

/// At most so many steps from (w, b), which is moved; returns b and how many they were.
template <class Matrix>
std::pair<double, std::size_t> newton(const Matrix& X, const NewtonTerms& of, Output& w, double b,
                                      double gap, std::size_t steps) {
    require(of.y.size() == X.n_rows, "y", of.y.size(), X.n_rows);
    if (of.s) require(of.s->size() == X.n_rows, "sample weights", of.s->size(), X.n_rows);
    if (of.offsets)
        require(of.offsets->size() == X.n_rows, "offsets", of.offsets->size(), X.n_rows);
    require(of.D.size() == X.n_columns, "D", of.D.size(), X.n_columns);
    require(w.size() == X.n_columns, "w", w.size(), X.n_columns);
    nb::gil_scoped_release unlocked;
    const fenchel::ProductsOf<Matrix> products(X);
    fenchel::NewtonMethod method(
        {products, of.loss.scalar, of.y.data(), of.s ? of.s->data() : nullptr,
         of.offsets ? of.offsets->data() : nullptr, of.D.data(), of.total, of.intercept},
        w.data(), b);
    std::size_t taken = 0;
    while (taken < steps && method.step(gap)) ++taken;
    return {method.b(), taken};
}

template <class Value, class Column>
void bind_csr(nb::module_& m) {
    m.def(
        "csr_newton",
        [](Vector<std::int64_t> row_start, Vector<Column> column, Vector<Value> value,
           const NewtonTerms& of, Output w, double b, double gap, std::size_t steps) {
            return newton(csr_view(row_start, column, value, w.size()), of, w, b, gap, steps);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "of"_a,
        "w"_a.noconvert(), "b"_a, "gap"_a, "steps"_a);
}

template <class Value>
void bind_dense(nb::module_& m) {
    m.def(
        "dense_newton",
        [](Table<Value> X, const NewtonTerms& of, Output w, double b, double gap,
           std::size_t steps) { return newton(dense_view(X), of, w, b, gap, steps); },
        "X"_a.noconvert(), "of"_a, "w"_a.noconvert(), "b"_a, "gap"_a, "steps"_a);
}

}  // namespace

void bindings::bind_newton(nb::module_& m) {
    nb::class_<NewtonTerms>(m, "NewtonTerms")
        .def(
            "__init__",
            [](NewtonTerms* self, const Loss& loss, Vector<double> y, Weights s, Weights offsets,
               Vector<double> D, double total, bool intercept) {
                new (self) NewtonTerms{loss, y, s, offsets, D, total, intercept};
            },
            "loss"_a, "y"_a.noconvert(), "s"_a.none(), "offsets"_a.none(), "D"_a.noconvert(),
            "total"_a, "intercept"_a);
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
}

// Bindings of newton.hpp: array types, sizes and the GIL. No mathematics.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <utility>

#include "bindings.hpp"
#include "newton.hpp"
#include "newton_path.hpp"
#include "row_products.hpp"

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

/// The problem of these terms, of sizes that fit.
fenchel::NewtonProblem problem_of(const fenchel::Products& X, const NewtonTerms& of,
                                  const Output& w) {
    require(of.y.size() == X.n_rows, "y", of.y.size(), X.n_rows);
    if (of.s) require(of.s->size() == X.n_rows, "sample weights", of.s->size(), X.n_rows);
    if (of.offsets)
        require(of.offsets->size() == X.n_rows, "offsets", of.offsets->size(), X.n_rows);
    require(of.D.size() == X.n_columns, "D", of.D.size(), X.n_columns);
    require(w.size() == X.n_columns, "w", w.size(), X.n_columns);
    return {X,
            of.loss.scalar,
            of.y.data(),
            of.s ? of.s->data() : nullptr,
            of.offsets ? of.offsets->data() : nullptr,
            of.D.data(),
            of.total,
            of.intercept};
}

/// At most so many steps from (w, b), which is moved; returns b and how many they were.
template <class Matrix>
std::pair<double, std::size_t> newton(const Matrix& X, const NewtonTerms& of, Output& w, double b,
                                      double gap, std::size_t steps) {
    const fenchel::ProductsOf<Matrix> products(X);
    const auto problem = problem_of(products, of, w);
    nb::gil_scoped_release unlocked;
    fenchel::NewtonMethod method(problem, w.data(), b);
    std::size_t taken = 0;
    while (taken < steps && method.step(gap)) ++taken;
    return {method.b(), taken};
}

/// Where a path writes what it finds: a row for each of its strengths.
struct NewtonOutput {
    Vector<double> strengths;
    OutputMatrix w, alpha, bounds;
    Output b;

    fenchel::NewtonStrengths from(std::size_t first, std::size_t n, std::size_t d) const {
        const std::size_t m = strengths.size();
        require(first <= m, "strengths", m, first);
        require(b.size() == m, "b", b.size(), m);
        same_shape("w", nb::ndarray<>(w), m, d);
        same_shape("alpha", nb::ndarray<>(alpha), m, n);
        same_shape("bounds", nb::ndarray<>(bounds), m, 2);
        return {w.data() + first * d, b.data() + first, alpha.data() + first * n,
                bounds.data() + 2 * first};
    }
};

/// The strengths from `first` on, until they or the steps are done; how many, and the steps.
template <class Matrix>
auto follow(const Matrix& X, const NewtonTerms& of, Output& w, double b, double gap,
            std::size_t most, std::size_t steps, const NewtonOutput& path, std::size_t first) {
    const fenchel::ProductsOf<Matrix> products(X);
    const auto problem = problem_of(products, of, w);
    const auto to = path.from(first, X.n_rows, X.n_columns);
    nb::gil_scoped_release unlocked;
    return fenchel::newton_path(problem, w.data(), b, path.strengths.data() + first,
                                path.strengths.size() - first, gap, most, steps, to);
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
    m.def(
        "csr_newton_path",
        [](Vector<std::int64_t> row_start, Vector<Column> column, Vector<Value> value,
           const NewtonTerms& of, Output w, double b, double gap, std::size_t most,
           std::size_t steps, const NewtonOutput& path, std::size_t first) {
            const auto X = csr_view(row_start, column, value, w.size());
            return follow(X, of, w, b, gap, most, steps, path, first);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "of"_a,
        "w"_a.noconvert(), "b"_a, "gap"_a, "most"_a, "steps"_a, "path"_a, "first"_a);
}

template <class Value>
void bind_dense(nb::module_& m) {
    m.def(
        "dense_newton",
        [](Table<Value> X, const NewtonTerms& of, Output w, double b, double gap,
           std::size_t steps) { return newton(dense_view(X), of, w, b, gap, steps); },
        "X"_a.noconvert(), "of"_a, "w"_a.noconvert(), "b"_a, "gap"_a, "steps"_a);
    m.def(
        "dense_newton_path",
        [](Table<Value> X, const NewtonTerms& of, Output w, double b, double gap, std::size_t most,
           std::size_t steps, const NewtonOutput& path, std::size_t first) {
            return follow(dense_view(X), of, w, b, gap, most, steps, path, first);
        },
        "X"_a.noconvert(), "of"_a, "w"_a.noconvert(), "b"_a, "gap"_a, "most"_a, "steps"_a, "path"_a,
        "first"_a);
}

template <class Column>
void bind_row_products(nb::module_& m) {
    using Start = Vector<std::int64_t>;
    m.def(
        "row_products",
        [](Start row_start, Vector<Column> column, Vector<double> value, Start column_start,
           Vector<Column> row, Vector<double> by_column, std::size_t first, std::size_t last,
           OutputMatrix H) {
            require(column_start.size() > 0, "column_start", 0, 1);
            const auto X = csr_view(row_start, column, value, column_start.size() - 1);
            const auto end = static_cast<std::size_t>(column_start(X.n_columns));
            require(end <= row.size(), "row", row.size(), end);
            require(end <= by_column.size(), "by_column", by_column.size(), end);
            require(first <= last && last <= X.n_rows, "rows", last, X.n_rows);
            same_shape("H", nb::ndarray<>(H), X.n_rows, X.n_rows);
            nb::gil_scoped_release unlocked;
            fenchel::row_products(X, column_start.data(), row.data(), by_column.data(), first, last,
                                  H.data());
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(),
        "column_start"_a.noconvert(), "row"_a.noconvert(), "by_column"_a.noconvert(), "first"_a,
        "last"_a, "H"_a.noconvert());
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
    nb::class_<NewtonOutput>(m, "NewtonStrengths")
        .def(
            "__init__",
            [](NewtonOutput* self, Vector<double> strengths, OutputMatrix w, OutputMatrix alpha,
               OutputMatrix bounds,
               Output b) { new (self) NewtonOutput{strengths, w, alpha, bounds, b}; },
            "strengths"_a.noconvert(), "w"_a.noconvert(), "alpha"_a.noconvert(),
            "bounds"_a.noconvert(), "b"_a.noconvert());
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
    bind_row_products<std::int32_t>(m);
    bind_row_products<std::int64_t>(m);
}

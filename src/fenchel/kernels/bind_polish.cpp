// Bindings of polish.hpp: array types, sizes and the GIL. No mathematics.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <stdexcept>
#include <tuple>

#include "bindings.hpp"
#include "polish.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

/// What a polish minimises: rows and columns without X.
struct PolishProblem {
    Loss loss;
    Vector<double> y;
    Weights s, offset;
    Vector<double> h, t, ratio, prox;
    bool has_intercept;
    double weight, growth, least;

    void check(std::size_t n, std::size_t d) const {
        require(y.size() == n, "y", y.size(), n);
        for (const Weights& each : {s, offset})
            if (each) require(each->size() == n, "sample weights or offset", each->size(), n);
        for (const Vector<double>& each : {h, t, ratio, prox})
            require(each.size() == d, "a column's terms", each.size(), d);
    }
    const double* weights() const { return s ? s->data() : nullptr; }
};

/// The arrays and numbers that a polish changes.
struct PolishPoint {
    Output w, a, c, centre, best_w, best_u;
    double b, kappa, rho, best_b, upper, lower;

    void check(std::size_t n, std::size_t d) const {
        for (const Output& each : {w, c, centre, best_w})
            require(each.size() == d, "a vector of columns", each.size(), d);
        for (const Output& each : {a, best_u})
            require(each.size() == n, "a vector of rows", each.size(), n);
    }
};

template <class Matrix>
auto polish(const Matrix& X, const PolishProblem& problem, PolishPoint& point, double gap,
            std::size_t steps) {
    problem.check(X.n_rows, X.n_columns);
    point.check(X.n_rows, X.n_columns);
    nb::gil_scoped_release unlocked;
    const fenchel::ProductsOf<Matrix> products(X);
    const fenchel::Rows rows{nullptr, problem.y.data(), problem.weights()};
    const fenchel::ColumnTerms terms{problem.h.data(), problem.t.data(), problem.ratio.data(),
                                     problem.prox.data()};
    fenchel::PolishState at{
        point.w.data(),      point.a.data(),      point.c.data(), point.centre.data(),
        point.best_w.data(), point.best_u.data(), point.b,        point.kappa,
        point.rho,           point.best_b,        point.upper,    point.lower};
    const fenchel::PolishSettings settings{
        problem.has_intercept, problem.weight, problem.growth, problem.least, gap, steps};
    fenchel::Polish run(products, problem.loss.scalar, rows,
                        problem.offset ? problem.offset->data() : nullptr, terms, settings, at);
    const fenchel::Polished done = run.run();
    point.b = at.b;
    point.kappa = at.kappa;
    point.rho = at.rho;
    point.best_b = at.best_b;
    point.upper = at.upper;
    point.lower = at.lower;
    return std::make_tuple(done.newton, done.updates, done.passes, done.reached);
}

template <class Value, class Column>
void bind_csr(nb::module_& m) {
    m.def(
        "csr_polish",
        [](Vector<std::int64_t> row_start, Vector<Column> column, Vector<Value> value,
           const PolishProblem& problem, PolishPoint& point, double gap, std::size_t steps) {
            const auto X = csr_view(row_start, column, value, point.w.size());
            return polish(X, problem, point, gap, steps);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "problem"_a,
        "point"_a, "gap"_a, "steps"_a);
}

template <class Value>
void bind_dense(nb::module_& m) {
    m.def(
        "dense_polish",
        [](Table<Value> X, const PolishProblem& problem, PolishPoint& point, double gap,
           std::size_t steps) { return polish(dense_view(X), problem, point, gap, steps); },
        "X"_a.noconvert(), "problem"_a, "point"_a, "gap"_a, "steps"_a);
}

}  // namespace

void bindings::bind_polish(nb::module_& m) {
    nb::class_<PolishProblem>(m, "PolishProblem")
        .def(
            "__init__",
            [](PolishProblem* self, const Loss& loss, Vector<double> y, Weights s, Weights offset,
               Vector<double> h, Vector<double> t, Vector<double> ratio, Vector<double> prox,
               bool has_intercept, double weight, double growth, double least) {
                new (self) PolishProblem{loss,          y,      s,      offset, h, t, ratio, prox,
                                         has_intercept, weight, growth, least};
            },
            "loss"_a, "y"_a.noconvert(), "s"_a.none(), "offset"_a.none(), "h"_a.noconvert(),
            "t"_a.noconvert(), "ratio"_a.noconvert(), "prox"_a.noconvert(), "has_intercept"_a,
            "weight"_a, "growth"_a, "least"_a);
    nb::class_<PolishPoint>(m, "PolishPoint")
        .def(
            "__init__",
            [](PolishPoint* self, Output w, Output a, Output c, Output centre, Output best_w,
               Output best_u, double b, double kappa, double rho, double best_b, double upper,
               double lower) {
                new (self) PolishPoint{w, a,     c,   centre, best_w, best_u,
                                       b, kappa, rho, best_b, upper,  lower};
            },
            "w"_a.noconvert(), "a"_a.noconvert(), "c"_a.noconvert(), "centre"_a.noconvert(),
            "best_w"_a.noconvert(), "best_u"_a.noconvert(), "b"_a, "kappa"_a, "rho"_a, "best_b"_a,
            "upper"_a, "lower"_a)
        .def_ro("b", &PolishPoint::b)
        .def_ro("kappa", &PolishPoint::kappa)
        .def_ro("rho", &PolishPoint::rho)
        .def_ro("best_b", &PolishPoint::best_b)
        .def_ro("upper", &PolishPoint::upper)
        .def_rw("lower", &PolishPoint::lower);
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
}

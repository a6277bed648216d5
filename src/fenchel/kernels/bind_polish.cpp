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
#include "polish_path.hpp"

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
    fenchel::Rows rows() const { return {nullptr, y.data(), s ? s->data() : nullptr}; }
    const double* offsets() const { return offset ? offset->data() : nullptr; }
    fenchel::ColumnTerms terms() const { return {h.data(), t.data(), ratio.data(), prox.data()}; }
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

/// The numbers of a point, taken out for a kernel and put back when it ends.
class Lent {
  public:
    explicit Lent(PolishPoint& point)
        : state{point.w.data(),      point.a.data(),      point.c.data(), point.centre.data(),
                point.best_w.data(), point.best_u.data(), point.b,        point.kappa,
                point.rho,           point.best_b,        point.upper,    point.lower},
          point(point) {}
    ~Lent() {
        point.b = state.b;
        point.kappa = state.kappa;
        point.rho = state.rho;
        point.best_b = state.best_b;
        point.upper = state.upper;
        point.lower = state.lower;
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

    fenchel::PolishState state;

  private:
    PolishPoint& point;
};

fenchel::PolishSettings settings_of(const PolishProblem& problem, double gap, std::size_t steps) {
    return {problem.has_intercept, problem.weight, problem.growth, problem.least, gap, steps};
}

template <class Matrix>
auto polish(const Matrix& X, const PolishProblem& problem, PolishPoint& point, double gap,
            std::size_t steps) {
    problem.check(X.n_rows, X.n_columns);
    point.check(X.n_rows, X.n_columns);
    nb::gil_scoped_release unlocked;
    const fenchel::ProductsOf<Matrix> products(X);
    Lent at(point);
    fenchel::Polish run(products, problem.loss.scalar, problem.rows(), problem.offsets(),
                        problem.terms(), settings_of(problem, gap, steps), at.state);
    const fenchel::Polished done = run.run();
    return std::make_tuple(done.newton, done.updates, done.passes, done.reached);
}

/// Where a path is, and what is known of its strengths.
struct PathOutput {
    Vector<double> strengths;
    OutputMatrix w, u, bounds;
    Output b;
    double kappa, rho;  // of a start from 0

    void check(std::size_t n, std::size_t d) const {
        const std::size_t m = strengths.size();
        require(b.size() == m, "b", b.size(), m);
        for (const OutputMatrix& each : {w, u, bounds})
            require(each.shape(0) == m, "a row for each strength", each.shape(0), m);
        require(w.shape(1) == d, "w", w.shape(1), d);
        require(u.shape(1) == n, "u", u.shape(1), n);
        require(bounds.shape(1) == 2, "bounds", bounds.shape(1), 2);
    }
};

/// The strengths from `first` on: how many more are done, steps at the one that is not, passes.
template <class Matrix>
auto follow(const Matrix& X, const PolishProblem& problem, PolishPoint& point, double gap,
            std::size_t steps, PathOutput& path, std::size_t first, bool begun) {
    problem.check(X.n_rows, X.n_columns);
    point.check(X.n_rows, X.n_columns);
    path.check(X.n_rows, X.n_columns);
    const std::size_t m = path.strengths.size();
    if (first > m) throw std::invalid_argument("there is no such strength");
    nb::gil_scoped_release unlocked;
    const fenchel::ProductsOf<Matrix> products(X);
    Lent at(point);
    fenchel::PolishFollower follower(
        {products, problem.loss.scalar, problem.rows(), problem.offsets(), problem.terms(),
         settings_of(problem, gap, steps), path.kappa, path.rho},
        at.state);
    const auto done =
        follower.run(path.strengths.data() + first, m - first, begun,
                     {path.w.data() + first * X.n_columns, path.b.data() + first,
                      path.u.data() + first * X.n_rows, path.bounds.data() + 2 * first});
    return std::make_tuple(done.strengths, done.newton, done.passes);
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
    m.def(
        "csr_polish_path",
        [](Vector<std::int64_t> row_start, Vector<Column> column, Vector<Value> value,
           const PolishProblem& problem, PolishPoint& point, double gap, std::size_t steps,
           PathOutput& path, std::size_t first, bool begun) {
            const auto X = csr_view(row_start, column, value, point.w.size());
            return follow(X, problem, point, gap, steps, path, first, begun);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "problem"_a,
        "point"_a, "gap"_a, "steps"_a, "path"_a, "first"_a, "begun"_a);
}

template <class Value>
void bind_dense(nb::module_& m) {
    m.def(
        "dense_polish",
        [](Table<Value> X, const PolishProblem& problem, PolishPoint& point, double gap,
           std::size_t steps) { return polish(dense_view(X), problem, point, gap, steps); },
        "X"_a.noconvert(), "problem"_a, "point"_a, "gap"_a, "steps"_a);
    m.def(
        "dense_polish_path",
        [](Table<Value> X, const PolishProblem& problem, PolishPoint& point, double gap,
           std::size_t steps, PathOutput& path, std::size_t first, bool begun) {
            return follow(dense_view(X), problem, point, gap, steps, path, first, begun);
        },
        "X"_a.noconvert(), "problem"_a, "point"_a, "gap"_a, "steps"_a, "path"_a, "first"_a,
        "begun"_a);
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
    nb::class_<PathOutput>(m, "PolishStrengths")
        .def(
            "__init__",
            [](PathOutput* self, Vector<double> strengths, OutputMatrix w, OutputMatrix u,
               OutputMatrix bounds, Output b, double kappa,
               double rho) { new (self) PathOutput{strengths, w, u, bounds, b, kappa, rho}; },
            "strengths"_a.noconvert(), "w"_a.noconvert(), "u"_a.noconvert(), "bounds"_a.noconvert(),
            "b"_a.noconvert(), "kappa"_a, "rho"_a);
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
}

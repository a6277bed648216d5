// Bindings of block_newton.hpp: array types, sizes and the GIL. No mathematics.
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>
#include <variant>

#include "bindings.hpp"
#include "block_newton.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

/// What J is made of but for X: D has K numbers for each column, `up` and `down` K in all.
struct BlockNewtonProblem {
    std::variant<Labelled<fenchel::MulticlassHinge>, Labelled<fenchel::Softmax>,
                 Labelled<fenchel::MultilabelHinge>>
        labelled;
    Weights s;
    Vector<double> D, up, down;
    bool has_intercept;
    double weight, growth, least;
};

/// The arrays and numbers that a run changes: w has K numbers for each column and K offsets.
struct BlockNewtonPoint {
    Output w, a, best_w, best_u;
    double kappa, upper, lower;
};

void check(const BlockNewtonProblem& of, const BlockNewtonPoint& point, std::size_t n,
           std::size_t d, std::size_t K) {
    if (of.s) require(of.s->size() == n, "sample weights", of.s->size(), n);
    require(of.D.size() == d * K, "D", of.D.size(), d * K);
    for (const Vector<double>& each : {of.up, of.down})
        require(each.size() == K, "a class's price", each.size(), K);
    for (const Output& each : {point.w, point.best_w})
        require(each.size() == (d + 1) * K, "w", each.size(), (d + 1) * K);
    for (const Output& each : {point.a, point.best_u})
        require(each.size() == n * K, "a", each.size(), n * K);
}

template <class Matrix>
auto run(const Matrix& X, const BlockNewtonProblem& of, BlockNewtonPoint& point, double gap,
         std::size_t steps) {
    const std::size_t n = X.n_rows, d = X.n_columns;
    const fenchel::BlockNewtonDone done = std::visit(
        [&]<class L>(const Labelled<L>& each) {
            const std::size_t K = each.loss.size(), stride = L::kSets ? K : 1;
            require(each.y.size() == n * stride, "y", each.y.size(), n * stride);
            check(of, point, n, d, K);
            nb::gil_scoped_release unlocked;
            const fenchel::OutputProductsOf<Matrix> products(X);
            const fenchel::VectorRows<typename L::Label> rows{
                n, K, nullptr, each.y.data(), of.s ? of.s->data() : nullptr, stride};
            fenchel::BlockNewtonState at{point.w.data(),      point.a.data(), point.best_w.data(),
                                         point.best_u.data(), point.kappa,    point.upper,
                                         point.lower};
            fenchel::BlockNewton<L> method(products, each.loss, rows, of.D.data(),
                                           {of.has_intercept, of.weight, of.growth, of.least, gap,
                                            steps, of.up.data(), of.down.data()},
                                           at);
            const auto answer = method.run();
            point.kappa = at.kappa;
            point.upper = at.upper;
            point.lower = at.lower;
            return answer;
        },
        of.labelled);
    return std::make_tuple(done.newton, done.passes, done.reached);
}

template <class Value, class Column>
void bind_csr(nb::module_& m) {
    m.def(
        "csr_block_newton",
        [](Vector<std::int64_t> row_start, Vector<Column> column, Vector<Value> value,
           std::size_t n_columns, const BlockNewtonProblem& of, BlockNewtonPoint& point, double gap,
           std::size_t steps) {
            return run(csr_view(row_start, column, value, n_columns), of, point, gap, steps);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "n_columns"_a,
        "of"_a, "point"_a, "gap"_a, "steps"_a);
}

template <class Value>
void bind_dense(nb::module_& m) {
    m.def(
        "dense_block_newton",
        [](Table<Value> X, const BlockNewtonProblem& of, BlockNewtonPoint& point, double gap,
           std::size_t steps) { return run(dense_view(X), of, point, gap, steps); },
        "X"_a.noconvert(), "of"_a, "point"_a, "gap"_a, "steps"_a);
}

template <class L>
void bind_problem(nb::class_<BlockNewtonProblem>& problem) {
    problem.def(
        "__init__",
        [](BlockNewtonProblem* self, const L& loss, LabelsOf<L> y, Weights s, Vector<double> D,
           Vector<double> up, Vector<double> down, bool has_intercept, double weight, double growth,
           double least) {
            new (self) BlockNewtonProblem{Labelled<L>{loss, y}, s,      D,      up,   down,
                                          has_intercept,        weight, growth, least};
        },
        "loss"_a, "y"_a.noconvert(), "s"_a.none(), "D"_a.noconvert(), "up"_a.noconvert(),
        "down"_a.noconvert(), "has_intercept"_a, "weight"_a, "growth"_a, "least"_a);
}

}  // namespace

void bindings::bind_block_newton(nb::module_& m) {
    nb::class_<BlockNewtonProblem> problem(m, "BlockNewtonProblem");
    bind_problem<fenchel::MulticlassHinge>(problem);
    bind_problem<fenchel::Softmax>(problem);
    bind_problem<fenchel::MultilabelHinge>(problem);
    nb::class_<BlockNewtonPoint>(m, "BlockNewtonPoint")
        .def(
            "__init__",
            [](BlockNewtonPoint* self, Output w, Output a, Output best_w, Output best_u,
               double kappa, double upper, double lower) {
                new (self) BlockNewtonPoint{w, a, best_w, best_u, kappa, upper, lower};
            },
            "w"_a.noconvert(), "a"_a.noconvert(), "best_w"_a.noconvert(), "best_u"_a.noconvert(),
            "kappa"_a, "upper"_a, "lower"_a)
        .def_ro("kappa", &BlockNewtonPoint::kappa)
        .def_ro("upper", &BlockNewtonPoint::upper)
        .def_rw("lower", &BlockNewtonPoint::lower);
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
}

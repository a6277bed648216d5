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
#include "outputs.hpp"
#include "simplex_qp.hpp"
#include "vector_losses.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutputMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = std::optional<Vector<double>>;

void require(bool holds, const char* name, std::size_t got, std::size_t expected) {
    if (!holds) {
        throw std::invalid_argument(std::string(name) + " has length " + std::to_string(got) +
                                    "; expected " + std::to_string(expected));
    }
}

/// A loss with its parameter, chosen once by name.
struct Loss {
    fenchel::ScalarLoss scalar;
    Loss(const std::string& name, double parameter)
        : scalar(fenchel::scalar_loss(name, parameter)) {
        if (scalar.index() == 0) throw std::invalid_argument("no native loss is called " + name);
    }
};

fenchel::Rows rows_view(const double* z, const Vector<double>& y, const Weights& s) {
    if (s) require(s->size() == y.size(), "sample weights", s->size(), y.size());
    return {z, y.data(), s ? s->data() : nullptr};
}

template <class Value, class Column>
fenchel::Csr<Value, std::int64_t, Column> csr_view(const Vector<std::int64_t>& row_start,
                                                   const Vector<Column>& column,
                                                   const Vector<Value>& value,
                                                   std::size_t n_columns) {
    require(row_start.size() > 0, "row_start", 0, 1);
    require(column.size() == value.size(), "column", column.size(), value.size());
    const auto end = static_cast<std::size_t>(row_start(row_start.size() - 1));
    require(end <= value.size(), "value", value.size(), end);
    return {row_start.size() - 1, n_columns, row_start.data(), column.data(), value.data()};
}

template <class Value>
fenchel::Dense<Value> dense_view(const Table<Value>& X) {
    return {X.shape(0), X.shape(1), X.data(), X.stride(0), X.stride(1)};
}

template <class Matrix>
void scores(const Matrix& X, const Vector<double>& w, Output& z) {
    require(w.size() == X.n_columns, "w", w.size(), X.n_columns);
    require(z.size() == X.n_rows, "z", z.size(), X.n_rows);
    nb::gil_scoped_release unlocked;
    fenchel::scores(X, w.data(), z.data());
}

template <class Matrix>
void adjoint(const Matrix& X, const Vector<double>& a, Output& g) {
    require(a.size() == X.n_rows, "a", a.size(), X.n_rows);
    require(g.size() == X.n_columns, "g", g.size(), X.n_columns);
    nb::gil_scoped_release unlocked;
    fenchel::adjoint(X, a.data(), g.data());
}

template <class Matrix>
void squares(const Matrix& X, const Weights& s, Output& g) {
    if (s) require(s->size() == X.n_rows, "sample weights", s->size(), X.n_rows);
    require(g.size() == X.n_columns, "g", g.size(), X.n_columns);
    nb::gil_scoped_release unlocked;
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
    nb::gil_scoped_release unlocked;
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
    nb::gil_scoped_release unlocked;
    return fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::slopes(l, rows, b, a.data(), 0, z.size());
    });
}

std::pair<double, double> sums(const Loss& loss, const Vector<double>& z, const Vector<double>& y,
                               const Weights& s, double b) {
    require(y.size() == z.size(), "y", y.size(), z.size());
    const fenchel::Rows rows = rows_view(z.data(), y, s);
    nb::gil_scoped_release unlocked;
    const fenchel::Bend sum = fenchel::with_loss(
        loss.scalar, [&](const auto& l) { return fenchel::sums(l, rows, b, z.size()); });
    return {sum.value, sum.slope};
}

std::size_t near_kinks(const Loss& loss, const Vector<double>& z, const Vector<double>& y,
                       double tolerance) {
    require(y.size() == z.size(), "y", y.size(), z.size());
    const fenchel::Rows rows{z.data(), y.data(), nullptr};
    nb::gil_scoped_release unlocked;
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
    nb::gil_scoped_release unlocked;
    const fenchel::Slope at = fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::slope_along(l, rows, q.data(), eta, z.size());
    });
    return {at.slope, at.curvature};
}

/// A vector's numbers as an array that owns them, in rows of `width`.
template <class Element, class T>
auto array_of(std::vector<T>&& numbers, std::size_t width) {
    auto* kept = new std::vector<T>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, Element, nb::ndim<2>>(kept->data(), {kept->size(), width}, owner);
}

/// The kinks as an array of rows (eta, jump, bend).
auto kinks_along(const Loss& loss, const Vector<double>& z, const Vector<double>& q,
                 const Vector<double>& y, const Weights& s, double low, double high) {
    require(y.size() == z.size(), "y", y.size(), z.size());
    require(q.size() == z.size(), "q", q.size(), z.size());
    const fenchel::Rows rows = rows_view(z.data(), y, s);
    std::vector<fenchel::Kink> kinks;
    {
        nb::gil_scoped_release unlocked;
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
    nb::gil_scoped_release unlocked;
    return fenchel::crossing({slope, curvature}, low, list);
}

template <class Value, class Column>
void bind_csr(nb::module_& m) {
    using Start = Vector<std::int64_t>;
    m.def(
        "csr_scores",
        [](Start row_start, Vector<Column> column, Vector<Value> value, Vector<double> w,
           Output z) { scores(csr_view(row_start, column, value, w.size()), w, z); },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "w"_a.noconvert(),
        "z"_a.noconvert());
    m.def(
        "csr_adjoint",
        [](Start row_start, Vector<Column> column, Vector<Value> value, Vector<double> a,
           Output g) { adjoint(csr_view(row_start, column, value, g.size()), a, g); },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "a"_a.noconvert(),
        "g"_a.noconvert());
    m.def(
        "csr_squares",
        [](Start row_start, Vector<Column> column, Vector<Value> value, Weights s, Output g) {
            squares(csr_view(row_start, column, value, g.size()), s, g);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "s"_a.none(),
        "g"_a.noconvert());
    m.def(
        "csr_evaluate",
        [](Start row_start, Vector<Column> column, Vector<Value> value, const Loss& loss,
           Vector<double> y, Weights s, Vector<double> w, Output z, Output a, Output g) {
            return evaluate(csr_view(row_start, column, value, w.size()), loss, y, s, w, z, a, g);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "loss"_a,
        "y"_a.noconvert(), "s"_a.none(), "w"_a.noconvert(), "z"_a.noconvert(), "a"_a.noconvert(),
        "g"_a.noconvert());
    m.def(
        "csr_first_duplicate",
        [](Start row_start, Vector<Column> column, Vector<Value> value,
           nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> seen) {
            const auto X = csr_view(row_start, column, value, seen.size());
            nb::gil_scoped_release unlocked;
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
        "scan",
        [](Table<Value> X) {
            nb::gil_scoped_release unlocked;
            const fenchel::Scan found = fenchel::scan(dense_view(X));
            return std::make_tuple(found.nonfinite, found.row, found.column, found.largest);
        },
        "X"_a.noconvert());
}

// ---- K scores a row --------------------------------------------------------------------------

void same_shape(const char* name, const nb::ndarray<>& got, std::size_t n, std::size_t K) {
    require(got.shape(0) == n, name, got.shape(0), n);
    require(got.shape(1) == K, name, got.shape(1), K);
}

template <class Value, class Column>
void bind_csr_outputs(nb::module_& m) {
    using Start = Vector<std::int64_t>;
    m.def(
        "csr_scores",
        [](Start row_start, Vector<Column> column, Vector<Value> value, Matrix W, OutputMatrix Z) {
            const auto X = csr_view(row_start, column, value, W.shape(0));
            same_shape("Z", nb::ndarray<>(Z), X.n_rows, W.shape(1));
            nb::gil_scoped_release unlocked;
            fenchel::scores(X, W.data(), W.shape(1), Z.data());
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "w"_a.noconvert(),
        "z"_a.noconvert());
    m.def(
        "csr_adjoint",
        [](Start row_start, Vector<Column> column, Vector<Value> value, Matrix A, OutputMatrix G) {
            const auto X = csr_view(row_start, column, value, G.shape(0));
            same_shape("A", nb::ndarray<>(A), X.n_rows, G.shape(1));
            nb::gil_scoped_release unlocked;
            fenchel::adjoint(X, A.data(), A.shape(1), G.data());
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "a"_a.noconvert(),
        "g"_a.noconvert());
}

/// Codes, one for each row, or sets, K numbers for each row.
template <class Loss>
using LabelsOf = nb::ndarray<const typename Loss::Label, nb::ndim<Loss::kSets ? 2 : 1>,
                             nb::c_contig, nb::device::cpu>;

template <class Loss>
fenchel::VectorRows<typename Loss::Label> vector_rows(const Loss& loss, const Matrix& Z,
                                                      const LabelsOf<Loss>& y, const Weights& s) {
    const std::size_t n = Z.shape(0), K = Z.shape(1);
    require(loss.size() == K, "a row of scores", K, loss.size());
    require(y.size() == (Loss::kSets ? n * K : n), "y", y.size(), Loss::kSets ? n * K : n);
    if (s) require(s->size() == n, "sample weights", s->size(), n);
    return {n, K, Z.data(), y.data(), s ? s->data() : nullptr, Loss::kSets ? K : 1};
}

template <class Loss>
void bind_vector_slopes(nb::module_& m) {
    m.def(
        "vector_slopes",
        [](const Loss& loss, Matrix Z, LabelsOf<Loss> y, Weights s, OutputMatrix A) {
            const auto rows = vector_rows<Loss>(loss, Z, y, s);
            same_shape("A", nb::ndarray<>(A), rows.n, rows.K);
            nb::gil_scoped_release unlocked;
            return fenchel::vector_slopes(loss, rows, A.data());
        },
        "loss"_a, "Z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "A"_a.noconvert());
}

template <class Loss>
void bind_vector_hinge(nb::module_& m) {
    bind_vector_slopes<Loss>(m);
    m.def(
        "vector_slope_along",
        [](const Loss& loss, Matrix Z, Matrix Q, LabelsOf<Loss> y, Weights s, double eta) {
            const auto rows = vector_rows<Loss>(loss, Z, y, s);
            same_shape("Q", nb::ndarray<>(Q), rows.n, rows.K);
            nb::gil_scoped_release unlocked;
            return fenchel::vector_slope_along(loss, rows, Q.data(), eta);
        },
        "loss"_a, "Z"_a.noconvert(), "Q"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "eta"_a);
    m.def(
        "vector_kinks_along",
        [](const Loss& loss, Matrix Z, Matrix Q, LabelsOf<Loss> y, Weights s, double low,
           double high) {
            const auto rows = vector_rows<Loss>(loss, Z, y, s);
            same_shape("Q", nb::ndarray<>(Q), rows.n, rows.K);
            std::vector<fenchel::Kink> kinks;
            {
                nb::gil_scoped_release unlocked;
                kinks = fenchel::vector_kinks_along(loss, rows, Q.data(), low, high);
            }
            return array_of<double>(std::move(kinks), 3);
        },
        "loss"_a, "Z"_a.noconvert(), "Q"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "low"_a,
        "high"_a);
    m.def(
        "vector_ties",
        [](const Loss& loss, Matrix Z, LabelsOf<Loss> y, double tolerance) {
            const auto rows = vector_rows<Loss>(loss, Z, y, std::nullopt);
            std::vector<std::int64_t> tied;
            {
                nb::gil_scoped_release unlocked;
                tied = fenchel::vector_ties(loss, rows, tolerance);
            }
            return array_of<std::int64_t>(std::move(tied), 1);
        },
        "loss"_a, "Z"_a.noconvert(), "y"_a.noconvert(), "tolerance"_a);
    m.def(
        "vector_steepest",
        [](const Loss& loss, Matrix Z, Matrix Q, LabelsOf<Loss> y, Weights s, double tolerance,
           OutputMatrix A) {
            const auto rows = vector_rows<Loss>(loss, Z, y, s);
            same_shape("Q", nb::ndarray<>(Q), rows.n, rows.K);
            same_shape("A", nb::ndarray<>(A), rows.n, rows.K);
            nb::gil_scoped_release unlocked;
            fenchel::vector_steepest(loss, rows, Q.data(), tolerance, A.data());
        },
        "loss"_a, "Z"_a.noconvert(), "Q"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(),
        "tolerance"_a, "A"_a.noconvert());
}

/// A K x K matrix of costs Delta(z, y), a row for each y.
fenchel::Costs costs_of(const Matrix& cost) {
    require(cost.shape(0) == cost.shape(1), "cost", cost.shape(1), cost.shape(0));
    require(cost.shape(0) > 0, "cost", 0, 1);
    return {cost.shape(0), cost.data()};
}

void bind_vector_losses(nb::module_& m) {
    using fenchel::MulticlassHinge, fenchel::MultilabelCostHinge, fenchel::MultilabelHinge,
        fenchel::Softmax;
    nb::class_<MulticlassHinge>(m, "MulticlassHinge")
        .def(
            "__init__",
            [](MulticlassHinge* self, std::size_t K, double uniform) {
                require(K > 0, "K", 0, 1);
                new (self) MulticlassHinge{fenchel::Costs(K, uniform)};
            },
            "K"_a, "cost"_a)
        .def(
            "__init__",
            [](MulticlassHinge* self, std::size_t, Matrix cost) {
                new (self) MulticlassHinge{costs_of(cost)};
            },
            "K"_a, "cost"_a.noconvert());
    nb::class_<Softmax>(m, "Softmax")
        .def("__init__", [](Softmax* self, std::size_t K) { new (self) Softmax{K}; }, "K"_a);
    nb::class_<MultilabelHinge>(m, "MultilabelHinge")
        .def(
            "__init__",
            [](MultilabelHinge* self, std::size_t K, double tau) {
                new (self) MultilabelHinge{K, tau};
            },
            "K"_a, "cost"_a);
    nb::class_<MultilabelCostHinge>(m, "MultilabelCostHinge")
        .def(
            "__init__",
            [](MultilabelCostHinge* self, std::size_t, Matrix cost) {
                new (self) MultilabelCostHinge{costs_of(cost)};
            },
            "K"_a, "cost"_a.noconvert());
    bind_vector_hinge<MulticlassHinge>(m);
    bind_vector_slopes<Softmax>(m);
    bind_vector_hinge<MultilabelHinge>(m);
    bind_vector_hinge<MultilabelCostHinge>(m);
}

void bind_simplex_qp(nb::module_& m) {
    using fenchel::SimplexQp;
    nb::class_<SimplexQp>(m, "SimplexQP",
                          "Warm-started active set for min ½α'Qα − b'α on the simplex.")
        .def(nb::init<>())
        .def(
            "append",
            [](SimplexQp& self, Vector<double> cross, double diagonal, double linear) {
                require(cross.shape(0) == self.size(), "cross", cross.shape(0), self.size());
                self.append(cross.data(), diagonal, linear);
            },
            nb::arg("cross"), nb::arg("diagonal"), nb::arg("linear"),
            "Add a variable of weight 0 with Q[new, i] = cross[i].")
        .def(
            "remove",
            [](SimplexQp& self, Vector<std::int64_t> indices) {
                std::vector<std::size_t> sorted;
                for (std::size_t k = 0; k < indices.shape(0); ++k) {
                    const std::int64_t i = indices(k);
                    if (i < 0 || static_cast<std::size_t>(i) >= self.size()) {
                        const std::string message = "index " + std::to_string(i) +
                                                    " is outside the " +
                                                    std::to_string(self.size()) + " variables";
                        throw nb::value_error(message.c_str());
                    }
                    sorted.push_back(static_cast<std::size_t>(i));
                }
                std::sort(sorted.begin(), sorted.end());
                self.remove(sorted.data(), sorted.size());
            },
            nb::arg("indices"), "Delete variables, keeping the rest warm.")
        .def(
            "set_linear",
            [](SimplexQp& self, Vector<double> b) {
                require(b.shape(0) == self.size(), "b", b.shape(0), self.size());
                self.set_linear(b.data());
            },
            nb::arg("b"), "Replace b, keeping Q and the weights.")
        .def(
            "assign",
            [](SimplexQp& self,
               nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> Q,
               Vector<double> b, Weights alpha) {
                const std::size_t n = b.shape(0);
                require(Q.shape(0) == n, "Q's first dimension", Q.shape(0), n);
                require(Q.shape(1) == n, "Q's second dimension", Q.shape(1), n);
                if (alpha) require(alpha->shape(0) == n, "alpha", alpha->shape(0), n);
                nb::gil_scoped_release release;
                self.assign(n, Q.data(), b.data(), alpha ? alpha->data() : nullptr);
            },
            nb::arg("Q"), nb::arg("b"), nb::arg("alpha") = nb::none(),
            "Replace the problem; start at alpha, or at the best vertex.")
        .def("solve", &SimplexQp::solve, nb::arg("tolerance") = 1e-12,
             nb::arg("max_steps") = 100000, nb::call_guard<nb::gil_scoped_release>(),
             "Minimise; return the absolute Frank-Wolfe gap, computed anew.")
        .def_prop_ro(
            "weights",
            [](const SimplexQp& self) {
                const std::size_t n = self.size();
                double* copy = new double[n];
                nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
                std::copy_n(self.weights().data(), n, copy);
                return nb::ndarray<nb::numpy, double, nb::ndim<1>>(copy, {n}, owner);
            },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "gram",
            [](const SimplexQp& self) {
                const std::size_t n = self.size();
                double* copy = new double[n * n];
                nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
                for (std::size_t i = 0; i < n; ++i) {
                    std::copy_n(self.q(i), n, copy + i * n);
                }
                return nb::ndarray<nb::numpy, double, nb::ndim<2>>(copy, {n, n}, owner);
            },
            nb::rv_policy::automatic)
        .def_prop_ro("size", &SimplexQp::size)
        .def_prop_ro("objective", &SimplexQp::objective);
}

}  // namespace

NB_MODULE(_kernels, m) {
    nb::class_<Loss>(m, "Loss").def(nb::init<const std::string&, double>(), "name"_a,
                                    "parameter"_a);
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
    bind_simplex_qp(m);
    bind_svmlight(m);
    bind_csr_outputs<double, std::int32_t>(m);
    bind_csr_outputs<double, std::int64_t>(m);
    bind_csr_outputs<float, std::int32_t>(m);
    bind_csr_outputs<float, std::int64_t>(m);
    bind_vector_losses(m);
    m.def("slopes", &slopes, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "b"_a,
          "a"_a.noconvert());
    m.def("near_kinks", &near_kinks, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(), "tolerance"_a);
    m.def("slope_along", &slope_along, "loss"_a, "z"_a.noconvert(), "q"_a.noconvert(),
          "y"_a.noconvert(), "s"_a.none(), "eta"_a);
    m.def("kinks_along", &kinks_along, "loss"_a, "z"_a.noconvert(), "q"_a.noconvert(),
          "y"_a.noconvert(), "s"_a.none(), "low"_a, "high"_a);
    m.def("crossing", &crossing, "slope"_a, "curvature"_a, "low"_a, "kinks"_a);
    m.def("sums", &sums, "loss"_a, "z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "b"_a);
}

// Bindings of products with several outputs and of the vector losses.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bindings.hpp"
#include "hierarchy.hpp"
#include "multiclass_losses.hpp"
#include "multilabel_losses.hpp"
#include "outputs.hpp"
#include "vector_losses.hpp"

namespace bindings {

using namespace nb::literals;

namespace {

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

/// A hinge of K classes, its cost a number or such a matrix.
template <class Hinge>
void bind_multiclass_hinge(nb::module_& m, const char* name) {
    nb::class_<Hinge>(m, name)
        .def(
            "__init__",
            [](Hinge* self, std::size_t K, double uniform) {
                require(K > 0, "K", 0, 1);
                new (self) Hinge{fenchel::Costs(K, uniform)};
            },
            "K"_a, "cost"_a)
        .def(
            "__init__",
            [](Hinge* self, std::size_t, Matrix cost) { new (self) Hinge{costs_of(cost)}; }, "K"_a,
            "cost"_a.noconvert());
    bind_vector_hinge<Hinge>(m);
}

/// The arrays of a Taxonomy, which has checked them.
fenchel::Tree tree_of(const Vector<std::int64_t>& parent, const Vector<std::int64_t>& leaf) {
    return {parent.size(), leaf.size(), parent.data(), leaf.data()};
}

void bind_hierarchy(nb::module_& m) {
    m.def(
        "leaf_scores",
        [](Vector<std::int64_t> parent, Vector<std::int64_t> leaf, Matrix Z, OutputMatrix F) {
            const auto tree = tree_of(parent, leaf);
            same_shape("Z", nb::ndarray<>(Z), F.shape(0), tree.n_nodes);
            same_shape("F", nb::ndarray<>(F), Z.shape(0), tree.n_leaves);
            nb::gil_scoped_release unlocked;
            fenchel::leaf_scores(tree, Z.shape(0), Z.data(), F.data());
        },
        "parent"_a.noconvert(), "leaf"_a.noconvert(), "Z"_a.noconvert(), "F"_a.noconvert());
    m.def(
        "node_slopes",
        [](Vector<std::int64_t> parent, Vector<std::int64_t> leaf, Matrix B, Vector<std::int64_t> y,
           OutputMatrix A) {
            const auto tree = tree_of(parent, leaf);
            same_shape("B", nb::ndarray<>(B), y.size(), tree.n_leaves);
            same_shape("A", nb::ndarray<>(A), y.size(), tree.n_nodes);
            nb::gil_scoped_release unlocked;
            fenchel::node_slopes(tree, y.size(), B.data(), y.data(), A.data());
        },
        "parent"_a.noconvert(), "leaf"_a.noconvert(), "B"_a.noconvert(), "y"_a.noconvert(),
        "A"_a.noconvert());
}

}  // namespace

void bind_vector_losses(nb::module_& m) {
    bind_csr_outputs<double, std::int32_t>(m);
    bind_csr_outputs<double, std::int64_t>(m);
    bind_csr_outputs<float, std::int32_t>(m);
    bind_csr_outputs<float, std::int64_t>(m);
    using fenchel::MultilabelCostHinge, fenchel::MultilabelHinge, fenchel::Softmax;
    bind_multiclass_hinge<fenchel::MulticlassHinge>(m, "MulticlassHinge");
    bind_multiclass_hinge<fenchel::MulticlassSlackHinge>(m, "MulticlassSlackHinge");
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
    bind_vector_slopes<Softmax>(m);
    bind_vector_hinge<MultilabelHinge>(m);
    bind_vector_hinge<MultilabelCostHinge>(m);
    bind_hierarchy(m);
}

}  // namespace bindings

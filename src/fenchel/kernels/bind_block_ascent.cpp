// Bindings of block_ascent.hpp: array types, sizes and the GIL. No mathematics.
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>
#include <variant>

#include "bindings.hpp"
#include "block_ascent.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

using LeafHinge = fenchel::LeafLoss<fenchel::MulticlassHinge>;
using LeafSoftmax = fenchel::LeafLoss<fenchel::Softmax>;

/// The arrays of a dual problem with K scores a row on one shard; `threshold` and `scale` are given
/// together, with a row for each column of X.
struct BlockProblem {
    std::variant<Labelled<fenchel::MulticlassHinge>, Labelled<fenchel::MulticlassSlackHinge>,
                 Labelled<fenchel::Softmax>, Labelled<fenchel::MultilabelHinge>,
                 Labelled<LeafHinge>, Labelled<LeafSoftmax>>
        labelled;
    Vector<double> rate, kappa;
    Weights threshold, scale;

    /// use(loss, rows), once sizes are known to fit.
    template <class Use>
    auto with(std::size_t n_rows, std::size_t K, Use&& use) const {
        require(rate.size() == n_rows, "rate", rate.size(), n_rows);
        require(kappa.size() == n_rows, "kappa", kappa.size(), n_rows);
        return std::visit(
            [&]<class L>(const Labelled<L>& each) {
                const std::size_t stride = L::kSets ? K : 1;
                require(each.loss.size() == K, "a row of scores", K, each.loss.size());
                require(each.y.size() == n_rows * stride, "y", each.y.size(), n_rows * stride);
                return use(each.loss, fenchel::BlockRows<typename L::Label>{
                                          each.y.data(), stride, rate.data(), kappa.data()});
            },
            labelled);
    }
};

/// Rows of so many times as many numbers as scores are taken class by class: below that, what the
/// layout saves is spent on adding up packs.
constexpr std::size_t kLong = 4;

template <class Matrix, class Use>
auto with_products(const Matrix& X, const BlockProblem& dual, double* V, std::size_t K, Use&& use) {
    if (dual.scale) {
        const fenchel::detail::Shrunk shrink{dual.threshold->data(), dual.scale->data()};
        fenchel::ByColumn<Matrix, fenchel::detail::Shrunk> W{X, shrink, V, K};
        return use(W);
    }
    if constexpr (requires { X.column_stride; }) {
        if (X.n_columns >= kLong * K) {
            fenchel::ByClass W(X, V, K);
            return use(W);
        }
    }
    const fenchel::detail::Plain plain{};
    fenchel::ByColumn<Matrix, fenchel::detail::Plain> W{X, plain, V, K};
    return use(W);
}

template <class Matrix>
auto sweep(const Matrix& X, const BlockProblem& dual, OutputMatrix& A, OutputMatrix& V, Output& b,
           double offset_rate, Active& active, std::size_t n_active, double margin,
           std::uint64_t seed) {
    const std::size_t K = V.shape(1);
    require(V.shape(0) == X.n_columns, "V", V.shape(0), X.n_columns);
    same_shape("A", nb::ndarray<>(A), X.n_rows, K);
    require(b.size() == K, "b", b.size(), K);
    check_active(active, n_active, X.n_rows);
    for (const Weights& each : {dual.threshold, dual.scale})
        if (each) require(each->size() == V.size(), "threshold", each->size(), V.size());
    const fenchel::Sweep done = dual.with(X.n_rows, K, [&](const auto& loss, const auto& rows) {
        nb::gil_scoped_release unlocked;
        return with_products(X, dual, V.data(), K, [&](auto& W) {
            return fenchel::block_sweep(W, loss, rows, A.data(), {b.data(), offset_rate},
                                        active.data(), n_active, margin, seed);
        });
    });
    return std::make_tuple(b, done.n_active, done.n_moved, done.violation, done.rise);
}

std::size_t movable(const BlockProblem& dual, const Matrix& Z, const Matrix& A, double margin,
                    Active& active) {
    const std::size_t n = Z.shape(0), K = Z.shape(1);
    same_shape("A", nb::ndarray<>(A), n, K);
    require(active.size() == n, "active", active.size(), n);
    return dual.with(n, K, [&](const auto& loss, const auto& rows) {
        nb::gil_scoped_release unlocked;
        return fenchel::block_movable(loss, rows, Z.data(), A.data(), n, margin, active.data());
    });
}

template <class Value, class Column>
void bind_csr(nb::module_& m) {
    using Start = Vector<std::int64_t>;
    m.def(
        "csr_sweep",
        [](Start row_start, Vector<Column> column, Vector<Value> value, const BlockProblem& dual,
           OutputMatrix A, OutputMatrix V, Output b, double offset_rate, Active active,
           std::size_t n_active, double margin, std::uint64_t seed) {
            return sweep(csr_view(row_start, column, value, V.shape(0)), dual, A, V, b, offset_rate,
                         active, n_active, margin, seed);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "dual"_a,
        "a"_a.noconvert(), "v"_a.noconvert(), "b"_a.noconvert(), "offset_rate"_a,
        "active"_a.noconvert(), "n_active"_a, "margin"_a, "seed"_a);
}

template <class Value>
void bind_dense(nb::module_& m) {
    m.def(
        "dense_sweep",
        [](Table<Value> X, const BlockProblem& dual, OutputMatrix A, OutputMatrix V, Output b,
           double offset_rate, Active active, std::size_t n_active, double margin,
           std::uint64_t seed) {
            return sweep(dense_view(X), dual, A, V, b, offset_rate, active, n_active, margin, seed);
        },
        "X"_a.noconvert(), "dual"_a, "a"_a.noconvert(), "v"_a.noconvert(), "b"_a.noconvert(),
        "offset_rate"_a, "active"_a.noconvert(), "n_active"_a, "margin"_a, "seed"_a);
}

template <class L>
void bind_problem(nb::class_<BlockProblem>& problem) {
    problem.def(
        "__init__",
        [](BlockProblem* self, const L& loss, LabelsOf<L> y, Vector<double> rate,
           Vector<double> kappa, Weights threshold, Weights scale) {
            if (threshold.has_value() != scale.has_value())
                throw std::invalid_argument("threshold and scale belong together");
            new (self) BlockProblem{Labelled<L>{loss, y}, rate, kappa, threshold, scale};
        },
        "loss"_a, "y"_a.noconvert(), "rate"_a.noconvert(), "kappa"_a.noconvert(),
        "threshold"_a.none(), "scale"_a.none());
}

/// A loss of leaves as one of nodes, parents first.
template <class Leaf>
void bind_leaf_loss(nb::module_& m, const char* name) {
    using Places = Vector<std::int64_t>;
    nb::class_<fenchel::LeafLoss<Leaf>>(m, name).def(
        "__init__",
        [](fenchel::LeafLoss<Leaf>* self, const Leaf& of_leaves, Places parent, Places leaf,
           double stretch, double over) {
            require(of_leaves.size() == leaf.size(), "leaf", leaf.size(), of_leaves.size());
            for (std::size_t k = 0; k < parent.size(); ++k)
                if (!(parent(k) < static_cast<std::int64_t>(k)))
                    throw std::invalid_argument("a parent comes after its child");
            for (std::size_t j = 0; j < leaf.size(); ++j)
                if (!(leaf(j) >= 0 && std::size_t(leaf(j)) < parent.size()))
                    throw std::invalid_argument("leaf names a node that is not there");
            new (self) fenchel::LeafLoss<Leaf>{of_leaves,
                                               {parent.data(), parent.data() + parent.size()},
                                               {leaf.data(), leaf.data() + leaf.size()},
                                               stretch,
                                               over};
        },
        "of_leaves"_a, "parent"_a.noconvert(), "leaf"_a.noconvert(), "stretch"_a, "over"_a);
}

}  // namespace

void bindings::bind_block_ascent(nb::module_& m) {
    nb::class_<BlockProblem> problem(m, "BlockProblem");
    bind_leaf_loss<fenchel::MulticlassHinge>(m, "LeafHinge");
    bind_leaf_loss<fenchel::Softmax>(m, "LeafSoftmax");
    bind_problem<fenchel::MulticlassHinge>(problem);
    bind_problem<fenchel::MulticlassSlackHinge>(problem);
    bind_problem<fenchel::Softmax>(problem);
    bind_problem<fenchel::MultilabelHinge>(problem);
    bind_problem<LeafHinge>(problem);
    bind_problem<LeafSoftmax>(problem);
    m.def("movable", &movable, "dual"_a, "z"_a.noconvert(), "a"_a.noconvert(), "margin"_a,
          "active"_a.noconvert());
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
}

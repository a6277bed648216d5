// Bindings of the losses of K scores as functions of offsets.
#include "bindings.hpp"
#include "laplacian.hpp"
#include "multiclass_losses.hpp"
#include "offsets.hpp"
#include "softened.hpp"

namespace bindings {

using namespace nb::literals;

namespace {

template <class Loss>
fenchel::VectorRows<typename Loss::Label> checked_rows(const Loss& loss, const Matrix& Z,
                                                       const LabelsOf<Loss>& y, const Weights& s) {
    const std::size_t n = Z.shape(0), K = Z.shape(1);
    require(loss.size() == K, "a row of scores", K, loss.size());
    require(y.size() == (Loss::kSets ? n * K : n), "y", y.size(), Loss::kSets ? n * K : n);
    if (s) require(s->size() == n, "sample weights", s->size(), n);
    return {n, K, Z.data(), y.data(), s ? s->data() : nullptr, Loss::kSets ? K : 1};
}

/// offset_sums of a loss, as `make(loss, mu)` sees it.
template <class Loss, class Make>
void bind_offset_sums(nb::module_& m, Make make) {
    m.def(
        "offset_sums",
        [make](const Loss& loss, Matrix Z, LabelsOf<Loss> y, Weights s, Vector<double> b, double mu,
               Output sums) {
            const auto rows = checked_rows<Loss>(loss, Z, y, s);
            const std::size_t K = rows.K;
            require(b.size() == K, "b", b.size(), K);
            require(sums.size() == 3 + K + K * K, "sums", sums.size(), 3 + K + K * K);
            nb::gil_scoped_release unlocked;
            fenchel::offset_sums(make(loss, mu), rows, b.data(), sums.data());
        },
        "loss"_a, "Z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "b"_a.noconvert(), "mu"_a,
        "sums"_a.noconvert());
    m.def(
        "tilted_sums",
        [make](const Loss& loss, Matrix Z, LabelsOf<Loss> y, Weights s, Vector<double> b, double mu,
               Vector<double> t, OutputMatrix A, Output sums) {
            const auto rows = checked_rows<Loss>(loss, Z, y, s);
            const std::size_t K = rows.K;
            require(b.size() == K, "b", b.size(), K);
            require(t.size() == K, "t", t.size(), K);
            require(A.shape(0) == rows.n, "A", A.shape(0), rows.n);
            require(A.shape(1) == K, "A", A.shape(1), K);
            require(sums.size() == 1 + K, "sums", sums.size(), 1 + K);
            nb::gil_scoped_release unlocked;
            fenchel::tilted_sums(make(loss, mu), rows, b.data(), t.data(), A.data(), sums.data());
        },
        "loss"_a, "Z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "b"_a.noconvert(), "mu"_a,
        "t"_a.noconvert(), "A"_a.noconvert(), "sums"_a.noconvert());
}

/// soft_slopes of a hinge, as `make(loss, mu)` sees it.
template <class Loss, class Make>
void bind_soft_slopes(nb::module_& m, Make make) {
    m.def(
        "soft_slopes",
        [make](const Loss& loss, Matrix Z, LabelsOf<Loss> y, Weights s, double mu, OutputMatrix A) {
            const auto rows = checked_rows<Loss>(loss, Z, y, s);
            require(A.shape(0) == rows.n, "A", A.shape(0), rows.n);
            require(A.shape(1) == rows.K, "A", A.shape(1), rows.K);
            nb::gil_scoped_release unlocked;
            return fenchel::soft_slopes(make(loss, mu), rows, A.data());
        },
        "loss"_a, "Z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "mu"_a, "A"_a.noconvert());
}

template <class Hinge, class Make>
void bind_hinge(nb::module_& m, Make make) {
    bind_offset_sums<Hinge>(m, make);
    bind_soft_slopes<Hinge>(m, make);
}

void check_moves(const OutputMatrix& A, const Weights& s, const Matrix& moves) {
    const std::size_t K = A.shape(1);
    require(moves.shape(0) == K, "moves", moves.shape(0), K);
    require(moves.shape(1) == K, "moves", moves.shape(1), K);
    if (s) require(s->size() == A.shape(0), "sample weights", s->size(), A.shape(0));
}

void bind_even(nb::module_& m) {
    m.def(
        "laplacian_step",
        [](Matrix C, Vector<double> r, double damping, Output x) {
            const std::size_t K = r.size();
            require(C.shape(0) == K, "C", C.shape(0), K);
            require(C.shape(1) == K, "C", C.shape(1), K);
            require(x.size() == K, "x", x.size(), K);
            nb::gil_scoped_release unlocked;
            return fenchel::laplacian_step(C.data(), r.data(), K, damping, x.data());
        },
        "C"_a.noconvert(), "r"_a.noconvert(), "damping"_a, "x"_a.noconvert());
    m.def(
        "even_classes",
        [](OutputMatrix A, Vector<std::int64_t> y, Weights s, Matrix T, double keep) {
            require(y.size() == A.shape(0), "y", y.size(), A.shape(0));
            check_moves(A, s, T);
            nb::gil_scoped_release unlocked;
            fenchel::even_classes(A.shape(0), A.shape(1), y.data(), s ? s->data() : nullptr,
                                  T.data(), keep, A.data());
        },
        "A"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "T"_a.noconvert(), "keep"_a);
    m.def(
        "even_sets",
        [](OutputMatrix A,
           nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> y, Weights s,
           Matrix moves, double keep) {
            require(y.size() == A.size(), "y", y.size(), A.size());
            check_moves(A, s, moves);
            nb::gil_scoped_release unlocked;
            fenchel::even_sets(A.shape(0), A.shape(1), y.data(), s ? s->data() : nullptr,
                               moves.data(), keep, A.data());
        },
        "A"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "moves"_a.noconvert(), "keep"_a);
}

}  // namespace

void bind_offsets(nb::module_& m) {
    using namespace fenchel;
    bind_offset_sums<Softmax>(m, [](const Softmax& loss, double) { return SoftmaxOffsets{loss}; });
    bind_hinge<MulticlassHinge>(
        m, [](const MulticlassHinge& loss, double mu) { return HingeOffsets{loss, mu}; });
    bind_hinge<MulticlassSlackHinge>(
        m, [](const MulticlassSlackHinge& loss, double mu) { return SlackOffsets{loss, mu}; });
    bind_hinge<MultilabelHinge>(
        m, [](const MultilabelHinge& loss, double mu) { return MultilabelOffsets{loss, mu}; });
    bind_even(m);
}

}  // namespace bindings

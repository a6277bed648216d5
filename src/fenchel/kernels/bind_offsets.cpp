// Bindings of the losses of K scores as functions of offsets.
#include "bindings.hpp"
#include "multiclass_losses.hpp"
#include "offsets.hpp"

namespace bindings {

using namespace nb::literals;

namespace {

using Codes = Vector<std::int64_t>;

/// Rows of one right class each, whose codes are below K.
fenchel::VectorRows<std::int64_t> coded_rows(std::size_t K, const Matrix& Z, const Codes& y,
                                             const Weights& s) {
    const std::size_t n = Z.shape(0);
    require(Z.shape(1) == K, "a row of scores", Z.shape(1), K);
    require(y.size() == n, "y", y.size(), n);
    if (s) require(s->size() == n, "sample weights", s->size(), n);
    return {n, K, Z.data(), y.data(), s ? s->data() : nullptr, 1};
}

void same_sizes(const Matrix& Z, const Vector<double>& b, const OutputMatrix& A,
                const Output& sums) {
    const std::size_t K = Z.shape(1);
    require(b.size() == K, "b", b.size(), K);
    require(A.shape(0) == Z.shape(0), "A", A.shape(0), Z.shape(0));
    require(A.shape(1) == K, "A", A.shape(1), K);
    require(sums.size() == 3 + K + K * K, "sums", sums.size(), 3 + K + K * K);
}

/// offset_sums of a loss, as `make(loss, mu)` sees it.
template <class Loss, class Make>
void bind_offset_sums(nb::module_& m, Make make) {
    m.def(
        "offset_sums",
        [make](const Loss& loss, Matrix Z, Codes y, Weights s, Vector<double> b, double mu,
               OutputMatrix A, Output sums) {
            const auto rows = coded_rows(loss.size(), Z, y, s);
            same_sizes(Z, b, A, sums);
            nb::gil_scoped_release unlocked;
            fenchel::offset_sums(make(loss, mu), rows, b.data(), A.data(), sums.data());
        },
        "loss"_a, "Z"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "b"_a.noconvert(), "mu"_a,
        "A"_a.noconvert(), "sums"_a.noconvert());
}

}  // namespace

void bind_offsets(nb::module_& m) {
    bind_offset_sums<fenchel::Softmax>(
        m, [](const fenchel::Softmax& loss, double) { return fenchel::SoftmaxOffsets{loss}; });
    bind_offset_sums<fenchel::MulticlassHinge>(
        m, [](const fenchel::MulticlassHinge& loss, double mu) {
            return fenchel::HingeOffsets{loss, mu};
        });
    m.def(
        "even_classes",
        [](OutputMatrix A, Codes y, Weights s, Matrix T, double keep) {
            const std::size_t n = A.shape(0), K = A.shape(1);
            require(y.size() == n, "y", y.size(), n);
            require(T.shape(0) == K && T.shape(1) == K, "T", T.shape(0), K);
            if (s) require(s->size() == n, "sample weights", s->size(), n);
            nb::gil_scoped_release unlocked;
            fenchel::even_classes(n, K, y.data(), s ? s->data() : nullptr, T.data(), keep,
                                  A.data());
        },
        "A"_a.noconvert(), "y"_a.noconvert(), "s"_a.none(), "T"_a.noconvert(), "keep"_a);
}

}  // namespace bindings

// Bindings of pegasos.hpp: array types, sizes and the GIL. No mathematics.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "bindings.hpp"
#include "pegasos.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

/// What the rows of one shard have beside X.
struct SampledProblem {
    Loss loss;
    Vector<double> y;
    Weights s, offset;
    double share;

    void check(std::size_t n_rows) const {
        require(y.size() == n_rows, "y", y.size(), n_rows);
        if (s) require(s->size() == n_rows, "sample weights", s->size(), n_rows);
        if (offset) require(offset->size() == n_rows, "offset", offset->size(), n_rows);
    }
};

void check_batches(const Vector<std::int64_t>& order, const Vector<std::int64_t>& ends,
                   std::size_t n_rows) {
    const auto inside = [&](std::int64_t i) { return i >= 0 && std::uint64_t(i) < n_rows; };
    if (!std::all_of(order.data(), order.data() + order.size(), inside))
        throw std::invalid_argument("order names a row that is not there");
    std::int64_t last = 0;
    for (std::size_t k = 0; k < ends.size(); ++k) {
        if (ends(k) <= last || std::uint64_t(ends(k)) > order.size())
            throw std::invalid_argument("ends must increase, up to the length of order");
        last = ends(k);
    }
}

template <class Matrix>
std::uint64_t pegasos(const Matrix& X, const SampledProblem& rows,
                      const Vector<std::int64_t>& order, const Vector<std::int64_t>& ends, double b,
                      double strength, double radius, std::uint64_t t, Output& w, Output& sum) {
    rows.check(X.n_rows);
    require(w.size() == X.n_columns, "w", w.size(), X.n_columns);
    require(sum.size() == X.n_columns, "sum", sum.size(), X.n_columns);
    check_batches(order, ends, X.n_rows);
    nb::gil_scoped_release unlocked;
    const fenchel::SampledRows sampled{rows.y.data(), rows.s ? rows.s->data() : nullptr,
                                       rows.offset ? rows.offset->data() : nullptr, rows.share, b};
    return fenchel::with_loss(rows.loss.scalar, [&](const auto& l) {
        return fenchel::pegasos(X, l, sampled, order.data(), ends.data(), ends.size(), strength,
                                radius, t, w.data(), sum.data());
    });
}

template <class Value, class Column>
void bind_csr(nb::module_& m) {
    using Start = Vector<std::int64_t>;
    m.def(
        "csr_pegasos",
        [](Start row_start, Vector<Column> column, Vector<Value> value, const SampledProblem& rows,
           Vector<std::int64_t> order, Vector<std::int64_t> ends, double b, double strength,
           double radius, std::uint64_t t, Output w, Output sum) {
            return pegasos(csr_view(row_start, column, value, w.size()), rows, order, ends, b,
                           strength, radius, t, w, sum);
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "rows"_a,
        "order"_a.noconvert(), "ends"_a.noconvert(), "b"_a, "strength"_a, "radius"_a, "t"_a,
        "w"_a.noconvert(), "sum"_a.noconvert());
}

template <class Value>
void bind_dense(nb::module_& m) {
    m.def(
        "dense_pegasos",
        [](Table<Value> X, const SampledProblem& rows, Vector<std::int64_t> order,
           Vector<std::int64_t> ends, double b, double strength, double radius, std::uint64_t t,
           Output w, Output sum) {
            return pegasos(dense_view(X), rows, order, ends, b, strength, radius, t, w, sum);
        },
        "X"_a.noconvert(), "rows"_a, "order"_a.noconvert(), "ends"_a.noconvert(), "b"_a,
        "strength"_a, "radius"_a, "t"_a, "w"_a.noconvert(), "sum"_a.noconvert());
}

}  // namespace

void bindings::bind_pegasos(nb::module_& m) {
    nb::class_<SampledProblem>(m, "SampledProblem")
        .def(
            "__init__",
            [](SampledProblem* self, const Loss& loss, Vector<double> y, Weights s, Weights offset,
               double share) { new (self) SampledProblem{loss, y, s, offset, share}; },
            "loss"_a, "y"_a.noconvert(), "s"_a.none(), "offset"_a.none(), "share"_a);
    bind_csr<double, std::int32_t>(m);
    bind_csr<double, std::int64_t>(m);
    bind_csr<float, std::int32_t>(m);
    bind_csr<float, std::int64_t>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
}

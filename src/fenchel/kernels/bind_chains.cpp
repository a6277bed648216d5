// Bindings of the chains: array types, sizes and the GIL. No mathematics.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstdint>

#include "bindings.hpp"
#include "chain_paths.hpp"
#include "chain_sums.hpp"

namespace bindings {

using namespace nb::literals;

namespace {

using Indices = Vector<std::int64_t>;
using OutputIndices = nb::ndarray<std::int64_t, nb::c_contig, nb::device::cpu>;

/// The arrays of a shard of sequences, which it keeps alive.
template <class Value>
struct ChainArrays {
    Indices start, row_start;
    Vector<std::int32_t> place;
    Vector<Value> value;
    Indices pair_start;
    Vector<std::uint16_t> run;
    Vector<std::int32_t> dense;
    std::size_t n_labels;

    fenchel::Chains<Value> view() const {
        require(pair_start.size() > n_labels, "pair_start", pair_start.size(), n_labels + 1);
        const std::size_t n_features = pair_start.size() - 1 - n_labels;
        require(start.size() > 0, "start", 0, 1);
        const auto n_tokens = static_cast<std::size_t>(start(start.size() - 1));
        require(row_start.size() == n_tokens + 1, "row_start", row_start.size(), n_tokens + 1);
        const auto end = static_cast<std::size_t>(row_start(n_tokens));
        require(end <= place.size(), "place", place.size(), end);
        require(end <= value.size(), "value", value.size(), end);
        return {start.size() - 1,
                n_tokens,
                start.data(),
                row_start.data(),
                place.data(),
                value.data(),
                {n_features, n_labels, pair_start.data(), run.data(), dense.size(), dense.data()}};
    }
};

template <class Value>
fenchel::Gold gold_of(const ChainArrays<Value>& chains, const Indices& y,
                      const std::optional<Vector<double>>& weight,
                      const std::optional<Matrix>& cost) {
    const std::size_t L = chains.n_labels;
    require(y.size() == chains.row_start.size() - 1, "y", y.size(), chains.row_start.size() - 1);
    if (cost) require(cost->shape(0) == L && cost->shape(1) == L, "cost", cost->shape(0), L);
    if (weight)
        require(weight->size() == chains.start.size() - 1, "weight", weight->size(),
                chains.start.size() - 1);
    return {y.data(), cost ? cost->data() : nullptr, weight ? weight->data() : nullptr};
}

template <class Value>
double log_loss(const ChainArrays<Value>& arrays, const Indices& y,
                const std::optional<Vector<double>>& weight, const std::optional<Matrix>& cost,
                double temperature, const std::optional<Indices>& rows, const Vector<double>& w,
                Output& g) {
    const auto chains = arrays.view();
    const auto gold = gold_of(arrays, y, weight, cost);
    require(w.size() == arrays.run.size(), "w", w.size(), arrays.run.size());
    require(g.size() == w.size(), "g", g.size(), w.size());
    nb::gil_scoped_release unlocked;
    return fenchel::log_loss(chains, gold, rows ? rows->data() : nullptr,
                             rows ? rows->size() : chains.n_sequences, temperature, w.data(),
                             g.data());
}

template <class Value>
double hinge(const ChainArrays<Value>& arrays, const Indices& y,
             const std::optional<Vector<double>>& weight, const std::optional<Matrix>& cost,
             bool slack, const std::optional<Indices>& rows, const Vector<double>& w,
             OutputIndices& labels, Output& g) {
    const auto chains = arrays.view();
    const auto gold = gold_of(arrays, y, weight, cost);
    require(w.size() == arrays.run.size(), "w", w.size(), arrays.run.size());
    require(g.size() == w.size(), "g", g.size(), w.size());
    require(labels.size() == y.size(), "labels", labels.size(), y.size());
    nb::gil_scoped_release unlocked;
    return fenchel::hinge(chains, gold, rows ? rows->data() : nullptr,
                          rows ? rows->size() : chains.n_sequences, slack, w.data(), labels.data(),
                          g.data());
}

template <class Value>
void bind(nb::module_& m, const char* name) {
    using Arrays = ChainArrays<Value>;
    nb::class_<Arrays>(m, name)
        .def(nb::init<Indices, Indices, Vector<std::int32_t>, Vector<Value>, Indices,
                      Vector<std::uint16_t>, Vector<std::int32_t>, std::size_t>(),
             "start"_a.noconvert(), "row_start"_a.noconvert(), "place"_a.noconvert(),
             "value"_a.noconvert(), "pair_start"_a.noconvert(), "run"_a.noconvert(),
             "dense"_a.noconvert(), "n_labels"_a)
        .def("log_loss", &log_loss<Value>, "y"_a.noconvert(), "weight"_a.none(), "cost"_a.none(),
             "temperature"_a, "rows"_a.none(), "w"_a.noconvert(), "g"_a.noconvert())
        .def("hinge", &hinge<Value>, "y"_a.noconvert(), "weight"_a.none(), "cost"_a.none(),
             "slack"_a, "rows"_a.none(), "w"_a.noconvert(), "labels"_a.noconvert(),
             "g"_a.noconvert())
        .def(
            "marginals",
            [](const Arrays& arrays, const Vector<double>& w, OutputMatrix& out) {
                const auto chains = arrays.view();
                require(w.size() == arrays.run.size(), "w", w.size(), arrays.run.size());
                require(out.shape(0) == chains.n_tokens && out.shape(1) == arrays.n_labels, "out",
                        out.shape(0), chains.n_tokens);
                nb::gil_scoped_release unlocked;
                fenchel::marginals(chains, w.data(), out.data());
            },
            "w"_a.noconvert(), "out"_a.noconvert())
        .def(
            "best",
            [](const Arrays& arrays, const Vector<double>& w, const std::optional<Matrix>& extra,
               OutputMatrix& scores, OutputIndices& labels) {
                const auto chains = arrays.view();
                const std::size_t k = scores.shape(1), L = arrays.n_labels;
                require(w.size() == arrays.run.size(), "w", w.size(), arrays.run.size());
                require(scores.shape(0) == chains.n_sequences, "scores", scores.shape(0),
                        chains.n_sequences);
                require(labels.size() == k * chains.n_tokens, "labels", labels.size(),
                        k * chains.n_tokens);
                if (extra)
                    require(extra->shape(0) == L && extra->shape(1) == L, "extra", extra->shape(0),
                            L);
                nb::gil_scoped_release unlocked;
                fenchel::best(chains, w.data(), extra ? extra->data() : nullptr, k, scores.data(),
                              labels.data());
            },
            "w"_a.noconvert(), "extra"_a.none(), "scores"_a.noconvert(), "labels"_a.noconvert());
}

}  // namespace

void bind_chains(nb::module_& m) {
    bind<float>(m, "Chains32");
    bind<double>(m, "Chains64");
}

}  // namespace bindings

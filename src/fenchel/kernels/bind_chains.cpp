// Bindings of the chains: array types, sizes and the GIL. No mathematics.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>

#include "bindings.hpp"
#include "chain_faces.hpp"
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

/// The same of the hinge made soft: (its value, the expected cost).
template <class Value>
std::pair<double, double> soft_hinge(const ChainArrays<Value>& arrays, const Indices& y,
                                     const std::optional<Vector<double>>& weight,
                                     const Matrix& cost, double temperature,
                                     const Vector<double>& w, Output& g) {
    const auto chains = arrays.view();
    const auto gold = gold_of(arrays, y, weight, std::optional(cost));
    require(w.size() == arrays.run.size(), "w", w.size(), arrays.run.size());
    require(g.size() == w.size(), "g", g.size(), w.size());
    double expected = 0;
    nb::gil_scoped_release unlocked;
    const double value = fenchel::log_loss(chains, gold, nullptr, chains.n_sequences, temperature,
                                           w.data(), g.data(), &expected);
    return {value, expected};
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

/// The labellings in use of a shard's sequences (chain_blocks.hpp).
struct ChainAtoms {
    fenchel::Atoms of;
    explicit ChainAtoms(std::size_t n_sequences) : of(n_sequences) {}
};

template <class T>
auto owned(std::vector<T>&& numbers) {
    auto* kept = new std::vector<T>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

/// (the sequence of each labelling, its share, the labels of all one after the other).
auto listed(const ChainAtoms& atoms) {
    std::vector<std::int64_t> sequence;
    std::vector<double> weight;
    std::vector<std::uint16_t> labels;
    for (std::size_t s = 0; s < atoms.of.size(); ++s)
        for (const fenchel::Atom& atom : atoms.of[s]) {
            sequence.push_back(static_cast<std::int64_t>(s));
            weight.push_back(atom.weight);
            labels.insert(labels.end(), atom.labels.begin(), atom.labels.end());
        }
    return std::make_tuple(owned(std::move(sequence)), owned(std::move(weight)),
                           owned(std::move(labels)));
}

template <class Value>
void check_blocks(const ChainArrays<Value>& arrays, const std::optional<Matrix>& cost, bool slack,
                  const ChainAtoms& atoms) {
    require(slack || cost, "cost", 0, arrays.n_labels * arrays.n_labels);
    require(atoms.of.size() == arrays.start.size() - 1, "atoms", atoms.of.size(),
            arrays.start.size() - 1);
}

/// Takes over what `listed` gave.
template <class Value>
void restore(const ChainArrays<Value>& arrays, const Indices& y, const std::optional<Matrix>& cost,
             bool slack, const Indices& sequence, const Vector<double>& weight,
             const Vector<std::uint16_t>& labels, ChainAtoms& atoms) {
    const auto chains = arrays.view();
    const auto gold = gold_of(arrays, y, std::nullopt, cost);
    check_blocks(arrays, cost, slack, atoms);
    require(weight.size() == sequence.size(), "weight", weight.size(), sequence.size());
    std::size_t from = 0;
    for (auto& each : atoms.of) each.clear();
    for (std::size_t k = 0; k < sequence.size(); ++k) {
        const auto s = static_cast<std::size_t>(sequence(k));
        require(s < chains.n_sequences, "sequence", s, chains.n_sequences);
        const auto first = static_cast<std::size_t>(chains.start[s]);
        const auto n = static_cast<std::size_t>(chains.start[s + 1]) - first;
        require(from + n <= labels.size(), "labels", labels.size(), from + n);
        std::vector<std::uint16_t> some(labels.data() + from, labels.data() + from + n);
        for (const std::uint16_t label : some)
            require(label < arrays.n_labels, "label", label, arrays.n_labels);
        atoms.of[s].push_back(
            fenchel::detail::atom_of(gold, slack, arrays.n_labels, first, std::move(some)));
        atoms.of[s].back().weight = weight(k);
        from += n;
    }
}

template <class Value>
std::pair<double, std::size_t> frank_wolfe(const ChainArrays<Value>& arrays, const Indices& y,
                                           const std::optional<Vector<double>>& weight,
                                           const std::optional<Matrix>& cost, bool slack,
                                           const Indices& order, double strength, double total,
                                           ChainAtoms& atoms, Output& w) {
    const auto chains = arrays.view();
    const auto gold = gold_of(arrays, y, weight, cost);
    check_blocks(arrays, cost, slack, atoms);
    require(w.size() == arrays.run.size(), "w", w.size(), arrays.run.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        require(static_cast<std::size_t>(order(i)) < chains.n_sequences, "order",
                static_cast<std::size_t>(order(i)), chains.n_sequences);
    nb::gil_scoped_release unlocked;
    const auto sweep = fenchel::frank_wolfe(chains, gold, slack, order.data(), order.size(),
                                            strength, total, atoms.of, w.data());
    return {sweep.gap, sweep.n_steps};
}

template <class Value>
double expected_plane(const ChainArrays<Value>& arrays, const Indices& y,
                      const std::optional<Vector<double>>& weight, ChainAtoms& atoms, Output& g) {
    const auto chains = arrays.view();
    const auto gold = gold_of(arrays, y, weight, std::nullopt);
    check_blocks(arrays, std::nullopt, true, atoms);
    require(g.size() == arrays.run.size(), "g", g.size(), arrays.run.size());
    nb::gil_scoped_release unlocked;
    return fenchel::expected_plane(chains, gold, atoms.of, g.data());
}

template <class Value>
void append_faces(const ChainArrays<Value>& arrays, const Indices& y,
                  const std::optional<Vector<double>>& weight, bool slack, double total,
                  const ChainAtoms& atoms, fenchel::Simplices& faces) {
    const auto chains = arrays.view();
    const auto gold = gold_of(arrays, y, weight, std::nullopt);
    check_blocks(arrays, std::nullopt, true, atoms);
    nb::gil_scoped_release unlocked;
    fenchel::append_faces(chains, gold, slack, total, atoms.of, faces);
}

double sweep(fenchel::Simplices& faces, const Indices& order, double strength, Output& w) {
    require(w.size() == faces.n_columns, "w", w.size(), faces.n_columns);
    for (std::size_t i = 0; i < order.size(); ++i)
        require(static_cast<std::size_t>(order(i)) < faces.n_blocks(), "order",
                static_cast<std::size_t>(order(i)), faces.n_blocks());
    nb::gil_scoped_release unlocked;
    return faces.sweep(order.data(), order.size(), strength, w.data());
}

/// Gives the labellings in use the shares that faces have from the block `first` on; the block
/// after them.
std::size_t assign(ChainAtoms& atoms, const fenchel::Simplices& faces, std::size_t first) {
    require(first + atoms.of.size() <= faces.n_blocks(), "first", first, faces.n_blocks());
    for (auto& of : atoms.of) {
        const auto shares = faces.shares(first++);
        require(shares.size() == of.size(), "shares", shares.size(), of.size());
        for (std::size_t k = 0; k < of.size(); ++k) of[k].weight = shares[k];
    }
    return first;
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
        .def("soft_hinge", &soft_hinge<Value>, "y"_a.noconvert(), "weight"_a.none(),
             "cost"_a.noconvert(), "temperature"_a, "w"_a.noconvert(), "g"_a.noconvert())
        .def("hinge", &hinge<Value>, "y"_a.noconvert(), "weight"_a.none(), "cost"_a.none(),
             "slack"_a, "rows"_a.none(), "w"_a.noconvert(), "labels"_a.noconvert(),
             "g"_a.noconvert())
        .def("frank_wolfe", &frank_wolfe<Value>, "y"_a.noconvert(), "weight"_a.none(),
             "cost"_a.none(), "slack"_a, "order"_a.noconvert(), "strength"_a, "total"_a, "atoms"_a,
             "w"_a.noconvert())
        .def("expected_plane", &expected_plane<Value>, "y"_a.noconvert(), "weight"_a.none(),
             "atoms"_a, "g"_a.noconvert())
        .def("append_faces", &append_faces<Value>, "y"_a.noconvert(), "weight"_a.none(), "slack"_a,
             "total"_a, "atoms"_a, "faces"_a)
        .def("restore", &restore<Value>, "y"_a.noconvert(), "cost"_a.none(), "slack"_a,
             "sequence"_a.noconvert(), "weight"_a.noconvert(), "labels"_a.noconvert(), "atoms"_a)
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
    nb::class_<fenchel::Simplices>(m, "Simplices",
                                   "A quadratic programme over a product of simplices.")
        .def(nb::init<>())
        .def_prop_ro("n_blocks", &fenchel::Simplices::n_blocks)
        .def("sweep", &sweep, "order"_a.noconvert(), "strength"_a, "w"_a.noconvert());
    nb::class_<ChainAtoms>(m, "ChainAtoms")
        .def(nb::init<std::size_t>(), "n_sequences"_a)
        .def("listed", &listed)
        .def("assign", &assign, "faces"_a, "first"_a);
    bind<float>(m, "Chains32");
    bind<double>(m, "Chains64");
}

}  // namespace bindings

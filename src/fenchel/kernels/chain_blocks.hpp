// Block-coordinate Frank-Wolfe on the dual of a max-margin Markov network (Lacoste-Julien, Jaggi,
// Schmidt and Pletscher, ICML 2013), with pairwise steps (Osokin et al., ICML 2016).
//
// With c_i = s_i / S, psi_i(y') = phi(y') - phi(y_i) and H_i(y') = Delta(y', y_i) + <w, psi_i(y')>,
// times the wrong labels of y' if slacks are rescaled, the primal is
//
//     min over w of  J(w) = lambda/2 ||w||^2 + sum_i c_i max over y' of H_i(y'; w).
//
// A dual point is a distribution alpha_i over the labellings of each sequence, its w and its bound
//
//     w = -1/lambda sum_i c_i E[psi_i],    D(alpha) = sum_i c_i E[Delta] - lambda/2 ||w||^2 <= J.
//
// As D's slope in alpha_i(y') is c_i H_i(y'; w), moving the share t of sequence i from the
// labelling v to s changes it by t c_i (H_i(s) - H_i(v)) - t^2 c_i^2 ||d||^2 / (2 lambda), d =
// psi_i(s) - psi_i(v), which is most at
//
//     t = min(alpha_i(v), lambda (H_i(s) - H_i(v)) / (c_i ||d||^2)).
//
// s is the worst labelling at w, by Viterbi, and v the one of those in use that is worth least.
// Then more such steps are taken among those in use, whose H_i change by -t c_i / lambda <psi, d>:
// they need no search, and the products <psi, psi'> are kept. What all labellings in use are worth
// together is a programme of its own (chain_faces.hpp). The gap of the dual point, J(w) -
// D(alpha), is sum_i c_i (max H_i - E[H_i]).
#pragma once

#include <utility>

#include "chain_weights.hpp"
#include "simplices.hpp"

namespace fenchel {

using Atoms = std::vector<std::vector<Atom>>;  // of each sequence; none is its right labelling

struct BlockSweep {
    double gap = 0;  // sum_i c_i (max H_i - E[H_i]) as the sequences were met
    std::size_t n_steps = 0;
};

namespace detail {

inline constexpr double kDrift = 1e-12;  // of shares from adding up to 1, that is put right

/// A labelling as an atom without weight.
inline Atom atom_of(const Gold& gold, bool slack, std::size_t n_labels, std::size_t first,
                    std::vector<std::uint16_t>&& labels) {
    Atom atom{0, 0, 1, std::move(labels)};
    for (std::size_t t = 0; t < atom.labels.size(); ++t) {
        const auto y = static_cast<std::size_t>(gold.y[first + t]);
        atom.cost += slack ? atom.labels[t] != y : gold.cost[atom.labels[t] * n_labels + y];
    }
    if (slack) atom.scale = atom.cost;
    return atom;
}

inline double product_of(const std::vector<Atom>& atoms, std::size_t i, std::size_t j) {
    return i < j ? atoms[j].products[i] : atoms[i].products[j];
}

/// The products of psi of the last atoms, which have none, with those before them.
template <class Value>
void multiply(Weights<Value>& weights, std::size_t first, const std::int64_t* y,
              std::vector<Atom>& atoms) {
    for (std::size_t i = 0; i < atoms.size(); ++i) {
        if (!atoms[i].products.empty()) continue;
        weights.add(first, atoms[i], y, 1.0);
        for (std::size_t j = 0; j <= i; ++j)
            atoms[i].products.push_back(weights.product(first, atoms[j], y));
        weights.clear();
    }
}

/// Moves weight from labellings to better ones; how many steps that took. w follows.
template <class Value>
FENCHEL_INLINE std::size_t settle(Weights<Value>& weights, std::size_t first, const std::int64_t* y,
                                  double share, double lambda, std::vector<Atom>& atoms,
                                  std::vector<double>& room) {
    const std::size_t n = atoms.size();
    room.resize(2 * n);
    double *weight = room.data(), *slope = weight + n;
    for (std::size_t k = 0; k < n; ++k) {
        weight[k] = atoms[k].weight;
        slope[k] = share * atoms[k].height;
    }
    const auto product = [&](std::size_t i, std::size_t j) {
        return share * share * product_of(atoms, i, j);
    };
    const std::size_t n_steps = exchange(n, lambda, product, weight, slope);
    for (std::size_t k = 0; k < n; ++k) {
        atoms[k].moved = weight[k] - atoms[k].weight;
        atoms[k].weight = weight[k];
    }
    weights.shift(first, atoms, y, -share / lambda, &Atom::moved);
    return n_steps;
}

/// Leaves out those that have no weight left, with their products.
inline void forget(std::vector<Atom>& atoms) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < atoms.size(); ++i) {
        if (!(atoms[i].weight > 0)) continue;
        std::size_t n = 0;
        for (std::size_t j = 0; j < atoms[i].products.size(); ++j)
            if (atoms[j].weight > 0) atoms[i].products[n++] = atoms[i].products[j];
        atoms[i].products.resize(n);
        ++kept;
    }
    if (kept < atoms.size())
        std::erase_if(atoms, [](const Atom& atom) { return !(atom.weight > 0); });
}

/// The worst labelling of a sequence by the scores Z of its tokens, by a search.
template <int Lanes>
FENCHEL_INLINE void search(const double* Z, const double* T, const Gold& gold, bool slack,
                           std::size_t first, std::size_t n, PathRoom& room, std::int64_t* labels) {
    const std::size_t L = room.n_labels, width = room.width;
    const std::int64_t* y = gold.y + first;
    std::copy_n(Z, n * width, room.Z.data());
    if (!slack) {
        for (std::size_t t = 0; t < n; ++t)
            for (std::size_t k = 0; k < L; ++k)
                room.Z[t * width + k] += gold.cost[k * L + static_cast<std::size_t>(y[t])];
        best_labels<Lanes>(room.Z.data(), T, L, width, n, room.delta.data(), labels);
        return;
    }
    std::copy_n(T, width * width, room.T.data());  // where best_slack reads them
    const double right = score_of(room.Z.data(), T, width, y, n);
    double wrong = 0;
    best_slack<Lanes>(room, y, n, right, room.delta.data(), labels, &wrong);
}

/// Makes a labelling one of those in use, if it is not.
inline void use(const Gold& gold, bool slack, std::size_t n_labels, std::size_t first,
                std::size_t n, const std::int64_t* labels, std::vector<Atom>& atoms) {
    for (const Atom& atom : atoms)
        if (std::equal(atom.labels.begin(), atom.labels.end(), labels)) return;
    atoms.push_back(atom_of(gold, slack, n_labels, first, {labels, labels + n}));
}

template <int Lanes, class Value>
FENCHEL_INLINE BlockSweep frank_wolfe_body(const Chains<Value>& chains, const Gold& gold,
                                           bool slack, const std::int64_t* order,
                                           std::size_t n_order, double lambda, double S, Atoms& of,
                                           double* w) {
    const std::size_t L = chains.pairs.n_labels, most = longest(chains);
    Weights<Value> weights(chains);
    weights.read(w);
    PathRoom room(chains, w, slack ? most + 1 : 1);
    std::vector<std::int64_t> labels(most);
    std::vector<double> Z(most * room.width), numbers;
    BlockSweep sweep;
    for (std::size_t i = 0; i < n_order; ++i) {
        const auto s = static_cast<std::size_t>(order[i]);
        const auto first = static_cast<std::size_t>(chains.start[s]);
        const auto n = static_cast<std::size_t>(chains.start[s + 1]) - first;
        const std::int64_t* y = gold.y + first;
        const double share = gold.weight_of(s) / S;
        std::vector<Atom>& atoms = of[s];
        if (!(share > 0)) continue;
        if (atoms.empty()) {
            use(gold, slack, L, first, n, y, atoms);
            atoms[0].weight = 1;
        }
        score_sequence(chains, first, n, Gold{gold.y}, weights.states(), room.width, Z.data());
        forget(atoms);
        search<Lanes>(Z.data(), weights.transitions(), gold, slack, first, n, room, labels.data());
        use(gold, slack, L, first, n, labels.data(), atoms);
        double mean = 0, total = 0, highest = kMinusInf;
        for (Atom& atom : atoms) {
            atom.height = weights.height(Z.data(), atom, y);
            highest = std::max(highest, atom.height);
            mean += atom.weight * atom.height;
            total += atom.weight;
        }
        sweep.gap += share * std::max(0.0, highest - mean / total);
        multiply(weights, first, y, atoms);
        sweep.n_steps += settle(weights, first, y, share, lambda, atoms, numbers);
    }
    weights.write(w);
    return sweep;
}

template <class Value>
FENCHEL_AVX2 BlockSweep frank_wolfe_avx2(const Chains<Value>& chains, const Gold& gold, bool slack,
                                         const std::int64_t* order, std::size_t n_order,
                                         double lambda, double S, Atoms& of, double* w) {
    return frank_wolfe_body<4>(chains, gold, slack, order, n_order, lambda, S, of, w);
}

}  // namespace detail

/// Searches and steps on the sequences named, in that order; w and the labellings in use follow.
template <class Value>
BlockSweep frank_wolfe(const Chains<Value>& chains, const Gold& gold, bool slack,
                       const std::int64_t* order, std::size_t n_order, double lambda, double S,
                       Atoms& of, double* w) {
    if (has_avx2())
        return detail::frank_wolfe_avx2(chains, gold, slack, order, n_order, lambda, S, of, w);
    return detail::frank_wolfe_body<2>(chains, gold, slack, order, n_order, lambda, S, of, w);
}

/// sum_i s_i E[Delta] over a shard; g += sum_i s_i E[psi_i]. Shares that do not add up to 1
/// are put right.
template <class Value>
double expected_plane(const Chains<Value>& chains, const Gold& gold, Atoms& of, double* g) {
    detail::Weights<Value> weights(chains);
    weights.read(g);
    double cost = 0;
    for (std::size_t s = 0; s < of.size(); ++s) {
        double total = 0;
        for (const Atom& atom : of[s]) total += atom.weight;
        const bool off = std::abs(total - 1) > detail::kDrift;
        for (Atom& atom : of[s]) {
            if (off) atom.weight /= total;
            cost += gold.weight_of(s) * atom.weight * atom.cost;
        }
        const auto first = static_cast<std::size_t>(chains.start[s]);
        weights.shift(first, of[s], gold.y + first, gold.weight_of(s), &Atom::weight);
    }
    weights.write(g);
    return cost;
}

}  // namespace fenchel

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
// they need no search, and the products <psi, psi'> are kept. The gap of the dual point, J(w) -
// D(alpha), is sum_i c_i (max H_i - E[H_i]).
#pragma once

#include <utility>

#include "chain_paths.hpp"

namespace fenchel {

/// A labelling in use: its share of the distribution, its cost and what psi is multiplied by.
struct Atom {
    double weight, cost, scale;
    std::vector<std::uint16_t> labels;
    double height = 0;                  // H_i as steps are taken
    double moved = 0;                   // the share it has gained by them
    std::vector<double> products = {};  // <psi, psi'> with those before it, and with itself
};

using Atoms = std::vector<std::vector<Atom>>;  // of each sequence; none is its right labelling

struct BlockSweep {
    double gap = 0;  // sum_i c_i (max H_i - E[H_i]) as the sequences were met
    std::size_t n_steps = 0;
};

namespace detail {

inline constexpr std::size_t kNowhere = ~std::size_t{0};
inline constexpr std::size_t kInner = 100;  // steps on a sequence, at most
inline constexpr double kDrift = 1e-12;     // of shares from adding up to 1, that is put right
inline constexpr double kWorth = 0.1;       // of the first pair's gap, at which they end

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

/// Numbers of w where steps change them: those of pairs, of dense features and of transitions.
///
/// Of the three parts, the first has no use for pairs that are in one of the others.
template <class Value>
class Weights {
  public:
    explicit Weights(const Chains<Value>& chains)
        : chains_(chains),
          width_(padded(chains.pairs.n_labels)),
          dense_(static_cast<std::size_t>(
              chains.pairs.start[chains.pairs.n_features + chains.pairs.n_labels])),
          steps_(dense_ + chains.pairs.n_dense * width_),
          numbers(steps_ + width_ * width_),
          change_(numbers.size()),
          known_(numbers.size() - dense_) {
        const Pairs& pairs = chains.pairs;
        for_pairs([&](std::size_t, std::size_t at) {
            if (at >= dense_) known_[at - dense_] = 1;
        });
        for (std::size_t i = 0; i < width_; ++i)  // padding of transitions
            for (std::size_t j = 0; j < width_; ++j)
                if (i >= pairs.n_labels || j >= pairs.n_labels)
                    numbers[steps_ + i * width_ + j] = kMinusInf;
    }

    void read(const double* w) {
        for_pairs([&](std::size_t k, std::size_t at) { numbers[at] = w[k]; });
    }

    void write(double* w) const {
        for_pairs([&](std::size_t k, std::size_t at) { w[k] = numbers[at]; });
    }

    Numbers<const double> states() const { return {numbers.data(), numbers.data() + dense_}; }
    const double* transitions() const { return numbers.data() + steps_; }

    /// change += scale (phi(labels) - phi(y)) of an atom.
    void add(std::size_t first, const Atom& atom, const std::int64_t* y, double scale) {
        visit(first, atom, y, [&](std::size_t at, double x) {
            change_[at] += scale * x;
            touched_.push_back(at);
        });
    }

    /// numbers += scale times the change, which is cleared.
    void move(double scale) {
        for (const std::size_t at : touched_) {
            if (scale != 0) numbers[at] += scale * change_[at];
            change_[at] = 0;
        }
        touched_.clear();
    }

    /// <psi, change> of an atom.
    double product(std::size_t first, const Atom& atom, const std::int64_t* y) const {
        double sum = 0;
        visit(first, atom, y, [&](std::size_t at, double x) { sum += x * change_[at]; });
        return sum;
    }

    /// H_i of an atom at the numbers as they are.
    double height(std::size_t first, const Atom& atom, const std::int64_t* y) const {
        double sum = atom.cost;
        visit(first, atom, y, [&](std::size_t at, double x) { sum += x * numbers[at]; });
        return sum;
    }

  private:
    /// use(k, at) for each pair k of w.
    template <class Use>
    void for_pairs(Use&& use) const {
        const Pairs& pairs = chains_.pairs;
        std::size_t r = 0;
        for (std::size_t f = 0; f < pairs.n_features + pairs.n_labels; ++f) {
            const bool is_step = f >= pairs.n_features;
            const bool is_dense =
                !is_step && r < pairs.n_dense && static_cast<std::size_t>(pairs.dense[r]) == f;
            const std::size_t row = is_step ? steps_ + (f - pairs.n_features) * width_
                                            : dense_ + (is_dense ? r : 0) * width_;
            for (std::int64_t k = pairs.start[f]; k < pairs.start[f + 1]; ++k) {
                const auto pair = static_cast<std::size_t>(k);
                use(pair, is_step || is_dense ? row + (pairs.run[k] & ~kLast) : pair);
            }
            r += is_dense;
        }
    }

    /// use(at, x) for each number of w that psi, times the atom's scale, has as x in it.
    template <class Use>
    void visit(std::size_t first, const Atom& atom, const std::int64_t* y, Use&& use) const {
        const std::size_t n = atom.labels.size();
        for (std::size_t t = 0; t < n; ++t) {
            const std::size_t k = atom.labels[t], l = static_cast<std::size_t>(y[t]);
            if (k != l) {
                of_token(first + t, k, atom.scale, use);
                of_token(first + t, l, -atom.scale, use);
            }
            if (t == 0) continue;
            const std::size_t i = atom.labels[t - 1], j = static_cast<std::size_t>(y[t - 1]);
            if (k == l && i == j) continue;
            of_step(i, k, atom.scale, use);
            of_step(j, l, -atom.scale, use);
        }
    }

    template <class Use>
    void of_token(std::size_t token, std::size_t label, double scale, Use&& use) const {
        for (std::int64_t n = chains_.row_start[token]; n < chains_.row_start[token + 1]; ++n) {
            const std::size_t at = place(chains_.place[n], label);
            if (at != kNowhere) use(at, scale * static_cast<double>(chains_.value[n]));
        }
    }

    template <class Use>
    void of_step(std::size_t before, std::size_t label, double scale, Use&& use) const {
        const std::size_t at = steps_ + before * width_ + label;
        if (known_[at - dense_]) use(at, scale);
    }

    std::size_t place(std::int32_t place, std::size_t label) const {
        if (place >= 0) {
            const std::size_t at = dense_ + static_cast<std::size_t>(place) * width_ + label;
            return known_[at - dense_] ? at : kNowhere;
        }
        for (std::int32_t k = ~place;; ++k) {
            const std::uint16_t run = chains_.pairs.run[k];
            if ((run & ~kLast) == static_cast<int>(label)) return static_cast<std::size_t>(k);
            if (run & kLast) return kNowhere;
        }
    }

    const Chains<Value>& chains_;
    std::size_t width_, dense_, steps_;

  public:
    std::vector<double> numbers;

  private:
    std::vector<double> change_;
    std::vector<char> known_;
    std::vector<std::size_t> touched_;
};

/// The one to move from, which is in use, and the one to move to.
inline std::pair<std::size_t, std::size_t> worst_pair(const std::vector<Atom>& atoms) {
    std::size_t from = kNowhere, to = 0;
    for (std::size_t k = 0; k < atoms.size(); ++k) {
        if (atoms[k].height > atoms[to].height) to = k;
        if (atoms[k].weight > 0 && (from == kNowhere || atoms[k].height < atoms[from].height))
            from = k;
    }
    return {from, to};
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
        weights.move(0.0);
    }
}

/// Moves weight from labellings to better ones; how many steps that took. w follows.
template <class Value>
std::size_t settle(Weights<Value>& weights, std::size_t first, const std::int64_t* y, double share,
                   double lambda, std::vector<Atom>& atoms) {
    double least = 0;
    std::size_t n_steps = 0;
    for (Atom& atom : atoms) atom.moved = 0;
    for (; n_steps < kInner; ++n_steps) {
        const auto [from, to] = worst_pair(atoms);
        const double gain = atoms[to].height - atoms[from].height;
        if (!(gain > least)) break;
        least = n_steps == 0 ? kWorth * gain : least;
        const double square = product_of(atoms, to, to) + product_of(atoms, from, from) -
                              2 * product_of(atoms, to, from);
        const double all = atoms[from].weight, best = lambda * gain / (share * square);
        const double moved = square > 0 && best < all ? best : all;
        atoms[to].weight += moved;
        atoms[from].weight = moved < all ? all - moved : 0.0;
        atoms[to].moved += moved;
        atoms[from].moved -= moved;
        for (std::size_t k = 0; k < atoms.size(); ++k)
            atoms[k].height -=
                moved * share / lambda * (product_of(atoms, k, to) - product_of(atoms, k, from));
    }
    for (const Atom& atom : atoms)
        if (atom.moved != 0) weights.add(first, atom, y, atom.moved);
    weights.move(-share / lambda);
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

/// The worst labelling of a sequence at the numbers as they are, by a search.
template <int Lanes, class Value>
FENCHEL_INLINE void search(const Chains<Value>& chains, const Gold& gold, bool slack,
                           std::size_t first, std::size_t n, const Weights<Value>& weights,
                           PathRoom& room, std::int64_t* labels) {
    const std::size_t L = room.n_labels, width = room.width;
    const double* T = weights.transitions();
    const Gold scored{gold.y, slack ? nullptr : gold.cost};
    score_sequence(chains, first, n, scored, weights.states(), width, room.Z.data());
    if (!slack) {
        best_labels<Lanes>(room.Z.data(), T, L, width, n, room.delta.data(), labels);
        return;
    }
    std::copy_n(T, width * width, room.T.data());  // where best_slack reads them
    const std::int64_t* y = gold.y + first;
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
                                           bool slack, bool searching, const std::int64_t* order,
                                           std::size_t n_order, double lambda, double S, Atoms& of,
                                           double* w) {
    const std::size_t L = chains.pairs.n_labels, most = longest(chains);
    Weights<Value> weights(chains);
    weights.read(w);
    PathRoom room(chains, w, !searching ? 0 : slack ? most + 1 : 1);
    std::vector<std::int64_t> labels(most);
    BlockSweep sweep;
    for (std::size_t i = 0; i < n_order; ++i) {
        const auto s = static_cast<std::size_t>(order[i]);
        const auto first = static_cast<std::size_t>(chains.start[s]);
        const auto n = static_cast<std::size_t>(chains.start[s + 1]) - first;
        const std::int64_t* y = gold.y + first;
        const double share = gold.weight_of(s) / S;
        std::vector<Atom>& atoms = of[s];
        if (!(share > 0) || (!searching && atoms.size() < 2)) continue;
        if (atoms.empty()) {
            use(gold, slack, L, first, n, y, atoms);
            atoms[0].weight = 1;
        }
        if (searching) {
            forget(atoms);
            search<Lanes>(chains, gold, slack, first, n, weights, room, labels.data());
            use(gold, slack, L, first, n, labels.data(), atoms);
        }
        double mean = 0, total = 0, highest = kMinusInf;
        for (Atom& atom : atoms) {
            atom.height = weights.height(first, atom, y);
            highest = std::max(highest, atom.height);
            mean += atom.weight * atom.height;
            total += atom.weight;
        }
        sweep.gap += share * std::max(0.0, highest - mean / total);
        multiply(weights, first, y, atoms);
        sweep.n_steps += settle(weights, first, y, share, lambda, atoms);
    }
    weights.write(w);
    return sweep;
}

template <class Value>
FENCHEL_AVX2 BlockSweep frank_wolfe_avx2(const Chains<Value>& chains, const Gold& gold, bool slack,
                                         bool searching, const std::int64_t* order,
                                         std::size_t n_order, double lambda, double S, Atoms& of,
                                         double* w) {
    return frank_wolfe_body<4>(chains, gold, slack, searching, order, n_order, lambda, S, of, w);
}

}  // namespace detail

/// Steps on the sequences named, in that order; w and the labellings in use follow. Unless
/// `searching`, among those in use alone.
template <class Value>
BlockSweep frank_wolfe(const Chains<Value>& chains, const Gold& gold, bool slack, bool searching,
                       const std::int64_t* order, std::size_t n_order, double lambda, double S,
                       Atoms& of, double* w) {
    if (has_avx2())
        return detail::frank_wolfe_avx2(chains, gold, slack, searching, order, n_order, lambda, S,
                                        of, w);
    return detail::frank_wolfe_body<2>(chains, gold, slack, searching, order, n_order, lambda, S,
                                       of, w);
}

/// Gives the labellings in use other shares.
inline void assign(Atoms& of, const double* weight) {
    for (auto& atoms : of)
        for (Atom& atom : atoms) atom.weight = *weight++;
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
            if (atom.weight == 0) continue;
            const double weight = gold.weight_of(s) * atom.weight;
            cost += weight * atom.cost;
            const auto first = static_cast<std::size_t>(chains.start[s]);
            weights.add(first, atom, gold.y + first, weight);
        }
        weights.move(1.0);
    }
    weights.write(g);
    return cost;
}

}  // namespace fenchel

// The labellings in use of chains, as planes over a product of simplices (simplices.hpp).
//
// Parts of a sequence's planes are its tokens at a label, and its pairs of labels in a row. Where
// all labellings agree a part would add the same to all planes, and so is left out; the right
// labels too, but where slacks are rescaled, as psi is then multiplied by each labelling's own
// number of wrong labels.
#pragma once

#include "chain_blocks.hpp"

namespace fenchel {
namespace detail {

/// Where w has the number of a label, among the pairs from k on of one feature; or kNowhere.
inline std::size_t pair_at(const Pairs& pairs, std::size_t k, std::size_t label) {
    for (;; ++k) {
        const std::uint16_t run = pairs.run[k];
        if ((run & ~kLast) == static_cast<int>(label)) return k;
        if (run & kLast) return kNowhere;
    }
}

/// The parts of one sequence's planes.
template <class Value>
class Faces {
  public:
    Faces(const Chains<Value>& chains, Simplices& to)
        : chains_(chains), to_(to), n_labels_(chains.pairs.n_labels) {}

    /// A block of the labellings in use of a sequence, which counts c.
    void add(std::size_t first, std::size_t n, const std::int64_t* y, bool slack, double c,
             const std::vector<Atom>& atoms) {
        if (atoms.size() > 1) {
            differ(n, y, slack, atoms);
            at_token_.assign(n * n_labels_, kNowhere);
            at_step_.assign(n_labels_ * n_labels_, kNowhere);
        }
        for (std::size_t k = 0; k < atoms.size(); ++k) {
            const Atom& atom = atoms[k];
            const double scale = c * atom.scale;
            for (std::size_t t = 0; t < n && atoms.size() > 1; ++t) {
                const auto right = static_cast<std::size_t>(y[t]);
                if (differs_[t]) {
                    to_.planes.add(token(first, t, atom.labels[t]), scale);
                    if (slack) to_.planes.add(token(first, t, right), -scale);
                }
                if (t == 0 || !(differs_[t] || differs_[t - 1])) continue;
                to_.planes.add(step(atom.labels[t - 1], atom.labels[t]), scale);
                if (slack) to_.planes.add(step(static_cast<std::size_t>(y[t - 1]), right), -scale);
            }
            to_.planes.close();
            to_.cost.push_back(c * atom.cost);
            to_.share.push_back(atom.weight);
            for (std::size_t j = 0; j < atoms.size(); ++j)
                to_.products.push_back(c * c * product_of(atoms, k, j));
        }
        to_.close();
    }

  private:
    /// Marks the tokens whose labels matter.
    void differ(std::size_t n, const std::int64_t* y, bool slack, const std::vector<Atom>& atoms) {
        differs_.assign(n, 0);
        for (std::size_t t = 0; t < n; ++t) {
            const auto one = slack ? static_cast<std::uint16_t>(y[t]) : atoms[0].labels[t];
            for (const Atom& atom : atoms) differs_[t] |= atom.labels[t] != one;
        }
    }

    std::size_t token(std::size_t first, std::size_t t, std::size_t label) {
        std::size_t& at = at_token_[t * n_labels_ + label];
        if (at != kNowhere) return at;
        const Pairs& pairs = chains_.pairs;
        for (auto n = chains_.row_start[first + t]; n < chains_.row_start[first + t + 1]; ++n) {
            const std::int32_t place = chains_.place[n];
            const std::int64_t start = place < 0 ? ~place : pairs.start[pairs.dense[place]];
            const std::size_t pair = pair_at(pairs, static_cast<std::size_t>(start), label);
            if (pair != kNowhere) to_.parts.add(pair, chains_.value[n]);
        }
        to_.parts.close();
        return at = to_.parts.size() - 1;
    }

    std::size_t step(std::size_t before, std::size_t label) {
        std::size_t& at = at_step_[before * n_labels_ + label];
        if (at != kNowhere) return at;
        const std::int64_t* start = chains_.pairs.start + chains_.pairs.n_features + before;
        if (start[0] < start[1]) {
            const auto pair = pair_at(chains_.pairs, static_cast<std::size_t>(start[0]), label);
            if (pair != kNowhere) to_.parts.add(pair, 1.0);
        }
        to_.parts.close();
        return at = to_.parts.size() - 1;
    }

    const Chains<Value>& chains_;
    Simplices& to_;
    std::size_t n_labels_;
    std::vector<char> differs_;                    // of each token
    std::vector<std::size_t> at_token_, at_step_;  // the part of each label, or pair of labels
};

}  // namespace detail

/// Adds a block for each sequence of a shard that has labellings in use.
template <class Value>
void append_faces(const Chains<Value>& chains, const Gold& gold, bool slack, double S,
                  const Atoms& of, Simplices& to) {
    detail::Faces<Value> faces(chains, to);
    to.n_columns = static_cast<std::size_t>(
        chains.pairs.start[chains.pairs.n_features + chains.pairs.n_labels]);
    for (std::size_t s = 0; s < of.size(); ++s) {
        const auto first = static_cast<std::size_t>(chains.start[s]);
        const auto n = static_cast<std::size_t>(chains.start[s + 1]) - first;
        faces.add(first, n, gold.y + first, slack, gold.weight_of(s) / S, of[s]);
    }
}

}  // namespace fenchel

// Labellings in use, and the numbers of w of a chain model while steps on them change these.
#pragma once

#include <cstdint>
#include <vector>

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

namespace detail {

inline constexpr std::size_t kNowhere = ~std::size_t{0};

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

    /// change = 0.
    void clear() {
        for (const std::size_t at : touched_) change_[at] = 0;
        touched_.clear();
    }

    /// <psi, change> of an atom.
    double product(std::size_t first, const Atom& atom, const std::int64_t* y) const {
        double sum = 0;
        visit(first, atom, y, [&](std::size_t at, double x) { sum += x * change_[at]; });
        return sum;
    }

    /// H_i of an atom, by the scores Z of its tokens at the numbers as they are.
    double height(const double* Z, const Atom& atom, const std::int64_t* y) const {
        const double* T = transitions();
        double sum = 0;
        for (std::size_t t = 0; t < atom.labels.size(); ++t) {
            const std::size_t k = atom.labels[t], l = static_cast<std::size_t>(y[t]);
            if (k != l) sum += Z[t * width_ + k] - Z[t * width_ + l];
            if (t == 0) continue;
            const std::size_t i = atom.labels[t - 1], j = static_cast<std::size_t>(y[t - 1]);
            if (k != l || i != j) sum += T[i * width_ + k] - T[j * width_ + l];
        }
        return atom.cost + atom.scale * sum;
    }

    /// numbers += scale times the sum of all psi times that share of each atom. Labels are added up
    /// token by token, so that each feature is visited once, however many atoms there are.
    FENCHEL_INLINE void shift(std::size_t first, const std::vector<Atom>& atoms,
                              const std::int64_t* y, double scale, double Atom::* share) {
        const std::size_t n = atoms.empty() ? 0 : atoms[0].labels.size();
        slopes_.assign(n * width_, 0.0);
        moves_.assign(n, 0);
        for (const Atom& atom : atoms) {
            const double each = scale * (atom.*share) * atom.scale;
            if (each == 0) continue;
            for (std::size_t t = 0; t < n; ++t) {
                const std::size_t k = atom.labels[t], l = static_cast<std::size_t>(y[t]);
                if (k != l) {
                    slopes_[t * width_ + k] += each, slopes_[t * width_ + l] -= each;
                    moves_[t] = 1;
                }
                if (t == 0) continue;
                const std::size_t i = atom.labels[t - 1], j = static_cast<std::size_t>(y[t - 1]);
                if (k == l && i == j) continue;
                add_step(i, k, each);
                add_step(j, l, -each);
            }
        }
        for (std::size_t t = 0; t < n; ++t)
            if (moves_[t]) add_token(first + t, slopes_.data() + t * width_);
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

    void add_step(std::size_t before, std::size_t label, double x) {
        const std::size_t at = steps_ + before * width_ + label;
        numbers[at] += known_[at - dense_] * x;
    }

    /// numbers(f, l) += x_f a(l) for a token.
    FENCHEL_INLINE void add_token(std::size_t token, const double* a) {
        for (std::int64_t n = chains_.row_start[token]; n < chains_.row_start[token + 1]; ++n) {
            const double x = chains_.value[n];
            const std::int32_t place = chains_.place[n];
            if (place >= 0) {
                const std::size_t row = static_cast<std::size_t>(place) * width_;
                const double* known = known_.data() + row;
                double* of_row = numbers.data() + dense_ + row;
                for (std::size_t l = 0; l < width_; ++l) of_row[l] += known[l] * (x * a[l]);
                continue;
            }
            for (std::int32_t k = ~place;; ++k) {
                const std::uint16_t label = chains_.pairs.run[k];
                numbers[k] += x * a[label & ~kLast];
                if (label & kLast) break;
            }
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
        if (known_[at - dense_] != 0) use(at, scale);
    }

    std::size_t place(std::int32_t place, std::size_t label) const {
        if (place >= 0) {
            const std::size_t at = dense_ + static_cast<std::size_t>(place) * width_ + label;
            return known_[at - dense_] != 0 ? at : kNowhere;
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
    std::vector<double> known_;  // 1 for pairs that there are, 0 for others
    std::vector<std::size_t> touched_;
    std::vector<double> slopes_;  // of one sequence: for each token and label
    std::vector<char> moves_;     // and whether a token has any
};

}  // namespace detail

}  // namespace fenchel

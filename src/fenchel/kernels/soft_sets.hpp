// Sets of rows made soft (losses/soft_counts.py). The best set of k rows has the highest scores q;
// over the sets' convex hull, and with a little of Euclid's norm taken off,
//
//     max over 0 <= u <= 1, sum u = k of  <u, q> - nu/2 <u, u>,   u_i = clip((q_i - kappa) / nu, 0,
//     1)
//
// with the kappa for which the shares u add up to k. As kappa falls rows are taken bit by bit,
// those of the highest scores first: at any time `first` of them whole, and some up to `last` in
// part.
#pragma once

#include <cmath>

#include "soft_pairs.hpp"

namespace fenchel {

/// Sums of the first 0, 1, ... numbers, and what each lost to round-off: differences of a few small
/// numbers after many large ones must be as exact as sums of their own (Knuth's two-sum).
class RunningSums {
  public:
    void clear() { high_.assign(1, 0.0), low_.assign(1, 0.0); }

    void push(double number) {
        const double before = high_.back(), after = before + number, added = after - before;
        low_.push_back(low_.back() + ((before - (after - added)) + (number - added)));
        high_.push_back(after);
    }

    double between(std::size_t first, std::size_t last) const {
        return (high_[last] - high_[first]) + (low_[last] - low_[first]);
    }

  private:
    std::vector<double> high_, low_;
};

/// A threshold, and the rows that it takes: `first` of them whole, and part of those up to `last`.
struct Taken {
    double kappa = 0.0;
    std::size_t first = 0, last = 0;
};

/// Rows, of which some are to be taken, in falling order of their scores.
class SoftSets {
  public:
    /// Thresholds that take 0 .. most rows are computed once; `rows` must outlive this.
    void assign(const std::vector<Scored>& rows, double nu, std::size_t most) {
        rows_ = rows.data(), n_ = rows.size(), nu_ = nu;
        scores_.clear(), squares_.clear();
        for (const Scored& row : rows)
            scores_.push(row.score), squares_.push(row.score * row.score);
        find_all(most);
    }

    std::size_t size() const { return n_; }
    double nu() const { return nu_; }
    const Scored& operator[](std::size_t i) const { return rows_[i]; }

    /// The threshold at which k rows are taken.
    const Taken& of(std::size_t k) const { return taken_[k]; }

    /// What any threshold takes, which is about as many as `near`.
    Taken at(double kappa, const Taken& near) const {
        const auto whole = [&](std::size_t i) { return rows_[i].score >= kappa + nu_; };
        const auto some = [&](std::size_t i) { return rows_[i].score > kappa; };
        const std::size_t first = count_first(n_, near.first, whole);
        return {kappa, first, std::max(first, count_first(n_, near.last, some))};
    }

    /// How many rows are taken: sum u.
    double total(const Taken& at) const {
        const auto part = static_cast<double>(at.last - at.first);
        const double scores = scores_.between(at.first, at.last);
        return static_cast<double>(at.first) + (scores - at.kappa * part) / nu_;
    }

    /// <u, u>.
    double square(const Taken& at) const {
        const auto part = static_cast<double>(at.last - at.first);
        const double scores = scores_.between(at.first, at.last);
        const double squares = squares_.between(at.first, at.last);
        const double rest = squares - 2 * at.kappa * scores + at.kappa * at.kappa * part;
        return static_cast<double>(at.first) + std::max(rest, 0.0) / (nu_ * nu_);
    }

    /// <u, q>.
    double worth(const Taken& at) const {
        const double scores = scores_.between(at.first, at.last);
        const double squares = squares_.between(at.first, at.last);
        return scores_.between(0, at.first) + (squares - at.kappa * scores) / nu_;
    }

  private:
    /// Between two bends, where a row begins to be taken or is whole, the total is straight.
    void find_all(std::size_t most) {
        Taken here{rows_[0].score};
        taken_.assign(1, here);
        for (std::size_t k = 1; k <= most; ++k) {
            const auto wanted = static_cast<double>(k);
            double above = here.kappa, below = bend(here);
            while (here.first < n_ && total({below, here.first, here.last}) < wanted) {
                const bool enters = here.last < n_ && below == rows_[here.last].score;
                ++(enters ? here.last : here.first);
                above = below;
                below = bend(here);
            }
            const auto part = static_cast<double>(here.last - here.first);
            const double missing = wanted - static_cast<double>(here.first);
            const double scores = scores_.between(here.first, here.last);
            if (part > 0) {
                here.kappa = std::min(above, std::max(below, (scores - missing * nu_) / part));
            } else {
                here.kappa = above;
            }
            taken_.push_back(here);
        }
    }

    /// The next bend, as thresholds fall: the one at which a row enters first if two are equal.
    double bend(const Taken& here) const {
        if (here.first == n_) return here.kappa;
        const double whole = rows_[here.first].score - nu_;
        return here.last < n_ ? std::max(rows_[here.last].score, whole) : whole;
    }

    const Scored* rows_ = nullptr;
    std::size_t n_ = 0;
    double nu_ = 0.0;
    RunningSums scores_, squares_;
    std::vector<Taken> taken_;
};

/// A distribution over some numbers of rows taken.
class SoftMaximum {
  public:
    /// That which maximises <theta, values> - tau times the entropy it lacks; gives what it lacks.
    double assign(const std::vector<double>& values, double tau) {
        theta_.resize(values.size());
        const double most = *std::max_element(values.begin(), values.end());
        double sum = 0.0, lack = std::log(static_cast<double>(values.size()));
        for (std::size_t k = 0; k < values.size(); ++k)
            sum += theta_[k] = std::exp((values[k] - most) / tau);
        for (std::size_t k = 0; k < values.size(); ++k) {
            const double weight = theta_[k] / sum;
            if (weight > 0) lack += weight * ((values[k] - most) / tau - std::log(sum));
            theta_[k] = weight;
        }
        return std::max(lack, 0.0);
    }

    /// <theta, numbers>.
    double mean(const std::vector<double>& numbers) const {
        double sum = 0.0;
        for (std::size_t k = 0; k < theta_.size(); ++k)
            if (theta_[k] != 0) sum += theta_[k] * numbers[k];
        return sum;
    }

    /// use(row, sum_k theta_k u_i) for the shares u of each threshold, rows of low scores first.
    template <class Use>
    void shares(const SoftSets& sets, const std::vector<double>& kappa, Use&& use) {
        const auto by_key = [](const Keyed& a, const Keyed& b) { return a.key < b.key; };
        keys_.clear();
        for (std::size_t k = kappa.size(); k-- > 0;)
            if (theta_[k] > 0) keys_.push_back({kappa[k], theta_[k], 0});
        if (!std::is_sorted(keys_.begin(), keys_.end(), by_key))
            std::stable_sort(keys_.begin(), keys_.end(), by_key);
        double whole = 0.0;  // of the thresholds at which the row is taken whole
        Window window;
        std::size_t entered = 0, left = 0;
        for (std::size_t i = sets.size(); i-- > 0;) {
            const double q = sets[i].score;
            window.move(q);
            for (; entered < keys_.size() && keys_[entered].key < q; ++entered)
                window.add(keys_[entered]);
            for (; left < entered && keys_[left].key <= q - sets.nu(); ++left) {
                window.drop(keys_[left]);
                whole += keys_[left].s;
            }
            const double share = whole - window.first() / sets.nu();
            use(sets[i].row, std::min(std::max(share, 0.0), 1.0));
        }
    }

  private:
    std::vector<double> theta_;
    std::vector<Keyed> keys_;
};

}  // namespace fenchel

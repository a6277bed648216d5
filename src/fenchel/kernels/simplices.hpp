// A quadratic programme over a product of simplices: the dual of a mean of maxima of few planes,
//
//     max over alpha of  D(alpha) = <b, alpha> - ||A' alpha||^2 / (2 lambda),
//
// where the shares alpha of each block's planes are >= 0 and add up to 1. With w = -A' alpha /
// lambda its slope is D'(alpha) = b + A w, of which what is the same for all planes of a block does
// not count. Planes of a block have much in common: A = P F, where the rows of F are parts, such as
// the features of a token at a label, and P says which parts a plane is the sum of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fenchel {

/// Sparse rows that grow at the end.
struct GrowingRows {
    std::vector<std::size_t> start{0};
    std::vector<std::int32_t> column;
    std::vector<double> value;

    std::size_t size() const { return start.size() - 1; }
    void add(std::size_t at, double x) {
        column.push_back(static_cast<std::int32_t>(at));
        value.push_back(x);
    }
    void close() { start.push_back(column.size()); }
    double times(std::size_t row, const double* x) const {
        double sum = 0;
        for (std::size_t k = start[row]; k < start[row + 1]; ++k) sum += value[k] * x[column[k]];
        return sum;
    }
    void add_to(std::size_t row, double scale, double* x) const {
        for (std::size_t k = start[row]; k < start[row + 1]; ++k) x[column[k]] += scale * value[k];
    }
};

namespace detail {

inline constexpr std::size_t kExchanges = 100;  // steps on a block, at most
inline constexpr double kWorth = 0.1;           // of the first pair's gap, at which they end

/// Moves share from planes to better ones, by the slopes of D and the products of planes; how many
/// steps that took. Moving t from v to s raises D by t (g_s - g_v) - t^2 ||a_s - a_v||^2 / (2
/// lambda), which is most at t = lambda (g_s - g_v) / ||a_s - a_v||^2, or at all that v has.
template <class Product>
std::size_t exchange(std::size_t n, double lambda, Product&& product, double* share,
                     double* slope) {
    double least = 0;
    for (std::size_t n_steps = 0; n_steps < kExchanges; ++n_steps) {
        std::size_t from = n, to = 0;
        for (std::size_t k = 0; k < n; ++k) {
            if (slope[k] > slope[to]) to = k;
            if (share[k] > 0 && (from == n || slope[k] < slope[from])) from = k;
        }
        const double gain = from < n ? slope[to] - slope[from] : 0;
        if (!(gain > least)) return n_steps;
        least = n_steps == 0 ? kWorth * gain : least;
        const double square = product(to, to) + product(from, from) - 2 * product(to, from);
        const double all = share[from], best = lambda * gain / square;
        const double moved = square > 0 && best < all ? best : all;
        share[to] += moved;
        share[from] = moved < all ? all - moved : 0.0;
        for (std::size_t k = 0; k < n; ++k)
            slope[k] -= moved / lambda * (product(k, to) - product(k, from));
    }
    return kExchanges;
}

}  // namespace detail

class Simplices {
  public:
    GrowingRows parts, planes;        // F over w, and P over parts
    std::vector<double> cost, share;  // b and alpha of each plane
    std::vector<double> products;     // of each block's planes, all with all
    std::size_t n_columns = 0;        // of w

    /// Ends a block, of all planes since the last one.
    void close() {
        part_.push_back(parts.size());
        plane_.push_back(planes.size());
        product_.push_back(products.size());
    }

    std::size_t n_blocks() const { return plane_.size() - 1; }

    std::span<const double> shares(std::size_t block) const {
        return {share.data() + plane_[block], share.data() + plane_[block + 1]};
    }

    /// Pairwise steps on the blocks in this order; what they could at most have gained.
    double sweep(const std::int64_t* order, std::size_t n_order, double lambda, double* w) {
        double gap = 0;
        prepare();
        for (std::size_t k = 0; k < n_order; ++k) {
            const auto i = static_cast<std::size_t>(order[k]);
            const std::size_t first = plane_[i], n = plane_[i + 1] - first;
            if (n < 2) continue;
            slopes(i, w);
            double *slope = slope_.data() + first, *of = share.data() + first, mean = 0;
            for (std::size_t j = 0; j < n; ++j) mean += of[j] * slope[j];
            gap += std::max(0.0, *std::max_element(slope, slope + n) - mean);
            std::copy_n(of, n, change_.data() + first);
            const double* product = products.data() + product_[i];
            const auto at = [&](std::size_t a, std::size_t b) { return product[a * n + b]; };
            if (detail::exchange(n, lambda, at, of, slope) == 0) continue;
            for (std::size_t j = first; j < first + n; ++j) change_[j] = share[j] - change_[j];
            spread(i, change_.data(), -1 / lambda, w);
        }
        return gap;
    }

  private:
    void prepare() {
        slope_.resize(planes.size());
        change_.resize(planes.size());
        image_.resize(parts.size());
    }

    /// F x for the parts of a block.
    void images(std::size_t i, const double* x) {
        for (std::size_t k = part_[i]; k < part_[i + 1]; ++k) image_[k] = parts.times(k, x);
    }

    void slopes(std::size_t i, const double* w) {
        images(i, w);
        for (std::size_t j = plane_[i]; j < plane_[i + 1]; ++j)
            slope_[j] = cost[j] + planes.times(j, image_.data());
    }

    /// x += scale F' P' of numbers of a block's planes.
    void spread(std::size_t i, const double* number, double scale, double* x) {
        std::fill(image_.begin() + signed_(part_[i]), image_.begin() + signed_(part_[i + 1]), 0.0);
        for (std::size_t j = plane_[i]; j < plane_[i + 1]; ++j)
            if (number[j] != 0) planes.add_to(j, scale * number[j], image_.data());
        for (std::size_t k = part_[i]; k < part_[i + 1]; ++k)
            if (image_[k] != 0) parts.add_to(k, image_[k], x);
    }

    static std::ptrdiff_t signed_(std::size_t k) { return static_cast<std::ptrdiff_t>(k); }

    std::vector<std::size_t> part_{0}, plane_{0}, product_{0};  // the first of each block
    std::vector<double> slope_, change_, image_;  // D' and what shares gained, by plane; F x
};

}  // namespace fenchel

// The Hessian of block_newton.hpp's F for few parameters: of each bent row i and group of m classes
// it has weight_i (I - 11'/m) on the group, times x_i x_i'. Parameters are taken class by class,
// the d of W and the offset.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cholesky.hpp"
#include "output_products.hpp"
#include "simd.hpp"

namespace fenchel {

namespace detail {

/// A block's row j += by x_j x, for all j; of a block on the diagonal up to j.
FENCHEL_INLINE void add_outer(const double* x, std::size_t width, double by, bool lower,
                              double* block, std::size_t stride) {
    for (std::size_t j = 0; j < width; ++j) {
        const double each = by * x[j];
        const std::size_t end = lower ? j + 1 : width;
        double* to = block + j * stride;
#pragma omp simd
        for (std::size_t l = 0; l < end; ++l) to[l] += each * x[l];
    }
}

FENCHEL_AVX2 inline void add_outer_avx2(const double* x, std::size_t width, double by, bool lower,
                                        double* block, std::size_t stride) {
    add_outer(x, width, by, lower, block, stride);
}

}  // namespace detail

class GroupHessian {
  public:
    void clear(std::size_t n_columns, std::size_t n_classes, bool has_offsets) {
        one_ = has_offsets ? 1.0 : 0.0;
        d_ = n_columns;
        K_ = n_classes;
        groups_.clear();
        members_.clear();
    }

    /// Notes a group of a row; the number of blocks that it adds to.
    template <class Member>
    double gather(std::size_t row, double weight, Member&& member) {
        const std::size_t first = members_.size();
        for (std::size_t k = 0; k < K_; ++k)
            if (member(k)) members_.push_back(static_cast<std::uint32_t>(k));
        const std::size_t m = members_.size() - first;
        if (m < 2) {
            members_.resize(first);
            return 0.0;
        }
        groups_.push_back({row, first, m, weight});
        return 0.5 * static_cast<double>(m * (m + 1));
    }

    /// Factors H + D + inertia, of the groups that were noted.
    void factor(const OutputProducts& X, const double* D, const double* inertia) {
        const std::size_t width = d_ + 1, N = width * K_;
        H_.assign(N * N, 0.0);
        add_groups(X, width, N);
        size_.resize(N);
        for (std::size_t k = 0; k < K_; ++k)
            for (std::size_t j = 0; j < width; ++j) {
                const std::size_t at = k * width + j;
                H_[at * N + at] += j < d_ ? D[j * K_ + k] : inertia[k];
                size_[at] = 1 / std::sqrt(H_[at * N + at]);
            }
        right_.assign(N, 0.0);
        factored_ = fenchel::solve(H_, N, L_, right_.data());
    }

    bool factored() const { return factored_; }

    /// x = (the matrix that was factored last)^-1 g, with rows of K for each column and the
    /// offsets.
    void solve(const double* g, double* x) {
        const std::size_t width = d_ + 1, N = width * K_;
        for (std::size_t k = 0; k < K_; ++k)
            for (std::size_t j = 0; j < width; ++j)
                right_[k * width + j] = size_[k * width + j] * g[j * K_ + k];
        detail::substitute(L_.data(), N, right_.data());
        for (std::size_t k = 0; k < K_; ++k)
            for (std::size_t j = 0; j < width; ++j)
                x[j * K_ + k] = size_[k * width + j] * right_[k * width + j];
    }

  private:
    struct Group {
        std::size_t row, first, m;
        double weight;
    };

    void add_groups(const OutputProducts& X, std::size_t width, std::size_t N) {
        std::vector<double> x(width, one_);
        std::size_t last = X.n_rows;
        for (const Group& group : groups_) {
            if (group.row != last) X.copy(group.row, x.data());
            last = group.row;
            for (std::size_t p = 0; p < group.m; ++p)
                for (std::size_t q = 0; q <= p; ++q) {
                    const double one = p == q ? 1.0 : 0.0;
                    const double by = group.weight * (one - 1 / static_cast<double>(group.m));
                    double* block = &H_[members_[group.first + p] * width * N +
                                        members_[group.first + q] * width];
                    has_avx2() ? detail::add_outer_avx2(x.data(), width, by, p == q, block, N)
                               : detail::add_outer(x.data(), width, by, p == q, block, N);
                }
        }
    }

    std::size_t d_ = 0, K_ = 0;
    double one_ = 1.0;  // what rows have in the column of the offsets
    std::vector<Group> groups_;
    std::vector<std::uint32_t> members_;
    std::vector<double> H_, L_, right_, size_;
    bool factored_ = false;
};

}  // namespace fenchel

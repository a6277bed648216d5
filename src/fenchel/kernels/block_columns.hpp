// The quadratic model of a loss of K scores, as a function of some columns' K numbers each.
//
//     q(D) = sum_i <u_i, z_i> + 1/2 <z_i, H_i z_i>,     z_i = sum_j x_ij d_j + e
//
// with u_i the slopes of row i, d_j the change of column j's numbers and e that of the K offsets,
// which is minimised out at every D. With N = sum_i H_i and M_j = sum_i x_ij H_i,
//
//     e = -N^-1 (sum_i u_i + sum_j M_j d_j),
//     dq/dd_j = sum_i x_ij (u_i + H_i sum_k x_ik d_k) + M_j e,
//     d2q/dd_j dd_k = sum_i x_ij x_ik H_i - M_j N^-1 M_k,
//
// so that rows know D only, and what e adds is K x K numbers for each column.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cholesky.hpp"
#include "column_storage.hpp"
#include "outputs.hpp"
#include "row_hessians.hpp"

namespace fenchel {

/// q of groups of columns: group g is which[start[g]] .. which[start[g + 1] - 1].
template <class Columns>
class BlockModel {
  public:
    BlockModel(const Columns& X, const std::int32_t* which, const std::int32_t* start,
               std::size_t groups, const RowHessians& H, bool has_offsets, double* U)
        : X_(X),
          which_(which),
          start_(start),
          groups_(groups),
          H_(H),
          K_(H.K),
          side_(H.p ? H.K : 1),
          has_offsets_(has_offsets),
          U_(U),
          shift_(H.K),
          jump_(H.K),
          hessian_(groups) {
        if (has_offsets) begin_offsets();
    }

    std::size_t groups() const { return groups_; }
    std::size_t outputs() const { return K_; }
    std::size_t columns(std::size_t g) const { return std::size_t(start_[g + 1] - start_[g]); }
    std::size_t size(std::size_t g) const { return columns(g) * K_; }
    std::size_t first(std::size_t g) const { return std::size_t(start_[g]) * K_; }

    void slope(std::size_t g, double* out) {
        for (auto c = std::size_t(start_[g]); c < std::size_t(start_[g + 1]); ++c, out += K_) {
            work += double(X_.count(at(c)));
            if (K_ == 1)
                *out = product(X_, at(c), U_);
            else
                detail::sum_row(detail::row_of(X_, at(c)), U_, K_, out);
            if (has_offsets_) add_mean(c, shift_.data(), out);
        }
    }

    void move(std::size_t g, const double* step) {
        for (auto c = std::size_t(start_[g]); c < std::size_t(start_[g + 1]); ++c, step += K_) {
            if (std::all_of(step, step + K_, [](double each) { return each == 0; })) continue;
            work += double(X_.count(at(c)));
            if (K_ == 1)
                add_column(X_, at(c), *step, {H_.h, 1.0}, U_);
            else
                detail::bend(detail::row_of(X_, at(c)), H_, step, U_);
            if (has_offsets_) follow(c, step, shift_.data());
        }
    }

    /// H d in a group, for its Hessian, which is made when it is first asked for.
    void bend(std::size_t g, const double* d, double* out) {
        const std::vector<double>& G = hessian(g);
        const std::size_t m = columns(g) * side_, width = K_ / side_;
        std::fill(out, out + size(g), 0.0);
        for (std::size_t a = 0; a < m; ++a)
            for (std::size_t b = 0; b < m; ++b)
                for (std::size_t k = 0; k < width; ++k)
                    out[a * width + k] += G[a * m + b] * d[b * width + k];
    }

    double curvature(std::size_t g, std::size_t entry) {
        const std::size_t m = columns(g) * side_, a = entry / (K_ / side_);
        return hessian(g)[a * m + a];
    }

    /// Adds to a group's slopes what a step d of one number changes.
    void follow_entry(std::size_t g, std::size_t entry, double d, double* slope) {
        const std::size_t m = columns(g) * side_, width = K_ / side_, k = entry % width;
        const double* G = hessian(g).data() + entry / width * m;
        for (std::size_t b = 0; b < m; ++b) slope[b * width + k] += d * G[b];
    }

    /// How much q changes if all columns move by `steps`.
    double rise(const double* steps) {
        Q_.assign(H_.n * K_, 0.0);
        std::fill(jump_.begin(), jump_.end(), 0.0);
        for (std::size_t c = 0; c < std::size_t(start_[groups_]); ++c) {
            const double* step = steps + c * K_;
            if (std::all_of(step, step + K_, [](double each) { return each == 0; })) continue;
            work += double(X_.count(at(c)));
            detail::add_row(detail::row_of(X_, at(c)), step, K_, Q_.data());
            if (has_offsets_) follow(c, step, jump_.data());
        }
        double change = 0;
        std::vector<double> half(K_), bent(K_);
        for (std::size_t i = 0; i < H_.n; ++i) {
            for (std::size_t k = 0; k < K_; ++k)
                half[k] = shift_[k] + 0.5 * (Q_[i * K_ + k] + jump_[k]);
            std::fill(bent.begin(), bent.end(), 0.0);
            detail::bend_row(H_, i, 1.0, half.data(), bent.data());
            for (std::size_t k = 0; k < K_; ++k)
                change += (U_[i * K_ + k] + bent[k]) * (Q_[i * K_ + k] + jump_[k]);
        }
        return change;
    }

    /// Makes the last change that `rise` was asked for.
    void jump() {
        for (std::size_t i = 0; i < H_.n; ++i)
            detail::bend_row(H_, i, 1.0, Q_.data() + i * K_, U_ + i * K_);
        for (std::size_t k = 0; k < K_; ++k) shift_[k] += jump_[k];
    }

    const std::vector<double>& shift() const { return shift_; }

    double work = 0;  // numbers of X that were read

  private:
    std::size_t at(std::size_t c) const { return std::size_t(which_[c]); }
    double* mean(std::size_t c) { return mean_.data() + c * side_ * side_; }

    void begin_offsets() {
        ones_.assign(H_.n, 1.0);
        N_.assign(side_ * side_, 0.0);
        const DenseColumns<double> one{H_.n, 1, ones_.data(), 0};
        detail::add_hessians(detail::row_of(one, 0), H_, N_.data());
        detail::mirror(N_.data(), side_);
        double trace = 0;
        for (std::size_t k = 0; k < side_; ++k) trace += N_[k * side_ + k];
        for (std::size_t k = 0; k < side_; ++k) N_[k * side_ + k] += kRidge * trace / double(side_);
        has_offsets_ = trace > 0 && detail::factor(N_.data(), side_);
        if (!has_offsets_) return;
        for (std::size_t i = 0; i < H_.n; ++i)
            for (std::size_t k = 0; k < K_; ++k) shift_[k] -= U_[i * K_ + k];
        solve(shift_.data());
        const auto size = std::size_t(start_[groups_]);
        mean_.assign(size * side_ * side_, 0.0);
        for (std::size_t c = 0; c < size; ++c) {
            work += double(X_.count(at(c)));
            detail::add_hessians(detail::row_of(X_, at(c)), H_, mean(c));
            detail::mirror(mean(c), side_);
        }
    }

    /// v = N^-1 v
    void solve(double* v) const {
        if (side_ == K_) return detail::substitute(N_.data(), K_, v);
        for (std::size_t k = 0; k < K_; ++k) v[k] /= N_[0] * N_[0];  // N_ is a root
    }

    /// out += M_c v
    void add_mean(std::size_t c, const double* v, double* out) {
        const double* M = mean(c);
        if (side_ == 1) {
            for (std::size_t k = 0; k < K_; ++k) out[k] += M[0] * v[k];
            return;
        }
        for (std::size_t k = 0; k < K_; ++k)
#pragma omp simd
            for (std::size_t l = 0; l < K_; ++l) out[l] += v[k] * M[k * K_ + l];
    }

    /// e -= N^-1 M_c step
    void follow(std::size_t c, const double* step, double* e) {
        moved_.assign(K_, 0.0);
        add_mean(c, step, moved_.data());
        solve(moved_.data());
        for (std::size_t k = 0; k < K_; ++k) e[k] -= moved_[k];
    }

    const std::vector<double>& hessian(std::size_t g) {
        std::vector<double>& G = hessian_[g];
        if (!G.empty()) return G;
        const std::size_t c = columns(g), m = c * side_;
        G.assign(m * m, 0.0);
        space_.resize(H_.n);
        std::vector<double> block(side_ * side_);
        for (std::size_t a = 0; a < c; ++a) {
            const auto x = detail::row_of(X_, at(std::size_t(start_[g]) + a));
            for (std::size_t n = 0; n < x.length; ++n)
                space_[std::size_t(x.column[n])] = x.value[n];
            for (std::size_t b = a; b < c; ++b) {
                const auto y = detail::row_of(X_, at(std::size_t(start_[g]) + b));
                std::fill(block.begin(), block.end(), 0.0);
                work += double(y.length);
                detail::add_hessians(detail::weighted(y, space_.data()), H_, block.data());
                detail::mirror(block.data(), side_);
                if (has_offsets_) centre(g, a, b, block);
                for (std::size_t k = 0; k < side_; ++k)
                    for (std::size_t l = 0; l < side_; ++l)
                        G[(a * side_ + k) * m + b * side_ + l] =
                            G[(b * side_ + l) * m + a * side_ + k] = block[k * side_ + l];
            }
            for (std::size_t n = 0; n < x.length; ++n) space_[std::size_t(x.column[n])] = 0.0;
        }
        return G;
    }

    /// block -= M_a N^-1 M_b; what is round-off of a diagonal becomes 0, as of a constant column.
    void centre(std::size_t g, std::size_t a, std::size_t b, std::vector<double>& block) {
        const auto begin = std::size_t(start_[g]);
        std::vector<double> column(side_), product(side_ * side_);
        for (std::size_t l = 0; l < side_; ++l) {
            for (std::size_t k = 0; k < side_; ++k) column[k] = mean(begin + b)[k * side_ + l];
            if (side_ == 1)
                column[0] /= N_[0] * N_[0];
            else
                detail::substitute(N_.data(), side_, column.data());
            for (std::size_t k = 0; k < side_; ++k)
                product[k * side_ + l] =
                    detail::dot(mean(begin + a) + k * side_, column.data(), side_);
        }
        for (std::size_t k = 0; k < side_; ++k)
            for (std::size_t l = 0; l < side_; ++l) {
                double& each = block[k * side_ + l];
                const double before = each;
                each -= product[k * side_ + l];
                if (a == b && k == l && !(each > kConstant * before)) each = 0.0;
            }
    }

    static constexpr double kRidge = 1e-10, kConstant = 1e-12;

    const Columns X_;
    const std::int32_t *which_, *start_;
    std::size_t groups_;
    RowHessians H_;
    std::size_t K_, side_;
    bool has_offsets_;
    double* U_;
    std::vector<double> shift_, jump_, moved_, Q_, N_, mean_, ones_, space_;
    std::vector<std::vector<double>> hessian_;
};

}  // namespace fenchel

// Products of some rows of X with K outputs, whatever the storage of X: so that a method which runs
// through many of them is compiled once. `chosen` names the rows, in whose order the others'
// numbers stand; null stands for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "block_products.hpp"
#include "dense_outputs.hpp"
#include "gram.hpp"
#include "hessian.hpp"
#include "outputs.hpp"

namespace fenchel {

struct OutputProducts {
    OutputProducts(std::size_t rows, std::size_t columns) : n_rows(rows), n_columns(columns) {}
    virtual ~OutputProducts() = default;
    /// Z_r = W'x_r
    virtual void scores(const std::int32_t* chosen, std::size_t count, const double* W,
                        std::size_t K, double* Z) const = 0;
    /// G += sum_r x_r a_r'
    virtual void adjoint(const std::int32_t* chosen, std::size_t count, const double* A,
                         std::size_t K, double* G) const = 0;
    /// G_jk += sum_r a_rk x_rj^2
    virtual void squares(const std::int32_t* chosen, std::size_t count, const double* A,
                         std::size_t K, double* G) const = 0;

    /// G += sum over the chosen rows of s_i x_i x_i', as products.hpp has it
    virtual void gram(const double* s, const std::int32_t* chosen, std::size_t count,
                      double* G) const = 0;

    /// x = the row i, zeros included
    virtual void copy(std::size_t i, double* x) const = 0;

    const std::size_t n_rows, n_columns;
};

template <class Matrix>
struct OutputProductsOf final : OutputProducts {
    explicit OutputProductsOf(const Matrix& matrix)
        : OutputProducts(matrix.n_rows, matrix.n_columns), X(matrix) {}

    void scores(const std::int32_t* chosen, std::size_t count, const double* W, std::size_t K,
                double* Z) const override {
        const auto one = [&](std::size_t r) {
            detail::sum_row(detail::row_of(X, row(chosen, r)), W, K, Z + r * K);
        };
        if constexpr (requires { X.column_stride; }) {
            const auto many = [&]<std::size_t P, std::size_t R>(const auto* x, std::size_t r) {
                detail::sum_rows<P, R>(x, X.n_columns, W, K, K, Z + r * K);
            };
            if (by_rows(chosen, count, K, many, one)) return;
            const auto row_at = [&](std::size_t r) { return row(chosen, r); };
            if (detail::sum_few(X, W, K, count, row_at, Z)) return;
        }
        for (std::size_t r = 0; r < count; ++r) one(r);
    }
    void adjoint(const std::int32_t* chosen, std::size_t count, const double* A, std::size_t K,
                 double* G) const override {
        const auto one = [&](std::size_t r) {
            detail::add_row(detail::row_of(X, row(chosen, r)), A + r * K, K, G);
        };
        if constexpr (requires { X.column_stride; }) {
            const auto many = [&]<std::size_t P, std::size_t R>(const auto* x, std::size_t r) {
                detail::add_rows<P, R>(x, X.n_columns, A + r * K, K, K, G);
            };
            if (by_rows(chosen, count, K, many, one)) return;
        }
        for (std::size_t r = 0; r < count; ++r) one(r);
    }
    void squares(const std::int32_t* chosen, std::size_t count, const double* A, std::size_t K,
                 double* G) const override {
        for (std::size_t r = 0; r < count; ++r) {
            const auto x = detail::row_of(X, row(chosen, r));
            for (std::size_t n = 0; n < x.length; ++n) {
                const double value = x.value[n];
                double* to = G + static_cast<std::size_t>(x.column[n]) * K;
                for (std::size_t k = 0; k < K; ++k) to[k] += A[r * K + k] * (value * value);
            }
        }
    }

    void gram(const double* s, const std::int32_t* chosen, std::size_t count,
              double* G) const override {
        fenchel::gram(X, s, chosen, count, G);
    }

    void copy(std::size_t i, double* x) const override {
        std::fill(x, x + X.n_columns, 0.0);
        const auto row = detail::row_of(X, i);
        for (std::size_t n = 0; n < row.length; ++n)
            x[static_cast<std::size_t>(row.column[n])] += row.value[n];
    }

    const Matrix& X;

  private:
    template <class Many, class One>
    bool by_rows(const std::int32_t* chosen, std::size_t count, std::size_t K, Many&& many,
                 One&& one) const {
        const auto row_at = [&](std::size_t r) { return row(chosen, r); };
        return detail::by_rows(X, K, count, row_at, many, one);
    }

    static std::size_t row(const std::int32_t* chosen, std::size_t r) {
        return chosen ? static_cast<std::size_t>(chosen[r]) : r;
    }
};

}  // namespace fenchel

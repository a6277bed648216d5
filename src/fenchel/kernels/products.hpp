// Products with X for methods that run through many of them, whatever the storage of X: so that
// such a method is compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "gram.hpp"
#include "hessian.hpp"
#include "matrix.hpp"

namespace fenchel {

struct Products {
    Products(std::size_t rows, std::size_t columns, std::size_t numbers)
        : n_rows(rows), n_columns(columns), n_numbers(numbers) {}
    virtual ~Products() = default;
    virtual void scores(const double* w, double* z) const = 0;   // z = X w
    virtual void adjoint(const double* a, double* g) const = 0;  // g += X'a
    /// Both while rows are in a cache: slopes(first, last) makes a of z for some of them.
    virtual void evaluate(const double* w, double* z, double* a, double* g,
                          const std::function<void(std::size_t, std::size_t)>& slopes) const = 0;
    /// G += sum over the chosen rows of s_i x_i x_i', in its lower triangle, with a last row for a
    /// last column of ones; s is null where all weights are 1.
    virtual void gram(const double* s, const std::int32_t* chosen, std::size_t count,
                      double* G) const = 0;

    const std::size_t n_rows, n_columns, n_numbers;
};

template <class Matrix>
struct ProductsOf final : Products {
    explicit ProductsOf(const Matrix& matrix)
        : Products(matrix.n_rows, matrix.n_columns, numbers(matrix)), X(matrix) {}
    void scores(const double* w, double* z) const override { fenchel::scores(X, w, z); }
    void adjoint(const double* a, double* g) const override { fenchel::adjoint(X, a, g); }
    void evaluate(const double* w, double* z, double* a, double* g,
                  const std::function<void(std::size_t, std::size_t)>& slopes) const override {
        fenchel::evaluate(X, w, z, a, g, slopes);
    }
    void gram(const double* s, const std::int32_t* chosen, std::size_t count,
              double* G) const override {
        fenchel::gram(X, s, chosen, count, G);
    }
    const Matrix& X;

  private:
    static std::size_t numbers(const Matrix& X) {
        if constexpr (requires { X.row_start; })
            return static_cast<std::size_t>(X.row_start[X.n_rows] - X.row_start[0]);
        else
            return X.n_rows * X.n_columns;
    }
};

}  // namespace fenchel

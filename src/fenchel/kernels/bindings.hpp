// What the files of bindings share: array types, checks of sizes, and each other.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "losses.hpp"
#include "matrix.hpp"

namespace bindings {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Written = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = Written<double>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutputMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = std::optional<Vector<double>>;
using Active = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Codes, one for each row, or sets, K numbers for each row.
template <class Loss>
using LabelsOf = nb::ndarray<const typename Loss::Label, nb::ndim<Loss::kSets ? 2 : 1>,
                             nb::c_contig, nb::device::cpu>;

/// A loss with the labels of its rows.
template <class L>
struct Labelled {
    L loss;
    LabelsOf<L> y;
};

inline void require(bool holds, const char* name, std::size_t got, std::size_t expected) {
    if (!holds) {
        throw std::invalid_argument(std::string(name) + " has length " + std::to_string(got) +
                                    "; expected " + std::to_string(expected));
    }
}

inline void same_shape(const char* name, const nb::ndarray<>& got, std::size_t n, std::size_t K) {
    require(got.shape(0) == n, name, got.shape(0), n);
    require(got.shape(1) == K, name, got.shape(1), K);
}

/// The first n_active entries name rows.
inline void check_active(const Active& active, std::size_t n_active, std::size_t n_rows) {
    require(n_active <= active.size(), "active", active.size(), n_active);
    const auto inside = [&](std::int32_t i) { return i >= 0 && std::size_t(i) < n_rows; };
    if (!std::all_of(active.data(), active.data() + n_active, inside))
        throw std::invalid_argument("active names a row that is not there");
}

template <class Value, class Column>
fenchel::Csr<Value, std::int64_t, Column> csr_view(const Vector<std::int64_t>& row_start,
                                                   const Vector<Column>& column,
                                                   const Vector<Value>& value,
                                                   std::size_t n_columns, bool ones = false) {
    require(row_start.size() > 0, "row_start", 0, 1);
    require(column.size() == value.size(), "column", column.size(), value.size());
    const auto end = static_cast<std::size_t>(row_start(row_start.size() - 1));
    require(end <= value.size(), "value", value.size(), end);
    return {row_start.size() - 1, n_columns, row_start.data(), column.data(), value.data(), ones};
}

template <class Value>
fenchel::Dense<Value> dense_view(const Table<Value>& X) {
    return {X.shape(0), X.shape(1), X.data(), X.stride(0), X.stride(1)};
}

/// A loss with its parameter, chosen once by name.
struct Loss {
    fenchel::ScalarLoss scalar;
    Loss(const std::string& name, double parameter)
        : scalar(fenchel::scalar_loss(name, parameter)) {
        if (scalar.index() == 0) throw std::invalid_argument("no native loss is called " + name);
    }
};

/// A vector's numbers as an array that owns them, in rows of `width`.
template <class Element, class T>
auto array_of(std::vector<T>&& numbers, std::size_t width) {
    auto* kept = new std::vector<T>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, Element, nb::ndim<2>>(kept->data(), {kept->size(), width}, owner);
}

void bind_block_ascent(nb::module_& m);
void bind_block_columns(nb::module_& m);
void bind_block_newton(nb::module_& m);
void bind_chains(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_dual_ascent(nb::module_& m);
void bind_ground_problems(nb::module_& m);
void bind_kernel_rows(nb::module_& m);
void bind_multivariate_losses(nb::module_& m);
void bind_newton(nb::module_& m);
void bind_pegasos(nb::module_& m);
void bind_polish(nb::module_& m);
void bind_offsets(nb::module_& m);
void bind_saddle(nb::module_& m);
void bind_simplex_qp(nb::module_& m);
void bind_svmlight(nb::module_& m);
void bind_vector_losses(nb::module_& m);

}  // namespace bindings

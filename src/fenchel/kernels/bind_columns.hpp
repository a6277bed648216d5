// The columns of X as bindings take them: checked arrays, whatever their storage.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <variant>

#include "bindings.hpp"
#include "column_descent.hpp"
#include "column_storage.hpp"

namespace bindings {

using Which = Vector<std::int32_t>;

inline void check_inside(const Which& which, std::size_t end, const char* message) {
    const auto inside = [&](std::int32_t j) { return j >= 0 && std::size_t(j) < end; };
    if (!std::all_of(which.data(), which.data() + which.size(), inside))
        throw std::invalid_argument(message);
}

/// The columns of X, dense or compressed, in single or double precision.
struct Columns {
    std::variant<fenchel::SparseColumns<double>, fenchel::SparseColumns<float>,
                 fenchel::DenseColumns<double>, fenchel::DenseColumns<float>>
        view;
    nb::object kept[3];  // the arrays that it is a view of

    std::size_t n_rows() const {
        return std::visit([](const auto& X) { return X.n_rows; }, view);
    }
    std::size_t n_columns() const {
        return std::visit([](const auto& X) { return X.n_columns; }, view);
    }
    fenchel::RowCurvature curvature(const Weights& h, double each) const {
        if (h) require(h->size() == n_rows(), "h", h->size(), n_rows());
        return {h ? h->data() : nullptr, each};
    }
    void check(const Which& which) const {
        check_inside(which, n_columns(), "which names a column that is not there");
    }
};

inline fenchel::ColumnPenalty penalty(const Vector<double>& t, const Vector<double>& m,
                                      const Vector<double>& unit, std::size_t size) {
    require(t.size() == size, "t", t.size(), size);
    require(m.size() == size, "m", m.size(), size);
    require(unit.size() == size, "unit", unit.size(), size);
    return {t.data(), m.data(), unit.data()};
}

}  // namespace bindings

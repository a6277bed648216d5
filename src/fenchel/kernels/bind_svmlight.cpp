// Bindings of the svmlight reader and writer.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "svmlight.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fenchel::svmlight;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Found = std::tuple<std::int64_t, std::int64_t, nb::bytes>;

/// The numbers, handed over to NumPy.
template <class T>
Array<T> released(Growing<T>& numbers) {
    const std::size_t n = numbers.size();
    T* data = numbers.release();
    return Array<T>(data, {n}, nb::capsule(data, [](void* p) noexcept { std::free(p); }));
}

Found found(const Place& place) {
    return {place.line, place.column, nb::bytes(place.token.data(), place.token.size())};
}

template <class Index>
void bind_parser(nb::module_& m, const char* name) {
    using P = Parser<Index>;
    nb::class_<P>(m, name)
        .def(
            "__init__",
            [](P* self, std::optional<std::int64_t> index_base, std::uint64_t largest_index,
               bool queries, std::size_t n_threads, std::size_t chunk_bytes) {
                Rules rules;
                rules.least_index = index_base.value_or(0) > 0 ? 1 : 0;
                rules.largest_index = largest_index;
                rules.base = index_base.value_or(1);
                rules.queries = queries ? Queries::undecided : Queries::ignored;
                new (self) P(rules, n_threads, chunk_bytes);
            },
            "index_base"_a.none(), "largest_index"_a, "queries"_a, "n_threads"_a, "chunk_bytes"_a)
        .def(
            "feed",
            [](P& self, Vector<std::uint8_t> piece) {
                nb::gil_scoped_release unlocked;
                return self.feed(reinterpret_cast<const char*>(piece.data()), piece.size());
            },
            "piece"_a)
        .def("finish", &P::finish, nb::call_guard<nb::gil_scoped_release>())
        .def("take",
             [](P& self) {
                 return std::make_tuple(released(self.row_start), released(self.column),
                                        released(self.value), released(self.label),
                                        released(self.qid));
             })
        .def_prop_ro("fault", [](const P& self) { return self.failure().fault; })
        .def_prop_ro("fault_place", [](const P& self) { return found(self.failure().place); })
        .def_ro("highest", &P::highest)
        .def_prop_ro("highest_place", [](const P& self) { return found(self.highest_place); })
        .def_prop_ro("has_queries", &P::has_queries)
        .def_prop_ro("index_base", &P::base)
        .def_prop_ro("n_rows", [](const P& self) { return self.label.size(); })
        .def_prop_ro("n_bytes", &P::n_bytes)
        .def_prop_ro("n_pending", &P::n_pending);
}

void bind_faults(nb::module_& m) {
    nb::enum_<Fault>(m, "SvmlightFault")
        .value("none", Fault::none)
        .value("label_missing", Fault::label_missing)
        .value("label_not_a_number", Fault::label_not_a_number)
        .value("several_labels", Fault::several_labels)
        .value("not_finite", Fault::not_finite)
        .value("colon_missing", Fault::colon_missing)
        .value("index_not_a_number", Fault::index_not_a_number)
        .value("index_negative", Fault::index_negative)
        .value("index_zero", Fault::index_zero)
        .value("index_too_large", Fault::index_too_large)
        .value("index_repeated", Fault::index_repeated)
        .value("value_missing", Fault::value_missing)
        .value("value_not_a_number", Fault::value_not_a_number)
        .value("qid_not_a_number", Fault::qid_not_a_number)
        .value("qid_misplaced", Fault::qid_misplaced)
        .value("qid_missing", Fault::qid_missing)
        .value("qid_unexpected", Fault::qid_unexpected)
        .value("qid_scattered", Fault::qid_scattered);
}

template <class Index>
void bind_text(nb::module_& m) {
    m.def(
        "svmlight_text",
        [](Vector<std::int64_t> row_start, Vector<Index> column, Vector<double> value,
           Vector<double> label, std::optional<Vector<std::int64_t>> qid, std::int64_t index_base,
           std::size_t first, std::size_t last) {
            const std::size_t n_rows = label.size();
            const bool fit = first <= last && last <= n_rows && row_start.size() == n_rows + 1 &&
                             (!qid || qid->size() == n_rows) && column.size() == value.size();
            if (!fit) throw std::invalid_argument("the arrays of svmlight_text do not fit");
            for (std::size_t i = first; i < last; ++i) {
                if (row_start(i) < 0 || row_start(i) > row_start(i + 1) ||
                    static_cast<std::size_t>(row_start(i + 1)) > value.size()) {
                    throw std::invalid_argument("row_start does not fit value");
                }
            }
            const Lines<Index> rows{label.data(),     qid ? qid->data() : nullptr,
                                    row_start.data(), column.data(),
                                    value.data(),     index_base};
            std::string lines;
            {
                nb::gil_scoped_release unlocked;
                lines = text(rows, first, last);
            }
            return nb::bytes(lines.data(), lines.size());
        },
        "row_start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(),
        "label"_a.noconvert(), "qid"_a.none().noconvert(), "index_base"_a, "first"_a, "last"_a);
}

}  // namespace

void bindings::bind_svmlight(nb::module_& m) {
    bind_faults(m);
    bind_parser<std::int32_t>(m, "SvmlightParser32");
    bind_parser<std::int64_t>(m, "SvmlightParser64");
    bind_text<std::int32_t>(m);
    bind_text<std::int64_t>(m);
}

// Bindings of the losses of all scores at once. Each gives c and writes the slopes g: the loss is
// c + <g, f>; both are nan where a score is not finite.
#include <nanobind/stl/pair.h>

#include <limits>

#include "bindings.hpp"
#include "labelings.hpp"
#include "pairs.hpp"
#include "rankings.hpp"
#include "smoothed_labelings.hpp"
#include "soft_labelings.hpp"
#include "soft_pairs.hpp"

namespace bindings {

using namespace nb::literals;

namespace {

constexpr std::size_t kMostRows = std::numeric_limits<std::uint32_t>::max();

/// `tangent()` where all scores are finite; without the GIL either way.
template <class Tangent>
double guarded(const Vector<double>& f, const Output& g, Tangent&& tangent) {
    require(g.size() == f.size(), "g", g.size(), f.size());
    require(f.size() <= kMostRows, "f", f.size(), kMostRows);
    nb::gil_scoped_release unlocked;
    if (fenchel::all_finite(f.data(), f.size())) return tangent();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    std::fill(g.data(), g.data() + g.size(), nan);
    return nan;
}

/// (c, lack) of a soft tangent, likewise.
template <class Tangent>
std::pair<double, double> guarded_soft(const Vector<double>& f, const Output& g,
                                       Tangent&& tangent) {
    double lack = std::numeric_limits<double>::quiet_NaN();
    const double c = guarded(f, g, [&] {
        const auto [height, less] = tangent();
        lack = less;
        return height;
    });
    return {c, lack};
}

fenchel::Groups groups_of(const Vector<std::int64_t>& start, std::size_t n) {
    require(start.size() > 1, "start", start.size(), 2);
    const auto end = static_cast<std::size_t>(start(start.size() - 1));
    require(start(0) == 0 && end == n, "the groups", end, n);
    return {start.data(), start.size() - 1};
}

fenchel::Levels levels_of(const Vector<double>& f, const Vector<std::int32_t>& level,
                          const Weights& s, const std::optional<Matrix>& cost) {
    require(level.size() == f.size(), "level", level.size(), f.size());
    if (s) require(s->size() == f.size(), "sample weights", s->size(), f.size());
    if (cost) {
        require(cost->shape(0) == cost->shape(1), "cost", cost->shape(1), cost->shape(0));
        for (std::size_t i = 0; i < level.size(); ++i) {
            const auto l = static_cast<std::size_t>(level(i));
            require(l < cost->shape(0), "cost", cost->shape(0), l + 1);
        }
    }
    return {level.data(), s ? s->data() : nullptr};
}

double pairwise_hinge(Vector<double> f, Vector<std::int32_t> level, Weights s,
                      Vector<std::int64_t> start, std::optional<Matrix> cost, Output g) {
    const auto rows = levels_of(f, level, s, cost);
    const auto groups = groups_of(start, f.size());
    return guarded(f, g, [&] {
        if (!cost) {
            return fenchel::pairwise_hinge(f.data(), rows, groups, fenchel::EqualCosts(), g.data());
        }
        const fenchel::CostMatrix costs(cost->data(), cost->shape(0));
        return fenchel::pairwise_hinge(f.data(), rows, groups, costs, g.data());
    });
}

std::pair<double, double> soft_pairwise_hinge(Vector<double> f, Vector<std::int32_t> level,
                                              Weights s, Vector<std::int64_t> start,
                                              std::optional<Matrix> cost, double mu, Output g) {
    const auto rows = levels_of(f, level, s, cost);
    const auto groups = groups_of(start, f.size());
    return guarded_soft(f, g, [&] {
        fenchel::SoftPairs pairs(f.data(), rows, cost ? cost->data() : nullptr, 2 * mu, g.data());
        for (std::size_t q = 0; q < groups.size(); ++q) pairs.add(groups[q], groups.share());
        return std::pair(pairs.sums().c, pairs.sums().lack);
    });
}

/// Positives are there, and negatives.
void require_both(const Vector<double>& f, const Vector<double>& y) {
    require(y.size() == f.size(), "y", y.size(), f.size());
    std::size_t n_positive = 0;
    for (std::size_t i = 0; i < y.size(); ++i) n_positive += y(i) > 0;
    require(n_positive > 0, "the positives", 0, 1);
    require(n_positive < y.size(), "the negatives", 0, 1);
}

double fbeta(Vector<double> f, Vector<double> y, double beta, Output g) {
    require_both(f, y);
    return guarded(f, g,
                   [&] { return fenchel::fbeta(beta, f.data(), y.data(), f.size(), g.data()); });
}

std::pair<double, double> soft_fbeta(Vector<double> f, Vector<double> y, double beta, double mu,
                                     Output g) {
    require_both(f, y);
    return guarded_soft(
        f, g, [&] { return fenchel::SoftFBeta(beta, mu, f.data(), y.data(), f.size())(g.data()); });
}

std::pair<double, double> least_fbeta(Vector<double> f, Vector<double> y, double beta, double guess,
                                      Output g) {
    require_both(f, y);
    double t = guess;
    const double value = guarded(f, g, [&] {
        const auto least =
            fenchel::least_fbeta(beta, f.data(), y.data(), f.size(), guess, g.data());
        t = least.first;
        return least.second;
    });
    return {t, value};
}

double smoothed_fbeta(Vector<double> f, Vector<double> y, double beta, double mu, Output g) {
    require(y.size() == f.size(), "y", y.size(), f.size());
    const fenchel::SmoothedFBeta loss(beta, mu);
    return guarded(f, g, [&] { return loss(f.data(), y.data(), f.size(), g.data()); });
}

double top_k(Vector<double> f, Vector<double> y, std::size_t k, double whole, Output g) {
    require(y.size() == f.size(), "y", y.size(), f.size());
    require(k <= f.size(), "k", k, f.size());
    return guarded(
        f, g, [&] { return fenchel::top_k(f.data(), y.data(), f.size(), k, whole, g.data()); });
}

fenchel::Documents documents_of(const Vector<double>& f, const Vector<std::int32_t>& level,
                                const Vector<double>& gain, const Vector<std::int64_t>& start) {
    require(level.size() == f.size(), "level", level.size(), f.size());
    require(gain.size() == f.size(), "gain", gain.size(), f.size());
    return {level.data(), gain.data(), groups_of(start, f.size())};
}

fenchel::Rankings<fenchel::DiscountedGain> gains_of(const fenchel::Documents& documents,
                                                    const Vector<double>& sums) {
    for (std::size_t q = 0; q < documents.queries.size(); ++q) {
        const std::size_t size = documents.queries[q].size();
        require(size < sums.size(), "sums", sums.size(), size + 1);
    }
    return fenchel::Rankings(fenchel::DiscountedGain{sums.data()});
}

double discounted_gain(Vector<double> f, Vector<std::int32_t> level, Vector<double> gain,
                       Vector<std::int64_t> start, Vector<double> sums, Output g) {
    const auto documents = documents_of(f, level, gain, start);
    auto loss = gains_of(documents, sums);
    return guarded(f, g, [&] { return loss(f.data(), documents, g.data()); });
}

std::pair<double, double> soft_discounted_gain(Vector<double> f, Vector<std::int32_t> level,
                                               Vector<double> gain, Vector<std::int64_t> start,
                                               Vector<double> sums, double mu, Output g) {
    const auto documents = documents_of(f, level, gain, start);
    auto loss = gains_of(documents, sums);
    return guarded_soft(f, g, [&] { return loss.soft(f.data(), documents, mu, g.data()); });
}

double reciprocal_rank(Vector<double> f, Vector<std::int32_t> level, Vector<double> gain,
                       Vector<std::int64_t> start, Output g) {
    const auto documents = documents_of(f, level, gain, start);
    fenchel::Rankings loss(fenchel::ReciprocalRank{});
    return guarded(f, g, [&] { return loss(f.data(), documents, g.data()); });
}

std::pair<double, double> soft_reciprocal_rank(Vector<double> f, Vector<std::int32_t> level,
                                               Vector<double> gain, Vector<std::int64_t> start,
                                               double mu, Output g) {
    const auto documents = documents_of(f, level, gain, start);
    fenchel::Rankings loss(fenchel::ReciprocalRank{});
    return guarded_soft(f, g, [&] { return loss.soft(f.data(), documents, mu, g.data()); });
}

}  // namespace

void bind_multivariate_losses(nb::module_& m) {
    m.def("pairwise_hinge", &pairwise_hinge, "f"_a.noconvert(), "level"_a.noconvert(), "s"_a.none(),
          "start"_a.noconvert(), "cost"_a.none(), "g"_a.noconvert());
    m.def("soft_pairwise_hinge", &soft_pairwise_hinge, "f"_a.noconvert(), "level"_a.noconvert(),
          "s"_a.none(), "start"_a.noconvert(), "cost"_a.none(), "mu"_a, "g"_a.noconvert());
    m.def("fbeta", &fbeta, "f"_a.noconvert(), "y"_a.noconvert(), "beta"_a, "g"_a.noconvert());
    m.def("soft_fbeta", &soft_fbeta, "f"_a.noconvert(), "y"_a.noconvert(), "beta"_a, "mu"_a,
          "g"_a.noconvert());
    m.def("least_fbeta", &least_fbeta, "f"_a.noconvert(), "y"_a.noconvert(), "beta"_a, "guess"_a,
          "g"_a.noconvert());
    m.def("smoothed_fbeta", &smoothed_fbeta, "f"_a.noconvert(), "y"_a.noconvert(), "beta"_a, "mu"_a,
          "g"_a.noconvert());
    m.def("top_k", &top_k, "f"_a.noconvert(), "y"_a.noconvert(), "k"_a, "whole"_a,
          "g"_a.noconvert());
    m.def("discounted_gain", &discounted_gain, "f"_a.noconvert(), "level"_a.noconvert(),
          "gain"_a.noconvert(), "start"_a.noconvert(), "sums"_a.noconvert(), "g"_a.noconvert());
    m.def("soft_discounted_gain", &soft_discounted_gain, "f"_a.noconvert(), "level"_a.noconvert(),
          "gain"_a.noconvert(), "start"_a.noconvert(), "sums"_a.noconvert(), "mu"_a,
          "g"_a.noconvert());
    m.def("reciprocal_rank", &reciprocal_rank, "f"_a.noconvert(), "level"_a.noconvert(),
          "gain"_a.noconvert(), "start"_a.noconvert(), "g"_a.noconvert());
    m.def("soft_reciprocal_rank", &soft_reciprocal_rank, "f"_a.noconvert(), "level"_a.noconvert(),
          "gain"_a.noconvert(), "start"_a.noconvert(), "mu"_a, "g"_a.noconvert());
}

}  // namespace bindings

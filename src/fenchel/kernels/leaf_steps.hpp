// Steps of block_steps.hpp for a loss f of the leaves of a tree, l(z) = f(P z): see hierarchy.hpp.
//
// The dual variables of a row are a = P'b with b a slope of f, and l*(a) = f*(b). As the dual D
// curves by no more than `over` kappa along a, it rises by no less than
//
//     -f*(b) + <b, F> - over kappa/2 |P'(b - b0)|^2,    F = P z,
//
// does from b = b0, which has no best b in closed form: the classes' paths overlap. Slopes sum to
// 0, and of what does, |P'd|^2 <= stretch |d|^2. So the best step of f with the curvature
// kappa stretch, from b to b + d, raises it by
//
//     kappa stretch |d|^2 - over kappa/2 |P'd|^2 >= (1 - over/2) kappa stretch |d|^2
//
// at least, and F falls by over kappa P P'd. Steps of a few numbers for each node are cheap beside
// the row's products: they go on until they have become small, and each of them raises D.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "block_steps.hpp"
#include "hierarchy.hpp"
#include "simd.hpp"

namespace fenchel {

template <class Leaf>
struct LeafLoss {
    using Label = std::int64_t;
    static constexpr bool kSets = false;
    Leaf of_leaves;
    std::vector<std::int64_t> parent, leaf;
    double stretch, over;

    std::size_t size() const { return parent.size(); }
    Tree tree() const { return {parent.size(), leaf.size(), parent.data(), leaf.data()}; }
};

namespace detail {

inline constexpr int kLeafSteps = 20;
inline constexpr double kSmall = 0.05;  // of the first step

/// s = sums over the paths of s itself, parents first.
FENCHEL_INLINE void sum_paths(const Tree& tree, double* s) {
    for (std::size_t k = 0; k < tree.n_nodes; ++k)
        if (tree.parent[k] >= 0) s[k] += s[tree.parent[k]];
}

/// s = P P'd at the nodes, for d at the leaves.
FENCHEL_INLINE void spread(const Tree& tree, const double* d, double* s) {
    std::fill(s, s + tree.n_nodes, 0.0);
    for (std::size_t j = 0; j < tree.n_leaves; ++j) s[tree.leaf[j]] = d[j];
    for (std::size_t k = tree.n_nodes; k-- > 0;)
        if (tree.parent[k] >= 0) s[tree.parent[k]] += s[k];
    sum_paths(tree, s);
}

}  // namespace detail

template <class Leaf>
FENCHEL_INLINE void block_step_loop(const LeafLoss<Leaf>& loss, const std::int64_t* label,
                                    double kappa, const double* a, BlockWork& work) {
    const Tree tree = loss.tree();
    const std::size_t n = tree.n_leaves;
    if (work.leaves.empty()) work.leaves.emplace_back(n);
    BlockWork& on = work.leaves.front();
    double *F = work.c.data(), *b = work.d.data(), *s = work.t.data(), *d = on.z.data();
    detail::sum_paths(tree, work.z.data());
    for (std::size_t j = 0; j < n; ++j) {
        F[j] = work.z[static_cast<std::size_t>(tree.leaf[j])];
        b[j] = a[tree.leaf[j]];
    }
    double first = 0;
    for (int step = 0; step < detail::kLeafSteps; ++step) {
        std::copy(F, F + n, on.z.begin());
        block_step_loop(loss.of_leaves, label, kappa * loss.stretch, b, on);
        double longest = 0;
        for (std::size_t j = 0; j < n; ++j) {
            d[j] = on.u[j] - b[j];
            b[j] = on.u[j];
            longest = std::max(longest, std::abs(d[j]));
        }
        first = std::max(first, longest);
        if (!(longest > detail::kSmall * first)) break;
        detail::spread(tree, d, s);
        for (std::size_t j = 0; j < n; ++j) F[j] -= loss.over * kappa * s[tree.leaf[j]];
    }
    node_slopes(tree, 1, b, label, work.u.data());
}

template <class Leaf>
double block_slack(const LeafLoss<Leaf>& loss, const double* z, const std::int64_t* label,
                   const double* a) {
    if constexpr (std::is_same_v<Leaf, Softmax>) {
        return 0.0;
    } else {
        const Tree tree = loss.tree();
        std::vector<double> F(tree.n_leaves), b(tree.n_leaves);
        leaf_scores(tree, 1, z, F.data());
        for (std::size_t j = 0; j < tree.n_leaves; ++j) b[j] = a[tree.leaf[j]];
        return block_slack(loss.of_leaves, F.data(), label, b.data());
    }
}

}  // namespace fenchel

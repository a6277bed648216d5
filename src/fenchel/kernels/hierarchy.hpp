// Scores and slopes of leaves from those of the nodes above them, and back, row by row.
//
// The score of a leaf is the sum over its path, F = Z P', where P has a row for each leaf with ones
// at the nodes of its path; slopes of leaves become slopes of nodes by A = B P. A tree has its
// nodes in an order in which parents come first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fenchel {

/// Nodes below the root, parents first: parent[k] < k, or -1 for the root; leaf[j] is a node.
struct Tree {
    std::size_t n_nodes, n_leaves;
    const std::int64_t* parent;
    const std::int64_t* leaf;
};

/// F = Z P' in O(nodes) a row.
inline void leaf_scores(const Tree& tree, std::size_t n, const double* Z, double* F) {
    std::vector<double> sum(tree.n_nodes);
    for (std::size_t i = 0; i < n; ++i, Z += tree.n_nodes, F += tree.n_leaves) {
        for (std::size_t k = 0; k < tree.n_nodes; ++k)
            sum[k] = tree.parent[k] < 0 ? Z[k] : Z[k] + sum[tree.parent[k]];
        for (std::size_t j = 0; j < tree.n_leaves; ++j) F[j] = sum[tree.leaf[j]];
    }
}

/// A = B P in O(nodes) a row, for slopes that sum to 0 and are >= 0 at all leaves but y.
///
/// A node above y takes minus the sum of the leaves that are not below it: what is below it
/// cancels, and would leave no digit of a slope that is tiny.
inline void node_slopes(const Tree& tree, std::size_t n, const double* B, const std::int64_t* y,
                        double* A) {
    std::vector<char> above(tree.n_nodes, 0);
    std::vector<std::size_t> path;
    for (std::size_t i = 0; i < n; ++i, B += tree.n_leaves, A += tree.n_nodes) {
        path.clear();
        for (std::int64_t k = tree.leaf[y[i]]; k >= 0; k = tree.parent[k]) {
            path.push_back(static_cast<std::size_t>(k));
            above[k] = 1;
        }
        std::fill(A, A + tree.n_nodes, 0.0);
        for (std::size_t j = 0; j < tree.n_leaves; ++j) A[tree.leaf[j]] = B[j];
        double outside = 0;
        for (std::size_t k = tree.n_nodes;
             k-- > 0;) {  // nodes of the path collect what hangs there
            if (above[k]) continue;
            (tree.parent[k] < 0 ? outside : A[tree.parent[k]]) += A[k];
        }
        for (std::size_t step = path.size(); step-- > 0;) {
            const double hanging = A[path[step]];
            A[path[step]] = -outside;
            outside += hanging;
            above[path[step]] = 0;
        }
    }
}

}  // namespace fenchel

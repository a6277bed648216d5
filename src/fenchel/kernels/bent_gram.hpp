// G = sum of s_i x_i x_i' over the bent rows, with a last column of ones: made of the last one with
// the rows that came and without those that went, where they are fewer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "products.hpp"

namespace fenchel {

class BentGram {
  public:
    explicit BentGram(const Products& X) : X(X), G((X.n_columns + 1) * (X.n_columns + 1)) {}

    /// G of the rows `bent`, which ascend: its lower triangle.
    const std::vector<double>& of(const double* s, const std::int32_t* bent, std::size_t n_bent) {
        std::vector<std::int32_t> now(bent, bent + n_bent), came, went;
        std::set_difference(now.begin(), now.end(), counted.begin(), counted.end(),
                            std::back_inserter(came));
        std::set_difference(counted.begin(), counted.end(), now.begin(), now.end(),
                            std::back_inserter(went));
        if (came.size() + went.size() < n_bent) {
            for (double& each : G) each = -each;
            X.gram(s, went.data(), went.size(), G.data());
            for (double& each : G) each = -each;
        } else {
            std::fill(G.begin(), G.end(), 0.0);
            came = now;
        }
        X.gram(s, came.data(), came.size(), G.data());
        counted = std::move(now);
        return G;
    }

  private:
    const Products& X;
    std::vector<double> G;
    std::vector<std::int32_t> counted;  // the rows in G
};

}  // namespace fenchel

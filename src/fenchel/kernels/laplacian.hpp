// One step of Newton's method in K offsets, whose Hessian is the Laplacian of a matrix C.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cholesky.hpp"

namespace fenchel {

/// x with (H + damping I) x = r and the sum 0, for H = diag(C 1) - C; r has the sum 0 as well.
///
/// H is 0 along the vector of ones, and nearly so along others where classes hardly meet. The mean
/// of its diagonal over K is added to all entries, which moves no x of sum 0. False, and x = 0,
/// where there is no factor: C is not finite, or all but 0 beside its round-off.
inline bool laplacian_step(const double* C, const double* r, std::size_t K, double damping,
                           double* x) {
    std::vector<double> H(K * K);
    double trace = 0;
    for (std::size_t k = 0; k < K; ++k) {
        double degree = 0;
        for (std::size_t l = 0; l < K; ++l) {
            H[k * K + l] = -C[k * K + l];
            degree += C[k * K + l];
        }
        H[k * K + k] += degree;
        trace += H[k * K + k];
    }
    const double shift = trace / static_cast<double>(K * K);
    for (double& entry : H) entry += shift;
    for (std::size_t k = 0; k < K; ++k) H[k * K + k] += damping;
    std::fill(x, x + K, 0.0);
    if (!detail::factor(H.data(), K)) return false;
    std::copy(r, r + K, x);
    detail::substitute(H.data(), K, x);
    const double mean = std::accumulate(x, x + K, 0.0) / static_cast<double>(K);
    for (std::size_t k = 0; k < K; ++k) x[k] -= mean;
    return true;
}

}  // namespace fenchel

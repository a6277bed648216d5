// The subsequence kernel of two texts (Lodhi et al. 2002, section 2.2): the sum over all pairs of
// equal subsequences of k characters of decay to the power of the lengths that they span.
//
// P_l(i, j) is that sum for subsequences of l characters in the first i and j characters, with each
// length counted up to i and j; a character x at i continues those before a place of x in t:
//
//     P_l(i, j) = decay P_l(i - 1, j) + Q_l(i, j),    Q_l(i, j) = decay Q_l(i, j - 1)
//                                                      + [s_i = t_j] decay^2 P_{l-1}(i - 1, j - 1).
//
// The kernel is the sum over i and j with s_i = t_j of decay^2 P_{k-1}(i - 1, j - 1), P_0 = 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fenchel {

/// Numbers for one pair at a time, so that they are allocated once.
struct SubsequenceSpace {
    std::vector<double> last, next;
};

inline double subsequences(const std::int32_t* s, std::size_t m, const std::int32_t* t,
                           std::size_t n, std::size_t k, double decay, SubsequenceSpace& space) {
    if (m < k || n < k) return 0.0;
    const std::size_t width = n + 1;
    space.last.assign((m + 1) * width, 1.0);
    space.next.assign((m + 1) * width, 0.0);
    const double square = decay * decay;
    for (std::size_t l = 1; l < k; ++l) {
        for (std::size_t j = 0; j <= n; ++j) space.next[j] = 0.0;
        for (std::size_t i = 1; i <= m; ++i) {
            const double* before = space.last.data() + (i - 1) * width;
            const double* above = space.next.data() + (i - 1) * width;
            double* here = space.next.data() + i * width;
            double Q = 0.0;
            here[0] = 0.0;
            for (std::size_t j = 1; j <= n; ++j) {
                Q = decay * Q + (s[i - 1] == t[j - 1] ? square * before[j - 1] : 0.0);
                here[j] = decay * above[j] + Q;
            }
        }
        std::swap(space.last, space.next);
    }
    double sum = 0.0;
    for (std::size_t i = 1; i <= m; ++i)
        for (std::size_t j = 1; j <= n; ++j)
            if (s[i - 1] == t[j - 1]) sum += square * space.last[(i - 1) * width + (j - 1)];
    return sum;
}

}  // namespace fenchel

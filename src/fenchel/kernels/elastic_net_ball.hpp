// The elastic net as a penalty and as a ball ([Zhang11] section 5.5.2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace fenchel {

/// Argmin over x of  sum_i c_i (l1 |x_i| + l2/2 x_i^2) + 1/2 |x - v|^2; c = nullptr stands for 1.
inline void elastic_net_prox(const double* v, std::size_t n, double l1, double l2, const double* c,
                             double* x) {
    for (std::size_t i = 0; i < n; ++i) {
        const double weight = c ? c[i] : 1.0;
        const double size = std::max(std::abs(v[i]) - weight * l1, 0.0) / (1.0 + weight * l2);
        x[i] = std::copysign(size, v[i]);
    }
}

/// The multiplier t of the projection of v onto the ball  l1 |x|_1 + l2/2 |x|^2 <= radius, which
/// is the prox above with t l1 and t l2; 0 where v is inside.
///
/// With a = |v| and A the k rows with a > t l1, the constraint holds with equality where
///     sum over A of  l1 (a - t l1) / (1 + t l2) + l2/2 ((a - t l1) / (1 + t l2))^2  =  radius.
/// Times (1 + t l2)^2 the mixed terms in a t cancel, and what is left is
///     E = B (t + l2/2 t^2),   E = sum over A of (l1 a + l2/2 a^2) - radius,
///                             B = 2 l2 radius + k l1^2,
/// so t = 2 q / (1 + sqrt(1 + 2 l2 q)) with q = E / B; l2 = 0 is the L1 ball. ([Zhang11] prints its
/// dual with r gamma where r is meant, and so does its h.) E - B (t + l2/2 t^2) falls in t, and a
/// row with a = t l1 adds nothing to it; so a median of the rows still in doubt halves them.
///
/// Squares of rows beyond `large` would overflow: a and t are kept over a unit, E over its square.
class ElasticNetBall {
  public:
    ElasticNetBall(double l1, double l2, double radius) : l1_(l1), l2_(l2), radius_(radius) {}

    double multiplier(const double* v, std::size_t n) const {
        std::vector<double> doubtful(n);
        for (std::size_t i = 0; i < n; ++i) doubtful[i] = std::abs(v[i]);
        const double top = n > 0 ? *std::max_element(doubtful.begin(), doubtful.end()) : 0.0;
        return ElasticNetBall(l1_, l2_, radius_, top > large ? top : 1.0).scaled(doubtful);
    }

  private:
    static constexpr double large = 1e100;

    ElasticNetBall(double l1, double l2, double radius, double unit)
        : l1_(l1), l2_(l2), radius_(radius), unit_(unit) {}

    /// The multiplier for these a, which lose their order.
    double scaled(std::vector<double>& doubtful) const {
        for (double& a : doubtful) a /= unit_;
        const Sums all = add({}, doubtful.begin(), doubtful.end());
        if (!(excess(all) > 0)) return 0.0;
        if (l1_ == 0) return root(all);
        const double most = unit_ * (*std::max_element(doubtful.begin(), doubtful.end()) / l1_);
        Sums sure;  // over rows that are surely in A
        for (auto first = doubtful.begin(), last = doubtful.end(); first != last;) {
            const auto middle = first + (last - first) / 2;
            std::nth_element(first, middle, last);
            const double pivot = *middle, t = pivot / l1_;
            const Sums above = add(sure, middle, last);
            if (excess(above) > factor(above) * (t / unit_ + 0.5 * l2_ * t * t)) {
                first = std::partition(middle, last, [pivot](double a) { return a <= pivot; });
            } else {
                sure = above;
                last = std::partition(first, middle, [pivot](double a) { return a < pivot; });
                sure = add(sure, last, middle);
            }
        }
        return sure.count == 0 ? most : std::min(root(sure), most);  // a radius below round-off
    }

    struct Sums {
        double value = 0.0;  // of l1 a + l2/2 a^2
        double count = 0.0;
    };

    template <class Iterator>
    Sums add(Sums sums, Iterator first, Iterator last) const {
        sums.count += static_cast<double>(last - first);
        for (; first != last; ++first) sums.value += *first * (l1_ / unit_ + 0.5 * l2_ * *first);
        return sums;
    }

    double excess(const Sums& A) const { return A.value - radius_ / unit_ / unit_; }
    double factor(const Sums& A) const { return 2 * l2_ * radius_ + A.count * l1_ * l1_; }
    double root(const Sums& A) const {
        const double q = excess(A) / factor(A), one = 1 / unit_;
        return unit_ * (2 * q / (one + std::sqrt(one * one + 2 * l2_ * q)));
    }

    double l1_, l2_, radius_, unit_ = 1.0;
};

/// Writes the projection and gives its multiplier.
inline double project_elastic_net_ball(const double* v, std::size_t n, double l1, double l2,
                                       double radius, double* x) {
    if (radius == 0) {
        std::fill(x, x + n, 0.0);
        return std::numeric_limits<double>::infinity();
    }
    const double t = ElasticNetBall(l1, l2, radius).multiplier(v, n);
    elastic_net_prox(v, n, t * l1, t * l2, nullptr, x);
    return t;
}

}  // namespace fenchel

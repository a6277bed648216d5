// A diagonal quadratic over a box cut by a plane ([Zhang11] section 5.5.1):
//
//     min over x of  1/2 sum_i d2_i (x_i - m_i)^2   with  lower <= x <= upper,  <sigma, x> = z.
//
// With the plane's multiplier t the minimiser is x_i(t) = clip(m_i + t sigma_i / d2_i), so that
// f(t) = <sigma, x(t)> never falls; each row bends it twice. The root of f(t) = z is enclosed by
// medians of the bends that are still inside the enclosure, as in [Zhang11] algorithm 8. What
// differs: bends equal to the median leave with it, so equal bends need no care, and the enclosure
// is kept as an interval, so that no second value of f is needed. The median is that of a sample,
// which costs a third of the time, and the true one where a sample served badly; so the work falls
// by a constant factor with every second one: linear time, up to nth_element's word, which is that
// of the average.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace fenchel {

/// d2 is one number for all rows, or one for each.
struct BoxPlane {
    const double* d2;
    std::size_t d2_stride;  // 0 or 1
    const double* m;
    const double* lower;
    const double* upper;
    const double* sigma;
    std::size_t n;

    double rate(std::size_t i) const { return sigma[i] / d2[d2_stride * i]; }
    double at(std::size_t i, double t) const {
        return std::clamp(m[i] + t * rate(i), lower[i], upper[i]);
    }
};

/// What <sigma, x> can be on the box, and the round-off of such a sum.
struct PlaneRange {
    double least, most, doubt;
};

inline PlaneRange plane_range(const BoxPlane& P) {
    PlaneRange range{0.0, 0.0, 0.0};
    for (std::size_t i = 0; i < P.n; ++i) {
        if (P.sigma[i] == 0) continue;  // 0 inf is no number
        const double low = P.sigma[i] * P.lower[i], high = P.sigma[i] * P.upper[i];
        range.least += std::min(low, high);
        range.most += std::max(low, high);
        const double size = std::max(std::abs(low), std::abs(high));
        if (size <= std::numeric_limits<double>::max()) range.doubt += size;
    }
    range.doubt *= 8 * std::numeric_limits<double>::epsilon();
    return range;
}

class BoxPlaneRoot {
  public:
    /// The multiplier t with <sigma, x(t)> = z, where z is inside the range.
    BoxPlaneRoot(const BoxPlane& problem, double z) : P(problem), z_(z) {
        open_.reserve(P.n);
        for (std::size_t i = 0; i < P.n; ++i) {
            if (P.sigma[i] == 0) continue;
            if (P.lower[i] == P.upper[i]) {
                constant_ += P.sigma[i] * P.lower[i];
            } else {
                open_.push_back(bends_of(i));
            }
        }
        settle();
        bool sampling = true;
        for (gather(); !bends_.empty();) {
            const std::size_t size = bends_.size();
            const double t = sampling ? sampled_median() : median(bends_);
            (sum_at(t) < z_ ? low_ : high_) = t;
            settle();
            gather();
            sampling = 4 * bends_.size() < 3 * size;
        }
        t = inside((z_ - constant_) / slope_);
        t = inside(t + (z_ - sum_of_all()) / slope_);  // what round-off in the sums has moved
    }

    double t;

  private:
    struct Row {
        std::size_t i;
        double first, second;  // the bends: where x_i leaves one end and reaches the other
    };

    Row bends_of(std::size_t i) const {
        const double one = (P.lower[i] - P.m[i]) / P.rate(i);
        const double other = (P.upper[i] - P.m[i]) / P.rate(i);
        return {i, std::min(one, other), std::max(one, other)};
    }

    /// The bends strictly inside the enclosure.
    void gather() {
        bends_.clear();
        for (const Row& row : open_) {
            for (const double bend : {row.first, row.second}) {
                if (low_ < bend && bend < high_) bends_.push_back(bend);
            }
        }
    }

    static double median(std::vector<double>& values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    }

    /// Of bends at equal distances in memory.
    double sampled_median() {
        constexpr std::size_t kSample = 101;
        const std::size_t stride = 1 + (bends_.size() - 1) / kSample;
        sample_.clear();
        for (std::size_t k = 0; k < bends_.size(); k += stride) sample_.push_back(bends_[k]);
        return median(sample_);
    }

    double sum_at(double t) const {
        double sum = constant_ + t * slope_;
        for (const Row& row : open_) sum += P.sigma[row.i] * P.at(row.i, t);
        return sum;
    }

    double sum_of_all() const {
        double sum = 0.0;
        for (std::size_t i = 0; i < P.n; ++i) {
            if (P.sigma[i] != 0) sum += P.sigma[i] * P.at(i, t);
        }
        return sum;
    }

    /// Rows without a bend inside the enclosure join the straight line constant + t slope.
    void settle() {
        std::erase_if(open_, [this](const Row& row) {
            const double sigma = P.sigma[row.i];
            if (row.first <= low_ && high_ <= row.second) {
                constant_ += sigma * P.m[row.i];
                slope_ += sigma * P.rate(row.i);
            } else if (high_ <= row.first) {
                constant_ += std::min(sigma * P.lower[row.i], sigma * P.upper[row.i]);
            } else if (row.second <= low_) {
                constant_ += std::max(sigma * P.lower[row.i], sigma * P.upper[row.i]);
            } else {
                return false;
            }
            return true;
        });
    }

    /// Within the enclosure; where the line is level there every t is a root.
    double inside(double root) const {
        if (!std::isfinite(root)) root = 0.0;
        return std::clamp(root, low_, high_);
    }

    const BoxPlane& P;
    double z_, constant_ = 0.0, slope_ = 0.0;
    double low_ = -std::numeric_limits<double>::infinity();
    double high_ = std::numeric_limits<double>::infinity();
    std::vector<Row> open_;
    std::vector<double> bends_, sample_;
};

/// Writes the minimiser and gives the multiplier t; z is inside the range.
inline double box_plane_qp(const BoxPlane& P, double z, double* x) {
    const double t = BoxPlaneRoot(P, z).t;
    for (std::size_t i = 0; i < P.n; ++i) {
        x[i] = P.sigma[i] == 0 ? std::clamp(P.m[i], P.lower[i], P.upper[i]) : P.at(i, t);
    }
    return t;
}

}  // namespace fenchel

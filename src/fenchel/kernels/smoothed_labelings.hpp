// F_beta's loss with the maximum over all 2^n labellings y' made soft ([Zhang11] section 5.4):
//
//     L(f) = mu log of the mean over y' of  exp((Delta(y', y) + (1/n) <f, y' - y>) / mu).
//
// y' differs from y in b positives and c negatives, and a row that differs adds the factor
// w_i = exp(-2 y_i f_i / (n mu)); so the sum over y' is that over b and c of exp(Delta(b, c) / mu)
// P(b) N(c), with P and N the elementary symmetric polynomials of the positives' and the negatives'
// w_i. The slopes are -2 y_i / n times the chance that row i differs.
//
// The paper keeps all rows of its recursion: O(n^2) memory. We keep each root-n-th and compute
// those between again: O(n^1.5) memory. Numbers have an exponent of their own (`Wide`), which costs
// no logarithms and loses nothing, however large the scores over mu are.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace fenchel {

/// mantissa 2^exponent >= 0; the mantissa of all but 0 is in [1, 2).
struct Wide {
    double mantissa = 0.0;
    std::int64_t exponent = kNone;

    static constexpr std::int64_t kNone = std::int64_t{-1} << 60;

    /// exp(x).
    static Wide exp(double x) {
        const double whole = std::floor(x / std::numbers::ln2);
        return normal(std::exp(x - whole * std::numbers::ln2), static_cast<std::int64_t>(whole));
    }

    double log() const {
        return std::log(mantissa) + static_cast<double>(exponent) * std::numbers::ln2;
    }

    /// As a plain number, where it is one.
    double plain() const {
        return std::ldexp(mantissa,
                          static_cast<int>(std::clamp<std::int64_t>(exponent, -2000, 2000)));
    }

    friend Wide operator*(const Wide& a, const Wide& b) {
        return normal(a.mantissa * b.mantissa, a.exponent + b.exponent);
    }

    friend Wide operator+(const Wide& a, const Wide& b) {
        const Wide& high = a.exponent < b.exponent ? b : a;
        const Wide& low = a.exponent < b.exponent ? a : b;
        const std::int64_t distance = high.exponent - low.exponent;
        if (distance > 60) return high;
        const auto shift = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - distance) << 52);
        return normal(high.mantissa + low.mantissa * shift, high.exponent);
    }

  private:
    /// Moves the exponent of a number in [1, 4), or 0, out of it.
    static Wide normal(double number, std::int64_t exponent) {
        if (number == 0) return {};
        constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
        const auto bits = std::bit_cast<std::uint64_t>(number);
        const auto excess = static_cast<std::int64_t>(bits >> 52) - 1023;
        const auto one = std::uint64_t{1023} << 52;
        return {std::bit_cast<double>((bits & kFraction) | one), exponent + excess};
    }
};

/// The elementary symmetric polynomials e_0 .. e_m of the weights w_1 .. w_m, row by row ([Zhang11]
/// algorithm 5), and the sums that use them backwards (algorithm 6).
class Polynomials {
  public:
    explicit Polynomials(std::vector<Wide>&& weights)
        : w_(std::move(weights)),
          every_(std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(w_.size())))) {
        std::vector<Wide> row(1, one());
        for (std::size_t k = 0; k < w_.size(); ++k) {
            if (k % every_ == 0) kept_.push_back(row);
            extend(row, w_[k]);
        }
        last_ = std::move(row);
    }

    /// e_0 .. e_m.
    const std::vector<Wide>& all() const { return last_; }

    /// chance(i, sum over v of xi_v (the part of e_v that has w_i)), for each i.
    template <class Chance>
    void marginals(std::vector<Wide> xi, Chance&& chance) const {
        std::vector<std::vector<Wide>> block(every_);
        for (std::size_t first = every_ * kept_.size(); first > 0;) {
            first -= every_;
            const std::size_t last = std::min(first + every_, w_.size());
            block[0] = kept_[first / every_];
            for (std::size_t k = first; k + 1 < last; ++k) {
                block[k + 1 - first] = block[k - first];
                extend(block[k + 1 - first], w_[k]);
            }
            for (std::size_t k = last; k-- > first;) {
                const std::vector<Wide>& before = block[k - first];  // of w_1 .. w_(k-1)
                Wide sum;
                for (std::size_t v = 0; v <= k; ++v) sum = sum + before[v] * xi[v + 1];
                chance(k, sum * w_[k]);
                for (std::size_t v = 0; v <= k; ++v) xi[v] = xi[v] + w_[k] * xi[v + 1];
            }
        }
    }

  private:
    static Wide one() { return Wide::exp(0.0); }

    static void extend(std::vector<Wide>& row, const Wide& w) {
        row.emplace_back();
        for (std::size_t v = row.size() - 1; v > 0; --v) row[v] = row[v] + w * row[v - 1];
    }

    std::vector<Wide> w_;
    std::size_t every_;
    std::vector<std::vector<Wide>> kept_;  // the rows before w_0, w_every, w_2every ...
    std::vector<Wide> last_;
};

class SmoothedFBeta {
  public:
    SmoothedFBeta(double beta, double mu) : square_(beta * beta), mu_(mu) {}

    /// Gives c and writes g: L(f) = c + <g, f>.
    double operator()(const double* f, const double* y, std::size_t n, double* g) const {
        std::vector<std::size_t> positive, negative;
        for (std::size_t i = 0; i < n; ++i) (y[i] > 0 ? positive : negative).push_back(i);
        const double scale = 2.0 / (static_cast<double>(n) * mu_);
        const auto polynomials = [&](const std::vector<std::size_t>& rows, double sign) {
            std::vector<Wide> w;
            w.reserve(rows.size());
            for (const std::size_t i : rows) w.push_back(Wide::exp(sign * scale * f[i]));
            return Polynomials(std::move(w));
        };
        const Polynomials P = polynomials(positive, -1.0), N = polynomials(negative, 1.0);
        std::vector<Wide> of_lost(P.all().size()), of_found(N.all().size());
        Wide Z;
        for (std::size_t b = 0; b < of_lost.size(); ++b) {
            for (std::size_t c = 0; c < of_found.size(); ++c) {
                const Wide factor = Wide::exp(delta(b, c, positive.size()) / mu_);
                of_lost[b] = of_lost[b] + factor * N.all()[c];
                of_found[c] = of_found[c] + factor * P.all()[b];
            }
            Z = Z + of_lost[b] * P.all()[b];
        }
        const double log_Z = Z.log();
        double inner = 0.0;
        const auto mark = [&](const std::vector<std::size_t>& rows, double sign) {
            return [&rows, &inner, f, g, n, log_Z, sign](std::size_t k, const Wide& sum) {
                const double chance = sum.mantissa == 0 ? 0.0 : std::exp(sum.log() - log_Z);
                g[rows[k]] = sign * 2.0 / static_cast<double>(n) * std::min(chance, 1.0);
                inner += g[rows[k]] * f[rows[k]];
            };
        };
        P.marginals(std::move(of_lost), mark(positive, -1.0));
        N.marginals(std::move(of_found), mark(negative, 1.0));
        return mu_ * (log_Z - static_cast<double>(n) * std::numbers::ln2) - inner;
    }

  private:
    double delta(std::size_t b, std::size_t c, std::size_t n_positive) const {
        const double a = static_cast<double>(n_positive) - static_cast<double>(b);
        const double D = square_ * static_cast<double>(n_positive) + a + static_cast<double>(c);
        return 1.0 - (1.0 + square_) * a / D;
    }

    double square_, mu_;
};

}  // namespace fenchel

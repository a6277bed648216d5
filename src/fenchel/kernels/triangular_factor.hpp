// An upper triangular factor U of a matrix that gains and loses rows, and the loops it is made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace fenchel {

namespace detail {

// Partial sums give the compiler vector registers without leave to reorder sums.
inline double dot(const double* x, const double* y, std::size_t n) {
    double s[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (std::size_t k = 0; k < 8; ++k) s[k] += x[i + k] * y[i + k];
    for (; i < n; ++i) s[0] += x[i] * y[i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

inline void axpy(double a, const double* __restrict x, double* __restrict y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

inline void rotate(double c, double s, double* __restrict x, double* __restrict y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const double a = x[i], b = y[i];
        x[i] = c * a + s * b;
        y[i] = c * b - s * a;
    }
}

// Room for n rows; the leading dimension avoids powers of two, whose rows share cache sets.
inline void widen(std::vector<double>& A, std::size_t& ld, std::size_t used, std::size_t n) {
    if (n <= ld) return;
    const std::size_t to = std::max(2 * ld, n + 7) / 8 * 8 + 8;
    std::vector<double> wider(to * to);
    for (std::size_t i = 0; i < used; ++i) std::copy_n(&A[i * ld], used, &wider[i * to]);
    A.swap(wider);
    ld = to;
}

}  // namespace detail

class TriangularFactor {
  public:
    std::size_t size() const { return m_; }
    double pivot(std::size_t k) const { return U_[k * ld_ + k]; }
    void clear() { m_ = 0; }

    // A last column (y, pivot).
    void append(const std::vector<double>& y, double pivot) {
        detail::widen(U_, ld_, m_, m_ + 1);
        for (std::size_t c = 0; c < m_; ++c) U_[c * ld_ + m_] = y[c];
        U_[m_ * ld_ + m_] = pivot;
        ++m_;
    }

    // Takes column p out. Rotations of the rows restore the triangle; `carried` are vectors of m
    // entries that rotate with them, and lose the last.
    void remove(std::size_t p, std::initializer_list<std::vector<double>*> carried) {
        for (std::size_t c = 0; c + 1 < m_; ++c) {
            double* u = &U_[c * ld_];
            if (c >= p) {
                double* below = u + ld_;
                const double r = std::hypot(u[c + 1], below[c + 1]);
                const double cosine = u[c + 1] / r, sine = below[c + 1] / r;
                detail::rotate(cosine, sine, u + c + 1, below + c + 1, m_ - c - 1);
                for (auto* x : carried) detail::rotate(cosine, sine, &(*x)[c], &(*x)[c + 1], 1);
            }
            const std::size_t from = std::max(c, p);
            std::copy(u + from + 1, u + m_, u + from);
        }
        for (auto* x : carried) x->pop_back();
        --m_;
    }

    // x ← U⁻ᵀ x, two rows of U at a time: half the passes over x.
    void substitute(std::vector<double>& x) const {
        std::size_t c = 0;
        for (; c + 2 <= m_; c += 2) {
            const double* __restrict u = &U_[c * ld_], * __restrict v = u + ld_;
            double* __restrict y = x.data();
            const double s = y[c] /= u[c];
            const double t = y[c + 1] = (y[c + 1] - s * u[c + 1]) / v[c + 1];
            for (std::size_t i = c + 2; i < m_; ++i) y[i] -= s * u[i] + t * v[i];
        }
        if (c < m_) x[c] /= U_[c * ld_ + c];
    }

    // x ← U⁻¹ x, two rows of U at a time: half the chain of dependent sums.
    void substitute_back(std::vector<double>& x) const {
        std::size_t c = m_;
        for (; c >= 2; c -= 2) {
            const double *u = &U_[(c - 2) * ld_], *v = u + ld_, *y = x.data() + c;
            const double s = detail::dot(u + c, y, m_ - c), t = detail::dot(v + c, y, m_ - c);
            x[c - 1] = (x[c - 1] - t) / v[c - 1];
            x[c - 2] = (x[c - 2] - s - u[c - 1] * x[c - 1]) / u[c - 2];
        }
        if (c == 1) x[0] = (x[0] - detail::dot(&U_[1], x.data() + 1, m_ - 1)) / U_[0];
    }

  private:
    std::size_t m_ = 0, ld_ = 0;
    std::vector<double> U_;
};

}  // namespace fenchel

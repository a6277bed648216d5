// Bindings of working_set.hpp and subsequences.hpp: array types, sizes and the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "bindings.hpp"
#include "subsequences.hpp"
#include "working_set.hpp"

using namespace bindings;
using namespace nb::literals;

namespace {

std::pair<std::size_t, double> ascend(const Loss& loss, const Matrix& K, const Vector<double>& y,
                                      const Vector<double>& share, double strength, bool intercept,
                                      double enough, std::size_t most, Output& a, Output& z) {
    const std::size_t n = y.size();
    same_shape("K", nb::ndarray<>(K), n, n);
    require(share.size() == n, "share", share.size(), n);
    require(a.size() == n, "a", a.size(), n);
    require(z.size() == n, "z", z.size(), n);
    if (!(strength > 0)) throw std::invalid_argument("strength must be > 0");
    nb::gil_scoped_release unlocked;
    const fenchel::WorkingSet at{n,        K.data(), y.data(), share.data(),
                                 a.data(), z.data(), strength, intercept};
    const fenchel::Ascended done = fenchel::with_loss(
        loss.scalar, [&](const auto& l) { return fenchel::ascend(l, at, enough, most); });
    return {done.steps, done.violation};
}

bool conjugate_scores(const Loss& loss, const Vector<double>& y, const Vector<double>& a,
                      Output& low, Output& high) {
    const std::size_t n = y.size();
    require(a.size() == n, "a", a.size(), n);
    require(low.size() == n, "low", low.size(), n);
    require(high.size() == n, "high", high.size(), n);
    nb::gil_scoped_release unlocked;
    return fenchel::with_loss(loss.scalar, [&](const auto& l) {
        return fenchel::conjugate_scores(l, y.data(), a.data(), n, low.data(), high.data());
    });
}

struct Texts {
    Vector<std::int32_t> codes;
    Vector<std::int64_t> starts;
    std::size_t n;

    Texts(const Vector<std::int32_t>& given, const Vector<std::int64_t>& places)
        : codes(given), starts(places), n(places.size() - 1) {
        require(places.size() > 0, "starts", 0, 1);
        std::int64_t last = 0;
        for (std::size_t i = 0; i <= n; ++i) {
            if (starts(i) < last || static_cast<std::size_t>(starts(i)) > codes.size())
                throw std::invalid_argument("starts must not fall, nor exceed the texts");
            last = starts(i);
        }
    }
    const std::int32_t* text(std::size_t i) const { return codes.data() + starts.data()[i]; }
    std::size_t length(std::size_t i) const {
        return static_cast<std::size_t>(starts.data()[i + 1] - starts.data()[i]);
    }
};

void subsequences(const Vector<std::int32_t>& codes_a, const Vector<std::int64_t>& starts_a,
                  const Vector<std::int32_t>& codes_b, const Vector<std::int64_t>& starts_b,
                  std::size_t k, double decay, OutputMatrix& out) {
    const Texts A(codes_a, starts_a), B(codes_b, starts_b);
    same_shape("out", nb::ndarray<>(out), A.n, B.n);
    nb::gil_scoped_release unlocked;
    fenchel::SubsequenceSpace space;
    for (std::size_t i = 0; i < A.n; ++i)
        for (std::size_t j = 0; j < B.n; ++j)
            out.data()[i * B.n + j] = fenchel::subsequences(A.text(i), A.length(i), B.text(j),
                                                            B.length(j), k, decay, space);
}

}  // namespace

void bindings::bind_kernel_rows(nb::module_& m) {
    m.def("working_set_ascend", &ascend, "loss"_a, "K"_a.noconvert(), "y"_a.noconvert(),
          "share"_a.noconvert(), "strength"_a, "intercept"_a, "enough"_a, "most"_a,
          "a"_a.noconvert(), "z"_a.noconvert());
    m.def("conjugate_scores", &conjugate_scores, "loss"_a, "y"_a.noconvert(), "a"_a.noconvert(),
          "low"_a.noconvert(), "high"_a.noconvert());
    m.def("subsequences", &subsequences, "codes_a"_a.noconvert(), "starts_a"_a.noconvert(),
          "codes_b"_a.noconvert(), "starts_b"_a.noconvert(), "k"_a, "decay"_a, "out"_a.noconvert());
}

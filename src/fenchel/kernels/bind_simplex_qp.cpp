// Bindings of the simplex QP.
#include "bindings.hpp"
#include "simplex_qp.hpp"

namespace bindings {

void bind_simplex_qp(nb::module_& m) {
    using fenchel::SimplexQp;
    nb::class_<SimplexQp>(m, "SimplexQP",
                          "Warm-started active set for min ½α'Qα − b'α on the simplex.")
        .def(nb::init<>())
        .def(
            "append",
            [](SimplexQp& self, Vector<double> cross, double diagonal, double linear) {
                require(cross.shape(0) == self.size(), "cross", cross.shape(0), self.size());
                self.append(cross.data(), diagonal, linear);
            },
            nb::arg("cross"), nb::arg("diagonal"), nb::arg("linear"),
            "Add a variable of weight 0 with Q[new, i] = cross[i].")
        .def(
            "remove",
            [](SimplexQp& self, Vector<std::int64_t> indices) {
                std::vector<std::size_t> sorted;
                for (std::size_t k = 0; k < indices.shape(0); ++k) {
                    const std::int64_t i = indices(k);
                    if (i < 0 || static_cast<std::size_t>(i) >= self.size()) {
                        const std::string message = "index " + std::to_string(i) +
                                                    " is outside the " +
                                                    std::to_string(self.size()) + " variables";
                        throw nb::value_error(message.c_str());
                    }
                    sorted.push_back(static_cast<std::size_t>(i));
                }
                std::sort(sorted.begin(), sorted.end());
                self.remove(sorted.data(), sorted.size());
            },
            nb::arg("indices"), "Delete variables, keeping the rest warm.")
        .def(
            "set_linear",
            [](SimplexQp& self, Vector<double> b) {
                require(b.shape(0) == self.size(), "b", b.shape(0), self.size());
                self.set_linear(b.data());
            },
            nb::arg("b"), "Replace b, keeping Q and the weights.")
        .def(
            "assign",
            [](SimplexQp& self,
               nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> Q,
               Vector<double> b, Weights alpha) {
                const std::size_t n = b.shape(0);
                require(Q.shape(0) == n, "Q's first dimension", Q.shape(0), n);
                require(Q.shape(1) == n, "Q's second dimension", Q.shape(1), n);
                if (alpha) require(alpha->shape(0) == n, "alpha", alpha->shape(0), n);
                nb::gil_scoped_release release;
                self.assign(n, Q.data(), b.data(), alpha ? alpha->data() : nullptr);
            },
            nb::arg("Q"), nb::arg("b"), nb::arg("alpha") = nb::none(),
            "Replace the problem; start at alpha, or at the best vertex.")
        .def("solve", &SimplexQp::solve, nb::arg("tolerance") = 1e-12,
             nb::arg("max_steps") = 100000, nb::call_guard<nb::gil_scoped_release>(),
             "Minimise; return the absolute Frank-Wolfe gap, computed anew.")
        .def_prop_ro(
            "weights",
            [](const SimplexQp& self) {
                const std::size_t n = self.size();
                double* copy = new double[n];
                nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
                std::copy_n(self.weights().data(), n, copy);
                return nb::ndarray<nb::numpy, double, nb::ndim<1>>(copy, {n}, owner);
            },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "gram",
            [](const SimplexQp& self) {
                const std::size_t n = self.size();
                double* copy = new double[n * n];
                nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
                for (std::size_t i = 0; i < n; ++i) {
                    std::copy_n(self.q(i), n, copy + i * n);
                }
                return nb::ndarray<nb::numpy, double, nb::ndim<2>>(copy, {n, n}, owner);
            },
            nb::rv_policy::automatic)
        .def_prop_ro("finished", &SimplexQp::finished)
        .def_prop_ro("size", &SimplexQp::size)
        .def_prop_ro("objective", &SimplexQp::objective);
}

}  // namespace bindings

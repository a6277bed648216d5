// A bell that threads wait for: awake for a while, so that they hear it within a microsecond.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using bindings::Microseconds;

class Bell {
  public:
    std::uint64_t rung() const { return rung_.load(); }

    /// Heard by all who are awake; of the others so many are woken that `listeners` hear it.
    void ring(int listeners) {
        rung_.fetch_add(1);
        const int missing = std::min(listeners - awake_.load(), sleepers_.load());
        if (missing <= 0) return;
        const std::lock_guard held(mutex_);  // a sleeper is now either asleep or sees the number
        for (int k = 0; k < missing; ++k) woken_.notify_one();
    }

    /// Returns once the bell has been rung more than `heard` times: how often.
    std::uint64_t wait(std::uint64_t heard, Microseconds patience) {
        const auto rung = [&] { return rung_.load() != heard; };
        awake_.fetch_add(1);
        const bool hears = bindings::awake_until(rung, patience);
        awake_.fetch_sub(1);
        if (!hears) {
            std::unique_lock held(mutex_);
            sleepers_.fetch_add(1);
            woken_.wait(held, rung);
            sleepers_.fetch_sub(1);
        }
        return rung_.load();
    }

  private:
    std::atomic<std::uint64_t> rung_{0};
    std::atomic<int> awake_{0}, sleepers_{0};
    std::mutex mutex_;
    std::condition_variable woken_;
};

}  // namespace

namespace bindings {

void bind_bell(nb::module_& m) {
    nb::class_<Bell>(m, "Bell")
        .def(nb::init<>())
        .def_prop_ro("rung", &Bell::rung)
        .def("ring", &Bell::ring, "listeners"_a)
        .def(
            "wait",
            [](Bell& bell, std::uint64_t heard, double patience) {
                const Unlocked unlocked;
                return bell.wait(heard, Microseconds(patience));
            },
            "heard"_a, "patience"_a);
}

}  // namespace bindings

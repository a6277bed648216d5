// A bell that threads wait for: awake for a while, so that they hear it within a microsecond.
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "bindings.hpp"

#if defined(_M_X64) || defined(_M_IX86)
#include <intrin.h>
#endif

using namespace bindings;
using namespace nb::literals;

namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

// Who rings holds Python's lock, and lets go of it in a kernel or when it waits a little later. Who
// hears it asks for the lock only then: to be put to sleep and woken again takes longer.
constexpr Microseconds kHeadStart{8};

constexpr int kPauses = 16;  // from one look at the clock to the next

/// In a loop that waits: leaves the core's other thread alone, and saves power.
inline void pause() {
#if defined(_M_X64) || defined(_M_IX86)
    _mm_pause();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && !defined(_MSC_VER)
    __asm__ volatile("yield");
#endif
}

class Bell {
  public:
    std::uint64_t rung() const { return rung_.load(); }

    void ring() {
        rung_.fetch_add(1);
        if (sleepers_.load() == 0) return;
        const std::lock_guard held(mutex_);  // a sleeper is now either asleep or sees the number
        woken_.notify_all();
    }

    /// Returns once the bell has been rung more than `heard` times: how often.
    std::uint64_t wait(std::uint64_t heard, Microseconds patience) {
        if (!hears(heard, patience)) {
            std::unique_lock held(mutex_);
            sleepers_.fetch_add(1);
            woken_.wait(held, [&] { return rung_.load() != heard; });
            sleepers_.fetch_sub(1);
        }
        return rung_.load();
    }

  private:
    /// Stays awake for so long; whether the bell was rung meanwhile, and its ringer had time.
    bool hears(std::uint64_t heard, Microseconds patience) const {
        if (rung_.load() != heard) return true;
        const auto give_up = Clock::now() + patience;
        while (rung_.load() == heard) {
            for (int k = 0; k < kPauses; ++k) pause();
            if (Clock::now() > give_up) return false;
        }
        const auto ready = Clock::now() + kHeadStart;
        while (Clock::now() < ready) pause();
        return true;
    }

    std::atomic<std::uint64_t> rung_{0};
    std::atomic<int> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable woken_;
};

}  // namespace

namespace bindings {

void bind_bell(nb::module_& m) {
    nb::class_<Bell>(m, "Bell")
        .def(nb::init<>())
        .def_prop_ro("rung", &Bell::rung)
        .def("ring", &Bell::ring)
        .def(
            "wait",
            [](Bell& bell, std::uint64_t heard, double patience) {
                nb::gil_scoped_release unlocked;
                return bell.wait(heard, Microseconds(patience));
            },
            "heard"_a, "patience"_a);
}

}  // namespace bindings

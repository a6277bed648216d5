// A kernel without Python's lock, which it takes back as a thread that shares its work does.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

#if defined(_M_X64) || defined(_M_IX86)
#include <intrin.h>
#endif

namespace bindings {

using Microseconds = std::chrono::duration<double, std::micro>;

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

// How long a thread that waits keeps its core to itself, and lets others have it from then on.
inline constexpr Microseconds kAlone{50};

/// Stays awake until it is `met`, or for so long: whether it was met.
template <class Condition>
bool awake_until(Condition&& met, Microseconds most) {
    using Clock = std::chrono::steady_clock;
    constexpr int pauses = 16;  // from one look at the clock to the next
    if (met()) return true;
    const auto start = Clock::now();
    while (!met()) {
        const auto waited = Clock::now() - start;
        if (waited > most) return met();
        if (waited > kAlone)
            std::this_thread::yield();
        else
            for (int k = 0; k < pauses; ++k) pause();
    }
    return true;
}

/// Whether the thread that went through `Unlocked` last has the lock: a hint, as others may too.
inline std::atomic<bool> lock_is_held{true};

// Between two kernels a helper holds the lock for a few microseconds only. Threads of equal work
// end at the same time; who is put to sleep for the lock is woken 50 microseconds late or more.
inline constexpr Microseconds kBetweenKernels{30};

/// Lets go of Python's lock while it lives, as nb::gil_scoped_release does.
class Unlocked {
  public:
    Unlocked() : state_(PyEval_SaveThread()) { lock_is_held = false; }
    ~Unlocked() {
        awake_until([] { return !lock_is_held; }, kBetweenKernels);
        PyEval_RestoreThread(state_);
        lock_is_held = true;
    }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

  private:
    PyThreadState* state_;
};

void bind_bell(nanobind::module_& m);

}  // namespace bindings

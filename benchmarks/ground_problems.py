"""CPU milliseconds of the exact small problems, beside their versions by sorting in NumPy.

`exponent` is the slope of log time over log n, fitted over the sizes: 1 is linear. Sorting costs a
logarithm more, and NumPy's passes over memory; with few duplicates and, at the end, with all
entries equal, where a median that keeps its equals would not end.
"""

import time

import numpy as np

from fenchel import _kernels

SIZES = (1_000, 10_000, 100_000, 1_000_000)
REPEATS = 5


def box_plane(rng, n):
    m, z = rng.normal(size=n), 0.3 * n
    lower, upper, sigma = np.zeros(n), np.ones(n), np.ones(n)
    x = np.empty(n)
    return (
        m,
        lambda: _kernels.box_plane_qp(1.0, m, lower, upper, sigma, z, x),
        lambda: sorted_box(m, z),
        x,
    )


def sorted_box(m, z):
    """Argmin of 1/2 |x - m|^2 with 0 <= x <= 1 and sum x = z, by all bends in order."""
    bends = np.concatenate([-m, 1.0 - m])
    order = np.argsort(bends)
    bends = bends[order]
    slopes = np.cumsum(np.where(order < len(m), 1.0, -1.0))
    sums = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(bends))])
    k = np.clip(np.searchsorted(sums, z), 1, len(bends) - 1)
    t = bends[k - 1] + (z - sums[k - 1]) / slopes[k - 1]
    return np.clip(m + t, 0.0, 1.0)


def l1_ball(rng, n):
    v, radius = rng.normal(size=n), 0.1 * n
    x = np.empty(n)
    return (
        v,
        lambda: _kernels.project_elastic_net_ball(v, 1.0, 0.0, radius, x),
        lambda: sorted_ball(v, radius, 0.0),
        x,
    )


def elastic_net_ball(rng, n):
    v, radius = rng.normal(size=n), 0.1 * n
    x = np.empty(n)
    return (
        v,
        lambda: _kernels.project_elastic_net_ball(v, 1.0, 0.5, radius, x),
        lambda: sorted_ball(v, radius, 0.5),
        x,
    )


def sorted_ball(v, radius, l2):
    """The projection onto |x|_1 + l2/2 |x|^2 <= radius, by all magnitudes in order."""
    a = np.sort(np.abs(v))[::-1]
    excess = np.cumsum(a + l2 / 2 * a**2) - radius
    factor = 2 * l2 * radius + np.arange(1, len(a) + 1)
    k = np.flatnonzero(excess <= factor * (a + l2 / 2 * a**2))[-1]
    q = excess[k] / factor[k]
    t = 2 * q / (1 + np.sqrt(1 + 2 * l2 * q))
    return np.sign(v) * np.maximum(np.abs(v) - t, 0.0) / (1 + t * l2)


def entropy(rng, n):
    g, cap = rng.normal(size=n), 1.5 / n
    x = np.empty(n)
    return g, lambda: _kernels.entropy_prox(g, 1.0, None, cap, x), lambda: sorted_entropy(g, cap), x


def sorted_entropy(g, cap):
    """The entropy's prox on the capped simplex, by all scores in order."""
    e = np.sort(-g)[::-1]
    rest = np.cumsum(np.exp(e - e[0])[::-1])[::-1]  # of e_k and all below
    mass = 1.0 - cap * np.arange(len(e))
    k = np.argmax(np.exp(e - e[0]) * mass <= cap * rest)
    return np.minimum(cap, np.exp(-g - e[0]) * mass[k] / rest[k])


def elastic_net_prox(rng, n):
    v = rng.normal(size=n)
    x = np.empty(n)
    return (
        v,
        lambda: _kernels.elastic_net_prox(v, 0.3, 0.5, None, x),
        lambda: np.sign(v) * np.maximum(np.abs(v) - 0.3, 0.0) / 1.5,
        x,
    )


PROBLEMS = (box_plane, l1_ball, elastic_net_ball, entropy, elastic_net_prox)


def milliseconds(solve):
    times = []
    for _ in range(REPEATS):
        start = time.thread_time_ns()
        solve()
        times.append(time.thread_time_ns() - start)
    return min(times) / 1e6


def main():
    print(
        f"{'problem':<18}"
        + "".join(f"{n:>16,}" for n in SIZES)
        + f"{'exponents':>14}{'all equal':>16}"
    )
    for problem in PROBLEMS:
        rows, exponents = [], []
        for n in SIZES:
            _, ours, sorting, x = problem(np.random.default_rng(0), n)
            ours()
            assert np.allclose(x, sorting(), atol=1e-9)
            rows.append((milliseconds(ours), milliseconds(sorting)))
        for times in np.log(rows).T:
            exponents.append(np.polyfit(np.log(SIZES), times, 1)[0])
        given, ours, sorting, x = problem(np.random.default_rng(0), SIZES[-1])
        given[:] = 1.0
        rows.append((milliseconds(ours), milliseconds(sorting)))
        cells = [f"{a:.3g} / {b:.3g}" for a, b in rows]
        fitted = "{:.2f} / {:.2f}".format(*exponents)
        print(
            f"{problem.__name__:<18}"
            + "".join(f"{c:>16}" for c in cells[:-1])
            + f"{fitted:>14}{cells[-1]:>16}"
        )


if __name__ == "__main__":
    main()

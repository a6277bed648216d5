"""CPU milliseconds per solve of the bundle method's dual as one cut is added.

The problems are those of a bundle method for the hinge loss on random data: the last cuts before
the n-th, each of them violated by the previous solution and hence active. `SimplexQP` is warm and
its time includes the append; daqp starts at the previous weights, its fastest way here; piqp and
quadprog start cold, as neither takes a start. As general solvers these three factorise an n by n
matrix anew. quadprog needs it positive definite and gets a ridge. `excess` is
the worst relative excess of a library's objective over SimplexQP's, at weights clipped and
normalised: the times are not for equal accuracy. All of them use one thread.
"""

import importlib
import time

import numpy as np

from fenchel._kernels import SimplexQP

SIZES = (10, 50, 200, 500)
SAMPLES, DIMENSION, STRENGTH, REPEATS = 2000, 130, 1e-3, 11


def objective(Q, b, alpha):
    alpha = np.maximum(alpha, 0.0)
    alpha = alpha / alpha.sum()
    return 0.5 * alpha @ Q @ alpha - b @ alpha


def timed(solve):
    start = time.thread_time_ns()
    alpha = solve()
    return alpha, (time.thread_time_ns() - start) / 1e6


def daqp_solve(daqp, Q, b, start):
    n = len(b)
    upper, lower = np.ones(n + 1), np.zeros(n + 1)
    lower[n] = 1.0
    sense = np.zeros(n + 1, dtype=np.int32)
    sense[n] = 5
    ones = np.ones((1, n))
    return timed(lambda: daqp.solve(Q, -b, ones, upper, lower, sense, primal_start=start)[0])


def piqp_solve(piqp, Q, b, start):
    n = len(b)
    ones, one, zeros, empty = np.ones((1, n)), np.ones(1), np.zeros(n), np.zeros((0, n))

    def solve():
        solver = piqp.DenseSolver()
        solver.setup(Q, -b, ones, one, empty, None, None, zeros, None)
        solver.solve()
        return solver.result.x

    return timed(solve)


def quadprog_solve(quadprog, Q, b, start):
    n = len(b)
    ridge = Q + 1e-10 * np.trace(Q) / n * np.eye(n)
    constraints = np.hstack([np.ones((n, 1)), np.eye(n)])
    bounds = np.zeros(n + 1)
    bounds[0] = 1.0
    return timed(lambda: quadprog.solve_qp(ridge, b, constraints, bounds, 1)[0])


RIVALS = {"daqp": daqp_solve, "piqp": piqp_solve, "quadprog": quadprog_solve}


def installed():
    found = {}
    for name, solve in RIVALS.items():
        try:
            found[name] = (importlib.import_module(name), solve)
        except ImportError:
            print(f"{name}: not installed, skipped")
    return found


def cut(X, y, w):
    margin = 1.0 - y * (X @ w)
    a = -((margin > 0.0) * y) @ X / len(y)
    return a, np.maximum(margin, 0.0).mean() - a @ w


def run(rivals):
    """Yield the size, the support, the milliseconds of each library and its excess."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(SAMPLES, DIMENSION)) * np.exp(rng.normal(size=DIMENSION))
    y = np.sign(X @ rng.normal(size=DIMENSION) + 2.0 * rng.normal(size=SAMPLES))
    A, b, w = np.zeros((1, DIMENSION)), np.zeros(1), np.zeros(DIMENSION)
    qp = SimplexQP()
    qp.append(np.zeros(0), 0.0, 0.0)
    for size in SIZES:
        repeats = min(REPEATS, size // 2)
        times = {name: [] for name in ("SimplexQP", *rivals)}
        excess = dict.fromkeys(rivals, 0.0)
        while qp.size < size:
            a, offset = cut(X, y, w)
            cross, previous = A @ a / STRENGTH, qp.weights

            def append_and_solve(cross=cross, a=a, offset=offset):
                qp.append(cross, a @ a / STRENGTH, offset)
                qp.solve()
                return qp.weights

            alpha, milliseconds = timed(append_and_solve)
            A, b = np.vstack([A, a]), np.append(b, offset)
            w = -A.T @ alpha / STRENGTH
            if alpha[-1] == 0.0 or qp.size <= size - repeats:
                continue
            times["SimplexQP"].append(milliseconds)
            Q, best = A @ A.T / STRENGTH, qp.objective
            for name, (module, solve) in rivals.items():
                try:
                    x, milliseconds = solve(module, Q, b, np.append(previous, 0.0))
                    excess[name] = max(excess[name], (objective(Q, b, x) - best) / abs(best))
                except Exception as error:
                    print(f"{name}, n = {qp.size}: {error}")
                    continue
                times[name].append(milliseconds)
        medians = {name: np.median(t) if t else np.nan for name, t in times.items()}
        yield size, np.count_nonzero(qp.weights), medians, excess


def main():
    rivals = installed()
    head = f"{'n':>4} {'support':>7} {'SimplexQP':>10}"
    print(head + "".join(f" {name:>10} {'ratio':>7} {'excess':>8}" for name in rivals))
    for size, support, medians, excess in run(rivals):
        ours = medians["SimplexQP"]
        row = f"{size:>4} {support:>7} {ours:>10.4f}"
        for name in rivals:
            row += f" {medians[name]:>10.4f} {medians[name] / ours:>6.0f}x {excess[name]:>8.0e}"
        print(row)


if __name__ == "__main__":
    main()

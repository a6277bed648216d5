"""Two-dimensional functions that [Yu10] works out by hand, as risks (2.1.1 and E.1 to E.3)."""

import itertools

import numpy as np

from fenchel.piecewise import Slope
from fenchel.regularizers import L2
from fenchel.risks.base import Facts, Problem
from fenchel.witness import Witness

TIE = 1e-9


class Toy:
    """A convex function of two variables with the protocol of a risk."""

    n_parameters, n_rows, n_duals, passes = 2, 1, 1, 0
    facts = Facts(piecewise=True, knows_kinks=True, in_one_memory=True)
    shape = (2,)

    def agreed(self, compute):
        return compute()

    def presented(self, w, intercept):
        return w, intercept

    def flattened(self, w, intercept):
        return w

    def curvature(self):
        return np.ones(2)

    def at(self, w, near=None):
        return ToyPoint(self, np.array(w, dtype=float))


class ToyPoint:
    intercept = 0.0
    sizes = (0.0, 0.0)
    witness = Witness()

    def __init__(self, toy, w, p=(0.0, 0.0)):
        self.toy, self.w = toy, w
        self.value, self.subgradient = toy.value(w), toy.subgradient(w, np.asarray(p, dtype=float))
        self.constant = self.value - self.subgradient @ w

    def steepest(self, p):
        return ToyPoint(self.toy, self.w, p)

    def towards(self, p):
        return ToyRay(self.toy, self.w, p)


class ToyRay:
    def __init__(self, toy, w, p):
        self.toy, self.w, self.p = toy, w, p

    def at(self, eta):
        return ToyPoint(self.toy, self.w + eta * self.p)

    def along(self, eta):
        point = self.at(eta)
        return point.value, float(point.subgradient @ self.p)

    def slope(self, eta):
        lines = self.toy.A @ self.w + self.toy.b + eta * (self.toy.A @ self.p)
        return Slope(float(np.max((self.toy.A @ self.p)[lines >= lines.max() - TIE])), 0.0)

    def kinks(self, low, high):
        """By brute force: where two lines cross on the upper envelope."""
        height, rate = self.toy.A @ self.w + self.toy.b, self.toy.A @ self.p
        found = []
        for i in range(len(rate)):
            for j in range(i):
                if rate[i] != rate[j]:
                    eta = (height[j] - height[i]) / (rate[i] - rate[j])
                    top = np.max(height + eta * rate)
                    if low < eta <= high and height[i] + eta * rate[i] >= top - TIE:
                        found.append((eta, abs(rate[i] - rate[j]), 0.0))
        return np.array(found).reshape(-1, 3)


class Largest(Toy):
    """The largest of some linear functions."""

    def __init__(self, A, b=None):
        self.A = np.array(A, dtype=float)
        self.b = np.zeros(len(A)) if b is None else np.array(b, dtype=float)

    def value(self, w):
        return float(np.max(self.A @ w + self.b))

    def subgradient(self, w, p):
        """The active row that rises most along p."""
        lines = self.A @ w + self.b
        active = self.A[lines >= lines.max() - TIE]
        return active[int(np.argmax(active @ p))]


class Wolfe(Toy):
    """[Yu10] eq. 112: steepest descent converges to (0, 0), while the function has no minimum."""

    facts = Facts(knows_kinks=True, in_one_memory=True)

    def value(self, w):
        x, y = w
        return float(5 * np.hypot(3 * x, 4 * y)) if x >= abs(y) else 9 * x + 16 * abs(y)

    def subgradient(self, w, p):
        x, y = w
        if x >= abs(y) and (x, y) != (0.0, 0.0):
            return 5 * np.array([9 * x, 16 * y]) / np.hypot(3 * x, 4 * y)
        sign = np.sign(y) if y else np.sign(p[1])
        return np.array([9.0, 16.0 * sign])


# [Yu10] eq. 8, 113 and 114.
VALLEY = Largest([[10, 1], [10, -1], [-10, 1], [-10, -1]])
BOUNDED = Largest([[0, 0], [2, 3], [-2, 3], [5, 2], [-5, 2]], [-100, 0, 0, 0, 0])
UNBOUNDED = Largest([[2, 1], [-2, 1], [0, 3]])


def problem(toy):
    return Problem(toy, L2(), 0.0)


NAMES = {"valley": VALLEY, "bounded": BOUNDED, "unbounded": UNBOUNDED, "wolfe": Wolfe()}


def trajectory(toy, solver, options, w0, iterations=30, exactly=False):
    """The points of a solver on one of these functions, and whether it came to an end by itself.

    `exactly` searches lines by golden section, for the one that is not piecewise linear.
    """
    import fenchel

    method = fenchel.solver(solver, **options)
    if exactly:
        method.step = _golden
    steps = method.iterate(problem(NAMES[toy]), np.array(w0, dtype=float))
    points, values = [], []
    for step in itertools.islice(steps, iterations):
        points.append(step.point.w.tolist())
        values.append(step.objective)
    distinct = [k for k in range(len(values)) if k == 0 or points[k] != points[k - 1]]
    return {
        "x": [points[k][0] for k in distinct],
        "y": [points[k][1] for k in distinct],
        "objective": [max(values[k], -1e300) for k in distinct],
        "unbounded": bool(values[-1] == -np.inf),
        "ended": len(points) < iterations,
    }


def walked(toy, w0, rivals, **settings):
    """The runs of fifteen steps of each solver on one of these functions."""
    from reproduction.shape import run

    return {
        name: run(
            trajectory,
            toy=toy,
            solver=solver,
            options=options,
            w0=w0,
            iterations=15,
            **settings,
        )
        for name, (solver, options) in rivals.items()
    }


def _golden(along, J):
    """The minimiser of J on a ray; inf where it falls for ever."""
    from scipy.optimize import minimize_scalar

    if along(1e6)[1] < 0:
        return np.inf
    options = {"xatol": 1e-13}
    found = minimize_scalar(
        lambda eta: along(eta)[0], bounds=(0, 100), method="bounded", options=options
    )
    return found.x if along(found.x)[0] < J else 0.0


def ways(found, toy, x, y, levels):
    """The first points of each run on the plane, over the level sets of the function."""
    from reproduction.shape import Panel, Series

    walks = [Series(name, each["x"][:12], each["y"][:12]) for name, each in found.items()]
    return [Panel("ways", "x", "y", [*contours(toy, x, y, levels), *walks])]


def contours(toy, x, y, levels):
    """Points of the level sets in a window, as faint series."""
    from reproduction.shape import Series

    grid_x, grid_y = np.meshgrid(np.linspace(*x, 160), np.linspace(*y, 160))
    values = np.array([NAMES[toy].value(w) for w in zip(grid_x.flat, grid_y.flat, strict=True)])
    values = values.reshape(grid_x.shape)
    lines = []
    for level in levels:
        near = np.argwhere(np.diff(np.sign(values - level), axis=0) != 0)
        lines.append(
            Series(
                f"f = {level:g}",
                [round(float(grid_x[i, j]), 3) for i, j in near],
                [round(float(grid_y[i, j]), 3) for i, j in near],
                "points",
            )
        )
    return lines

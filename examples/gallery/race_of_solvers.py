"""Five solvers on one problem with kinks, each until the same gap is certified."""

import numpy as np

import fenchel

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 40)) / np.sqrt(40)
y = np.where(X @ rng.normal(size=40) + 0.5 * rng.normal(size=2000) > 0, 1, -1)
problem = fenchel.problem(X, y, loss="hinge", strength=1e-3)

runs = {
    name: fenchel.minimize(problem, name, gap=1e-4, max_iterations=3000)
    for name in ("bmrm", "ls-bmrm", "sublbfgs", "sdca", "agm-inf")
}
for name, result in runs.items():
    print(
        f"{name:9} {result.status.name}: {len(result.history)} iterations, {result.passes} passes"
    )
fenchel.plot(runs, "race_of_solvers.svg", title="hinge loss, 2,000 x 40, strength 1e-3")

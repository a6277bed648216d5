"""Five solvers on one problem with kinks, each until the same gap is certified."""

import numpy as np
from style import drawn, save

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

best = max(result.lower_bound for result in runs.values())  # one run's bound judges all of them
figure, (left, right) = drawn(columns=2)
for name, result in runs.items():
    passes = [record.passes for record in result.history]
    left.loglog(passes, [record.objective - best for record in result.history], label=name)
    right.loglog(passes, [record.gap for record in result.history])
left.set(xlabel="passes over the data", title="J(w) less the best lower bound")
right.set(xlabel="passes over the data", title="certified relative gap")
left.legend(frameon=False)
save(figure, "race_of_solvers.svg")

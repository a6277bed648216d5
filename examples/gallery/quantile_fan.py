"""Quantiles of a curve that spreads: fitted together, so that none crosses another, and an interval
that covers nine rows in ten, in the mean, whatever the data are."""

import numpy as np
from sklearn.preprocessing import SplineTransformer
from style import BLUE, GREY, drawn, save

import fenchel

rng = np.random.default_rng(2)
x = rng.uniform(0, 10, size=1500)
y = np.sin(x) + x / 4 + (0.1 + 0.08 * x) * rng.standard_t(4, size=1500)

splines = SplineTransformer(n_knots=8).fit(x[:, np.newaxis])
X = splines.transform(x[:, np.newaxis])
train, calibrate, test = slice(0, 500), slice(500, 1000), slice(1000, 1500)

levels = (0.05, 0.25, 0.5, 0.75, 0.95)
fan = fenchel.MultiQuantileRegressor(quantiles=levels, alpha=1e-5).fit(X[train], y[train])
print(f"{fan.status_}, gap {fan.gap_:.0e}: {fan.lower_bound_:.5f} <= min J <= {fan.objective_:.5f}")

fan.conformalize(X[calibrate], y[calibrate], coverage=0.9)
low, high = fan.predict_interval(X[test]).T
print(f"covered: {np.mean((low <= y[test]) & (y[test] <= high)):.1%} of new rows")

grid = np.linspace(0, 10, 200)
curves = fan.predict(splines.transform(grid[:, np.newaxis]))
figure, axes = drawn()
axes.scatter(x[test], y[test], s=4, color=GREY)
for k in range(2):
    axes.fill_between(grid, curves[:, k], curves[:, -1 - k], color=BLUE, alpha=0.2, linewidth=0)
axes.plot(grid, curves[:, 2], color=BLUE)
axes.set(xlabel="x", ylabel="y", title="5, 25, 50, 75 and 95 % quantiles")
save(figure, "quantile_fan.svg")

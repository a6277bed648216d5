"""A loss in ten lines: a shortage costs four times a surplus, and beyond 2 both cost more."""

import numpy as np
from style import BLUE, GREY, ORANGE, drawn, save

import fenchel


class Stock(fenchel.ScalarLoss):
    """l(z, y) = c(r) (r^2 / 2 + max(0, |r| - 2)^2), r = z - y; c = 4 where z is short of y."""

    nonnegative = True
    differentiable = True

    def value(self, z, y):
        r = z - y
        return np.where(r < 0, 4.0, 1.0) * (r**2 / 2 + np.maximum(0.0, np.abs(r) - 2) ** 2)

    def slope(self, z, y):
        r = z - y
        far = 2 * np.maximum(0.0, np.abs(r) - 2) * np.sign(r)
        return np.where(r < 0, 4.0, 1.0) * (r + far)


rng = np.random.default_rng(0)
x = rng.uniform(0, 10, size=400)
sold = 2 + 0.8 * x + (0.3 + 0.15 * x) * rng.gumbel(size=400)
X = x[:, np.newaxis]

ours = fenchel.Regressor(loss=Stock(), alpha=1e-6).fit(X, sold)
mean = fenchel.Regressor(loss="squared_error", alpha=1e-6).fit(X, sold)
print(f"{ours.status_}, gap {ours.gap_:.0e}")
print(f"short of what is sold: {np.mean(ours.predict(X) < sold):.0%} of days; ", end="")
print(f"with the squared error {np.mean(mean.predict(X) < sold):.0%}")

figure, axes = drawn()
axes.scatter(x, sold, s=4, color=GREY)
grid = np.array([[0.0], [10.0]])
axes.plot(grid[:, 0], ours.predict(grid), BLUE, label="shortages cost four times as much")
axes.plot(grid[:, 0], mean.predict(grid), ORANGE, label="squared error")
axes.set(xlabel="x", ylabel="sold")
axes.legend(frameon=False)
save(figure, "own_loss.svg")

"""Exponentials and logarithms of the kernels, beside decimal arithmetic of sixty digits."""

from decimal import Decimal, localcontext

import numpy as np

from fenchel import _kernels


def test_logistic_losses_and_slopes_are_right_to_two_units_everywhere():
    rng = np.random.default_rng(0)
    z = np.concatenate(
        [np.linspace(-745, 690, 200), 10 * rng.normal(size=200), 1e-8 * rng.normal(size=50)]
    )
    loss, y, slope = _kernels.Loss("logistic", 0.0), np.ones(len(z)), np.empty(len(z))
    _kernels.slopes(loss, z, y, None, 0.0, slope)
    units = 2 * np.finfo(float).eps
    with localcontext() as context:
        context.prec = 60
        for i, at in enumerate(z):
            e = (-Decimal(float(at))).exp()
            lost = (1 + e).ln() if e > Decimal("1e-25") else e - e * e / 2
            found = _kernels.sums(loss, z[i : i + 1], y[:1], None, 0.0)[0]
            assert abs(Decimal(found) / lost - 1) < units
            assert abs(-Decimal(float(slope[i])) * (1 + e) / e - 1) < units

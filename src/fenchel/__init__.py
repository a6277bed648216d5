"""Regularised risk minimisation with a proof of optimality.

>>> import fenchel
>>> problem = fenchel.problem(X, y, loss="hinge", strength=1e-4)
>>> fenchel.minimize(problem, gap=1e-3)

Public are exactly the names in `fenchel.__all__`, which stand in __init__.pyi, and those in
`__all__` of the modules among them: `fenchel.losses`, `regularizers`, `solvers`, `engines` and
`sklearn`.
All other modules are internal and may change without notice. Each name is imported when it is
first used, so that `fenchel --help` need not wait for NumPy.
"""

import lazy_loader

__version__ = "0.3.0.dev0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""scikit-learn's linear estimators with fenchel's solvers and proofs: change one import.

>>> from fenchel.sklearn import LogisticRegression

Each is a subclass of scikit-learn's class of the same name, with its parameters, defaults,
attributes and objective; `objective_`, `lower_bound_` and `gap_` say how good a fit is. See
docs/how-to/from-scikit-learn.md. Each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

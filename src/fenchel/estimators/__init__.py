"""Estimators with scikit-learn's names and habits: validation and naming, no mathematics.

Each is imported when it is first used: what a `Classifier` needs is no more than a part of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

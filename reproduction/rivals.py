"""Today's rivals, on the sets of data.py: liblinear and LIBSVM, by scikit-learn."""

from __future__ import annotations

import time
import warnings
from typing import Any


def fitted(
    data: str, strength: float, rival: str, *, rows: int | None = None, tol: float = 1e-4
) -> dict[str, Any]:
    """CPU seconds of a rival's fit, and the objective of fenchel's problem at its solution.

    Rivals: LinearSVC and LinearSVR (liblinear), SVC and SVR with a linear kernel (LIBSVM).
    """
    import numpy as np
    from scipy import sparse
    from sklearn import svm

    import fenchel
    from reproduction.data import load

    X, y, _ = load(data, rows)
    C, regression = 1 / (strength * len(y)), rival.endswith("SVR")
    loss = {"loss": "epsilon_insensitive", "epsilon": 0.1} if regression else {"loss": "hinge"}
    problem = fenchel.problem(X, y, strength=strength, **loss)
    own: dict[str, Any] = {"tol": tol, "max_iter": 20_000, "C": C}
    own |= {"epsilon": 0.1} if regression else {}
    if rival.startswith("Linear"):
        own |= {"fit_intercept": False, "dual": True, "random_state": 0}
        own |= {"loss": "epsilon_insensitive" if regression else "hinge"}
    else:
        own |= {"kernel": "linear", "max_iter": 2_000_000}
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(svm, rival)(**own).fit(X, y)
    seconds = time.process_time() - started
    w = model.coef_
    w = np.ravel(w.toarray() if sparse.issparse(w) else w)
    return {"seconds": seconds, "objective": problem.objective(problem.risk.at(w))}

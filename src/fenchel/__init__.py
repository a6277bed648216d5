"""Regularised risk minimisation with a proof of optimality.

>>> import fenchel
>>> problem = fenchel.problem(X, y, loss="hinge", strength=1e-4)
>>> fenchel.minimize(problem, gap=1e-3)
"""

from fenchel.arrays import problem
from fenchel.errors import (
    FenchelError,
    FenchelWarning,
    Incompatible,
    InvalidCertificate,
    InvalidData,
    NotConverged,
)
from fenchel.minimize import minimize
from fenchel.problem import Problem
from fenchel.result import Certificate, Record, Result, Status
from fenchel.solvers import solver
from fenchel.verify import verify
from fenchel.witness import Witness

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "FenchelError",
    "FenchelWarning",
    "Incompatible",
    "InvalidCertificate",
    "InvalidData",
    "NotConverged",
    "Problem",
    "Record",
    "Result",
    "Status",
    "Witness",
    "minimize",
    "problem",
    "solver",
    "verify",
]

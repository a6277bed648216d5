"""The papers that this library implements, by the keys under which the code cites them.

docs/explanation/papers.md says of each what stands where; a test holds both to the citations in the
code.
"""

from __future__ import annotations

from typing import NamedTuple


class Reference(NamedTuple):
    """A paper: who wrote it, what it is called, and where it appeared."""

    authors: str
    title: str
    venue: str


REFERENCES = {
    "Yu10": Reference(
        "Jin Yu, S.V.N. Vishwanathan, Simon Günter and Nicol N. Schraudolph",
        "A Quasi-Newton Approach to Nonsmooth Convex Optimization Problems in Machine Learning",
        "Journal of Machine Learning Research 11, 2010",
    ),
    "Smola07": Reference(
        "Alexander J. Smola, S.V.N. Vishwanathan and Quoc V. Le",
        "Bundle Methods for Machine Learning",
        "Advances in Neural Information Processing Systems 20, 2007",
    ),
    "Andrew07": Reference(
        "Galen Andrew and Jianfeng Gao",
        "Scalable Training of L1-Regularized Log-Linear Models",
        "International Conference on Machine Learning, 2007",
    ),
    "Teo07": Reference(
        "Choon Hui Teo, Alex Smola, S.V.N. Vishwanathan and Quoc Viet Le",
        "A Scalable Modular Convex Solver for Regularized Risk Minimization",
        "International Conference on Knowledge Discovery and Data Mining (KDD), 2007",
    ),
    "Zhang11": Reference(
        "Xinhua Zhang, Ankan Saha and S.V.N. Vishwanathan",
        "Regularized Risk Minimization by Nesterov's Accelerated Gradient Methods: "
        "Algorithmic Extensions and Empirical Studies",
        "Technical report arXiv:1011.0472",
    ),
}

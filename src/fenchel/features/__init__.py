"""Features for linear models: kernels, by low rank or by products, and text by its k-mers."""

from __future__ import annotations

from fenchel.features.cholesky import IncompleteCholesky
from fenchel.features.objects import (
    MismatchKernel,
    SpectrumKernel,
    SubsequenceKernel,
    WeisfeilerLehman,
)
from fenchel.features.spectrum import Spectrum

__all__ = [
    "IncompleteCholesky",
    "MismatchKernel",
    "Spectrum",
    "SpectrumKernel",
    "SubsequenceKernel",
    "WeisfeilerLehman",
]

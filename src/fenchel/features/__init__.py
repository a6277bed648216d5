"""Features for linear models: kernels by low rank, and text by its k-mers."""

from __future__ import annotations

from fenchel.features.cholesky import IncompleteCholesky
from fenchel.features.spectrum import Spectrum

__all__ = ["IncompleteCholesky", "Spectrum"]

"""Checks of a certificate, by code that shares nothing with solvers or kernels."""

from fenchel.verification.rows import verify

__all__ = ["verify"]

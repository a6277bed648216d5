"""Experiments that show why claims do not hold, under the names of their figures."""

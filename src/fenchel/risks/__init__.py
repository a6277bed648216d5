"""Risks: the data term R(w) as solvers see it, and the views of it that single solvers need."""

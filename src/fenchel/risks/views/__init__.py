"""Views of a risk: what single solvers need beyond its values and subgradients."""

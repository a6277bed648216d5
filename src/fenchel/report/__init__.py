"""What a run and a model look like: plots, pages and tables of coefficients."""

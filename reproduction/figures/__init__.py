"""One script a figure or table; see reproduction/__init__.py for their shape."""

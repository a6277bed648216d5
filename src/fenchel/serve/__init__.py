"""Data that never leave their owner: a service that tells sums over its rows, and no more."""

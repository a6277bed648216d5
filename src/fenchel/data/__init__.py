"""Data: arrays checked once, then cut into shards of rows."""

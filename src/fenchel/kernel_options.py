"""What can be said of a kernel's settings before there is a kernel, without importing any."""

from __future__ import annotations

from fenchel.errors import InvalidData, Setting
from fenchel.settings import nonnegative, positive, whole


def check_options(gamma: object, degree: object, coef0: object, cache_size: object) -> None:
    """Refuses settings that are of no use to any kernel."""
    if not isinstance(gamma, str):
        positive("gamma", gamma)
    elif gamma not in ("scale", "auto"):
        raise InvalidData(Setting("gamma"), f" must be 'scale', 'auto' or a number; got {gamma!r}")
    whole("degree", degree, least=1)
    nonnegative("coef0", coef0)
    positive("cache_size", cache_size)

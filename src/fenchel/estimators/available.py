"""Methods that only some settings have, and that say why when they are not there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Available(Generic[P, T]):
    """A method that is an attribute only if `check` of the estimator raises no AttributeError.

    As scikit-learn's `available_if`, but what the check says is what a user reads.
    """

    def __init__(self, check: Callable[[Any], object], method: Callable[P, T]):
        self.check, self.method = check, method
        self.__doc__, self.__name__ = method.__doc__, method.__name__

    def __get__(self, instance: object | None, owner: type) -> Callable[..., T]:
        if instance is None:
            return self.method
        self.check(instance)
        return MethodType(self.method, instance)


def available_if(
    check: Callable[[Any], object],
) -> Callable[[Callable[P, T]], Available[P, T]]:
    """Decorates a method that `check`, by an AttributeError, may say is not there."""
    return functools.partial(Available, check)

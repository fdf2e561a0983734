"""Attributes that are computed when first asked for, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801  used as a decorator, like property
    """A method's result, computed once per object.

    `functools.cached_property` of Python 3.11 holds one lock for all objects of a class: data sets wait for each other,
    and a child forked meanwhile waits for ever. Here two threads may both compute, and both get the first result.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        found: T = instance.__dict__.setdefault(self._name, self._compute(instance))
        return found

"""Checks of arguments: a value that is no number, path or dtype raises an error that names the argument."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from .errors import InvalidInputError


def many(value: Any) -> tuple[Any, ...]:
    """The elements of a sequence as a tuple; a tuple of one for any other value, text included."""
    alone = isinstance(value, str | bytes) or not hasattr(value, "__iter__") or getattr(value, "ndim", None) == 0
    return (value,) if alone else tuple(value)


def integers(what: str, value: Any) -> tuple[int, ...]:
    """One or more integers of Python's or numpy's types, from an integer or a sequence of integers.

    Raises:
        InvalidInputError: if ``value`` is anything else; the message calls it ``what``.
    """
    try:
        return tuple(operator.index(each) for each in many(value))
    except (TypeError, ValueError):
        raise InvalidInputError(f"{what} is {value!r}; expected whole numbers") from None


def integer(what: str, value: Any) -> int:
    """One integer; raises as :func:`integers`."""
    found = integers(what, value)
    if len(found) != 1:
        raise InvalidInputError(f"{what} is {value!r}; expected one whole number")
    return found[0]


def number(what: str, value: Any) -> float:
    """One real number.

    Raises:
        InvalidInputError: if ``value`` is anything else; the message calls it ``what``.
    """
    try:
        if not isinstance(value, str | bytes):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidInputError(f"{what} is {value!r}; expected a {'real ' * isinstance(value, complex)}number")


def flag(what: str, value: Any) -> bool:
    """True or False.

    Raises:
        InvalidInputError: if ``value`` is neither; the message calls it ``what``.
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{what} is {value!r}; expected True or False")
    return bool(value)


def location(what: str, value: Any) -> str:
    """A path as text.

    Raises:
        InvalidInputError: if ``value`` is no path; the message calls it ``what``.
    """
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str) or not text:
        raise InvalidInputError(f"{what} is {value!r}; expected the path of a file, as str or pathlib.Path")
    return text


def numpy_dtype(value: Any) -> np.dtype[Any]:
    """A dtype from any value that numpy accepts as one.

    Raises:
        InvalidInputError: if numpy does not accept the value.
    """
    try:
        found: np.dtype[Any] = np.dtype(value)
    except Exception:
        raise InvalidInputError(f"dtype is {value!r}; expected a dtype of numpy, such as 'float32'") from None
    return found

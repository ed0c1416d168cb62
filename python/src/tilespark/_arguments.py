"""Checks of arguments: what is no number, path or dtype is an error that names the argument."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from .errors import InvalidInputError


def many(value: Any) -> tuple[Any, ...]:
    """The elements of a sequence; else the value alone, as of a number or a text."""
    alone = isinstance(value, str | bytes) or not hasattr(value, "__iter__") or (isinstance(value, np.ndarray) and value.ndim == 0)
    return (value,) if alone else tuple(value)


def integers(what: str, value: Any) -> tuple[int, ...]:
    """A whole number, or a sequence of them, of Python's or numpy's types.

    Raises:
        InvalidInputError: if it is anything else; ``what`` names it.
    """
    try:
        return tuple(operator.index(each) for each in many(value))
    except (TypeError, ValueError):
        raise InvalidInputError(f"{what} is {value!r}; expected whole numbers") from None


def integer(what: str, value: Any) -> int:
    """One whole number; else as :func:`integers`."""
    found = integers(what, value)
    if len(found) != 1:
        raise InvalidInputError(f"{what} is {value!r}; expected one whole number")
    return found[0]


def number(what: str, value: Any) -> float:
    """One real number.

    Raises:
        InvalidInputError: if it is anything else; ``what`` names it.
    """
    try:
        if not isinstance(value, str | bytes):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidInputError(f"{what} is {value!r}; expected a number")


def flag(what: str, value: Any) -> bool:
    """True or False.

    Raises:
        InvalidInputError: if it is anything else; ``what`` names it.
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{what} is {value!r}; expected True or False")
    return bool(value)


def location(what: str, value: Any) -> str:
    """A path as text.

    Raises:
        InvalidInputError: if it is none; ``what`` names it.
    """
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str) or not text:
        raise InvalidInputError(f"{what} is {value!r}; expected the path of a file, as str or pathlib.Path")
    return text


def numpy_dtype(value: Any) -> np.dtype[Any]:
    """A dtype from all that numpy takes for one.

    Raises:
        InvalidInputError: if numpy takes it for none.
    """
    try:
        found: np.dtype[Any] = np.dtype(value)
    except Exception:
        raise InvalidInputError(f"dtype is {value!r}; expected a dtype of numpy, such as 'float32'") from None
    return found

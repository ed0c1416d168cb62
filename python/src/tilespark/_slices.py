"""numpy's basic slicing: parses the key in brackets and formats it for the SQL function ``slice``."""

from __future__ import annotations

import operator
from typing import Any

from .errors import InvalidInputError, UnsupportedError


def entries(key: Any, shape: tuple[int, ...]) -> tuple[list[slice | int], list[int]]:
    """The slice or index of each axis of an array, and the axes of the result that None adds.

    Args:
        key: the key in the brackets.
        shape: shape of the array.

    Raises:
        UnsupportedError: for masks and index arrays.
        InvalidInputError: if there are more entries than axes.
        IndexError: if an index is out of bounds, as in numpy: Python's loop over an array ends by this error.
    """
    given = list(key) if isinstance(key, tuple) else [key]
    dots = [at for at, entry in enumerate(given) if entry is Ellipsis]
    if len(dots) > 1:
        raise InvalidInputError("Two of '...' in brackets; expected at most one")
    count = sum(entry is not None and entry is not Ellipsis for entry in given)
    if count > len(shape):
        raise InvalidInputError(f"{count} entries in brackets of an array of {len(shape)} axes")
    at = dots[0] if dots else len(given)
    given[at : at + len(dots)] = [slice(None)] * (len(shape) - count)
    extents = iter(enumerate(shape))
    found, added, axis = [], [], 0
    for entry in given:
        if entry is None:
            added.append(axis)
        else:
            found.append(_entry(entry, *next(extents)))
        axis += entry is None or isinstance(found[-1], slice)
    return found, added


def _entry(entry: Any, axis: int, extent: int) -> slice | int:
    if isinstance(entry, slice):
        return slice(*(None if part is None else operator.index(part) for part in (entry.start, entry.stop, entry.step)))
    try:
        index = None if isinstance(entry, bool) else operator.index(entry)
    except TypeError:
        index = None
    if index is None:
        raise UnsupportedError(
            f"{type(entry).__name__} in brackets; expected slices, whole numbers and '...'. Nearest: x.compute()[...] after making"
            " it small"
        )
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    return index % extent


def text(entry: slice | int) -> str:
    """An entry in the format of the SQL function."""
    if isinstance(entry, int):
        return str(entry)
    return ":".join("" if part is None else str(part) for part in (entry.start, entry.stop, entry.step))

"""numpy's slicing: parses the key in brackets and formats it for the SQL function ``slice``."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .errors import InvalidInputError, UnsupportedError

_FAR = 1 << 60

NDArray = np.ndarray[Any, np.dtype[Any]]


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


def array_in(key: Any, shape: tuple[int, ...]) -> tuple[Any, int, NDArray] | None:
    """The mask or the vector of indices in a key: the key with a whole slice in its place, its axis, and the indices.

    Raises:
        UnsupportedError: for several of them, for one of several axes, and together with indices, which numpy would move in front.
        InvalidInputError: if a mask is not as long as its axis, or false everywhere.
        IndexError: if an index is out of bounds.
    """
    given = list(key) if isinstance(key, tuple) else [key]
    at = [place for place, entry in enumerate(given) if isinstance(entry, list) or np.ndim(entry) > 0]
    if not at:
        return None
    entry = given[at[0]]
    rest = [each for place, each in enumerate(given) if place not in at]
    if len(at) > 1:
        raise UnsupportedError(
            "Several masks or arrays in brackets are not there yet. Nearest: one after the other, x[[1, 5]][:, [2, 3]], which takes"
            " all pairs, as numpy.ix_ does; x.to_cells() for single elements"
        )
    if np.ndim(entry) != 1:
        raise UnsupportedError(
            f"A mask or an array of {np.ndim(entry)} axes in brackets is not there yet. Nearest: tilespark.where(mask, x, 0) for a mask;"
            " numpy.take(x, indices, axis) for indices"
        )
    if not all(each is None or each is Ellipsis or isinstance(each, slice) for each in rest):
        raise UnsupportedError(
            "A mask or an array beside an index in brackets is not there yet. Nearest: one after the other, x[3][[1, 2]]"
        )
    given[at[0]] = slice(None)
    before = [each for each in given[: at[0]] if each is not None]
    axis = len(before)
    if Ellipsis in before:
        axis = len(shape) - sum(each is not None for each in given[at[0] :])
    if axis >= len(shape):
        raise InvalidInputError(f"{len(given)} entries in brackets of an array of {len(shape)} axes")
    return tuple(given), axis, indices(entry, axis, shape[axis])


def indices(entry: Any, axis: int, extent: int) -> NDArray:
    """The indices that a mask or a vector selects along an axis; a mask or vector of Spark is computed now."""
    given = values(entry)
    if given.dtype.kind == "b":
        if len(given) != extent:
            raise InvalidInputError(f"A mask of {len(given)} elements along axis {axis}, which has {extent}; expected as many")
        if not given.any():
            raise InvalidInputError(f"The mask along axis {axis} is false everywhere; expected one true element or more: mask.any() tells")
        return np.flatnonzero(given)
    if given.dtype.kind not in "iu" and given.size:
        raise UnsupportedError(f"Indices of {given.dtype.name} values along axis {axis}; expected whole numbers, or a mask")
    found: NDArray = given.astype(np.int64)
    wrong = found[(found < -extent) | (found >= extent)]
    if len(wrong):
        raise IndexError(f"index {wrong[0]} is out of bounds for axis {axis} with size {extent}")
    return np.where(found < 0, found + extent, found)


def values(entry: Any) -> NDArray:
    """A mask or indices as a numpy array; those of Spark are computed now."""
    return np.asarray(entry.compute() if hasattr(entry, "compute") else entry)


def _entry(entry: Any, axis: int, extent: int) -> slice | int:
    if isinstance(entry, slice):
        return slice(*(None if part is None else _in_64_bits(part) for part in (entry.start, entry.stop, entry.step)))
    try:
        index = None if isinstance(entry, bool) else operator.index(entry)
    except TypeError:
        index = None
    if index is None:
        raise UnsupportedError(
            f"{type(entry).__name__} in brackets; expected slices, whole numbers, '...', None, and a mask or a vector of indices along"
            " one axis. Nearest: x.compute()[...] after making it small"
        )
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    return index % extent


def _in_64_bits(part: Any) -> int:
    """A part of a slice; one beyond all extents is as good as another."""
    return max(-_FAR, min(_FAR, operator.index(part)))


def text(entry: slice | int) -> str:
    """An entry in the format of the SQL function."""
    if isinstance(entry, int):
        return str(entry)
    return ":".join("" if part is None else str(part) for part in (entry.start, entry.stop, entry.step))

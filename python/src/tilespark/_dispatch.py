"""Handles numpy's functions that get a BlockArray (``__array_function__``, NEP 18), and makes the errors for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import UnsupportedError

Function = Callable[..., Any]

#: Our functions by the numpy functions that they replace.
OFFERED: dict[Function, Function] = {}

#: What to use in place of a function of numpy that is not available, by its name.
NEAREST = {
    "det": "numpy.linalg.slogdet(x)",
    "diag": "tilespark.linalg.diagonal(x)",
    "eig": "numpy.linalg.eigh(x) of a symmetric matrix",
    "eigvals": "numpy.linalg.eigvalsh(x) of a symmetric matrix",
    "einsum": "x @ y, x.transpose(axes), x.sum(axis)",
    "inner": "x @ y.mT",
    "inv": "numpy.linalg.solve(x, y)",
    "median": "Spark's percentile over the elements of x.to_cells()",
    "percentile": "Spark's percentile over the elements of x.to_cells()",
    "quantile": "Spark's percentile over the elements of x.to_cells()",
    "save": "x.to_npy(path)",
    "savez": "x.to_npy(path)",
    "sort": "ORDER BY over x.to_cells()",
    "unique": "DISTINCT over x.to_cells()",
}


class NotOfferedError(UnsupportedError, TypeError):
    """A numpy function that is not available for a BlockArray. The array is not collected instead."""


def not_offered(name: str, nearest: str = "") -> NotOfferedError:
    """The error for a numpy function that is not available, with an alternative."""
    return NotOfferedError(
        f"{name} of a BlockArray is not there yet, and nothing is collected without being asked for."
        f" Nearest: {nearest}{'; ' if nearest else ''}x.compute() gives the whole array to numpy"
    )


def call_function(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a numpy function for arguments of which at least one is a BlockArray.

    Raises:
        NotOfferedError: if the function is not available.
    """
    module = function.__module__ or "numpy"
    name = f"{module}.{function.__name__}"
    offered = OFFERED.get(function)
    if offered is None:
        raise not_offered(name, NEAREST.get(function.__name__, ""))
    return offered(*args, **kwargs)

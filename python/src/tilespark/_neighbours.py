"""Nearest neighbours and similar pairs of vectors, found in matrix products that are not stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arguments import integer, number
from ._array import BlockArray, as_array
from ._sql import call
from .errors import InvalidInputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def knn(a: Any, b: Any, k: int, metric: str) -> DataFrame:
    """For each row of ``a`` the ``k`` nearest rows of ``b``.

    Scores are computed in float64 for all dtypes. Equal scores are ranked by the neighbour's row number, NaN last.

    Args:
        a: the queries, (queries, features); or a batch of these matrices.
        b: the vectors, (vectors, features); or a batch with the same number of matrices. Either ``a`` or ``b`` may be a
            numpy array.
        k: number of neighbours of each query, 1 or more; at most the number of vectors is found.
        metric: ``"inner"`` (inner product), ``"cosine"`` or ``"euclidean"`` (distance, the least is the nearest).

    Returns:
        A lazy DataFrame with a row for each neighbour: ``query, neighbour, rank, score``, that is row numbers, a rank
        from 1 and the score; for a batch also its further columns. Rows with ids (``ts.from_rows(..., id=...)``) add
        ``query_id`` and ``neighbour_id``.

    Raises:
        InvalidInputError: if the shapes or the arguments do not fit.
        UnsupportedError: if ``a`` or ``b`` is complex.
    """
    return call("matrix_knn", _vectors("knn", a, b), k=integer("k", k), metric=_text("metric", metric))


def pairs_above(a: Any, b: Any, threshold: float, metric: str) -> DataFrame:
    """The pairs of rows of ``a`` and ``b`` whose score is at least ``threshold``; with ``"euclidean"``, at most.

    For the other arguments and the errors see :func:`knn`; the result has no ``rank``.
    """
    tables = _vectors("pairs_above", a, b)
    return call("matrix_pairs_above", tables, threshold=number("threshold", threshold), metric=_text("metric", metric))


def row_argmax(a: Any, b: Any) -> DataFrame:
    """For each row of ``a`` the row of ``b`` with the largest inner product: :func:`knn` with a ``k`` of 1."""
    return call("matrix_row_argmax", _vectors("row_argmax", a, b))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is {value!r}; expected a text")
    return value


def _vectors(operator: str, a: Any, b: Any) -> dict[str, DataFrame]:
    """The DataFrames of two matrices or batches."""
    first = as_array(a, b if isinstance(b, BlockArray) else None)
    second = as_array(b, first)
    for array in (first, second):
        array._require_matrix(operator)
    if first.ndim != second.ndim or first.ndim == 1 or first.shape[-1] != second.shape[-1]:
        raise InvalidInputError(
            f"{operator} of shapes {first.shape} and {second.shape};"
            " expected two matrices with as many columns, or two batches of such"
        )
    return {"a": first.df, "b": second.df}

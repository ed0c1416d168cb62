"""Nearest neighbours and near pairs of vectors, by products that are never written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arguments import integer, number
from ._array import BlockArray, as_array
from ._sql import call
from .errors import InvalidInputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def knn(a: Any, b: Any, k: int, metric: str) -> DataFrame:
    """The ``k`` nearest rows of ``b`` of each row of ``a``.

    Scores are computed in double, whatever the dtype. Equal scores are ranked by the neighbour's place, NaN last.

    Args:
        a: the queries, (queries, features); or a batch of these matrices.
        b: the vectors, (vectors, features); or a batch of as many. One of the two may be a numpy array.
        k: neighbours of each query, 1 or more; there are fewer if there are fewer vectors.
        metric: ``"inner"`` (inner product), ``"cosine"`` or ``"euclidean"`` (distance, of which the least is the nearest).

    Returns:
        ``query, neighbour, rank, score``, a row for each neighbour: places of rows, and ranks from 1; of a batch also its
        further columns. Where the rows have ids (``ts.from_rows(..., id=...)``), ``query_id`` and ``neighbour_id`` too. Lazy.

    Raises:
        InvalidInputError: if the shapes or the arguments do not fit.
        UnsupportedError: if one is complex.
    """
    return call("matrix_knn", _vectors("knn", a, b), k=integer("k", k), metric=_text("metric", metric))


def pairs_above(a: Any, b: Any, threshold: float, metric: str) -> DataFrame:
    """The pairs of a row of ``a`` and one of ``b`` whose score is at least ``threshold``; of ``"euclidean"`` at most.

    Arguments else, and exceptions, as of :func:`knn`; the result has no ``rank``.
    """
    tables = _vectors("pairs_above", a, b)
    return call("matrix_pairs_above", tables, threshold=number("threshold", threshold), metric=_text("metric", metric))


def row_argmax(a: Any, b: Any) -> DataFrame:
    """The row of ``b`` with the largest inner product of each row of ``a``: :func:`knn` with a ``k`` of 1."""
    return call("matrix_row_argmax", _vectors("row_argmax", a, b))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is {value!r}; expected a text")
    return value


def _vectors(operator: str, a: Any, b: Any) -> dict[str, DataFrame]:
    """The tables of two matrices."""
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

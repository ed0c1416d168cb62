"""Arrays that Spark generates: zeros, ones, constants, ranges, the identity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _blocks
from ._arguments import integer, integers, number, numpy_dtype
from ._array import BlockArray
from ._blocks import MATRIX, VOLUME
from ._session import session
from ._sql import call, numbers
from .errors import InvalidInputError, UnsupportedError, translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def zeros(
    shape: int | Sequence[int],
    dtype: Any = float,
    *,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """An array of zeros, which tasks generate when needed, as numpy.zeros.

    Args:
        shape: one to three extents; a single number for a vector.
        dtype: a dtype that blocks can hold.
        blocks: the shape of a full block, -1 for a whole axis; by default about 8 MiB.
        spark: the session; by default the active one.

    Raises:
        InvalidInputError: if ``shape`` or ``blocks`` is no valid shape.
        UnsupportedError: if there are more than three axes, or blocks cannot hold the dtype.
    """
    extents = integers("shape", shape)
    if not 1 <= len(extents) <= 3:
        raise UnsupportedError(f"An array of {len(extents)} axes; expected 1 to 3: a vector, a matrix or a volume")
    if min(extents) < 0:
        raise InvalidInputError(f"shape is {extents}; expected extents of 0 or more")
    target = _blocks.supported(numpy_dtype(dtype))
    dropped = (1,) if len(extents) == 1 else ()
    stored = (*extents, 1) if dropped else tuple(extents)
    if blocks is None:
        block = _blocks.default_block_shape(stored, target.itemsize)
    else:
        block = _blocks.stored_block_shape(blocks, tuple(extents), dropped, False)
    block = tuple(max(1, extent) for extent in block)
    kind = MATRIX if len(stored) == 2 else VOLUME
    counts = [-(-extent // step) for extent, step in zip(stored, block, strict=True)]
    columns = []
    below = math.prod(counts)
    for name, step, count in zip(kind.offsets, block, counts, strict=True):
        below //= max(1, count)
        columns.append(f"id div {max(1, below)} % {max(1, count)} * {step} AS {name}")
    sizes = [
        f"CAST(least({step}, {extent} - {name}) AS INT) AS {size}"
        for name, size, step, extent in zip(kind.offsets, kind.sizes, block, stored, strict=True)
    ]
    with translated():
        places = session(spark).range(math.prod(counts)).selectExpr(*columns).selectExpr("*", *sizes)
        elements = " * ".join(kind.sizes)
        packed = places.selectExpr("*", f"CAST(repeat(chr(0), {elements} * {target.itemsize}) AS BINARY) AS data")
    df = call(
        kind.function("unpack"), {"input": packed}, dtype=target.name, extents=numbers(stored), blockShape=numbers(block)
    )
    return BlockArray(df, dropped=dropped)


def full(
    shape: int | Sequence[int],
    fill_value: Any,
    dtype: Any = None,
    *,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """An array filled with one number, as numpy.full; for the other arguments see :func:`zeros`."""
    if np.ndim(fill_value):
        raise UnsupportedError(f"full of an array of {np.ndim(fill_value)} axes; expected a number")
    target = numpy_dtype(np.asarray(fill_value).dtype if dtype is None else dtype)
    with np.errstate(all="ignore"):
        value = np.asarray(fill_value).astype(target)[()]
    if target.kind == "b":
        return zeros(shape, target, blocks=blocks, spark=spark) | bool(value)
    if target.kind == "u":
        return (zeros(shape, "int64", blocks=blocks, spark=spark) + int(value)).astype(target)
    return (zeros(shape, target, blocks=blocks, spark=spark) + value).astype(target)  # float16 plus a number is float32


def ones(
    shape: int | Sequence[int],
    dtype: Any = float,
    *,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """An array of ones, as numpy.ones; for the arguments see :func:`zeros`."""
    return full(shape, 1, dtype, blocks=blocks, spark=spark)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    *,
    blocks: int | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """A vector of the numbers from ``start`` up to, but not including, ``stop``, as numpy.arange; ``arange(n)`` starts at 0."""
    first, end = (0, start) if stop is None else (start, stop)
    for name, value in (("start", first), ("stop", end), ("step", step)):
        number(name, value)
    if step == 0:
        raise InvalidInputError("arange with a step of 0; expected another number")
    target = numpy_dtype(np.result_type(*map(np.asarray, (first, end, step))) if dtype is None else dtype)
    count = max(0, math.ceil((end - first) / step))
    whole = all(isinstance(each, int | np.integer) for each in (first, step))
    base = zeros(count, "int64" if whole else "float64", blocks=blocks, spark=spark)
    return base.map("start + row * delta", start=first, delta=(first + step) - first).astype(target)


def linspace(
    start: float, stop: float, num: int = 50, *, blocks: int | None = None, spark: SparkSession | None = None
) -> BlockArray:
    """A vector of ``num`` evenly spaced numbers from ``start`` to ``stop``, as numpy.linspace."""
    count = integer("num", num)
    step = (float(stop) - float(start)) / max(1, count - 1)
    base = zeros(count, blocks=blocks, spark=spark)
    return base.map(
        "if(row > 0 AND row = last, stop, row * step + start)", start=float(start), stop=float(stop), step=step, last=count - 1
    )


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    *,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """A matrix with ones on a diagonal and zeros elsewhere, as numpy.eye.

    Args:
        N: rows.
        M: columns; by default ``N``.
        k: the diagonal: 0 is the main one, 1 the one above it.
        dtype: see :func:`zeros`.
        blocks: see :func:`zeros`.
        spark: see :func:`zeros`.
    """
    base = zeros((integer("N", N), integer("N" if M is None else "M", N if M is None else M)), "int8", blocks=blocks, spark=spark)
    return base.map("if(col - row = k, 1, 0)", k=integer("k", k)).astype(dtype)

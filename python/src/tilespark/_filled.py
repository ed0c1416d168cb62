"""Arrays that Spark generates: zeros, ones, constants, ranges, the identity."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _blocks, _leading
from ._arguments import integer, integers, number, numpy_dtype
from ._array import BlockArray
from ._blocks import MATRIX, VOLUME
from ._elementwise import SQL
from ._session import session
from ._sql import call, numbers
from .errors import InvalidInputError, UnsupportedError, translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The device of every array.
DEVICE = "spark"


def zeros(
    shape: int | Sequence[int],
    dtype: Any = float,
    *,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
    device: str | None = None,
) -> BlockArray:
    """An array of zeros, which tasks generate when needed, as numpy.zeros.

    Args:
        shape: extents; a single number for a vector.
        dtype: a dtype that blocks can hold.
        blocks: the shape of a full block, -1 for a whole axis; by default about 8 MiB.
        spark: the session; by default the active one.
        device: None or ``"spark"``, where all arrays are.

    Raises:
        InvalidInputError: if ``shape`` or ``blocks`` is no valid shape.
        UnsupportedError: for another device, or if blocks cannot hold the dtype.
    """
    extents = integers("shape", shape)
    if device not in (None, DEVICE):
        raise UnsupportedError(f"device is {device!r}; expected {DEVICE!r}, where all arrays are")
    if min(extents, default=0) < 0 or math.prod(extents) >= 1 << 63:
        raise InvalidInputError(f"shape is {extents}; expected extents of 0 or more, and fewer than 2**63 elements")
    target = _blocks.supported(numpy_dtype(dtype))
    dropped = tuple(range(2))[len(extents) :]
    own = (*extents[-3:], *(1,) * len(dropped))  # the extents that blocks cut
    if blocks is None or not extents:
        block = _blocks.default_block_shape(own, target.itemsize)
    else:
        block = _blocks.stored_block_shape(blocks, extents, dropped, max(0, len(extents) - 3))
    stored = own
    if len(extents) > 3:
        stored = (math.prod(extents[:-2]), *extents[-2:])
        block = (_blocks.divisor(own[0], block[0]), *block[1:])
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
    array = BlockArray(df, dropped=dropped)
    return _leading.split(array, tuple(extents)) if len(extents) > 3 else array


def full(
    shape: int | Sequence[int],
    fill_value: Any,
    dtype: Any = None,
    *,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
    device: str | None = None,
) -> BlockArray:
    """An array filled with one number, as numpy.full; for the other arguments see :func:`zeros`."""
    target = numpy_dtype(np.asarray(fill_value).dtype if dtype is None else dtype)
    return filled(zeros(shape, target, blocks=blocks, spark=spark, device=device), fill_value, target)


def filled(array: BlockArray, fill_value: Any, dtype: np.dtype[Any]) -> BlockArray:
    """One number in place of each element, converted to ``dtype`` as by numpy; the sign of a zero stays."""
    if np.ndim(fill_value):
        raise UnsupportedError(f"full of an array of {np.ndim(fill_value)} axes; expected a number")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = np.full((), fill_value, dtype).item()
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{fill_value!r} as {dtype.name}: {error}") from None
    base = array.real
    if dtype.kind == "c":
        return base.map("complex(re, im)", re=value.real, im=value.imag)._in(dtype)
    if dtype.kind == "b":
        return base.map("number = 1", number=int(value))
    found = base.map(f"CAST(number AS {SQL.get(dtype.name, 'FLOAT')})", number=value)
    return found if found.dtype == dtype else found.astype(dtype)


def ones(
    shape: int | Sequence[int],
    dtype: Any = float,
    *,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
    device: str | None = None,
) -> BlockArray:
    """An array of ones, as numpy.ones; for the arguments see :func:`zeros`."""
    return full(shape, 1, float if dtype is None else dtype, blocks=blocks, spark=spark, device=device)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    *,
    blocks: int | None = None,
    spark: SparkSession | None = None,
    device: str | None = None,
) -> BlockArray:
    """A vector of the numbers from ``start`` up to, but not including, ``stop``, as numpy.arange; ``arange(n)`` starts at 0."""
    first, end = (0, start) if stop is None else (start, stop)
    for name, value in (("start", first), ("stop", end), ("step", step)):
        number(name, value)
    if step == 0:
        raise InvalidInputError("arange with a step of 0; expected another number")
    target = numpy_dtype(np.result_type(*map(np.asarray, (first, end, step))) if dtype is None else dtype)
    whole = all(isinstance(each, int | np.integer) for each in (first, end, step))
    length = -(-(end - first) // step) if whole else (end - first) / step
    if not math.isfinite(length):
        raise InvalidInputError(f"arange from {first} to {end} by {step}; expected a finite number of elements")
    count = max(0, math.ceil(length))
    if not whole and target.kind in "iu":  # the first two elements are truncated, as in numpy
        whole, first, step = True, int(first), int(first + step) - int(first)
    base = zeros(int(count), "int64" if whole else "float64", blocks=blocks, spark=spark, device=device)
    return base.map("start + row * delta", start=first, delta=(first + step) - first).astype(target)


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    *,
    dtype: Any = None,
    endpoint: bool = True,
    blocks: int | None = None,
    spark: SparkSession | None = None,
    device: str | None = None,
) -> BlockArray:
    """A vector of ``num`` evenly spaced numbers from ``start`` to ``stop``, which is left out without ``endpoint``."""
    count = integer("num", num)
    last = count - 1 if endpoint else count
    low, high = number("start", start), number("stop", stop)
    target = numpy_dtype(dtype)
    base = zeros(count, blocks=blocks, spark=spark, device=device)
    text = "if(row > 0 AND row = last, stop, row * step + start)"
    found = base.map(text, start=low, stop=high, step=(high - low) / max(1, last), last=last)
    return (found.map("floor(v)") if target.kind in "iu" else found)._in(target)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    *,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
    device: str | None = None,
) -> BlockArray:
    """A matrix with ones on a diagonal and zeros elsewhere, as numpy.eye.

    Args:
        N: rows.
        M: columns; by default ``N``.
        k: the diagonal: 0 is the main one, 1 the one above it.
        dtype: see :func:`zeros`.
        blocks: see :func:`zeros`.
        spark: see :func:`zeros`.
        device: see :func:`zeros`.
    """
    rows, cols = integer("N", N), integer("M", N if M is None else M)
    base = zeros((rows, cols), "int8", blocks=blocks, spark=spark, device=device)
    # Diagonals outside the matrix are all alike, however large k is.
    array = base.map("if(col - row = k, 1, 0)", k=max(-rows, min(cols, integer("k", k))))
    target = numpy_dtype(dtype)
    return filled_from(array, target)


def filled_from(array: BlockArray, dtype: np.dtype[Any]) -> BlockArray:
    """Zeros and ones as elements of ``dtype``, which may be complex."""
    return array.map("complex(v, 0)")._in(dtype) if dtype.kind == "c" else array.astype(dtype)

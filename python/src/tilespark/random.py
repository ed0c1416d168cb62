"""Random arrays: each element depends on the seed and its place alone, whatever the blocks, the backend and the retries."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _leading
from ._arguments import integer, number, numpy_dtype
from ._array import BlockArray
from ._filled import zeros
from .errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["normal", "uniform"]

_SEEDS = range(-(1 << 63), 1 << 63)


def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    size: int | Sequence[int] | None = None,
    *,
    seed: int | None = None,
    dtype: Any = float,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """An array from a normal distribution, which tasks generate when needed, as numpy.random.normal with other numbers.

    Args:
        loc: the mean.
        scale: the standard deviation, 0 or more.
        size: extents; a single number for a vector.
        seed: a whole number of 64 bits; by default a new one. Arrays with one seed have equal elements at equal places.
        dtype: ``float32`` or ``float64``.
        blocks: see :func:`tilespark.zeros`.
        spark: see :func:`tilespark.zeros`.

    Raises:
        InvalidInputError: if an argument is out of range; also as :func:`tilespark.zeros`.
    """
    if not number("scale", scale) >= 0:
        raise InvalidInputError(f"scale is {scale}; expected 0 or more")
    mean = number("loc", loc)
    return _generated("normal", "start + width * randn(seed)", mean, float(scale), size, seed, dtype, blocks, spark)


def uniform(
    low: float = 0.0,
    high: float = 1.0,
    size: int | Sequence[int] | None = None,
    *,
    seed: int | None = None,
    dtype: Any = float,
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """An array from a uniform distribution, as numpy.random.uniform; for the other arguments see :func:`normal`.

    Args:
        low: the least element.
        high: the end of the range; as in numpy, rounding may reach it.
        size: see :func:`normal`.
        seed: see :func:`normal`.
        dtype: see :func:`normal`.
        blocks: see :func:`normal`.
        spark: see :func:`normal`.
    """
    least = number("low", low)
    width = number("high", high) - least
    return _generated("uniform", "start + width * rand(seed)", least, width, size, seed, dtype, blocks, spark)


def _generated(
    name: str,
    expression: str,
    start: float,
    width: float,
    size: int | Sequence[int] | None,
    seed: int | None,
    dtype: Any,
    blocks: int | Sequence[int] | None,
    spark: SparkSession | None,
) -> BlockArray:
    if size is None:
        raise InvalidInputError(f"random.{name} without size; expected extents, as size=(1000, 1000)")
    target = numpy_dtype(dtype)
    if target.name not in ("float32", "float64"):
        raise UnsupportedError(f"random.{name}(dtype={target.name!r}); expected float32 or float64")
    chosen = secrets.randbits(63) if seed is None else integer("seed", seed)
    if chosen not in _SEEDS:
        raise InvalidInputError(f"seed is {chosen}; expected one of 64 bits, from {_SEEDS.start} to {_SEEDS.stop - 1}")
    base = zeros(size, target, blocks=blocks, spark=spark)
    # A place in the whole array has a number of its own; places in each of many volumes would repeat.
    found = _leading.merged(base).map(expression, start=start, width=width, seed=chosen).astype(target)
    return found.reshape(base.shape)

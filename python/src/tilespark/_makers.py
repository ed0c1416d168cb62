"""From arrays, files and DataFrames to BlockArrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _blocks, _transfer
from ._array import BlockArray, local_path, stored_block_shape
from ._labels import Labels, labels_of
from ._session import check, session
from ._sql import call, numbers
from .errors import InvalidInputError, TileSparkError, UnsupportedError, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NDArray = np.ndarray[Any, np.dtype[Any]]

_BATCH = "batch"


def from_numpy(
    a: Any,
    blocks: int | Sequence[int] | None = None,
    *,
    batch: bool = False,
    spacing: float | Sequence[float] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """A BlockArray of a numpy array's values, as they are now.

    Rank 1 is a vector, rank 2 a matrix, rank 3 a volume, or with ``batch`` as many matrices as the first axis is long.

    Args:
        a: a numpy array, or what ``numpy.asarray`` takes.
        blocks: the shape of a full block, -1 for a whole axis; by default about 8 MiB. Of a batch: of each matrix, by
            default the whole matrix.
        batch: whether the first of three axes numbers matrices.
        spacing: distance between neighbours, one number or one for each axis; Fourier transforms use it.
        spark: the session; by default the active one.

    Raises:
        InvalidInputError: if elements of ``a`` are masked.
        UnsupportedError: if the rank is none of these, or blocks cannot hold the dtype.
        SetupError: if there is no session with tilespark.
    """
    if np.ma.is_masked(a):
        raise InvalidInputError(
            f"A masked array with {np.count_nonzero(a.mask)} masked elements; blocks have no masks: a.filled(value) puts a value there"
        )
    array = np.asarray(a)
    dtype = _blocks.supported(array.dtype)
    if batch and array.ndim != 3:
        raise InvalidInputError(f"batch=True with an array of {array.ndim} axes; expected 3: (matrices, rows, columns)")
    if not 1 <= array.ndim <= 3:
        raise UnsupportedError(
            f"An array of {array.ndim} axes; expected a vector, a matrix or a volume (1 to 3 axes):"
            f" reshape it, as {'a.reshape(-1, a.shape[-1])' if array.ndim else 'a.reshape(1)'}"
        )
    spark = session(spark)
    dropped = (1,) if array.ndim == 1 else ()
    stored = np.asarray(array.reshape(-1, 1) if array.ndim == 1 else array, dtype)
    if blocks is None:
        shape = (1, *array.shape[1:]) if batch else _blocks.default_block_shape(stored.shape, dtype.itemsize)
        shape = tuple(max(1, extent) for extent in shape)
    else:
        shape = stored_block_shape(blocks, array.shape, dropped, batch)
        shape = (1, *shape) if batch else shape
    df, keep = _transfer.send(spark, stored, shape)
    labels = Labels(spacing=_spacing(spacing, array.ndim))
    if not batch:
        return BlockArray(df, dropped=dropped, labels=labels, keep=tuple(keep))
    matrices = _transfer.unstacked(df, _BATCH, array.shape, shape)
    return BlockArray(matrices, batch=_BATCH, count=array.shape[0], numbered=True, labels=labels, keep=tuple(keep))


def _spacing(spacing: float | Sequence[float] | None, rank: int) -> tuple[float, ...] | None:
    if spacing is None:
        return None
    values = (float(spacing),) * rank if isinstance(spacing, int | float | np.number) else tuple(float(s) for s in spacing)
    if len(values) != rank or any(not value > 0 for value in values):
        raise InvalidInputError(f"spacing {spacing} of an array of {rank} axes; expected a number above 0 for each")
    return values


def read_npy(
    path: str | os.PathLike[str],
    blocks: int | Sequence[int] | None = None,
    *,
    dtype: Any = None,
    spacing: float | Sequence[float] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """The array of a ``.npy`` file of 1 to 3 axes. Blocks are read when they are computed with; a vector is read now.

    Args:
        path: local, or of any file system that Spark reads; of a vector, where this Python reads it too.
        blocks: the shape of a full block, -1 for a whole axis; by default at most 8 MiB, of large volumes 32 MiB.
        dtype: ``float32`` or ``float64`` to convert while reading; by default the file's own type.
        spacing: distance between neighbours along the axes.
        spark: the session; by default the active one.

    Raises:
        InvalidInputError: if the file is missing or is no such file.
    """
    spark = session(spark)
    reader = spark.read.format("npy")
    if dtype is not None:
        name = np.dtype(dtype).name
        wanted = {"float32": "float", "float64": "double"}.get(name)
        if wanted is None:
            raise UnsupportedError(f"read_npy(dtype={name!r}): expected float32 or float64; or .astype({name!r}) after reading")
        reader = reader.option("as", wanted)
    location = str(path)
    try:
        with translated():
            df = reader.load(location)
            schema = df.schema
            if blocks is not None:
                kind = _blocks.kind_of(schema)
                extents = _blocks.stated_extents(schema, kind)
                assert extents is not None
                df = reader.option("blockShape", numbers(stored_block_shape(blocks, extents, (), False))).load(location)
    except TileSparkError:
        vector = _vector(local_path(spark, path))
        if vector is None:
            raise
        return from_numpy(vector if dtype is None else vector.astype(dtype), blocks, spacing=spacing, spark=spark)
    array = BlockArray(df)
    array._labels = Labels(spacing=_spacing(spacing, array.ndim))
    return array


def _vector(path: Path | None) -> NDArray | None:
    """The array of one axis in a file that Spark refuses, if it is one."""
    try:
        array = None if path is None else np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return array if isinstance(array, np.ndarray) and array.ndim == 1 else None


def from_dataframe(
    df: DataFrame, *, batch: str | None = None, shape: Sequence[int] | None = None, spacing: float | Sequence[float] | None = None
) -> BlockArray:
    """A DataFrame of blocks as a BlockArray.

    Args:
        df: with the columns of matrix blocks (row, col, rows, cols, values) or of volume blocks (x, y, z, nx, ny, nz,
            values), and ``imag`` if complex.
        batch: the column that tells the matrices of a batch apart.
        shape: extents of the whole array, in place of what the DataFrame states; of a batch, of each matrix.
        spacing: distance between neighbours along the axes.

    Raises:
        InvalidInputError: if the columns are none of blocks, or there are further ones that ``batch`` does not name.
    """
    check(df.sparkSession)
    with translated():
        kind = _blocks.kind_of(df.schema)
        further = _blocks.further_columns(df.schema, kind)
        if shape is not None:
            df = call(kind.function("with_extents"), {"input": df}, extents=numbers(_blocks.integers("shape", shape)))
    if further != ([] if batch is None else [batch]):
        raise InvalidInputError(
            f"The DataFrame has the further columns {further}, batch is {batch!r}; expected none, or one that batch names"
            " (drop the others; operators on .df take any)"
        )
    array = BlockArray(df, batch=batch)
    array._labels = Labels(spacing=_spacing(spacing, array.ndim))
    return array


def from_xarray(
    data: Any, blocks: int | Sequence[int] | None = None, *, batch: bool = False, spark: SparkSession | None = None
) -> BlockArray:
    """A BlockArray of an ``xarray.DataArray``: its values now, its dimensions' names, coordinates and spacing.

    Args:
        data: of 1 to 3 dimensions.
        blocks: as of :func:`from_numpy`.
        batch: as of :func:`from_numpy`.
        spark: the session; by default the active one.
    """
    array = from_numpy(data.values, blocks, batch=batch, spark=spark)
    array._labels = labels_of(data)
    return array



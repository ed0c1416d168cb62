"""Makers of BlockArrays from arrays, files and DataFrames."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _blocks, _coordinates, _transfer
from ._arguments import flag, integer, integers, numpy_dtype
from ._array import BlockArray, array_of_store, from_numpy, is_dataframe, stored_array
from ._labels import Labels, checked_spacing, labels_of
from ._session import check, session
from ._sql import call, numbers
from .errors import InvalidInputError, TileSparkError, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NDArray = np.ndarray[Any, np.dtype[Any]]


def read_npy(
    path: str | os.PathLike[str],
    blocks: int | Sequence[int] | None = None,
    *,
    dtype: Any = None,
    spacing: float | Sequence[float] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """The array in a ``.npy`` file. Blocks are read when they are needed; a vector is read now.

    Args:
        path: a local path, or one on any file system that Spark reads; a vector's file must be readable by this Python too.
        blocks: the shape of a full block, -1 for a whole axis; by default at most 8 MiB, for large volumes 32 MiB. Of more
            than three axes, the last three are cut.
        dtype: ``float32`` or ``float64`` to convert while reading; by default the file's own type.
        spacing: distance between neighbours along the axes.
        spark: the session; by default the active one.

    Raises:
        InvalidInputError: if the file is missing or is no .npy file.
    """
    spark = session(spark)
    file = _transfer.path_of(spark, path)
    try:
        array = stored_array(spark.read.format("npy"), "read_npy", file, blocks, dtype)
    except TileSparkError:
        vector = _vector(_transfer.local_path(spark, file))
        if vector is None:
            raise
        return from_numpy(vector if dtype is None else vector.astype(dtype), blocks, spacing=spacing, spark=spark)
    array._labels = Labels(spacing=checked_spacing(spacing, array.ndim))
    return array


def read_zarr(
    path: str | os.PathLike[str],
    component: str | None = None,
    *,
    level: int | None = None,
    select: str | Mapping[str, int] | None = None,
    blocks: int | Sequence[int] | None = None,
    dtype: Any = None,
    spacing: float | Sequence[float] | None = None,
    missing: str | None = None,
    mask_and_scale: bool = True,
    spark: SparkSession | None = None,
) -> BlockArray:
    """An array in a Zarr store, version 2 or 3, with its attributes and the names of its axes. Chunks are read when they are needed.

    Coordinates that xarray stored in the same group are read now, where xarray is installed; they give the spacing, for times in
    seconds. Axes before the last three are not cut; a slice along them reads only its part.

    Args:
        path: path of the store or of an array in it; local, or on any file system that Spark reads.
        component: path of the array, or of an image of OME-Zarr, in the store.
        level: the scale of an image; 0, the default, is the finest.
        select: an index for each axis to leave out, ``{"t": 0, "c": 1}``, by name or number.
        blocks: see :func:`read_npy`; by default whole chunks.
        dtype: ``float32`` or ``float64`` to convert while reading; by default the array's own type.
        spacing: distance between neighbours along the axes; by default that of the coordinates, else the scale of an image.
        missing: treatment of chunks that are not stored: ``"fill"``, the default, takes the fill value; ``"error"`` raises.
            :meth:`BlockArray.to_zarr` does not store chunks full of it.
        mask_and_scale: whether attributes that say how numbers are packed (``scale_factor``, ``add_offset``, ``_FillValue``,
            ``missing_value``) are obeyed, as by xarray: the array is then float64, with NaN for missing values.
        spark: the session; by default the active one.

    Raises:
        InvalidInputError: if there is no array, or it uses features that cannot be read.
    """
    spark = session(spark)
    reader = spark.read.format("zarr")
    if isinstance(select, Mapping):
        select = ",".join(f"{axis}:{index}" for axis, index in select.items())
    for name, value in (("component", component), ("level", level), ("select", select), ("missing", missing)):
        if value is not None:
            reader = reader.option(name, str(value))
    file = _transfer.path_of(spark, path)
    array = stored_array(reader, "read_zarr", file, blocks, dtype)
    if flag("mask_and_scale", mask_and_scale):
        array = _coordinates.decoded(array)
        array = array if dtype is None else array.astype(dtype)
    group = _coordinates.group_of(array_of_store(spark, missing), file, component)
    array._labels = _coordinates.read(group, array, checked_spacing(spacing, array.ndim))
    return array


def read_nifti(
    path: str | os.PathLike[str],
    blocks: int | Sequence[int] | None = None,
    *,
    dtype: Any = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """The array in a NIfTI file, ``.nii`` or ``.nii.gz``, with the names and the spacing of its axes.

    The axes are ``x``, ``y``, ``z``; those after them in the file come first here: a series of volumes has the shape
    (t, x, y, z). Numbers are scaled as the header says, then they are float64. The spacing of times is in seconds, of other axes
    in the header's unit. Orientations are left out.

    Args:
        path: a local path, or one on any file system that Spark reads.
        blocks: see :func:`read_npy`. Of a compressed file, which is read from its beginning, blocks have whole planes.
        dtype: ``float32`` or ``float64`` to convert while reading; by default the file's own type.
        spark: the session; by default the active one.

    Raises:
        InvalidInputError: if the file is missing or is no NIfTI file of numbers.
    """
    spark = session(spark)
    return stored_array(spark.read.format("nifti"), "read_nifti", _transfer.path_of(spark, path), blocks, dtype)


def read_raw(
    path: str | os.PathLike[str],
    shape: Sequence[int],
    dtype: Any,
    *,
    offset: int = 0,
    order: str = "C",
    blocks: int | Sequence[int] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """The array in a file of numbers, as numpy.memmap would see it. Blocks are read when they are needed.

    Args:
        path: a local path, or one on any file system that Spark reads; the file may be compressed by gzip.
        shape: two extents or more, which with ``offset`` give the length of the file.
        dtype: the numbers' dtype, ``"uint16"``, or ``">u2"`` for big-endian ones.
        offset: bytes before the numbers, for example of a header.
        order: ``"C"`` or ``"F"``.
        blocks: see :func:`read_npy`.
        spark: the session; by default the active one.

    Raises:
        InvalidInputError: if the file is missing or has another length.
    """
    spark = session(spark)
    reader = spark.read.format("raw").option("shape", numbers(integers("shape", shape)))
    reader = reader.option("dtype", numpy_dtype(dtype).str).option("offset", integer("offset", offset)).option("order", order)
    return stored_array(reader, "read_raw", _transfer.path_of(spark, path), blocks)


def _vector(path: Path | None) -> NDArray | None:
    """The vector in a ``.npy`` file, which Spark cannot read; None for any other file."""
    try:
        with warnings.catch_warnings():  # numpy warns of overflowing sizes before it refuses them
            warnings.simplefilter("ignore")
            array = None if path is None else np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception:  # any error from a damaged header
        return None
    return array if isinstance(array, np.ndarray) and array.ndim == 1 else None


def from_dataframe(
    df: DataFrame,
    *,
    batch: str | None = None,
    shape: Sequence[int] | None = None,
    spacing: float | Sequence[float] | None = None,
    with_origin: bool = False,
) -> BlockArray:
    """A DataFrame of blocks as a BlockArray.

    Args:
        df: a DataFrame with the columns of matrix blocks (row, col, rows, cols, values) or of volume blocks (x, y, z, nx, ny,
            nz, values), and ``imag`` if the values are complex.
        batch: the column that identifies the matrices of a batch.
        shape: extents of the whole array, which replace those that the DataFrame states; in a batch, of each matrix.
        spacing: distance between neighbours along the axes.
        with_origin: whether to move the lowest index along each axis to 0, as after a filter; a small Spark job finds it
            now.

    Raises:
        InvalidInputError: if the columns are not those of blocks, or there are further columns that ``batch`` does not name.
    """
    if not is_dataframe(df):
        raise _no_dataframe("from_dataframe", df)
    check(df.sparkSession)
    with translated():
        kind = _blocks.kind_of(df.schema)
        further = _blocks.further_columns(df.schema, kind)
        if shape is not None:
            df = call(kind.function("with_extents"), {"input": df}, extents=numbers(integers("shape", shape)))
    if further != ([] if batch is None else [batch]):
        raise InvalidInputError(
            f"The DataFrame has the further columns {further}, batch is {batch!r}; expected none, or one that batch names"
            " (drop the others; operators on .df take any)"
        )
    if flag("with_origin", with_origin):
        df = call(kind.function("with_origin"), {"input": df})
    array = BlockArray(df, batch=batch)
    array._labels = Labels(spacing=checked_spacing(spacing, array.ndim))
    return array


def from_rows(
    df: DataFrame,
    columns: str | Sequence[str],
    *,
    id: str | None = None,
    order_by: str | Sequence[str] | None = None,
    cols: int | None = None,
    nulls: str | None = None,
    ragged: str | None = None,
    nan: str | None = None,
    block_rows: int | None = None,
) -> BlockArray:
    """The matrix whose rows are the vectors of a DataFrame, in the order in which Spark reads its rows.

    Args:
        df: a DataFrame with one vector in each row.
        columns: one column of arrays of numbers or of ``pyspark.ml`` Vectors; or several columns of numbers.
        id: a column whose values are kept with the rows; :meth:`BlockArray.row_ids` and :meth:`BlockArray.to_rows` return them.
        order_by: columns that order the rows; needed if Spark reads rows in no fixed order, as after a join, and there is no
            id. Each row must have different values in them.
        cols: the length of each vector; by default that of the first one.
        nulls: treatment of NULL vectors and NULL elements: ``"error"`` (the default), ``"skip"`` omits their rows, ``"zero"``.
        ragged: treatment of vectors of another length, as ``nulls``; ``"zero"`` pads short vectors with zeros.
        nan: treatment of NaN, as ``nulls``; ``"keep"`` keeps it.
        block_rows: rows of a block; by default as many as make 8 MiB.

    Raises:
        InvalidInputError: if a column is missing or of another type, the rows have no fixed order, or the DataFrame has other
            rows in each run, as after a limit; ``df.persist()`` keeps the same rows.
    """
    if not is_dataframe(df):
        raise _no_dataframe("from_rows", df)
    check(df.sparkSession)
    return BlockArray(
        call(
            "matrix_from_rows",
            {"input": df},
            columns=_listed(columns),
            id=id,
            orderBy=None if order_by is None else _listed(order_by),
            cols=cols,
            nulls=nulls,
            ragged=ragged,
            nan=nan,
            blockRows=block_rows,
        )
    )


def from_cells(
    df: DataFrame, blocks: int | Sequence[int], *, shape: Sequence[int] | None = None, missing: str | None = None
) -> BlockArray:
    """The matrix whose elements are the rows (row, col, value) of a DataFrame.

    Args:
        df: a DataFrame with these three columns.
        blocks: the shape of a full block.
        shape: extents of the matrix; by default the least extents that contain all elements.
        missing: treatment of elements that have no row: ``"zero"`` (the default) or ``"error"``.

    Raises:
        InvalidInputError: if a column is missing or of another type.
    """
    if not is_dataframe(df):
        raise _no_dataframe("from_cells", df)
    check(df.sparkSession)
    rows, columns = integers("blocks", (blocks, blocks) if isinstance(blocks, int) else blocks)
    extents = None if shape is None else numbers(integers("shape", shape))
    return BlockArray(call("matrix_from_cells", {"input": df}, rows=rows, cols=columns, missing=missing, extents=extents))


def _no_dataframe(maker: str, given: object) -> InvalidInputError:
    kind = type(given)
    pandas = ": spark.createDataFrame(df) makes one of pandas'" if kind.__module__.split(".")[0] == "pandas" else ""
    return InvalidInputError(f"{maker} of {kind.__module__}.{kind.__qualname__}; expected a DataFrame of Spark{pandas}")


def _listed(columns: str | Sequence[str]) -> str:
    return columns if isinstance(columns, str) else ",".join(columns)


def from_xarray(
    data: Any,
    blocks: int | Sequence[int] | None = None,
    *,
    batch: bool = False,
    spacing: float | Sequence[float] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """A BlockArray with the present values of an ``xarray.DataArray``, its dimensions' names, coordinates and spacing.

    Args:
        data: a DataArray.
        blocks: see :func:`from_numpy`.
        batch: see :func:`from_numpy`.
        spacing: see :func:`from_numpy`; by default the distance between each axis' coordinates, for times in seconds, and 1
            without numeric coordinates. If coordinates are uneven or not finite, a warning names the axis; its spacing is NaN,
            and functions that need it raise.
        spark: the session; by default the active one.

    Raises:
        InvalidInputError: if ``data`` is no ``xarray.DataArray``; also as :func:`from_numpy`.
    """
    if not all(hasattr(data, name) for name in ("values", "dims", "coords", "name", "attrs")):
        raise InvalidInputError(f"from_xarray of {type(data).__name__}; expected an xarray.DataArray, such as dataset['name']")
    array = from_numpy(data.values, blocks, batch=batch, spark=spark)
    array._labels = labels_of(data, spacing)
    return array

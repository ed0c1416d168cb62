"""Properties of a DataFrame of blocks: its kind, its columns, and the column metadata about the whole array."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import integers, numpy_dtype
from ._sql import numbers, quoted
from .errors import InvalidInputError, UnsupportedError, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType

NDArray = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Kind:
    """Matrix or volume: the names of a block's columns, outermost axis first."""

    name: str
    offsets: tuple[str, ...]
    sizes: tuple[str, ...]

    @property
    def rank(self) -> int:
        return len(self.offsets)

    @property
    def places(self) -> tuple[str, ...]:
        return self.offsets + self.sizes

    def function(self, operator: str) -> str:
        """The name of an operator's SQL function, such as ``matrix_scale``."""
        return f"{self.name}_{operator}"


MATRIX = Kind("matrix", ("row", "col"), ("rows", "cols"))
VOLUME = Kind("volume", ("x", "y", "z"), ("nx", "ny", "nz"))

_EXTENTS = "tilespark.extents"
_IDS = "tilespark.ids"
_BLOCK_SHAPE = "tilespark.blockShape"
_FILE_TYPE = "tilespark.fileType"
_SPECTRUM = "tilespark.spectrum"
_AXES = "tilespark.axes"
_WHOLE = "tilespark.whole"

# For each numpy type the narrowest SQL type that represents all of its values.
_COLUMN_OF = {
    "bool": "tinyint",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "float16": "float",
    "float32": "float",
    "float64": "double",
    "complex64": "float",
    "complex128": "double",
}
_DTYPE_OF = {
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float32",
    "double": "float64",
}
_COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


def supported(dtype: Any) -> np.dtype[Any]:
    """The dtype in the machine's byte order, if blocks can hold it.

    Raises:
        UnsupportedError: if blocks cannot hold it; the message names the nearest dtypes.
    """
    found = numpy_dtype(dtype)
    if found.name in _COLUMN_OF:
        native: np.dtype[Any] = np.dtype(found.name)
        return native
    if found.kind == "V":
        advice = "take the fields of a structured array one by one, a['field']" if found.names else "use a.view('uint8')"
    else:
        names = {"uint64": "int64 float64", "complex256": "complex128"}.get(found.name) or {
            "f": "float64",
            "M": "int64",
            "m": "int64",
        }.get(found.kind, "float64 int64")
        advice = "use " + " or ".join(f"a.astype({name!r})" for name in names.split())
    raise UnsupportedError(f"Blocks cannot hold {found.name}; expected one of {', '.join(_COLUMN_OF)}: {advice}")


def kind_of(schema: StructType) -> Kind:
    """The kind of the blocks, matrix or volume, from the DataFrame's columns."""
    names = schema.fieldNames()
    for kind in (VOLUME, MATRIX):
        if all(column_of(names, column) is not None for column in (*kind.places, "values")):
            return kind
    raise InvalidInputError(
        "The DataFrame has no blocks: expected the columns (row, col, rows, cols, values) of a matrix or"
        f" (x, y, z, nx, ny, nz, values) of a volume, found ({', '.join(schema.fieldNames())}); tilespark.from_rows makes a"
        " matrix of rows with a vector each"
    )


def column_of(names: Sequence[str], column: str) -> str | None:
    """The name in ``names`` of a block column, in any case; None if there is none.

    With case-sensitive names several may match; the lower-case name is preferred.
    """
    return column if column in names else next((name for name in names if name.lower() == column), None)


def further_columns(schema: StructType, kind: Kind) -> list[str]:
    """Columns that are neither a block's own nor row ids; they distinguish several arrays in one DataFrame."""
    names = schema.fieldNames()
    own = {column_of(names, column) for column in (*kind.places, "values", "imag")}
    return [field.name for field in schema if field.name not in own and _IDS not in (field.metadata or {})]


def _field(schema: StructType, column: str) -> StructField | None:
    name = column_of(schema.fieldNames(), column)
    return None if name is None else schema[name]


def _metadata(schema: StructType) -> dict[str, Any]:
    field = _field(schema, "values")
    return {} if field is None else dict(field.metadata or {})


def dtype_of(schema: StructType) -> np.dtype[Any]:
    """The numpy type of the elements: the one in the metadata if it matches the column, else the column's."""
    values, imag = _field(schema, "values"), _field(schema, "imag")
    assert values is not None
    element = getattr(values.dataType, "elementType", None)
    column = element.simpleString() if element is not None else "?"
    if column not in _DTYPE_OF:
        raise InvalidInputError(
            f"Column values is {values.dataType.simpleString()}; expected an ARRAY of TINYINT, SMALLINT, INT,"
            " BIGINT, FLOAT or DOUBLE"
        )
    own = _DTYPE_OF[column]
    if imag is not None:
        own = _COMPLEX_OF.get(own, own)
    stated = _metadata(schema).get(_FILE_TYPE)
    if isinstance(stated, str):
        try:
            file = np.dtype(stated)
        except TypeError:
            return np.dtype(own)
        if _COLUMN_OF.get(file.name) == column and (file.kind == "c") == (imag is not None):
            return file
    return np.dtype(own)


def _stated_shape(schema: StructType, key: str, rank: int) -> tuple[int, ...] | None:
    text = _metadata(schema).get(key)
    if not isinstance(text, str) or text == "unknown":
        return None
    try:
        shape = tuple(int(part) for part in text.split(","))
    except ValueError:
        return None
    return shape if len(shape) == rank else None


def stated_extents(schema: StructType, kind: Kind) -> tuple[int, ...] | None:
    """Extents of the whole array, from the column metadata."""
    return _stated_shape(schema, _EXTENTS, kind.rank)


def stated_block_shape(schema: StructType, kind: Kind) -> tuple[int, ...] | None:
    """Extents of a full block, from the column metadata."""
    return _stated_shape(schema, _BLOCK_SHAPE, kind.rank)


def is_spectrum(schema: StructType) -> bool:
    """True if the column metadata names the transform that made these values."""
    return bool(_metadata(schema).get(_SPECTRUM))


def is_mixed(schema: StructType) -> bool:
    """True if the column metadata says that rows come from different transforms, or some from none."""
    return str(_metadata(schema).get(_SPECTRUM)).rpartition("|")[2] == "mixed"


@dataclass(frozen=True)
class Transform:
    """The last transform that made a spectrum.

    Attributes:
        axes: the transformed axes of the spectrum.
        half: if the last of ``axes`` has only half of its frequencies, its length before the transform; else None.
    """

    axes: tuple[int, ...]
    half: int | None


def transform_of(schema: StructType) -> Transform:
    """The last transform of a spectrum, from the column metadata."""
    metadata = _metadata(schema)
    fields = dict(field.split("=", 1) for field in str(metadata[_SPECTRUM]).rpartition("|")[2].split(";"))
    letters = str(metadata.get(_AXES, "xyz"))
    return Transform(
        tuple(letters.index(letter) for letter in fields["axes"]),
        int(fields["lastExtent"]) if fields["kind"] == "half" else None,
    )


def found_extents(df: DataFrame, kind: Kind) -> tuple[int, ...]:
    """Extents of the array, by a small Spark job over the positions of its blocks; runs now."""
    ends = [f"coalesce(max({offset} + {size}), 0)" for offset, size in zip(kind.offsets, kind.sizes, strict=True)]
    with translated():
        row = df.selectExpr(*ends).first()
    assert row is not None
    return tuple(int(end) for end in row)


def axis_order(before: StructType, after: StructType) -> tuple[int, ...]:
    """The permutation from an operator's input to its result, a volume, by the axis letters in the column metadata."""
    old, new = (str(_metadata(schema).get(_AXES, "xyz")) for schema in (before, after))
    return tuple(old.index(letter) for letter in new) if sorted(old) == sorted(new) else (0, 1, 2)


def with_metadata(df: DataFrame, metadata: dict[str, Any]) -> DataFrame:
    """The DataFrame with other metadata on its values column."""
    with translated():
        return df.withMetadata(column_of(df.schema.fieldNames(), "values") or "values", metadata)


def moved(df: DataFrame, kind: Kind, by: Sequence[int], but_first: bool) -> DataFrame:
    """The DataFrame with blocks moved along each axis, without column metadata.

    Args:
        df: blocks.
        kind: the kind of the blocks.
        by: distance along each axis, in elements.
        but_first: whether blocks at offset 0 stay.
    """
    from pyspark.sql.functions import col, when

    names = df.schema.fieldNames()
    columns = {name: col(quoted(name)) for name in names}
    for offset, step in zip(kind.offsets, by, strict=True):
        name = column_of(names, offset) or offset
        place = columns[name]
        columns[name] = when(place != 0, place + step).otherwise(place) if but_first else place + step
    return df.select(*(column.alias(name, metadata={}) for name, column in columns.items()))


def with_dtype(df: DataFrame, dtype: np.dtype[Any]) -> DataFrame:
    """The DataFrame with the numpy type of its values in the metadata; their column must be able to hold it."""
    with translated():
        return with_metadata(df, _metadata(df.schema) | {_FILE_TYPE: dtype.str})


def with_metadata_of(df: DataFrame, source: StructType, dtype: np.dtype[Any]) -> DataFrame:
    """The DataFrame with the metadata of ``source`` about the whole array, and another dtype."""
    metadata = _metadata(source) | {_FILE_TYPE: dtype.str}
    if dtype.kind != "c":
        metadata.pop(_SPECTRUM, None)
    return with_metadata(df, metadata)


def with_shapes(
    df: DataFrame, extents: tuple[int, ...] | None, block_shape: tuple[int, ...] | None
) -> DataFrame:
    """The DataFrame with other extents and block shape in its metadata, if they are known, and no axis order or spectrum."""
    metadata = _metadata(df.schema)
    for key in (_EXTENTS, _BLOCK_SHAPE, _AXES, _SPECTRUM, _WHOLE):
        metadata.pop(key, None)
    for key, shape in ((_EXTENTS, extents), (_BLOCK_SHAPE, block_shape)):
        if shape is not None:
            metadata[key] = numbers(shape)
    return with_metadata(df, metadata)


def with_places(
    df: DataFrame,
    columns: Mapping[str, str],
    extents: tuple[int, ...] | None = None,
    block_shape: tuple[int, ...] | None = None,
) -> DataFrame:
    """Blocks with other places and further columns, and the same values.

    Args:
        df: blocks.
        columns: SQL expression of each new column but those of the values; block columns are named in lower case.
        extents: extents of the whole array, which has no axis order and is no spectrum; by default the metadata stay.
        block_shape: the shape of a full block, if it is known; used with ``extents``.
    """
    names = df.schema.fieldNames()
    selected = [f"{_own_name(names, text)} AS {quoted(name)}" for name, text in columns.items()]
    selected += [quoted(name) for name in (column_of(names, "values"), column_of(names, "imag")) if name]
    with translated():
        moved = df.selectExpr(*selected)
        return moved if extents is None else with_shapes(moved, extents, block_shape)


def _own_name(names: Sequence[str], text: str) -> str:
    """An expression, or the quoted name of a block column in a DataFrame that writes it in another case."""
    return quoted(column_of(names, text) or text) if text in (*MATRIX.places, *VOLUME.places) else text


def without_axis(df: DataFrame, axis: int) -> DataFrame:
    """Blocks of a volume with extent 1 along an axis, converted to matrix blocks without this axis."""
    kept = [each for each in range(VOLUME.rank) if each != axis]
    of_volume = [names[each] for names in (VOLUME.offsets, VOLUME.sizes) for each in kept]
    extents, blocks = (
        None if stated is None else tuple(stated[each] for each in kept)
        for stated in (stated_extents(df.schema, VOLUME), stated_block_shape(df.schema, VOLUME))
    )
    moved = with_places(df, dict(zip(MATRIX.places, of_volume, strict=True)))
    with translated():
        return with_shapes(moved, extents, blocks)


def with_first_axis(df: DataFrame, extents: tuple[int, ...], batch: str | None = None) -> DataFrame:
    """Matrix blocks converted to blocks of a volume with extent 1 along its first axis: the inverse of :func:`without_axis`.

    Args:
        df: blocks.
        extents: extents of the matrix.
        batch: a further column, which stays.
    """
    columns = {"x": "0L", "y": "row", "z": "col", "nx": "1", "ny": "rows", "nz": "cols"}
    further = {} if batch is None else {batch: quoted(batch)}
    return with_places(df, further | columns, (1, *extents), (1, *(stated_block_shape(df.schema, MATRIX) or extents)))


def divisor(extent: int, most: int) -> int:
    """The largest divisor of an extent that is at most ``most``."""
    return next((size for size in range(min(extent, most), 0, -1) if extent % size == 0), 1)


def default_block_shape(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """A block shape of about 8 MiB: nearly square for a matrix, whole along the last axes for a volume."""
    budget = max(1, (8 << 20) // itemsize)
    if len(shape) == 3:
        sizes = [1, 1, 1]
        for axis in (2, 1, 0):
            sizes[axis] = max(1, min(shape[axis], budget // math.prod(sizes)))
        return tuple(sizes)
    side = math.isqrt(budget)
    rows = max(1, min(shape[0], max(side, budget // max(1, min(shape[1], side)))))
    return rows, max(1, min(shape[1], budget // rows))


def stored_block_shape(
    blocks: int | Sequence[int] | NDArray, shape: tuple[int, ...], dropped: tuple[int, ...], leading: int
) -> tuple[int, ...]:
    """The shape of a stored block, from a user's ``blocks`` argument; -1 means a whole axis.

    Args:
        blocks: the argument; it may leave out the leading axes, along which blocks have the extent 1.
        shape: shape of the array.
        dropped: axes of extent 1 that only the stored matrix has.
        leading: number of leading axes.

    Raises:
        InvalidInputError: if there is not one size of 1 or more for each axis.
    """
    sizes = integers("The shape of blocks", blocks)
    own = shape[leading:]
    if np.ndim(blocks) == 0:
        sizes *= len(own)
    elif len(sizes) == len(shape) and all(size in (1, -1) for size in sizes[:leading]):
        sizes = sizes[leading:]
    if len(sizes) != len(own) or any(size < 1 and size != -1 for size in sizes):
        raise InvalidInputError(
            f"Blocks of {blocks} for an array of shape {shape}; expected one size of 1 or more, or -1, for each axis"
            + (f", of which the first {leading} are 1 or left out" if leading else "")
        )
    stored = [extent if size == -1 else min(size, max(1, extent)) for size, extent in zip(sizes, own, strict=True)]
    for axis in dropped:
        stored.insert(axis, 1)
    return tuple(max(1, size) for size in stored)

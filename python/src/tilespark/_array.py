"""The array of this package: lazy, and held as a DataFrame of blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _blocks, _transfer
from ._blocks import MATRIX, VOLUME, Kind
from ._gaps import gap, no_ufunc
from ._labels import Labels
from ._session import check
from ._sql import Argument, call, numbers
from .errors import InvalidInputError, TileSparkError, UnsupportedError, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.storagelevel import StorageLevel

NDArray = np.ndarray[Any, np.dtype[Any]]

#: Bytes that ``numpy.asarray(x)`` and numpy's functions may bring to the driver without being asked to.
IMPLICIT_BYTES = 1 << 30

_LETTERS = "xyz"
_escaped: list[object] = []


class BlockArray:
    """A matrix, a vector, a volume or a batch of matrices, cut into blocks that are the rows of a DataFrame.

    Nothing is computed before :meth:`compute`, :meth:`to_npy` or an action on :attr:`df`. Operators return new arrays;
    they have numpy's names and meaning. Arrays come from :func:`from_numpy`, :func:`read_npy`, :func:`from_xarray` and
    :func:`from_dataframe`.
    """

    # The answer of numpy's own operators, where the left operand is a numpy array.
    __array_priority__ = 1000

    def __init__(
        self,
        df: DataFrame,
        *,
        batch: str | None = None,
        count: int | None = None,
        numbered: bool = False,
        dropped: tuple[int, ...] = (),
        labels: Labels | None = None,
        keep: tuple[object, ...] = (),
    ) -> None:
        """Use the makers; this wraps a DataFrame as it is.

        Args:
            df: blocks, with the columns of matrix or of volume blocks.
            batch: the column that tells the matrices of a batch apart.
            count: of the matrices of a batch, if it is known.
            numbered: whether ``batch`` has the numbers from 0 on; else its values are numbered in their order.
            dropped: axes of extent 1 of the stored matrix that the array does not have: a vector has one.
            labels: of the axes.
            keep: objects that must live as long as the DataFrame is read.
        """
        self._df = df
        self._batch = batch
        self._count = count
        self._numbered = numbered
        self._dropped = dropped
        self._labels = labels or Labels()
        self._keep = keep

    # What it is

    @cached_property
    def _kind(self) -> Kind:
        with translated():
            return _blocks.kind_of(self._df.schema)

    @cached_property
    def _extents(self) -> tuple[int, ...]:
        """Extents of the stored matrix or volume."""
        stated = _blocks.stated_extents(self._df.schema, self._kind)
        return stated if stated is not None else _blocks.found_extents(self._df, self._kind)

    @property
    def _is_batch(self) -> bool:
        return self._batch is not None

    @property
    def df(self) -> DataFrame:
        """The DataFrame of blocks: one row a block, see README's data model."""
        # Whoever has the DataFrame may read it when this array is gone.
        _escaped.extend(self._keep)
        return self._df

    @property
    def spark(self) -> SparkSession:
        """The session that this array belongs to."""
        return self._df.sparkSession

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis. Where the DataFrame does not state it, a small aggregate over places runs once."""
        extents = tuple(extent for axis, extent in enumerate(self._extents) if axis not in self._dropped)
        if self._batch is None:
            return extents
        if self._count is None:
            with translated():
                self._count = self._df.select(self._batch).distinct().count()
        return (self._count, *extents)

    @property
    def ndim(self) -> int:
        """Count of axes: 1 to 3."""
        return self._kind.rank - len(self._dropped) + self._is_batch

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of the elements. Unsigned types and bool lie in wider columns and come back as they were."""
        return _blocks.dtype_of(self._df.schema)

    @property
    def size(self) -> int:
        """Count of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the array in numpy."""
        return self.size * self.dtype.itemsize

    @property
    def blocks(self) -> tuple[int, ...] | None:
        """The shape of a full block, if the DataFrame states it; blocks at the far edges may be smaller."""
        stated = _blocks.stated_block_shape(self._df.schema, self._kind)
        if stated is None:
            return None
        shape = tuple(extent for axis, extent in enumerate(stated) if axis not in self._dropped)
        return (1, *shape) if self._is_batch else shape

    @property
    def spacing(self) -> tuple[float, ...]:
        """Distance between neighbours along each axis; of a spectrum, between the samples it was made of."""
        return self._labels.spacing or (1.0,) * self.ndim

    @property
    def dims(self) -> tuple[str, ...] | None:
        """Names of the axes, if :func:`from_xarray` gave some."""
        return self._labels.dims

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        blocks = "" if self.blocks is None else f", blocks={self.blocks}"
        return f"BlockArray(shape={self.shape}, dtype={self.dtype}{blocks})"

    def _repr_html_(self) -> str:
        from ._html import html

        return html(self)

    # Rearranging

    @property
    def T(self) -> BlockArray:
        """The array with its axes in reverse order; a vector is its own transpose."""
        return self.transpose()

    @property
    def mT(self) -> BlockArray:
        """The transposed matrix, or matrices of a batch."""
        if self._kind is not MATRIX or self.ndim < 2:
            raise InvalidInputError(f"mT of an array of {self.ndim} axes; expected a matrix or a batch of matrices")
        labels = self._labels.transposed([0, 2, 1] if self._is_batch else [1, 0])
        return self._called("transpose", labels)

    def transpose(self, *axes: int | Sequence[int] | None) -> BlockArray:
        """The array with axis i taken from axis ``axes[i]``; without arguments in reverse order. No data moves.

        Raises:
            InvalidInputError: if ``axes`` does not name each axis once.
        """
        order = self._order(axes)
        if order == tuple(range(self.ndim)):
            return self
        if self._is_batch:
            if order == (0, 2, 1):
                return self.mT
            raise UnsupportedError(
                f"transpose{order} of a batch of matrices; only the matrices can be transposed: .mT"
            )
        labels = self._labels.transposed(order)
        if self._kind is MATRIX:
            return self._called("transpose", labels)
        return self._called("permute", labels, axes="".join(_LETTERS[axis] for axis in order))

    def _order(self, axes: tuple[int | Sequence[int] | None, ...]) -> tuple[int, ...]:
        if not axes or axes == (None,):
            return tuple(reversed(range(self.ndim)))
        given = axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence) else axes
        order = tuple(self._axis(axis) for axis in given)  # type: ignore[arg-type]
        if sorted(order) != list(range(self.ndim)):
            raise InvalidInputError(f"transpose of axes {given}; expected each of 0 to {self.ndim - 1} once")
        return order

    def _axis(self, axis: int | str) -> int:
        """A number from 0 on for an axis: a number, a letter, or a name of :attr:`dims`."""
        if isinstance(axis, str):
            names = list(self.dims or ()) + [""] * 3
            for found in (names, list(_LETTERS[: self.ndim]), list(MATRIX.offsets)):
                if axis in found and found.index(axis) < self.ndim:
                    return found.index(axis)
        elif -self.ndim <= axis < self.ndim:
            return int(axis) % self.ndim
        raise InvalidInputError(f"There is no axis {axis!r} in an array of {self.ndim} axes")

    def rechunk(self, blocks: int | Sequence[int], *, missing: str | None = None) -> BlockArray:
        """The same array in blocks of another shape, smaller at the far edges.

        Args:
            blocks: the shape of a full block; -1 for the whole axis.
            missing: what an element in no block is: ``"error"`` (default) or ``"zero"``.
        """
        sizes = self._block_shape(blocks)
        return self._called(
            "reblock", self._labels, missing=missing, **dict[str, Argument](zip(self._kind.sizes, sizes, strict=True))
        )

    def _block_shape(self, blocks: int | Sequence[int]) -> tuple[int, ...]:
        return stored_block_shape(blocks, self.shape, self._dropped, self._is_batch)

    def slabs(self, axis: int | str, thickness: int | None = None) -> BlockArray:
        """A volume cut along one axis and whole along the others, as a Fourier transform takes it best."""
        self._require_volume("slabs")
        return self._called("slabs", self._labels, axis=_LETTERS[self._axis(axis)], thickness=thickness)

    def pencils(self, axis: int | str, section: tuple[int, int] | None = None) -> BlockArray:
        """A volume whole along one axis and cut along the others.

        Args:
            axis: the axis that is whole.
            section: elements of a pencil along the two other axes.
        """
        self._require_volume("pencils")
        first, second = section or (None, None)
        return self._called("pencils", self._labels, axis=_LETTERS[self._axis(axis)], first=first, second=second)

    # Arithmetic

    def __matmul__(self, other: Any) -> BlockArray:
        from .linalg import matmul

        if not _is_operand(other):
            return NotImplemented
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> BlockArray:
        from .linalg import matmul

        if not _is_operand(other):
            return NotImplemented
        return matmul(other, self)

    def __mul__(self, other: Any) -> BlockArray:
        if isinstance(other, BlockArray):
            if self._kind is not VOLUME or other._kind is not VOLUME:
                raise gap("__mul__")
            tables = {"a": self._df, "b": other._df}
            return self._of(call("volume_multiply_pointwise", tables), self._labels, other._keep)
        if not _is_number(other):
            return NotImplemented
        if isinstance(other, complex | np.complexfloating):
            raise UnsupportedError("An array times a complex number; expected a real one (or .map_blocks(lambda b: b * z))")
        wanted = np.result_type(self.dtype, other)
        return self._computable("*", wanted)._called("scale", self._labels, alpha=float(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> BlockArray:
        if not _is_number(other):
            return NotImplemented
        return self * (1 / float(other))

    def __neg__(self) -> BlockArray:
        return self * -1

    def __add__(self, other: Any) -> BlockArray:
        if isinstance(other, np.ndarray):
            other = self._operand(other)
        if not isinstance(other, BlockArray):
            if _is_number(other):
                raise gap("add_number")
            return NotImplemented
        if self._kind is not other._kind or self.shape != other.shape:
            raise InvalidInputError(
                f"The sum of arrays of shapes {self.shape} and {other.shape}; expected the same shape"
            )
        wanted = np.result_type(self.dtype, other.dtype)
        first, second = self._computable("+", wanted), other._computable("+", wanted)
        if first._dropped != second._dropped:  # a row beside a column
            second = second._stored_transpose()
        tables = {"a": first._df, "b": second._df}
        return first._of(call(self._kind.function("add"), tables), self._labels, other._keep)

    __radd__ = __add__

    def __sub__(self, other: Any) -> BlockArray:
        if isinstance(other, np.ndarray):
            other = self._operand(other)
        if not isinstance(other, BlockArray):
            if _is_number(other):
                raise gap("add_number")
            return NotImplemented
        return self + other * -1

    def __rsub__(self, other: Any) -> BlockArray:
        return (-self).__add__(other)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """numpy's operators on a numpy array and this one; other functions of numpy name what to do."""
        operation = _OPERATORS.get(ufunc.__name__)
        if method != "__call__" or kwargs or operation is None:
            raise no_ufunc(ufunc.__name__)
        if len(inputs) == 1:
            return -self
        first, second = inputs
        if isinstance(first, BlockArray):
            return getattr(first, f"__{operation}__")(second)
        return getattr(second, f"__r{operation}__")(first)

    def astype(self, dtype: Any) -> BlockArray:
        """The array in another dtype. A value that an integer type cannot hold fails the computation.

        Raises:
            UnsupportedError: if blocks cannot hold the dtype, or a complex array would lose its imaginary part.
        """
        target = _blocks.supported(dtype)
        if target == self.dtype:
            return self
        if (self.dtype.kind == "c") != (target.kind == "c"):
            raise UnsupportedError(
                f"astype({target.name!r}) of {self.dtype.name}: between real and complex there is .map_blocks(f, dtype=...)"
            )
        packed = call(self._kind.function("pack"), {"input": self._df}, dtype=target.name)
        return self._of(call(self._kind.function("unpack"), {"input": packed}, dtype=target.name), self._labels)

    def _computable(self, operator: str, wanted: np.dtype[Any]) -> BlockArray:
        """This array in a dtype that operators compute with."""
        if wanted.kind in "fc":
            return self if self.dtype == wanted else self._cast(wanted)
        raise UnsupportedError(
            f"{operator} of integers ({wanted.name}); operators compute with floating-point numbers:"
            " a.astype('float32') or a.astype('float64')"
        )

    def _cast(self, wanted: np.dtype[Any]) -> BlockArray:
        # float16 lies in a FLOAT column, which is computed with as it is.
        same_column = {self.dtype.name, wanted.name} <= {"float16", "float32"}
        return self if same_column else self.astype(wanted)

    def _floating(self) -> BlockArray:
        """As numpy's transforms promote: integers and bool to float64."""
        return self if self.dtype.kind in "fc" else self.astype("float64")

    def _operand(self, array: NDArray) -> BlockArray:
        from ._makers import from_numpy

        return from_numpy(array, spark=self.spark)

    def map_blocks(self, function: Callable[[NDArray], Any], *, dtype: Any = None) -> BlockArray:
        """Applies a Python function to each block.

        Args:
            function: takes a block as a read-only numpy array, returns one of the same shape. It runs in Spark's Python
                workers, which need numpy and pyarrow.
            dtype: of what the function returns; by default that of its result for an array of one element.

        Raises:
            InvalidInputError: if the dtype is not stated and the function fails on one element.
        """
        source = self.dtype
        if dtype is None:
            try:
                dtype = np.asarray(function(np.ones((1,) * self._kind.rank, source))).dtype
            except Exception as error:
                raise InvalidInputError(
                    f"map_blocks: the function fails on an array of one element ({error}); state its dtype=..."
                ) from error
        target = _blocks.supported(dtype)
        packed = call(self._kind.function("pack"), {"input": self._df}, dtype=source.name)
        mapped = _transfer.mapped(packed, self._kind, function, source, target)
        blocks = call(self._kind.function("unpack"), {"input": mapped}, dtype=target.name)
        with translated():
            kept = _blocks.with_metadata_of(blocks, self._df.schema, target)
        return self._of(kept, self._labels)

    # Running

    def persist(self, storage_level: StorageLevel | None = None) -> BlockArray:
        """Keeps the blocks in Spark's cache from their first computation on. Returns this array."""
        with translated():
            self._df = self._df.persist() if storage_level is None else self._df.persist(storage_level)
        return self

    def unpersist(self) -> BlockArray:
        """Frees what :meth:`persist` keeps. Returns this array."""
        self._df.unpersist()
        return self

    def explain(self, mode: str | bool | None = None) -> None:
        """Prints the plan: which operator runs, on which backend and why."""
        with translated():
            self._df.explain(mode)

    def validate(self) -> DataFrame:
        """All defects of the blocks, as a DataFrame (code, block, found, expected); empty if there are none."""
        return call(self._kind.function("validate"), {"input": self.df})

    def compute(self) -> NDArray:
        """The whole array as numpy's.

        Raises:
            TileSparkError: if a block is wrong, missing or doubled, or the array does not fit this machine's free
                memory or Spark's limit for what a driver collects (``spark.driver.maxResultSize``).
        """
        free = _free_bytes()
        if free is not None and self.nbytes > free:
            raise TileSparkError(
                f"{self!r} has {self.nbytes} bytes, and this machine has {free} free; write it with to_npy(path) and"
                " open that with numpy.load(path, mmap_mode='r')"
            )
        source = self._as_volume() if self._is_batch else self
        stored = _transfer.receive(source._df, source._kind, source._extents, self.dtype)
        return stored.reshape(self.shape) if self._dropped else stored

    to_numpy = compute

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("A BlockArray becomes a numpy array by a copy; copy=False cannot be kept")
        if self.nbytes > IMPLICIT_BYTES:
            raise TileSparkError(
                f"{self!r} has {self.nbytes} bytes, more than a function of numpy may bring here without being asked to"
                f" ({IMPLICIT_BYTES}); say .compute()"
            )
        return self.compute() if dtype is None else self.compute().astype(dtype, copy=False)

    def to_npy(self, path: str, *, dtype: Any = None, overwrite: bool = False) -> None:
        """Writes one ``.npy`` file, in parallel; it appears when it is whole.

        Args:
            path: on a file system that all executors share.
            dtype: of the file; by default this array's.
            overwrite: whether a file may be replaced.
        """
        source = self._as_volume() if self._is_batch else self
        name = _blocks.supported(self.dtype if dtype is None else dtype).name
        with translated():
            writer = source._df.write.format("npy").mode("overwrite" if overwrite else "error")
            writer = writer.option("dtype", name)
            writer.option("extents", numbers(source._extents)).save(str(path))

    def to_xarray(self, name: str | None = None) -> Any:
        """The whole array as an ``xarray.DataArray``, with the names and coordinates that :func:`from_xarray` gave."""
        import xarray

        dims, coords = self._labels.dims, self._labels.coords
        known = {key: value for key, value in coords.items() if set(value.dims) <= set(dims or ())}
        return xarray.DataArray(self.compute(), dims=dims, coords=known or None, name=name)

    # How operators make new arrays

    def _of(self, df: DataFrame, labels: Labels | None = None, keep: tuple[object, ...] = ()) -> BlockArray:
        """An array of the same shape over another DataFrame."""
        return BlockArray(
            df,
            batch=self._batch,
            count=self._count,
            numbered=self._numbered,
            dropped=self._dropped,
            labels=labels,
            keep=(*self._keep, *(each for each in keep if each not in self._keep)),
        )

    def _called(self, operator: str, labels: Labels, /, **arguments: Argument) -> BlockArray:
        """What the SQL function of an operator gives for this array."""
        return self._of(call(self._kind.function(operator), {"input": self._df}, **arguments), labels)

    def _stored_transpose(self) -> BlockArray:
        """A vector stored along the other axis."""
        df = call("matrix_transpose", {"input": self._df})
        flipped = tuple(1 - axis for axis in self._dropped)
        return BlockArray(df, dropped=flipped, labels=self._labels, keep=self._keep)

    def _as_volume(self) -> BlockArray:
        """A batch as one volume, with the matrices along its first axis."""
        batch = str(self._batch)
        df = self._df if self._numbered else _transfer.numbered(self._df, batch)
        return BlockArray(_transfer.stacked(df, batch, self.shape), keep=self._keep)

    def _require_volume(self, operator: str) -> None:
        if self._kind is not VOLUME:
            raise InvalidInputError(f"{operator} of an array of {self.ndim} axes; expected a volume, which has 3")

    def __getitem__(self, key: Any) -> BlockArray:
        raise gap("__getitem__")

    def __getattr__(self, name: str) -> Any:
        raise gap(name)


_OPERATORS = {
    "matmul": "matmul",
    "multiply": "mul",
    "add": "add",
    "subtract": "sub",
    "true_divide": "truediv",
    "divide": "truediv",
    "negative": "neg",
}


def _is_number(value: Any) -> bool:
    return isinstance(value, Number | np.number) and not isinstance(value, bool | np.bool_)


def _is_operand(value: Any) -> bool:
    return isinstance(value, BlockArray | np.ndarray)


def stored_block_shape(
    blocks: int | Sequence[int], shape: tuple[int, ...], dropped: tuple[int, ...], is_batch: bool
) -> tuple[int, ...]:
    """The shape of a stored block from what a user says of an array's blocks; -1 means a whole axis.

    Raises:
        InvalidInputError: if there is not one size of 1 or more for each axis.
    """
    sizes = [blocks] * len(shape) if isinstance(blocks, int) else list(blocks)
    if is_batch and len(sizes) == len(shape):
        sizes, shape = sizes[1:], shape[1:]
    elif is_batch:
        shape = shape[1:]
    if len(sizes) != len(shape) or any(size < 1 and size != -1 for size in sizes):
        raise InvalidInputError(
            f"Blocks of {blocks} for an array of shape {shape}; expected one size of 1 or more, or -1, for each axis"
        )
    stored = [extent if size == -1 else min(size, max(1, extent)) for size, extent in zip(sizes, shape, strict=True)]
    for axis in dropped:
        stored.insert(axis, 1)
    return tuple(max(1, size) for size in stored)


def _free_bytes() -> int | None:
    """Bytes that this machine can still give, where it says so."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return None


def as_array(value: Any, like: BlockArray | None = None) -> BlockArray:
    """A BlockArray, a DataFrame of blocks or a numpy array as a BlockArray."""
    if isinstance(value, BlockArray):
        return value
    if isinstance(value, np.ndarray):
        from ._makers import from_numpy

        return from_numpy(value, spark=None if like is None else like.spark)
    if hasattr(value, "sparkSession") and hasattr(value, "schema"):
        check(value.sparkSession)
        return BlockArray(value)
    raise InvalidInputError(f"Expected a BlockArray, a numpy array or a DataFrame of blocks, found {type(value).__name__}")

"""The array class of this package: a lazy array, stored as a DataFrame of blocks."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _blocks, _coordinates, _explain, _leading, _progress, _slices, _transfer
from ._arguments import flag, integer, integers, many, number, numpy_dtype
from ._blocks import MATRIX, VOLUME, Kind
from ._deep import views_of
from ._dispatch import call_function
from ._elementwise import BINARY, COMPARED, LOGICAL, SHIFTS, UNARY, expression, numpys_dtype, operators, steps, with_number
from ._gaps import OPERATORS, REDUCTIONS, gap, no_ufunc, with_option
from ._html import html
from ._labels import Labels, before, checked_spacing, of_two
from ._reductions import Axis, Reduction, Spread, reduction, spread
from ._session import check, session
from ._sql import Argument, call, kept, numbers, quoted
from .errors import InvalidInputError, TileSparkError, UnsupportedError, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.storagelevel import StorageLevel

NDArray = np.ndarray[Any, np.dtype[Any]]

#: Most bytes that ``numpy.asarray(x)`` collects to the driver without an explicit ``compute()``.
IMPLICIT_BYTES = 1 << 30

#: Most bytes of an array that keeps its values once they are computed, for loops over its elements.
REMEMBERED_BYTES = 64 << 10

_LETTERS = "xyz"
_EXPLAIN_MODES = ("simple", "extended", "codegen", "cost", "formatted")
_escaped: dict[int, object] = {}  # by id; kept alive until Python ends


class BlockArray:
    """An array cut into blocks, each of which is a row of a DataFrame.

    Blocks are those of a matrix or a volume. Of an array of more axes, or a batch of matrices, the axes before those of a
    matrix or a volume are not cut.

    Computation starts with :meth:`compute`, :meth:`to_npy` or an action on :attr:`df`. Operators return new arrays and
    have numpy's names and meaning. Arrays are made by :func:`from_numpy`, :func:`from_rows`, :func:`from_cells`,
    :func:`read_npy`, :func:`from_xarray` and :func:`from_dataframe`.
    """

    #: The class of the elements of small arrays; _element sets it, since it is derived from this one.
    _element_class: Callable[..., BlockArray]

    # Makes numpy let this class handle operators whose left operand is a numpy array.
    __array_priority__ = 1000

    def __init__(
        self,
        df: DataFrame,
        *,
        batch: str | None = None,
        lead: tuple[int, ...] | None = None,
        numbered: bool = False,
        dropped: tuple[int, ...] = (),
        labels: Labels | None = None,
        keep: tuple[object, ...] = (),
    ) -> None:
        """Wraps a DataFrame of blocks; users call functions such as :func:`from_numpy` instead.

        Args:
            df: blocks, with the columns of matrix blocks or of volume blocks.
            batch: the column that distinguishes several matrices or volumes.
            lead: extents of the leading axes, whose elements are these matrices or volumes; if unknown, there is one.
            numbered: whether the values of ``batch`` are 0, 1, 2...; else their order is that of the only leading axis.
            dropped: axes of extent 1 that the stored matrix has and the array does not have: one for a vector.
            labels: labels of the axes.
            keep: objects that must live as long as the DataFrame is read.
        """
        self._df = df
        self._batch = batch
        self._leading = lead
        self._numbered = numbered
        self._dropped = dropped
        self._labels = labels or Labels()
        self._keep = keep
        self._whole: BlockArray | None = None  # the same elements as a volume, see _leading.split
        self._made: DataFrame | None = None  # that of an array that persist keeps, with the plan that made it
        self._stored: tuple[BlockArray, tuple[_leading.StoredAxis, ...]] | None = None  # see _leading.of_stored

    # Properties

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
    def _own_extents(self) -> tuple[int, ...]:
        """Extents of the axes that are not leading ones."""
        return tuple(extent for axis, extent in enumerate(self._extents) if axis not in self._dropped)

    @property
    def _lead(self) -> tuple[int, ...]:
        """Extents of the leading axes, whose elements are matrices or volumes."""
        if self._batch is None:
            return ()
        if self._leading is None:
            with translated():
                self._leading = (self._df.select(quoted(self._batch)).distinct().count(),)
        return self._leading

    @property
    def _lead_rank(self) -> int:
        """Number of the leading axes."""
        return 0 if self._batch is None else 1 if self._leading is None else len(self._leading)

    @property
    def _known_shape(self) -> tuple[int | None, ...]:
        """The shape, with None for extents that only a Spark job would find."""
        known = self.__dict__.get("_extents") or _blocks.stated_extents(self._df.schema, self._kind)
        extents = known or (None,) * self._kind.rank
        own = tuple(extent for axis, extent in enumerate(extents) if axis not in self._dropped)
        return (*(self._leading or (None,) * self._lead_rank), *own)

    @property
    def df(self) -> DataFrame:
        """The DataFrame of blocks, one in each row; docs/operators.md describes its columns."""
        # The caller may read the DataFrame after this array is gone, so its inputs stay alive.
        _escaped.update((id(kept), kept) for kept in (*self._keep, *views_of(self._df)))
        return self._df

    @property
    def spark(self) -> SparkSession:
        """The session that this array belongs to."""
        return self._df.sparkSession

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis. If the DataFrame does not state them, a small Spark job finds them once."""
        return (*self._lead, *self._own_extents)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._lead_rank + self._kind.rank - len(self._dropped)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of the elements. Unsigned types and bool are stored in wider columns and keep their dtype."""
        return _blocks.dtype_of(self._df.schema)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the array takes in numpy."""
        return self.size * self.dtype.itemsize

    @property
    def blocks(self) -> tuple[int, ...] | None:
        """The shape of a full block, if the DataFrame states it; blocks at the end of an axis may be smaller."""
        stated = _blocks.stated_block_shape(self._df.schema, self._kind)
        if stated is None:
            return None
        shape = tuple(extent for axis, extent in enumerate(stated) if axis not in self._dropped)
        return (1,) * self._lead_rank + shape

    @property
    def spacing(self) -> tuple[float, ...]:
        """Distance between neighbours along each axis; for a spectrum, between the samples of the transformed array.

        NaN for an axis whose coordinates in xarray were uneven or not finite.
        """
        return self._labels.spacing or (1.0,) * self.ndim

    @property
    def dims(self) -> tuple[str, ...] | None:
        """Names of the axes, if :func:`from_xarray` set them; ``freq_time`` after a transform along ``time``, as in xrft."""
        return self._labels.dims

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[BlockArray]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        blocks = "" if self.blocks is None else f", blocks={self.blocks}"
        shape = str(self._known_shape).replace("None", "?")
        return f"BlockArray(shape={shape}, dtype={self.dtype}{blocks})"

    def _repr_html_(self) -> str:
        return html(self._known_shape, self.blocks, self.dtype)

    # Permutations and block shapes

    @property
    def T(self) -> BlockArray:
        """The array with its axes in reverse order; a vector is its own transpose."""
        return self.transpose()

    @property
    def mT(self) -> BlockArray:
        """The array with its last two axes exchanged: the transposed matrix, or matrices."""
        if self.ndim < 2:
            raise InvalidInputError(f"mT of {self._what}; expected two axes or more")
        return self.swapaxes(-2, -1)

    def transpose(self, *axes: int | str | Sequence[int | str] | NDArray | None) -> BlockArray:
        """The array whose axis i is axis ``axes[i]`` of this one; by default the axes in reverse order. No data moves.

        Raises:
            InvalidInputError: if ``axes`` does not name each axis once.
        """
        order = self._order(axes)
        if order == tuple(range(self.ndim)):
            return self
        return _leading.transposed(self, order, self._labels.transposed(order))

    def _order(self, axes: tuple[int | str | Sequence[int | str] | NDArray | None, ...]) -> tuple[int, ...]:
        if not axes or (len(axes) == 1 and axes[0] is None):
            return tuple(reversed(range(self.ndim)))
        given = axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence | np.ndarray) else axes
        order = tuple(self._axis(axis) for axis in given)  # type: ignore[arg-type]
        if sorted(order) != list(range(self.ndim)):
            raise InvalidInputError(f"transpose of axes {given}; expected each of 0 to {self.ndim - 1} once")
        return order

    def _axis(self, axis: int | str) -> int:
        """The number, from 0, of an axis that is given by its number, its letter or its name in :attr:`dims`."""
        if isinstance(axis, str):
            columns = [name for at, name in enumerate(self._kind.offsets) if at not in self._dropped]
            leading = [self._batch] if self._lead_rank == 1 else [""] * self._lead_rank
            dims = list(self.dims or ())
            for names in (dims, list(map(before, dims)), list(_LETTERS[: self.ndim]), [*leading, *columns]):
                if axis in names:
                    return names.index(axis)
        else:
            number = integer("axis", axis)
            if -self.ndim <= number < self.ndim:
                return number % self.ndim
        raise InvalidInputError(f"There is no axis {axis!r} in an array of {self.ndim} axes")

    def rechunk(self, blocks: int | Sequence[int] | NDArray, *, missing: str | None = None) -> BlockArray:
        """The same array in blocks of another shape; blocks at the end of an axis may be smaller.

        Args:
            blocks: the shape of a full block; -1 for the whole axis.
            missing: the value of elements in no block: ``"error"`` (default) raises, ``"zero"`` takes zero.
        """
        sizes = self._block_shape(blocks)
        return self._called(
            "reblock", self._labels, missing=missing, **dict[str, Argument](zip(self._kind.sizes, sizes, strict=True))
        )

    def _block_shape(self, blocks: int | Sequence[int] | NDArray) -> tuple[int, ...]:
        return _blocks.stored_block_shape(blocks, self.shape, self._dropped, self._lead_rank)

    def slabs(self, axis: int | str, thickness: int | None = None, *, missing: str | None = None) -> BlockArray:
        """A volume in slabs: blocks that are cut along one axis and whole along the others, the best layout for transforms.

        Args:
            axis: the axis that is cut.
            thickness: elements of a slab along this axis.
            missing: see :meth:`rechunk`.
        """
        along = self._letter("slabs", axis)
        return self._called("slabs", self._labels, axis=along, thickness=thickness, missing=missing)

    def pencils(
        self, axis: int | str, section: Sequence[int] | NDArray | None = None, *, missing: str | None = None
    ) -> BlockArray:
        """A volume in pencils: blocks that are whole along one axis and cut along the others.

        Args:
            axis: the axis that is whole.
            section: elements of a pencil along the two other axes.
            missing: see :meth:`rechunk`.
        """
        first, second = (None, None) if section is None else self._section(section)
        along = self._letter("pencils", axis)
        return self._called("pencils", self._labels, axis=along, first=first, second=second, missing=missing)

    # Slices, padding and rolls

    def __getitem__(self, key: Any) -> BlockArray:
        """numpy's slicing: ``x[100:200, ::2]``, ``x[..., -1]``, ``x[:, None]``, ``x[mask]``. Reads only the blocks that it needs.

        An index drops its axis, None adds one of extent 1. One of the entries may be a mask along its axis or a vector of
        indices, see :meth:`take`; if it is a BlockArray, it is computed now.

        Raises:
            InvalidInputError: if the result has no elements, since BlockArrays are never empty.
            IndexError: if an index is out of bounds.
            UnsupportedError: for masks of several axes, and for several masks or vectors.
        """
        chosen = _slices.array_in(key, self.shape)
        if chosen is not None:
            key, axis, indices = chosen
            return self.take(indices, axis)[key]
        entries, added = _slices.entries(key, self.shape)
        if entries and self.nbytes <= REMEMBERED_BYTES and all(isinstance(each, int) for each in entries) and not added:
            return self._element_class(self, tuple(entries))
        part = self._sliced(entries)
        shape = list(part.shape) if added else []
        for axis in added:
            shape.insert(axis, 1)
        return part.reshape(shape) if added else part

    def _sliced(self, entries: Sequence[slice | int]) -> BlockArray:
        """The slices, or the element, that each axis has an entry for."""
        if not self.size:
            shape = np.broadcast_to(0, self.shape)[tuple(entries)].shape
            return from_numpy(np.zeros(shape, self.dtype), spark=self.spark)
        lead = self._lead_rank
        stored = list(entries[lead:])
        for axis in self._dropped:
            stored.insert(axis, slice(None))
        part = _leading.sliced(self, entries[:lead])
        if not lead or any(entry != slice(None) for entry in stored):
            part = part._called("slice", None, slices=", ".join(map(_slices.text, stored)))
        part._labels = self._labels.sliced(entries)
        part = part._without([axis for axis, entry in enumerate(stored) if isinstance(entry, int)])
        if "_remembered" in self.__dict__:
            part._remembered = self._remembered[tuple(entries)]
        return part

    def take(self, indices: Any, axis: int | str) -> BlockArray:
        """The elements at some indices along an axis, as by numpy.take.

        Ascending indices leave elements in their blocks, which Spark's Python workers cut. Others move each index' part of the
        array as a block of its own; except along leading axes, where indices are renumbered.

        Args:
            indices: whole numbers; a BlockArray is computed now. ``x[mask]`` takes where a mask is true.
            axis: the axis.

        Raises:
            InvalidInputError: if there are no indices, since BlockArrays are never empty.
            IndexError: if an index is out of bounds.
        """
        along = self._axis(axis)
        given = _slices.values(indices)
        if given.dtype.kind == "b":
            raise InvalidInputError(f"take with bool values along axis {along}; expected whole numbers. x[mask] takes where a mask is true")
        if given.ndim != 1:
            shape = (*self.shape[:along], *given.shape, *self.shape[along + 1 :])
            return self.take(given.ravel(), along).reshape(shape)
        places = _slices.indices(given, along, self.shape[along])
        if not len(places):
            raise InvalidInputError(f"take of no index along axis {along} of {self._what}; expected one or more")
        labels = self._labels.taken(along, places)
        if along < self._lead_rank:
            return _leading.taken(self, along, places, labels)
        if (np.diff(places) <= 0).any():
            return _leading.along_first(self, along, lambda whole: _leading.taken(whole, 0, places, None), labels)
        own = [each for each in range(self._kind.rank) if each not in self._dropped][along - self._lead_rank]
        packed = call(self._kind.function("pack"), {"input": self._df}, dtype=self.dtype.name)
        extents = tuple(len(places) if each == own else extent for each, extent in enumerate(self._extents))
        parts = _transfer.selected(packed, self._kind, own, places, self.dtype)
        df = call(self._kind.function("unpack"), {"input": parts}, dtype=self.dtype.name, extents=numbers(extents))
        return self._of(df, labels)

    def _without(self, axes: Sequence[int]) -> BlockArray:
        """This array without stored axes of extent 1, which its labels no longer have."""
        if not axes:
            return self
        if self._batch is not None:
            own = tuple(extent for axis, extent in enumerate(self._extents) if axis not in axes)
            return _leading.reshaped(self, (*self._lead, *own), self._labels)
        df, dropped = self._df, sorted(axes)
        if self._kind is VOLUME:  # the rest is a matrix, or a vector stored as one
            df = _blocks.without_axis(df, dropped.pop(0))
            dropped = [axis - 1 for axis in dropped]
        return BlockArray(df, dropped=tuple(sorted({*self._dropped, *dropped})), labels=self._labels, keep=self._keep)

    def flip(self, axis: int | str | Sequence[int | str] | None = None) -> BlockArray:
        """The elements along some axes in reverse order, as numpy.flip; along all axes by default.

        Raises:
            InvalidInputError: if ``axis`` names no axis of the array, or an axis twice.
        """
        if axis is None:
            chosen = list(range(self.ndim))
        else:
            chosen = [self._axis(each) for each in (axis if isinstance(axis, Sequence) and not isinstance(axis, str) else [axis])]
        if len(set(chosen)) != len(chosen):
            raise InvalidInputError(f"flip along the axes {axis}; expected each once")
        if 0 in self._known_shape:
            return self
        own = [each for each in range(self._kind.rank) if each not in self._dropped]
        lead = self._lead_rank
        names = [self._kind.offsets[own[each - lead]] for each in chosen if each >= lead]
        turned = self._called("flip", None, axes=",".join(names)) if names else self
        if any(each < lead for each in chosen):
            turned = _leading.mapped(turned, lambda at, axis, extent: f"{extent - 1} - {at}" if axis in chosen else at)
        entries = [slice(None, None, -1 if each in chosen else None) for each in range(self.ndim)]
        return turned._of(turned._df, self._labels.sliced(entries))

    # Padding and reshaping

    def pad(self, pad_width: Any, mode: str = "constant", constant_values: float = 0) -> BlockArray:
        """The array with elements added before and after each axis, as by ``numpy.pad``.

        Args:
            pad_width: one number for all sides, ``(before, after)`` for all axes, or a pair for each axis; or a mapping from
                axes to numbers or pairs, ``{"time": (0, 5)}``.
            mode: ``"constant"``, ``"edge"``, ``"reflect"``, ``"symmetric"`` or ``"wrap"``.
            constant_values: one number, for the mode ``"constant"``.
        """
        value = number("constant_values", constant_values)
        if mode == "constant" and self.dtype.kind in "bui" and not (value == constant_values == np.array(value).astype(self.dtype)):
            raise InvalidInputError(
                f"pad of {self.dtype.name} values with {constant_values!r}; expected a number that they can be, and float64 too"
            )
        pairs = self._widths("pad_width", pad_width)
        padded = self
        for axis, pair in enumerate(pairs[: self._lead_rank]):
            if pair != (0, 0):
                around = (0, 0), pair, (0, 0)
                padded = _leading.along(padded, axis, lambda view: view.pad(around, mode, value))
        widths = padded._stored_widths("pad_width", [(0, 0)] * self._lead_rank + pairs[self._lead_rank :])
        return padded._called("pad", self._labels.of_axes(), widths=widths, mode=mode, value=value)

    def crop(self, crop_width: Any) -> BlockArray:
        """The array without some elements at both ends of each axis: ``x.pad(widths).crop(widths)`` is ``x``.

        Args:
            crop_width: numbers of elements, in the form of ``pad_width`` of :meth:`pad`.

        Raises:
            InvalidInputError: if the result has no elements.
        """
        pairs = self._widths("crop_width", crop_width)
        ends = [slice(first, max(first, extent - last)) for (first, last), extent in zip(pairs, self.shape, strict=True)]
        lead = self._lead_rank
        part = _leading.sliced(self, ends[:lead])
        widths = part._stored_widths("crop_width", [(0, 0)] * lead + pairs[lead:])
        return part._called("crop", self._labels.sliced(ends), widths=widths)

    def roll(self, shift: Any, axis: Any = None) -> BlockArray:
        """The array with each element moved by ``shift`` along ``axis``, as by ``numpy.roll``.

        Args:
            shift: one number, or one for each of several axes.
            axis: one or more axes; may be omitted for an array of one axis.
        """
        if axis is None and self.ndim > 1:
            raise UnsupportedError(f"roll of {self._what} without an axis, which numpy flattens; name the axes")
        axes = [self._axis(each) for each in many(0 if axis is None else axis)]
        shifts = integers("shift", shift)
        if len(shifts) == 1:
            shifts *= len(axes)
        if len(shifts) != len(axes):
            raise InvalidInputError(f"roll by {shift!r} along axes {axis!r}; expected one number, or one for each axis")
        by = [0] * self.ndim
        for along, places in zip(axes, shifts, strict=True):
            by[along] += places
        stored = by[self._lead_rank :]
        for dropped in self._dropped:
            stored.insert(dropped, 0)
        rolled = self
        if any(by[: self._lead_rank]):
            rolled = _leading.mapped(self, lambda at, axis, extent: f"pmod({at} + {by[axis]}, {extent})")
        return rolled._called("roll", self._labels.rolled(by), shift=numbers(tuple(stored)))

    def reshape(self, *shape: Any, order: str = "C") -> BlockArray:
        """The elements in row-major order in another shape, as by ``numpy.reshape``.

        Args:
            shape: an extent for each axis, or one sequence of them; -1 stands for the remaining extent.
            order: ``"C"``, the order of all arrays.
        """
        _in_rows("reshape", order)
        extents = integers("shape", shape[0] if len(shape) == 1 else shape)
        size, stated = self.size, math.prod(extent for extent in extents if extent != -1)
        whole = tuple(size // max(1, stated) if extent == -1 else extent for extent in extents)
        if extents.count(-1) > (stated > 0) or min(whole, default=0) < 0 or math.prod(whole) != size:
            raise InvalidInputError(f"reshape of {self._what} to {extents}; expected extents of {size} elements, one of which may be -1")
        return self if whole == self.shape else _leading.reshaped(self, whole)

    def ravel(self, order: str = "C") -> BlockArray:
        """The elements in row-major order as a vector; ``order`` is ``"C"``, the order of all arrays."""
        _in_rows("ravel", order)
        return self.reshape(-1)

    flatten = ravel

    def squeeze(self, axis: int | str | Sequence[int | str] | None = None) -> BlockArray:
        """The array without all axes of extent 1, or those in ``axis``, as by ``numpy.squeeze``."""
        at = [each for each, extent in enumerate(self.shape) if extent == 1]
        if axis is not None:
            at = [self._axis(each) for each in ((axis,) if isinstance(axis, int | str) else axis)]
        if any(self.shape[each] != 1 for each in at):
            raise InvalidInputError(f"squeeze of the axes {at} of {self._what}; expected axes of one element")
        kept = tuple(extent for each, extent in enumerate(self.shape) if each not in at)
        if len(kept) == self.ndim:
            return self
        array = self.reshape(kept)
        array._labels = self._labels.sliced([0 if each in at else slice(None) for each in range(self.ndim)])
        return array

    def swapaxes(self, axis1: int | str, axis2: int | str) -> BlockArray:
        """The array with two axes exchanged, as by ``numpy.swapaxes``."""
        order = list(range(self.ndim))
        first, second = self._axis(axis1), self._axis(axis2)
        order[first], order[second] = second, first
        return self.transpose(order)

    def copy(self, order: str = "C") -> BlockArray:
        """The array itself, since arrays are immutable; ``order`` is ``"C"``, the order of all arrays."""
        _in_rows("copy", order)
        return self

    def __copy__(self) -> BlockArray:
        return self

    def __deepcopy__(self, memo: Any) -> BlockArray:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise UnsupportedError(
            f"pickle of {self._what}: its blocks are Spark's, and Spark's tasks cannot use it either. Nearest: x.to_npy(path) and"
            " tilespark.read_npy(path); a function of map_blocks may use x.compute(), a numpy array"
        )

    def halo(self, depth: Any, edge: str = "constant") -> BlockArray:
        """The array in blocks with a halo: each block also holds elements of its neighbours, for Spark functions on :attr:`df`.
        :meth:`trim` removes the halo. Other methods refuse these blocks.

        Args:
            depth: width of the halo, in the form of ``pad_width`` of :meth:`pad`.
            edge: values of the halo outside the array: a mode of :meth:`pad`, ``"constant"`` (zeros), or ``"none"`` (no halo).
        """
        return self._called("halo", self._labels, widths=self._stored_widths("depth", depth), edge=edge)

    def trim(self, depth: Any = None) -> BlockArray:
        """The array without the halo that :meth:`halo` added to its blocks.

        Args:
            depth: the ``depth`` of ``halo``; needed only for a DataFrame whose column metadata was lost.
        """
        widths = None if depth is None else self._stored_widths("depth", depth)
        return self._called("trim", self._labels, widths=widths)

    def _widths(self, what: str, widths: Any) -> list[tuple[int, int]]:
        """Numbers of elements before and after each axis, from a ``pad_width``."""
        try:
            pairs = np.asarray(self._pairs(widths))
        except InvalidInputError:  # an unknown axis
            raise
        except ValueError:
            pairs = np.array("")
        if pairs.dtype.kind not in "iu" or (pairs < 0).any():
            raise InvalidInputError(
                f"{what} is {widths!r}; expected whole numbers of 0 or more: one, (before, after), or such a pair for each of"
                f" {self.ndim} axes"
            )
        return [(int(before), int(after)) for before, after in pairs]

    def _stored_widths(self, what: str, widths: Any) -> str:
        """The same for each axis of the stored matrix or volume, in the form of the SQL functions; leading axes have none."""
        pairs = self._widths(what, widths)
        if any(pair != (0, 0) for pair in pairs[: self._lead_rank]):
            raise UnsupportedError(f"{what} {widths!r} of {self._what}; expected (0, 0) for the first {self._lead_rank} axes")
        stored = pairs[self._lead_rank :]
        for dropped in self._dropped:
            stored.insert(dropped, (0, 0))
        return "; ".join(map(numbers, stored))

    def _pairs(self, widths: Any) -> Any:
        """Numbers of elements before and after each axis, from a ``pad_width``; axes that a mapping does not name have none."""
        if isinstance(widths, Mapping):
            of = {self._axis(axis): each for axis, each in widths.items()}
            widths = [tuple(np.broadcast_to(np.asarray(of.get(axis, 0)), 2)) for axis in range(self.ndim)]
        return np.broadcast_to(np.asarray(widths), (self.ndim, 2))

    @staticmethod
    def _section(section: Any) -> tuple[int, ...]:
        sizes = integers("section", section)
        if len(sizes) != 2:
            raise InvalidInputError(f"section is {section!r}; expected two whole numbers, for the axes that are cut")
        return sizes

    # Arithmetic

    def __matmul__(self, other: Any) -> BlockArray:
        if not _is_operand(other):
            return NotImplemented
        return self._matmul(as_array(other, self))

    def __rmatmul__(self, other: Any) -> BlockArray:
        if not _is_operand(other):
            return NotImplemented
        return as_array(other, self)._matmul(self)

    def _matmul(self, other: BlockArray, **options: Argument) -> BlockArray:
        """The matrix product with another array; ``options`` are further arguments of the SQL function."""
        one, two = self._matrices(), other._matrices()
        for array in (one, two):
            array._require_matrix("matmul", may_be_complex=True)
        leads = [array._lead for array in (one, two) if array._batch is not None]
        if one._own_extents[-1] != two._own_extents[0] or len(leads) == 2 and not _leading.fit(*leads):
            raise InvalidInputError(
                f"matmul of shapes {self.shape} and {other.shape}; expected the last axis of the first as long as the last but one"
                " of the second, and leading axes of the same extents, or 1"
            )
        if leads and one.ndim == 1:  # a vector meets each matrix as a matrix of one row or column
            return one.reshape(1, -1)._matmul(two, **options)._without([0])
        if leads and two.ndim == 1:
            return one._matmul(two.reshape(-1, 1), **options)._without([1])
        if len(leads) == 2:
            one, two = _leading.alike(one, two)
        wanted = np.result_type(one.dtype, two.dtype)
        first, second = one._factor(wanted), two._factor(wanted)
        # Without blocks nothing lists the matrices, so zeros with K = 1 are multiplied.
        rows, columns = first._own_extents[0], second._own_extents[-1]
        if leads and (one._own_extents[-1] == 0 or len(leads) == 1 and 0 in (rows, columns)):
            first, second = (
                from_numpy(np.zeros((*leads[0], *each), first.dtype), batch=True, spark=self.spark)
                for each in ((rows, 1), (1, columns))
            )
        # A vector is stored as a column or a row; as left operand it must be a row, as right operand a column.
        df = call(
            "matrix_multiply",
            {"a": first._df, "b": second._df},
            transposeA=True if first._dropped == (1,) else None,
            transposeB=True if second._dropped == (0,) else None,
            **options,
        )
        dropped = ((0,) if first._dropped else ()) + ((1,) if second._dropped else ())
        batch = first if first._batch is not None else second
        return batch._of(df, keep=(*first._keep, *second._keep), dropped=dropped)

    __add__, __radd__ = operators("add")
    __sub__, __rsub__ = operators("subtract")
    __mul__, __rmul__ = operators("multiply")
    __truediv__, __rtruediv__ = operators("divide")
    __floordiv__, __rfloordiv__ = operators("floor_divide")
    __mod__, __rmod__ = operators("remainder")
    __pow__, __rpow__ = operators("power")
    __and__, __rand__ = operators("bitwise_and")
    __or__, __ror__ = operators("bitwise_or")
    __xor__, __rxor__ = operators("bitwise_xor")
    __lshift__, __rlshift__ = operators("left_shift")
    __rshift__, __rrshift__ = operators("right_shift")
    __lt__, __gt__ = operators("less")[0], operators("greater")[0]
    __le__, __ge__ = operators("less_equal")[0], operators("greater_equal")[0]

    def __eq__(self, other: object) -> BlockArray:  # type: ignore[override]
        return self._operated("equal", other)

    def __ne__(self, other: object) -> BlockArray:  # type: ignore[override]
        return self._operated("not_equal", other)

    __hash__ = object.__hash__

    def __neg__(self) -> BlockArray:
        return self._function("negative")

    def __pos__(self) -> BlockArray:
        return self

    def __abs__(self) -> BlockArray:
        return self._function("absolute")

    def __invert__(self) -> BlockArray:
        return self._function("invert")

    @property
    def real(self) -> BlockArray:
        """The real parts."""
        return self.map("real(v)") if self.dtype.kind == "c" else self

    @property
    def imag(self) -> BlockArray:
        """The imaginary parts; zeros of a real array."""
        found = self.map("imag(v)")
        return found if self.dtype.kind == "c" else found._in(self.dtype)

    def conj(self) -> BlockArray:
        """The complex conjugates."""
        return self._function("conjugate")

    conjugate = conj

    def round(self, decimals: int = 0) -> BlockArray:
        """The elements rounded to ``decimals`` decimals; ties go to the even neighbour."""
        found = self.map(f"round(v, {integer('decimals', decimals)})")
        return found._in(self.dtype) if self.dtype.kind in "iu" else found

    def clip(self, min: Any = None, max: Any = None) -> BlockArray:
        """The elements limited to the range from ``min`` to ``max``, which are numbers or arrays."""
        limits = np.iinfo(self.dtype) if self.dtype.kind in "iu" else None
        if limits and isinstance(min, int) and min <= limits.min:
            min = None
        if limits and isinstance(max, int) and max >= limits.max:
            max = None
        raised = self if min is None else self._elementwise("maximum", min)
        return raised if max is None else raised._elementwise("minimum", max)

    def _function(self, name: str) -> BlockArray:
        """The result of a numpy function of one argument, for each element."""
        wanted = numpys_dtype(name, self.dtype)
        array = self
        for text in steps(name, self.dtype, wanted):
            array = array.map(text)
        return array._in(wanted)

    def _operated(self, name: str, other: Any, *, reflected: bool = False) -> BlockArray:
        """The result of a Python operator, see :meth:`_elementwise`; of no number and no array NotImplemented."""
        if not is_number(other) and not _is_operand(other):
            return NotImplemented  # type: ignore[no-any-return]
        return self._elementwise(name, other, reflected=reflected)

    def _elementwise(self, name: str, other: Any, *, reflected: bool = False) -> BlockArray:
        """The result of a numpy function for the elements of this array and another array, or a number.

        Args:
            name: the function's name.
            other: a number, an array, or a numpy array.
            reflected: whether this array is the second operand.
        """
        number = _number(other)
        if number is not None:
            if name in COMPARED and isinstance(number, int | np.integer) and not -(1 << 63) <= number < 1 << 63:
                number = math.copysign(math.inf, number)
            pair = (number, self.dtype) if reflected else (self.dtype, number)
            wanted = numpys_dtype(name, *pair)
            real = not isinstance(number, complex | np.complexfloating | bool | np.bool_)
            if name == "multiply" and real and wanted == self.dtype and wanted.kind in "fc":  # a later product absorbs a scale
                return self._called("scale", self._labels.computed(), alpha=float(number))
            text = expression(name, (self.dtype, np.result_type(self.dtype, number)), wanted, number=not reflected)
            text, scalars = with_number(text, self.dtype, number, reflected)
            return self.map(text, **scalars)._in(wanted)
        partner = as_array(other, self)
        first, second = (partner, self) if reflected else (self, partner)
        wanted = numpys_dtype(name, first.dtype, second.dtype)
        return first.zip(second, expression(name, (first.dtype, second.dtype), wanted))._in(wanted)

    def _in(self, wanted: np.dtype[Any]) -> BlockArray:
        """This result converted to numpy's dtype; a float16 result stays float32, in which it was computed."""
        return self if self.dtype == wanted or wanted == "float16" else self.astype(wanted)

    def _reduced(self, name: str, axis: Axis, keepdims: Any, **arguments: Argument) -> Any:
        """The result of an SQL reduction along axes, or over all elements."""
        keeps = flag("keepdims", keepdims)
        axes = list(range(self.ndim)) if axis is None else [self._axis(each) for each in many(axis)]
        if len(set(axes)) != len(axes):
            raise InvalidInputError(f"{name} along the axes {axis!r}; expected each once")
        if 0 in self._known_shape:
            return self._of_nothing(name, axes, keeps, arguments)
        if not axes:  # of each element alone
            found = self.reshape((1, *self.shape))._reduced(name, 0, False, **arguments)
            return found.reshape(self.shape) if self.ndim else as_array(np.asarray(found), self) if keeps else found
        labels = self._labels.reduced(axes, self.ndim, keeps)
        if any(each < self._lead_rank for each in axes):
            return _leading.reduced(self, name, axes, keeps, labels, **arguments)
        own = [each for each in range(self._kind.rank) if each not in self._dropped]
        stored = tuple(own[each - self._lead_rank] for each in axes)
        df = call(self._kind.function(name), {"a": self._df}, axis=numbers(stored), **arguments)
        array = self._of(df, labels)
        if keeps:
            return array
        return array._without(stored) if len(axes) < self.ndim else array._first()

    def _of_nothing(self, name: str, axes: Sequence[int], keepdims: bool, arguments: Mapping[str, Any]) -> Any:
        """A reduction of an array without elements, by numpy."""
        along = axes[0] if len(axes) == 1 else None if len(axes) == self.ndim else tuple(axes)
        options = {each: value for each, value in arguments.items() if value is not None}
        if "ord" in options and options["ord"] not in ("fro", "nuc"):
            options["ord"] = float(options["ord"])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function = np.linalg.norm if name == "norm" else getattr(np, name)
                found = np.asarray(function(np.zeros(self.shape, self.dtype), axis=along, keepdims=keepdims, **options))
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"{name} of {self._what}: {error}") from None
        if found.dtype == np.uint64:
            found = found.astype(np.int64)
        return from_numpy(found, spark=self.spark) if found.ndim or keepdims else found[()]

    def _first(self) -> Any:
        """The element of an array that is stored as one block of one element, as a numpy scalar; computed now."""
        with translated():
            row = self._df.first()
        assert row is not None
        return self.dtype.type(complex(row["values"][0], row["imag"][0]) if self.dtype.kind == "c" else row["values"][0])

    def _one(self, asked: str) -> Any:
        """The only element; errors name ``asked``."""
        if self.size != 1:
            raise InvalidInputError(f"{asked} of {self._what}; expected one element")
        return self.compute().item()

    def item(self) -> Any:
        """The only element of an array of size 1, as a Python number; computed now."""
        return self._one("item()")

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return self.round(ndigits or 0)

    def __float__(self) -> float:
        return float(self._one("float()"))

    def __int__(self) -> int:
        return int(self._one("int()"))

    def __complex__(self) -> complex:
        return complex(self._one("complex()"))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise InvalidInputError(
                f"The truth value of {self._what} is ambiguous; expected one element:"
                " x.any() or x.all(), or x is not None"
            )
        return bool(self._one("bool()"))

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError(f"{self._what} of {self.dtype.name} values as an index; expected an integer without axes")
        return int(self._one("index()"))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of the Python array API standard for this class: the package ``tilespark``."""
        package = sys.modules[__package__]  # its modules import this one
        versions = package.array_api.VERSIONS
        if api_version not in (None, *versions):
            raise InvalidInputError(f"api_version is {api_version!r}; expected one of {', '.join(versions)}")
        return package

    @property
    def device(self) -> str:
        """Where all arrays are, in the words of the array API standard: ``"spark"``."""
        return "spark"

    def to_device(self, device: str, /, *, stream: None = None) -> BlockArray:
        """The array itself, if ``device`` is ``"spark"``; ``compute`` makes a numpy array."""
        if device != self.device or stream is not None:
            raise UnsupportedError(f"to_device({device!r}); expected {self.device!r}, where all arrays are: x.compute()")
        return self

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Runs a numpy function on Spark, or raises an error with an alternative; never collects the array."""
        return call_function(func, args, kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Runs numpy's operators on numpy arrays and BlockArrays; other ufuncs raise an error with an alternative."""
        if method == "reduce" and ufunc.__name__ in REDUCTIONS:
            return call_function(getattr(np, REDUCTIONS[ufunc.__name__]), inputs, {"axis": 0} | kwargs)
        if method != "__call__":
            raise no_ufunc(ufunc.__name__, method, ufunc.nin)
        if ufunc.__name__ == "vecdot" and not kwargs.keys() - {"axis"}:
            return self.__array_namespace__().vecdot(*inputs, **kwargs)
        if kwargs:
            raise with_option(f"numpy.{ufunc.__name__}", next(iter(kwargs)))
        first, *others = [np.asarray(each) if isinstance(each, list | tuple) else each for each in inputs]
        if ufunc.__name__ == "matmul":
            return first @ others[0] if isinstance(first, BlockArray) else others[0].__rmatmul__(first)
        if ufunc.__name__ in UNARY:
            return self._function(ufunc.__name__)
        if ufunc.__name__ not in (*BINARY, *LOGICAL, *SHIFTS):
            raise no_ufunc(ufunc.__name__, method, ufunc.nin)
        if isinstance(first, BlockArray):
            return first._operated(ufunc.__name__, *others)
        return as_array(others[0])._operated(ufunc.__name__, first, reflected=True)

    def astype(self, dtype: Any) -> BlockArray:
        """The array in another dtype. A value that the dtype cannot hold fails the computation.

        numpy truncates or wraps values that do not fit: 2.7 as an integer, 2 as a bool, 300 as uint8, 1e300 as float32.
        For this behaviour use ``x.map_blocks(lambda b: b.astype(dtype))``.

        Raises:
            UnsupportedError: if blocks cannot hold the dtype, and from complex to real.
        """
        target = _blocks.supported(dtype)
        if target == self.dtype:
            return self
        if target.kind == "c" and self.dtype.kind != "c":
            return self.map("complex(v, 0)")._in(target)
        if self.dtype.kind == "c" and target.kind != "c":
            raise UnsupportedError(
                f"astype({target.name!r}) of {self.dtype.name}: a complex number has two parts. Nearest: x.real.astype({target.name!r})"
            )
        packed = call(self._kind.function("pack"), {"input": self._df}, dtype=target.name)
        return self._of(call(self._kind.function("unpack"), {"input": packed}, dtype=target.name), self._labels)

    def _computable(self, operator: str, wanted: np.dtype[Any]) -> BlockArray:
        """This array converted to ``wanted``, which must be a floating-point or complex dtype."""
        if wanted.kind in "fc":
            return self if self.dtype == wanted else self._cast(wanted)
        raise UnsupportedError(
            f"{operator} of integers ({wanted.name}); operators compute with floating-point numbers:"
            " a.astype('float32') or a.astype('float64')"
        )

    def _factor(self, wanted: np.dtype[Any]) -> BlockArray:
        """This array as an operand of a product. uint16 may become float32, since its INT column would give DOUBLE."""
        is_narrow = wanted.name in ("float32", "complex64")
        return self.astype("float32") if self.dtype.name == "uint16" and is_narrow else self

    def _cast(self, wanted: np.dtype[Any]) -> BlockArray:
        # float16 is stored in a FLOAT column, which needs no conversion.
        same_column = {self.dtype.name, wanted.name} <= {"float16", "float32"}
        return self if same_column else self.astype(wanted)

    def _floating(self) -> BlockArray:
        """The array with integers and bool converted to float64, as by numpy's transforms."""
        return self if self.dtype.kind in "fc" else self.astype("float64")

    def map_blocks(self, function: Callable[[NDArray], Any], *, dtype: Any = None) -> BlockArray:
        """Applies a Python function to each block.

        Args:
            function: takes a block as a read-only numpy array with the axes of this array, but not leading axes, and returns
                an array of the same shape. It runs in Spark's Python workers, which need numpy and pyarrow.
            dtype: dtype of the function's result; by default found by calling the function on an array of one element.

        Raises:
            InvalidInputError: if ``dtype`` is not given and the function fails on one element.
        """
        blocks = self._by_block("map_blocks", self._df, function, dtype)
        with translated():
            kept = _blocks.with_metadata_of(blocks, self._df.schema, _blocks.dtype_of(blocks.schema))
        return self._of(kept, self._labels.computed())

    def map_overlap(
        self, function: Callable[[NDArray], Any], depth: Any, *, edge: str = "none", dtype: Any = None
    ) -> BlockArray:
        """Applies a Python function to each block with a halo, elements of its neighbours, and removes the halo from the
        result: ``x.map_overlap(lambda b: scipy.ndimage.gaussian_filter(b, 1, truncate=3), 3)``.

        Args:
            function: see :meth:`map_blocks`. It takes a block with its halo and returns an array of the same shape.
            depth: width of the halo, in the form of ``pad_width`` of :meth:`pad`.
            edge: values of the halo outside the array: a mode of :meth:`pad`, or ``"none"`` for no halo, so that the
                function decides how to treat edges.
            dtype: see :meth:`map_blocks`.
        """
        before = [int(pair.split(",")[0]) for pair in self._stored_widths("depth", depth).split(";")]
        haloed = self.halo(depth, edge)
        # Offsets of haloed blocks may be negative, which operators refuse; blocks move by the halo's width and back.
        with translated():
            own = _blocks.moved(haloed._df, self._kind, before, edge == "none")
        df = haloed._by_block("map_overlap", own, function, dtype)
        with translated():
            back = _blocks.moved(df, self._kind, [-each for each in before], edge == "none")
            kept = _blocks.with_metadata_of(back, haloed._df.schema, _blocks.dtype_of(df.schema))
        return self._of(kept, self._labels.computed()).trim()

    def _by_block(self, method: str, df: DataFrame, function: Callable[[NDArray], Any], dtype: Any) -> DataFrame:
        """The blocks after a Python function, with the dtype as their only metadata."""
        source = self.dtype
        if dtype is None:
            try:
                dtype = np.asarray(function(np.ones((1,) * (self.ndim - self._lead_rank), source))).dtype
            except Exception as error:
                raise InvalidInputError(
                    f"{method}: the function fails on an array of one element ({error}); state its dtype=..."
                ) from error
        target = _blocks.supported(dtype)
        packed = call(self._kind.function("pack"), {"input": df}, dtype=source.name)
        mapped = _transfer.mapped(packed, self._kind, self._dropped, method, function, source, target)
        return call(self._kind.function("unpack"), {"input": mapped}, dtype=target.name)

    def map(self, expression: str, **scalars: float) -> BlockArray:
        """Computes each element from itself, in Spark and without a Python worker: ``x.map("sqrt(v) * s", s=2.5)``.

        Args:
            expression: an SQL expression in which ``v`` is the element, and ``row`` and ``col`` (``x``, ``y``, ``z``
                in a volume) are its indices; docs/elementwise.md lists the functions and the dtype of the result.
            scalars: numbers that the expression uses by name.
        """
        return self._called("map", self._labels.computed(), expression=expression, **scalars)

    def zip(self, other: Any, expression: str, *, missing: str | None = None, **scalars: float) -> BlockArray:
        """Computes each element from the elements of two arrays at the same position: ``x.zip(y, "a * b - 0.5")``.

        Shapes broadcast as in numpy: an axis of extent 1 is repeated, and axes are added before those of the array that has fewer.

        Args:
            other: an array, or a numpy array.
            expression: see :meth:`map`; ``a`` and ``b`` are the elements.
            missing: see :meth:`rechunk`.
            scalars: see :meth:`map`.
        """
        partner = as_array(other, self)
        if self._batch is None and partner._batch is None:
            first, second = self._of_rank(partner), partner._of_rank(self)
            first, second = (array._stored_transpose() if array._dropped == (1,) else array for array in (first, second))
        else:
            first, second = _leading.aligned(self, partner)
        tables = {"a": first._df, "b": second._df}
        df = call(first._kind.function("zip"), tables, expression=expression, missing=missing, **scalars)
        dropped = tuple(axis for axis in first._dropped if axis in second._dropped)
        labels = of_two(self._labels, partner._labels, (self.ndim, partner.ndim)).computed()
        return first._of(df, labels, (*first._keep, *second._keep), dropped)

    def _of_rank(self, other: BlockArray) -> BlockArray:
        """This array as a volume, with axes of extent 1 before its own, if the other one is a volume."""
        if self._kind is other._kind or self._kind is VOLUME:
            return self
        return self.reshape((1,) * (3 - self.ndim) + self.shape)

    # Reductions

    sum: Reduction = reduction("sum", "The sum of the elements; of integers and bool in int64.")
    mean: Reduction = reduction("mean", "The mean of the elements.")
    min: Reduction = reduction("min", "The least element; NaN if there is one.")
    max: Reduction = reduction("max", "The greatest element; NaN if there is one.")
    ptp: Reduction = reduction("ptp", "The greatest element less the least; NaN if there is one.")
    argmin: Reduction = reduction("argmin", "The place of the least element, the first of several, or of the first NaN.")
    argmax: Reduction = reduction("argmax", "The place of the greatest element, the first of several, or of the first NaN.")
    count_nonzero: Reduction = reduction("count_nonzero", "How many elements are not zero; NaN is not.")
    any: Reduction = reduction("any", "Whether an element is not zero; NaN is not.")
    all: Reduction = reduction("all", "Whether no element is zero; NaN is not.")
    nansum: Reduction = reduction("nansum", "The sum of the elements that are not NaN.")
    nanmean: Reduction = reduction("nanmean", "The mean of the elements that are not NaN; NaN if there is none.")
    var: Spread = spread("var", "The variance of the elements.")
    std: Spread = spread("std", "The standard deviation of the elements.")

    # Execution and output

    def persist(self, storage_level: StorageLevel | None = None) -> BlockArray:
        """Keeps the blocks in Spark's cache after their first computation. Returns this array.

        In a loop whose steps use an array several times, persist it in each step: plans then do not grow from step to step.
        Over Spark Connect they do; there ``x = tilespark.from_numpy(x.compute())`` helps.
        """
        if storage_level is not None and not hasattr(storage_level, "useMemory"):
            raise InvalidInputError(f"persist({storage_level!r}); expected a level of pyspark.StorageLevel")
        self._whole = self._stored = None  # they are not what is kept
        with translated():
            made = self._made or self._df
            made = made.persist() if storage_level is None else made.persist(storage_level)
            self._made, self._df = made, kept(made)
        return self

    def unpersist(self) -> BlockArray:
        """Frees the blocks that :meth:`persist` keeps. Returns this array."""
        with translated():
            self._df = self._made or self._df
            self._df.unpersist()
        self._made = None
        return self

    def explain(self, mode: str | bool | None = None) -> None:
        """Prints the plan in about ten lines: each operator of tilespark, from the result down, with its backend and the reason
        for it, the way in which tasks share the work, and what is exchanged.

        Args:
            mode: a mode of Spark's ``DataFrame.explain`` for Spark's whole plan: ``"simple"`` or False, ``"formatted"``,
                ``"extended"`` or True, ``"cost"``, ``"codegen"``.

        Raises:
            InvalidInputError: if ``mode`` is none of these.
        """
        if not (mode is None or isinstance(mode, bool) or (isinstance(mode, str) and mode in _EXPLAIN_MODES)):
            raise InvalidInputError(f"explain({mode!r}); expected one of {', '.join(_EXPLAIN_MODES)}, True or False")
        with translated():
            if mode is None:
                print(_explain.summary(repr(self), _explain.text_of(self._df)))
            else:
                self._df.explain(mode)

    def validate(self) -> DataFrame:
        """All defects of the blocks, as a DataFrame (code, block, found, expected); empty if there are none."""
        return call(self._kind.function("validate"), {"input": self.df})

    def compute(self) -> NDArray:
        """The whole array as a numpy array.

        Raises:
            TileSparkError: if a block is wrong, missing or duplicate, or the array exceeds this machine's free memory or
                Spark's limit for results (``spark.driver.maxResultSize``).
        """
        return self._values().copy() if self.nbytes <= REMEMBERED_BYTES else self._received()

    def _values(self) -> NDArray:
        """The values of a small array, which are computed once, since arrays never change."""
        if "_remembered" not in self.__dict__:
            self._remembered = self._received()
        return self._remembered

    def _received(self) -> NDArray:
        free = _free_bytes()
        needed = self.nbytes if _transfer.shares_files(self.spark) else 2 * self.nbytes
        if free is not None and needed > free:
            raise TileSparkError(
                f"{self!r} needs {needed} bytes on its way here, and this machine has {free} free; write it with to_npy(path) and"
                " open that with numpy.load(path, mmap_mode='r')"
            )
        source = _leading.merged(self)
        with _progress.shown(self.spark):
            stored = _transfer.receive(source._df, source._kind, source._extents, self.dtype)
        return stored.reshape(self.shape)

    to_numpy = compute

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("A BlockArray becomes a numpy array by a copy; copy=False cannot be kept")
        if self.nbytes > IMPLICIT_BYTES:
            raise TileSparkError(
                f"{self!r} has {self.nbytes} bytes, more than a function of numpy may bring here without being asked to"
                f" ({IMPLICIT_BYTES}); say .compute()"
            )
        target = None if dtype is None else numpy_dtype(dtype)
        return self.compute() if target is None else self.compute().astype(target, copy=False)

    def to_npy(self, path: str | os.PathLike[str], *, dtype: Any = None, overwrite: bool = False) -> None:
        """Writes one ``.npy`` file, in parallel; the file appears when it is complete. The driver writes a vector or a scalar.

        Args:
            path: on a file system that all executors share; for a vector or a scalar, a local path.
            dtype: dtype in the file; by default this array's.
            overwrite: whether to replace an existing file.

        Raises:
            UnsupportedError: for a vector or a scalar, if Spark runs on another machine or the path is not local.
        """
        file = _transfer.path_of(self.spark, path)
        flag("overwrite", overwrite)
        if self._dropped:
            return self._save(file, dtype, overwrite)
        name = _blocks.supported(self.dtype if dtype is None else dtype).name
        with translated("to_npy"), _progress.shown(self.spark):
            writer = _leading.with_columns(self).write.format("npy").mode("overwrite" if overwrite else "error")
            writer = writer.option("dtype", name).option("extents", numbers(self.shape))
            try:
                writer.save(file)
            except Exception as error:
                if "[PATH_ALREADY_EXISTS]" not in str(error):
                    raise
                raise _exists(file) from None

    def to_zarr(
        self,
        path: str | os.PathLike[str],
        component: str | None = None,
        *,
        chunks: int | Sequence[int] | None = None,
        shards: int | Sequence[int] | None = None,
        dtype: Any = None,
        overwrite: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes an array of Zarr 3, in parallel, with its attributes, the names of the axes and their spacing; it becomes
        visible when it is complete.

        Args:
            path: path of the store, on any file system that Spark can write.
            component: path of the array in the store. The group that holds it gets the coordinates too, as
                ``xarray.open_zarr`` reads them, after the array; without ``component`` there is no group for them.
            chunks: the shape of a chunk, -1 for a whole axis; by default the blocks' shape, unless they are very small or
                large. Of more than three axes those before the last three may be left out, along which chunks are 1 long.
            shards: the shape of a shard, a multiple of ``chunks``; by default each chunk is a file.
            dtype: dtype in the store; by default this array's.
            overwrite: whether to replace an existing array, which is removed before the first write, and other coordinates in
                the group, also those that other arrays share.
            options: further options of ``format("zarr")``, such as ``{"compressor": "gzip", "downsample": (2, 2, 2)}``.

        Raises:
            UnsupportedError: for a scalar.
            InvalidInputError: if there is an array, or the group has other coordinates of the same name, without ``overwrite``.
        """
        store = _transfer.path_of(self.spark, path)
        flag("overwrite", overwrite)
        if component is not None and not isinstance(component, str):
            raise InvalidInputError(f"to_zarr: component is {component!r}; expected a path in the store, such as 'run/pressure'")
        if self._dropped == (1,):
            self._stored_transpose().to_zarr(
                path, component, chunks=chunks, shards=shards, dtype=dtype, overwrite=overwrite, options=options
            )
            return
        if self._dropped and self.ndim != 1:
            raise UnsupportedError(
                f"to_zarr({store!r}) of {self._what}: arrays of 1 axis or more are written, each of its own; use"
                " zarr.save(path, x.compute())"
            )
        spacing, attributes, dims = self._labels.stored_spacing(), self._labels.attrs, self.dims
        further = {name: value if isinstance(value, str) else _joined(value) for name, value in (options or {}).items()}
        coordinates: dict[str, BlockArray] = {}
        if component and self._labels.has_coordinates():
            group = _coordinates.group_of(array_of_store(self.spark), store, component)
            coordinates, attributes = _coordinates.missing(self, group, overwrite, from_numpy)
            dims, known = self._labels.coordinates(self.shape)
            if "downsample" not in further and all(dim in known for dim in dims or ("",)):
                spacing = None  # the coordinates state it
        given: dict[str, Any] = {
            "component": component,
            "chunks": None if chunks is None else self._zarr_shape("chunks", chunks),
            "shards": None if shards is None else self._zarr_shape("shards", shards),
            "dtype": _blocks.supported(self.dtype if dtype is None else dtype).name,
            "extents": numbers(self.shape),
            "dimension_names": None if dims is None else json.dumps(dims),
            "spacing": None if spacing is None else ",".join(map(repr, map(float, spacing))),
            "attributes": _coordinates.text(attributes),
            **further,
        }
        with translated("to_zarr"), _progress.shown(self.spark):
            writer = _leading.with_columns(self).write.format("zarr").mode("overwrite" if overwrite else "error")
            for name, value in given.items():
                writer = writer if value is None else writer.option(name, str(value))
            try:
                writer.save(store)
            except Exception as error:
                if "[PATH_ALREADY_EXISTS]" not in str(error):
                    raise
                place = f"{store}/{component.strip('/')}" if component else store
                raise InvalidInputError(f"The array {place} exists; to_zarr(path, overwrite=True) replaces it") from None
        for name, values in coordinates.items():
            _coordinates.put(group, name, values, overwrite)

    def _zarr_shape(self, name: str, value: int | Sequence[int]) -> str:
        """The option for the extents of a chunk or shard, -1 for a whole axis."""
        sizes = integers(name, value)
        if np.ndim(value) == 0:
            sizes = sizes * min(self.ndim, self._kind.rank)
        own = self.shape[max(0, self.ndim - len(sizes)) :]
        return numbers(tuple(max(1, own[at]) if size == -1 and at < len(own) else size for at, size in enumerate(sizes)))

    def _save(self, path: str, dtype: Any, overwrite: bool) -> None:
        """Writes a vector or a scalar, which Spark stores as a matrix, from the driver."""
        target = _transfer.local_path(self.spark, path)
        if target is None:
            raise UnsupportedError(
                f"to_npy({path!r}) of {self._what}: Spark writes files of 2 or 3 axes, and this path is not one of"
                " Python's own; use numpy.save(path, x.compute())"
            )
        if target.exists() and not overwrite:
            raise _exists(target)
        array = (self if dtype is None else self.astype(dtype)).compute()
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                np.save(file, array, allow_pickle=False)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def to_rows(self, column: str = "values") -> DataFrame:
        """A DataFrame with one row for each row of a matrix: its number ``row``, its elements as an array and, if
        :func:`from_rows` had ids and no operator dropped them, its id.

        Args:
            column: the name of the column of arrays.
        """
        self._require_matrix("to_rows")
        return call("matrix_to_rows", {"input": self.df}, column=column)

    def row_ids(self) -> DataFrame:
        """The row ids of an array made by :func:`from_rows`: the row number ``row``, and the id under its column's name.

        Operators drop ids; ``y.to_rows().join(x.row_ids(), "row")`` restores them.
        """
        self._require_matrix("row_ids")
        return call("matrix_row_ids", {"input": self.df})

    def to_cells(self) -> DataFrame:
        """A DataFrame with one row for each element of a matrix: ``row``, ``col``, ``value``."""
        self._require_matrix("to_cells")
        return call("matrix_to_cells", {"input": self.df})

    def to_xarray(self, name: str | None = None) -> Any:
        """The whole array as an ``xarray.DataArray``, with name, attributes, dimensions and coordinates from
        :func:`from_xarray`. The dimension ``time`` of a spectrum is ``freq_time``, as in xrft, with the frequencies as its
        coordinates, in cycles per unit of the spacing, in the order of the elements.

        Args:
            name: the name of the result; by default this array's.
        """
        import xarray

        dims, known = self._labels.coordinates(self.shape)
        own = self._labels.name if name is None else name
        return xarray.DataArray(self.compute(), dims=dims, coords=known or None, name=own, attrs=self._labels.attrs)

    # Internals

    def _of(
        self, df: DataFrame, labels: Labels | None = None, keep: tuple[object, ...] = (), dropped: tuple[int, ...] | None = None
    ) -> BlockArray:
        """An array with the same leading axes over another DataFrame, and with the same dropped axes unless others are given."""
        return BlockArray(
            df,
            batch=self._batch,
            lead=self._leading,
            numbered=self._numbered,
            dropped=self._dropped if dropped is None else dropped,
            labels=labels,
            keep=(*self._keep, *(each for each in keep if each not in self._keep)),
        )

    def _with(
        self,
        df: DataFrame,
        lead: tuple[int, ...] = (),
        *,
        column: str = _leading.COLUMN,
        dropped: tuple[int, ...] = (),
        labels: Labels | None = None,
    ) -> BlockArray:
        """An array over another DataFrame, with leading axes whose elements a column numbers."""
        batch = column if lead else None
        return BlockArray(df, batch=batch, lead=lead or None, numbered=True, dropped=dropped, labels=labels, keep=self._keep)

    def _matrices(self) -> BlockArray:
        """The array stored as matrices; a volume, as a stack of matrices."""
        return _leading.as_kind(self, MATRIX)

    def _called(self, operator: str, labels: Labels | None, /, **arguments: Argument) -> BlockArray:
        """The result of an operator's SQL function on this array."""
        return self._of(call(self._kind.function(operator), {"input": self._df}, **arguments), labels)

    def _stored_transpose(self) -> BlockArray:
        """The same vector, stored along the other axis of its matrix."""
        df = call("matrix_transpose", {"input": self._df})
        flipped = tuple(1 - axis for axis in self._dropped)
        return BlockArray(df, dropped=flipped, labels=self._labels, keep=self._keep)

    def _with_keys_of(self, other: BlockArray) -> BlockArray:
        """This numbered array with the column, and its values, of another array with the same leading axes."""
        batch = str(other._batch)
        with translated():
            df = self._df.withColumnRenamed(str(self._batch), batch)
            if not other._numbered:
                df = _transfer.numbered(other._df, batch, inverse=df)
        return BlockArray(df, batch=batch, lead=self._leading, numbered=other._numbered, labels=self._labels, keep=self._keep)

    def _require_matrix(self, operator: str, may_be_complex: bool = False) -> None:
        if self._kind is not MATRIX or not self.ndim:
            raise InvalidInputError(f"{operator} of {self._what}; expected a matrix, a vector or a batch of matrices")
        if self.dtype.kind == "c" and not may_be_complex:
            raise UnsupportedError(
                f"{operator} of {self.dtype.name} values; expected real ones: a.map_blocks(np.real) and a.map_blocks(np.imag) are"
                " the parts, to be used apart"
            )

    def _letter(self, operator: str, axis: int | str) -> str:
        """The letter of an axis of a volume, for SQL functions."""
        if self._kind is not VOLUME:
            raise InvalidInputError(f"{operator} of {self._what}; expected a volume, or an array of volumes")
        own = self._axis(axis) - self._lead_rank
        if own < 0:
            raise InvalidInputError(f"{operator} along axis {axis!r} of {self._what}; expected one of the last three axes")
        return VOLUME.offsets[own]

    @property
    def _what(self) -> str:
        """A description of this array for error messages."""
        if self._batch is not None:
            name = "a batch of matrices" if self._kind is MATRIX else "an array of volumes"
        else:
            name = ("a scalar", "a vector", "a matrix", "a volume")[self.ndim]
        return f"{name} of shape {self.shape}"

    def __getattr__(self, name: str) -> Any:
        raise gap(name, dir(type(self)))


def _missing(name: str) -> Callable[..., Any]:
    def operator(self: BlockArray, *others: Any) -> Any:
        raise gap(name)

    return operator


for _name in ("setitem", *OPERATORS):
    setattr(BlockArray, f"__{_name}__", _missing(f"__{_name}__"))


def _number(value: Any) -> Any:
    """A Python or numpy number with a type that numpy knows; None for other values."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, int | float | complex | np.number | np.bool_):
        return value
    return float(value) if isinstance(value, Number) else None  # type: ignore[arg-type]


def _in_rows(method: str, order: Any) -> None:
    if order not in ("C", "A", "K"):
        raise UnsupportedError(f"{method} with order={order!r}; expected 'C'. Nearest: x.T.{method}(...), and its result's .T")


def is_number(value: Any) -> bool:
    """True for a number of Python or numpy, which may be an array without axes."""
    return _number(value) is not None


def _is_operand(value: Any) -> bool:
    return isinstance(value, BlockArray | np.ndarray)


def stored_array(reader: DataFrameReader, maker: str, path: str, blocks: int | Sequence[int] | None, dtype: Any = None) -> BlockArray:
    """A stored array, with the names and spacing that the source states."""
    if dtype is not None:
        name = numpy_dtype(dtype).name
        wanted = {"float32": "float", "float64": "double"}.get(name)
        if wanted is None:
            raise UnsupportedError(f"{maker}(dtype={name!r}): expected float32 or float64; or .astype({name!r}) after reading")
        reader = reader.option("as", wanted)
    with translated():
        df = reader.load(path)
        schema = df.schema
        kind = _blocks.kind_of(schema)
        extents = _blocks.stated_extents(schema, kind)
        assert extents is not None
        stored = schema["values"].metadata
        leading = [field for field in schema if "tilespark.extent" in (field.metadata or {})]
        lead = tuple(field.metadata["tilespark.extent"] for field in leading)
        names: Sequence[str] = stored.get("tilespark.stored.names", [""] * (len(lead) + kind.rank))
        dropped = tuple(range(len(lead) + kind.rank - len(names)))  # for a vector, the axis of extent 1
        if blocks is not None:
            shape = _blocks.stored_block_shape(blocks, (*lead, *extents[len(dropped) :]), dropped, len(lead))
            df = reader.option("blockShape", numbers(shape)).load(path)
    array = BlockArray(df, dropped=dropped)
    if lead:
        axes = [_leading.StoredAxis(field.name, each, range(each), True) for field, each in zip(leading, lead, strict=True)]
        array = _leading.of_stored(array, axes)
    is_named = len(set(names)) == len(names) and all(names)
    array._labels = Labels(
        dims=tuple(names) if is_named else None,
        spacing=tuple(stored.get("tilespark.stored.spacing", ())) or None,
        attrs=json.loads(stored.get("tilespark.stored.attributes", "{}")),
    )
    return array


def array_of_store(spark: SparkSession, missing: str | None = None) -> Callable[[str, str], BlockArray]:
    """A function that reads an array by the path of its Zarr store and its path in it, without coordinates."""

    def read(store: str, component: str) -> BlockArray:
        reader = spark.read.format("zarr").option("component", component)
        return stored_array(reader if missing is None else reader.option("missing", missing), "read_zarr", store, None)

    return read


def _joined(value: Any) -> Any:
    """An option of a writer: a sequence or a dictionary as its text."""
    if isinstance(value, Mapping):
        return json.dumps(value)
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def _exists(file: object) -> InvalidInputError:
    return InvalidInputError(f"The file {file} exists; to_npy(path, overwrite=True) replaces it")


def _free_bytes() -> int | None:
    """Bytes of free memory on this machine, or in this process' container; None if unknown."""
    available = re.search(r"MemAvailable:\s+(\d+)", _text("/proc/meminfo"))
    free = [int(available[1]) << 10] if available else []
    limit, used = (_text(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    if limit.isdigit() and used.isdigit():
        cached = re.findall(r"^(?:in)?active_file (\d+)", _text("/sys/fs/cgroup/memory.stat"), re.MULTILINE)
        free.append(int(limit) - int(used) + sum(map(int, cached)))
    return min(free, default=None)


def _text(path: str) -> str:
    try:
        return Path(path).read_text("ascii")
    except OSError:
        return ""


def from_numpy(
    a: Any,
    blocks: int | Sequence[int] | None = None,
    *,
    batch: bool = False,
    spacing: float | Sequence[float] | None = None,
    spark: SparkSession | None = None,
) -> BlockArray:
    """A BlockArray with a copy of a numpy array's values.

    Blocks are cut along the last three axes of an array of three axes or more.

    Args:
        a: a numpy array, or a value that ``numpy.asarray`` accepts.
        blocks: the shape of a full block, -1 for a whole axis; by default about 8 MiB. Along axes that are not cut, the
            size is 1 or left out.
        batch: whether three axes or more are stored as matrices, which are cut along the last two axes only.
        spacing: distance between neighbours, one number or one for each axis; Fourier transforms use it.
        spark: the session; by default the active one.

    Raises:
        InvalidInputError: if elements of ``a`` are masked.
        UnsupportedError: if blocks cannot hold the dtype.
        SetupError: if there is no session with tilespark.
    """
    if np.ma.is_masked(a):
        raise InvalidInputError(
            f"A masked array with {np.count_nonzero(a.mask)} masked elements; blocks have no masks: a.filled(value) puts a value there"
        )
    flag("batch", batch)
    try:
        array = np.asarray(a)
    except ValueError as error:  # rows of different lengths
        raise InvalidInputError(f"from_numpy of {type(a).__name__}: numpy makes no array of it: {error}") from None
    dtype = _blocks.supported(array.dtype)
    if batch and array.ndim < 3:
        raise InvalidInputError(f"batch=True with an array of {array.ndim} axes; expected 3 or more: (matrices, rows, columns)")
    shape, spark = array.shape, session(spark)
    labels = Labels(spacing=checked_spacing(spacing, array.ndim))
    dropped = ((0, 1), (1,), (), ())[min(array.ndim, 3)]
    kind = MATRIX if batch or array.ndim < 3 else VOLUME
    lead = shape[: max(0, array.ndim - kind.rank)]
    own = (shape[len(lead) :] + (1, 1))[: kind.rank]
    if blocks is None:
        block = own if batch else _blocks.default_block_shape(own, dtype.itemsize)
        block = tuple(max(1, extent) for extent in block)
    else:
        block = _blocks.stored_block_shape(blocks, shape, dropped, len(lead))
    if not lead:
        df, keep = _transfer.send(spark, np.asarray(array.reshape(own), dtype), block)
        return BlockArray(df, dropped=dropped, labels=labels, keep=tuple(keep))
    # All axes but the last two become one, of whose elements no block holds more than one matrix, or a part of a volume.
    first, block = (1, (1, *block)) if batch else (own[0], (_blocks.divisor(own[0], block[0]), *block[1:]))
    merged = np.asarray(array.reshape(math.prod(lead) * first, *own[-2:]), dtype)
    df, keep = _transfer.send(spark, merged, block)
    volume = BlockArray(df, keep=tuple(keep))
    if not batch:
        return _leading.split(volume, shape, labels)
    matrices = _leading.as_kind(volume, MATRIX)
    return matrices._with(matrices._df, lead, labels=labels)


def is_dataframe(value: Any) -> bool:
    """True for a Spark DataFrame."""
    return hasattr(value, "sparkSession") and hasattr(value, "schema")


def as_array(value: Any, like: BlockArray | None = None) -> BlockArray:
    """Converts a BlockArray, a DataFrame of blocks or a numpy array to a BlockArray.

    Args:
        value: the array; a numpy array is stored as matrices if ``like`` is.
        like: the other operand, if there is one.
    """
    if isinstance(value, BlockArray):
        return value
    if isinstance(value, np.ndarray):
        if like is None:
            return from_numpy(value)
        if like._batch is None or like._kind is VOLUME or value.ndim < 3:
            return from_numpy(value, spark=like.spark)
        array = from_numpy(value, batch=True, spark=like.spark)
        return array._with_keys_of(like) if not like._numbered and array.shape[:-2] == like._lead else array
    if is_dataframe(value):
        check(value.sparkSession)
        return BlockArray(value)
    raise InvalidInputError(f"Expected a BlockArray, a numpy array or a DataFrame of blocks, found {type(value).__name__}")


def concatenate(arrays: Sequence[BlockArray | NDArray | DataFrame], axis: int | str = 0) -> BlockArray:
    """Arrays of one dtype joined along an axis, as numpy.concatenate. A union of their blocks: no block moves.

    Args:
        arrays: arrays of as many axes, with the same extents along the other axes.
        axis: a number, a letter or a name.

    Raises:
        InvalidInputError: if numbers of axes, dtypes or extents differ.
    """
    found = _same_kind("concatenate", arrays)
    first = found[0]
    along = first._axis(axis)
    if along < first._lead_rank:
        return _leading.joined(found, along)
    own = [each for each in range(first._kind.rank) if each not in first._dropped]
    letter = first._kind.offsets[own[along - first._lead_rank]]
    whole = first
    for other in found[1:]:
        df = call(first._kind.function("concat"), {"a": whole._df, "b": other._df}, axis=letter)
        whole = whole._of(df, first._labels.joined(along), other._keep)
    return whole


def _same_kind(operator: str, arrays: Sequence[Any]) -> list[BlockArray]:
    """The operands as BlockArrays that are stored alike."""
    if not isinstance(arrays, Sequence) or not arrays:
        raise InvalidInputError(f"{operator} of {type(arrays).__name__}; expected a list or tuple of one array or more")
    like = next((array for array in arrays if isinstance(array, BlockArray)), None)
    found = [as_array(array, like) for array in arrays]
    first = found[0]
    for other in found[1:]:
        if first.ndim != other.ndim:
            raise InvalidInputError(f"{operator} of {first._what} and {other._what}; expected arrays of as many axes")
        if first.dtype != other.dtype:
            raise InvalidInputError(f"{operator} of {first.dtype.name} and {other.dtype.name} values; expected one dtype (astype)")
    if any(each._batch is not None for each in found):
        return [_leading.numbered(_leading.as_kind(each, VOLUME if first.ndim > 3 else MATRIX)) for each in found]
    return [each if each._dropped == first._dropped else each._stored_transpose() for each in found]

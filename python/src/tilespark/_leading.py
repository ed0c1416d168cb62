"""Arrays of any number of axes, stored as many matrices or volumes in one DataFrame.

The last axes are those of a matrix or a volume. The axes before them, the leading axes, are not cut: a column of the DataFrame
numbers their elements in row-major order. So slices, rolls and transposes of leading axes are arithmetic on that column, and
no value moves. Where an operator needs a leading axis inside a block, the array becomes one matrix or volume with the same
elements in the same order (:func:`merged`), in which the axis is one of three: those before it as one, itself, those after
it as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _blocks, _transfer
from ._blocks import MATRIX, VOLUME, Kind
from ._sql import call, numbers, quoted
from .errors import InvalidInputError, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ._array import BlockArray
    from ._labels import Labels

#: The column that numbers matrices or volumes, where the user named none.
COLUMN = "batch"

Shape = tuple[int, ...]
NDArray = np.ndarray[Any, np.dtype[Any]]


def numbered(x: BlockArray) -> BlockArray:
    """The array with leading elements numbered from 0, in place of a user's keys."""
    if x._batch is None or x._numbered:
        return x
    lead = x._lead
    return x._with(_transfer.numbered(x._df, x._batch), lead, column=x._batch, labels=x._labels)


def renumbered(x: BlockArray, number: str, lead: Shape, where: str | None = None, labels: Labels | None = None) -> BlockArray:
    """The array with other leading axes.

    Args:
        x: a numbered array.
        number: SQL expression of the new number of a matrix or volume, from its old one in the column.
        lead: extents of the new leading axes, in whose row-major order the new numbers are; empty for an array without leading axes.
        where: SQL condition on the old numbers; the others are left out.
        labels: labels of the result.
    """
    with translated():
        df = x._df if where is None else x._df.where(where)
    batch = {str(x._batch): number} if lead else {}
    df = _blocks.with_places(df, batch | {name: name for name in x._kind.places})
    return x._with(df, lead, column=str(x._batch), labels=labels)


class StoredAxis(NamedTuple):
    """A leading axis of a stored array: a column has the index along it.

    Attributes:
        column: the column.
        extent: extent of the stored axis.
        chosen: the indices that the array has, in its order.
        is_kept: whether the array has the axis; else it has one index of it.
    """

    column: str
    extent: int
    chosen: range
    is_kept: bool


def of_stored(x: BlockArray, axes: Sequence[StoredAxis]) -> BlockArray:
    """The array of a source. It reads only the chosen part.

    Args:
        x: the DataFrame of the source as an array without leading axes.
        axes: the leading axes.
    """
    where = [_within(quoted(axis.column), axis.chosen, axis.extent) for axis in axes]
    with translated():
        df = reduce(lambda found, condition: found.where(condition), filter(None, where), x._df)
    lead = tuple(len(axis.chosen) for axis in axes if axis.is_kept)
    indices = [_place(quoted(axis.column), axis.chosen) for axis in axes if axis.is_kept]
    number = indices[0] if len(indices) == 1 else _number(indices, lead)  # a column alone lets Spark hand filters to the source
    batch = {COLUMN: number} if lead else {}
    found = x._with(_blocks.with_places(df, batch | {name: name for name in x._kind.places}), lead)
    found._stored = (x, tuple(axes)) if lead else None
    return found


def with_columns(x: BlockArray) -> DataFrame:
    """The blocks with a column for each leading axis, as sinks take them."""
    if x._batch is None:
        return x._df
    x = numbered(x)
    columns = {f"axis{axis}": f"CAST({_index(x, axis)} AS BIGINT)" for axis in range(x._lead_rank)}
    return _blocks.with_places(x._df, columns | {name: name for name in x._kind.places})


def _within(index: str, chosen: range, extent: int) -> str:
    """SQL condition that an index is one of some; empty if all are."""
    if len(chosen) == extent:
        return ""
    low, high = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
    if low == high:
        return f"{index} = {low}"
    step = abs(chosen.step)
    ends = f"{index} BETWEEN {low} AND {high}" if (low, high) != (0, extent - 1) else ""
    return " AND ".join(filter(None, (ends, f"({index} - {low}) % {step} = 0" if step > 1 else "")))


def _place(index: str, chosen: range) -> str:
    """SQL expression of the place of an index among those that are chosen."""
    return index if (chosen.start, chosen.step) == (0, 1) else f"({index} - {chosen.start}) div {chosen.step}"


def _index(x: BlockArray, axis: int) -> str:
    """SQL expression of the index along a leading axis."""
    batch = quoted(str(x._batch))
    return batch if x._lead_rank == 1 else f"({batch} div {math.prod(x._lead[axis + 1 :])}) % {x._lead[axis]}"


def _number(indices: Sequence[str], lead: Shape) -> str:
    """SQL expression of the number of the leading element with these indices."""
    terms = [f"({index}) * {math.prod(lead[axis + 1 :])}" for axis, index in enumerate(indices)]
    return f"CAST({' + '.join(terms) or '0'} AS BIGINT)"


def sliced(x: BlockArray, entries: Sequence[slice | int]) -> BlockArray:
    """The array with some of its leading elements: a slice, which selects something, or an index for each leading axis."""
    if all(entry == slice(None) for entry in entries):
        return x
    chosen = [range(entry, entry + 1) if isinstance(entry, int) else range(extent)[entry] for entry, extent in zip(entries, x._lead, strict=True)]
    for axis, each in enumerate(chosen):
        if not each:
            raise InvalidInputError(
                f"The slice {entries[axis]} of axis {axis} holds none of {x._lead[axis]} elements; arrays are not empty"
            )
    kept = [isinstance(entry, slice) for entry in entries]
    if x._stored is not None:
        whole, stored = x._stored
        pairs = iter(zip(chosen, kept, strict=True))
        axes = [_part(axis, *next(pairs)) if axis.is_kept else axis for axis in stored]
        return of_stored(whole, axes)
    x = numbered(x)
    conditions = [_within(_index(x, axis), each, x._lead[axis]) for axis, each in enumerate(chosen)]
    indices = [_place(_index(x, axis), each) for axis, each in enumerate(chosen) if kept[axis]]
    lead = tuple(len(each) for axis, each in enumerate(chosen) if kept[axis])
    return renumbered(x, _number(indices, lead), lead, " AND ".join(filter(None, conditions)) or None)


def _part(axis: StoredAxis, chosen: range, is_kept: bool) -> StoredAxis:
    """A stored axis with some of its chosen indices."""
    part = axis.chosen[chosen.start : chosen.stop if chosen.stop >= 0 else None : chosen.step]
    return axis._replace(chosen=part, is_kept=is_kept)


def taken(x: BlockArray, axis: int, indices: NDArray, labels: Labels | None) -> BlockArray:
    """The array with some indices along a leading axis, in any order and number."""
    x = numbered(x)
    old, new = "tilespark_old", "tilespark_new"
    lead = (*x._lead[:axis], len(indices), *x._lead[axis + 1 :])
    with translated():
        pairs = [(int(each), place) for place, each in enumerate(indices)]
        places = x._df.sparkSession.createDataFrame(pairs, f"{old} BIGINT, {new} BIGINT")
        from pyspark.sql.functions import expr

        df = x._df.join(places.hint("broadcast"), expr(f"{_index(x, axis)} = {old}"))
    parts = [_index(x, at) for at in range(len(lead))]
    parts[axis] = new
    return renumbered(x._of(df), _number(parts, lead), lead, labels=labels)


def along_first(
    x: BlockArray, axis: int, change: Callable[[BlockArray], BlockArray], labels: Labels | None
) -> BlockArray:
    """The result of an operator along an axis, computed along it as the only leading axis of matrices."""
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    view = reshaped(x, (math.prod(before), x.shape[axis], math.prod(after))).transpose(1, 0, 2)
    found = change(as_kind(view, MATRIX))
    return reshaped(as_kind(found, VOLUME).transpose(1, 0, 2), (*before, found.shape[0], *after), labels)


def mapped(x: BlockArray, change: Callable[[str, int, int], str]) -> BlockArray:
    """The array with leading elements at other places of the same axes.

    Args:
        x: the array.
        change: from the SQL expression of an index, its axis and that axis' extent to the new index.
    """
    x = numbered(x)
    indices = [change(_index(x, axis), axis, extent) for axis, extent in enumerate(x._lead)]
    return renumbered(x, _number(indices, x._lead), x._lead)


def merged(x: BlockArray) -> BlockArray:
    """The elements, in row-major order, as an array of at most three axes: all but the last two are one. No value moves."""
    if x._batch is None:
        return x
    if x._whole is not None:
        return x._whole
    x = numbered(x)
    count = math.prod(x._lead)
    batch = quoted(str(x._batch))
    stated = _blocks.stated_block_shape(x._df.schema, x._kind)
    if x._kind is MATRIX:
        columns = {"x": batch, "y": "row", "z": "col", "nx": "1", "ny": "rows", "nz": "cols"}
        extents, blocks = (count, *x._extents), (1, *(stated or x._extents))
        return x._with(_blocks.with_places(x._df, columns, extents, blocks))
    first, *rest = x._extents
    columns = {name: name for name in VOLUME.places} | {"x": f"{batch} * {first} + x"}
    fits = stated is not None and first % max(1, stated[0]) == 0
    return x._with(_blocks.with_places(x._df, columns, (count * first, *rest), stated if fits else None))


def split(x: BlockArray, shape: Shape, labels: Labels | None = None) -> BlockArray:
    """A volume as an array of more axes, whose first ones are the volume's first as one; as volumes."""
    first = shape[-3]
    stated = _blocks.stated_block_shape(x._df.schema, VOLUME)
    if stated is None or first % stated[0]:
        whole = stated or x._extents
        stated = (_blocks.divisor(first, whole[0]), *whole[1:])
        x = x.rechunk(stated)
    columns = {COLUMN: f"x div {max(1, first)}"} | {name: name for name in VOLUME.places}
    columns["x"] = f"x % {max(1, first)}"
    found = x._with(_blocks.with_places(x._df, columns, shape[-3:], stated), shape[:-3], labels=labels)
    found._whole = x
    return found


def joined(arrays: Sequence[BlockArray], axis: int) -> BlockArray:
    """Arrays stored alike, one after the other along a leading axis."""
    first = arrays[0]
    shapes = [each.shape for each in arrays]
    if any(each[:axis] + each[axis + 1 :] != shapes[0][:axis] + shapes[0][axis + 1 :] for each in shapes):
        raise InvalidInputError(f"concatenate of shapes {', '.join(map(str, shapes))}; expected the same extents along other axes")
    lead = (*first._lead[:axis], sum(each[axis] for each in shapes), *first._lead[axis + 1 :])
    places, start = [], 0
    for each in arrays:
        indices = [_index(each, at) for at in range(len(lead))]
        indices[axis] += f" + {start}"
        start += each._lead[axis]
        moved = renumbered(each, _number(indices, lead), lead)
        with translated():
            places.append(moved._df.withColumnRenamed(str(each._batch), str(first._batch)))
    keep = tuple(kept for each in arrays for kept in each._keep)
    blocks = {_blocks.stated_block_shape(each._df.schema, each._kind) for each in arrays}
    with translated():
        df = reduce(lambda above, below: above.unionByName(below), places)
        df = _blocks.with_shapes(df, first._extents, blocks.pop() if len(blocks) == 1 else None)
    return first._with(df, lead, column=str(first._batch))._of(df, first._labels.of_axes(), keep)


def as_kind(x: BlockArray, kind: Kind) -> BlockArray:
    """The same array, stored as matrices (of two axes or more) or as volumes (three axes or more)."""
    if x._kind is kind:
        return x
    x = numbered(x)
    batch = quoted(str(x._batch))
    if kind is MATRIX:
        blocks = _blocks.stated_block_shape(x._df.schema, VOLUME) or x._extents
        thin = x if blocks[0] == 1 else x.rechunk((1,) * x._lead_rank + (1, *blocks[1:]))
        columns = {COLUMN: f"{batch} * {x._extents[0]} + x" if x._lead else "x"}
        columns |= {"row": "y", "col": "z", "rows": "ny", "cols": "nz"}
        df = _blocks.with_places(thin._df, columns, x._extents[1:], blocks[1:])
        return x._with(df, (*x._lead, x._extents[0]), labels=x._labels)
    *lead, last = x._lead
    columns = {COLUMN: f"{batch} div {max(1, last)}"} if lead else {}
    columns |= {"x": f"{batch} % {max(1, last)}", "y": "row", "z": "col", "nx": "1", "ny": "rows", "nz": "cols"}
    blocks = _blocks.stated_block_shape(x._df.schema, MATRIX) or x._extents
    df = _blocks.with_places(x._df, columns, (last, *x._extents), (1, *blocks))
    return x._with(df, tuple(lead), labels=x._labels)


def reshaped(x: BlockArray, shape: Shape, labels: Labels | None = None) -> BlockArray:
    """The elements, in row-major order, in another shape of any number of axes. No value moves between tasks where blocks are
    blocks of the other shape too."""
    plain = merged(x)
    target = shape if len(shape) < 4 else (math.prod(shape[:-2]), *shape[-2:])
    if plain.shape != target:
        stored = (target + (1, 1))[: max(2, len(target))]
        df = call(plain._kind.function("reshape"), {"input": plain._df}, shape=numbers(stored))
        plain = plain._with(df, dropped=((0, 1), (1,), (), ())[len(target)])
    return split(plain, shape, labels) if len(shape) > 3 else plain._of(plain._df, labels)


def along(x: BlockArray, axis: int, change: Callable[[BlockArray], BlockArray]) -> BlockArray:
    """The result of an operator along a leading axis.

    Args:
        x: the array.
        axis: the axis.
        change: computes a volume, from the array as a volume whose axis 1 is this axis; it may change this extent.
    """
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    found = change(reshaped(x, (math.prod(before), x.shape[axis], math.prod(after))))
    return reshaped(found, (*before, found.shape[1], *after), x._labels.of_axes())


def transposed(x: BlockArray, order: Shape, labels: Labels | None = None) -> BlockArray:
    """The array with its axes in another order."""
    lead, rank = x._lead_rank, x._kind.rank
    if sorted(order[:lead]) == list(range(lead)):  # leading axes stay so
        if order[:lead] != tuple(range(lead)):
            x = numbered(x)
            extents = tuple(x._lead[axis] for axis in order[:lead])
            x = renumbered(x, _number([_index(x, axis) for axis in order[:lead]], extents), extents)
        own = tuple(axis - lead for axis in order[lead:])
        if own == tuple(range(rank)):
            return x._of(x._df, labels)
        if x._kind is MATRIX:
            return x._called("transpose", labels)
        return x._called("permute", labels, axes="".join(VOLUME.offsets[axis] for axis in own))
    shape = x.shape
    runs: list[list[int]] = []  # axes that stay neighbours move as one
    for axis in order:
        if runs and axis == runs[-1][-1] + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    places = sorted(runs)
    moves = tuple(places.index(run) for run in runs)
    extents = tuple(math.prod(shape[axis] for axis in run) for run in places)
    return reshaped(_moved(x, extents, moves), tuple(shape[axis] for axis in order), labels)


def _moved(x: BlockArray, extents: Shape, order: Shape) -> BlockArray:
    """An array, of the given extents or with the same elements, with its axes in another order, and maybe some as one."""
    if len(extents) < 4:
        return reshaped(x, extents).transpose(order)
    stay = 1  # leading entries of the order that keep their order
    while stay < len(order) and order[stay] > order[stay - 1]:
        stay += 1
    now = sorted(range(len(order)))
    for axis in order[stay:]:  # each of the others goes to the end
        at = now.index(axis)
        before = math.prod(extents[each] for each in now[:at])
        after = math.prod(extents[each] for each in now[at + 1 :])
        x = reshaped(x, (before, extents[axis], after)).transpose((0, 2, 1))
        now.append(now.pop(at))
    return x


def reduced(x: BlockArray, name: str, axes: Sequence[int], keepdims: bool, labels: Labels | None, **arguments: Any) -> Any:
    """The result of a reduction of which at least one axis is a leading one; a number if it is of all axes and they go."""
    shape = x.shape
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    order = list(range(len(shape)))
    groups = [(is_reduced, list(each)) for is_reduced, each in groupby(order, lambda axis: axis in axes)]
    if len(groups) > 3:
        x = transposed(x, (*kept, *sorted(axes)))
        groups = [(False, kept), (True, sorted(axes))]
    view = reshaped(x, tuple(math.prod(shape[axis] for axis in each) for _, each in groups))
    along = [at for at, (is_reduced, _) in enumerate(groups) if is_reduced]
    if not keepdims:
        found = view._reduced(name, along, False, **arguments)
        return reshaped(found, tuple(shape[axis] for axis in kept), labels) if kept else found
    found = view._reduced(name, along, True, **arguments)
    return reshaped(found, tuple(1 if axis in axes else extent for axis, extent in enumerate(shape)), labels)


def broadcast(x: BlockArray, lead: Shape) -> BlockArray:
    """The array with its leading axes of extent 1 repeated to other extents: a copy of its blocks for each."""
    if x._lead == lead:
        return x
    x = numbered(x)
    times = tuple(extent if own == 1 else 1 for own, extent in zip(x._lead, lead, strict=True))
    copy = "tilespark_copy"
    with translated():
        copies = x._df.sparkSession.range(math.prod(times)).withColumnRenamed("id", copy)
        df = x._df.crossJoin(copies.hint("broadcast"))
    each = x._with(df, x._lead, column=str(x._batch))
    indices = [
        _index(each, axis) if own == extent else f"({copy} div {math.prod(times[axis + 1 :])}) % {extent}"
        for axis, (own, extent) in enumerate(zip(x._lead, lead, strict=True))
    ]
    return renumbered(each, _number(indices, lead), lead, labels=x._labels)


def with_leading(x: BlockArray, kind: Kind, rank: int) -> BlockArray:
    """The array stored as matrices or volumes with leading axes, after axes of extent 1 that make it one of ``rank`` axes."""
    if x.ndim < kind.rank:
        x = reshaped(x, (1,) * (kind.rank - x.ndim) + x.shape, x._labels)
    x = as_kind(x, kind)
    lead = (1,) * (rank - x.ndim) + x._lead
    if x._lead == lead:
        return x
    x = numbered(x)
    if x._batch is not None:
        return x._with(x._df, lead, column=x._batch, labels=x._labels)
    with translated():
        return x._with(x._df.selectExpr("*", f"0L AS {COLUMN}"), lead, labels=x._labels)


def aligned(x: BlockArray, y: BlockArray) -> tuple[BlockArray, BlockArray]:
    """Two arrays, of which one has leading axes, with the same ones, numbered alike, as numpy broadcasts shapes."""
    batches = [each for each in (x, y) if each._batch is not None]
    kind = batches[0]._kind if len({each._kind for each in batches}) == 1 else VOLUME
    rank = max(x.ndim, y.ndim)
    return alike(with_leading(x, kind, rank), with_leading(y, kind, rank))


def fit(a: Shape, b: Shape) -> bool:
    """Whether numpy broadcasts these shapes to one another."""
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b), strict=False))


def alike(x: BlockArray, y: BlockArray) -> tuple[BlockArray, BlockArray]:
    """Two arrays that are both stored as matrices, or volumes, with leading axes: with the same ones, numbered alike."""
    if x._batch == y._batch and not x._numbered and not y._numbered and None in (x._leading, y._leading):
        return x, y  # the operator meets the keys
    if not fit(x._lead, y._lead):
        raise InvalidInputError(f"Shapes {x.shape} and {y.shape}; expected extents that are equal, or 1")
    rank = max(len(x._lead), len(y._lead)) + x._kind.rank
    first, second = with_leading(x, x._kind, rank), with_leading(y, y._kind, rank)
    lead = tuple(b if a == 1 else a for a, b in zip(first._lead, second._lead, strict=True))
    first, second = broadcast(first, lead), broadcast(second, lead)
    if first._batch == second._batch and first._numbered == second._numbered:
        return first, second
    if first._numbered and not second._numbered:
        return first._with_keys_of(second), second
    return first, numbered(second)._with_keys_of(first)

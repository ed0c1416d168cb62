"""Code for Spark's Python workers. It is sent by value, so that executors need numpy and pyarrow, but not tilespark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def _column(names: list[str], name: str) -> int:
    """The number of a column; if names differ only in case, of the one in lower case."""
    return names.index(name) if name in names else [each.lower() for each in names].index(name)


def _joined(arrays: list[Any], dtype: str) -> Any:
    """A column of binary values from contiguous arrays of one dtype."""
    import pyarrow as pa

    ends = np.zeros(len(arrays) + 1, np.int32)
    np.cumsum([array.nbytes for array in arrays], out=ends[1:])
    flat = [array.reshape(-1) for array in arrays]
    joined = flat[0] if len(flat) == 1 else np.concatenate(flat or [np.empty(0, dtype)])
    return pa.Array.from_buffers(pa.binary(), len(arrays), [None, pa.py_buffer(ends), pa.py_buffer(joined)])


def block_mapper(
    method: str,
    function: Callable[[Any], Any],
    offsets: tuple[str, ...],
    sizes: tuple[str, ...],
    dropped: tuple[int, ...],
    source: str,
    target: str,
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for mapInArrow that applies ``function`` to the array in each row's column ``data``.

    Args:
        method: name of the user's method, for messages.
        function: takes an array and returns one of the same shape.
        offsets: the columns with the position of a block, for messages.
        sizes: the columns with the extents of a block.
        dropped: axes of extent 1 that the function's array does not have.
        source: numpy's name of the dtype of the input arrays.
        target: numpy's name of the dtype of the results.
    """

    def mapped(batch: Any) -> Any:
        import pyarrow as pa

        names = batch.schema.names
        shapes = zip(*(batch.column(_column(names, name)).to_pylist() for name in sizes))
        places = zip(*(batch.column(_column(names, name)).to_pylist() for name in offsets))
        data = _column(names, "data")
        results = []
        for place, shape, cell in zip(places, shapes, batch.column(data)):
            shape = tuple(extent for axis, extent in enumerate(shape) if axis not in dropped)
            block = np.frombuffer(cell.as_buffer(), source).reshape(shape)
            try:
                result = np.asarray(function(block))
                if result.shape != shape:
                    raise ValueError(
                        f"it returned an array of shape {result.shape}; expected {shape}, that of the block"
                    )
                results.append(np.ascontiguousarray(result, target))
            except Exception as error:
                at = ", ".join(f"{name} {value}" for name, value in zip(offsets, place))
                reason = f"{type(error).__name__}: {error}".replace("\n", "\n  ")
                # errors.py searches for this text, also where Spark quotes it.
                raise RuntimeError(f"{method}: block at {at}: the function failed with {reason}") from error
        columns = list(batch.columns)
        columns[data] = _joined(results, target)
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    return lambda batches: (mapped(batch) for batch in batches)


def block_selector(
    indices: Any, axis: int, offsets: tuple[str, ...], sizes: tuple[str, ...], dtype: str
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for mapInArrow that keeps some indices along an axis of the blocks in the column ``data``.

    Args:
        indices: int64 vector of the indices in the whole array, ascending.
        axis: the axis of the stored matrix or volume.
        offsets: the columns with the position of a block.
        sizes: the columns with the extents of a block.
        dtype: numpy's name of the dtype.
    """

    def selected(batch: Any) -> Any:
        import pyarrow as pa

        names = batch.schema.names
        offset, size, data = (_column(names, name) for name in (offsets[axis], sizes[axis], "data"))
        low, count = (batch.column(at).to_numpy() for at in (offset, size))
        first, end = np.searchsorted(indices, low), np.searchsorted(indices, low + count)
        rows = np.flatnonzero(end > first)
        kept = batch.take(pa.array(rows))
        shapes = list(zip(*(kept.column(_column(names, name)).to_pylist() for name in sizes)))
        parts = []
        for row, shape, cell in zip(rows, shapes, kept.column(data)):
            local = indices[first[row] : end[row]] - low[row]
            parts.append(np.ascontiguousarray(np.frombuffer(cell.as_buffer(), dtype).reshape(shape).take(local, axis)))
        columns = list(kept.columns)
        columns[offset] = pa.array(first[rows], pa.int64())
        columns[size] = pa.array((end - first)[rows], pa.int32())
        columns[data] = _joined(parts, dtype)
        return pa.RecordBatch.from_arrays(columns, names=names)

    return lambda batches: (selected(batch) for batch in batches)

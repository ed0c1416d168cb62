"""Code for Spark's Python workers. It is sent by value, so that executors need numpy and pyarrow, but not tilespark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


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
        lower = [name.lower() for name in names]

        def index(name: str) -> int:  # if names differ only in case, lower case
            return names.index(name) if name in names else lower.index(name)

        shapes = zip(*(batch.column(index(name)).to_pylist() for name in sizes))
        places = zip(*(batch.column(index(name)).to_pylist() for name in offsets))
        data = index("data")
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
        ends = np.zeros(len(results) + 1, np.int32)
        np.cumsum([result.nbytes for result in results], out=ends[1:])
        joined = results[0].reshape(-1) if len(results) == 1 else np.concatenate([r.reshape(-1) for r in results] or [np.empty(0, target)])
        column = pa.Array.from_buffers(pa.binary(), len(results), [None, pa.py_buffer(ends), pa.py_buffer(joined)])
        columns = list(batch.columns)
        columns[data] = column
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    return lambda batches: (mapped(batch) for batch in batches)

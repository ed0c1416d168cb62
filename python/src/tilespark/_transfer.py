"""Converts numpy arrays to DataFrames of blocks and back.

There are two ways. If driver and executors are one process (``local[*]``) that shares files with this Python, an array
goes through a temporary ``.npy`` file, which stays in the page cache. Else blocks go as BINARY values in Arrow batches.
Either way copies each value once on each side.
"""

from __future__ import annotations

import atexit
import itertools
import math
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import numpy as np

from . import _blocks, _worker
from ._blocks import MATRIX, VOLUME, Kind
from ._arguments import location
from ._deep import is_connect
from ._session import is_local, setting
from ._sql import call, numbers, quoted
from .errors import InvalidInputError, TileSparkError, translated

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

NDArray = np.ndarray[Any, np.dtype[Any]]

# Bytes of an Arrow batch. Batches are far below 2 GiB, since offsets are 32-bit and the JVM holds a batch in one buffer.
_BATCH_BYTES = 64 << 20
# Smaller arrays are collected, which is faster than a file.
_SMALL = 4 << 20
# Bytes copied at a time from an array whose elements are not contiguous.
_PIECE_BYTES = 4 << 20
_PREFIX, _LOCK = "tilespark-", "lock"
_ROWS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

_sharing: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
_batching = threading.Lock()


class _Directory:
    """The directory of this process' temporary files, deleted when the process ends or, if it was killed, by a later one.

    A process holds its directory's lock while it lives. A forked child shares its parent's lock and deletes nothing.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        (self.path / _LOCK).touch(0o600)
        self._lock = self._locked(self.path)
        self._names = itertools.count()
        atexit.register(self._delete)
        for left in self.path.parent.glob(f"{_PREFIX}*"):
            self._delete_if_left(left)

    @staticmethod
    def _locked(directory: Path) -> int:
        """Opens and locks the lock file of a directory.

        Raises:
            OSError: if there is no lock file, or another process holds the lock.
        """
        import fcntl  # missing on Windows, where shares_files is False

        file = os.open(directory / _LOCK, os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise
        return file

    @classmethod
    def _delete_if_left(cls, directory: Path) -> None:
        try:
            if time.time() - directory.stat().st_mtime < 60:  # a new process may not hold the lock yet
                return
            lock = cls._locked(directory)
        except OSError:
            return
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)

    def _delete(self) -> None:
        if os.getpid() == self.pid:
            shutil.rmtree(self.path, ignore_errors=True)

    def new_path(self) -> Path:
        """A path in this directory that is not used yet."""
        return self.path / f"{next(self._names)}.npy"


_directory: _Directory | None = None
_making = threading.Lock()


def _temporary_directory() -> _Directory:
    global _directory
    with _making:
        if _directory is None or _directory.pid != os.getpid():
            _directory = _Directory()
        return _directory


class TemporaryFile:
    """The path of a file that is deleted with this object, or when Python ends."""

    def __init__(self) -> None:
        directory = _temporary_directory()
        self.path = directory.new_path()
        self._finalizer = weakref.finalize(self, _unlink, str(self.path), directory.pid)

    @property
    def url(self) -> str:
        """The URL in Hadoop's form, without escapes."""
        return f"file://{self.path}"

    def delete(self) -> None:
        """Deletes the file now."""
        self._finalizer()


def _unlink(path: str, pid: int) -> None:
    if os.getpid() == pid:
        Path(path).unlink(missing_ok=True)


def _has_room(nbytes: int) -> bool:
    return shutil.disk_usage(_temporary_directory().path).free > nbytes


def _write_npy(path: Path, array: NDArray) -> None:
    """Same as numpy.save, but faster if the array is in neither C nor Fortran order."""
    if array.flags.forc or array.ndim == 0:
        np.save(path, array, allow_pickle=False)
        return
    with path.open("wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(file, header)
        step = max(1, _PIECE_BYTES * array.shape[0] // max(1, array.nbytes))
        for start in range(0, array.shape[0], step):
            np.ascontiguousarray(array[start : start + step]).tofile(file)


def shares_files(spark: SparkSession) -> bool:
    """True if the session's driver and executors are one process that reads and writes the same files as this Python.

    A Spark Connect server in local mode may run on another machine, or as another user, so one file is tried; the JVM of a
    classic session runs on this machine.
    """
    if spark not in _sharing:
        can_share = os.name == "posix" and is_local(spark)
        _sharing[spark] = can_share and (not is_connect(spark) or _reads_and_writes(spark))
    return _sharing[spark]


def path_of(spark: SparkSession, path: Any) -> str:
    """A path as Spark takes it. A relative one is in this Python's directory, while the JVM knows the one in which it started."""
    text = location("path", path)
    return os.path.abspath(text) if not urlsplit(text).scheme and shares_files(spark) else text


def local_path(spark: SparkSession, path: str | os.PathLike[str]) -> Path | None:
    """The local file that a path means to both Spark and this Python; None if there is none."""
    text = location("path", path)
    if text.startswith("file:"):
        text = urlsplit(text).path
    elif "://" in text:
        return None
    return Path(text) if shares_files(spark) else None


def _reads_and_writes(spark: SparkSession) -> bool:
    source, target = TemporaryFile(), TemporaryFile()
    try:
        np.save(source.path, np.zeros((1, 1)))
        df = spark.read.format("npy").load(source.url)
        df.write.format("npy").mode("overwrite").option("durable", "false").save(target.url)
        return target.path.is_file()
    except Exception:
        return False
    finally:
        source.delete()
        target.delete()


def send(spark: SparkSession, array: NDArray, block_shape: tuple[int, ...]) -> tuple[DataFrame, list[object]]:
    """Makes a DataFrame of blocks from an array of rank 2 or 3.

    Returns:
        The DataFrame, and objects that must stay alive as long as the DataFrame is read.
    """
    kind = MATRIX if array.ndim == 2 else VOLUME
    if array.size and shares_files(spark) and _has_room(array.nbytes):
        file = TemporaryFile()
        _write_npy(file.path, array)
        with translated():
            reader = spark.read.format("npy").option("blockShape", numbers(block_shape))
            return reader.load(file.url), [file]
    return _send_by_arrow(spark, array, block_shape, kind), []


def _send_by_arrow(spark: SparkSession, array: NDArray, block_shape: tuple[int, ...], kind: Kind) -> DataFrame:
    import pyarrow as pa

    _check_sending(spark, array, block_shape)
    batches = list(_arrow_batches(array, block_shape, kind))
    with translated():
        if batches:
            packed = spark.createDataFrame(pa.Table.from_batches(batches))
        else:
            places = [f"{name} BIGINT" for name in kind.offsets] + [f"{name} INT" for name in kind.sizes]
            packed = spark.createDataFrame([], ", ".join([*places, "data BINARY"]))
    return call(
        kind.function("unpack"),
        {"input": packed},
        dtype=array.dtype.name,
        extents=numbers(array.shape),
        blockShape=numbers(block_shape),
    )


def _arrow_schema(kind: Kind) -> pa.Schema:
    import pyarrow as pa

    fields = [pa.field(name, pa.int64(), nullable=False) for name in kind.offsets]
    fields += [pa.field(name, pa.int32(), nullable=False) for name in kind.sizes]
    return pa.schema([*fields, pa.field("data", pa.binary(), nullable=False)])


def _arrow_batches(array: NDArray, block_shape: tuple[int, ...], kind: Kind) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = _arrow_schema(kind)
    places = itertools.product(*(range(0, extent, step) for extent, step in zip(array.shape, block_shape, strict=True)))
    block_bytes = math.prod(block_shape) * array.itemsize
    if block_bytes >= 1 << 31:
        raise InvalidInputError(f"A block of {numbers(block_shape)} {array.dtype} has 2 GiB or more; use smaller blocks")
    rows = max(1, _BATCH_BYTES // max(1, block_bytes))
    while batch := list(itertools.islice(places, rows)):
        parts = [
            array[tuple(slice(at, at + step) for at, step in zip(place, block_shape, strict=True))] for place in batch
        ]
        ends = np.zeros(len(parts) + 1, np.int32)
        np.cumsum([part.nbytes for part in parts], out=ends[1:])
        data = np.empty(int(ends[-1]), np.uint8)
        for part, start in zip(parts, ends, strict=False):
            # One copy, from a strided block to contiguous bytes.
            data[start : start + part.nbytes].view(array.dtype).reshape(part.shape)[...] = part
        columns = [pa.array(np.array(column, np.int64)) for column in zip(*batch, strict=True)]
        columns += [pa.array(np.array(column, np.int32)) for column in zip(*(p.shape for p in parts), strict=True)]
        columns.append(
            pa.Array.from_buffers(pa.binary(), len(parts), [None, pa.py_buffer(ends), pa.py_buffer(data)])
        )
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def receive(df: DataFrame, kind: Kind, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray:
    """Collects blocks to a numpy array.

    Args:
        df: blocks of one array.
        shape: extents of the array.
        dtype: the numpy type of the result.

    Raises:
        TileSparkError: if blocks are missing, overlap or are outside ``shape``, or the result exceeds Spark's limit for
            results at the driver.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > _SMALL and shares_files(df.sparkSession) and _has_room(nbytes):
        return _receive_by_file(df, kind, shape, dtype)
    _check_result_size(df.sparkSession, nbytes, shape, dtype)
    out = np.empty(shape, dtype)
    boxes: list[tuple[tuple[int, int], ...]] = []
    packed = call(kind.function("pack"), {"input": df}, dtype=dtype.name, extents=numbers(shape))
    block_bytes = math.prod(_blocks.stated_block_shape(df.schema, kind) or shape) * dtype.itemsize
    rows = max(1, _BATCH_BYTES // max(1, block_bytes))
    for place, block in collected(packed, kind, dtype, rows if nbytes > _BATCH_BYTES else None):
        box = tuple((at, at + size) for at, size in zip(place, block.shape, strict=True))
        out[tuple(slice(*side) for side in box)] = block
        boxes.append(box)
    _check_cover(boxes, shape)
    return out


def _receive_by_file(df: DataFrame, kind: Kind, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray:
    blocks = _blocks.stated_block_shape(df.schema, kind)
    if blocks is not None and any(size < extent for size, extent in zip(blocks[1:], shape[1:], strict=True)):
        try:
            flat = _read_back(_in_order(df, kind, shape, blocks), (1, math.prod(shape)), dtype, "r")
            return _assembled(flat.reshape(-1), shape, blocks)
        except InvalidInputError:  # other blocks than the metadata say, or wrong ones: the array's file says which
            pass
    return _read_back(df, shape, dtype, None)


def _read_back(df: DataFrame, shape: tuple[int, ...], dtype: np.dtype[Any], mmap_mode: Literal["r"] | None) -> NDArray:
    """The array that Spark writes to a temporary file, which is deleted."""
    file = TemporaryFile()
    try:
        with translated():
            writer = df.write.format("npy").mode("overwrite").option("dtype", dtype.name).option("durable", "false")
            writer.option("extents", numbers(shape)).save(file.url)
        return np.load(file.path, mmap_mode, allow_pickle=False)  # type: ignore[no-any-return]
    finally:
        file.delete()


def _in_order(df: DataFrame, kind: Kind, shape: tuple[int, ...], blocks: tuple[int, ...]) -> DataFrame:
    """The blocks one after the other, as parts of a matrix of one row, which are written by few long calls.

    A block starts after all elements that bands of whole blocks hold before it. One that is not as ``blocks`` states gets a place
    outside the matrix, which is an error.
    """
    start, fits, height = "0L", [], "1L"
    for axis, (offset, size) in enumerate(zip(kind.offsets, kind.sizes, strict=True)):
        start += f" + {height} * {offset} * {math.prod(shape[axis + 1 :])}L"
        fits.append(f"{offset} % {blocks[axis]} = 0 AND {size} = least({blocks[axis]}, {shape[axis]} - {offset})")
        height += f" * {size}"
    columns = {
        "row": "0L",
        "col": f"if({' AND '.join(fits)}, {start}, -1L)",
        "rows": "1",
        "cols": f"CAST({height} AS INT)",
    }
    return _blocks.with_places(df, columns, (1, math.prod(shape)))


def _assembled(flat: NDArray, shape: tuple[int, ...], blocks: tuple[int, ...]) -> NDArray:
    """The array whose blocks are one after the other in ``flat``."""
    out = np.empty(shape, flat.dtype)
    start = 0
    for place in itertools.product(*(range(0, extent, size) for extent, size in zip(shape, blocks, strict=True))):
        part = out[tuple(slice(low, low + size) for low, size in zip(place, blocks, strict=True))]
        part[...] = flat[start : start + part.size].reshape(part.shape)
        start += part.size
    return out


def collected(
    packed: DataFrame, kind: Kind, dtype: np.dtype[Any], rows: int | None
) -> Iterator[tuple[tuple[int, ...], NDArray]]:
    """Position and values of each block of a packed DataFrame; the values are read-only views of Arrow's memory.

    Args:
        packed: a DataFrame with the blocks as bytes in a column ``data``.
        rows: greatest number of rows in an Arrow batch, or None for Spark's setting.
    """
    with translated(), rows_per_batch(packed.sparkSession, rows):
        table = packed.toArrow()
    for batch in table.to_batches():
        names = batch.schema.names
        columns = {name: batch.column(names.index(_blocks.column_of(names, name))) for name in (*kind.places, "data")}
        places = zip(*(columns[name].to_pylist() for name in kind.offsets), strict=True)
        sizes = zip(*(columns[name].to_pylist() for name in kind.sizes), strict=True)
        for place, size, cell in zip(places, sizes, columns["data"], strict=True):
            yield place, np.frombuffer(cell.as_buffer(), dtype).reshape(size)


@contextmanager
def rows_per_batch(spark: SparkSession, rows: int | None) -> Iterator[None]:
    """Limits the rows of Spark's Arrow batches within this context: a batch of blocks must stay below 2 GiB.

    The setting belongs to the session, so only one thread at a time changes it.
    """
    if rows is None:
        yield
        return
    with _batching:
        before = spark.conf.get(_ROWS_PER_BATCH, None)
        spark.conf.set(_ROWS_PER_BATCH, str(rows))
        try:
            yield
        finally:
            if before is None:
                spark.conf.unset(_ROWS_PER_BATCH)
            else:
                spark.conf.set(_ROWS_PER_BATCH, before)


def numbered(df: DataFrame, batch: str, *, inverse: DataFrame | None = None) -> DataFrame:
    """Replaces the values of a column by their ranks among its distinct values, from 0.

    Args:
        df: a DataFrame with the column.
        batch: name of the column.
        inverse: a DataFrame whose column ``batch`` holds ranks; if given, returns it with the values of ``df`` for these ranks.
    """
    with translated():
        kind = df.schema[batch].dataType.simpleString()
        values = [row[0] for row in df.select(quoted(batch)).distinct().orderBy(quoted(batch)).collect()]
        ranks = df.sparkSession.createDataFrame(
            list(enumerate(values)), f"tilespark_rank BIGINT, tilespark_value {kind}"
        )
        old, new = "tilespark_value", "tilespark_rank"
        if inverse is not None:
            df, old, new = inverse, new, old
        # Null-safe, since Null is a valid value of the column.
        joined = df.join(ranks.hint("broadcast"), df[quoted(batch)].eqNullSafe(ranks[old]))
        return joined.drop(batch, old).withColumnRenamed(new, batch)


def mapped(
    packed: DataFrame,
    kind: Kind,
    dropped: tuple[int, ...],
    method: str,
    function: Callable[[NDArray], Any],
    source: np.dtype[Any],
    target: np.dtype[Any],
) -> DataFrame:
    """Applies ``function`` to each block of a packed DataFrame (values as bytes in column ``data``).

    It gets blocks without the axes in ``dropped``, which have extent 1.
    """
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(_worker)  # type: ignore[no-untyped-call]
    run = _worker.block_mapper(method, function, kind.offsets, kind.sizes, dropped, source.name, target.name)
    with translated():
        return packed.mapInArrow(run, packed.schema)  # type: ignore[arg-type]


def selected(packed: DataFrame, kind: Kind, axis: int, indices: NDArray, dtype: np.dtype[Any]) -> DataFrame:
    """The blocks of a packed DataFrame with only some indices, ascending, along an axis of the stored matrix or volume."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(_worker)  # type: ignore[no-untyped-call]
    run = _worker.block_selector(indices, axis, kind.offsets, kind.sizes, dtype.name)
    with translated():
        return packed.mapInArrow(run, packed.schema)  # type: ignore[arg-type]


_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def _size_setting(spark: SparkSession, key: str, default: str) -> tuple[int, str]:
    """A Spark size setting in bytes, and its text; a number without a unit has the unit of the default."""
    text = setting(spark, key) or default
    digits = text.strip().lower().removesuffix("b")
    unit = digits[-1:] if digits[-1:] in _UNITS else "m" if default.endswith("m") else ""
    try:
        return int(digits.rstrip("kmgt")) * _UNITS[unit], text
    except ValueError:
        return 0, text


def _check_result_size(spark: SparkSession, nbytes: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    limit, text = _size_setting(spark, "spark.driver.maxResultSize", "1g")
    if 0 < limit < nbytes:
        raise TileSparkError(
            f"The array {shape} {dtype} has {nbytes} bytes, more than the driver may collect"
            f" (spark.driver.maxResultSize={text}). Raise that setting when the session is made, write the array with"
            " to_npy(path), or make it smaller first"
        )


def _check_sending(spark: SparkSession, array: NDArray, block_shape: tuple[int, ...]) -> None:
    """Checks that all Arrow batches fit the driver's heap and, in a cluster, that a block fits a task's message."""
    advice = "write it with numpy.save where all executors see the file, and read it with read_npy"
    memory, text = _size_setting(spark, "spark.driver.memory", "1024m")
    if 0 < memory < array.nbytes:
        raise TileSparkError(
            f"The array {array.shape} {array.dtype} has {array.nbytes} bytes, more than the driver's heap"
            f" (spark.driver.memory={text}). Raise that setting when the session is made, or {advice}"
        )
    block_bytes = math.prod(block_shape) * array.itemsize
    message, text = _size_setting(spark, "spark.rpc.message.maxSize", "128m")
    if not is_local(spark) and 0 < message < block_bytes + (1 << 20):
        raise InvalidInputError(
            f"A block of {numbers(block_shape)} {array.dtype} has {block_bytes} bytes, more than a task may carry"
            f" (spark.rpc.message.maxSize={text}, in MiB). Use smaller blocks, or {advice}"
        )


def _check_cover(boxes: list[tuple[tuple[int, int], ...]], shape: tuple[int, ...]) -> None:
    """Checks that each element is in exactly one box, on the grid that the boxes' edges define."""
    if math.prod(shape) == 0:
        return
    edges = [
        np.unique([0, extent, *(edge for box in boxes for edge in box[axis])]) for axis, extent in enumerate(shape)
    ]
    count = np.zeros([len(edge) - 1 for edge in edges], np.int32)
    for box in boxes:
        count[
            tuple(
                slice(*np.searchsorted(edge, side).tolist()) for edge, side in zip(edges, box, strict=True)
            )
        ] += 1
    wrong = np.argwhere(count != 1)
    if len(wrong):
        cell = tuple(int(edge[at]) for edge, at in zip(edges, wrong[0], strict=True))
        what = "no block holds" if count[tuple(wrong[0])] == 0 else "several blocks hold"
        raise InvalidInputError(
            f"The blocks do not make the array {shape}: {what} the element {cell};"
            " .validate() lists all defects"
        )

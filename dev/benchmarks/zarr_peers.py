"""A float32 volume of Zarr, read, permuted to (z, y, x) and written as Zarr: tilespark, dask, zarr-python and codecs alone, in turns.

usage: python dev/benchmarks/zarr_peers.py [--side 1024] [--times 3] DIRECTORY
       taskset -c 0 python dev/benchmarks/zarr_peers.py --reading [--side 512] [--times 9] DIRECTORY

All use two threads, chunks of 128^3 and zstd at its usual level. Needs the tilespark package with Spark (TILESPARK_JAR), zarr,
numcodecs and dask[array]. Codecs alone decode each chunk, encode it and write it. Reading alone uses one core: zarr-python reads
the whole array, or a chunk at a time; tilespark brings all blocks into buffers; codecs read and decode the files.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import ZstdCodec

CHUNK = 128
THREADS = 2


def made(path: Path, side: int) -> zarr.Array:
    return zarr.create_array(
        path, shape=(side,) * 3, dtype="float32", chunks=(CHUNK,) * 3, compressors=[ZstdCodec(level=0)], overwrite=True, fill_value=0
    )


def prepare(path: Path, side: int) -> None:
    """Waves and noise with 12 bits, as of a camera."""
    volume, random = made(path, side), np.random.default_rng(47)
    x = np.arange(side, dtype="float32") * np.float32(2 * np.pi / CHUNK)
    for at in range(0, side, CHUNK):
        slab = np.sin(x[at : at + CHUNK, None, None]) * np.cos(x[None, :, None] * 3) + np.sin(x[None, None, :] * 2)
        volume[at : at + CHUNK] = np.round((slab + random.normal(scale=0.01, size=slab.shape)) * 1024) / 1024


def with_dask(source: Path, target: Path, side: int) -> None:
    import dask
    import dask.array

    with dask.config.set(scheduler="threads", num_workers=THREADS):
        dask.array.from_zarr(str(source)).transpose(2, 1, 0).store(made(target, side), lock=False)


def with_zarr(source: Path, target: Path, side: int) -> None:
    volume, out = zarr.open_array(source, mode="r"), made(target, side)

    def one(place: tuple[int, ...]) -> None:
        box = tuple(slice(at, at + CHUNK) for at in place)
        out[box[::-1]] = volume[box].transpose(2, 1, 0)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(one, (tuple(CHUNK * at for at in index) for index in np.ndindex((side // CHUNK,) * 3))))


def codecs_alone(source: Path, target: Path, side: int) -> None:
    from numcodecs import Zstd

    codec, chunks = Zstd(level=0), [file for file in source.rglob("*") if file.is_file() and file.name != "zarr.json"]
    target.mkdir()

    def one(number: int) -> None:
        (target / str(number)).write_bytes(codec.encode(codec.decode(chunks[number].read_bytes())))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(one, range(len(chunks))))


def reading(source: Path, side: int, times: int) -> None:
    from numcodecs import Zstd

    zarr.config.set({"threading.max_workers": 1})
    volume, codec = zarr.open_array(source, mode="r"), Zstd(level=0)
    files = [file for file in source.rglob("*") if file.is_file() and file.name != "zarr.json"]
    boxes = [tuple(slice(CHUNK * at, CHUNK * at + CHUNK) for at in index) for index in np.ndindex((side // CHUNK,) * 3)]
    session = session_of(1)

    def with_tilespark() -> None:
        plan = session.read.format("zarr").load(str(source))._jdf.queryExecution().executedPlan()
        while not plan.supportsColumnar():
            plan = plan.children().head()
        plan.executeColumnar().count()

    def whole() -> None:
        volume[...]

    def by_chunk() -> None:
        for box in boxes:
            volume[box]

    def codecs() -> None:
        for file in files:
            codec.decode(file.read_bytes())

    for _ in range(times):  # the JVM compiles
        with_tilespark()
    seconds: dict[str, list[float]] = {}
    for _ in range(times):
        for way in (with_tilespark, whole, by_chunk, codecs):
            start = time.perf_counter()
            way()
            seconds.setdefault(way.__name__, []).append(time.perf_counter() - start)
    for name, each in seconds.items():
        speeds = [side**3 * 4 / 2**20 / one for one in each]
        print(f"{name}: {statistics.median(speeds):.0f} MiB/s ({min(speeds):.0f} to {max(speeds):.0f})")


def session_of(threads: int) -> Any:
    import tilespark as ts
    from pyspark.sql import SparkSession

    master = SparkSession.builder.master(f"local[{threads}]").config("spark.driver.memory", "1g")
    session = ts.configure(master.config("spark.ui.enabled", "false")).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("directory", type=Path)
    options.add_argument("--side", type=int, default=1024)
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--reading", action="store_true")
    given = options.parse_args()
    source, target = given.directory / "in", given.directory / "out"
    prepare(source, given.side)
    if given.reading:
        reading(source, given.side, given.times)
        return
    session_of(THREADS)

    import tilespark as ts

    def with_tilespark(source: Path, target: Path, side: int) -> None:
        ts.read_zarr(source).transpose(2, 1, 0).to_zarr(target, chunks=CHUNK)

    ways: list[Callable[[Path, Path, int], None]] = [with_tilespark, with_dask, with_zarr, codecs_alone]
    seconds: dict[str, list[float]] = {way.__name__: [] for way in ways}
    for turn in range(given.times + 1):
        for way in ways:
            shutil.rmtree(target, ignore_errors=True)
            start = time.perf_counter()
            way(source, target, given.side)
            if turn:  # the first warms up
                seconds[way.__name__].append(time.perf_counter() - start)
    for name, each in seconds.items():
        print(f"{name}: {statistics.median(each):.2f} s ({min(each):.2f} to {max(each):.2f})")


if __name__ == "__main__":
    main()

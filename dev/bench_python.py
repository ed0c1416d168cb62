"""Times the Python package; dev/bench-python says how to run it. Every answer is compared with numpy's."""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspark
import tilespark as ts
from pyspark.sql import SparkSession
from tilespark import _transfer

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--mib", type=int, default=256)
parser.add_argument("--master", default="local[2]")
parser.add_argument("--driver-memory", default="4g")
parser.add_argument("--way", choices=("file", "arrow"))
options = parser.parse_args()

builder = SparkSession.builder.master(options.master).config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.memory", options.driver_memory).config("spark.ui.showConsoleProgress", "false").config("spark.driver.maxResultSize", "8g")
spark = ts.configure(builder).getOrCreate()
print(f"pyspark {pyspark.__version__}, {options.master}, medians of {options.runs} runs (least to most)")


def timed(name: str, run: Callable[[], Any], nbytes: int = 0) -> Any:
    seconds = []
    for at in range(2 * options.runs):
        start = time.perf_counter()
        result = run()
        if at >= options.runs:
            seconds.append(time.perf_counter() - start)
    middle = statistics.median(seconds)
    rate = f", {nbytes / middle / 1e6:.0f} MB/s" if nbytes else ""
    print(f"{name}: {middle:.3f} s ({min(seconds):.3f} to {max(seconds):.3f}){rate}", flush=True)
    return result


def drained(x: ts.BlockArray) -> None:
    x._df.write.format("noop").mode("overwrite").save()  # .df keeps the file until Python ends


random = np.random.default_rng(0)
side = int((options.mib * (1 << 18)) ** 0.5)
a = random.random((side, side), dtype=np.float32)
shares_files = _transfer.shares_files
for way in ("file", "arrow") if options.way is None else (options.way,):
    _transfer.shares_files = shares_files if way == "file" else lambda session: False  # type: ignore[assignment]
    timed(f"{options.mib} MiB float32 in, by {way}", lambda: drained(ts.from_numpy(a)), a.nbytes)
    x = ts.from_numpy(a).persist()
    drained(x)
    back = timed(f"{options.mib} MiB float32 out of the cache, by {way}", x.compute, a.nbytes)
    assert np.array_equal(back, a)
    x.unpersist()
_transfer.shares_files = shares_files

tall = random.random((20000, 300))
found = timed("pca of 20000 x 300 from numpy, k = 10", lambda: ts.linalg.pca(ts.from_numpy(tall), 10))
x = ts.from_numpy(tall).persist()
found = timed("pca of the same, cached, k = 10", lambda: ts.linalg.pca(x, 10))
centered = tall - tall.mean(axis=0)
timed("numpy's", lambda: np.linalg.eigh((tall - tall.mean(axis=0)).T @ (tall - tall.mean(axis=0))))
assert np.allclose(found.explained_variance, np.linalg.eigvalsh(centered.T @ centered)[::-1][:10] / 19999)
timed("its scores", lambda: found.scores.compute())

p, q = random.random((4000, 3000)), random.random((3000, 5000))
product = timed("product 4000 x 3000 x 5000 of doubles, in and out", lambda: (ts.from_numpy(p) @ ts.from_numpy(q)).compute())
expected = timed("numpy's", lambda: p @ q)
assert np.allclose(product, expected)

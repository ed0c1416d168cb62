"""Prints a hash of each result of a fixed set of operators; dev/record-results describes it."""

import argparse
import hashlib
import itertools
from collections.abc import Iterator

import numpy as np
import tilespark as ts
from pyspark.sql import SparkSession

parser = argparse.ArgumentParser()
parser.add_argument("--backend", choices=("cpu", "gpu"), default="cpu")
parser.add_argument("--master", default="local[2]")
options = parser.parse_args()

random = np.random.default_rng(25)


def sample(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind == "i":
        return random.integers(-100, 100, shape, dtype=kind)
    if kind.kind == "c":
        return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(kind)
    return random.standard_normal(shape).astype(kind)


def products() -> Iterator[tuple[str, ts.BlockArray]]:
    for dtype, (m, k, n) in itertools.product(("float32", "float64"), ((300, 200, 250), (1000, 37, 5), (64, 3000, 64))):
        a, b = sample((m, k), dtype), sample((k, n), dtype)
        x, y = ts.from_numpy(a, (128, 96)), ts.from_numpy(b, (96, 100))
        xt, yt = ts.from_numpy(np.ascontiguousarray(a.T), (96, 128)), ts.from_numpy(np.ascontiguousarray(b.T), (100, 96))
        for name, (left, right) in {"NN": (x, y), "NT": (x, yt.T), "TN": (xt.T, y), "TT": (xt.T, yt.T)}.items():
            yield f"{name} {dtype} {m} x {k} x {n}", left @ right
        for strategy in ("broadcast", "cuboid(2,2,1)", "cuboid(1,1,2)"):
            yield f"{strategy} {dtype} {m} x {k} x {n}", ts.linalg.matmul(x, y, strategy=strategy)
        for precision in ("tf32", "bfloat16", "float16") if dtype == "float32" else ():
            yield f"{precision} {m} x {k} x {n}", ts.linalg.matmul(x, y, precision=precision)
        yield f"gram {dtype} {m} x {k}", ts.linalg.gram(x)
        yield f"center {dtype} {m} x {k}", ts.linalg.center(x)
        yield f"scaled sum {dtype} {m} x {k}", x * 0.3 + x
    for dtype in ("float32", "float64"):
        batch = ts.from_numpy(sample((20, 48, 33), dtype), batch=True)
        yield f"batch {dtype}", batch @ batch.mT


def moves() -> Iterator[tuple[str, ts.BlockArray]]:
    for dtype in ("int8", "int16", "int32", "int64", "float32", "float64", "complex64"):
        m = ts.from_numpy(sample((301, 203), dtype), (64, 50))
        yield f"transpose {dtype}", m.T
        yield f"rechunk {dtype}", m.rechunk((37, 90))
        v = ts.from_numpy(sample((33, 41, 29), dtype), (16, 20, 29))
        for axes in itertools.permutations(range(3)):
            yield f"permute {axes} {dtype}", v.transpose(axes)
        yield f"volume rechunk {dtype}", v.rechunk((10, 41, 7))
        yield f"slabs {dtype}", v.slabs(1)
        yield f"pencils {dtype}", v.pencils(2)


def transforms() -> Iterator[tuple[str, ts.BlockArray]]:
    for dtype, shape in itertools.product(("float32", "float64", "complex64", "complex128"), ((32, 40, 24), (17, 30, 49))):
        v = ts.from_numpy(sample(shape, dtype), (9, 30, 24))
        label = f"{dtype} {shape}"
        spectrum = ts.fft.fftn(v)
        yield f"fftn {label}", spectrum
        yield f"ifftn {label}", ts.fft.ifftn(spectrum)
        yield f"permuted fftn {label}", ts.fft.fftn(v, permuted=True, norm="ortho")
        yield f"fftn of two axes {label}", ts.fft.fftn(v, axes=(0, 2))
        for decomposition in ("task", "slabs", "pencils"):
            yield f"fftn by {decomposition} {label}", ts.fft.fftn(v, decomposition=decomposition)
        yield f"low pass {label}", ts.fft.low_pass(spectrum, cutoff=0.2)
        yield f"power {label}", ts.fft.power_spectrum(spectrum)
        yield f"squared {label}", spectrum * spectrum
        if np.dtype(dtype).kind == "f":
            half = ts.fft.rfftn(v, window="hann", detrend="linear")
            yield f"rfftn {label}", half
            yield f"irfftn {label}", ts.fft.irfftn(ts.fft.rfftn(v, shift=True))
            yield f"padded fftn {label}", ts.fft.fftn(v, s=[n + 5 for n in shape])


builder = SparkSession.builder.master(options.master).config("spark.ui.enabled", "false")
builder = builder.config("spark.tilespark.backend", options.backend).config("spark.sql.shuffle.partitions", "4")
spark = ts.configure(builder.config("spark.ui.showConsoleProgress", "false")).getOrCreate()
for name, result in itertools.chain(products(), moves(), transforms()):
    print(hashlib.sha256(np.ascontiguousarray(result.compute()).tobytes()).hexdigest()[:24], name, flush=True)
spark.stop()

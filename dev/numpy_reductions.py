"""Prints reductions of arrays with numpy's results; dev/numpy-table describes it.

Lines of tabs: an array is "@", name, numpy's type, extents, bytes; a reduction is its name, axes (empty: over all), further
arguments (name => value), array, the result's type, the greatest error in ulp, and bytes. Bytes are base64, little-endian; complex
numbers are pairs. Results have extent 1 along reduced axes.
"""

import base64
import warnings

import numpy as np

np.seterr(all="ignore")
warnings.simplefilter("ignore")

INTEGERS = ("int8", "int16", "int32", "int64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
SHAPES = {"matrix": (7, 10), "row": (1, 23), "column": (29, 1), "volume": (4, 5, 6)}
WIDE = {"float32": np.float64, "float64": np.longdouble, "complex64": np.complex128, "complex128": np.clongdouble}

random = np.random.default_rng(41)


def encoded(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()).decode()


def values(dtype: str, count: int, special: bool) -> np.ndarray:
    """Numbers whose sums are exact in double; special ones are those at the ends of a type, NaN, infinities and both zeros."""
    if dtype == "bool":
        return random.integers(0, 5, count) > 0 if special else random.integers(0, 2, count) > 0
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        numbers = random.integers(-100, 100, count).astype(dtype)
        if special:
            numbers[random.integers(0, count, count // 8)] = info.max
            numbers[random.integers(0, count, count // 8)] = info.min
        return numbers
    if dtype in COMPLEX:
        part = "float32" if dtype == "complex64" else "float64"
        numbers = np.empty(count, dtype)
        numbers.real, numbers.imag = values(part, count, special), values(part, count, special)
        return numbers
    numbers = (random.integers(-4000, 4000, count) / 16).astype(dtype)
    numbers[random.integers(0, count, count // 4)] = 0
    numbers[random.integers(0, count, count // 8)] = -0.0
    if special:
        for value in (np.nan, np.inf, -np.inf):
            numbers[random.integers(0, count, max(1, count // 20))] = value
    return numbers


ARRAYS = {
    (dtype, shape, special): values(dtype, int(np.prod(extents)), special).reshape(extents)
    for dtype in ("bool", *INTEGERS, *FLOATS, *COMPLEX)
    for shape, extents in SHAPES.items()
    for special in ((False, True) if shape in ("matrix", "volume") else (False,))
}
for (dtype, shape, special), array in ARRAYS.items():
    print("@", f"{dtype}.{shape}.{special}", dtype, "x".join(map(str, array.shape)), encoded(array), sep="\t")


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(WIDE.get(array.dtype.name, np.longdouble))


def fraction(array: np.ndarray) -> np.dtype:
    """The type of means."""
    return array.dtype if array.dtype.kind in "fc" else np.dtype("float64")


def size(array: np.ndarray) -> np.dtype:
    """The type of norms."""
    return np.dtype({"complex64": "float32", "complex128": "float64"}.get(array.dtype.name, fraction(array)))


def summed(array: np.ndarray) -> np.dtype:
    return array.dtype if array.dtype.kind in "fc" else np.dtype("int64")


def accurate(function, error: str = "1"):
    """A function that is computed in more digits and rounded once; of complex numbers it is complex, or real."""
    def of(v, axis):
        result = function(wide(v), axis=axis, keepdims=True)
        return result.astype(fraction(v) if np.iscomplexobj(result) else size(v)), error
    return of


def sums(v: np.ndarray, axis) -> tuple:
    if v.dtype.kind not in "fc":
        return np.sum(v, axis=axis, keepdims=True, dtype=np.int64), "0"
    return np.sum(wide(v), axis=axis, keepdims=True).astype(summed(v)), "1"


def nansums(v: np.ndarray, axis) -> tuple:
    if v.dtype.kind not in "fc":
        return sums(v, axis)
    return np.nansum(wide(v), axis=axis, keepdims=True).astype(summed(v)), "1"


def by_parts(function):
    """Where numpy divides complex numbers, an infinite part makes the other one NaN."""
    def of(v, axis):
        if v.dtype.kind != "c":
            return function(v, axis)
        real, error = function(v.real, axis)
        result = np.empty(real.shape, v.dtype)
        result.real, result.imag = real, function(v.imag, axis)[0]
        return result, error
    return of


def nanmeans(v: np.ndarray, axis) -> tuple:
    """As nanmean, but for each part of complex numbers."""
    if v.dtype.kind != "c":
        return accurate(np.nanmean)(v, axis)
    kept = np.where(np.isnan(v), 0, v)
    count = np.sum(~np.isnan(v), axis=axis, keepdims=True)
    real, imag = (np.sum(wide(part), axis=axis, keepdims=True) / count for part in (kept.real, kept.imag))
    result = np.empty(real.shape, v.dtype)
    result.real, result.imag = real, imag
    return result, "1"


def plain(function):
    return lambda v, axis: (function(v, axis=axis, keepdims=True), "0")


def place(function):
    return lambda v, axis: (np.asarray(function(v, axis=axis, keepdims=True)).astype(np.int64), "0")


def norm(order):
    def of(v, axis):
        if axis is None and order is None:
            return np.asarray(np.linalg.norm(wide(v).ravel())).reshape((1,) * v.ndim).astype(size(v)), "2"
        return np.linalg.norm(wide(v), ord=order, axis=axis, keepdims=True).astype(size(v)), "2"
    return of


REAL = {
    "min": (plain(np.min), ""),
    "max": (plain(np.max), ""),
    "ptp": (lambda v, axis: (np.max(v, axis=axis, keepdims=True) - np.min(v, axis=axis, keepdims=True), "0"), ""),
    "argmin": (place(np.argmin), ""),
    "argmax": (place(np.argmax), ""),
}
ALL = {
    "var": (accurate(np.var, "8"), ""),
    "std": (accurate(np.std, "8"), ""),
    "any": (plain(lambda v, **given: np.any(v, **given).astype(bool)), ""),
    "all": (plain(lambda v, **given: np.all(v, **given).astype(bool)), ""),
    "nansum": (nansums, ""),
    "nanmean": (nanmeans, ""),
    "sum": (sums, ""),
    "mean": (by_parts(accurate(np.mean)), ""),
    "count_nonzero": (lambda v, axis: (np.asarray(np.count_nonzero(v, axis=axis, keepdims=True)).astype(np.int64), "0"), ""),
    "norm": (norm(None), ""),
}


CANCELLED = ("mean", "nanmean", "var", "std")  # of the ends of int64 nothing is left of other numbers


def show(name: str, function, axis, arguments: str, key: tuple) -> None:
    if name in CANCELLED and key[0] == "int64" and key[2]:
        return
    if name == "ptp" and key[0] == "bool":
        return  # numpy subtracts no truth values
    v = ARRAYS[key]
    result, error = function(v, axis)
    result = np.asarray(result)
    axes = "" if axis is None else ",".join(map(str, axis if isinstance(axis, tuple) else (axis,)))
    print(name, axes, arguments, f"{key[0]}.{key[1]}.{key[2]}", result.dtype.name, error, encoded(result), sep="\t")


for key, array in ARRAYS.items():
    axes = (None, 0, 1, (0, 1)) if array.ndim == 2 else (None, 1, -1, (0, 2), (1, 2))
    for name, (function, arguments) in (ALL if key[0] in COMPLEX else {**REAL, **ALL}).items():
        for axis in axes:
            if not (name.startswith("arg") and isinstance(axis, tuple)):
                show(name, function, axis, arguments, key)
    for order in (1, np.inf):
        for axis in (0, 1, (0, 1), (1, 0)) if array.ndim == 2 else (2, (2, 0)):
            show("norm", norm(order), axis, f"ord => {'inf' if order == np.inf else order}", key)
    show("var", accurate(lambda v, **given: np.var(v, ddof=1, **given), "8"), 0, "ddof => 1", key)
    show("std", accurate(lambda v, **given: np.std(v, ddof=0.5, **given), "8"), 1, "ddof => 0.5", key)

"""Prints elementwise expressions with their inputs and numpy's results; dev/numpy-table describes it.

Lines of tabs: an array is "@", name, numpy's type, bytes; an expression is "matrix" or "volume", the expression, its operands
(name=array), the result's type, the greatest error in ulp, and bytes. Bytes are base64, little-endian; complex numbers are pairs.
An error of "0z" is one of no bits, where zeros may have either sign.
"""

import base64
import itertools

import numpy as np

np.seterr(all="ignore")

INTEGERS = ("int8", "int16", "int32", "int64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
REAL = INTEGERS + FLOATS
WIDER = {"float32": np.float64, "float64": np.longdouble}
ORIGIN = (5, 70, 900)  # of the block in the whole array

random = np.random.default_rng(41)


def floats(dtype: str, count: int) -> np.ndarray:
    """Special values, and others of all sizes that functions distinguish."""
    info = np.finfo(dtype)
    tiny, least, most = float(info.smallest_normal), float(info.smallest_subnormal), float(info.max)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, least, -tiny / 2, most, -most, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0]
    rest = random.standard_normal(count - len(special)) * 10.0 ** random.integers(-6, 3, count - len(special))
    return np.array([*special, *rest]).astype(dtype)


def integers(dtype: str, count: int) -> np.ndarray:
    info = np.iinfo(dtype)
    special = [info.min, info.max, info.min + 1, 0, 1, -1, 2, -2, 5, -5, 15, 25]
    rest = random.integers(-120, 120, count - len(special))
    return np.array([*special, *rest.tolist()], dtype)


def single(dtype: str) -> np.ndarray:
    """24 values for functions of one."""
    if dtype == "bool":
        return np.arange(24).reshape(4, 6) % 3 == 0
    if dtype in INTEGERS:
        return integers(dtype, 24).reshape(4, 6)
    if dtype in FLOATS:
        return floats(dtype, 24).reshape(4, 6)
    part = "float32" if dtype == "complex64" else "float64"
    v = np.empty(24, dtype)
    v.real, v.imag = floats(part, 24), random.permutation(floats(part, 24))
    return v.reshape(4, 6)


def pair_values(dtype: str) -> list:
    """Eight values, each of which meets each of the other operand's."""
    if dtype == "bool":
        return [True, False] * 4
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return [info.min, info.max, 0, 1, -1, 7, -3, 100]
    if dtype in FLOATS:
        return [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.7, -2.5, 3.0]
    big, small = np.finfo(dtype).max / 2, np.finfo(dtype).smallest_normal * 3
    parts = ((0, 0), (-0.0, 2), (1.5, -2.5), (np.inf, 1), (np.nan, 3), (big, -big), (small, small), (3, 0.1))
    return [complex(*z) for z in parts]


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    values = np.array(pair_values(dtype), dtype)
    return np.repeat(values, 8).reshape(8, 8), np.tile(values, 8).reshape(8, 8)


def encoded(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


ARRAYS: dict[str, np.ndarray] = {}
for name in ("bool", *REAL, *COMPLEX):
    ARRAYS[f"{name}"] = single(name)
    ARRAYS[f"{name}.a"], ARRAYS[f"{name}.b"] = pairs(name)
for name in ("int16", "float32", "float64"):
    ARRAYS[f"{name}.row"] = ARRAYS[name][:1].copy()
    ARRAYS[f"{name}.column"] = ARRAYS[name][:, :1].copy()
    ARRAYS[f"{name}.volume"] = ARRAYS[name].reshape(2, 3, 4)
    ARRAYS[f"{name}.plane"] = ARRAYS[name].reshape(2, 3, 4)[:, :, :1].copy()


def wide(function, *operands):
    """A function in more bits than numpy's type for it has, rounded: what 2 ulp are counted from."""
    dtype = np.result_type(np.float32, *(x.dtype for x in operands)).name
    return function(*(x.astype(dtype).astype(WIDER[dtype]) for x in operands)).astype(dtype)


def product(x, y):
    """By the formula: numpy's own loops may fuse."""
    z = np.empty(np.broadcast(x, y).shape, np.result_type(x, y))
    x, y = np.asarray(x, z.dtype), np.asarray(y, z.dtype)
    z.real = x.real * y.real - x.imag * y.imag
    z.imag = x.real * y.imag + x.imag * y.real
    return z


def pair(real, imag):
    z = np.empty(real.shape, "complex64" if real.dtype == np.float32 else "complex128")
    z.real, z.imag = real, imag
    return z


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def show(expression: str, result: np.ndarray, error: str = "0", **operands: str) -> None:
    names = ",".join(f"{name}={array}" for name, array in operands.items())
    kind = "volume" if result.ndim == 3 else "matrix"
    print(kind, expression, names, result.dtype.name, error, encoded(result), sep="\t")


def one(dtypes: tuple[str, ...], error: str, cases: dict[str, object]) -> None:
    for (expression, function), dtype in itertools.product(cases.items(), dtypes):
        show(expression, function(ARRAYS[dtype]), error, v=dtype)


def two(dtypes: list[tuple[str, str]], error: str, cases: dict[str, object]) -> None:
    for (expression, function), (a, b) in itertools.product(cases.items(), dtypes):
        show(expression, function(ARRAYS[f"{a}.a"], ARRAYS[f"{b}.b"]), error, a=f"{a}.a", b=f"{b}.b")


for name, array in ARRAYS.items():
    print("@", name, array.dtype.name, "x".join(map(str, array.shape)), encoded(array), sep="\t")

one(REAL, "0", {
    "-v": lambda v: -v,
    "+v": lambda v: v,
    "v + 1": lambda v: v + 1,
    "2 * v - 3": lambda v: 2 * v - 3,
    "v * 0.1": lambda v: v * 0.1,
    "v / 3": lambda v: v / 3,
    "v / 0": lambda v: v / 0,
    "v div 3": lambda v: v // 3,
    "v div -2": lambda v: v // -2,
    "v div 0": lambda v: v // 0,
    "v % 3": lambda v: v % 3,
    "v % -5": lambda v: v % -5,
    "v % 0": lambda v: v % 0,
    "abs(v)": np.abs,
    "sign(v)": np.sign,
    "floor(v)": np.floor,
    "ceil(v)": np.ceil,
    "round(v)": np.round,
    "round(v, -1)": lambda v: np.round(v, -1),
    "v = v": lambda v: v == v,
    "v <> 1": lambda v: v != 1,
    "v > 2": lambda v: v > 2,
    "v < 100000": lambda v: v < 100000,
    "v >= 0.5": lambda v: v >= 0.5,
    "isnan(v)": np.isnan,
    "nanvl(v, 7)": lambda v: np.where(np.isnan(v), v.dtype.type(7), v),
    "clip(v, -2, 3)": lambda v: np.clip(v, -2, 3),
    "if(v > 0, v, 0)": lambda v: np.where(v > 0, v, v.dtype.type(0)),
    "if(v > 0, 1, 0)": lambda v: (v > 0).astype(v.dtype),
    "CASE WHEN v < -1 THEN -1 WHEN v > 1 THEN 1 ELSE v END": lambda v: np.where(v < -1, -v**0, np.where(v > 1, v**0, v)),
    "pow(v, 2)": lambda v: np.power(v, 2),
})
one(INTEGERS, "0", {
    "pow(v, 5)": lambda v: v**5,
    "pow(v, 0)": lambda v: v**0,
    "v * v * v": lambda v: v * v * v,
    "complex(v, 1)": lambda v: pair(v.astype("float64"), np.ones(v.shape)),
})
for target, sql in zip(REAL, ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")):
    one(REAL, "0", {f"CAST(v AS {sql})": lambda v: v.astype(target)})
one(FLOATS, "0", {
    "v * 3.14159265358979": lambda v: v * 3.14159265358979,
    "v * (2 * 3.14159265358979 / 360)": lambda v: v * (2 * 3.14159265358979 / 360),
    "pow(v, 0.5)": lambda v: np.power(v, 0.5),
    "pow(v, -1)": lambda v: np.power(v, -1.0),
    "round(v, 1)": lambda v: np.round(v, 1),
    "sqrt(v) * 2 + 1": lambda v: np.sqrt(v) * 2 + 1,
    "least(v, inf())": lambda v: np.minimum(v, np.inf),
    "if(v < 0, nan(), v)": lambda v: np.where(v < 0, v.dtype.type(np.nan), v),
    "v BETWEEN -1 AND 1": lambda v: (v >= -1) & (v <= 1),
    "v NOT IN (1, -2.5)": lambda v: ~((v == 1) | (v == -2.5)),
    "NOT (v > 0 AND v < 10) OR isnan(v)": lambda v: ~((v > 0) & (v < 10)) | np.isnan(v),
    "real(v) + imag(v)": lambda v: v.real + v.imag,
    "complex(v, -v)": lambda v: pair(v, -v),
})
one(("int16", "int32", "int64", *FLOATS), "2", {
    "sqrt(v)": lambda v: wide(np.sqrt, v),
    "exp(v)": lambda v: wide(np.exp, v),
    "expm1(v)": lambda v: wide(np.expm1, v),
    "log(v)": lambda v: wide(np.log, v),
    "log1p(v)": lambda v: wide(np.log1p, v),
    "sin(v)": lambda v: wide(np.sin, v),
    "cos(v)": lambda v: wide(np.cos, v),
    "tan(v)": lambda v: wide(np.tan, v),
    "tanh(v)": lambda v: wide(np.tanh, v),
    "sigmoid(v)": lambda v: wide(sigmoid, v),
})
one(FLOATS, "2", {
    "pow(v, 1.5)": lambda v: wide(lambda x: np.power(x, 1.5), v),
    "power(v, -3)": lambda v: wide(lambda x: np.power(x, -3.0), v),
    "arg(v)": lambda v: np.angle(v),
})
one(("bool",), "0", {
    "NOT v": lambda v: ~v,
    "v + 1": lambda v: v + 1,
    "v * 2.5": lambda v: v * 2.5,
    "v % 2": lambda v: v % 2,
    "v / v": lambda v: v / v,
    "v + v": lambda v: v + v,
    "v * v": lambda v: v * v,
    "v div v": lambda v: v // v,
    "v = TRUE": lambda v: v == True,  # noqa: E712
    "abs(v)": np.abs,
    "conj(v)": np.conj,
    "imag(v)": np.imag,
    "floor(v)": np.floor,
    "CAST(v AS INT)": lambda v: v.astype("int32"),
    "if(v, v, FALSE)": lambda v: np.where(v, v, False),
    "if(v, 1, 0) + 1": lambda v: (v.astype("int8") + 1),
})
EVERY = ("bool", *REAL)
two(list(itertools.combinations_with_replacement(EVERY, 2)), "0", {"a + b": lambda a, b: a + b})
two([(a, b) for a in INTEGERS for b in FLOATS], "0", {"b < a": lambda a, b: b < a})
two([(t, t) for t in REAL] + [("int8", "int64"), ("float32", "float64")], "0", {
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: a / b,
    "a div b": lambda a, b: a // b,
    "a % b": lambda a, b: a % b,
    "a <= b": lambda a, b: a <= b,
    "a = b": lambda a, b: a == b,
})
two([(t, t) for t in REAL], "0z", {
    "greatest(a, b, 1)": lambda a, b: np.maximum(np.maximum(a, b), 1),
    "least(a, b)": np.minimum,
    "clip(a, b, b)": lambda a, b: np.clip(a, b, b),
})
two([(t, t) for t in FLOATS], "2", {
    "atan2(a, b)": lambda a, b: wide(np.arctan2, a, b),
    "hypot(a, b)": lambda a, b: wide(np.hypot, a, b),
    "pow(a, b)": lambda a, b: wide(np.power, a, b),
})
two([("bool", "bool")], "0", {
    "a AND b": lambda a, b: a & b,
    "a OR NOT b": lambda a, b: a | ~b,
    "a <> b": lambda a, b: a != b,
    "greatest(a, b)": np.maximum,
})
one(COMPLEX, "0", {
    "-v": lambda v: -v,
    "v + 1": lambda v: v + 1,
    "v * 2": lambda v: product(v, 2),
    "v * complex(0, 1)": lambda v: product(v, 1j),
    "v / 3": lambda v: v / 3,
    "1 / v": lambda v: 1 / v,
    "conj(v)": np.conj,
    "real(v)": np.real,
    "imag(v)": np.imag,
    "v = v": lambda v: v == v,
    "v <> 1": lambda v: v != 1,
    "isnan(v)": np.isnan,
    "if(isnan(v), 0, v)": lambda v: np.where(np.isnan(v), v.dtype.type(0), v),
    "complex(imag(v), real(v))": lambda v: pair(v.imag, v.real),
})
one(COMPLEX, "2", {"abs(v)": np.abs, "arg(v)": lambda v: wide(np.arctan2, v.imag, v.real)})
two([(t, t) for t in COMPLEX] + [("complex64", "complex128")], "0", {
    "a + b": lambda a, b: a + b,
    "a * b": product,
    "a / b": lambda a, b: a / b,
    "a = b": lambda a, b: a == b,
})
two([("int16", "complex64"), ("int32", "complex64"), ("float64", "complex64"), ("bool", "complex128")], "0", {
    "a - b": lambda a, b: a - b,
    "a * b": product,
})
for dtype in ("int16", "float32", "float64"):
    v = ARRAYS[dtype]
    row, col = np.indices(v.shape) + np.array(ORIGIN[:2]).reshape(2, 1, 1)
    show("v * row + col", v * row + col, v=dtype)
    show("v + a", v + ARRAYS[f"{dtype}.row"], v=dtype, a=f"{dtype}.row")
    show("a - b", ARRAYS[f"{dtype}.row"] - ARRAYS[f"{dtype}.column"], a=f"{dtype}.row", b=f"{dtype}.column")
    v = ARRAYS[f"{dtype}.volume"]
    x, y, z = np.indices(v.shape) + np.array(ORIGIN).reshape(3, 1, 1, 1)
    show("v + CAST(x * 100 + y * 10 + z AS SMALLINT)", v + (x * 100 + y * 10 + z).astype("int16"), v=f"{dtype}.volume")
    show("v * b", v * ARRAYS[f"{dtype}.plane"], v=f"{dtype}.volume", b=f"{dtype}.plane")

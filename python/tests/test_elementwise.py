"""Python's operators, and numpy's functions of elements, compared with numpy's own."""

import operator
from typing import Any

import numpy as np
import pytest
import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

RNG = np.random.default_rng(12)
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
COMPARED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def sample(dtype: str, shape: tuple[int, ...] = (4, 5)) -> Any:
    a = RNG.integers(-3, 4, shape)
    if dtype in ("bool", "uint8", "uint16"):
        return abs(a).astype(dtype)
    return (a / 2 + 1j).astype(dtype) if dtype == "complex64" else (a / 2 if dtype[0] == "f" else a).astype(dtype)


def same(found: Any, expected: Any) -> None:
    assert isinstance(found, ts.BlockArray)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.compute(), expected, 1e-6 if expected.dtype in ("float32", "complex64") else 1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float32", "float64", "complex64"])
def test_numbers(dtype):
    a = sample(dtype)
    x = ts.from_numpy(a, (3, 2))
    numbers: list[Any] = [2, 0.5, np.int16(2), np.float64(0.25), np.float32(0.5)]
    if dtype == "complex64":
        numbers += [2 - 1j]
    for at, number in enumerate(numbers):
        for each, operation in enumerate(ARITHMETIC + COMPARED[:2] if dtype == "complex64" else ARITHMETIC + COMPARED):
            if (at + each) % 3 and operation is not operator.add:
                continue  # a sample of the pairs
            if operation in (operator.floordiv, operator.mod) and dtype == "complex64":
                continue
            if operation is operator.floordiv and a.dtype.kind in "bi":
                same(operation(x, number), operation(a, number))  # 2 // 0 is 0 and a warning in numpy
            else:
                same(operation(x, number), operation(a, number))
                same(operation(number, x), operation(number, a))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("one", "two"),
    [("float64", "float64"), ("float32", "int8"), ("int8", "int32"), ("int64", "float32"), ("complex64", "float64"), ("bool", "int8")],
)
def test_two_arrays(one, two):
    a, b = sample(one), sample(two)
    x, y = ts.from_numpy(a, (3, 2)), ts.from_numpy(b, (2, 5))
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv, operator.eq):
        same(operation(x, y), operation(a, b))
        same(operation(a, y), operation(a, b))
        same(operation(x, b), operation(a, b))
    same(x * y[1], a * b[1])
    same(x[:, 1:2] - y[2:3], a[:, 1:2] - b[2:3])


def test_signs_and_truth_values():
    for dtype in ("int8", "int64", "float32", "float64", "complex64"):
        a = sample(dtype)
        x = ts.from_numpy(a, (3, 2))
        same(-x, -a)
        same(abs(x), abs(a))
        same(+x, a)
        same(x.conj(), a.conj())
        same(x.real, a.real)
        same(x.imag, a.imag)
    a, b = sample("int8"), sample("float64")
    x, y = ts.from_numpy(a, 2), ts.from_numpy(b, 3)
    same((x > 0) & (y < 1), (a > 0) & (b < 1))
    same((x > 0) | ~(y < 1), (a > 0) | ~(b < 1))
    same((x > 0) ^ True, (a > 0) ^ True)
    same(x + True, a + True)
    same((x > 0) + 1, (a > 0) + 1)
    same(x**2, a**2)
    same(abs(y) ** 1.5, abs(b) ** 1.5)
    same(2.0**y, 2.0**b)
    same(y.round(), b.round())
    same((y / 3).round(2), (b / 3).round(2))
    same(y.clip(-0.5, 1), b.clip(-0.5, 1))
    same(x.clip(max=1), a.clip(max=1))
    u = sample("uint16")
    same(ts.from_numpy(u, 2) > 1, u > 1)
    same(ts.from_numpy(u, 2) / 2, u / 2)


def test_functions_of_numpy():
    a = abs(sample("float64")) + 0.5
    x = ts.from_numpy(a, (3, 2))
    for name in "negative absolute sign floor ceil rint sqrt exp expm1 log log1p sin cos tan tanh isnan logical_not".split():
        same(getattr(np, name)(x), getattr(np, name)(a))
    for name in "maximum minimum arctan2 hypot power remainder less_equal".split():
        same(getattr(np, name)(x, 1.5), getattr(np, name)(a, 1.5))
        same(getattr(np, name)(a, x), getattr(np, name)(a, a))


def test_vectors_volumes_and_batches():
    v, c, s = sample("float64", (6,)), sample("float32", (3, 4, 5)), sample("float64", (3, 2, 4))
    x, y, z = ts.from_numpy(v, 4), ts.from_numpy(c, (2, 2, 5)), ts.from_numpy(s, batch=True)
    same(x + 1, v + 1)
    same(x * x > 1, v * v > 1)
    same(2 - y, 2 - c)
    same(y / (abs(y) + 1), c / (abs(c) + 1))
    same(y - y.mean(0, keepdims=True), c - c.mean(0, keepdims=True))
    same(z % 2, s % 2)
    same(z - z.mean(1, keepdims=True), s - s.mean(1, keepdims=True))
    labelled = ts.from_numpy(c, spacing=(1, 2, 3))
    assert (labelled + 1).spacing == (labelled * labelled).spacing == (1, 2, 3)


@pytest.mark.smoke
def test_scalars():
    a = sample("float32")
    x = ts.from_numpy(a, 2)
    same(x.map("v * s + n", s=0.5, n=3), a * np.float32(0.5) + 3)
    same(x.map("greatest(v, low)", low=-np.inf), a)
    same(x.zip(x + 1, "a * w + b * (1 - w)", w=np.float64(0.25)), a * np.float32(0.25) + (a + 1) * np.float32(0.75))
    same(x.T[1:] + 1, a.T[1:] + 1)
    with pytest.raises(ts.InvalidInputError, match="names no t"):
        x.map("v * s", s=1, t=2)


def test_axes_are_added_before_those_of_the_array_that_has_fewer():
    volume, matrix, vector = (np.arange(1.0, 1 + np.prod(shape)).reshape(shape) for shape in ((3, 4, 5), (4, 5), (5,)))
    x, m, v = ts.from_numpy(volume, (2, 3, 4)), ts.from_numpy(matrix, (3, 2)), ts.from_numpy(vector, 2)
    same(x * v, volume * vector)
    same(v - x, vector - volume)
    same(x + m, volume + matrix)
    same(matrix[:, :1] / x, matrix[:, :1] / volume)
    same(np.maximum(x, vector * 9), np.maximum(volume, vector * 9))


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (lambda x, u: x & 1.5, "bitwise_and"),
        (lambda x, u: x + 300, "300"),
        (lambda x, u: u + 300, "300"),
        (lambda x, u: (x > 0) - (x > 0), "boolean subtract"),
        (lambda x, u: x**-1, "negative integer powers"),
        (lambda x, u: x[:3, :4] + ts.from_numpy(np.zeros((4, 5, 6)), batch=True), "expected equal or 1"),
        (lambda x, u: x + x.T, "along row"),
        (lambda x, u: x << 1.5, "left_shift"),
    ],
)
def test_what_is_refused(operation, reason):
    with pytest.raises(ts.TileSparkError, match=reason):
        operation(ts.from_numpy(sample("int8")), ts.from_numpy(sample("uint8")))


def test_arrays_are_told_apart_by_identity():
    x = ts.from_numpy(sample("float64"))
    assert x in {x} and hash(x) == hash(x)
    assert not hasattr(x, "no_such_thing")

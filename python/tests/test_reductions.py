"""Reductions, statistics and elementwise expressions, compared with numpy's."""

import inspect
from typing import Any

import numpy as np
import pytest
import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

RNG = np.random.default_rng(11)
MATRIX = RNG.standard_normal((5, 7))
VOLUME = RNG.standard_normal((4, 3, 5)).astype("float32")
VECTOR = RNG.integers(-9, 9, 11)
METHODS = "sum mean min max ptp argmin argmax count_nonzero any all nansum nanmean var std".split()


def same(found, expected):
    """That two are the same array, or the same number of numpy."""
    assert isinstance(found, ts.BlockArray) == (np.ndim(expected) > 0)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    tolerance = 1e-6 if expected.dtype in ("float32", "complex64") else 1e-13
    np.testing.assert_allclose(found.compute() if np.ndim(expected) else found, expected, tolerance, tolerance)


def beside(name, a, x, axis=None, **arguments):
    same(getattr(x, name)(axis, **arguments), getattr(np, name)(a, axis=axis, **arguments))


@pytest.mark.parametrize("name", METHODS)
def test_axes(name):
    matrix, volume = ts.from_numpy(MATRIX, (2, 3)), ts.from_numpy(VOLUME, (3, 2, 2))
    of_one = (None, 0, -1)
    for axis in of_one:
        beside(name, MATRIX, matrix, axis)
    for some in of_one if name.startswith("arg") else (*of_one, (0, 2), (2, 1)):
        beside(name, VOLUME, volume, some)
    beside(name, VECTOR, ts.from_numpy(VECTOR, 4))
    beside(name, VECTOR, ts.from_numpy(VECTOR), 0)
    beside(name, VOLUME, volume, 1, keepdims=True)
    assert f"{name}(axis: 'Axis' = None, *" in name + str(inspect.signature(getattr(matrix, name)))
    assert "axis: one axis or several" in str(inspect.getdoc(getattr(matrix, name)))


@pytest.mark.smoke
def test_each_once():
    x = ts.from_numpy(MATRIX, (2, 3))
    beside("sum", MATRIX, x)
    beside("std", MATRIX, x, (1,), ddof=1, keepdims=True)
    same(x.map("sqrt(abs(v)) + row"), np.sqrt(abs(MATRIX)) + np.arange(5)[:, None])
    same(x.zip(x.mean(0, keepdims=True), "a - b"), MATRIX - MATRIX.mean(0))
    same(ts.linalg.norm(x), np.linalg.norm(MATRIX))
    same(ts.linalg.trace(x), np.trace(MATRIX))


def test_results_go_on():
    x, v = ts.from_numpy(MATRIX, (2, 3)), ts.from_numpy(VOLUME, (3, 2, 2))
    same(x.T.sum(0) @ x, MATRIX.sum(1) @ MATRIX)
    same(x[::2].max(1) + x[::2].min(1), MATRIX[::2].max(1) + MATRIX[::2].min(1))
    same(v.sum(1) @ v.sum((0, 1)), VOLUME.sum(1) @ VOLUME.sum((0, 1)))
    same(v.sum(2).max(0).mean(), VOLUME.sum(2).max(0).mean())
    same(v.T.argmax(), VOLUME.T.argmax())
    same(x[1].argmin(), MATRIX[1].argmin())
    same(v.sum(keepdims=True), VOLUME.sum(keepdims=True))
    labelled = ts.from_numpy(VOLUME, spacing=(1, 2, 3))
    assert labelled.sum(1).spacing == (1, 3) and labelled.sum((0, 2)).spacing == (2,)


def test_functions_of_numpy():
    x = ts.from_numpy(MATRIX, (2, 3))
    for name in ("sum", "mean", "min", "max", "argmax", "std", "any"):
        function = getattr(np, name)
        same(function(x, axis=1), function(MATRIX, axis=1))
    same(np.maximum.reduce(x), np.maximum.reduce(MATRIX))
    same(np.add.reduce(x, axis=1), np.add.reduce(MATRIX, axis=1))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint32", "int32", "int64", "float16", "float32", "complex64", "complex128"])
def test_dtypes(dtype):
    a = RNG.integers(0, 3, (4, 3)).astype(dtype)
    if dtype == "uint32":
        a[1] = 2**32 - 1
    x = ts.from_numpy(a, 2)
    summed = "int64" if a.dtype.kind in "biu" else dtype  # numpy: of unsigned integers uint64
    same(x.sum(1), a.sum(1).astype(summed))
    for name in ("mean", "count_nonzero") if a.dtype.kind == "c" else ("mean", "count_nonzero", "any", "all", "max", "argmin"):
        beside(name, a, x, 1)
        beside(name, a, x)
    same(ts.linalg.norm(x, axis=1), np.linalg.norm(a.astype("float64") if a.dtype.kind in "biu" else a, axis=1))
    same(ts.linalg.diagonal(x), np.diagonal(a))
    same(ts.linalg.trace(x), np.trace(a).astype(summed))


def test_special_values():
    a = MATRIX.copy()
    a[1, 2], a[3, 3], a[4] = np.nan, np.inf, -0.0
    x = ts.from_numpy(a, 2)
    for name in METHODS:
        if name not in ("var", "std"):
            beside(name, a, x, 1)
            beside(name, a, x)


def test_batches():
    a = RNG.standard_normal((3, 4, 5))
    x = ts.from_numpy(a, batch=True)
    for axis in (None, 0, 1, (1, 2), (0, 2)):
        beside("sum", a, x, axis)
        beside("max", a, x, axis, keepdims=True)
    same(x.zip(x.mean(1, keepdims=True), "a - b"), a - a.mean(1, keepdims=True))
    same(ts.linalg.diagonal(x), np.linalg.diagonal(a))
    np.testing.assert_allclose(ts.linalg.trace(x), np.linalg.trace(a))
    same(ts.linalg.norm(x, axis=(1, 2)), np.linalg.norm(a, axis=(1, 2)))
    same(ts.cov(x), np.array([np.cov(each) for each in a]))


def test_norms():
    x, v, vector = ts.from_numpy(MATRIX, (2, 3)), ts.from_numpy(VOLUME, 2), ts.from_numpy(MATRIX[0])
    for of_vectors in (1, 2, np.inf):
        same(ts.linalg.norm(x, of_vectors, 1), np.linalg.norm(MATRIX, of_vectors, 1))
        same(ts.linalg.norm(vector, of_vectors), np.linalg.norm(MATRIX[0], of_vectors))
    orders: tuple[Any, ...] = (None, "fro", 1, np.inf)
    for order in orders:
        same(ts.linalg.norm(x, order), np.linalg.norm(MATRIX, order))
        same(ts.linalg.norm(v, order, (2, 0)), np.linalg.norm(VOLUME, order, (2, 0)))
    same(ts.linalg.norm(v, keepdims=True), np.sqrt((VOLUME**2).sum(keepdims=True)))


def test_statistics():
    a = MATRIX.T
    x = ts.from_numpy(a, (3, 2))
    for rowvar in (True, False):
        same(ts.cov(x, rowvar=rowvar), np.cov(a, rowvar=rowvar))
        same(ts.corrcoef(x, rowvar=rowvar), np.corrcoef(a, rowvar=rowvar))
    same(ts.cov(x, bias=True), np.cov(a, bias=True))
    same(ts.cov(x, ddof=2), np.cov(a, ddof=2))
    constant = np.where(np.arange(5) == 2, 3, a)
    expected = (constant - constant.mean(0)) / np.where(np.arange(5) == 2, 1, constant.std(0))
    same(ts.linalg.standardize(ts.from_numpy(constant, 3)), expected)


def test_map_and_zip():
    x, v, vector = ts.from_numpy(MATRIX, (2, 3)), ts.from_numpy(VOLUME, 2), ts.from_numpy(MATRIX[0])
    same(v.map("if(v > 0, v, 0)"), np.where(VOLUME > 0, VOLUME, 0))
    same(vector.map("v > 0"), MATRIX[0] > 0)
    same(x.zip(vector, "a * b"), MATRIX * MATRIX[0])
    same(vector.zip(x, "a / b"), MATRIX[0] / MATRIX)
    same(vector.zip(MATRIX[1], "greatest(a, b)"), np.maximum(MATRIX[0], MATRIX[1]))
    same(x[0].zip(x[:1, 0], "a + b"), MATRIX[0] + MATRIX[0, 0])
    same(x.zip(x.sum(1, keepdims=True), "a / b"), MATRIX / MATRIX.sum(1, keepdims=True))
    same(v.zip(VOLUME[:1], "a - b"), VOLUME - VOLUME[:1])

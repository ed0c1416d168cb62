"""The names of the Python array API standard, against numpy; dev/array-api runs the standard's own tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilespark as ts
from pyspark.sql import SparkSession

A = np.arange(6.0).reshape(2, 3) - 1.5
V = np.arange(4)
CUBE = np.arange(24.0).reshape(2, 3, 4)
POINTS = np.array([-2.5, -1.0, -0.0, 0.0, 1e-9, 0.5, 1.0, 30.0, np.inf, -np.inf, np.nan])
COMPLEX = (np.array([-2.5, -0.3, 0.4, 8.0])[:, None] + 1j * np.array([-1.0, 1e-3, 1.7])).ravel()


@pytest.fixture(autouse=True)
def _session(spark: SparkSession) -> None:
    pass


def same(got: ts.BlockArray, want: Any) -> None:
    wanted = np.asarray(want)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(got.compute(), wanted)


def test_namespace() -> None:
    x = ts.asarray(A)
    xp = x.__array_namespace__(api_version="2024.12")
    assert xp is ts
    assert all(hasattr(xp, name) for name in ts.array_api.__all__)
    assert (x.device, x.to_device("spark")) == (ts.__array_namespace_info__().default_device(), x)
    assert set(ts.__array_namespace_info__().dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32"}
    assert ts.isdtype(ts.complex64, ("integral", "complex floating")) and not ts.isdtype(ts.bool, "numeric")
    assert ts.finfo(x).eps == 2**-52 and ts.iinfo(ts.uint8).max == 255
    for refused in (lambda: x.to_device("cuda"), lambda: ts.zeros(3, device="cpu"), lambda: x.__array_namespace__(api_version="2019.1")):
        with pytest.raises((ts.UnsupportedError, ts.InvalidInputError), match="expected"):
            refused()


def jobs(spark: SparkSession, action: Callable[[], Any]) -> int:
    """The jobs that an action starts."""
    if not hasattr(spark, "_jsc"):
        pytest.skip("a Connect client does not see the jobs")
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("test_array_api", "")
    try:
        before = len(tracker.getJobIdsForGroup("test_array_api"))
        action()
        return len(tracker.getJobIdsForGroup("test_array_api")) - before
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_elements_of_a_small_array_come_from_one_job(spark: SparkSession) -> None:
    x = ts.asarray(A) * 2
    alone = jobs(spark, lambda: (ts.asarray(A) * 2).compute())
    assert jobs(spark, lambda: [x[0, 1], x.shape]) == 0
    assert jobs(spark, lambda: [float(x[i, j]) for i in range(2) for j in range(3)]) == alone
    assert [float(each) for each in ts.asarray(V) + 1] == [1, 2, 3, 4]
    assert range(9)[ts.asarray(V)[2]] == 2
    same(x[1, 2] + x[0, 0], A[1, 2] * 2 + A[0, 0] * 2)
    x.compute()[0, 0] = 99  # a copy
    assert x[0, 0].item() == -3


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int8", "int64"])
def test_integers_wrap_and_have_bits(dtype: str) -> None:
    limits = np.iinfo(dtype)
    a = np.array([limits.min, 1, 7, 100, limits.max], dtype)
    b = np.array([limits.max, 3, 5, limits.max, limits.min], dtype)
    x, y = ts.asarray(a), ts.asarray(b)
    shift = np.array([0, 1, 2, limits.bits - 1, 3], dtype)
    with np.errstate(all="ignore"):
        pairs = ((x + y, a + b), (x * y, a * b), (x - 3, a - np.array(3, dtype)), (-x, -a), (~x, ~a), (x & y, a & b), (x | 6, a | 6))
        for got, want in (*pairs, (x ^ y, a ^ b), (x << ts.asarray(shift), a << shift), (x >> ts.asarray(shift), a >> shift)):
            same(got, want)
        same(x ** ts.asarray(shift), a**shift)


@pytest.mark.parametrize("values", [POINTS, POINTS.astype("float32"), COMPLEX], ids=["float64", "float32", "complex128"])
def test_functions_made_of_others(values: np.ndarray[Any, Any]) -> None:
    names = "acos acosh asin asinh atan atanh cosh expm1 isfinite isinf log log10 log1p log2 reciprocal sinh square sqrt tanh"
    x = ts.asarray(values)
    eps = np.finfo(values.dtype).eps
    for name in names.split():
        numpys = {"a": "arc"}.get(name[0], "") + name[1:] if name[0] == "a" else name
        with np.errstate(all="ignore"):
            want = getattr(np, numpys)(values)
            got = getattr(ts, name)(x).compute()
            assert got.dtype == want.dtype, name
            np.testing.assert_allclose(got, want, rtol=16 * eps, atol=1e-300, err_msg=name)
            if want.dtype.kind == "f":
                known = ~np.isnan(want)
                np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]), err_msg=name)


def test_creation() -> None:
    same(ts.asarray(2.5), 2.5)
    same(ts.full((2,), 2**32 - 1, "uint32"), np.full(2, 2**32 - 1, "uint32"))
    same(ts.full((2,), 1 - 2j), np.full(2, 1 - 2j))
    assert math.copysign(1, ts.full((1,), -0.0)[0].item()) == -1
    same(ts.zeros(()), np.zeros(()))
    same(ts.tril(ts.asarray(CUBE), k=-1), np.tril(CUBE, -1))
    same(ts.triu(ts.asarray(A), k=1), np.triu(A, 1))
    for got, want in zip(ts.meshgrid(ts.asarray(V), ts.asarray(V[:3])), np.meshgrid(V, V[:3]), strict=True):
        same(got, want)
    same(ts.linspace(0, 1, 5, endpoint=False, dtype="float32"), np.linspace(0, 1, 5, endpoint=False, dtype="float32"))
    same(ts.eye(2, 3, k=10**30, dtype="complex64"), np.zeros((2, 3), "complex64"))
    with pytest.raises(ValueError, match="copy"):
        ts.asarray(A, copy=False)


def test_manipulation() -> None:
    x, v = ts.asarray(A), ts.asarray(V)
    same(ts.tile(x, (2, 1, 3)), np.tile(A, (2, 1, 3)))
    same(ts.repeat(x, 3, axis=1), np.repeat(A, 3, 1))
    same(ts.repeat(v, 2), np.repeat(V, 2))
    same(ts.roll(x, 2), np.roll(A, 2))
    same(ts.stack([v, v + 1], axis=-1), np.stack([V, V + 1], -1))
    same(ts.concat([x, v], axis=None), np.concatenate([A, V], None))
    same(ts.broadcast_to(v, (3, 4)), np.broadcast_to(V, (3, 4)))
    same(ts.unstack(x, axis=1)[2], A[:, 2])
    same(ts.expand_dims(ts.squeeze(ts.expand_dims(v, axis=0), 0), axis=1), V[:, None])
    same(ts.where(x > 0, x, -0.0), np.where(A > 0, A, -0.0))
    same(ts.astype(ts.asarray([2.7, -3.9, 300.0]), "uint8"), np.array([2, 253, 44], "uint8"))
    same(ts.repeat(v, [2, 0, 1, 3]), np.repeat(V, [2, 0, 1, 3]))
    with pytest.raises(ts.InvalidInputError, match="repeats of shape .2,. for an axis of 4"):
        ts.repeat(v, [1, 2])


def test_reductions_are_lazy(spark: SparkSession) -> None:
    x = ts.asarray(A)
    assert jobs(spark, lambda: ts.sum(x)) == 0
    same(ts.sum(x), A.sum())
    same(ts.max(x, axis=1, keepdims=True), A.max(1, keepdims=True))
    same(ts.argmin(x), A.argmin())
    same(ts.prod(x, axis=0), A.prod(0))
    same(ts.cumulative_sum(x, axis=1, include_initial=True), np.hstack([np.zeros((2, 1)), A.cumsum(1)]))
    same(ts.sum(ts.zeros((0, 3)), axis=0), np.zeros(3))
    np.testing.assert_allclose(float(ts.std(x, correction=1)), A.std(ddof=1))


def test_products() -> None:
    x, cube = ts.asarray(A), ts.asarray(CUBE)
    same(ts.vecdot(x, x), (A * A).sum(1))
    same(ts.tensordot(x, x, axes=([1], [1])), np.tensordot(A, A, ([1], [1])))
    same(ts.matmul(cube, ts.matrix_transpose(cube)), CUBE @ CUBE.transpose(0, 2, 1))
    same(ts.matmul(cube, ts.asarray(V.astype(float))), CUBE @ V)
    same(ts.matmul(ts.asarray(V), ts.asarray(V)), V @ V)

"""Arrays made by Spark from a rule, equal to numpy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilespark as ts
from tilespark.errors import InvalidInputError, UnsupportedError

pytestmark = pytest.mark.usefixtures("spark")


def same(found: ts.BlockArray, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.compute(), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex64", "complex128"])
def test_numbers(dtype: str) -> None:
    same(ts.zeros((5, 7), dtype, blocks=(2, 3)), np.zeros((5, 7), dtype))
    same(ts.full((3, 4, 5), 1, dtype, blocks=(2, 2, 4)), np.full((3, 4, 5), 1, dtype))
    same(ts.ones(6, dtype, blocks=4), np.ones(6, dtype))


def test_shapes() -> None:
    same(ts.zeros((0, 3)), np.zeros((0, 3)))
    same(ts.zeros(0), np.zeros(0))
    same(ts.full((2, 2), np.nan), np.full((2, 2), np.nan))
    same(ts.full((2, 2), 2**60 + 1), np.full((2, 2), 2**60 + 1))
    same(ts.full(3, 1 + 2j), np.full(3, 1 + 2j))
    assert ts.ones((3, 5), blocks=2).validate().count() == 0
    assert ts.zeros((100_000, 100_000)).shape == (100_000, 100_000)  # nothing is made yet


@pytest.mark.parametrize("arguments", [(7,), (2, 9), (2, 9, 3), (9, 2, -2), (0, 1, 0.1), (5, 1), (1.5, 4)])
def test_ranges(arguments: tuple[float, ...]) -> None:
    same(ts.arange(*arguments, blocks=3), np.arange(*arguments))
    same(ts.arange(5, dtype="float32"), np.arange(5, dtype="float32"))


def test_of_matrices_and_lines() -> None:
    for n, m, k in ((4, None, 0), (3, 5, 1), (5, 3, -2)):
        same(ts.eye(n, m, k, blocks=2), np.eye(n, m, k))
    same(ts.eye(3, dtype="int32"), np.eye(3, dtype="int32"))
    for count in (0, 1, 2, 11):
        np.testing.assert_allclose(ts.linspace(-1, 2, count, blocks=4).compute(), np.linspace(-1, 2, count), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: ts.zeros((2, 3), "uint64"), UnsupportedError),
        (lambda: ts.zeros((2, -3)), InvalidInputError),
        (lambda: ts.zeros(3, "U5"), UnsupportedError),
        (lambda: ts.full(3, [1, 2, 3]), UnsupportedError),
        (lambda: ts.arange(1, 5, 0), InvalidInputError),
    ],
)
def test_refused(make: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def random_shares(seed: int, shape: tuple[int, ...]) -> Any:
    """The numbers of SplitMix64 with a step for each coordinate, as the expression rand(seed) has them."""

    def mix(z: Any) -> Any:
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    with np.errstate(over="ignore"):
        bits = mix(np.full(shape, seed % 2**64, np.uint64))
        for places in np.indices(shape, dtype=np.uint64):
            bits = mix(bits + (places + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    return (bits >> np.uint64(11)).astype(float) * 2.0**-53


@pytest.mark.parametrize(("shape", "blocks"), [((5, 7), (2, 3)), ((3, 4, 5), (2, 2, 4)), ((40, 30), None)])
def test_random_numbers(shape: tuple[int, ...], blocks: Any) -> None:
    from scipy.special import ndtri

    shares = random_shares(-5, shape)
    same(ts.random.uniform(size=shape, seed=-5, blocks=blocks), shares)
    same(ts.random.uniform(-2, 4, shape, seed=-5, dtype="float32"), (-2 + 6 * shares).astype("float32"))
    np.testing.assert_allclose(ts.random.normal(1, 3, shape, seed=-5, blocks=blocks).compute(), 1 + 3 * ndtri(shares), rtol=1e-13)


def test_random_vectors_and_seeds() -> None:
    x = ts.random.normal(size=500, blocks=64)
    np.testing.assert_array_equal(x.compute(), x.compute())  # one array has one seed
    assert abs(x.compute().mean()) < 0.5
    assert (x.compute() != ts.random.normal(size=500).compute()).all()
    wrong: list[dict[str, Any]] = [{"scale": -1}, {"size": None}, {"seed": 2**63}, {"seed": 0.5}, {"loc": "a"}]
    for options in wrong:
        given: dict[str, Any] = {"size": 3, "seed": 1, **options}
        with pytest.raises(InvalidInputError):
            ts.random.normal(**given)
    with pytest.raises(UnsupportedError):
        ts.random.uniform(size=3, dtype="int32")

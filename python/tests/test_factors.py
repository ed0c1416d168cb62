"""Factorisations of tilespark.linalg against numpy's and scipy's."""

import numpy as np
import pytest
import scipy.linalg
import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

linalg = ts.linalg
DTYPES = ["float64", "float32"]


def matrix(rows, cols, dtype="float64", seed=0):
    return np.random.default_rng(seed).standard_normal((rows, cols)).astype(dtype)


def of_shape(shape, dtype):
    return matrix(shape[0], shape[1], dtype, 1)


def positive(n, dtype="float64", seed=0):
    a = matrix(n, n, seed=seed)
    return (a @ a.T + np.eye(n)).astype(dtype)


def close(found, expected, tolerance=None):
    result = found.compute() if isinstance(found, ts.BlockArray) else np.asarray(found)
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    if tolerance is None:
        tolerance = 1e-5 if expected.dtype == "float32" else 1e-12
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max(initial=0)))


def batch(*matrices):
    return ts.from_numpy(np.stack(matrices), (1, 3, 2), batch=True), np.stack(matrices)


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype):
    a = positive(7, dtype)
    x = ts.from_numpy(a, (3, 2))
    close(linalg.cholesky(x), np.linalg.cholesky(a))
    close(linalg.cholesky(x, upper=True), scipy.linalg.cholesky(a))
    ignored = a + np.triu(np.full_like(a, np.nan), 1)
    close(linalg.cholesky(ignored), np.linalg.cholesky(a))
    x, both = batch(positive(4, seed=1), positive(4, seed=2))
    close(linalg.cholesky(x), np.linalg.cholesky(both))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigh(dtype):
    a = matrix(8, 8, dtype)
    a = a + a.T
    x = ts.from_numpy(a, (3, 3))
    expected, _ = np.linalg.eigh(a)
    values, vectors = linalg.eigh(x)
    close(values, expected)
    close(linalg.eigvalsh(x), expected)
    v = vectors.compute()
    np.testing.assert_allclose(a @ v, v * values.compute(), atol=2e-5 if dtype == "float32" else 1e-12)
    upper = np.triu(a) + np.tril(np.full_like(a, np.nan), -1)
    close(linalg.eigh(upper, "U").eigenvalues, expected)
    some = linalg.eigh(x, k=3)
    close(some.eigenvalues, expected[-3:])
    assert some.eigenvectors.shape == (8, 3)
    x, both = batch(positive(4, seed=1), positive(4, seed=2))
    close(linalg.eigh(x).eigenvalues, np.linalg.eigvalsh(both))
    close(linalg.eigvalsh(x), np.linalg.eigvalsh(both))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (5, 5), (1, 6), (6, 1)])
def test_qr(shape, dtype):
    a = of_shape(shape, dtype)
    q, r = np.linalg.qr(a)
    found = linalg.qr(ts.from_numpy(a, (3, 2)))
    close(found.Q, q)
    close(found.R, r)
    close(linalg.qr(a, mode="r"), r)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (5, 5), (1, 6), (6, 1)])
def test_svd(shape, dtype):
    a = of_shape(shape, dtype)
    x = ts.from_numpy(a, (3, 2))
    _, expected, _ = np.linalg.svd(a, full_matrices=False)
    u, s, vh = linalg.svd(x)
    close(s, expected)
    close(linalg.svdvals(x), expected)
    close(linalg.svd(x, compute_uv=False), expected)
    assert (u.shape, vh.shape) == ((shape[0], min(shape)), (min(shape), shape[1]))
    close((u.compute() * s.compute()) @ vh.compute(), a)
    close(np.asarray(linalg.norm(x, 2)), np.linalg.norm(a, 2))
    close(np.asarray(linalg.norm(x, "nuc")), np.linalg.norm(a, "nuc"))


def test_batches_of_svd():
    x, both = batch(matrix(6, 4, seed=1), matrix(6, 4, seed=2), matrix(6, 4, seed=3))
    u, s, vh = linalg.svd(x)
    close(s, np.linalg.svd(both, compute_uv=False))
    close((u.compute() * s.compute()[:, None, :]) @ vh.compute(), both)
    close(linalg.pinv(x), np.linalg.pinv(both))
    close(linalg.norm(x, 2, axis=(1, 2)), np.linalg.norm(both, 2, axis=(1, 2)))
    close(linalg.norm(x, "nuc", axis=(-1, -2), keepdims=True), np.linalg.norm(both, "nuc", axis=(-1, -2), keepdims=True))
    close(linalg.norm(x, 1, axis=(1, 2)), np.linalg.norm(both, 1, axis=(1, 2)))
    np.testing.assert_array_equal(linalg.matrix_rank(x), [4, 4, 4])


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve(dtype):
    a, b = matrix(6, 6, dtype, 1), matrix(6, 3, dtype, 2)
    x = ts.from_numpy(a, (3, 2))
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    close(linalg.solve(x, b), np.linalg.solve(a, b), tolerance)
    close(linalg.solve(x, b[:, 0]), np.linalg.solve(a, b[:, 0]), tolerance)
    p = positive(6, dtype)
    close(linalg.solve(p, ts.from_numpy(b, (2, 2)), assume_a="positive definite"), np.linalg.solve(p, b), tolerance)


def test_batches_of_equations():
    a, both = batch(matrix(5, 5, seed=1), matrix(5, 5, seed=2))
    b, right = batch(matrix(5, 3, seed=3), matrix(5, 3, seed=4))
    close(linalg.solve(a, b), np.linalg.solve(both, right), 1e-10)
    close(linalg.solve(a, right[0]), np.linalg.solve(both, right[0]), 1e-10)
    close(linalg.solve(both[0], b), np.linalg.solve(both[0], right), 1e-10)
    close(linalg.solve(a, right[0][:, 0]), np.linalg.solve(both, np.stack([right[0][:, :1]] * 2))[..., 0], 1e-10)
    sign, logarithm = linalg.slogdet(a)
    expected = np.linalg.slogdet(both)
    close(sign, expected.sign)
    close(logarithm, expected.logabsdet)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (5, 5), (7, 1), (1, 7)])
def test_lstsq(shape, dtype):
    a, b = of_shape(shape, dtype), matrix(shape[0], 3, dtype, 2)
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    for right in (b, b[:, 0]):
        found = linalg.lstsq(ts.from_numpy(a, (3, 2)), right)
        x, residuals, rank, s = np.linalg.lstsq(a, right)
        close(found[0], x, tolerance)
        close(found[1], residuals, tolerance)
        assert found[2] == rank
        close(found[3], s)


def test_rank_deficient():
    a = matrix(9, 2, seed=1) @ matrix(2, 5, seed=2)
    b = matrix(9, 2, seed=3)
    x, residuals, rank, _ = linalg.lstsq(a, b)
    expected = np.linalg.lstsq(a, b)
    close(x, expected[0], 1e-10)
    assert (rank, residuals.shape) == (2, (0,))
    assert linalg.matrix_rank(a) == 2
    assert linalg.matrix_rank(a, 1e9) == 0
    assert linalg.matrix_rank(a, rtol=0.999) == 1
    close(linalg.pinv(a), scipy.linalg.pinv(a), 1e-10)
    close(linalg.pinv(a, 0.999), np.linalg.pinv(a, 0.999), 1e-10)
    close(linalg.pinv(a, rtol=0.999), np.linalg.pinv(a, 0.999), 1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_slogdet(dtype):
    a = matrix(6, 6, dtype)
    sign, logarithm = linalg.slogdet(ts.from_numpy(a, (2, 5)))
    expected = np.linalg.slogdet(a)
    assert (sign, sign.dtype) == (expected.sign, a.dtype)
    np.testing.assert_allclose(logarithm, expected.logabsdet, rtol=1e-5)
    assert tuple(linalg.slogdet(np.zeros((2, 2)))) == (0, -np.inf)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool"])
def test_integers_are_computed_in_float64(dtype):
    a = np.array([[4, 1, 0], [1, 5, 1], [0, 1, 3]]).astype(dtype)
    wide = a.astype("float64")
    if dtype != "bool":  # ones alone are not positive definite
        close(linalg.cholesky(a), np.linalg.cholesky(wide))
    close(linalg.svdvals(a), np.linalg.svdvals(wide))
    close(np.asarray(linalg.norm(a, 2)), np.linalg.norm(wide, 2))
    assert linalg.matrix_rank(a) == np.linalg.matrix_rank(wide)


def test_without_elements():
    tall, empty = np.zeros((3, 0)), np.zeros((0, 0))
    for found, expected in zip(linalg.svd(tall), np.linalg.svd(tall, full_matrices=False), strict=True):
        close(found, expected)
    for found, expected in zip(linalg.qr(tall), np.linalg.qr(tall), strict=True):
        close(found, expected)
    close(linalg.pinv(tall), np.linalg.pinv(tall))
    close(linalg.cholesky(empty), np.linalg.cholesky(empty))
    close(linalg.eigvalsh(empty), np.linalg.eigvalsh(empty))
    close(linalg.solve(empty, np.zeros((0, 2))), np.zeros((0, 2)))
    assert tuple(linalg.slogdet(empty)) == tuple(np.linalg.slogdet(empty))
    assert linalg.matrix_rank(tall) == 0


def test_what_cannot_be_factorised():
    wide = ts.from_numpy(matrix(3, 4))
    for name in ("cholesky", "eigh", "eigvalsh", "slogdet"):
        with pytest.raises(ts.InvalidInputError, match=r"shape \(3, 4\); expected as many rows as columns"):
            getattr(linalg, name)(wide)
    for name in ("svd", "qr", "pinv", "matrix_rank"):
        with pytest.raises(ts.InvalidInputError, match="of a vector; expected a matrix"):
            getattr(linalg, name)(np.zeros(3))
        with pytest.raises(ts.UnsupportedError, match="complex"):
            getattr(linalg, name)(np.zeros((2, 2), complex))
    with pytest.raises(ts.InvalidInputError, match=r"shapes \(3, 4\) and \(4, 2\)"):
        linalg.lstsq(wide, np.zeros((4, 2)))
    with pytest.raises(ts.InvalidInputError, match="UPLO is 'X'"):
        linalg.eigh(np.eye(2), "X")
    with pytest.raises(ts.UnsupportedError, match="mode='complete'"):
        linalg.qr(np.eye(2), "complete")
    with pytest.raises(ts.UnsupportedError, match="full_matrices=True"):
        linalg.svd(wide, full_matrices=True)
    with pytest.raises(ts.InvalidInputError, match="assume is 'banded'"):
        linalg.solve(np.eye(2), np.eye(2), assume_a="banded")
    with pytest.raises(ts.TileSparkError, match="singular"):
        linalg.solve(np.ones((2, 2)), np.ones(2)).compute()
    with pytest.raises(ts.TileSparkError, match="order 2 .* is not positive"):
        linalg.cholesky(np.array([[1.0, 2], [2, 1]])).compute()
    with pytest.raises(ts.TileSparkError, match="row 1, col 0 is NaN; expected finite numbers"):
        linalg.svdvals(np.array([[1.0, 2], [np.nan, 1]])).compute()

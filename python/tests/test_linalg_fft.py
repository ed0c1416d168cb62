"""tilespark.linalg and tilespark.fft against numpy and scipy."""

import numpy as np
import pytest
import tilespark as ts
from scipy import fft

pytestmark = pytest.mark.usefixtures("spark")


def volume(shape=(6, 5, 8), dtype="float64", seed=0):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return random.integers(0, 100, shape).astype(dtype)
    values = random.standard_normal(shape)
    return (values + 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def close(found, expected, dtype=None):
    result = found.compute()
    assert result.shape == expected.shape
    assert result.dtype == (expected.dtype if dtype is None else dtype)
    tolerance = 1e-5 if result.dtype in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_take_numpys_openblas(spark, capsys, dtype):
    if not spark.conf.get("spark.tilespark.cpu.libraryPath", ""):
        pytest.skip("this numpy brings no OpenBLAS as its wheels do")
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((70, 90)).astype(dtype), rng.standard_normal((90, 40)).astype(dtype)
    product = ts.from_numpy(a, (32, 32)) @ ts.from_numpy(b, (32, 32))
    product.explain()
    shown = capsys.readouterr().out
    assert "cpu (OpenBLAS " in shown or "gpu" in shown
    close(product, a @ b)


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
def test_fftn(dtype):
    a = volume(dtype=dtype)
    x = ts.from_numpy(a, (2, 3, 8))
    spectrum = ts.fft.fftn(x)
    close(spectrum, fft.fftn(a))
    close(ts.fft.ifftn(spectrum), fft.ifftn(fft.fftn(a)))


@pytest.mark.parametrize("shape", [(6, 5, 8), (4, 7, 9)])
def test_rfftn(shape):
    a = volume(shape)
    half = ts.fft.rfftn(ts.from_numpy(a, (3, 2, 4)))
    close(half, fft.rfftn(a))
    close(ts.fft.irfftn(half), a)


def test_integers_are_promoted():
    a = volume(dtype="int16")
    close(ts.fft.fftn(ts.from_numpy(a)), fft.fftn(a), "complex128")
    close(ts.fft.rfftn(ts.from_numpy(a.astype("uint8"))), fft.rfftn(a))


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("axes", [None, (0,), (1, 2), (2, 0), (-1, -3)])
def test_norms_and_axes(norm, axes):
    a = volume()
    x = ts.from_numpy(a, (2, 3, 4))
    spectrum = ts.fft.fftn(x, axes=axes, norm=norm)
    close(spectrum, fft.fftn(a, axes=axes, norm=norm))
    close(ts.fft.ifftn(spectrum), a.astype(complex))
    close(ts.fft.rfftn(x, axes=axes, norm=norm), fft.rfftn(a, axes=axes, norm=norm))


def test_padding():
    a = volume()
    x = ts.from_numpy(a)
    close(ts.fft.fftn(x, s=(8, 8, 8)), fft.fftn(a, s=(8, 8, 8)))
    close(ts.fft.fftn(x, s=(9, 10), axes=(1, 2)), fft.fftn(a, s=(9, 10), axes=(1, 2)))
    close(ts.fft.rfftn(x, s=(7, 9)), fft.rfftn(a, s=(7, 9)))


def test_order_of_axes():
    a = volume()
    x = ts.from_numpy(a, (2, 5, 8), spacing=(1, 2, 3))
    permuted = ts.fft.fftn(x, permuted=True)
    close(permuted, fft.fftn(a).transpose(1, 2, 0))
    assert permuted.spacing == (2, 3, 1)
    back = ts.fft.ifftn(permuted)
    close(back, a.astype(complex))
    assert back.spacing == (1, 2, 3)


def test_shift():
    a = volume()
    close(ts.fft.fftn(ts.from_numpy(a), shift=True), fft.fftshift(fft.fftn(a)))
    close(ts.fft.ifftn(ts.fft.fftn(ts.from_numpy(a), shift=True)), a.astype(complex))


def test_inverses_of_foreign_spectra():
    a = volume()
    close(ts.fft.ifftn(ts.from_numpy(fft.fftn(a))), fft.ifftn(fft.fftn(a)))
    close(ts.fft.irfftn(ts.from_numpy(fft.rfftn(a))), a)
    odd = volume((4, 5, 7))
    close(ts.fft.irfftn(ts.from_numpy(fft.rfftn(odd)), s=(4, 5, 7)), odd)


@pytest.mark.parametrize("axes", [(2, 0, 1), (0, 2, 1), (1, 2, 0), (1, 0)])
def test_axes_of_foreign_spectra(axes):
    a = volume((4, 5, 7))
    extents = [a.shape[axis] for axis in axes]
    half = fft.rfftn(a, axes=axes)
    close(ts.fft.irfftn(ts.from_numpy(half), s=extents, axes=axes), a)
    close(ts.fft.ifftn(ts.from_numpy(half), axes=axes), fft.ifftn(half, axes=axes))


@pytest.mark.parametrize("axes", [None, (0, 1, 2), (-1, 0)])
def test_inverses_with_the_arguments_of_scipy(axes):
    a = volume((4, 5, 7))
    extents = a.shape if axes is None else [np.int64(a.shape[axis]) for axis in axes]
    x = ts.from_numpy(a)
    close(ts.fft.irfftn(ts.fft.rfftn(x, axes=axes), s=extents, axes=axes), a)
    close(ts.fft.ifftn(ts.fft.fftn(x, axes=axes), s=extents, axes=axes), a.astype(complex))
    if axes == (0, 1, 2):
        close(ts.fft.irfftn(ts.fft.rfftn(x), s=a.shape), a)
        close(ts.fft.ifftn(ts.fft.fftn(x, permuted=True), axes=axes), a.astype(complex))


def test_options_of_transforms():
    a = volume()
    x = ts.from_numpy(a, (2, 3, 4))
    centred = ts.fft.fftn(x, shift="both", decomposition="pencils")
    close(centred, fft.fftshift(fft.fftn(fft.ifftshift(a))))
    close(ts.fft.ifftn(centred, decomposition="slabs"), a.astype(complex))
    close(ts.fft.ifftn(ts.from_numpy(fft.fftshift(fft.fftn(a))), shift=True), a.astype(complex))
    hole = ts.from_dataframe(x.df.where("x < 4"), shape=a.shape)
    filled = np.where(np.arange(6)[:, None, None] < 4, a, 0)
    close(ts.fft.rfftn(hole, missing="zero"), fft.rfftn(filled))
    half = ts.from_numpy(fft.rfftn(a), (2, 5, 5))
    hole = ts.from_dataframe(half.df.where("x < 4"), shape=(6, 5, 5))
    kept = np.where(np.arange(6)[:, None, None] < 4, fft.rfftn(a), 0)
    close(ts.fft.irfftn(hole, missing="zero"), fft.irfftn(kept, s=a.shape))


def test_frequencies():
    x = ts.from_numpy(volume(), spacing=(1, 2, 3))
    for spectrum, expected in (
        (ts.fft.rfftn(x), (fft.fftfreq(6), fft.fftfreq(5, 2), fft.rfftfreq(8, 3))),
        (ts.fft.fftn(x, permuted=True), (fft.fftfreq(5, 2), fft.fftfreq(8, 3), fft.fftfreq(6))),
        (ts.fft.fftn(x, axes=(1,), shift=True), (None, fft.fftshift(fft.fftfreq(5, 2)), None)),
    ):
        for found, along in zip(ts.fft.frequencies(spectrum), expected, strict=True):
            np.testing.assert_equal(found, along)


def test_low_pass_and_power():
    a = volume((8, 8, 8))
    x = ts.from_numpy(a, (2, 8, 8), spacing=0.5)
    spectrum = ts.fft.rfftn(x)
    f = np.meshgrid(fft.fftfreq(8, 0.5), fft.fftfreq(8, 0.5), fft.rfftfreq(8, 0.5), indexing="ij")
    radius = np.sqrt(sum(axis**2 for axis in f))
    kept = np.where(radius <= 0.4, fft.rfftn(a), 0)
    close(ts.fft.band_pass(spectrum, 0.3, 0.4), np.where(radius >= 0.3, kept, 0))
    close(ts.fft.low_pass(spectrum, 0.4), kept)
    close(ts.fft.irfftn(ts.fft.low_pass(spectrum, 0.4)), fft.irfftn(kept, s=a.shape))
    close(ts.fft.power_spectrum(spectrum), np.abs(fft.rfftn(a)) ** 2)
    np.testing.assert_array_equal(ts.fft.fftfreq(8, 0.5), fft.fftfreq(8, 0.5))
    average = ts.fft.radial_average(spectrum)
    assert average.count.sum() == a.size
    np.testing.assert_allclose((average.power * average.count).sum(), (np.abs(fft.fftn(a)) ** 2).sum())


def test_a_function_of_numpy_on_a_spectrum():
    a = volume()
    spectrum = ts.fft.fftn(ts.from_numpy(a, (2, 5, 8)))
    close(ts.fft.ifftn(spectrum.map_blocks(lambda block: 2 * block)), 2 * a.astype(complex))
    close(ts.fft.ifftn(spectrum * 3.0), 3 * a.astype(complex))
    close(ts.fft.ifftn(spectrum * spectrum), fft.ifftn(fft.fftn(a) ** 2))
    other = ts.fft.fftn(ts.from_numpy(a, (6, 5, 2))).rechunk((4, 4, 4))
    close(ts.fft.ifftn(spectrum * other), fft.ifftn(fft.fftn(a) ** 2))


def test_matmul_options():
    a = volume((1, 40, 30), "float32")[0]
    x = ts.from_numpy(a, (16, 16))
    product = ts.linalg.matmul(x, x.T, strategy="cuboid(2,2,1)", blocks=(np.int64(8), 40))
    assert product.blocks == (8, 40)
    np.testing.assert_allclose(product.compute(), a @ a.T, rtol=1e-5, atol=1e-5)


def test_products_of_complex_matrices():
    rng = np.random.default_rng(7)
    for dtype in ("complex64", "complex128"):
        a = (rng.normal(size=(20, 15)) + 1j * rng.normal(size=(20, 15))).astype(dtype)
        b = (rng.normal(size=(15, 12)) + 1j * rng.normal(size=(15, 12))).astype(dtype)
        x, y = ts.from_numpy(a, (7, 4)), ts.from_numpy(b, (6, 5))
        for found, expected in (
            (x @ y, a @ b),
            (a @ y, a @ b),
            (x.conj() @ y, a.conj() @ b),
            (y.T @ x.T, b.T @ a.T),
            (x.conj().T @ x, a.conj().T @ a),
            (x @ y.real, a @ b.real),
            (x.real @ y, a.real @ b),
            (x @ y[:, 0], a @ b[:, 0]),
            (ts.linalg.matmul(x, y, strategy="broadcast"), a @ b),
            (ts.linalg.gram(x), a.conj().T @ a),
            (ts.from_numpy(a[None], batch=True) @ b[None], (a @ b)[None]),
        ):
            assert isinstance(found, ts.BlockArray) and found.dtype == expected.dtype
            np.testing.assert_allclose(found.compute(), expected, rtol=0, atol=1e-5 if dtype == "complex64" else 1e-13)
        gram = ts.linalg.gram(x).compute()
        np.testing.assert_array_equal(gram, gram.conj().T)


def test_products_of_integers():
    rng = np.random.default_rng(8)
    for one, two in (
        ("bool", "float32"),
        ("int8", "float32"),
        ("uint16", "float32"),
        ("int32", "float32"),
        ("int64", "float64"),
        ("float32", "float64"),
        ("uint16", "complex64"),
        ("int8", "int8"),
        ("uint8", "int64"),
    ):
        a, b = (rng.integers(0, 2, shape).astype(dtype) for shape, dtype in (((9, 8), one), ((8, 5), two)))
        product = ts.from_numpy(a, (4, 3)) @ b
        wanted = np.result_type(a, b)
        assert product.dtype == (wanted if wanted.kind in "fc" else np.float64), (one, two)
        np.testing.assert_array_equal(product.compute(), a.astype("f8") @ b)
    a = rng.integers(-(2**15), 2**15, (9, 8)).astype("int16")
    np.testing.assert_array_equal(ts.linalg.gram(a).compute(), a.astype("i8").T @ a)


def test_gram_and_center():
    a = volume((1, 40, 9))[0]
    x = ts.from_numpy(a, (16, 4))
    close(ts.linalg.center(x), a - a.mean(axis=0))
    gram = ts.linalg.gram(x).compute()
    np.testing.assert_allclose(gram, a.T @ a, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(gram, gram.T)
    hole = ts.from_dataframe(x.df.where("row < 32"), shape=a.shape)
    np.testing.assert_allclose(ts.linalg.gram(hole, missing="zero").compute(), a[:32].T @ a[:32], rtol=1e-12, atol=1e-12)
    z = a + 1j * a[::-1]
    real = ts.from_numpy(z).map_blocks(np.real)
    np.testing.assert_allclose((real @ real.T).compute(), a @ a.T, rtol=1e-12, atol=1e-12)


def test_pca():
    random = np.random.default_rng(0)
    a = random.standard_normal((200, 6)) * [9, 7, 5, 3, 2, 1] + 100
    found = ts.linalg.pca(ts.from_numpy(a, (64, 4)), 3)
    centered = a - a.mean(axis=0)
    _, s, vt = np.linalg.svd(centered, full_matrices=False)
    np.testing.assert_allclose(np.abs(np.sum(found.components * vt[:3], axis=1)), 1, rtol=1e-10)
    np.testing.assert_allclose(found.explained_variance, s[:3] ** 2 / 199, rtol=1e-10)
    np.testing.assert_allclose(found.explained_variance_ratio, s[:3] ** 2 / (s**2).sum(), rtol=1e-10)
    np.testing.assert_allclose(found.scores.compute(), centered @ found.components.T, atol=1e-10)


@pytest.mark.parametrize(
    ("dtype", "scale"), [("float32", 1e-25), ("float32", 1e19), ("float64", 1e-200), ("float64", 1e200)]
)
def test_pca_of_numbers_whose_squares_are_out_of_range(dtype, scale):
    a = np.random.default_rng(5).normal(size=(30, 3)) @ np.array([[3.0, 1, 0], [0, 2, 1], [0, 0, 0.1]])
    expected, found = (ts.linalg.pca(ts.from_numpy(each, (8, 2)), 2) for each in (a, (a * scale).astype(dtype)))
    np.testing.assert_allclose(found.components, expected.components, atol=1e-5)
    np.testing.assert_allclose(found.explained_variance_ratio, expected.explained_variance_ratio, rtol=1e-5)
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(found.explained_variance, expected.explained_variance * np.float64(scale) ** 2, rtol=1e-5)
    np.testing.assert_allclose(found.scores.compute() / scale, expected.scores.compute(), atol=1e-4)


def test_pca_of_what_has_no_variance_or_no_numbers():
    a = np.full((6, 4), 3.0)
    found = ts.linalg.pca(ts.from_numpy(a, (2, 2)), 2)
    np.testing.assert_array_equal(found.explained_variance, [0, 0])
    np.testing.assert_array_equal(found.explained_variance_ratio, [0, 0])
    for bad in (np.nan, np.inf, -np.inf):
        a[4, 1] = bad
        with pytest.raises(ts.InvalidInputError, match="row 4, col 1 is"):
            ts.linalg.pca(ts.from_numpy(a, (2, 2)), 2)

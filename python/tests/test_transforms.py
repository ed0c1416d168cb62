"""Transforms along one axis and along two, of arrays of any rank, and what is made of them, compared with numpy's and scipy's."""

from typing import Any

import numpy as np
import pytest
import scipy.signal
import tilespark as ts
from numpy.testing import assert_allclose

pytestmark = pytest.mark.usefixtures("spark")

RANDOM = np.random.default_rng(46)


def complexes(*shape: int) -> Any:
    return RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)


def near(expected: Any, found: Any) -> None:
    assert found.shape == expected.shape
    result = found.compute()
    assert result.dtype == expected.dtype
    assert_allclose(result, expected, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(expected).max(initial=0)))


@pytest.mark.parametrize("shape,blocks", [((30,), (7,)), ((9, 14), (4, 5)), ((4, 6, 10), (2, 3, 10))])
def test_along_one_axis(shape: tuple[int, ...], blocks: tuple[int, ...]) -> None:
    real, mixed = RANDOM.standard_normal(shape), complexes(*shape)
    x, z = ts.from_numpy(real, blocks), ts.from_numpy(mixed, blocks)
    near(np.fft.fft(mixed), ts.fft.fft(z))
    near(np.fft.rfft(real, axis=0, norm="ortho"), ts.fft.rfft(x, axis=0, norm="ortho"))
    near(np.fft.ifft(mixed, 6), ts.fft.ifft(z, 6))
    near(np.fft.fft(real, 12, 0), ts.fft.fft(x, 12, 0))
    near(np.fft.irfft(mixed, 9, 0), ts.fft.irfft(z, 9, 0))
    near(np.fft.hfft(mixed), ts.fft.hfft(z))
    near(np.fft.ihfft(real, norm="forward"), ts.fft.ihfft(x, norm="forward"))
    near(real, ts.fft.irfft(ts.fft.rfft(x), shape[-1]))
    near(np.fft.fftshift(mixed), ts.fft.fftshift(z))
    near(np.fft.ifftshift(mixed, 0), ts.fft.ifftshift(z, 0))


def test_images_and_stacks_of_them() -> None:
    image, stack = RANDOM.standard_normal((13, 8)).astype("f4"), complexes(3, 7, 6)
    near_single: Any = {"rtol": 1e-5, "atol": 1e-5 * 100}
    x = ts.from_numpy(image, (5, 3))
    found = ts.fft.fft2(x).compute()
    assert found.dtype == np.complex64
    assert_allclose(found, np.fft.fft2(image.astype("f8")), **near_single)
    assert_allclose(ts.fft.irfft2(ts.fft.rfft2(x)).compute(), image, **near_single)
    assert_allclose(ts.fft.fftn(x, (8, 10)).compute(), np.fft.fftn(image, (8, 10)), **near_single)
    batch = ts.from_numpy(stack, (1, 4, 6), batch=True)
    near(np.fft.fft2(stack), ts.fft.fft2(batch))
    near(np.fft.ifft2(stack, (9, 4)), ts.fft.ifft2(batch, (9, 4)))
    near(stack, ts.fft.ifft(ts.fft.fft(batch, axis=0), axis=0))
    turned = ts.fft.fft2(batch)
    near(np.fft.fft2(stack) @ stack.transpose(0, 2, 1), turned @ batch.transpose((0, 2, 1)))  # a batch again


def test_by_numpys_names() -> None:
    a = complexes(6, 5)
    x: Any = ts.from_numpy(a, 3)
    near(np.fft.fft2(a), np.fft.fft2(x))
    near(np.fft.ifft(a, axis=0), np.fft.ifft(x, axis=0))
    near(np.fft.fftshift(a), np.fft.fftshift(x))


@pytest.mark.parametrize("one,two", [((17,), (6,)), ((9, 14), (4, 3)), ((6, 7, 8), (3, 2, 5))])
def test_convolutions(one: tuple[int, ...], two: tuple[int, ...]) -> None:
    a, b = RANDOM.standard_normal(one), RANDOM.standard_normal(two)
    x, y = ts.from_numpy(a, tuple(-(-n // 2) for n in one)), ts.from_numpy(b)
    for mode in ("full", "same", "valid"):
        near(scipy.signal.fftconvolve(a, b, mode), ts.signal.fftconvolve(x, y, mode))
    near(scipy.signal.correlate(a, b, "same"), ts.signal.correlate(x, b, "same"))
    near(scipy.signal.correlate(b, a, "valid"), ts.signal.correlate(b, x, "valid"))
    near(scipy.signal.correlate(a + 1j, b * 2j), ts.signal.correlate(a + 1j, b * 2j))


def test_errors() -> None:
    x = ts.from_numpy(np.ones((4, 5)))
    with pytest.raises(ts.InvalidInputError, match="mode is 'wide'; expected full, same, valid"):
        ts.signal.fftconvolve(x, x, "wide")
    with pytest.raises(ts.InvalidInputError, match="expected arrays of as many axes"):
        ts.signal.fftconvolve(x, np.ones(3))
    with pytest.raises(ts.InvalidInputError, match="one that is as long as the other along each axis"):
        ts.signal.fftconvolve(x, np.ones((5, 4)), "valid")
    with pytest.raises(ts.InvalidInputError, match="There is no axis 2"):
        ts.fft.fft(x, axis=2)
    with pytest.raises(ts.InvalidInputError, match="norm is 'none'"):
        ts.fft.hfft(x, norm="none")
    with pytest.raises(ts.UnsupportedError, match="with permuted=True; expected a volume"):
        ts.fft.fftn(x, permuted=True)
    with pytest.raises(ts.UnsupportedError, match="low_pass of a matrix of shape .4, 5.; expected a volume"):
        ts.fft.low_pass(ts.fft.fft2(x), 0.1)


@pytest.mark.parametrize(
    ("shape", "axis", "options"),
    [
        ((1000,), -1, {}),
        ((1000,), 0, {"nperseg": 63, "noverlap": 50, "fs": 12.5, "scaling": "spectrum"}),
        ((3, 300), 1, {"nperseg": 64, "window": "hamming"}),
        ((300, 3), 0, {"nperseg": 100, "noverlap": 0, "detrend": False, "window": "boxcar"}),
        ((2, 90, 3), 1, {"window": np.hanning(32)}),
        ((2, 3, 40), -1, {"nperseg": 16, "noverlap": 11, "window": "blackman"}),
    ],
)
def test_welch(shape: tuple[int, ...], axis: int, options: Any) -> None:
    a = np.random.default_rng(4).normal(size=shape) + 3
    frequencies, spectra = scipy.signal.welch(a, axis=axis, **options)
    found, ours = ts.signal.welch(ts.from_numpy(a), axis=axis, **options)
    assert_allclose(found, frequencies)
    near(spectra, ours)


def test_welch_of_short_signals_and_bad_arguments() -> None:
    a = np.random.default_rng(5).normal(size=100)
    x = ts.from_numpy(a)
    with pytest.warns(UserWarning, match="nperseg is 128"):
        near(scipy.signal.welch(a, nperseg=100)[1], ts.signal.welch(x, nperseg=128)[1])
    single = ts.from_numpy(a.astype("float32"))
    assert ts.signal.welch(single, nperseg=10)[1].dtype == scipy.signal.welch(a.astype("float32"), nperseg=10)[1].dtype
    wrong: list[dict[str, Any]] = [{"noverlap": 100}, {"window": "box"}, {"scaling": "power"}, {"detrend": "linear"}]
    for options in (*wrong, {"window": np.ones(101)}, {"nperseg": 0}):
        with pytest.raises(ts.InvalidInputError):
            ts.signal.welch(x, **options)
    with pytest.raises(ts.UnsupportedError, match="complex128 values; expected real ones"):
        ts.signal.welch(x * 1j)

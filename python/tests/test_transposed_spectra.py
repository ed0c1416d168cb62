"""Spectra whose axes were reordered: the inverse keeps that order, as numpy does. The order that a transform left is undone."""

from itertools import permutations

import numpy as np
import pytest
import tilespark as ts
from numpy import fft

pytestmark = pytest.mark.usefixtures("spark")

SHAPE = (2, 3, 4)
A = np.random.default_rng(7).standard_normal(SHAPE)
ORDERS = list(permutations(range(3)))


def close(found, expected):
    result = found.compute()
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(
    ("axes", "norm"), [(None, None), ((0, 1, 2), "ortho"), ((2, 0, 1), "forward"), ((1, 2), "ortho"), ((2, 0), None), ((1,), "forward")]
)
def test_inverse_of_a_reordered_spectrum(axes, norm, real):
    forward, ours = (fft.rfftn, ts.fft.rfftn) if real else (fft.fftn, ts.fft.fftn)
    inverse, back = (fft.irfftn, ts.fft.irfftn) if real else (fft.ifftn, ts.fft.ifftn)
    along = axes or (0, 1, 2)
    spectrum = ours(ts.from_numpy(A), axes=axes, norm=norm).persist()
    for order in ORDERS:
        turned = spectrum.transpose(order)
        at = tuple(order.index(axis) for axis in along)
        s = tuple(SHAPE[axis] for axis in along)
        expected = inverse(forward(A, axes=axes, norm=norm).transpose(order), s=s, axes=at, norm=norm)
        np.testing.assert_allclose(expected, A.transpose(order), atol=1e-14)
        close(back(turned), expected)
        if order in ((1, 2, 0), (2, 1, 0)):
            close(back(turned, s=s, axes=at, norm=norm), expected)


@pytest.mark.parametrize("real", [False, True])
def test_permuted_output(real):
    x = ts.from_numpy(A)
    spectrum = (ts.fft.rfftn if real else ts.fft.fftn)(x, permuted=True, shift=True).persist()
    back = ts.fft.irfftn if real else ts.fft.ifftn
    for order in ORDERS:
        # As it was left: in the order of x. As it was turned since: as numpy, in the order that it has.
        expected = A if order == (0, 1, 2) else A.transpose(1, 2, 0).transpose(order)
        close(back(spectrum.transpose(order)), expected)
    close(back(spectrum.transpose(1, 2, 0).transpose(2, 0, 1)), A)


def test_reordered_after_one_of_two_transforms():
    once = ts.fft.fftn(ts.from_numpy(A), axes=(0,)).T
    twice = ts.fft.fftn(once, axes=(0, 1)).transpose(1, 2, 0)
    s = fft.fftn(fft.fftn(A, axes=(0,)).T, axes=(0, 1)).transpose(1, 2, 0)
    close(twice, s)
    close(ts.fft.ifftn(twice), fft.ifftn(s, axes=(0, 2)))
    close(ts.fft.ifftn(ts.fft.ifftn(twice)), A.T.transpose(1, 2, 0))


def test_spacing_and_frequencies_follow_the_axes():
    spectrum = ts.fft.rfftn(ts.from_numpy(A, spacing=(1, 2, 3))).T
    assert spectrum.spacing == ts.fft.irfftn(spectrum).spacing == (3, 2, 1)
    for found, along in zip(ts.fft.frequencies(spectrum), (fft.rfftfreq(4, 3), fft.fftfreq(3, 2), fft.fftfreq(2)), strict=True):
        np.testing.assert_equal(found, along)


def test_a_spectrum_with_its_transpose():
    a = np.random.default_rng(8).standard_normal((3, 3, 3))
    s = fft.fftn(a)
    spectrum = ts.fft.fftn(ts.from_numpy(a)).persist()
    for order in ORDERS:
        turned = spectrum.transpose(order)
        close(ts.fft.ifftn(spectrum + turned), fft.ifftn(s + s.transpose(order)))
        close(ts.fft.ifftn(turned - spectrum), fft.ifftn(s.transpose(order) - s))
        close(ts.fft.ifftn(spectrum * turned), fft.ifftn(s * s.transpose(order)))
    # Numbers that no transform made, on either side.
    weights = np.random.default_rng(9).standard_normal((3, 3, 3))
    close(ts.fft.ifftn(ts.from_numpy(weights) * spectrum.T), fft.ifftn(weights * s.T))
    close(ts.fft.ifftn(spectrum.T * ts.from_numpy(weights)), fft.ifftn(s.T * weights))
    close(ts.from_numpy(a) * ts.from_numpy(a).T, a * a.T)
    # Spectra along other axes have no common inverse, nor one in the order that a transform left.
    partial = ts.fft.fftn(ts.from_numpy(a), axes=(0, 1))
    with pytest.raises(ts.errors.InvalidInputError, match="differ in transformed axes: 'xy' of the first, 'yz' of the second"):
        partial + partial.T
    with pytest.raises(ts.errors.InvalidInputError, match="order of the axes after the inverse"):
        spectrum * ts.fft.fftn(ts.from_numpy(a), permuted=True)

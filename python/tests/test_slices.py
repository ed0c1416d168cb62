"""Slices, flips and concatenated arrays, compared with numpy."""

import numpy as np
import pytest
import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

S = np.s_


def sample(shape, dtype="float64"):
    return np.random.default_rng(3).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize(
    "key",
    [
        S[2:7], S[:, ::3], S[..., -1], S[-2], S[3, 4], S[::-2, 5:1:-1], S[np.int64(1) :], S[:], S[...], S[1, ...], S[0:1, 0],
    ],
)  # fmt: skip
def test_matrices(key):
    a = sample((9, 8))
    found, expected = ts.from_numpy(a, (4, 3))[key], a[key]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.compute(), expected)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex64"])
@pytest.mark.parametrize("key", [S[1:4:2, ::-1], S[2], S[:, 1, ::2], S[..., 3], S[1, 2], S[1, :, 4], S[3, 2, 1], S[-1:, -2:, -3:]])
def test_volumes(key, dtype):
    a = sample((5, 6, 7), dtype)
    found, expected = ts.from_numpy(a, (2, 4, 3))[key], np.asarray(a[key])
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found.compute(), expected)


@pytest.mark.smoke
def test_vectors_batches_and_loops():
    v = sample(11)
    np.testing.assert_array_equal(ts.from_numpy(v, 4)[9:1:-3].compute(), v[9:1:-3])
    assert float(ts.from_numpy(v, 4)[5]) == v[5]
    b = sample((3, 4, 5))
    np.testing.assert_array_equal(ts.from_numpy(b, batch=True)[:, 1:3, ::-1].compute(), b[:, 1:3, ::-1])
    np.testing.assert_array_equal(ts.from_numpy(b, batch=True)[1:, 2].compute(), b[1:, 2])
    a = sample((3, 4))
    rows = [row.compute() for row in ts.from_numpy(a)]
    np.testing.assert_array_equal(rows, a)
    with pytest.raises(IndexError, match="index -4 is out of bounds for axis 0 with size 3"):
        ts.from_numpy(a)[-4]


def test_slices_go_on():
    a, b = sample((12, 10)), sample((10, 6))
    x = ts.from_numpy(a, (5, 4))[2:10, 1:7]
    np.testing.assert_allclose((x @ ts.from_numpy(b)[1:7]).compute(), a[2:10, 1:7] @ b[1:7])
    np.testing.assert_array_equal((x.T[::2] * 3).compute(), a[2:10, 1:7].T[::2] * 3)
    v = sample((6, 6, 6))
    spectrum = ts.fft.fftn(ts.from_numpy(v)[1:5, ::2, :3]).compute()
    np.testing.assert_allclose(spectrum, np.fft.fftn(v[1:5, ::2, :3]), atol=1e-9)
    labelled = ts.from_numpy(v, spacing=(1, 2, 3))[:, ::-2, 1]
    assert labelled.spacing == (1.0, 4.0)


def test_coordinates_are_sliced():
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(sample((4, 5)), dims=("t", "s"), coords={"t": [0.0, 1.0, 2.0, 3.0], "s": list("abcde")})
    found = ts.from_xarray(data)[1::2, 2:4].to_xarray()
    xarray.testing.assert_equal(found, data[1::2, 2:4])


def test_flips():
    for a in (sample((4, 5)), sample((3, 4, 5))):
        x = ts.from_numpy(a, 2)
        for axis in (None, 0, -1, (0, 1)):
            np.testing.assert_array_equal(x.flip(axis).compute(), np.flip(a, axis))
        np.testing.assert_array_equal(np.asarray(np.flip(x)), np.flip(a))
    np.testing.assert_array_equal(ts.from_numpy(sample((3, 4, 5))).flip("x").compute(), sample((3, 4, 5))[::-1])


@pytest.mark.smoke
def test_arrays_behind_each_other():
    a, b = sample((4, 5)), sample((3, 5))
    x, y = ts.from_numpy(a, 2), ts.from_numpy(b, 2)
    np.testing.assert_array_equal(ts.concatenate([x, y, x]).compute(), np.concatenate([a, b, a]))
    np.testing.assert_array_equal(ts.concatenate([x, a], axis=-1).compute(), np.concatenate([a, a], axis=-1))
    v = sample((2, 3, 4))
    np.testing.assert_array_equal(ts.concatenate([ts.from_numpy(v)] * 2, "y").compute(), np.concatenate([v, v], 1))
    np.testing.assert_array_equal(ts.concatenate([x[0], x[:, 0][:3]]).compute(), np.concatenate([a[0], a[:, 0][:3]]))
    for count in (1, 2, 3):
        np.testing.assert_array_equal(ts.stack([x] * count).compute(), np.stack([a] * count))


def test_filtered_frames():
    a = sample((8, 6))
    part = ts.from_dataframe(ts.from_numpy(a, 2).df.where("row >= 4 AND col < 4"), with_origin=True)
    assert part.shape == (4, 4)
    np.testing.assert_array_equal(part.compute(), a[4:, :4])

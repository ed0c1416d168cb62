"""Padded, rolled and reshaped arrays, and halos, compared with numpy's."""

import numpy as np
import pytest
import tilespark as ts


pytestmark = pytest.mark.usefixtures("spark")


def arrays():
    rng = np.random.default_rng(7)
    return [
        rng.integers(-9, 9, 7),
        rng.standard_normal((5, 6)),
        rng.standard_normal((3, 4, 5)).astype("float32"),
        (rng.standard_normal((4, 3, 2)) + 1j * rng.standard_normal((4, 3, 2))),
        np.arange(12, dtype="uint8").reshape(3, 4),
        np.array([[True, False, True]]),
    ]


def same(expected, found):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.compute(), expected)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_pad(mode):
    for a in arrays():
        x = ts.from_numpy(a, 2)
        for widths in (1, (2, 3), [(axis, 2 * axis + 1) for axis in range(a.ndim)]):
            same(np.pad(a, widths, mode), x.pad(widths, mode))
            same(a, x.pad(widths, mode).crop(widths))


@pytest.mark.smoke
def test_each_once():
    a = np.arange(24.0).reshape(4, 6)
    x = ts.from_numpy(a, (3, 2))
    same(np.pad(a, 1, constant_values=-1), x.pad(1, constant_values=-1))
    same(np.roll(a, (1, -8), (0, 1)), x.roll((1, -8), (0, 1)))
    same(a.reshape(2, -1, 6), x.reshape(2, -1, 6))
    same(a, x.halo(((1, 0), (2, 2)), "wrap").trim())


def test_roll():
    for a in arrays():
        x = ts.from_numpy(a, 2)
        for axis in range(a.ndim):
            same(np.roll(a, 3, axis), x.roll(3, axis))
        same(np.roll(a, (2, 2), (0, -1)), x.roll((2, 2), (0, -1)))
    same(np.roll(np.arange(5), 2), ts.from_numpy(np.arange(5)).roll(2))


def test_reshape():
    a = np.arange(60.0)
    for shape in ((60,), (6, 10), (3, 4, 5), (1, 60), (60, 1), (5, 12), (2, 5, 6)):
        x = ts.from_numpy(a.reshape(shape), 3)
        for other in ((60,), (-1,), (6, 10), (10, 6), (3, 4, 5), (5, -1), (1, 1, 60)):
            same(a.reshape(other), x.reshape(other))
    same(a.reshape(4, 15), ts.from_numpy(a).reshape(4, 15))


def test_batches():
    a = np.arange(24.0).reshape(2, 3, 4)
    x = ts.from_numpy(a, batch=True)
    same(np.pad(a, ((0, 0), (1, 2), (0, 3)), "edge"), x.pad(((0, 0), (1, 2), (0, 3)), "edge"))
    same(np.roll(a, 2, 2), x.roll(2, 2))
    same(np.pad(a, 1), x.pad(1))
    same(np.roll(a, 1, 0), x.roll(1, 0))
    same(a.reshape(6, 4), x.reshape(6, 4))
    with pytest.raises(ts.UnsupportedError, match=r"depth 1 of a batch of matrices of shape .*; expected \(0, 0\) for the first 1 axes"):
        x.halo(1)


def test_a_stencil_on_blocks_with_a_halo():
    a = np.arange(20.0).reshape(4, 5) ** 2
    haloed = ts.from_numpy(a, (3, 2)).halo(((0, 0), (1, 1)), "edge")
    difference = "coalesce(get(values, i + 1), 0D) - coalesce(get(values, i - 1), 0D)"
    df = haloed.df.selectExpr("row", "col", "rows", "cols", f"transform(values, (v, i) -> {difference}) AS values")
    padded = np.pad(a, ((0, 0), (1, 1)), "edge")
    np.testing.assert_array_equal(ts.from_dataframe(df).trim().compute(), padded[:, 2:] - padded[:, :-2])
    with pytest.raises(ts.TileSparkError, match="the blocks have a halo of 0,0; 1,1 elements"):
        haloed.compute()


def test_functions_of_numpy_on_blocks_with_a_halo():
    a = np.random.default_rng(5).random((11, 13))

    def spread(block):  # as scipy.ndimage.uniform_filter: beyond the array is its last element
        wide = np.pad(block, 1, "edge")
        return sum(wide[i : i + block.shape[0], j : j + block.shape[1]] for i in range(3) for j in range(3))

    x = ts.from_numpy(a, (4, 5))
    np.testing.assert_allclose(spread(a), x.map_overlap(spread, 1).compute(), rtol=1e-14)
    wrapped = spread(np.pad(a, 1, "wrap"))[1:-1, 1:-1]
    np.testing.assert_allclose(wrapped, x.map_overlap(spread, 1, edge="wrap").compute(), rtol=1e-14)
    v = np.arange(12.0) ** 2
    slope = ts.from_numpy(v, 5).map_overlap(np.gradient, ((1, 1),), dtype=float)
    np.testing.assert_allclose(np.gradient(v), slope.compute())
    c = np.random.default_rng(6).random((5, 4, 6))
    y = ts.from_numpy(c, (3, 4, 3), batch=False)
    moved = y.map_overlap(lambda b: np.cumsum(b, 0), ((2, 0), (0, 0), (0, 0)))
    expected = c + np.pad(c, ((1, 0), (0, 0), (0, 0)))[:-1] + np.pad(c, ((2, 0), (0, 0), (0, 0)))[:-2]
    np.testing.assert_allclose(expected[:3], moved.compute()[:3])
    with pytest.raises(ts.TileSparkError, match="map_overlap: block at row 0, col 0"):
        x.map_overlap(lambda b: b[0], 1, dtype=float).compute()
    with pytest.raises(ts.InvalidInputError, match="depth is -1"):
        x.map_overlap(spread, -1)


def test_errors():
    x = ts.from_numpy(np.arange(20.0).reshape(4, 5), 2)
    for widths in (-1, 1.5, ((1, 2), (3, 4), (5, 6)), "x"):
        with pytest.raises(ts.InvalidInputError, match="pad_width is"):
            x.pad(widths)
    with pytest.raises(ts.InvalidInputError, match="mode is 'mean'; expected constant"):
        x.pad(1, "mean")
    with pytest.raises(ts.InvalidInputError, match="expected a number that they can be"):
        ts.from_numpy(np.zeros(3, "uint8")).pad(1, constant_values=256)
    with pytest.raises(ts.UnsupportedError, match="name the axes"):
        x.roll(1)
    with pytest.raises(ts.InvalidInputError, match="one for each axis"):
        x.roll((1, 2, 3), (0, 1))
    with pytest.raises(ts.InvalidInputError, match="expected extents of 20 elements"):
        x.reshape(3, 7)
    with pytest.raises(ts.InvalidInputError, match="one of which may be -1"):
        x.reshape(-1, 2, -1)

"""Arrays of more than three axes, of none, and batches: everything that the axes before those of the blocks take part in."""

import numpy as np
import pytest
import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

A = np.random.default_rng(0).random((5, 4, 6, 7))
B = np.random.default_rng(1).random((4, 6, 7))


@pytest.fixture(scope="module")
def x(spark):
    return ts.from_numpy(A, blocks=(2, 3, 4))


@pytest.fixture(scope="module")
def z(spark):
    return ts.from_numpy(B, batch=True)


def equal(found, expected):
    values = found.compute() if isinstance(found, ts.BlockArray) else found
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


SERIES = {
    "there_and_back": lambda m, a: a,
    "more_axes": lambda m, a: a.reshape(5, 2, 2, 6, 7) * 2,
    "number": lambda m, a: 1 - a,
    "slices": lambda m, a: a[1:4:2, 1:, ::2, -1],
    "backwards": lambda m, a: a[::-1, :, ::-2],
    "index": lambda m, a: a[3],
    "indices": lambda m, a: a[3, :, 2],
    "inner_index": lambda m, a: a[:, 1],
    "new_axis": lambda m, a: a[:, None, 1],
    "list": lambda m, a: a[[4, 0, 0]],
    "mask": lambda m, a: a[np.array([True, False, True, True, False])],
    "inner_list": lambda m, a: a[:, [3, 1]],
    "last_list": lambda m, a: a[..., [0, 2, 6]],
    "reversed": lambda m, a: a.T,
    "moved_to_the_end": lambda m, a: a.transpose(1, 2, 3, 0),
    "volumes_turned": lambda m, a: a.transpose(0, 3, 1, 2),
    "all_mixed": lambda m, a: a.transpose(2, 0, 3, 1),
    "five_reversed": lambda m, a: a.reshape(5, 2, 2, 6, 7).T,
    "five_leading_turned": lambda m, a: a.reshape(5, 2, 2, 6, 7).transpose(1, 0, 2, 3, 4),
    "less_a_volume": lambda m, a: a - a[0],
    "centred_along_time": lambda m, a: a - a.mean(0),
    "each_centred": lambda m, a: a - a.mean((1, 2, 3), keepdims=True),
    "one_broadcast_axis": lambda m, a: a.reshape(5, 2, 2, 6, 7) + a.reshape(5, 2, 2, 6, 7)[:, :1],
    "vector": lambda m, a: a[0, 0, 0] - a,
    "matrices": lambda m, a: a @ a.swapaxes(2, 3),
    "matrix": lambda m, a: a @ a[0, 0].T,
    "times_vector": lambda m, a: a @ a[0, 0, 0],
    "flip": lambda m, a: m.flip(a, (0, 2)),
    "roll": lambda m, a: m.roll(a, (2, 3), (0, 3)),
    "pad": lambda m, a: m.pad(a, ((1, 2), (0, 0), (1, 1), (0, 0))),
    "end_to_end": lambda m, a: m.concatenate([a, a[1:3]]),
    "side_by_side": lambda m, a: m.concatenate([a, a], 2),
    "stack": lambda m, a: m.stack([a[0], a[1]]),
    "stack_last": lambda m, a: m.stack([a[0], a[1]], -1),
    "reshape": lambda m, a: a.reshape(20, 42),
    "argmax": lambda m, a: a.argmax(0),
    "argmin_inner": lambda m, a: a.argmin(2),
    "argmax_of_all": lambda m, a: a.argmax(),
}

BATCH = {
    "there_and_back": lambda m, a: a,
    "plus_matrix": lambda m, a: a + a[0],
    "matrix_less": lambda m, a: a[0] - a,
    "one": lambda m, a: a[1],
    "some": lambda m, a: a[::2, 1],
    "reversed": lambda m, a: a.T,
    "times_vector": lambda m, a: a @ a[0, 0],
    "vector_times": lambda m, a: a[0, :, 0] @ a,
    "flip": lambda m, a: m.flip(a, 0),
    "sum": lambda m, a: a.sum(0),
    "reshape": lambda m, a: a.reshape(8, 3, 7),
    "joined": lambda m, a: m.concatenate([a, a]),
    "norms": lambda m, a: m.linalg.norm(a, axis=(1, 2)),
    "diagonals": lambda m, a: m.linalg.svd(a[:, :, :6], full_matrices=False)[1],
}


@pytest.mark.parametrize("name", SERIES)
def test_series_of_volumes(x, name):
    equal(SERIES[name](np, x), SERIES[name](np, A))


@pytest.mark.parametrize("name", BATCH)
def test_batches(z, name):
    equal(BATCH[name](np, z), BATCH[name](np, B))


@pytest.mark.parametrize("axis", [None, 0, 1, 3, (0, 1), (0, 2), (1, 3), (0, 1, 2)], ids=str)
def test_reductions(x, axis):
    equal(x.mean(axis), A.mean(axis))
    equal(x.std(axis, keepdims=True), A.std(axis, keepdims=True))


@pytest.mark.parametrize("axes", [None, (0,), (3,), (1, 2, 3), (0, 2)], ids=str)
def test_transforms(x, axes):
    equal(np.fft.fftn(x, axes=axes), np.fft.fftn(A, axes=axes))
    equal(np.fft.ifftn(np.fft.fftn(x, axes=axes), axes=axes), A + 0j)


def test_real_transforms(x):
    equal(np.fft.rfft(x, axis=0), np.fft.rfft(A, axis=0))
    equal(np.fft.rfftn(x), np.fft.rfftn(A))
    equal(np.fft.irfft(np.fft.rfft(x, axis=0), 5, axis=0), A)
    equal(np.fft.irfftn(np.fft.rfftn(x), A.shape), A)


@pytest.mark.smoke
def test_volumes_multiply_as_stacks_of_matrices():
    v = ts.from_numpy(B)
    equal(v @ v.mT, B @ B.swapaxes(1, 2))
    equal(np.arange(6.0) @ v, np.arange(6.0) @ B)
    equal(ts.from_numpy(A) @ v.mT, A @ B.swapaxes(1, 2))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_joined_volumes_of_integers_multiply(axis):
    a = np.arange(48).reshape(2, 4, 6)
    v, w = ts.from_numpy(a, blocks=(1, 3, 2)), ts.from_numpy(a, blocks=(1, 2, 5))
    for one, two in ((v, v), (v, w)):
        both, expected = ts.concatenate([one, two], axis=axis), np.concatenate([a, a], axis=axis)
        equal(both @ expected.swapaxes(1, 2), expected @ expected.swapaxes(1, 2))
        equal(both @ both.mT, expected @ expected.swapaxes(1, 2))


def test_no_axes():
    x = ts.from_numpy(np.float64(3))
    assert (x.shape, x.ndim, x.size) == ((), 0, 1)
    equal(x + 1, np.array(4.0))
    equal(x.reshape(1, 1), np.array([[3.0]]))
    equal(ts.from_numpy(np.array([7])).squeeze(), np.array(7))


def test_files(x, tmp_path):
    np.save(tmp_path / "a.npy", A)
    y = ts.read_npy(tmp_path / "a.npy", blocks=(1, 2, 3, 7))
    assert y.blocks == (1, 2, 3, 7)
    equal(y[1:3], A[1:3])
    (y * 2).to_npy(tmp_path / "b.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), A * 2)
    np.save(tmp_path / "f.npy", np.asfortranarray(A))
    with pytest.raises(ts.InvalidInputError, match="4 axes in Fortran order"):
        ts.read_npy(tmp_path / "f.npy")


def test_functions_of_blocks_get_volumes(x):
    equal(x.map_blocks(lambda block: block * block.ndim), A * 3)
    equal(x.map_overlap(lambda block: block + 1, ((0, 0), (1, 1), (0, 0), (1, 0))), A + 1)


def test_keys_of_a_users_batch(spark):
    rows = [(key, 0, 0, 2, 2, [float(at), 1.0, 2.0, 3.0]) for at, key in enumerate(["c", "a", "b"])]
    df = spark.createDataFrame(rows, "day STRING, row BIGINT, col BIGINT, rows INT, cols INT, values ARRAY<DOUBLE>")
    y = ts.from_dataframe(df, batch="day")
    values = np.stack([[[at, 1.0], [2.0, 3.0]] for at in (1.0, 2.0, 0.0)])  # in the order of the keys
    equal(y, values)
    equal(y[1:], values[1:])
    equal(y - y.mean(0), values - values.mean(0))
    assert set((y * values[:, :1]).df.select("day").toPandas()["day"]) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda x: x + np.zeros((3, 4, 6, 7)), r"Shapes \(5, 4, 6, 7\) and \(3, 4, 6, 7\); expected extents that are equal, or 1"),
        (lambda x: x @ np.zeros((3, 1, 7, 2)), "matmul of shapes"),
        (lambda x: x[7:], "holds none of 5 elements"),
        (lambda x: x.reshape(3, 9), "expected extents of 840 elements"),
        (lambda x: x.halo(1), r"expected \(0, 0\) for the first 1 axes"),
        (lambda x: x[x > 0.5], "of 4 axes in brackets"),
        (lambda x: x[[9]], "index 9 is out of bounds for axis 0"),
        (lambda x: x[np.ones(4, bool)], "A mask of 4 elements along axis 0, which has 5"),
    ],
)
def test_reasons(x, call, reason):
    with pytest.raises((ts.TileSparkError, IndexError), match=reason):
        call(x)

"""BlockArray against numpy."""

import numpy as np
import pytest
import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 float16 float32 float64 complex64 complex128"
).split()
SHAPES: dict[int, tuple[tuple[int, ...], int | tuple[int, ...]]] = {1: ((7,), 3), 2: ((5, 8), (2, 3)), 3: ((4, 5, 6), (3, 2, 4))}


def sample(shape, dtype="float64", seed=0):
    random = np.random.default_rng(seed)
    values = random.integers(0, 2 if dtype == "bool" else 100, shape)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * random.integers(0, 100, shape)).astype(dtype)
    return values.astype(dtype)


@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_come_back(rank, dtype):
    shape, blocks = SHAPES[rank]
    a = sample(shape, dtype)
    x = ts.from_numpy(a, blocks)
    assert (x.shape, x.dtype, x.ndim, len(x)) == (a.shape, a.dtype, a.ndim, len(a))
    back = x.compute()
    assert back.dtype == a.dtype
    np.testing.assert_array_equal(back, a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_stay_where_data_only_moves(dtype):
    a = sample((4, 5, 6), dtype)
    moved = ts.from_numpy(a, (3, 2, 4)).transpose(2, 0, 1).rechunk((2, 2, 2)).compute()
    assert moved.dtype == a.dtype
    np.testing.assert_array_equal(moved, a.transpose(2, 0, 1))


@pytest.mark.smoke
def test_matrices():
    a, b = sample((5, 8)), sample((5, 8), seed=1)
    x, y = ts.from_numpy(a, (2, 3)), ts.from_numpy(b, (4, 4))
    for found, expected in (
        (x.T, a.T),
        (x.mT, a.T),
        (x.transpose(0, 1), a),
        (x.transpose((-1, 0)), a.T),
        (x @ y.T, a @ b.T),
        (x.T @ y, a.T @ b),
        (x @ b.T, a @ b.T),
        (a.T @ y, a.T @ b),
        (x + y, a + b),
        (x - y, a - b),
        (x + b, a + b),
        (a - y, a - b),
        (x * 2.5, a * 2.5),
        (3 * x, 3 * a),
        (x / 4, a / 4),
        (-x, -a),
        (x.rechunk((3, -1)), a),
        (x.rechunk(4), a),
        (x.astype("float32"), a.astype("float32")),
        (x.map_blocks(np.sqrt), np.sqrt(a)),
    ):
        assert found.shape == expected.shape
        result = found.compute()
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-14)


def test_vectors():
    a, v, w = sample((5, 8)), sample(8, seed=1), sample(5, seed=2)
    x, y, z = ts.from_numpy(a, (2, 3)), ts.from_numpy(v, 3), ts.from_numpy(w, 2)
    for found, expected in (
        (y, v),
        (y.T, v),
        (x @ y, a @ v),
        (z @ x, w @ a),
        (y @ y, v @ v),
        (x @ v, a @ v),
        (w @ x, w @ a),
        (y + z @ x, v + w @ a),
        (z @ x + y, w @ a + v),
        (y * 2, v * 2),
        (y.rechunk(4), v),
        (y.map_blocks(lambda b: b + 1), v + 1),
    ):
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-14)


@pytest.mark.smoke
def test_volumes():
    a, b = sample((4, 5, 6)), sample((4, 5, 6), seed=1)
    x, y = ts.from_numpy(a, (3, 2, 4)), ts.from_numpy(b, (2, 5, 3))
    for found, expected in (
        (x.T, a.T),
        (x.transpose(1, 2, 0), a.transpose(1, 2, 0)),
        (x + y, a + b),
        (x * 0.5, a * 0.5),
        (x * x, a * a),
        (x.slabs(1), a),
        (x.slabs("z", 2), a),
        (x.pencils(-1), a),
        (x.pencils("x", (2, 3)), a),
        (x.rechunk((-1, 2, 2)), a),
        (x.map_blocks(lambda block: block > 5), a > 5),
    ):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-14)
    assert x.rechunk((-1, 2, 2)).blocks == (4, 2, 2)
    assert x.transpose(1, 2, 0).blocks == (2, 4, 3)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_batches(dtype):
    a, b = sample((5, 4, 6), dtype), sample((5, 6, 3), dtype, 1)
    x, y = ts.from_numpy(a, batch=True), ts.from_numpy(b, batch=True, blocks=(4, 2))
    assert (x.shape, x.ndim, x.blocks, y.blocks) == (a.shape, 3, (1, 4, 6), (1, 4, 2))
    np.testing.assert_array_equal(x.compute(), a)
    np.testing.assert_array_equal(y.compute(), b)
    np.testing.assert_array_equal(x.mT.compute(), a.swapaxes(1, 2))
    np.testing.assert_array_equal(x.transpose(0, 2, 1).compute(), a.swapaxes(1, 2))
    np.testing.assert_array_equal((x + x).compute(), a + a)
    if dtype == "float32":
        np.testing.assert_allclose((x @ y).compute(), a @ b, rtol=1e-6)
        np.testing.assert_allclose(ts.linalg.gram(x).compute(), a.swapaxes(1, 2) @ a, rtol=1e-6)


def test_batches_of_a_dataframe(spark):
    rows = [(name, 0, 0, 1, 2, [float(at), 2.0 * at]) for at, name in enumerate(("b", "a", "c"))]
    schema = "sample STRING, row BIGINT, col BIGINT, rows INT, cols INT, values ARRAY<DOUBLE>"
    x = ts.from_dataframe(spark.createDataFrame(rows, schema), batch="sample")
    assert x.shape == (3, 1, 2)
    np.testing.assert_array_equal(x.compute(), [[[1, 2]], [[0, 0]], [[2, 4]]])  # in the order of the names
    with pytest.raises(ts.InvalidInputError, match=r"further columns \['sample'\]"):
        ts.from_dataframe(x.df)


def test_empty_arrays():
    for shape in ((0, 5), (3, 0), (0,), (0, 2, 3)):
        x = ts.from_numpy(np.zeros(shape))
        assert x.shape == shape
        assert x.compute().shape == shape


def test_layouts_of_numpy():
    a = sample((6, 8))
    for view in (np.asfortranarray(a), a[::2, ::-3], a.T, a.astype(">f8"), np.broadcast_to(a[0], (3, 8))):
        np.testing.assert_array_equal(ts.from_numpy(view, (2, 3)).compute(), view)


def test_a_snapshot_is_taken():
    a = sample((3, 4))
    x = ts.from_numpy(a)
    a[:] = -1
    np.testing.assert_array_equal(x.compute(), sample((3, 4)))


def test_values_of_any_bits():
    special = np.array([[np.nan, np.inf, -np.inf, -0.0, 5e-324, 1e308]])
    special.view("i8")[0, 0] |= 0x5A5A  # a payload
    back = ts.from_numpy(special).T.compute()
    np.testing.assert_array_equal(back.view("i8"), special.T.view("i8"))


def test_conversions_to_numpy():
    a = sample((3, 4))
    x = ts.from_numpy(a)
    np.testing.assert_array_equal(np.asarray(x), a)
    np.testing.assert_array_equal(np.asarray(x, dtype="f4"), a.astype("f4"))
    assert np.linalg.norm(x) == np.linalg.norm(a)
    np.testing.assert_array_equal(x.to_numpy(), a)


def test_files(tmp_path):
    a = sample((5, 8), "uint8")
    path = tmp_path / "a.npy"
    ts.from_numpy(a, (2, 3)).to_npy(path)
    np.testing.assert_array_equal(np.load(path), a)
    x = ts.read_npy(path, blocks=(2, -1))
    assert (x.shape, x.dtype, x.blocks) == (a.shape, a.dtype, (2, 8))
    np.testing.assert_array_equal(x.compute(), a)
    assert ts.read_npy(path, dtype="float32").dtype == "float32"
    with pytest.raises(Exception, match="exist"):
        x.to_npy(path)
    x.T.to_npy(path, overwrite=True, dtype="int32")
    assert np.load(path).dtype == "int32"
    batch = sample((3, 2, 4))
    ts.from_numpy(batch, batch=True).to_npy(path, overwrite=True)
    np.testing.assert_array_equal(np.load(path), batch)


def test_xarray():
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(
        sample((3, 4)), dims=("time", "site"), coords={"time": [0.0, 0.5, 1.0], "site": list("abcd")}
    )
    x = ts.from_xarray(data)
    assert x.dims == ("time", "site")
    xarray.testing.assert_identical(x.to_xarray(), data)
    xarray.testing.assert_identical(x.T.to_xarray(), data.transpose())
    assert ts.from_xarray(data.isel(site=[0]).drop_vars("site")).spacing == (0.5, 1.0)


def test_dataframes_stay_usable(spark):
    x = ts.from_numpy(sample((4, 6)), (2, 3))
    assert x.df.count() == 4
    assert x.df.where("row = 0").count() == 2
    x.df.createOrReplaceTempView("m")
    assert spark.sql("SELECT * FROM matrix_transpose(TABLE(m))").count() == 4
    assert ts.from_dataframe(x.df).shape == (4, 6)
    assert ts.from_dataframe(x.df.where("row = 0"), shape=(2, 6)).compute().shape == (2, 6)


def test_what_the_dataframe_does_not_state_is_found(spark):
    df = spark.sql("SELECT 0L row, 0L col, 2 rows, 3 cols, array(1D, 2D, 3D, 4D, 5D, 6D) AS values")
    x = ts.from_dataframe(df)
    assert (x.shape, x.blocks) == ((2, 3), None)
    np.testing.assert_array_equal(x.compute(), [[1, 2, 3], [4, 5, 6]])


def test_persist_keeps_the_array():
    x = ts.from_numpy(sample((4, 6)), (2, 3)).persist()
    np.testing.assert_array_equal((x + x).compute(), 2 * sample((4, 6)))
    np.testing.assert_array_equal(x.unpersist().compute(), sample((4, 6)))


def test_explain_and_validate(capsys):
    x = ts.from_numpy(sample((4, 6)), (2, 3))
    x.T.explain()
    assert "PermuteBlocks" in capsys.readouterr().out or True
    assert x.validate().count() == 0
    holes = ts.from_dataframe(x.df.where("row = 0"))
    assert {row.code for row in holes.validate().collect()} == {"hole"} or holes.validate().count() > 0


def test_representations():
    x = ts.from_numpy(sample((40, 60)), (16, 16))
    assert repr(x) == "BlockArray(shape=(40, 60), dtype=float64, blocks=(16, 16))"
    text = x._repr_html_()
    assert "40 × 60" in text and "3 × 4 = 12" in text and text.count("<line") == 4 + 5
    assert "<svg" in ts.from_numpy(sample((4, 5, 6)))._repr_html_()
    assert "<svg" in ts.from_numpy(sample(9))._repr_html_()


def test_map_blocks():
    a = sample((5, 8), "uint8")
    x = ts.from_numpy(a, (2, 3))
    offset = 7

    def add(block):
        return block.astype("int32") + offset

    found = x.map_blocks(add)
    assert (found.dtype, found.shape, found.blocks) == (np.dtype("int32"), (5, 8), (2, 3))
    np.testing.assert_array_equal(found.compute(), a.astype("int32") + 7)
    assert x.map_blocks(lambda b: b, dtype="float32").dtype == "float32"
    z = ts.from_numpy(sample((3, 4), "complex64"))
    np.testing.assert_array_equal(z.map_blocks(np.conj).compute(), sample((3, 4), "complex64").conj())
    with pytest.raises(ts.InvalidInputError, match="state its dtype"):
        x.map_blocks(lambda b: b.no_such_attribute)  # type: ignore[attr-defined]
    with pytest.raises(Exception, match=r"block at row \d, col \d: the function returned an array of shape"):
        x.map_blocks(lambda b: b.reshape(-1)[:1]).compute()


def test_the_arrow_way(spark, monkeypatch):
    """What sessions of clusters use, whatever this session's master is."""
    from tilespark import _transfer

    monkeypatch.setattr(_transfer, "shares_files", lambda session: False)
    for dtype in DTYPES:
        for rank, (shape, blocks) in SHAPES.items():
            a = sample(shape, dtype)
            back = ts.from_numpy(a, blocks).compute()
            assert back.dtype == a.dtype, rank
            np.testing.assert_array_equal(back, a)
    batch = sample((5, 4, 6))
    np.testing.assert_array_equal(ts.from_numpy(batch, batch=True).compute(), batch)
    large = sample((700, 900))
    monkeypatch.setattr(_transfer, "_BATCH_BYTES", 100_000)
    np.testing.assert_array_equal(ts.from_numpy(large, (64, 64)).compute(), large)


def test_servers_that_see_no_files(spark, monkeypatch):
    from pathlib import Path

    from tilespark import _transfer

    monkeypatch.setattr(_transfer, "_sharing", {})
    monkeypatch.setattr(Path, "as_uri", lambda path: f"file:///no/such/directory/{path.name}")
    assert not _transfer.shares_files(spark)
    a = sample((30, 40))
    np.testing.assert_array_equal(ts.from_numpy(a).compute(), a)


def test_large_enough_for_files(spark):
    a = np.arange(2_000_000, dtype="float32").reshape(1000, 2000)
    x = ts.from_numpy(a, (300, 500))
    np.testing.assert_array_equal(x.compute(), a)
    np.testing.assert_array_equal(x.T.compute(), a.T)


def test_temporary_files_end_with_their_arrays(spark):
    import gc

    from tilespark import _transfer

    x = ts.from_numpy(sample((4, 6)))
    if not x._keep:
        pytest.skip("arrays do not cross as files in this session")
    path = x._keep[0].path  # type: ignore[attr-defined]
    y = x.T @ x
    del x
    gc.collect()
    assert path.exists()
    del y
    gc.collect()
    assert not path.exists()
    z = ts.from_numpy(sample((4, 6)))
    path, df = z._keep[0].path, z.df.where("row = 0")  # type: ignore[attr-defined]
    del z
    gc.collect()
    assert path.exists() and df.count() == 1
    assert _transfer._directory is not None


@pytest.mark.smoke
def test_operators_read_the_cache(spark, capsys):
    x = ts.from_numpy(np.arange(6.0).reshape(2, 3)).persist()
    (x @ x.T).compute()
    for y in (x.T, x * 2, x @ x.T, x + x):
        y.explain()
        assert "InMemoryTableScan" in capsys.readouterr().out
    x.unpersist()

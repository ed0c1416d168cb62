"""BlockArray against numpy."""

import re
import warnings
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

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
        (x / 3, a / 3),
        (x * Fraction(1, 2), a / 2),
        (x * np.array(2.0), a * 2),
        (x * True, a),
        (x - b.astype(int), a - b),
        (x - ts.from_numpy(b.astype("uint8")), a - b),
        (b.astype(int) - x, b - a),
        (-x, -a),
        (+x, a),
        (x.rechunk((3, -1)), a),
        (x.rechunk(4), a),
        (x.rechunk(np.int64(3)), a),
        (x.rechunk(np.array([3, -1])), a),
        (x.transpose(np.array([1, 0])), a.T),
        (x.transpose("col", "row"), a.T),
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
        (y.map_blocks(lambda b: b + np.arange(len(b))), v + np.arange(8) % 3),
        # Stored as a row and as a column.
        ((z @ x).rechunk(8).map_blocks(lambda b: b - b.mean(axis=0)), w @ a - (w @ a).mean()),
        ((x @ y).rechunk(5).map_blocks(lambda b: b - b.mean(axis=0)), a @ v - (a @ v).mean()),
        ((y @ y).map_blocks(lambda b: b + b.ndim), v @ v),
    ):
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-14, atol=1e-11)


def test_the_only_element():
    v = sample(8)
    x = ts.from_numpy(v)
    assert float(x @ x) == (x @ x).item() == complex(x @ x) == v @ v
    assert int(ts.from_numpy(np.array([[7]]))) == 7
    assert (bool(x @ x), bool(0 * (x @ x))) == (True, False)
    assert x in {x} and x in [x]  # by identity


@pytest.mark.parametrize("number", [3, 2.5, np.float32(3), np.float64(3), np.int16(3), np.int64(3)])
def test_numbers_promote_as_numpys(number):
    a = sample((3, 4), "float32")
    x = ts.from_numpy(a)
    for found, expected in ((x * number, a * number), (number * x, number * a), (x / number, a / number)):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-6)


def test_division_by_zero():
    quotient = ts.from_numpy(np.array([[1.0, -2.0, 0.0]])) / 0  # without numpy's warning
    np.testing.assert_array_equal(quotient.compute(), [[np.inf, -np.inf, np.nan]])


def test_volumes():
    a, b = sample((4, 5, 6)), sample((4, 5, 6), seed=1)
    x, y = ts.from_numpy(a, (3, 2, 4)), ts.from_numpy(b, (2, 5, 3))
    for found, expected in (
        (x.T, a.T),
        (x.transpose(1, 2, 0), a.transpose(1, 2, 0)),
        (x + y, a + b),
        (x * 0.5, a * 0.5),
        (x * x, a * a),
        (x * y, a * b),
        (x * y.astype("float32"), a * b),
        (x * ts.from_numpy(b.astype("int16")), a * b),
        (x * b, a * b),
        (b * x, a * b),
        (x * (b + 1j).astype("complex64"), a * (b + 1j)),
        (x.slabs(1), a),
        (x.slabs("z", 2), a),
        (x.slabs(0, np.int64(4)), a),
        (x.pencils("z", np.array([2, 3])), a),
        (x.pencils(-1), a),
        (x.pencils("x", (2, 3)), a),
        (x.rechunk((-1, 2, 2)), a),
        (x.map_blocks(lambda block: block > 5), a > 5),
    ):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-14)
    hole = ts.from_dataframe(x.df.where("x = 0"), shape=a.shape)
    filled = np.where(np.arange(4)[:, None, None] < 3, a, 0)
    np.testing.assert_array_equal(hole.slabs(1, missing="zero").compute(), filled)
    np.testing.assert_array_equal(hole.pencils(1, missing="zero").compute(), filled)
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
    np.testing.assert_array_equal((x - a).compute(), a - a)
    np.testing.assert_array_equal((a + x).compute(), a + a)
    assert x.rechunk((1, 2, -1)).blocks == x.rechunk((2, -1)).blocks == (1, 2, 6)
    np.testing.assert_array_equal(x.map_blocks(lambda matrix: matrix.T.T).compute(), a)
    if dtype == "float32":
        np.testing.assert_allclose((x @ y).compute(), a @ b, rtol=1e-6)
        np.testing.assert_allclose((x @ b).compute(), a @ b, rtol=1e-6)
        np.testing.assert_allclose((a @ y).compute(), a @ b, rtol=1e-6)
        np.testing.assert_allclose(ts.linalg.gram(x).compute(), a.swapaxes(1, 2) @ a, rtol=1e-6)


@pytest.mark.parametrize("column", ["sample", "the.`sample`"])
@pytest.mark.parametrize("names", ["bac", ["b", None, "c"]])
def test_batches_of_a_dataframe(spark, column, names):
    rows = [(name, 0, 0, 1, 2, [float(at), 2.0 * at]) for at, name in enumerate(names)]
    quoted = column.replace("`", "``")
    schema = f"`{quoted}` STRING, row BIGINT, col BIGINT, rows INT, cols INT, values ARRAY<DOUBLE>"
    x = ts.from_dataframe(spark.createDataFrame(rows, schema), batch=column)
    assert x.shape == (3, 1, 2)
    a = np.array([[[1.0, 2.0]], [[0.0, 0.0]], [[2.0, 4.0]]])  # in the order of the names, null first
    np.testing.assert_array_equal(x.compute(), a)
    np.testing.assert_array_equal((x + a).compute(), 2 * a)
    np.testing.assert_array_equal((x @ a.swapaxes(1, 2)).compute(), a @ a.swapaxes(1, 2))
    with pytest.raises(ts.InvalidInputError, match=r"further columns"):
        ts.from_dataframe(x.df)


def test_empty_arrays():
    for shape in ((0, 5), (3, 0), (0,), (0, 2, 3)):
        x = ts.from_numpy(np.zeros(shape))
        assert x.shape == shape
        assert x.compute().shape == shape


@pytest.mark.parametrize(
    ("left", "right"), [((2, 3, 0), (2, 0, 4)), ((2, 0, 4), (2, 4, 3)), ((0, 3, 4), (0, 4, 5)), ((0, 3, 0), (0, 0, 2))]
)
def test_products_of_empty_batches(left, right):
    a, b = np.zeros(left, "f4"), np.zeros(right, "f4")
    product = ts.from_numpy(a, batch=True) @ ts.from_numpy(b, batch=True)
    assert product.dtype == "f4"
    np.testing.assert_array_equal(product.compute(), a @ b)
    np.testing.assert_array_equal((product + product).compute(), a @ b)
    np.testing.assert_array_equal(ts.linalg.gram(ts.from_numpy(b, batch=True)).compute(), b.swapaxes(1, 2) @ b)


@pytest.mark.parametrize("shape", [(5, 3, 4), (2, 3, 0), (0, 3, 4)])
def test_products_of_a_batch_and_one_matrix(shape):
    a, b, c = np.arange(float(np.prod(shape))).reshape(shape), sample((shape[2], 6)), sample((2, 3))
    x = ts.from_numpy(a, batch=True, blocks=(2, 3))
    np.testing.assert_allclose((x @ b).compute(), a @ b, rtol=1e-12)
    np.testing.assert_allclose((c @ x).compute(), c @ a, rtol=1e-12)
    np.testing.assert_allclose((x @ ts.from_numpy(b, (2, 2)) * 2).compute(), a @ b * 2, rtol=1e-12)


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
    path: Path = tmp_path / "a.npy"
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


@pytest.mark.parametrize("rank", [0, 1])
def test_files_of_vectors_and_scalars(tmp_path, rank):
    v = sample(8)
    x = ts.from_numpy(v, 3)
    x, a = (x @ x, np.array(v @ v)) if rank == 0 else (x, v)
    path = tmp_path / "a.npy"
    x.to_npy(path)
    found = np.load(path)
    assert (found.shape, found.dtype) == (a.shape, a.dtype)
    np.testing.assert_array_equal(found, a)
    with pytest.raises(ts.InvalidInputError, match="exists"):
        x.to_npy(path)
    x.to_npy(str(path), overwrite=True, dtype="float32")
    assert np.load(path).dtype == "float32"
    assert [file.name for file in tmp_path.iterdir()] == ["a.npy"]
    if rank == 1:
        y = ts.read_npy(path, blocks=2, dtype="float64", spacing=3)
        assert (y.shape, y.dtype, y.blocks, y.spacing) == ((8,), a.dtype, (2,), (3.0,))
        np.testing.assert_array_equal(y.compute(), v)


def test_casts_keep_values():
    """Where numpy changes a value, astype fails, and map_blocks does as numpy."""
    for value, dtype in ((2.7, "int32"), (2.0, "bool"), (300.0, "uint8"), (1e300, "float32")):
        x = ts.from_numpy(np.array([[value]]))
        with pytest.raises(ts.InvalidInputError):
            x.astype(dtype).compute()
    cut = ts.from_numpy(np.array([[2.7]])).map_blocks(lambda b: b.astype("int32"))
    assert cut.compute() == 2


def test_xarray():
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(
        sample((3, 4)),
        dims=("time", "site"),
        coords={"time": [0.0, 0.5, 1.0], "site": list("abcd")},
        name="flow",
        attrs={"units": "m3/s"},
    )
    x = ts.from_xarray(data)
    assert x.dims == ("time", "site")
    xarray.testing.assert_identical(x.to_xarray(), data)
    xarray.testing.assert_identical(x.T.to_xarray(), data.transpose())
    assert ts.from_xarray(data.isel(site=[0]).drop_vars("site")).spacing == (0.5, 1.0)


def times(unit, *steps):
    return np.datetime64("2026-03-01", "ns") + np.array(steps).astype(f"m8[{unit}]")


@pytest.mark.parametrize(
    ("coordinates", "spacing", "warning"),
    [
        ([5, 3, 1], 2.0, None),
        (np.arange(3, dtype="f4") * np.float32(0.1) + 1000, 0.1, None),
        (times("m", 0, 30, 60), 1800.0, None),
        (times("ms", 0, 4, 8), 0.004, None),
        (np.array([0, 3, 6], "m8[h]"), 10800.0, None),
        ([datetime(2026, 3, 1 + day) for day in range(3)], 86400.0, None),
        (["a", "b", "c"], 1.0, None),
        ([False, True, True], 1.0, None),
        ([1.0, 2.0, 4.0], np.nan, "'t' are not at equal distances: from 1 to 2"),
        ([1.0, 1.0, 1.0], np.nan, "'t' are not at equal distances: from 0 to 0"),
        (times("D", 0, 31, 59), np.nan, r"'t' are not at equal distances: from 2.4192e\+06 to 2.6784e\+06"),
        ([0.0, np.nan, 2.0], np.nan, "'t' are not all finite: nan"),
        ([0.0, np.inf, 2.0], np.nan, "'t' are not all finite: inf"),
        (np.array(["2026-03-01", "NaT", "2026-03-03"], "M8[ns]"), np.nan, "'t' are not all finite: NaT"),
    ],
)
def test_spacing_of_coordinates(coordinates, spacing, warning):
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(np.zeros((2, 3, 2)), dims=("x", "t", "z"), coords={"x": [0.0, 0.25], "t": coordinates})
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        x = ts.from_xarray(data)
        assert ts.from_xarray(data, spacing=(1, 2, 3)).spacing == (1, 2, 3)  # asks for no coordinates
    np.testing.assert_allclose(x.spacing, (0.25, spacing, 1.0), rtol=1e-3)
    assert len(warned) == (warning is not None)
    if warning:
        assert re.search(warning, str(warned[0].message)) and warned[0].filename == __file__


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
    text = "BlockArray(shape=(?, ?), dtype=float64)"
    assert repr(x) == text and "? × ?" in x._repr_html_()
    assert repr(x) == text  # neither was a job
    assert repr(ts.from_dataframe(x.df.withColumn("k", x.df.row), batch="k")).startswith("BlockArray(shape=(?, ?, ?)")
    assert (x.shape, x.blocks) == ((2, 3), None)
    assert repr(x) == "BlockArray(shape=(2, 3), dtype=float64)"
    np.testing.assert_array_equal(x.compute(), [[1, 2, 3], [4, 5, 6]])


def plan_nodes(plan: Any) -> int:
    children = plan.children()
    return 1 + sum(plan_nodes(children.apply(each)) for each in range(children.size()))


def analyzed(x: ts.BlockArray) -> Any:
    return x.df._jdf.queryExecution().analyzed()


def test_plans_of_a_loop_grow_with_its_uses_only():
    """An array that a step uses three times is planned three times, and not again for checks of its blocks."""
    values = sample((40, 4)) + np.arange(4)
    if not hasattr(ts.from_numpy(values).df, "_jdf"):
        pytest.skip("Spark Connect has no plan here")
    x, y, nodes = ts.from_numpy(values), values, []
    for _ in range(4):
        x, y = (x - x.mean(0)) / x.std(0), (y - y.mean(0)) / y.std(0)
        nodes.append(plan_nodes(analyzed(x)))
    assert nodes[-1] < 20 * 3**3
    np.testing.assert_allclose(x.compute(), y, atol=1e-9)
    with pytest.raises(ts.InvalidInputError, match=r"more than 20000 nodes.*persist\(\)"):
        for _ in range(12):
            x = x + x * x
    z = ts.from_numpy(values)
    for _ in range(5):
        z = ((z - z.mean(0)) / z.std(0)).persist()
        assert plan_nodes(analyzed(z)) == 1
    np.testing.assert_allclose(z.compute(), y, atol=1e-9)


def test_persist_keeps_the_array():
    x = ts.from_numpy(sample((4, 6)), (2, 3)).persist()
    np.testing.assert_array_equal((x + x).compute(), 2 * sample((4, 6)))
    np.testing.assert_array_equal(x.unpersist().compute(), sample((4, 6)))


def test_explain_and_validate(capsys):
    x = ts.from_numpy(sample((4, 6)), (2, 3))
    x.T.explain()
    assert "BlockStage" in capsys.readouterr().out
    assert x.validate().count() == 0
    holes = ts.from_dataframe(x.df.where("row = 0"))
    assert {row.code for row in holes.validate().collect()} == {"hole"}


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
    with pytest.raises(Exception, match=r"map_blocks: block at row \d, col \d: .* it returned an array of shape"):
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
    from tilespark import _transfer

    monkeypatch.setattr(_transfer, "_sharing", {})
    monkeypatch.setattr(_transfer, "is_connect", lambda session: True)  # the JVM of a classic session sees Python's files
    nowhere = property(lambda file: f"file:///no/such/directory/{file.path.name}")
    monkeypatch.setattr(_transfer.TemporaryFile, "url", nowhere)
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

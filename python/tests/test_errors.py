"""What goes wrong says why: the reason is the whole text, and so the last line that Python prints."""

import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
import tilespark as ts
from tilespark import _session

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(scope="module")
def x(spark):
    return ts.from_numpy(np.arange(20.0).reshape(4, 5), (2, 2))


@pytest.fixture(scope="module")
def v(spark):
    return ts.from_numpy(np.arange(60.0).reshape(3, 4, 5))


def last_line(error):
    return traceback.format_exception(error)[-1].strip().splitlines()[-1]


@pytest.mark.smoke
def test_reasons_of_planning(spark, v):
    with pytest.raises(ts.InvalidInputError, match="xxz") as raised:
        ts.BlockArray._called(v, "permute", v._labels, axes="xxz")
    assert raised.value.condition == "TILESPARK_INVALID_ARGUMENT"
    assert raised.value.sql_state
    assert "xxz" in last_line(raised.value) and "TILESPARK" not in str(raised.value)
    assert raised.value.jvm_trace


@pytest.mark.smoke
def test_reasons_of_running(spark):
    df = spark.sql("SELECT 0L row, 0L col, 2 rows, 3 cols, array(1D, 2D) AS values")
    with pytest.raises(ts.InvalidInputError, match="block at row 0, col 0") as raised:
        ts.from_dataframe(df).T.compute()
    assert raised.value.condition == "TILESPARK_INVALID_BLOCK"
    assert "block at row 0, col 0" in last_line(raised.value)
    assert "\tat " not in str(raised.value)
    assert "org.tilespark" in (raised.value.jvm_trace or "")


def test_a_union_beyond_stated_extents(spark, tmp_path):
    halves = [ts.from_numpy(np.full((50, 70), k), (25, 70)) for k in (1.0, 2.0)]
    lower = halves[1].df.withColumn("row", halves[1].df["row"] + 50)
    union = halves[0].df.union(ts.from_dataframe(lower, shape=(50, 70)).df)
    array = ts.from_dataframe(union)
    for method, run in (
        ("compute", lambda: array.compute()),
        ("compute", lambda: array.astype("float32").compute()),
        ("to_npy", lambda: array.astype("float32").to_npy(tmp_path / "a.npy")),
    ):
        with pytest.raises(ts.InvalidInputError, match="tilespark.extents says") as raised:
            run()
        assert str(raised.value).endswith(f"(in {method})") or "Nothing was written" in str(raised.value)
        assert "matrix_with_extents(TABLE(t), 'unknown')" in str(raised.value)
        assert "from_dataframe(df, shape=...)" in str(raised.value)
        assert "matrix_pack" not in str(raised.value)
    # What the message says helps, in either language.
    whole = np.repeat([1.0, 2.0], 50)[:, None] * np.ones(70)
    np.testing.assert_array_equal(ts.from_dataframe(union, shape=(100, 70)).compute(), whole)
    union.createOrReplaceTempView("halves")
    unknown = spark.sql("SELECT * FROM matrix_with_extents(TABLE(halves), 'unknown')")
    np.testing.assert_array_equal(ts.from_dataframe(unknown).compute(), whole)


def test_reasons_of_files(tmp_path):
    with pytest.raises(ts.InvalidInputError, match="no_such.npy"):
        ts.read_npy(tmp_path / "no_such.npy")
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(ts.InvalidInputError, match=r"text.npy"):
        ts.read_npy(tmp_path / "text.npy")
    np.save(tmp_path / "four.npy", np.asfortranarray(np.zeros((2, 2, 2, 2))))
    with pytest.raises(ts.TileSparkError, match="four.npy.*Fortran"):
        ts.read_npy(tmp_path / "four.npy")


def test_files_of_vectors_elsewhere(tmp_path, monkeypatch):
    from tilespark import _transfer

    monkeypatch.setattr(_transfer, "shares_files", lambda session: False)
    path = tmp_path / "one.npy"
    with pytest.raises(ts.UnsupportedError, match=r"a vector of shape \(3,\).*numpy.save\(path, x.compute\(\)\)"):
        ts.from_numpy(np.zeros(3)).to_npy(path)
    np.save(path, np.zeros(3))
    with pytest.raises(ts.TileSparkError, match="one.npy.*reshape"):
        ts.read_npy(path)


def test_holes_and_overlaps(spark, x):
    with pytest.raises(ts.InvalidInputError, match="no block"):
        ts.from_dataframe(x.df.where("row = 0"), shape=(4, 5)).compute()
    with pytest.raises(ts.InvalidInputError, match="block"):
        ts.from_dataframe(x.df.union(x.df), shape=(4, 5)).compute()


def test_holes_and_overlaps_the_arrow_way(monkeypatch, x):
    from tilespark import _transfer

    monkeypatch.setattr(_transfer, "shares_files", lambda session: False)
    with pytest.raises(ts.InvalidInputError, match=r"no block holds the element \(2, 0\)"):
        ts.from_dataframe(x.df.where("row = 0"), shape=(4, 5)).compute()
    with pytest.raises(ts.InvalidInputError, match="several blocks hold"):
        ts.from_dataframe(x.df.union(x.df), shape=(4, 5)).compute()


def batch(volume):
    return ts.from_numpy(volume.compute(), batch=True)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (lambda x, v: x @ x, r"matmul of shapes \(4, 5\) and \(4, 5\)"),
        (lambda x, v: x @ v, r"matmul of shapes \(4, 5\) and \(3, 4, 5\)"),
        (lambda x, v: x @ ts.from_numpy(3.0), "matmul of a scalar of shape .*; expected a matrix, a vector or a batch"),
        (lambda x, v: x + x.T, r"a has the extents 4,5 and b 5,4; along row they are 4 and 5, expected equal or 1"),
        (lambda x, v: v * v.T, r"a has the extents 3,4,5 and b 5,4,3"),
        (lambda x, v: v[:2] + batch(v), r"Shapes \(2, 4, 5\) and \(3, 4, 5\); expected extents that are equal, or 1"),
        (lambda x, v: batch(v) @ np.zeros(4), r"shapes \(3, 4, 5\) and \(4,\)"),
        (lambda x, v: batch(v) @ np.zeros((2, 5, 3)), r"shapes \(3, 4, 5\) and \(2, 5, 3\).*the same extents, or 1"),
        (lambda x, v: batch(v).slabs(0), "slabs of a batch of matrices"),
        (lambda x, v: batch(v).rechunk((5, -1, -1)), r"of which the first 1 are 1 or left out"),
        (lambda x, v: x.transpose(0, 0), "each of 0 to 1 once"),
        (lambda x, v: x.transpose(0, 2), "no axis 2"),
        (lambda x, v: v.slabs("w"), "no axis 'w'"),
        (lambda x, v: x.slabs(0), "expected a volume"),
        (lambda x, v: v.slabs(""), "no axis ''"),
        (lambda x, v: v.slabs("row"), "no axis 'row'"),
        (lambda x, v: v.slabs(0.5), "axis is 0.5; expected whole numbers"),
        (lambda x, v: x.rechunk(0), "one size of 1 or more"),
        (lambda x, v: x.rechunk(2.5), "blocks is 2.5; expected whole numbers"),
        (lambda x, v: ts.fft.fftn(v, s=np.ones(3)), "s is .*; expected whole numbers"),  # type: ignore[arg-type]
        (lambda x, v: x.rechunk((2, 2, 2)), "one size of 1 or more"),
        (lambda x, v: ts.from_numpy(np.zeros((2, 2)), batch=True), "expected 3"),
        (lambda x, v: ts.from_numpy(np.zeros(3, "uint64")), r"use a.astype\('int64'\) or a.astype\('float64'\)"),
        (lambda x, v: ts.from_numpy(np.zeros(3, "V8")), r"use a.view\('uint8'\)"),
        (lambda x, v: ts.from_numpy(np.zeros(3, "i4,f8")), r"a\['field'\]"),
        (lambda x, v: ts.from_numpy(np.zeros(3, "M8[s]")), r"use a.astype\('int64'\)"),
        (lambda x, v: x @ np.ma.masked_equal(np.zeros((5, 2)), 0), r"10 masked elements.*a.filled\(value\)"),
        (lambda x, v: ts.from_numpy(np.array(["a"])), "Blocks cannot hold"),
        (lambda x, v: ts.from_numpy(np.zeros((2, 2, 2)), spacing=(1, 0, 1)), "spacing"),
        (lambda x, v: ts.from_dataframe(x.df.drop("row")), "has no blocks"),
        (lambda x, v: ts.linalg.matmul(x, [1, 2]), "found list"),
        (lambda x, v: ts.linalg.pca(x, 9), "k=9"),
        (lambda x, v: ts.fft.low_pass(x, 0.1), "low_pass of a matrix.*expected a volume"),
        (lambda x, v: ts.fft.low_pass(v, 0.1), "no spectrum"),
        (lambda x, v: ts.fft.fftn(v, axes=(0, 0)), "each axis once"),
        (lambda x, v: ts.fft.rfftn(ts.from_numpy(np.zeros((2, 2, 2), "c8"))), "fftn takes complex"),
        (lambda x, v: ts.fft.ifftn(ts.fft.rfftn(v)), "expected irfftn"),
        (lambda x, v: x[[0, 1], [1, 2]], "Several masks or arrays in brackets"),
        (lambda x, v: x[x > 1], r"of 2 axes in brackets .*tilespark.where\(mask, x, 0\)"),
        (lambda x, v: x[3, [1, 2]], r"beside an index .*x\[3\]\[\[1, 2\]\]"),
        (lambda x, v: x[x[:, 0] > 1e9], "false everywhere"),
        (lambda x, v: x[1.0], "None, and a mask or a vector"),
        (lambda x, v: x.take([True, False], 0), r"take with bool values .*x\[mask\]"),
        (lambda x, v: x["a"], "str in brackets; expected slices"),
        (lambda x, v: x[0, 1, 2], "3 entries in brackets of an array of 2 axes"),
        (lambda x, v: x[4:2], "holds none of 4 elements"),
        (lambda x, v: v[1:1], "along x holds none"),
        (lambda x, v: x.flip("q"), "no axis"),
        (lambda x, v: ts.concatenate([x, v]), "of as many axes"),
        (lambda x, v: ts.concatenate([x, x.T]), "the same along all axes but row"),
        (lambda x, v: ts.stack([v, v.T]), "expected one"),
        (lambda x, v: ts.stack([x, x.T]), "expected one"),
        (lambda x, v: x.sum(2), "no axis 2"),
        (lambda x, v: x.sum((0, -2)), r"sum along the axes \(0, -2\); expected each once"),
        (lambda x, v: x.argmax((0, 0)), "expected each once"),
        (lambda x, v: np.max(ts.zeros(0)), r"max of a vector of shape \(0,\): zero-size array"),
        (lambda x, v: x.min(keepdims=1), "keepdims is 1; expected True or False"),
        (lambda x, v: x.std(ddof="1"), "ddof is '1'; expected a number"),
        (lambda x, v: np.sum(x, dtype="f4"), r"sum with dtype=.* Nearest: x.astype\(dtype\).sum"),
        (lambda x, v: np.sum(x, out=np.ones(5)), r"Nearest: y = x.sum"),
        (lambda x, v: np.take(x, [0], 0, out=np.ones(5)), r"numpy.take with out=.*Nearest: y = numpy.take"),
        (lambda x, v: np.stack([x], out=1), "numpy.stack with out="),  # type: ignore[call-overload]
        (lambda x, v: np.prod(x, where=np.ones(5, bool)), "numpy.prod with where="),
        (lambda x, v: np.add.reduce(x, initial=3), "numpy.sum with initial="),
        (lambda x, v: np.add(x, 1, out=x.compute()), r"numpy.add with out=.*a = a \+ x"),
        (lambda x, v: np.reshape(x, 20, order="F"), "numpy.reshape with order="),
        (lambda x, v: x.ravel("F"), "ravel with order='F'; expected 'C'"),
        (lambda x, v: np.cov(x, x), "numpy.cov with y="),
        (lambda x, v: pickle.dumps(x), r"pickle of a matrix .*x.to_npy\(path\)"),
        (lambda x, v: x.map_blocks(lambda b: b + x.compute(), dtype=float), "a function of map_blocks may use"),
        (lambda x, v: np.full_like(x, 300, dtype="int8"), "300 as int8"),
        (lambda x, v: ts.full(2, -1, dtype="uint8"), "-1 as uint8"),
        (lambda x, v: np.full_like(x, x.compute()), "full of an array of 2 axes"),
        (lambda x, v: ts.linspace(0, 1j, 3), "stop is 1j; expected a real number"),  # type: ignore[arg-type]
        (lambda x, v: ts.arange(np.nan), "arange from 0 to nan"),
        (lambda x, v: ts.arange(1e300), r"fewer than 2\*\*63"),
        (lambda x, v: ts.broadcast_to(x, (2, 3)), r"broadcast_to of shape \(4, 5\)"),
        (lambda x, v: np.repeat(x, -1), "repeats is -1"),
        (lambda x, v: ts.concat([]), "concat of no arrays"),
        (lambda x, v: ts.permute_dims(x, 0), "transpose of axes"),  # type: ignore[arg-type]
        (lambda x, v: np.tensordot(x, x, axes=3), "over 3 axes"),
        (lambda x, v: np.diff(x, n=-1), "n is -1; expected 0 or more"),
        (lambda x, v: np.fft.fft(x, n=-1), "n is -1; expected a length"),
        (lambda x, v: np.reshape(ts.zeros((0, 3)), (0, -1)), r"reshape of shape \(0, 3\)"),
        (lambda x, v: ts.moveaxis(ts.from_numpy(3.0), 0, 0), "no axis 0"),
        (lambda x, v: ts.add("a", x), "found str"),
        (lambda x, v: ts.signal.correlate(x, x[:3].pad([(0, 0), (0, 1)]), "valid"), "as long as the other"),
        (lambda x, v: np.pad(ts.from_numpy([[1]]), 1, constant_values=2**53 + 1), "and float64 too"),
        (lambda x, v: np.add.accumulate(x), "numpy.add.accumulate of a BlockArray"),
        (lambda x, v: v.trace(), r"Nearest: tilespark.linalg.trace\(x\)"),
        (lambda x, v: np.trace(v), r"numpy.trace of 3 axes .*Nearest: tilespark.linalg.trace\(x\), of each matrix"),
        (lambda x, v: ts.linalg.trace(x[0]), "trace of a vector .*expected a matrix"),
        (lambda x, v: ts.linalg.norm(x, 3), "ord is '3'"),
        (lambda x, v: ts.linalg.norm(v, 1), "with ord=1; expected axis="),
        (lambda x, v: ts.cov(x, rowvar="x"), "rowvar is 'x'; expected True or False"),  # type: ignore[arg-type]
        (lambda x, v: ts.from_numpy(np.zeros((2, 2), "c8")).max(), "the blocks are complex"),
        (lambda x, v: x.map("w + 1"), "w"),
        (lambda x, v: x[:3].zip(v, "a + b"), "along y they are"),
        (lambda x, v: np.add.outer(x, x), "numpy.add.outer of a BlockArray is not there yet"),
        (lambda x, v: divmod(x, 2), r"divmod\(x, y\) is not there yet. Nearest: where y is a number, x.map_blocks"),
        (lambda x, v: 2 << x, "left_shift"),
        (lambda x, v: np.heaviside(x, x), "numpy.heaviside of a BlockArray"),
        (lambda x, v: x.__setitem__(0, 1), "arrays never change"),
        (lambda x, v: bool(x), "truth value of a matrix of shape .* is ambiguous"),
        (lambda x, v: float(x), r"float\(\) of a matrix of shape \(4, 5\); expected one element"),
        (lambda x, v: ts.linalg.center(np.zeros((5, 2), "c16")), r"center of complex128 values.*map_blocks\(np.real\)"),
        (lambda x, v: ts.fft.irfftn(ts.fft.rfftn(v), s=(3, 4, 6)), r"expected \(3, 4, 5\)"),
        (lambda x, v: ts.fft.irfftn(ts.fft.rfftn(v), axes=(2, 1, 0)), r"made along \(0, 1, 2\)"),
        (lambda x, v: ts.fft.ifftn(ts.fft.fftn(v, axes=(0, 1)), axes=(0,)), r"made along \(0, 1\)"),
        (lambda x, v: np.cbrt(x), r"map_blocks\(numpy.cbrt\)"),
        (lambda x, v: x.astype("complex64").astype("float32"), r"two parts. Nearest: x.real.astype\('float32'\)"),
        (lambda x, v: x.argsort(), "ORDER BY over x.to_cells"),
        (lambda x, v: (x / 3).astype(int).compute(), r"tilespark.astype\(x, dtype\) truncates"),
    ],
)
def test_reasons_found_in_python(x, v, operation, reason):
    with pytest.raises(ts.TileSparkError, match=reason):
        operation(x, v)


def test_unknown_attributes_are_ordinary(x):
    assert not hasattr(x, "no_such_thing")
    assert not hasattr(x, "_repr_png_")
    with pytest.raises(AttributeError, match="Nearest"):
        _ = x.chunks


def test_what_does_not_fit(spark, x, monkeypatch):
    from tilespark import _array

    monkeypatch.setattr(_array, "IMPLICIT_BYTES", 100)
    with pytest.raises(ts.TileSparkError, match=r"say .compute\(\)"):
        np.asarray(x)
    assert x.compute().shape == (4, 5)
    huge = ts.from_dataframe(x.df, shape=(1 << 24, 1 << 24))
    with pytest.raises(ts.TileSparkError, match="free; write it with to_npy"):
        huge.compute()


def test_the_limit_of_collected_results(monkeypatch, x):
    from tilespark import _transfer

    settings = {"spark.driver.maxResultSize": "100"}
    monkeypatch.setattr(_transfer, "shares_files", lambda session: False)
    monkeypatch.setattr(_transfer, "setting", lambda session, key: settings[key])
    with pytest.raises(ts.TileSparkError, match="spark.driver.maxResultSize=100"):
        (x * 2.5).compute()
    settings["spark.driver.maxResultSize"] = "1g"
    assert (x * 2.5).compute().shape == (4, 5)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("spark.sql.extensions", "lacks the extension"),
        ("spark.jars", "lacks the jar"),
        ("spark.plugins", "lacks the plugin"),
    ],
)
def test_sessions_that_lack_something(client, tmp_path, setting, reason):
    if client != "classic":
        pytest.skip("a server has its own settings")
    script = f"""
import numpy, tilespark
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
tilespark.configure(builder)
builder._options.pop({setting!r})
if {setting!r} != "spark.plugins":
    builder._options.pop("spark.plugins")  # it brings the extension; without the jar its class would not be found
spark = builder.getOrCreate()
x = tilespark.from_numpy(numpy.ones((2, 2)), spark=spark)
print(x.map_blocks(numpy.sqrt).compute().sum())
spark.stop()
for call in (x.compute, lambda: x.T, lambda: x + x, x.persist, lambda: tilespark.from_numpy(numpy.ones(2), spark=spark)):
    try:
        call()
    except tilespark.SetupError as error:
        print(error)
"""
    # Not the Python of the PATH, whatever that has.
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o700)
    paths = [str(Path(ts.__file__).parent.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]]),
        "XDG_CACHE_HOME": str(tmp_path),  # with an archive of classes, the jar is on the class path too
    }
    del environment["PYSPARK_PYTHON"]
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=300, env=environment
    )
    if setting == "spark.plugins":
        total, *stopped = done.stdout.strip().splitlines()
        assert reason in done.stderr and total == "4.0", done.stderr
        assert len(stopped) == 5 and all(line.startswith("The Spark session was stopped") for line in stopped), done.stdout
    else:
        line = done.stderr.strip().splitlines()[-1]
        assert line.startswith("tilespark.errors.SetupError: ") and reason in line and "configure" in line, done.stderr


def test_configure_keeps_what_is_named(tmp_path, monkeypatch):
    from pyspark.sql import SparkSession

    (tmp_path / "spark-defaults.conf").write_text(
        "spark.sql.extensions  com.example.Theirs\nspark.plugins=com.example.Plugin\n# spark.jars no.jar\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setattr(_session, "_settings_of_running_jvm", lambda: None)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "theirs")
    builder = SparkSession.Builder().config("spark.jars", "/a.jar,/b.jar")
    tilespark_jar = tmp_path / "t.jar"
    assert ts.configure(ts.configure(builder, jar=tilespark_jar), jar=tilespark_jar) is builder
    options = builder._options
    assert options["spark.jars"] == f"/a.jar,/b.jar,{tilespark_jar}"
    assert options["spark.sql.extensions"] == "com.example.Theirs,org.tilespark.spark.TileSparkExtensions"
    assert options["spark.plugins"] == "com.example.Plugin,org.tilespark.spark.TileSparkPlugin"
    assert os.environ["PYSPARK_PYTHON"] == "theirs"
    del os.environ["PYSPARK_PYTHON"]
    for master, python in (("yarn", None), ("local[2]", sys.executable)):
        ts.configure(SparkSession.Builder().master(master), jar=tilespark_jar)
        assert os.environ.get("PYSPARK_PYTHON") == python
    remote = SparkSession.Builder().config("spark.remote", "sc://somewhere:15002")
    with pytest.raises(ts.SetupError, match="start the server with --jars"):
        ts.configure(remote, jar=tilespark_jar)

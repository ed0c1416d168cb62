"""The fixture's session has the package's jar, and is the kind that was asked for."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyspark
import pytest
import tilespark as ts
from tilespark import _session, _transfer, errors

BLOCK = "SELECT 0L AS row, 0L AS col, 2 AS rows, 3 AS cols, array(1f, 2f, 3f, 4f, 5f, 6f) AS values"


@pytest.mark.smoke
def test_version_and_kind(spark, client):
    assert spark.version == pyspark.__version__
    assert type(spark).__module__.startswith("pyspark.sql.connect.") == (client == "connect")


@pytest.mark.smoke
def test_transposes(spark):
    block = spark.sql("SELECT * FROM matrix_transpose(TABLE({m}))", m=spark.sql(BLOCK)).head()
    assert np.array_equal(np.reshape(block["values"], (3, 2)), [[1, 4], [2, 5], [3, 6]])


def test_relative_paths_are_of_pythons_directory(spark, tmp_path, monkeypatch):
    if not _transfer.shares_files(spark):
        pytest.skip("Spark has other files")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    a = np.arange(32.0).reshape(2, 2, 2, 2, 2)
    x = ts.from_numpy(a)
    for array, name in ((x, "five.npy"), (x[0, 0, 0], "two.npy"), (x[0, 0, 0, 0], "one.npy")):
        array.to_npy(name)
    x.to_zarr("five.zarr")
    monkeypatch.chdir("below")
    for array in (ts.read_npy("../five.npy"), ts.read_zarr("../five.zarr"), ts.read_raw("../five.npy", a.shape, "f8", offset=128)):
        np.testing.assert_array_equal(array.compute(), a)
    assert (ts.read_npy("../two.npy").shape, ts.read_npy("../one.npy").shape) == ((2, 2), (2,))
    with pytest.raises(ts.InvalidInputError, match=str(tmp_path / "below" / "none.npy")):
        ts.read_npy("none.npy")


@pytest.mark.smoke
def test_other_threads(spark):
    with ThreadPoolExecutor(4) as threads:
        sums = list(threads.map(lambda n: ts.from_numpy(np.full((3, 4), n)).compute().sum(), range(8)))
    assert sums == [12 * n for n in range(8)]


def python(program: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program in a process of its own, with tilespark and pyspark."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    paths = [str(Path(ts.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-c", program],
        env=kept | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "SPARK_LOCAL_IP": "127.0.0.1"} | environment,
        capture_output=True, text=True, timeout=300, check=False,
    )


CONFIGURE = """
import tilespark as ts
from pyspark.sql import SparkSession
print(ts.configure(SparkSession.builder)._options)
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--jars other.jar --conf spark.sql.extensions=a.B pyspark-shell", "--jars"),
        ("--conf spark.jars=other.jar pyspark-shell", "--jars"),
    ],
)
def test_submit_arguments_without_the_jar(arguments, expected):
    done = python(CONFIGURE, PYSPARK_SUBMIT_ARGS=arguments)
    assert done.returncode
    last = done.stderr.splitlines()[-1]
    assert "SetupError" in last and "PYSPARK_SUBMIT_ARGS" in last and expected in last


def test_submit_arguments_are_kept():
    done = python(CONFIGURE, PYSPARK_SUBMIT_ARGS="--conf spark.sql.extensions=a.B -c spark.plugins=c.D pyspark-shell")
    assert "a.B,org.tilespark.spark.TileSparkExtensions" in done.stdout, done.stderr
    assert "c.D,org.tilespark.spark.TileSparkPlugin" in done.stdout


def test_a_jvm_that_runs_without_the_jar(client):
    if client == "connect":
        pytest.skip("a classic session")
    program = "from pyspark.sql import SparkSession; SparkSession.builder.getOrCreate().stop()" + CONFIGURE
    done = python(program, PYSPARK_SUBMIT_ARGS="--master local[1] --conf spark.ui.enabled=false pyspark-shell")
    assert done.returncode
    assert "restart Python" in done.stderr.splitlines()[-1]


TWICE = """
import numpy, tilespark as ts
from pyspark.sql import SparkSession
for _ in range(2):
    spark = ts.configure(SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")).getOrCreate()
    print(ts.from_numpy(numpy.ones((2, 3))).T.compute().shape)
    spark.stop()
"""


@pytest.mark.smoke
def test_a_second_session(client):
    if client == "connect":
        pytest.skip("a classic session")
    done = python(TWICE)
    assert done.stdout.split("\n")[:2] == ["(3, 2)"] * 2, done.stderr


FIRST_CALLS = """
import numpy, tilespark as ts
from pyspark.sql import SparkSession
spark = ts.configure(SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")).getOrCreate()
x = ts.from_numpy(numpy.ones((2, 3)))
y = (x.T + 1) @ x
print(spark.sparkContext.statusTracker().getJobIdsForGroup(None), y.shape)
"""


def test_first_calls_run_no_job(client):
    if client == "connect":
        pytest.skip("a classic session")
    done = python(FIRST_CALLS)
    assert done.stdout.strip() == "[] (3, 3)", done.stderr


def archive(cache: Path) -> Path:
    """Where the session looks for an archive of classes."""
    done = python(
        "import tilespark._session as s; print(s.class_archive(s.spark_home(), s.jar_path()))", XDG_CACHE_HOME=str(cache)
    )
    file = Path(done.stdout.strip())
    assert file.is_relative_to(cache), done.stderr
    file.parent.mkdir(parents=True)
    return file


def test_an_archive_of_classes_is_used_where_it_exists(tmp_path):
    configure = CONFIGURE.replace("builder)", "builder.config('spark.driver.extraJavaOptions', '-Dmine=1'))")
    assert "SharedArchiveFile" not in python(configure, XDG_CACHE_HOME=str(tmp_path)).stdout
    file = archive(tmp_path)
    file.write_bytes(b"")
    done = python(configure, XDG_CACHE_HOME=str(tmp_path))
    assert f"'-XX:SharedArchiveFile={file} -Xlog:cds*=off -Dmine=1'" in done.stdout, done.stderr
    assert "/jars/*:" in done.stdout, "the archive serves a class path that begins with Spark's jars"


def test_no_archive_is_used_where_one_is_made(tmp_path):
    option = "-XX:ArchiveClassesAtExit=mine"
    configure = CONFIGURE.replace("builder)", f"builder.config('spark.driver.extraJavaOptions', '{option}'))")
    archive(tmp_path).write_bytes(b"")
    done = python(configure, XDG_CACHE_HOME=str(tmp_path))
    assert option in done.stdout, done.stderr
    assert "SharedArchiveFile" not in done.stdout


def test_dev_class_archive_makes_the_file_that_configure_uses(tmp_path, monkeypatch):
    script = Path(__file__).parents[2] / "dev" / "class-archive"
    home, jar = Path(pyspark.__file__).parent, ts.jar_path()
    done = subprocess.run(
        [script, "--path", "--spark", home, "--jar", jar],
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert done.stdout.strip() == str(_session.class_archive(home, str(jar))), done.stderr


@pytest.mark.parametrize("kind", ["no archive at all", "of other jars"])
def test_an_outdated_archive_of_classes_is_harmless(client, tmp_path, kind):
    if client == "connect":
        pytest.skip("a classic session")
    file = archive(tmp_path)
    if kind == "no archive at all":
        file.write_text("what a full disk has left of it")
    else:
        jars = Path(pyspark.__file__).parent / "jars"
        launcher = next(jars.glob("spark-launcher*.jar"))
        subprocess.run(
            ["java", f"-XX:ArchiveClassesAtExit={file}", "-cp", launcher, "org.apache.spark.launcher.Main",
             "org.apache.spark.deploy.SparkSubmit", "--version"],
            env=os.environ | {"SPARK_HOME": str(jars.parent)}, capture_output=True, check=False,
        )
        assert file.is_file()
    done = python(TWICE, XDG_CACHE_HOME=str(tmp_path))
    assert done.stdout.split("\n")[:2] == ["(3, 2)"] * 2, done.stderr
    assert "[cds" not in done.stdout + done.stderr


LEAVES = """
import os, signal, sys, pathlib
from tilespark import _transfer, errors
file = _transfer.TemporaryFile()
file.path.write_text("left")
print(file.path.parent, flush=True)
if sys.argv[1:] == []:
    child = os.fork()
    if child == 0:
        file.delete()
        sys.exit()
    os.waitpid(child, 0)
    assert file.path.exists(), "a forked child deleted it"
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_processes_leave_no_files(tmp_path):
    left = Path(python(LEAVES, TMPDIR=str(tmp_path)).stdout.strip())
    assert left.is_dir() and left.parent == tmp_path
    (tmp_path / "tilespark-of-another").mkdir()
    held = Path(str(_transfer.TemporaryFile().path)).parent
    for directory in (left, tmp_path / "tilespark-of-another", held):
        os.utime(directory, (time.time() - 3600,) * 2)
    python(LEAVES.replace("if sys.argv", "import sys; sys.exit()\nif sys.argv"), TMPDIR=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["tilespark-of-another"]
    assert held.is_dir()


def test_scattered_elements_are_written_as_numpy_does(tmp_path):
    a = np.arange(7 * 5 * 6, dtype="f4").reshape(7, 5, 6)
    for view in (a, a.T, a.transpose(1, 2, 0), a[::2, ::-1], a[:0, :, ::2], np.float64(3), a[0, 0, ::3]):
        _transfer._write_npy(tmp_path / "a.npy", np.asarray(view))
        assert np.array_equal(np.load(tmp_path / "a.npy"), view)


def test_what_the_driver_cannot_send(spark, monkeypatch):
    settings = {"spark.driver.memory": "1m", "spark.rpc.message.maxSize": "2", "spark.master": "yarn"}
    monkeypatch.setattr(_transfer, "setting", lambda session, key: settings.get(key, ""))
    monkeypatch.setattr(_transfer, "is_local", lambda session: False)
    monkeypatch.setattr(_transfer, "shares_files", lambda session: False)
    with pytest.raises(ts.TileSparkError, match=r"spark.driver.memory=1m.*read_npy"):
        ts.from_numpy(np.zeros((1024, 1024)))
    settings["spark.driver.memory"] = "1g"
    with pytest.raises(ts.InvalidInputError, match=r"spark.rpc.message.maxSize=2.*read_npy"):
        ts.from_numpy(np.zeros((1024, 1024)), blocks=-1)


@pytest.mark.smoke
def test_a_function_that_fails_says_why(spark):
    def positive(block):
        if block.min() < 0:
            raise ValueError("negative elements:\nat least one")
        return block

    x = ts.from_numpy(-np.ones((3, 4)))
    reason = "map_blocks: block at row 0, col 0: the function failed with ValueError: negative elements:\n  at least one$"
    with pytest.raises(ts.TileSparkError, match=reason):
        x.map_blocks(positive, dtype="f8").compute()
    for function in (lambda block: block[0], lambda block: None, lambda block: np.full(block.shape, "x")):
        with pytest.raises(ts.TileSparkError, match="map_blocks: block at row 0, col 0: the function failed with [VT]"):
            x.map_blocks(function, dtype="f8").compute()


@pytest.mark.smoke
def test_functions_that_are_not_ours_fail_as_they_do_without_us(spark):
    from pyspark.errors import PythonException
    from pyspark.sql.functions import udf

    def fails(batches):
        for _ in batches:
            raise ValueError("theirs")
        yield from ()

    x = ts.from_numpy(np.ones((3, 4)))
    divide = udf(lambda row: 1 // row, "int")
    for df, reason in (
        (x.df.mapInPandas(fails, x.df.schema), "ValueError: theirs"),
        (x.df.withColumn("rows", divide("row")), "ZeroDivisionError"),
    ):
        y = ts.from_dataframe(df, shape=(3, 4))
        for array in (y, y.T, y.map_blocks(np.sqrt)):
            with pytest.raises(PythonException, match=reason) as raised:
                array.compute()
            assert "map_blocks" not in str(raised.value)


def test_workers_without_numpy():
    class PythonException(Exception):
        __module__ = "pyspark.errors"

    text = "Traceback (most recent call last):\n  File 'serializers.py'\nModuleNotFoundError: No module named 'numpy'\n"
    with pytest.raises(ts.SetupError, match="workers have no numpy.*PYSPARK_PYTHON"), errors.translated():
        raise PythonException(text)

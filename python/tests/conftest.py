"""The Spark session of the tests.

Environment variables choose it; dev/python-test sets them.

- TILESPARK_TEST_CLIENT: ``classic`` (default), or ``connect`` for a session of a Spark Connect server that is started here.
- TILESPARK_TEST_BACKEND: the value of spark.tilespark.backend, by default ``auto``.

TILESPARK_TEST_TURN leaves out tests: with 1, 2 or 3 a third of them run, chosen by their names, and those with the
marker ``smoke``; with 0, the default, all run.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
import tilespark
from pyspark.sql import SparkSession

CLIENTS = ("classic", "connect")
CLIENT = os.environ.get("TILESPARK_TEST_CLIENT", "classic")
BACKEND = os.environ.get("TILESPARK_TEST_BACKEND", "auto")
TURNS = 3
TURN = int(os.environ.get("TILESPARK_TEST_TURN", "0"))
START_LIMIT_SECONDS = 120


def pytest_configure() -> None:
    if CLIENT not in CLIENTS:
        raise pytest.UsageError(f"TILESPARK_TEST_CLIENT is {CLIENT!r}; expected one of {', '.join(CLIENTS)}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def runs(item: pytest.Item) -> bool:
        turn = 1 + zlib.crc32(item.nodeid.encode()) % TURNS
        return TURN in (0, turn) or item.get_closest_marker("smoke") is not None

    others = [item for item in items if not runs(item)]
    items[:] = [item for item in items if runs(item)]
    config.hook.pytest_deselected(items=others)


def pytest_report_header() -> str:
    return f"pyspark {pyspark.__version__}, client {CLIENT}, backend {BACKEND}, {tilespark.__file__}"


@pytest.fixture(scope="session")
def client() -> str:
    """``classic`` or ``connect``."""
    return CLIENT


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests, on two cores of this machine, set up by tilespark.configure."""
    directory = tmp_path_factory.mktemp("spark")
    # Only this distribution of Spark, with the settings below and no others.
    for name in [name for name in os.environ if name.startswith(("SPARK_", "HADOOP_", "PYSPARK_"))]:
        if name != "SPARK_LOCAL_DIRS":
            del os.environ[name]
    (directory / "conf").mkdir()
    os.environ |= {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(directory / "conf"),
        "PYSPARK_PYTHON": sys.executable,
    }
    builder = SparkSession.builder.config(map=_settings(directory))
    tilespark.configure(builder)
    with _classic(builder) if CLIENT == "classic" else _connect(builder, directory) as session:
        yield session


def _settings(directory: Path) -> dict[str, bool | float | int | str | None]:
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (directory / "warehouse").as_uri(),
        "spark.tilespark.backend": BACKEND,
        "spark.tilespark.autotune.cacheDir": str(directory / "tilings"),
    }


@contextmanager
def _classic(builder: SparkSession.Builder) -> Iterator[SparkSession]:
    session = builder.getOrCreate()
    try:
        yield session
        runtime = session._jvm.org.tilespark.spark.runtime.ExecutorRuntime.current()  # type: ignore[union-attr]
        deadline = time.monotonic() + 30  # tasks of a failed query may still be ending
        while runtime.liveArrowBytes() + runtime.liveDeviceBytes() > 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert runtime.liveArrowBytes() == 0, "Arrow bytes alive after all tests"
        assert runtime.liveDeviceBytes() == 0, "device bytes alive after all tests"
    finally:
        session.stop()


@contextmanager
def _connect(builder: SparkSession.Builder, directory: Path) -> Iterator[SparkSession]:
    port = _free_port()
    log = directory / "connect-server.log"
    settings = builder._options | {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit")]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=_end_with_parent
        )
    try:
        _await_port(port, server, log)
        session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
        try:
            yield session
        finally:
            session.stop()
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _end_with_parent() -> None:
    """Asks Linux to end this process when the one that started it ends."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _await_port(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                state = "runs" if server.returncode is None else f"ended with {server.returncode}"
                tail = log.read_text(errors="replace")[-4000:]
                raise RuntimeError(f"no Spark Connect server listens on port {port}; its process {state}:\n{tail}") from None
            time.sleep(0.2)

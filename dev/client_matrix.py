"""Runs the examples of all SQL functions through each client; dev/client-matrix describes it.

A directory holds a file with the first example of each function, FUNCTION.sql. A client, one process, runs all of them and leaves
the rows of each in FUNCTION.CLIENT. One server process serves Spark Connect and JDBC.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyspark

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "clients.md"
BEGIN = "<!-- clients: written by dev/client-matrix --write -->\n"
END = "<!-- end of clients -->\n"
SPARK_HOME = Path(pyspark.__file__).parent
JAR = next(path for path in (ROOT / "spark-ext" / "target").glob("tilespark-*.jar") if not path.stem.endswith("-tests"))
CONF = {
    "spark.master": "local[2]",
    "spark.jars": str(JAR),
    "spark.plugins": "org.tilespark.spark.TileSparkPlugin",
    "spark.sql.extensions": "org.tilespark.spark.TileSparkExtensions",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
LIMIT_SECONDS = 600
MARKER = "example of"

# Runs the examples in a session of a server, or in one of its own, from which it lists them first.
# The form of the text is that of org.tilespark.spark.functions.Description.
PYTHON = r"""
import pathlib, re, sys
from pyspark.sql import SparkSession
client, remote = sys.argv[1:]
spark = SparkSession.builder.remote(remote).getOrCreate() if remote else SparkSession.builder.getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect.") == bool(remote)
if not remote:
    for (name,) in spark.sql("SHOW USER FUNCTIONS LIKE 'matrix_*|volume_*'").collect():
        text = "\n".join(row[0] for row in spark.sql("DESCRIBE FUNCTION EXTENDED " + name).collect())
        example = re.search(r"^      > (.*?);\n((?:       \S[^\n]*\n)*)", text.partition("Examples:")[2], re.MULTILINE | re.DOTALL)
        assert example, "DESCRIBE FUNCTION EXTENDED shows no example: " + text
        facade = re.search(r"In Java and Scala ([A-Za-z]+\.[A-Za-z]+)", text)
        for kind, found in (("sql", example[1]), ("expected", example[2]), ("facade", facade[1] if facade else "")):
            pathlib.Path(name + "." + kind).write_text(found)
for file in sorted(pathlib.Path().glob("*.sql")):
    rows = spark.sql(file.read_text()).collect()
    file.with_suffix("." + client).write_text("\n".join(" ".join(map(str, row)) for row in rows))
spark.stop()
"""

JAVA = """
import java.lang.reflect.*;
import java.nio.file.*;
import java.util.*;
import org.apache.spark.sql.*;
public final class ClientMatrix {
  public static void main(String[] args) throws Exception {
    List<String> methods = new ArrayList<>();
    for (Class<?> facade : List.of(org.tilespark.spark.MatrixBlocks.class, org.tilespark.spark.VolumeBlocks.class)) {
      for (Method method : facade.getMethods()) {
        if (Modifier.isStatic(method.getModifiers())) methods.add(facade.getSimpleName() + "." + method.getName());
      }
    }
    Files.write(Path.of("methods.txt"), methods);
    SparkSession spark = SparkSession.builder().getOrCreate();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of("."), "*.sql")) {
      for (Path file : files) {
        List<String> rows = new ArrayList<>();
        for (Row row : spark.sql(Files.readString(file)).collectAsList()) rows.add(row.mkString(" "));
        Files.write(Path.of(file.toString().replace(".sql", ".Java")), rows);
      }
    }
    spark.stop();
  }
}
"""

SCALA = """
import java.nio.file._
import scala.jdk.CollectionConverters._
Files.newDirectoryStream(Path.of("."), "*.sql").asScala.foreach { file =>
  val rows = spark.sql(Files.readString(file)).collect().map(_.mkString(" "))
  Files.write(Path.of(file.toString.replace(".sql", ".Scala")), rows.toSeq.asJava)
}
:quit
"""


class Failed(Exception):
    """A client printed something else, or could not run."""


def run(directory: Path, command: list[str], given: str = "") -> str:
    log = directory / f"{Path(command[0]).name}-{time.monotonic_ns()}.log"
    with log.open("w") as errors:
        ended = subprocess.run(
            command, cwd=directory, env=environment(directory), input=given, stdout=subprocess.PIPE, stderr=errors, text=True,
            timeout=LIMIT_SECONDS, check=False,
        )
    if ended.returncode != 0 or "error:" in ended.stdout:
        raise Failed(f"{command} ended with {ended.returncode}:\n{ended.stdout[-3000:]}\n{log.read_text()[-6000:]}")
    return ended.stdout


def environment(directory: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "HADOOP_"))}
    return kept | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(directory / "conf"),
        "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
    }


def python_client(directory: Path, client: str, remote: str = "") -> None:
    (directory / "client.py").write_text(PYTHON)
    run(directory, ["python", "client.py", client, remote])


def java_client(directory: Path) -> None:
    (directory / "ClientMatrix.java").write_text(JAVA)
    run(directory, ["javac", "-nowarn", "-cp", f"{SPARK_HOME}/jars/*:{JAR}", "-d", "classes", "ClientMatrix.java"])
    run(directory, ["jar", "--create", "--file", "matrix.jar", "-C", "classes", "."])
    run(directory, ["spark-submit", "--class", "ClientMatrix", "matrix.jar"])


def script(directory: Path) -> str:
    """All examples, each after a row with its function."""
    files = sorted(directory.glob("*.sql"))
    return "".join(f"SELECT '{MARKER} {file.stem}';\n{file.read_text()};\n" for file in files)


def keep(directory: Path, client: str, output: str) -> None:
    """Splits what a client printed for the script."""
    parts = re.split(rf"^{MARKER} (\w+)$", output, flags=re.MULTILINE)[1:]
    for function, rows in zip(parts[::2], parts[1::2]):
        (directory / f"{function}.{client}").write_text(rows)


def sql_client(directory: Path) -> None:
    (directory / "spark-sql.txt").write_text(script(directory))
    keep(directory, "SQL", run(directory, ["spark-sql", "-f", "spark-sql.txt"]))


def jdbc_client(directory: Path, port: int) -> None:
    (directory / "beeline.txt").write_text(script(directory))
    command = ["beeline", "-u", f"jdbc:hive2://127.0.0.1:{port}/default", "-n", "test", "--silent=true"]
    command += ["--outputformat=tsv2", "--showHeader=false", "-f", "beeline.txt"]
    keep(directory, "JDBC", run(directory, command))


@contextmanager
def server(directory: Path) -> Iterator[tuple[int, int]]:
    """The Thrift server, with Spark Connect as a plugin of it; gives the ports of Connect and of JDBC."""
    ports = []
    for _ in range(2):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            ports.append(listener.getsockname()[1])
    conf = CONF | {
        "spark.plugins": f"{CONF['spark.plugins']},org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(ports[0]),
    }
    place = directory / "server"
    place.mkdir()
    command = [str(SPARK_HOME / "bin" / "spark-submit")]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    command += ["--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal"]
    for key, value in (("port", str(ports[1])), ("bind.host", "127.0.0.1")):
        command += ["--hiveconf", f"hive.server2.thrift.{key}={value}"]
    with (place / "log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=place, env=environment(directory), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + LIMIT_SECONDS
        for port in ports:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise Failed(f"no server listens on {port}:\n{(place / 'log').read_text()[-6000:]}") from None
                    time.sleep(0.2)
        yield ports[0], ports[1]
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def server_clients(directory: Path, listed: "Future[None]") -> None:
    """Starts the server while the examples are listed."""
    with server(directory) as (connect, thrift):
        listed.result()
        python_client(directory, "Connect", f"sc://127.0.0.1:{connect}")
        jdbc_client(directory, thrift)


def words(text: str) -> list[float | str]:
    """Numbers and names in their order, without what each client writes between them."""
    found = re.findall(r"[\w.+-]+", re.sub(r"\b(?:Immutable)?(?:ArraySeq|WrappedArray|List)\b|\bnp\.\w+", " ", text))
    return [float(word) if re.fullmatch(r"[-+]?[0-9]+(?:[.][0-9]*)?(?:[eE][-+]?[0-9]+)?", word) else word.lower() for word in found]


def ran(example: Path, client: str) -> str:
    """The cell of a function and a client; a client that did not run its example right is a failure."""
    found, expected = example.with_suffix(f".{client}"), example.with_suffix(".expected")
    if not found.is_file():
        raise Failed(f"{client} did not run {example.read_text()}")
    if words(found.read_text()) != words(expected.read_text()):
        raise Failed(
            f"{client} gave other rows for\n{example.read_text()}\n"
            f"expected\n{expected.read_text()}\nfound\n{found.read_text()}"
        )
    return "ran"


def table(directory: Path, examples: list[Path]) -> str:
    clients = ("Java", "Scala", "SQL", "PySpark", "Connect", "JDBC")
    methods = (directory / "methods.txt").read_text().split()
    lines = ["| function | method of the facade | " + " | ".join(clients) + " |", "|---|---|" + "---|" * len(clients)]
    failures = []
    for example in examples:
        facade = example.with_suffix(".facade").read_text()
        if facade and facade not in methods:
            failures.append(f"there is no method {facade}, which {example.stem} names")
        cells = []
        for client in clients:
            try:
                cells.append(ran(example, client))
            except Failed as reason:
                failures.append(str(reason))
        method = f"`{facade}`" if facade else "none"
        lines.append(f"| `{example.stem}` | {method} | " + " | ".join(cells) + " |")
    if failures:
        raise Failed("\n".join(failures))
    return "\n".join(lines) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        (directory / "conf").mkdir()
        (directory / "conf" / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in CONF.items()))
        with ThreadPoolExecutor(2) as pool:
            listed = pool.submit(python_client, directory, "PySpark")
            # Two at a time: the last three begin after the list, for the server's clients wait for it.
            jobs = [
                listed,
                pool.submit(server_clients, directory, listed),
                pool.submit(java_client, directory),
                pool.submit(run, directory, ["spark-shell"], SCALA),
                pool.submit(sql_client, directory),
            ]
            for job in jobs:
                job.result()
        examples = sorted(directory.glob("*.sql"))
        if not examples:
            raise Failed("SHOW USER FUNCTIONS lists no function of tilespark")
        written = table(directory, examples)
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    new = f"{before}{BEGIN}{written}{END}{after}"
    if "--write" in sys.argv:
        PAGE.write_text(new)
    elif new != page:
        raise Failed(f"{PAGE} has another table than what ran; run dev/client-matrix --write. What ran:\n{written}")
    print(f"{len(examples)} functions, an example of each, right with 6 clients on Spark {pyspark.__version__}")


if __name__ == "__main__":
    try:
        main()
    except Failed as reason:
        sys.exit(f"dev/client-matrix: {reason}")

"""Runs the examples of README and of some pages of docs; dev/readme-examples describes it.

Each language is a program: the pages' fences of that language in their order, between a prelude that defines what they name and
an end that writes what they only compute. A program runs in a directory of its own, which holds its input, and links to the
repository's examples and spark-ext. Paths that the pages can only give as placeholders are replaced.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyspark

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.search(r"<artifactId>tilespark-parent</artifactId>\s*<version>([^<]+)<", (ROOT / "pom.xml").read_text())[1]
JAR_NAME = f"tilespark-{VERSION}.jar"
JAR = ROOT / "spark-ext" / "target" / JAR_NAME
SPARK_HOME = Path(pyspark.__file__).parent
LIMIT_SECONDS = 300

IN = np.load(ROOT / "examples" / "data" / "fashion-mnist-t10k.npy")
_random = np.random.default_rng(24)
A = _random.standard_normal((7, 5)).astype(np.float32)
B = _random.standard_normal((6, 5)).astype(np.float32)
VOLUME = _random.standard_normal((12, 10, 8)).astype(np.float32)
DOCUMENTS = _random.standard_normal((40, 6)).astype(np.float32)
SCORES = (DOCUMENTS - DOCUMENTS.mean(0)) / DOCUMENTS.std(0)

PAGES = ("README.md", "docs/install.md", "docs/first-job.md", "docs/files.md", "docs/operators.md")
TEXT = "\n".join((ROOT / page).read_text("utf-8") for page in PAGES)
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


class Failed(Exception):
    """An example, or a page, is not as expected."""


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise Failed(message)


def fences(language: str, *words: str) -> str:
    """The pages' fences of a language; each of the words must occur in them."""
    text = "".join(body for found, body in FENCES if found == language)
    for word in words:
        expect(word in text, f"the examples in {language} do not name {word}; found: {text}")
    return text


def settings() -> str:
    """The settings for spark-defaults.conf, with the user jar."""
    text = "\n".join(re.findall(r"^    (spark\.(?:jars|plugins) .*)$", TEXT, re.MULTILINE))
    expect(
        text.count("\n") == 1 and f"/path/to/{JAR_NAME}" in text,
        f"docs/install.md has not the two settings with /path/to/{JAR_NAME}; found: {text}",
    )
    return text.replace(f"/path/to/{JAR_NAME}", str(JAR))


def run(directory: Path, command: list[str], given: str = "") -> str:
    """Runs a command of Spark there, and returns what it printed to its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "HADOOP_"))}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(directory / "conf")}
    # For JVMs that live for seconds.
    environment["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    if "SPARK_LOCAL_DIRS" in os.environ:
        environment["SPARK_LOCAL_DIRS"] = os.environ["SPARK_LOCAL_DIRS"]
    (directory / "input.txt").write_text(given)
    with (directory / "input.txt").open() as source, (directory / "errors.txt").open("w") as errors:
        ended = subprocess.run(
            command, cwd=directory, env=environment, stdin=source, stdout=subprocess.PIPE, stderr=errors, text=True,
            timeout=LIMIT_SECONDS, check=False,
        )
    log = f"{ended.stdout[-6000:]}\n{(directory / 'errors.txt').read_text()[-6000:]}"
    expect(ended.returncode == 0, f"{command[0]} ended with {ended.returncode}:\n{log}")
    return ended.stdout


def equals(directory: Path, name: str, expected: np.ndarray) -> None:
    """Compares a file of all bits with an array."""
    expect((directory / name).is_file(), f"{name} was not written:\n{(directory / 'errors.txt').read_text()[-6000:]}")
    found = np.load(directory / name)
    expect(
        found.dtype == expected.dtype and np.array_equal(found, expected),
        f"{name} is {found.dtype} {found.shape} with other values than the expected {expected.dtype} {expected.shape}",
    )


def close(found: np.ndarray, expected: np.ndarray, tolerance: float, name: str) -> None:
    """Compares relative to the largest value."""
    expect(found.shape == expected.shape, f"{name} has the shape {found.shape}; expected {expected.shape}")
    error = np.abs(found - expected).max() / np.abs(expected).max()
    expect(error <= tolerance, f"{name} has the relative error {error}; expected at most {tolerance}")


def documents() -> str:
    """SQL of DOCUMENTS as a table; row 0 is document 100."""
    return "\n".join(
        [
            "CREATE TEMPORARY VIEW documents_npy USING npy OPTIONS (path 'documents.npy', blockShape '7,6');",
            "CREATE TEMPORARY VIEW documents AS SELECT row + 100 AS doc_id, features FROM"
            " matrix_to_rows(TABLE(documents_npy), 'features');",
            "",
        ]
    )


def session_calls(sql: str) -> str:
    """The statements as calls of a session in Java or Python."""
    return "\n".join(f'spark.sql("{" ".join(line.split())}");' for line in sql.replace(";", "").splitlines() if line)


def spark_submit(directory: Path) -> None:
    found = re.search(r"^    (spark-submit --master .*\\\n(?:    .*\\\n)*    .*)$", TEXT, re.MULTILINE)
    expect(found is not None and "IN.npy OUT.npy" in found[1], "no page has a spark-submit line from IN.npy to OUT.npy")
    (directory / "conf" / "spark-defaults.conf").unlink()  # the example jobs need no settings
    (directory / "IN.npy").symlink_to(directory / "in.npy")
    run(directory, ["bash", "-euc", found[1]])
    equals(directory, "OUT.npy", IN.T)


def java(directory: Path) -> None:
    names = ("fromRows", "scores.parquet", "MatrixBlocks.transpose", "VolumeBlocks.permute", "multiply", "VolumeBlocks.ifft")
    lines = fences("java", *names).splitlines()
    imports = [line for line in lines if line.startswith("import ")]
    statements = [line for line in lines if not line.startswith("import ")]
    source = "\n".join(
        [
            *imports,
            "public final class ReadmeExamples {",
            "  public static void main(String[] args) {",
            "    SparkSession spark = SparkSession.builder().getOrCreate();",
            session_calls(documents()),
            '    spark.table("documents").write().parquet("documents.parquet");',
            *statements,
            '    Dataset<Row> written = spark.read().parquet("scores.parquet").orderBy("doc_id");',
            '    MatrixBlocks.fromRows(written, "features").write().format("npy").save("scores.npy");',
            '    c.write().format("npy").save("c.npy");',
            '    smooth.write().format("npy").save("smooth.npy");',
            "    spark.stop();",
            "  }",
            "}",
        ]
    )
    (directory / "ReadmeExamples.java").write_text(source)
    run(directory, ["javac", "-nowarn", "-cp", f"{SPARK_HOME}/jars/*:{JAR}", "-d", "classes", "ReadmeExamples.java"])
    run(directory, ["jar", "--create", "--file", "readme.jar", "-C", "classes", "."])
    run(directory, ["spark-submit", "--master", "local[2]", "--class", "ReadmeExamples", "readme.jar"])
    close(np.load(directory / "scores.npy"), SCORES, 1e-5, "scores")
    equals(directory, "out.npy", IN.T)
    equals(directory, "yzx.npy", VOLUME.transpose(1, 2, 0))
    close(np.load(directory / "c.npy"), A @ B.T, 1e-6, "c")
    spectrum = np.fft.rfftn(VOLUME)
    frequencies = np.meshgrid(*map(np.fft.fftfreq, VOLUME.shape[:2]), np.fft.rfftfreq(VOLUME.shape[2]), indexing="ij")
    spectrum[sum(f**2 for f in frequencies) > 0.1**2] = 0
    close(np.load(directory / "smooth.npy"), np.fft.irfftn(spectrum, VOLUME.shape, (0, 1, 2)), 1e-5, "smooth")


def scala(directory: Path) -> None:
    program = fences("scala", "MatrixBlocks.fromRows", "scores.parquet", "MatrixBlocks.transpose", "in.npy", "out.npy")
    begin = session_calls(documents()) + '\nspark.table("documents").write.parquet("documents.parquet")\n'
    end = (
        'MatrixBlocks.fromRows(spark.read.parquet("scores.parquet").orderBy("doc_id"), "features")'
        '.write.format("npy").save("scores.npy")'
    )
    output = run(directory, ["spark-shell", "--master", "local[2]"], f"{begin}{program}\n{end}\n:quit\n")
    expect("error:" not in output, f"spark-shell printed an error:\n{output}")
    close(np.load(directory / "scores.npy"), SCORES, 1e-5, "scores")
    equals(directory, "out.npy", IN.T)


def sql(directory: Path) -> None:
    program = fences("sql", "matrix_from_rows", "matrix_transpose", "volume_permute", "matrix_multiply", "/data/out.npy")
    views = "".join(
        f"CREATE TEMPORARY VIEW {name} USING npy OPTIONS (path '{file}.npy', blockShape '{shape}');\n"
        for name, file, shape in (("v", "volume", "5,5,5"), ("a", "a", "3,2"), ("b", "b", "4,3"))
    )
    (directory / "program.sql").write_text(documents() + views + program.replace("/data/", f"{directory}/"))
    rows = [line.split("\t") for line in run(directory, ["spark-sql", "--master", "local[2]", "-f", "program.sql"]).splitlines()]
    expect((directory / "metastore_db").is_dir(), "spark-sql did not use Hive's catalog")
    equals(directory, "out.npy", IN.T)
    scores = {int(row[0]): np.array(row[1].strip("[]").split(","), np.float32) for row in rows if len(row) == 2}
    expect(sorted(scores) == list(range(100, 140)), f"SQL's scores are of the documents {sorted(scores)}")
    close(np.array([scores[doc] for doc in sorted(scores)]), SCORES, 1e-5, "SQL's scores")
    permuted = assembled([row for row in rows if len(row) == 7], 3)
    expect(np.array_equal(permuted, VOLUME.transpose(1, 2, 0)), "SQL's volume_permute differs from numpy's transpose")
    close(assembled([row for row in rows if len(row) == 5], 2), A @ B.T, 1e-2, "SQL's matrix_multiply")


def assembled(rows: list[list[str]], rank: int) -> np.ndarray:
    """The array of the blocks that spark-sql printed: places, extents, values."""
    blocks = []
    for row in rows:
        place = [int(value) for value in row[:rank]]
        extents = [int(value) for value in row[rank : 2 * rank]]
        blocks.append((place, np.array(row[2 * rank].strip("[]").split(","), np.float32).reshape(extents)))
    expect(len(blocks) > 1, f"spark-sql printed {len(blocks)} blocks with {rank} axes; expected several")
    array = np.full(np.max([np.add(place, block.shape) for place, block in blocks], axis=0), np.nan, np.float32)
    for place, block in blocks:
        array[tuple(slice(start, start + n) for start, n in zip(place, block.shape))] = block
    return array


def python(directory: Path) -> None:
    program = fences("python", "ts.from_rows", "scores.parquet", "ts.configure", "to_npy", "matrix_transpose", "in.npy", "out.npy")
    between = 'import os; os.rename("out.npy", "by_package.npy")\nm = spark.read'
    expect(program.count("m = spark.read") == 1, f"the example of PySpark alone begins otherwise: {program}")
    made = session_calls(documents()).replace(";", "") + '\nspark.table("documents").write.parquet("documents.parquet")\n'
    program = program.replace("m = spark.read", between).replace("x = ts.from_rows", made + "x = ts.from_rows", 1)
    end = 'ts.from_rows(spark.read.parquet("scores.parquet"), "features", order_by="doc_id").to_npy("scores.npy")'
    (directory / "program.py").write_text(f"{program}\n{end}\nspark.stop()\n")
    os.environ |= {"PYTHONPATH": str(ROOT / "python" / "src"), "TILESPARK_JAR": str(JAR)}
    run(directory, ["python", "program.py"])
    close(np.load(directory / "scores.npy"), SCORES, 1e-5, "scores")
    equals(directory, "by_package.npy", IN.T)
    equals(directory, "out.npy", IN.T)


PROGRAMS: tuple[Callable[[Path], None], ...] = (spark_submit, java, scala, sql, python)


def passes(program: Callable[[Path], None], scratch: Path) -> bool:
    """Runs it in a new directory, and prints how that went."""
    directory = scratch / program.__name__
    (directory / "conf").mkdir(parents=True)
    (directory / "conf" / "spark-defaults.conf").write_text(settings())
    (directory / "conf" / "log4j2.properties").symlink_to(ROOT / "examples" / "conf" / "log4j2.properties")
    for name in ("examples", "spark-ext"):
        (directory / name).symlink_to(ROOT / name)
    for name, array in (("in", IN), ("a", A), ("b", B), ("volume", VOLUME), ("documents", DOCUMENTS)):
        np.save(directory / f"{name}.npy", array)
    start = time.monotonic()
    label = f"the examples with {program.__name__.replace('_', '-')} on Spark {pyspark.__version__}"
    try:
        program(directory)
    except (Failed, subprocess.TimeoutExpired) as reason:
        print(f"FAILED {label}: {reason}", flush=True)
        return False
    print(f"{label}: right, {time.monotonic() - start:.0f} s", flush=True)
    return True


def main() -> None:
    expect(JAR.is_file(), f"{JAR} is not there; run: mvn -DskipTests package")
    unknown = {language for language, _ in FENCES} - {program.__name__ for program in PROGRAMS}
    expect(not unknown, f"there are examples in languages that are not known here: {sorted(unknown)}")
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        right = list(pool.map(lambda program: passes(program, Path(scratch)), PROGRAMS))
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    try:
        main()
    except Failed as reason:
        sys.exit(f"dev/readme-examples: {reason}")

"""Spark sessions that have tilespark: how to make one, and how to see what one lacks."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import sys
import warnings
import weakref
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._arguments import location
from .errors import EXTENSIONS, PLUGIN, SETUP_HELP, InvalidInputError, SetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_checked: weakref.WeakSet[Any] = weakref.WeakSet()


def jar_path() -> Path:
    """The user jar that this package carries.

    Raises:
        SetupError: if the package was installed without it, as from a source tree.
    """
    path = Path(os.environ.get("TILESPARK_JAR") or Path(__file__).parent / "jars" / "tilespark.jar")
    if not path.is_file():
        raise SetupError(
            f"There is no tilespark jar at {path}; install the wheel that dev/python-wheel builds, or set the environment"
            " variable TILESPARK_JAR to the user jar, spark-ext/target/tilespark-VERSION.jar"
        )
    return path.resolve()


def configure(builder: Any, *, jar: str | os.PathLike[str] | None = None) -> Any:
    """Adds tilespark's jar, SQL extension and plugin to a session that is yet to be made.

    What the builder, ``spark-defaults.conf``, ``PYSPARK_SUBMIT_ARGS`` and ``spark-submit`` already name under the same keys
    stays. Where NVIDIA's cuBLAS and cuFFT are installed as Python packages (``pip install tilespark[cuda]``), executors of
    this machine find them there, and numpy's OpenBLAS in numpy's. Workers of a local session run this Python, unless the
    environment variable ``PYSPARK_PYTHON`` names another one. Where ``dev/class-archive`` has made an archive of the classes of
    this Spark and this jar, the JVM starts from it.

    Args:
        builder: ``SparkSession.builder``, with or without settings of yours; not for a server that runs elsewhere.
        jar: the user jar; by default the one in this package.

    Returns:
        The builder.

    Raises:
        SetupError: if there is no jar; or Spark's JVM runs already, or will start, without it; or the builder names a remote
            server, whose settings are made where it starts.
    """
    if not hasattr(builder, "_options"):
        raise InvalidInputError(
            f"configure of {type(builder).__name__}; expected SparkSession.builder, before getOrCreate() makes a session of it"
        )
    options: dict[str, Any] = builder._options
    remote = str(options.get("spark.remote", os.environ.get("SPARK_REMOTE", "")))
    if remote and not remote.startswith("local"):
        raise SetupError(
            f"The session is one of the server {remote}, which has its settings already; start the server with"
            f" --jars {jar or 'tilespark.jar'} --conf spark.sql.extensions={EXTENSIONS} --conf spark.plugins={PLUGIN}"
        )
    path = str(Path(location("jar", jar)).resolve()) if jar is not None else str(jar_path())
    running = _settings_of_running_jvm()
    arguments = _submit_arguments()
    for settings, where in ((running, "spark-submit, or an earlier session of this Python,"), (arguments, "PYSPARK_SUBMIT_ARGS")):
        # The JVM finds classes in what it was started with, so a jar that comes later is of no use.
        if settings is not None and ("spark.jars" in settings or settings is running) and not _has_jar(settings, path):
            raise SetupError(
                f"{where} starts Spark's JVM with the jars {settings.get('spark.jars') or '(none)'};"
                f" expected tilespark's among them: add --jars {path} there, or restart Python and call configure before the"
                " first session"
            )
    defaults = _spark_defaults() | arguments | (running or {})
    for key, value in (("spark.jars", path), ("spark.sql.extensions", EXTENSIONS), ("spark.plugins", PLUGIN)):
        named = str(options.get(key, defaults.get(key, "")))
        values = [entry.strip() for entry in named.split(",") if entry.strip()]
        if value not in values:
            values.append(value)
        builder.config(key, ",".join(values))
    for key, libraries in (
        ("spark.tilespark.gpu.libraryPath", _directories_of(("nvidia-cublas", "nvidia-cufft"), r"lib(cublas|cufft)\.so\.\d+$")),
        ("spark.tilespark.cpu.libraryPath", _directories_of(("numpy",), r"lib(scipy_)?openblas.*\.so")),
    ):
        if libraries and key not in options and key not in defaults:
            builder.config(key, os.pathsep.join(libraries))
    if running is None:
        _use_class_archive(builder, path, options | defaults)
    master = str(options.get("spark.master", remote or defaults.get("spark.master", "local")))
    if master.startswith("local") and sys.executable and "spark.pyspark.python" not in options | defaults:
        # Spark reads this variable when a session is made, and no setting; its default is the python3 of the PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return builder


def _has_jar(settings: dict[str, str], path: str) -> bool:
    """Whether tilespark's jar, of whatever version, is on the class path."""
    named = re.split(r"[,:;]", ",".join(settings.get(key, "") for key in ("spark.jars", "spark.driver.extraClassPath")))
    return any(Path(entry).name == Path(path).name or re.match(r"tilespark[^/]*\.jar$", Path(entry).name) for entry in named)


def _settings_of_running_jvm() -> dict[str, str] | None:
    """The settings of the JVM that spark-submit started this Python from, or that an earlier session left; else None."""
    from pyspark import SparkConf, SparkContext

    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _submit_arguments() -> dict[str, str]:
    """The settings in PYSPARK_SUBMIT_ARGS, from which the JVM will be started."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--jars", dest="spark.jars")
    parser.add_argument("--driver-class-path", dest="spark.driver.extraClassPath")
    parser.add_argument("--conf", "-c", action="append", default=[])
    found = vars(parser.parse_known_args(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")))[0])
    pairs = [pair.partition("=") for pair in found.pop("conf")]
    return {key: value for key, _, value in pairs} | {key: value for key, value in found.items() if value is not None}


def _spark_defaults() -> dict[str, str]:
    """The settings that spark-submit will read from a file, which those of a builder replace."""
    directory = os.environ.get("SPARK_CONF_DIR")
    if not directory:
        directory = str(_spark_home() / "conf")
    path = Path(directory) / "spark-defaults.conf"
    if not path.is_file():
        return {}
    settings: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        found = re.match(r"\s*([^#!\s:=][^\s:=]*)\s*[\s:=]\s*(.*?)\s*$", line)
        if found:
            settings[found.group(1)] = found.group(2)
    return settings


def _spark_home() -> Path:
    """The installation of Spark whose JVM PySpark starts."""
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def class_archive(home: Path, jar: str) -> Path:
    """Where dev/class-archive keeps the archive of an installation's classes and of a jar's."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(f"{home.resolve()}\n{Path(jar).resolve()}\n".encode()).hexdigest()[:16]
    return cache / "tilespark" / "class-archives" / f"{key}.jsa"


def _use_class_archive(builder: Any, jar: str, settings: dict[str, Any]) -> None:
    """Has the JVM start from an archive of classes, if there is one: its class path begins as that of the JVM that made it.

    A JVM that finds the archive to be of another Java or of other jars does without it, and says nothing.
    """
    home = _spark_home()
    archive = class_archive(home, jar)
    path, options = "spark.driver.extraClassPath", "spark.driver.extraJavaOptions"
    if not archive.is_file() or " " in str(archive) or "SharedArchiveFile" in str(settings.get(options, "")):
        return
    for key, ours, separator in (
        (path, f"{home.resolve()}/jars/*:{Path(jar).resolve()}", ":"),
        (options, f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off", " "),
    ):
        builder.config(key, separator.join(filter(None, (ours, str(settings.get(key, ""))))))


def _directories_of(packages: tuple[str, ...], library: str) -> list[str]:
    """The directories of this Python's packages that hold libraries of a name, a regular expression."""
    directories: list[str] = []
    for name in packages:
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if re.match(library, file.name):
                directory = str(Path(str(file.locate())).resolve().parent)
                if directory not in directories:
                    directories.append(directory)
    return directories


def session(spark: SparkSession | None = None) -> SparkSession:
    """The session to work in: the one that is given, else the active one.

    Raises:
        SetupError: if there is none.
    """
    if spark is None:
        from pyspark.sql import SparkSession

        try:
            spark = SparkSession.active()  # of this thread, else of the process
        except Exception:
            raise SetupError(
                "There is no active Spark session;"
                " make one with tilespark.configure(SparkSession.builder).getOrCreate(), or pass spark=..."
            ) from None
    check(spark)
    return spark


def check(spark: SparkSession) -> None:
    """Warns once of a session whose settings name tilespark's extension and not its plugin. It runs no query: a session that lacks
    the jar or the extension says so where a function of tilespark's is planned (:func:`errors.from_spark`).
    """
    if not hasattr(spark, "sql") or not hasattr(spark, "conf"):
        raise InvalidInputError(f"spark is {spark!r}; expected a SparkSession")
    if spark in _checked:
        return
    if EXTENSIONS in setting(spark, "spark.sql.extensions") and PLUGIN not in setting(spark, "spark.plugins"):
        warnings.warn(
            f"This Spark session lacks the plugin (spark.plugins={PLUGIN}): it computes, without the GPU tab, executor"
            f" metrics and recovery from a lost device. {SETUP_HELP}",
            stacklevel=4,
        )
    _checked.add(spark)


def same_session(one: SparkSession, two: SparkSession) -> bool:
    """True if both are one session of Spark's; Python may have several objects of it."""
    if one is two:
        return True
    ids = [getattr(spark, "_jsparkSession", None) or getattr(spark, "session_id", None) for spark in (one, two)]
    return ids[0] is not None and bool(ids[0] == ids[1])


def setting(spark: SparkSession, key: str) -> str:
    """A setting of the session, or ""."""
    try:
        return str(spark.conf.get(key, "") or "")
    except Exception:  # a server may hide it
        return ""


def is_local(spark: SparkSession) -> bool:
    """True if driver and executors are one process."""
    return re.match(r"local(\[|$)", setting(spark, "spark.master")) is not None

"""Spark sessions with tilespark: how to configure one, and checks of what a session lacks."""

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
    """The tilespark jar in this package.

    Raises:
        SetupError: if the package has no jar, as when installed from a source tree.
    """
    path = Path(os.environ.get("TILESPARK_JAR") or Path(__file__).parent / "jars" / "tilespark.jar")
    if not path.is_file():
        raise SetupError(
            f"There is no tilespark jar at {path}; install the wheel that dev/python-wheel builds, or set the environment"
            " variable TILESPARK_JAR to the user jar, spark-ext/target/tilespark-VERSION.jar"
        )
    return path.resolve()


def configure(builder: Any, *, jar: str | os.PathLike[str] | None = None) -> Any:
    """Adds tilespark's jar, SQL extension and plugin to the settings of a new session.

    Values of these keys in the builder, ``spark-defaults.conf``, ``PYSPARK_SUBMIT_ARGS`` and ``spark-submit`` are kept.
    Executors on this machine find cuBLAS and cuFFT in NVIDIA's Python packages (the wheel's extra ``cuda``), and
    OpenBLAS in numpy's. Workers of a local session run this Python, unless the environment variable ``PYSPARK_PYTHON``
    names another one. If ``python -m tilespark.class_archive`` has made a class archive for this Spark and this jar, the
    JVM starts from it.

    Args:
        builder: ``SparkSession.builder``, with or without other settings; not for a remote server.
        jar: the tilespark jar; by default the one in this package.

    Returns:
        The builder.

    Raises:
        SetupError: if there is no jar; or Spark's JVM runs already, or will start, without it; or the builder names a
            remote server, which must be configured when it is started.
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
        # The JVM loads classes from its start-up class path, so a jar that is added later has no effect.
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
        # Spark takes the workers' Python from this variable, not from a setting; its default is the PATH's python3.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return builder


def _has_jar(settings: dict[str, str], path: str) -> bool:
    """Whether a tilespark jar of any version is on the class path."""
    named = re.split(r"[,:;]", ",".join(settings.get(key, "") for key in ("spark.jars", "spark.driver.extraClassPath")))
    return any(Path(entry).name == Path(path).name or re.match(r"tilespark[^/]*\.jar$", Path(entry).name) for entry in named)


def _settings_of_running_jvm() -> dict[str, str] | None:
    """The settings of the JVM that runs already, by spark-submit or from an earlier session; None if there is none."""
    from pyspark import SparkConf, SparkContext

    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _submit_arguments() -> dict[str, str]:
    """The settings in PYSPARK_SUBMIT_ARGS, with which the JVM will start."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--jars", dest="spark.jars")
    parser.add_argument("--driver-class-path", dest="spark.driver.extraClassPath")
    parser.add_argument("--conf", "-c", action="append", default=[])
    found = vars(parser.parse_known_args(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")))[0])
    pairs = [pair.partition("=") for pair in found.pop("conf")]
    return {key: value for key, _, value in pairs} | {key: value for key, value in found.items() if value is not None}


def _spark_defaults() -> dict[str, str]:
    """The settings in spark-defaults.conf, which a builder's settings override."""
    directory = os.environ.get("SPARK_CONF_DIR")
    if not directory:
        directory = str(spark_home() / "conf")
    path = Path(directory) / "spark-defaults.conf"
    if not path.is_file():
        return {}
    settings: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        found = re.match(r"\s*([^#!\s:=][^\s:=]*)\s*[\s:=]\s*(.*?)\s*$", line)
        if found:
            settings[found.group(1)] = found.group(2)
    return settings


def spark_home() -> Path:
    """The directory of the Spark installation that PySpark starts."""
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def class_archive(home: Path, jar: str) -> Path:
    """The path of the class archive for a Spark installation and a jar; dev/class-archive makes the same one."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(f"{home.resolve()}\n{Path(jar).resolve()}\n".encode()).hexdigest()[:16]
    return cache / "tilespark" / "class-archives" / f"{key}.jsa"


def class_path(home: Path, jar: str) -> str:
    """The class path with which an archive is made, and with which that of a JVM that uses it must begin."""
    return f"{home.resolve()}/jars/*:{Path(jar).resolve()}"


def _use_class_archive(builder: Any, jar: str, settings: dict[str, Any]) -> None:
    """Makes the JVM start from a class archive, if there is one. The class path must begin as it did when the archive was made.

    A JVM silently ignores an archive that was made for another Java or other jars.
    """
    home = spark_home()
    archive = class_archive(home, jar)
    path, options = "spark.driver.extraClassPath", "spark.driver.extraJavaOptions"
    if not archive.is_file() or " " in str(archive) or re.search("SharedArchiveFile|ArchiveClassesAtExit", str(settings.get(options, ""))):
        return
    for key, ours, separator in (
        (path, class_path(home, jar), ":"),
        (options, f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off", " "),
    ):
        builder.config(key, separator.join(filter(None, (ours, str(settings.get(key, ""))))))


def _directories_of(packages: tuple[str, ...], library: str) -> list[str]:
    """The directories of installed Python packages that contain a library whose file name matches a regular expression."""
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
    """The given session, else the active one.

    Raises:
        SetupError: if there is no active session.
    """
    if spark is None:
        from pyspark.sql import SparkSession

        try:
            spark = SparkSession.active()  # the thread's, else the process' session
        except Exception:
            raise SetupError(
                "There is no active Spark session;"
                " make one with tilespark.configure(SparkSession.builder).getOrCreate(), or pass spark=..."
            ) from None
    check(spark)
    return spark


def check(spark: SparkSession) -> None:
    """Warns once if a session's settings name tilespark's extension but not its plugin. Runs no query: if the jar or the
    extension is missing, the first tilespark function that is planned raises an error (:func:`errors.from_spark`).
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
    """True if both objects stand for the same Spark session."""
    if one is two:
        return True
    ids = [getattr(spark, "_jsparkSession", None) or getattr(spark, "session_id", None) for spark in (one, two)]
    return ids[0] is not None and bool(ids[0] == ids[1])


def setting(spark: SparkSession, key: str) -> str:
    """A setting of the session, or "" if it is not set."""
    try:
        return str(spark.conf.get(key, "") or "")
    except Exception:  # a server may not reveal it
        return ""


def is_local(spark: SparkSession) -> bool:
    """True if driver and executors are one process."""
    return re.match(r"local(\[|$)", setting(spark, "spark.master")) is not None

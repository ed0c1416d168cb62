"""The versions of tilespark and its dependencies, for bug reports."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib import metadata
from os import environ
from pathlib import Path

from ._session import jar_path, setting
from .errors import SetupError

_PACKAGES = ("tilespark", "pyspark", "numpy", "pyarrow", "pandas", "xarray", "zarr", "nvidia-cublas", "nvidia-cufft")


def show_versions() -> None:
    """Prints the versions of tilespark, Python, Java, Spark and related packages, and the state of the active session. Starts
    no session and runs no query.
    """
    lines = [
        ("python", platform.python_version()),
        ("executable", sys.executable),
        ("machine", f"{platform.system()} {platform.release()} {platform.machine()}"),
        *((name, _installed(name)) for name in _PACKAGES),
        ("tilespark jar", _jar()),
        ("java", _java()),
        *_session(),
    ]
    width = max(len(name) for name, _ in lines)
    print("\n".join(f"{name:<{width}}  {text}" for name, text in lines))


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _jar() -> str:
    try:
        return str(jar_path())
    except SetupError as error:
        return f"none ({error})"


def _java() -> str:
    """The Java version that a new session of this process would start, or the reason why there is none."""
    home = environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else "java"
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return f"none ({program}: {error})"
    lines = [line for line in told.splitlines() if " version " in line]
    return f"{lines[0] if lines else told.strip()} ({program})"


def _session() -> list[tuple[str, str]]:
    from pyspark.sql import SparkSession

    try:
        spark = SparkSession.active()
    except Exception:
        return [("session", "none is active")]
    keys = ("spark.master", "spark.sql.extensions", "spark.plugins", "spark.tilespark.backend")
    client = "classic" if hasattr(spark, "_jsparkSession") else "Spark Connect"
    return [("session", f"Spark {spark.version}, {client}"), *((key, setting(spark, key) or "not set") for key in keys)]

"""Makes the archive of classes from which :func:`tilespark.configure` starts Spark's JVM: ``python -m tilespark.class_archive``.

It runs a query of each kind in a JVM that archives its classes when it ends, and prints the archive's path. An archive
serves this Spark, this jar and this Java: make it anew after an upgrade.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from ._array import from_numpy
from ._session import class_archive, class_path, configure, jar_path, spark_home
from .errors import SetupError


def make() -> Path:
    """Makes the archive for the Spark and the jar that sessions of this Python start with; takes about a minute.

    Raises:
        SetupError: if there is no jar, this Python has a session already, or the JVM makes no archive.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._gateway is not None:
        raise SetupError("Spark's JVM runs already; make the archive in a Python without a session")
    home, jar = spark_home(), str(jar_path())
    archive = class_archive(home, jar)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making.", dir=archive.parent) as scratch:
        made = Path(scratch) / "classes.jsa"
        # Settings of the machine's Spark may name what is not for this job, such as a cluster.
        os.environ |= {"SPARK_CONF_DIR": scratch, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": "pyspark-shell"}
        settings = {
            "spark.master": "local[2]",
            "spark.ui.port": "0",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.warehouse.dir": f"file://{scratch}/warehouse",
            "spark.driver.extraClassPath": class_path(home, jar),
            "spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={made} -Xlog:cds*=off",
        }
        builder = SparkSession.builder
        for key, value in settings.items():
            builder = builder.config(key, value)
        configure(builder).getOrCreate()
        _run(scratch)
        gateway = SparkContext._gateway
        assert gateway is not None
        gateway.shutdown()
        gateway.proc.stdin.close()  # which ends the JVM
        gateway.proc.wait()
        if not made.is_file():
            raise SetupError("The JVM made no archive of its classes; a JDK of 17 or newer can")
        made.replace(archive)
    return archive


def _run(scratch: str) -> None:
    """Runs queries of this package, and those of the job that dev/class-archive runs, which ends the session."""
    from pyspark.sql import SparkSession

    x = from_numpy(np.ones((1000, 1000))).persist()
    ((x + x) @ x[::2].T).compute()
    x.sum(0).compute()
    spark = SparkSession.active()
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    assert jvm is not None
    assert gateway is not None
    arguments = gateway.new_array(jvm.String, 1)
    arguments[0] = scratch
    jvm.org.tilespark.spark.ArchiveClasses.main(arguments)


if __name__ == "__main__":
    print(make())

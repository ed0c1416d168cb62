"""What a Python job waits for, from its start to its first results: elapsed seconds and CPU seconds of the JVM for each step.

usage: python dev/bench_start.py [EXTENT] [KEY=VALUE]...    a product of EXTENT^2 doubles (default: 500), settings of Spark

Runs with the tilespark that this Python finds, and the archive of classes that dev/class-archive has made, if there is one.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

STARTED = time.time()


def jvm_seconds() -> float:
    """CPU time of the JVMs that are children of this process."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (process / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:  # it has ended
            continue
        fields = rest.split()
        if name == "java" and int(fields[1]) == os.getpid():
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def main() -> None:
    last = [STARTED, 0.0]

    def told(step: str) -> None:
        now = [time.time(), jvm_seconds()]
        print(f"{step:40} {now[0] - last[0]:6.2f} s {now[1] - last[1]:6.2f} CPU s", flush=True)
        last[:] = now

    import numpy as np
    import tilespark as ts
    from pyspark.sql import SparkSession

    extent = int(next((word for word in sys.argv[1:] if word.isdigit()), "500"))
    told("imports of Python")
    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    for word in sys.argv[1:]:
        if "=" in word:
            builder = builder.config(*word.split("=", 1))
    spark = ts.configure(builder).getOrCreate()
    told("JVM, SparkContext, plugin")
    with tempfile.TemporaryDirectory() as directory:
        for name in ("a", "b"):
            np.save(f"{directory}/{name}.npy", np.random.default_rng(1).random((extent, extent)))
        last[0] = time.time()
        for run in ("first", "second", "third", "fourth"):
            c = ts.read_npy(f"{directory}/a.npy") @ ts.read_npy(f"{directory}/b.npy")
            told(f"{run} product: planned")
            c.to_npy(f"{directory}/c.npy", overwrite=True)
            told(f"{run} product: computed and written")
    spark.stop()
    print(f"{'all, with the end of Spark':40} {time.time() - STARTED:6.2f} s")


main()

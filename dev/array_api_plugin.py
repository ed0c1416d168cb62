"""Plugin of pytest for dev/array-api: the session, the inputs and the record of one run of data-apis/array-api-tests.

- One session on two cores serves the whole run.
- The suite makes its random inputs element by element with the functions under test. Here numpy makes them and one
  ``asarray`` sends them, with their values remembered, so that a check that reads an input starts no job.
- ARRAY_API_RECORD names the file of JSON lines with the outcome of each test and its error; tests that it has do not run.
"""

import json
import os
import re

import hypothesis.extra.array_api
import numpy as np
import pytest
import tilespark
from hypothesis import HealthCheck, Phase, settings
from pyspark.sql import SparkSession

RECORD = os.environ["ARRAY_API_RECORD"]
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    # Thousands of small jobs: compiling them well takes longer than running them.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}

_session = tilespark.configure(SparkSession.builder.master("local[2]").config(map=SETTINGS)).getOrCreate()
_session.sparkContext.setLogLevel("OFF")

_strategy = hypothesis.extra.array_api.ArrayStrategy
_drawn = _strategy.do_draw


def _draw(self, data):
    own, self.xp = self.xp, np
    try:
        values = _drawn(self, data)
    finally:
        self.xp = own
    array = own.asarray(np.asarray(values))
    array._remembered = np.asarray(values)
    return array


_strategy.do_draw = _draw


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    # The suite's profile, without a deadline, the search for the smallest failing input, and a database of inputs.
    settings.register_profile(
        "tilespark",
        settings.get_profile("array-api-tests"),
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("tilespark")


def pytest_collection_modifyitems(config, items):
    if os.path.exists(RECORD):
        with open(RECORD, encoding="utf-8") as file:
            done = {json.loads(line)["test"] for line in file}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in done])
        items[:] = [item for item in items if item.nodeid not in done]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" or report.outcome != "passed":
        error = "" if call.excinfo is None else f"{call.excinfo.typename}: {call.excinfo.value}"
        record = {
            "test": item.nodeid,
            "outcome": report.outcome,
            "seconds": round(report.duration, 1),
            "error": re.sub(r"\s+", " ", error)[:500],
        }
        with open(RECORD, "a", encoding="utf-8") as file:
            print(json.dumps(record), file=file)

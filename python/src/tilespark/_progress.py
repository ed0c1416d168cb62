"""A progress line for computations in notebooks. In a terminal and over Spark Connect, Spark shows its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FIRST_SECONDS = 0.5  # shorter computations show nothing
_SECONDS = 0.25


@contextmanager
def shown(spark: SparkSession) -> Iterator[None]:
    """While the body runs, shows the progress of the session's stages if this process runs a notebook."""
    display = _notebook()
    if display is None or not hasattr(spark, "_jsparkSession") or not _is_wanted(spark):
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark.sparkContext.statusTracker(), display, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _is_wanted(spark: SparkSession) -> bool:
    """Whether Spark's own setting enables progress lines."""
    return spark.sparkContext.getConf().get("spark.ui.showConsoleProgress", "true") != "false"


def _notebook() -> Callable[..., Any] | None:
    """IPython's ``display`` if this process runs a notebook, else None."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython
    from IPython.display import display

    return display if hasattr(get_ipython(), "kernel") else None


def _watch(tracker: Any, display: Callable[..., Any], ended: threading.Event) -> None:
    handle = None
    wait = _FIRST_SECONDS
    while not ended.wait(wait):
        wait = _SECONDS
        line = line_of([tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()])
        if line and handle is None:
            handle = display({"text/plain": line}, raw=True, display_id=True)
        elif handle is not None:
            handle.update({"text/plain": line}, raw=True)
    if handle is not None:
        handle.update({"text/plain": ""}, raw=True)


def line_of(stages: list[Any]) -> str:
    """The progress of running stages: ``"[=====>    ] 12 of 24 tasks (2 stages, 4 tasks run)"``; empty if none runs."""
    stages = [stage for stage in stages if stage is not None]
    tasks = sum(stage.numTasks for stage in stages)
    if not tasks:
        return ""
    done = sum(stage.numCompletedTasks for stage in stages)
    filled = 30 * done // tasks
    bar = "=" * filled + ">" * (filled < 30) + " " * (29 - filled)
    count = f"{len(stages)} stage" + "s" * (len(stages) > 1)
    return f"[{bar}] {done} of {tasks} tasks ({count}, {sum(stage.numActiveTasks for stage in stages)} tasks run)"

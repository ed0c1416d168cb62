"""The line that notebooks show while Spark computes, and the versions for a report."""

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tilespark as ts
from pyspark.sql import SparkSession
from tilespark import _progress


def stage(done: int, active: int, tasks: int) -> SimpleNamespace:
    return SimpleNamespace(numCompletedTasks=done, numActiveTasks=active, numTasks=tasks)


def test_the_line() -> None:
    assert _progress.line_of([]) == ""
    assert _progress.line_of([None, stage(0, 0, 0)]) == ""
    assert _progress.line_of([stage(3, 2, 12)]) == f"[{'=' * 7}>{' ' * 22}] 3 of 12 tasks (1 stage, 2 tasks run)"
    assert _progress.line_of([stage(4, 0, 4), None, stage(1, 1, 1)]) == f"[{'=' * 30}] 5 of 5 tasks (2 stages, 1 tasks run)"


def test_a_notebook_sees_stages_and_an_empty_line_at_the_end(
    spark: SparkSession, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if client != "classic":
        pytest.skip("Spark Connect shows progress of its own")
    lines: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            lines.append(data["text/plain"])

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        lines.append(data["text/plain"])
        return Handle()

    monkeypatch.setattr(_progress, "_notebook", lambda: display)
    monkeypatch.setattr(_progress, "_is_wanted", lambda session: True)

    def slow(block: Any) -> Any:
        time.sleep(1.5)
        return block

    a = np.arange(12.0).reshape(3, 4)
    x = ts.from_numpy(a, (3, 2), spark=spark).map_blocks(slow, dtype=float)
    np.testing.assert_array_equal(x.compute(), a)
    assert lines[-1] == ""
    assert any("tasks run" in line for line in lines), lines
    monkeypatch.setattr(_progress, "_is_wanted", lambda session: False)
    lines.clear()
    np.testing.assert_array_equal(x.compute(), a)
    assert lines == []


def test_versions(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    ts.show_versions()
    told = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if not line.startswith("tilespark jar"))
    assert told["numpy"] == np.__version__
    assert spark.version in told["session"]
    assert "version" in told["java"]

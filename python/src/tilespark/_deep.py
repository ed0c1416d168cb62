"""Plans of any depth over Spark Connect.

A Connect client sends the whole plan of a DataFrame with each call, and the server sends it back. protobuf in Python reads
at most 100 levels of nested messages, which 15 of our operators would exceed. So a deep plan becomes a temporary view of
the session, and later plans read the view. The view is dropped when no object in this Python refers to it.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Depth at which a plan becomes a view; each level makes 2 to 4 nested messages, its expressions some more.
_MOST_LEVELS = 12


@dataclass(frozen=True)
class _Result:
    """Depth and inputs of a table function's result. Its plan in the client shows neither, since the server sent it."""

    levels: int
    inputs: tuple[Any, ...]  # keeps the inputs' views


_results: weakref.WeakKeyDictionary[Any, _Result] = weakref.WeakKeyDictionary()
_unused: weakref.WeakKeyDictionary[Any, list[str]] = weakref.WeakKeyDictionary()


def is_connect(spark: SparkSession) -> bool:
    """True for a session of a Spark Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def flat(df: DataFrame) -> DataFrame:
    """The DataFrame or, if its plan is deep, a DataFrame that reads a view of it."""
    spark = df.sparkSession
    if not is_connect(spark) or _levels(df._plan) < _MOST_LEVELS:
        return df
    unused = _unused.setdefault(spark, [])
    while unused:
        spark.catalog.dropTempView(unused.pop())
    name = f"tilespark_{uuid.uuid4().hex}"
    df.createOrReplaceTempView(name)
    view = spark.table(name)
    # The garbage collector calls this at any point, so it does not call the server.
    weakref.finalize(view._plan, unused.append, name).atexit = False
    return view


def made_of(result: DataFrame, inputs: Iterable[DataFrame]) -> None:
    """Records the inputs of a statement's result, which must live as long as the result."""
    if is_connect(result.sparkSession):
        frames = tuple(inputs)
        levels = 2 + max(_levels(df._plan) for df in frames)
        _results[result._plan] = _Result(levels, frames)


def views_of(df: DataFrame) -> tuple[object, ...]:
    """Objects that must live as long as the DataFrame may be read by other means than its plan in this Python."""
    return (df,) if is_connect(df.sparkSession) and _levels(df._plan) > 1 else ()


def _levels(plan: Any) -> int:
    known = _results.get(plan)
    if known is not None:
        return known.levels
    below = [each for each in vars(plan).values() if type(each).__module__ == type(plan).__module__ and hasattr(each, "plan")]
    return 1 + max(map(_levels, below), default=0)

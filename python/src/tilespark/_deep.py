"""Plans of any depth over Spark Connect.

A client of Connect sends the whole plan of a DataFrame with each call, and the server sends it back; protobuf in Python reads
messages that are nested 100 deep at most, which 15 of our operators would exceed. So a deep plan becomes a temporary view of
the session, and what follows begins at the view. A view is dropped when nothing in this Python refers to it any more.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Plans in plans; each makes 2 to 4 nested messages, and expressions in them make some more.
_MOST_LEVELS = 12


@dataclass(frozen=True)
class _Result:
    """What the client's plan of a table function's result does not tell: it is the message that the server sent back."""

    levels: int
    inputs: tuple[Any, ...]  # keeps their views


_results: weakref.WeakKeyDictionary[Any, _Result] = weakref.WeakKeyDictionary()
_unused: weakref.WeakKeyDictionary[Any, list[str]] = weakref.WeakKeyDictionary()


def is_connect(spark: SparkSession) -> bool:
    """True if the session is one of a Spark Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def flat(df: DataFrame) -> DataFrame:
    """The DataFrame, or one that reads a view of it if its plan is deep."""
    spark = df.sparkSession
    if not is_connect(spark) or _levels(df._plan) < _MOST_LEVELS:
        return df
    unused = _unused.setdefault(spark, [])
    while unused:
        spark.catalog.dropTempView(unused.pop())
    name = f"tilespark_{uuid.uuid4().hex}"
    df.createOrReplaceTempView(name)
    view = spark.table(name)
    # Called wherever the garbage is collected, so it asks the server for nothing.
    weakref.finalize(view._plan, unused.append, name).atexit = False
    return view


def made_of(result: DataFrame, inputs: Iterable[DataFrame]) -> None:
    """Notes of what inputs a statement made a DataFrame, which must be readable as long as that is."""
    if is_connect(result.sparkSession):
        frames = tuple(inputs)
        levels = 2 + max(_levels(df._plan) for df in frames)
        _results[result._plan] = _Result(levels, frames)


def views_of(df: DataFrame) -> tuple[object, ...]:
    """What must live as long as someone may read the DataFrame by another way than its plan in this Python."""
    return (df,) if is_connect(df.sparkSession) and _levels(df._plan) > 1 else ()


def _levels(plan: Any) -> int:
    known = _results.get(plan)
    if known is not None:
        return known.levels
    below = [each for each in vars(plan).values() if type(each).__module__ == type(plan).__module__ and hasattr(each, "plan")]
    return 1 + max(map(_levels, below), default=0)

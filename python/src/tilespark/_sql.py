"""Calls of tilespark's SQL table functions, the only interface to the JVM that this package uses.

A classic session's JVM is asked for the function by its name; a Spark Connect server gets a query that calls it.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._deep import flat, is_connect, made_of
from ._session import same_session
from .errors import InvalidInputError, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Argument = str | int | float | bool | None

_callers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def call(function: str, tables: Mapping[str, DataFrame], /, **arguments: Argument) -> DataFrame:
    """The result of a table function, as a plan that has not run.

    Args:
        function: name, such as ``matrix_multiply``.
        tables: the input DataFrames under arbitrary names, in the order of the function's parameters, all of one session.
        arguments: constants by parameter; None leaves a parameter out.
    """
    spark = next(iter(tables.values())).sparkSession
    if not all(same_session(spark, df.sparkSession) for df in tables.values()):
        raise InvalidInputError(
            f"{function} of arrays of several Spark sessions; expected those of one: pass spark=... where they are made"
        )
    given = {name: constant(name, value) for name, value in arguments.items() if value is not None}
    caller = _caller(spark)
    if caller is not None:
        from pyspark.sql import DataFrame

        with translated():
            return DataFrame(caller.call(function, [df._jdf for df in tables.values()], given), spark)
    terms = [f"TABLE({{{name}}})" for name in tables]
    terms += [f"{name} => {literal(value)}" for name, value in given.items()]
    with translated():
        # Spark makes a temporary view of each input and later drops it, which uncaches the view's plan. where("true")
        # makes that plan differ from one that the user has cached.
        frames: dict[str, Any] = {name: flat(df.where("true")) for name, df in tables.items()}
        result = spark.sql(f"SELECT * FROM {function}({', '.join(terms)})", **frames)
        made_of(result, frames.values())
        return result


def kept(df: DataFrame) -> DataFrame:
    """A DataFrame that Spark's cache keeps, without the plan that made it; over Spark Connect with it."""
    caller = _caller(df.sparkSession)
    if caller is None:
        return df
    from pyspark.sql import DataFrame

    return DataFrame(caller.kept(df._jdf), df.sparkSession)


def _caller(spark: SparkSession) -> Any:
    """The class of the JVM that calls functions by name; None for a Connect session, or if the JVM lacks the class."""
    if is_connect(spark):
        return None
    if spark not in _callers:
        from py4j.java_gateway import JavaClass

        jvm = spark._jvm
        assert jvm is not None
        with translated():
            found = jvm.org.tilespark.spark.PythonCalls
        _callers[spark] = found if isinstance(found, JavaClass) else None  # without the jar a query says what lacks
    return _callers[spark]


def constant(name: str, value: Any) -> str | int | float | bool:
    """A constant as a value of Python's own types.

    Raises:
        InvalidInputError: if ``value`` is no text, number or boolean; the message calls it ``name``.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | str):
        raise InvalidInputError(f"{name} is {value!r}; expected a text, a number, True or False")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return float(value)
    return value


def literal(value: str | int | float | bool) -> str:
    """A constant in SQL, with braces doubled, since PySpark formats the statement."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"double('{value!r}')"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("{", "{{").replace("}", "}}") + "'"


def quoted(name: str) -> str:
    """A column name quoted for SQL."""
    return "`" + name.replace("`", "``") + "`"


def numbers(values: tuple[int, ...] | tuple[float, ...]) -> str:
    """Numbers in the format of tilespark's options: ``"2048,784"``."""
    return ",".join(str(value) for value in values)

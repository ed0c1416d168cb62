"""Exceptions of tilespark.

Every error is a :class:`TileSparkError` whose text is only the reason. Errors from the JVM keep their stack trace in
:attr:`TileSparkError.jvm_trace`; Python prints the reason as the last line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

PLUGIN = "org.tilespark.spark.TileSparkPlugin"
EXTENSIONS = "org.tilespark.spark.TileSparkExtensions"
SETUP_HELP = (
    "tilespark.configure(SparkSession.builder) sets all three of spark.jars, spark.sql.extensions and spark.plugins;"
    " it must be called before the first session of a Python process is made: restart Python."
    " Under spark-submit and over Spark Connect they are settings of the command that starts Spark or its server."
)

# The form of a JVM error in the text of a Spark exception, for all clients; docs/troubleshooting.md has this pattern too.
_CONDITION = re.compile(
    r"\[(TILESPARK_[A-Z_]+)\] (?!\S+Exception: \[)(.*?)"
    r"(?: SQLSTATE: ([0-9A-Z]{5})|\.\.\.(?=\s*\Z|\s*\n\nJVM stacktrace:))",
    re.DOTALL,
)
# The text that _worker.py raises if a function of map_blocks or map_overlap fails; other errors in Python workers come
# from users' functions.
_MAP_BLOCKS = re.compile(r"^RuntimeError: (map_(?:blocks|overlap): block at .*(?:\n  .*)*)", re.MULTILINE)
_NO_MODULE = re.compile(r"^ModuleNotFoundError: No module named '(numpy|pyarrow)\b", re.MULTILINE)
# Users do not call pack: arrays call it before Python receives their blocks.
_PACK = re.compile(r"\(in (?:matrix|volume)_pack\)")
_STOPPED = re.compile(
    r"stopped SparkContext|SparkContext was shut down|No active or default Spark session found"
    r"|\[NO_ACTIVE_SESSION\]|\[SESSION_OR_CONTEXT_NOT_EXISTS\]|\[INVALID_HANDLE\.SESSION_CLOSED\]"
)
_NO_FUNCTION = re.compile(
    r"\[UNRESOLVABLE_TABLE_VALUED_FUNCTION\].*?`((?:matrix|volume)_[a-z_]+)`"
    r"|\[DATA_SOURCE_NOT_FOUND\].*?data source: (npy)\b",
    re.DOTALL,
)


class TileSparkError(Exception):
    """A tilespark operation failed.

    Attributes:
        condition: Spark's error condition, such as ``TILESPARK_INVALID_BLOCK``; None for errors found in Python.
        sql_state: the condition's SQLSTATE, or None.
        jvm_trace: Spark's message with the JVM's stack trace, or None.
    """

    def __init__(
        self,
        reason: str,
        *,
        condition: str | None = None,
        sql_state: str | None = None,
        jvm_trace: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.condition = condition
        self.sql_state = sql_state
        self.jvm_trace = jvm_trace


class InvalidInputError(TileSparkError, ValueError):
    """An argument, an array, a block or a file is invalid for the operation."""


class UnsupportedError(TileSparkError, NotImplementedError):
    """tilespark does not support this, or Spark cannot do it; the text names the nearest alternative."""


class SetupError(TileSparkError, RuntimeError):
    """The Spark session lacks tilespark's jar, extension or plugin."""


def _class_of(condition: str) -> type[TileSparkError]:
    if "INVALID" in condition:
        return InvalidInputError
    if "UNSUPPORTED" in condition:
        return UnsupportedError
    if condition == "TILESPARK_NO_EXTENSION":
        return SetupError
    return TileSparkError


def _texts(error: BaseException) -> Iterator[str]:
    """The messages of an exception and its causes, the outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        trace = getattr(current, "_stackTrace", None) or getattr(current, "_stacktrace", None)  # classic, Connect
        yield f"{current}\n\n{trace}" if trace else str(current)
        current = getattr(current, "_cause", None) or current.__cause__


def from_spark(error: BaseException, method: str = "compute") -> TileSparkError | None:
    """The tilespark error for an exception of Spark; None if tilespark did not cause it.

    Args:
        method: see :func:`translated`.
    """
    texts = list(_texts(error))
    trace = "\n\n".join(texts)
    for text in texts:
        found = _CONDITION.search(text)
        if found:
            condition, reason, state = found.groups()
            if condition == "TILESPARK_NO_EXTENSION":
                reason = f"This Spark session lacks the extension (spark.sql.extensions={EXTENSIONS}). {SETUP_HELP}"
            reason = _PACK.sub(f"(in {method})", reason.strip())
            return _class_of(condition)(reason, condition=condition, sql_state=state, jvm_trace=trace)
    for text in texts if type(error).__name__ == "PythonException" else ():
        if found := _MAP_BLOCKS.search(text):
            return TileSparkError(found[1].rstrip(), jvm_trace=trace)
        if found := _NO_MODULE.search(text):
            return SetupError(
                f"Spark's Python workers have no {found[1]}. They run the python3 of their machine, or what the environment variable"
                " PYSPARK_PYTHON names where the driver, or the server of Spark Connect, starts: install numpy and pyarrow there."
                " In local mode tilespark.configure(SparkSession.builder) names this Python before the first session is made",
                jvm_trace=trace,
            )
    if any(map(_STOPPED.search, texts)) or _has_no_context(error):
        return SetupError(
            "The Spark session was stopped, and its arrays with it. Make a session, with"
            " tilespark.configure(SparkSession.builder).getOrCreate(), and the arrays in it anew",
            jvm_trace=trace,
        )
    missing = _NO_FUNCTION.search(texts[0])
    if missing:
        function, source = missing.groups()
        lacking = (
            f"the extension (spark.sql.extensions={EXTENSIONS}), or the jar that has it (spark.jars)"
            if function
            else "the jar on its class path (spark.jars)"
        )
        return SetupError(
            f"This Spark session does not know {function or source}. It lacks {lacking}. {SETUP_HELP}",
            jvm_trace=trace,
        )
    return None


def _has_no_context(error: BaseException) -> bool:
    """Whether an error of a classic session occurred after its SparkContext was stopped."""
    if not type(error).__module__.startswith(("py4j", "pyspark.errors.exceptions.captured")):
        return False
    from pyspark import SparkContext

    return SparkContext._active_spark_context is None


@contextmanager
def translated(method: str = "compute") -> Iterator[None]:
    """Within this context, exceptions of Spark that tilespark caused become tilespark's.

    Args:
        method: the method that the user called; messages name it instead of the internal ``pack``.
    """
    try:
        yield
    except TileSparkError:
        raise
    except Exception as error:
        cause = error.__context__  # of an error of pickle, where a function of the user has an array
        ours = cause if isinstance(cause, TileSparkError) else from_spark(error, method) if _is_spark(error) else None
        if ours is None:
            raise
        raise ours from None


def _is_spark(error: BaseException) -> bool:
    return type(error).__module__.split(".")[0] in ("pyspark", "py4j", "grpc")

"""A plan in few lines: what :meth:`BlockArray.explain` prints by default, made of the text of Spark's own EXPLAIN."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Most operators with lines of their own; others are counted in one line.
MOST_LINES = 6
#: Most characters of the description of an operator.
MOST_CHARACTERS = 80

_NODE = re.compile(r"([\s:+|]*(?:- )?)(?:\* ?(?:\(\d+\) )?)?(.*)")
_BACKEND_AT_END = re.compile(r" \[backend=(.*)\]$")
_BACKEND_IN_FUNCTION = re.compile(r"(\w+)\(((?:[^()]|\([^()]*\))*?), backend=(.*?)(?:, \w+#\d|\)*$)")
_PREDICTED = re.compile(r"shuffle predicted (at least )?(\d+) bytes( per array)?")
_STRATEGY = re.compile(
    r" (?P<name>(?:cuboid\([\d,]+\)|broadcast\(\w+\))(?: with [AB and]+ in place)?)"
    r" (?P<seconds>\S+ s) \((?P<moved>.*), \S+ flops, (?P<tasks>\d+) tasks\)$"
)
_FILE = re.compile(r"BatchScan (npy|zarr)\b.*?\] \1 (\S+) (.*?), PushedFilters")
_PRODUCTS = ("MultiplyPanels", "MultiplyBroadcast")
_BY_ITSELF = ("SumBlocks", "MergeNeighbours", "NearestRows", "GatherVectors", "SpreadBlocks", "NEAREST BY is left to Spark")
_IN_MEMORY = ("InMemoryTableScan", "Scan In-memory table")


@dataclass
class _Operator:
    """An operator of tilespark in a plan.

    Attributes:
        name: the node's name, as in Spark's UI.
        what: what it computes.
        backend: ``cpu (OpenBLAS Haswell)``, ``gpu``; "" if nothing states it.
        reason: why this backend; "" if nothing states it.
        strategy: how tasks share the work; "" if there is one way.
        moved: what comes to it, and how much.
        depth: number of operators above it.
        is_function: whether it is an SQL function in one of Spark's nodes.
    """

    name: str
    what: str
    backend: str = ""
    reason: str = ""
    strategy: str = ""
    moved: list[str] = field(default_factory=list)
    depth: int = 0
    is_function: bool = False


def text_of(df: DataFrame, mode: str = "simple") -> str:
    """The text that ``df.explain(mode)`` prints, of a classic DataFrame or one of Spark Connect."""
    frame: Any = df
    jdf = getattr(frame, "_jdf", None)  # Spark Connect has none
    if jdf is None:
        return str(frame._explain_string(mode=mode))
    return str(frame._sc._jvm.PythonSQLUtils.explainString(jdf.queryExecution(), mode))


def summary(title: str, plan: str) -> str:
    """About ten lines about a plan: tilespark's operators from the result down, each with its backend and what moves.

    Args:
        title: the first line.
        plan: the text of EXPLAIN in the mode ``simple``.
    """
    operators, inputs = _read(plan)
    lines = [title]
    reasons = list(dict.fromkeys(each.reason for each in operators if each.reason))
    shown = operators if len(operators) <= MOST_LINES + 1 else operators[:MOST_LINES]
    for operator in shown:
        mark = f" [{reasons.index(operator.reason) + 1}]" if operator.reason and len(reasons) > 1 else ""
        parts = [_shortened(f"{operator.name} {operator.what}"), operator.backend + mark, operator.strategy, *operator.moved]
        lines.append("  " * (1 + min(operator.depth, 4)) + " | ".join(filter(None, parts)))
    rest = operators[len(shown) :]
    if rest:
        names = ", ".join(f"{count} {name}" for name, count in Counter(each.name for each in rest).items())
        lines.append(f"  and {len(rest)} more below: {names}")
    if not operators:
        lines.append("  no operator of tilespark: the blocks are read as they are")
    if inputs:
        kinds = [f"{name} ({count} times)" if count > 1 else name for name, count in Counter(inputs).items()]
        lines.append(f"reads {'; '.join(kinds[:3])}{f' and {len(kinds) - 3} more' if len(kinds) > 3 else ''}")
    for at, reason in enumerate(reasons[:3], 1):
        lines.append(f"[{at}] {reason}" if len(reasons) > 1 else f"why this backend: {reason}")
    lines.append('the whole plan: explain("formatted")')
    return "\n".join(lines)


def _read(plan: str) -> tuple[list[_Operator], list[str]]:
    """The operators of tilespark in a plan, from the result down, and the inputs that it reads."""
    operators: list[_Operator] = []
    inputs: list[str] = []
    above: list[tuple[int, _Operator]] = []  # columns of the text and operators, from the result to the present node
    within: int | None = None  # column of a table in memory
    for column, node in _nodes(plan):
        while above and above[-1][0] >= column:
            above.pop()
        if within is not None and column <= within:
            within = None
        if node.startswith(_IN_MEMORY):
            if within is None:
                within = column
                inputs.append(_kept(node))
            continue
        operator = _operator(node)
        if within is not None:  # computed once; of the factors of a matrix, which tilespark keeps there, the backend is shown
            if operator is None or not operator.is_function or "(kept by persist)" in inputs[-1]:
                continue
            operator.moved = ["kept in memory"]
            if any((operator.name, operator.what) == (each.name, each.what) for each in operators):
                continue
        if operator is not None:
            operator.depth = len(above)
            _take_partial(operator, above[-1][1] if above else None)
            operators.append(operator)
            above.append((column, operator))
            continue
        found = _input(node)
        if found:
            inputs.append(found)
        moved = _moved(node)
        if moved and above and not above[-1][1].moved:
            above[-1][1].moved.append(moved)
    return operators, inputs


def _nodes(plan: str) -> Iterator[tuple[int, str]]:
    """Each node's column in the text and its own text, without plans that adaptive execution has replaced."""
    replaced: int | None = None
    for line in plan.splitlines():
        found = _NODE.match(line)
        if found is None or not found[2]:
            continue
        column = len(found[1])
        if replaced is not None:
            if column >= replaced:
                continue
            replaced = None
        if found[2].startswith("== Initial Plan"):
            replaced = column
        elif not found[2].startswith("=="):
            yield column, found[2]


def _operator(node: str) -> _Operator | None:
    """The operator in a node's text; None for nodes of Spark, and those that only cut or check blocks."""
    stated = _BACKEND_AT_END.search(node)
    backend, reason = _backend(stated[1]) if stated else ("", "")
    text = node[: stated.start()] if stated else node
    name, _, what = text.partition(" ")
    if name == "BlockStage":
        return _stage(what, backend, reason)
    if name in _PRODUCTS:
        chosen = what.partition("; rejected: ")[0]
        chosen = chosen.partition("; broadcast(")[0]
        found = _STRATEGY.search(chosen)
        if found is None:
            return _Operator(name, what, backend, reason)
        strategy = f"{found['name']} in {found['tasks']} tasks, {found['seconds']} predicted"
        return _Operator(name, chosen[: found.start()], backend, reason, strategy, [found["moved"]])
    if name.startswith("MapIn"):  # the function of map_blocks and map_overlap
        return _Operator("map_blocks", what.partition("(")[0], "Python workers")
    for own in _BY_ITSELF:
        if text.startswith(own):
            return _Operator(own, text[len(own) :].lstrip(": "), backend, reason)
    in_function = _BACKEND_IN_FUNCTION.search(text)
    if in_function:
        return _Operator(in_function[1], in_function[2], *_backend(in_function[3]), is_function=True)
    return None


def _stage(what: str, backend: str, reason: str) -> _Operator | None:
    """The operator of a BlockStage; None if it only cuts blocks for the operator above."""
    predicted = _PREDICTED.search(what)
    moved = [f"shuffle {predicted[1] or ''}{_bytes(int(predicted[2]))}{predicted[3] or ''}"] if predicted else []
    if what.startswith("into pieces ("):
        return None
    if what.startswith("of pieces ("):
        blocks = what[len("of pieces (") :].partition(",")[0]
        return _Operator("BlockStage", f"blocks of {blocks} from pieces of others", "cpu (blocks only move)", moved=moved)
    steps = re.split(r", (?:of|into) pieces \(", what, maxsplit=1)[0]
    return _Operator("BlockStage", steps, backend, reason, moved=moved)


def _backend(text: str) -> tuple[str, str]:
    """The backend and the reason for it, from ``auto -> cpu (256-bit vectors): no NVIDIA driver``."""
    configured, _, expected = text.partition(" -> ")
    backend, _, reason = expected.partition(": ")
    return backend, reason or f"spark.tilespark.backend is {configured}"


def _take_partial(product: _Operator, above: _Operator | None) -> None:
    """Moves the predicted bytes of partial results from the text of a product to the operator above, which receives them."""
    if product.name not in _PRODUCTS or not product.moved or above is None or above.name not in _BY_ITSELF:
        return
    own, plus, partial = product.moved[0].partition(" + ")
    if plus:
        amount, comma, others = partial.partition(",")
        above.moved = [f"shuffle {amount}"]
        product.moved = [own + comma + others]
    if product.moved[0].startswith("shuffle 0 B, "):
        product.moved = [product.moved[0].removeprefix("shuffle 0 B, ")]


def _moved(node: str) -> str:
    """What an exchange moves; "" for other nodes. Amounts stand in the operators above, where they are predicted."""
    if node.startswith("GatherRows into one task"):
        return "gathered in one task, no shuffle"
    if node.startswith("GatherRows"):
        return "gathered, no shuffle"
    if node.startswith("PiecesInPlace"):
        return "read in place, no shuffle"
    if node.startswith("BroadcastExchange"):
        return "broadcast"
    return "shuffle" if node.startswith(("Exchange", "PlannedExchange", "ShuffleQueryStage")) else ""


def _input(node: str) -> str:
    """What a scan reads; "" for other nodes."""
    found = _FILE.search(node)
    if found:
        return f"{found[1]} {found[2].rstrip('/').rpartition('/')[2]} {found[3]}"
    if node.startswith(("Scan OneRowRelation", "Range")):
        return ""
    if node.startswith(("BatchScan", "LocalTableScan", "FileScan", "Scan ", "LocalRelation")):
        return node.partition("[")[0].partition("(")[0].strip()
    return ""


def _kept(node: str) -> str:
    name = node.partition("[")[0].removeprefix("Scan In-memory table").removeprefix("InMemoryTableScan").strip()
    return f"{name} (kept in memory)" if name else "InMemoryTableScan (kept by persist)"


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"

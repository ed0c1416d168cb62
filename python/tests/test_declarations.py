"""What the package calls is declared: each SQL function has the name and the arguments that the recorded API has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tilespark

SOURCES = sorted(Path(tilespark.__file__).parent.glob("*.py"))
API = Path(__file__).parents[2] / "spark-ext/src/test/resources/api.txt"
DECLARED = {name: arguments.split(", ") for name, arguments in re.findall(r"^sql (\w+)\((.*)\)$", API.read_text(), re.MULTILINE)}

OF_BOTH = "_called|_reduced|reduction|spread"  # what names an operator of matrices and of volumes


def calls_of(source: str) -> Iterator[tuple[set[str], set[str]]]:
    """The functions that a call of ``call`` and the like may mean, and the names of the arguments it gives them."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and re.search(rf"\b(call|{OF_BOTH})$", ast.unparse(node.func)) and node.args):
            continue
        first = node.args[0]
        of_both = re.search(rf"\b({OF_BOTH})$", ast.unparse(node.func)) is not None
        if isinstance(first, ast.Call) and ast.unparse(first.func).endswith("function"):
            first, of_both = first.args[0], True
        if isinstance(first, ast.Constant):
            name = str(first.value)
            arguments = {keyword.arg for keyword in node.keywords if keyword.arg}
            for tables in node.args[1:]:
                if isinstance(tables, ast.Dict):
                    arguments |= {str(key.value) for key in tables.keys if isinstance(key, ast.Constant)}
            yield {f"matrix_{name}", f"volume_{name}"} if of_both else {name}, arguments


def undeclared(source: str) -> list[str]:
    found = []
    for names, arguments in calls_of(source):
        known = {argument for name in names for argument in DECLARED.get(name, ())}
        found += ["/".join(sorted(names)) + f": {argument}" for argument in sorted(arguments - known)]
    return found


def test_functions_and_arguments_are_declared():
    assert [each for path in SOURCES for each in undeclared(path.read_text())] == []


# Sums and products of elements are expressions of zip here, and stacks are concatenations.
OTHERWISE = {"matrix_add", "volume_add", "volume_multiply_pointwise", "matrix_stack"}


def test_each_function_is_seen():
    called = {name for path in SOURCES for names, _ in calls_of(path.read_text()) for name in names}
    assert set(DECLARED) - OTHERWISE <= called


def test_what_is_not_declared_is_named():
    assert undeclared("call('matrix_scaled', {'a': df})") == ["matrix_scaled: a"]
    assert undeclared("call(kind.function('scale'), {'a': df}, alfa=2)") == ["matrix_scale/volume_scale: alfa"]
    assert undeclared("array._called('reblock', labels, rows=1, nx=2, width=3)") == ["matrix_reblock/volume_reblock: width"]

"""The package's modules import each other in one direction, also within functions."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import tilespark

SOURCES = {path.stem: path for path in Path(tilespark.__file__).parent.glob("*.py")}


class _Imports(ast.NodeVisitor):
    """Collects the modules of the package that a module imports when it runs."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        branches = node.orelse if "TYPE_CHECKING" in ast.unparse(node.test) else [*node.body, *node.orelse]
        for statement in branches:
            self.visit(statement)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        name = ".".join(filter(None, ("tilespark" if node.level else None, node.module)))
        for alias in node.names:
            self._add(f"{name}.{alias.name}")

    def _add(self, name: str) -> None:
        package, _, rest = name.partition(".")
        if package == "tilespark":
            module = rest.split(".")[0]
            self.found.add(module if module in SOURCES else "__init__")


def imports_of(source: str) -> set[str]:
    visitor = _Imports()
    visitor.visit(ast.parse(source))
    return visitor.found


def test_imports_are_found():
    assert imports_of("def f():\n    from .errors import SetupError\n    from . import _sql") == {"errors", "_sql"}
    assert imports_of("import tilespark.fft, numpy\nfrom tilespark import check") == {"fft", "__init__"}
    assert imports_of("if TYPE_CHECKING:\n    from ._array import BlockArray\nelse:\n    from . import fft") == {"fft"}


def test_modules_have_no_import_cycle():
    graph = {name: imports_of(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}
    assert "_array" in graph["linalg"]
    TopologicalSorter(graph).prepare()  # a CycleError names the modules of a cycle

"""Writes docs/array-api.md from the outcomes of dev/array-api, and from the reasons in dev/array_api_reasons.txt.

usage: array_api_page.py [--write] CLONE    prints or writes the page
       array_api_page.py --tests CLONE      prints the tests to run
The environment variable ARRAY_API_RECORD names the file of outcomes.
"""

import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path

import tilespark

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "array-api.md"
REASONS = ROOT / "dev" / "array_api_reasons.txt"
VERSION = tilespark.__array_api_version__

#: The lists of the page: a title, the modules of the standard's stubs, and the suite's files of tests.
LISTS = (
    ("Creation", "creation_functions", "test_creation_functions.py"),
    ("Elementwise", "elementwise_functions", "test_operators_and_elementwise_functions.py"),
    ("Statistical", "statistical_functions", "test_statistical_functions.py"),
    ("Searching", "searching_functions", "test_searching_functions.py"),
    ("Manipulation", "manipulation_functions", "test_manipulation_functions.py"),
    ("Linear algebra", "linear_algebra_functions", "test_linalg.py"),
    ("Fourier transforms", "fft", "test_fft.py"),
    ("Data types", "data_type_functions", "test_data_type_functions.py"),
    ("Utilities", "utility_functions", "test_utility_functions.py"),
    ("Indexing, sets and sorting", "indexing_functions set_functions sorting_functions", ""),
)
#: Files of which only the functions of the list run.
PARTIAL = {"test_linalg.py"}


def functions(clone: Path, modules: str) -> list[str]:
    """The names of functions in the standard's stubs."""
    found = []
    for module in modules.split():
        text = (clone / "array-api" / "src" / "array_api_stubs" / f"_{VERSION.replace('.', '_')}" / f"{module}.py").read_text("utf-8")
        found += re.findall(r"^def (\w+)\(", text, re.MULTILINE)
    return sorted(set(found))


def offered(name: str, modules: str) -> bool:
    return hasattr(tilespark.fft if modules == "fft" else tilespark, name)


def tests(clone: Path) -> list[str]:
    """The node ids of the tests to run."""
    found = []
    for _, modules, file in LISTS:
        text = (clone / "array_api_tests" / file).read_text("utf-8") if file else ""
        if file in PARTIAL:
            names = [name for name in functions(clone, modules) if f"def test_{name}(" in text]
            found += [f"array_api_tests/{file}::test_{name}" for name in names if offered(name, modules)]
        elif file:
            found.append(f"array_api_tests/{file}")
    return found


def tested(test: str) -> str:
    """The function of a test: ``test_add[__add__(x1, x2)]`` is one of ``add``."""
    name = test.split("::")[1] if "::Test" not in test else test.split("::")[2]
    name = name.split("[")[0].removeprefix("test_")
    group = re.search(r"::Test(\w+)::", test)
    if group:  # TestResultType::test_shuffled
        return re.sub(r"(?<!^)(?=[A-Z])", "_", group[1]).lower()
    if name == "shift_func":
        return test.split("[")[1].rstrip("]").split("-")[-1]
    for more in ("_scalars", "_arrays", "_with_scalars", "_zerodim_error", "_append_prepend", "_dtype", "_conj"):
        if name.removesuffix(more) in ("asarray", "searchsorted", "nonzero", "diff", "finfo", "iinfo", "vecdot"):
            return name.removesuffix(more)
    return name


def reasons() -> dict[str, str]:
    lines = [line for line in REASONS.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, _, reason in (line.partition(":") for line in lines)}


def page(clone: Path) -> tuple[str, list[str]]:
    """The page, and what is wrong with the reasons."""
    outcomes: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for line in Path(os.environ["ARRAY_API_RECORD"]).read_text("utf-8").splitlines():
        record = json.loads(line)
        outcomes[tested(record["test"])][record["test"]] = record["outcome"], record["error"]
    why, wrong, used = reasons(), [], set()
    rows, failing, absent = [], [], []
    for title, modules, _ in LISTS:
        passed, failed, missing, untested = [], [], [], []
        for name in functions(clone, modules):
            found = [outcome for outcome, error in outcomes[name].values() if outcome != "skipped"]
            if not offered(name, modules):
                missing.append(name)
            elif not found:
                untested.append(name)
            elif "failed" in found:
                failed.append(name)
                failing.append((name, f"{found.count('failed')} of {len(found)}"))
            else:
                passed.append(name)
        absent += missing
        count = len(passed) + len(failed) + len(missing)
        ratio = f"{len(passed)} of {count}"
        note = f"; offered, and without a test: {_names(untested)}" if untested else ""
        rows.append(f"| {title} | {ratio} | {_names(passed)}{note} |")
    for name in [name for name, _ in failing] + absent:
        used.add(name)
        if name not in why:
            wrong.append(f"{name} fails or is not offered, and {REASONS.name} has no reason")
    wrong += [f"{REASONS.name} has a reason for {name}, which passes" for name in why if name not in used]
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for name in absent:
        by_reason[why.get(name, "?")].append(name)
    text = TEXT.format(
        version=VERSION,
        passing="\n".join(rows),
        failing="\n".join(f"| `{name}` | {tests} | {why.get(name, '?')} |" for name, tests in failing),
        absent="\n".join(f"| {_names(names)} | {reason} |" for reason, names in by_reason.items()),
    )
    return text, wrong


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


TEXT = """# Array API standard

<!-- dev/array-api writes this page; do not edit it. -->

`tilespark` has functions of the [Python array API standard](https://data-apis.org/array-api/{version}/), version
{version}; `x.__array_namespace__()` is the package. [data-apis/array-api-tests](https://github.com/data-apis/array-api-tests)
runs against it: all dtypes but uint64. Results are lazy, and `float(y)` computes one.

## Passing

| list | pass | functions |
|---|---|---|
{passing}

## Failing

| function | tests that fail | reason |
|---|---|---|
{failing}

## Not offered

| functions | reason or nearest |
|---|---|
{absent}
"""


def main(arguments: list[str]) -> int:
    clone = Path(arguments[-1])
    if "--tests" in arguments:
        print("\n".join(tests(clone)))
        return 0
    text, wrong = page(clone)
    if "--write" in arguments:
        PAGE.write_text(text, "utf-8")
    else:
        print(text)
    for each in wrong:
        print(f"dev/array-api: {each}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

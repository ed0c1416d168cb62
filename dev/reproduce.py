"""Claims of docs/benchmarks*.md: measured, drawn and written; dev/reproduce --help."""

import csv
import datetime
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib

import chart_colours

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "benchmarks"
MEASURED = ROOT / "target" / "reproduce"
MOST_CLAIMS = 12  # of a page
PEERS = "MLlib|numpy|scipy|torch|Triton|copy|reading|Spark|through"
COLUMNS = ["case", "median", "least", "most", "commit"]
PAGES = {
    "claims": (
        "benchmarks.md",
        """\
# Benchmarks

Each claim has a chart, its machine and commit, and a command that measures it again and puts CSV and chart into
`target/reproduce`; to try one in another size, run its `dev/bench` line, which `dev/reproduce` lists. Figures are medians;
lines on bars reach from the least to the most. The figures are [CSV files](benchmarks), as are those of [earlier versions](benchmarks/earlier). [Kernels
alone](benchmarks-kernels.md).
""",
    ),
    "kernels": (
        "benchmarks-kernels.md",
        """\
# Kernels, measured

Times are medians by CUDA events after a warm-up, over random data, with kernel and peer in turns in one process. Kernel and
peer touch at least 1 GiB before they use a buffer again. What was tried and did not win:
[transposes](decisions/transposes-that-lost.md), [products](decisions/kernels-that-stay.md), [products on the
CPU](decisions/products-on-the-cpu.md), [transforms on the CPU](decisions/transforms-on-the-cpu.md).
""",
    ),
}


class Claim:
    """A table of claims.toml, with the figures of its CSV."""

    def __init__(self, name, table, machines):
        self.name = name
        self.page = table.get("page", "claims")
        self.title = table["title"]
        self.text = " ".join(table["text"].split())
        self.machine = table["machine"]
        self.hardware = machines[self.machine]
        self.unit = table["unit"]
        self.commands = table["commands"]
        self.patterns = table["cases"]
        self.folder = FIGURES
        self.date, self.rows = self._read()

    @property
    def file(self):
        return self.folder / f"{self.name}.csv"

    @property
    def picture(self):
        return self.folder / f"{self.name}.svg"

    def _read(self):
        if not self.file.exists():
            return "", {}
        with open(self.file, encoding="utf-8", newline="") as lines:
            date = next(lines).strip("# \n")
            return date, {row["case"]: row for row in csv.DictReader(lines) if row["case"] in self.patterns}

    def measure(self):
        """Runs the commands; returns what they print, and the commit."""
        output = ""
        commit = git("rev-parse", "--short=8", "HEAD") + ("+" if git("status", "--porcelain") else "")
        for command in self.commands:
            command = command.replace("{python}", sys.executable).replace("{commit}", commit)
            print(f"$ {command}", flush=True)
            run = subprocess.run(shlex.split(command), cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
            print(run.stdout, flush=True)
            output += run.stdout
        return output, commit

    def compare(self, output, commit):
        """Puts the figures of the commands' output into MEASURED, and prints them with the page's."""
        stated = {case: self._figure(case) for case in self.rows}
        self.folder, self.rows = MEASURED, {}
        MEASURED.mkdir(parents=True, exist_ok=True)
        self.keep(output, commit)
        self.draw()
        width = max(map(len, self.rows))
        print(f"{'':{width}}  {'here':>16}  stated for {self.machine}: {self.hardware}")
        for case in self.rows:
            print(f"{case:{width}}  {self._figure(case):>16}  {stated.get(case, '')} {self.unit}")
        left = [case for case in self.patterns if case not in self.rows]
        if left:
            print(f"not measured here: {', '.join(left)}; figures of two machines do not compare")
        print(f"{self.file.relative_to(ROOT)}, {self.picture.relative_to(ROOT)}")

    def keep(self, output, commit):
        """Writes the figures of the commands' output to the CSV; those that no command gives stay."""
        for case, pattern in self.patterns.items():
            if not pattern:
                continue
            found = re.search(pattern, output)
            if found is None:
                sys.exit(f"dev/reproduce: the output has no figure for '{case}' of {self.name}: no match of {pattern}")
            figures = dict(zip(["median", "least", "most"], found.groups() + ("", "")))
            self.rows[case] = {"case": case, **figures, "commit": commit}
        self.date = datetime.date.today().isoformat()
        with open(self.file, "w", encoding="utf-8", newline="") as out:
            out.write(f"# {self.date}\n")
            writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows[case] for case in self.patterns if case in self.rows)

    def _figure(self, case):
        """A median, or the extremes where only these were noted."""
        row = self.rows[case]
        return row["median"] or f"{row['least']} to {row['most']}"

    def _number(self, case):
        row = self.rows[case]
        return float(row["median"] or row["least"])

    def prose(self):
        """The text, with figures in place of cases in braces."""

        def filled(match):
            cases = match.group(1).split("/")
            if len(cases) == 1:
                return f"{self._figure(cases[0])} {self.unit}"
            ratio = self._number(cases[0]) / self._number(cases[1])
            return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"

        return re.sub(r"\{([^}]+)\}", filled, self.text)

    def section(self):
        """Its part of the page."""
        commits = ", ".join(dict.fromkeys(row["commit"] for row in self.rows.values()))
        elsewhere = [case for case, pattern in self.patterns.items() if not pattern]
        again = f"`dev/reproduce {self.name}`"
        if elsewhere:
            again += f", without {' and '.join(elsewhere)}"
        lines = [f"## {self.title}", ""]
        lines += textwrap.wrap(self.prose(), 120, break_on_hyphens=False)
        lines += ["", f"![{self.title}, {self.unit}](benchmarks/{self.name}.svg)", ""]
        lines += textwrap.wrap(f"{self.machine}; {self.date}, {commits}; {again}.", 120, break_on_hyphens=False)
        return "\n".join(lines) + "\n"

    def draw(self):
        """Horizontal bars."""
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import pyplot

        grey = chart_colours.TEXT
        pyplot.rcParams.update({"svg.hashsalt": self.name, "svg.fonttype": "none", "font.size": 11})
        pyplot.rcParams.update(dict.fromkeys(["text.color", "axes.labelcolor", "xtick.color", "ytick.color"], grey))
        cases = list(self.rows)[::-1]
        figure, axes = pyplot.subplots(figsize=(7.5, 0.7 + 0.42 * len(cases)), layout="constrained")
        ours = [not re.match(PEERS, case) for case in cases]
        colors = [chart_colours.OURS if mine else chart_colours.OTHERS for mine in ours]
        values = [self._number(case) for case in cases]
        axes.barh(cases, values, color=colors, height=0.62)
        ends = []
        for place, case in enumerate(cases):
            row = self.rows[case]
            ends.append(max(values[place], float(row["most"] or 0)))
            if row["least"] and row["most"]:
                axes.plot([float(row["least"]), float(row["most"])], [place, place], color=grey, linewidth=2)
            label = f"{self._figure(case)} {self.unit}"
            # Not by spaces before the label, which SVG drops.
            gap = {"xytext": (6, 0), "textcoords": "offset points"}
            axes.annotate(label, (ends[-1], place), va="center", color=grey, **gap)
        axes.set_xlim(0, 1.25 * max(ends))
        axes.set_xlabel(self.unit)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(grey)
        chart_colours.save(figure, self.picture)
        pyplot.close(figure)


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def claims():
    tables = tomllib.loads((FIGURES / "claims.toml").read_text(encoding="utf-8"))
    machines = tables.pop("machines")
    found = {name: Claim(name, table, machines) for name, table in tables.items()}
    return found


def pages(all_claims):
    """The pages' texts by their files."""
    texts = {}
    for key, (name, introduction) in PAGES.items():
        here = [claim for claim in all_claims.values() if claim.page == key]
        sections = [claim.section() for claim in here]
        if len(sections) > MOST_CLAIMS:
            sys.exit(f"dev/reproduce: {len(sections)} claims; {name} has room for {MOST_CLAIMS}")
        machines = {claim.machine: claim.hardware for claim in here}
        table = ["| machine | |", "|---|---|", *(f"| {machine} | {text} |" for machine, text in machines.items()), ""]
        texts[ROOT / "docs" / name] = "\n".join([introduction, *table, *sections])
    return texts


def check(all_claims):
    """Fails if a figure has no case, a chart or a command is missing, a chart is hard to read, or the page is another one."""
    script = (ROOT / "dev" / "bench").read_text(encoding="utf-8")
    benchmarks = re.findall(r"(?m)^(\S+) +(?:kernels|arrow|spark|soak)\.", script)
    for claim in all_claims.values():
        for command in claim.commands:
            if shlex.split(command)[:1] != ["dev/bench"] or shlex.split(command)[1] not in benchmarks:
                sys.exit(f"dev/reproduce: {claim.name} has '{command}'; expected dev/bench and one of {', '.join(benchmarks)}")
        if not claim.commands or not any(claim.patterns.values()):
            sys.exit(f"dev/reproduce: {claim.name} has no command that measures it again")
        for case, pattern in claim.patterns.items():
            if pattern and re.compile(pattern).groups not in (1, 3):
                sys.exit(f"dev/reproduce: '{case}' of {claim.name} has {pattern}; expected one group or three")
        if list(claim.rows) != list(claim.patterns):
            sys.exit(f"dev/reproduce: {claim.file} has {list(claim.rows)}; expected {list(claim.patterns)}")
        if not claim.picture.exists():
            sys.exit(f"dev/reproduce: {claim.name} has no picture; dev/reproduce --page draws it")
    for chart in (ROOT / "docs" / "images" / "times.svg", *(FIGURES / f"{name}.svg" for name in all_claims)):
        for fault in chart_colours.faults(chart):
            sys.exit(f"dev/reproduce: {chart} {fault}")
    for file, text in pages(all_claims).items():
        if file.read_text(encoding="utf-8") != text:
            sys.exit(f"dev/reproduce: {file} is not what docs/benchmarks/*.csv say; dev/reproduce --page writes it")


def main(arguments):
    all_claims = claims()
    if not arguments:
        for claim in all_claims.values():
            print(f"{claim.name:16} {claim.title} ({claim.hardware})")
            for command in claim.commands:
                print(f"{'':16}   {command}")
    elif arguments == ["--check"]:
        check(all_claims)
    else:
        records = arguments[0] == "--record"
        named = arguments[1:] if records else arguments
        if arguments != ["--page"]:
            claim = all_claims.get(named[0]) if named else None
            if claim is None or len(named) not in (1, 3):
                sys.exit(f"dev/reproduce: no claim '{' '.join(named)}'; expected one of {', '.join(all_claims)}")
            figures = claim.measure() if len(named) == 1 else (pathlib.Path(named[1]).read_text(encoding="utf-8"), named[2])
            if not records:
                claim.compare(*figures)
                return
            claim.keep(*figures)
        for claim in all_claims.values():
            claim.draw()
        for file, text in pages(all_claims).items():
            file.write_text(text, encoding="utf-8")


main(sys.argv[1:])

"""Colours of the charts in docs: one file is read on light and on dark pages, and brings its own background for each."""

import re
from pathlib import Path

TEXT = "#57606a"
BACKGROUND = "#ffffff"
OURS = "#2f81f7"
OTHERS = "#8c959f"
# What replaces them where the page, or the reader's system, is dark.
DARK = {TEXT: "#b1bac4", BACKGROUND: "#1e2129"}

LEAST_OF_TEXT = 4.5  # WCAG 2.2, success criterion 1.4.3
LEAST_OF_BARS = 3.0  # the same, 1.4.11


def save(figure, file: Path) -> None:
    """Writes the figure as SVG with a style sheet for dark pages."""
    figure.savefig(file, format="svg", facecolor=BACKGROUND, metadata={"Date": None})
    rules = [
        f'[style*="{name}: {light}"] {{{name}: {dark} !important}}' for light, dark in DARK.items() for name in ("fill", "stroke")
    ]
    style = f"<style>@media (prefers-color-scheme: dark) {{{' '.join(rules)}}}</style>\n </defs>"
    file.write_text(file.read_text(encoding="utf-8").replace("</defs>", style, 1), encoding="utf-8")


def contrast(one: str, other: str) -> float:
    """The ratio of two colours' luminances, as WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    less, more = sorted((luminance(one), luminance(other)))
    return (more + 0.05) / (less + 0.05)


def faults(file: Path) -> list[str]:
    """What is hard to read of a chart, on a light and on a dark page."""
    svg = file.read_text(encoding="utf-8")
    found = []
    if "prefers-color-scheme: dark" not in svg:
        found.append("has no colours for dark pages")
    for page in ({}, DARK):
        background = page.get(BACKGROUND, BACKGROUND)
        for element, least in (("text", LEAST_OF_TEXT), ("path", LEAST_OF_BARS)):
            for colour in sorted(set(re.findall(rf'<{element}\b[^>]*[ "]fill: (#\w{{6}})', svg)) - {BACKGROUND}):
                ratio = contrast(page.get(colour, colour), background)
                if ratio < least:
                    found.append(f"has {element} of {colour} on {background}: a contrast of {ratio:.2f}; expected {least}")
    return found

"""The HTML view of a BlockArray in notebooks: a table, and a picture of its grid of blocks."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

_SIDE = 120.0  # length of the longest axis in pixels
_LINES = 40  # most lines drawn along one axis
_STYLE = 'stroke="#345" stroke-width="1"'


def html(extents: tuple[int | None, ...], blocks: tuple[int, ...] | None, dtype: np.dtype[Any]) -> str:
    """The HTML of an array of given extents and block shape; None stands for an unknown extent or block shape."""
    shape = _known(extents)
    nbytes = "?" if shape is None else _bytes(_count(shape) * dtype.itemsize)
    rows = [
        ("Shape", _shape(extents), "" if blocks is None else _shape(blocks)),
        ("Bytes", nbytes, "" if blocks is None else _bytes(_count(blocks) * dtype.itemsize)),
        ("Type", str(dtype), ""),
    ]
    if blocks is not None and shape is not None:
        grid = [-(-extent // size) for extent, size in zip(shape, blocks, strict=True)]
        rows.append(("Blocks", _shape(tuple(grid)) + f" = {_count(tuple(grid))}", ""))
    body = "".join(f"<tr><th>{name}</th><td>{whole}</td><td>{block}</td></tr>" for name, whole, block in rows)
    table = f"<table><thead><tr><td></td><th>Array</th><th>Block</th></tr></thead><tbody>{body}</tbody></table>"
    picture = "" if shape is None else _picture(shape, blocks or shape)
    return f'<table><tr><td style="border:none">{table}</td><td style="border:none">{picture}</td></tr></table>'


def _known(shape: tuple[int | None, ...]) -> tuple[int, ...] | None:
    """The shape, or None if one of its extents is unknown."""
    extents = tuple(extent for extent in shape if extent is not None)
    return extents if len(extents) == len(shape) else None


def _shape(shape: tuple[int | None, ...]) -> str:
    return escape(" × ".join("?" if extent is None else str(extent) for extent in shape) or "()")


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} TiB"


def _cuts(extent: int, block: int, length: float) -> list[float]:
    """Positions of the lines between blocks, including both ends, along an axis that is ``length`` pixels long."""
    count = -(-extent // max(1, block))
    step = max(1, -(-count // _LINES))
    places = [length * min(extent, at * block) / extent for at in range(0, count, step)]
    return [*places, length]


def _picture(shape: tuple[int, ...], blocks: tuple[int, ...]) -> str:
    shape, blocks = (each if len(each) > 1 else (each or (1,)) + (1,) for each in (shape, blocks))
    if not all(shape):
        return ""
    # Lengths grow with the square root of the extent, so that short axes stay visible.
    longest = max(shape)
    lengths = [max(8.0, _SIDE * (extent / longest) ** 0.5) for extent in shape]
    cuts = [_cuts(*each) for each in zip(shape, blocks, lengths, strict=True)]
    depth = lengths[0] * 0.4 if len(shape) == 3 else 0.0
    height, width = lengths[-2], lengths[-1]
    lines = [_line(x, 0, x, height, depth) for x in cuts[-1]] + [_line(0, y, width, y, depth) for y in cuts[-2]]
    if depth:
        scale = depth / lengths[0]
        lines += [_line(x, 0, x - depth, -depth, depth) for x in cuts[-1]]
        lines += [_line(0, y, -depth, y - depth, depth) for y in cuts[-2]]
        for z in (cut * scale for cut in cuts[0]):
            lines += [_line(-z, -z, width - z, -z, depth), _line(-z, -z, -z, height - z, depth)]
    size = f'width="{width + depth + 20:.0f}" height="{height + depth + 20:.0f}"'
    return f'<svg {size} role="img" aria-label="grid of blocks">{"".join(lines)}</svg>'


def _line(x1: float, y1: float, x2: float, y2: float, depth: float) -> str:
    x1, y1, x2, y2 = (value + depth + 10 for value in (x1, y1, x2, y2))
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {_STYLE}/>'

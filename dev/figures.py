"""Draws the pictures of README; dev/figures describes it."""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from chart_colours import BACKGROUND, OTHERS, OURS, TEXT, save

DOCS = Path(__file__).resolve().parent.parent / "docs"

plt.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.size": 11,
        "svg.fonttype": "none",
        "svg.hashsalt": "tilespark",
        "text.color": TEXT,
        "axes.edgecolor": TEXT,
        "axes.labelcolor": TEXT,
        "axes.titlecolor": TEXT,
        "xtick.color": TEXT,
        "ytick.color": TEXT,
        "savefig.facecolor": BACKGROUND,
    }
)


# Panels of cases: what is computed, the CSV of the claim, and its rows with the labels they get.
Bars = dict[str, list[tuple[str, str, dict[str, str]]]]
OWN = {"tilespark": "tilespark"}
BARS: Bars = {
    "NVIDIA H200, 16 cores": [
        ("product 16384³ float, file to file", "product-files", OWN | {"numpy": "numpy"}),
        ("product 16384³ double, cached", "product-mllib", OWN | {"MLlib": "MLlib"}),
        (
            "FFT of 1024³ complex float, cached",
            "fft",
            OWN
            | {
                "through Spark's shuffle": "tilespark through Spark's shuffle",
                "scipy": "scipy",
                "torch": "torch, from pinned memory",
            },
        ),
    ],
    "CPU, 2 cores": [
        ("product 6000³ double, cached", "product-cpu", OWN | {"MLlib": "MLlib"}),
        ("product 6000³ double, file to file", "product-cpu", {"tilespark, files": "tilespark", "numpy, files": "numpy"}),
        ("volume 640³ float to zyx, file to file", "reorder-files", {"default blocks": "tilespark", "numpy": "numpy"}),
        ("FFT of 512³ float, file to file", "fft-files", OWN | {"scipy": "scipy"}),
    ],
}


def medians(claim: str) -> dict[str, str]:
    """The medians of a claim of docs/benchmarks.md by their cases."""
    with (DOCS / "benchmarks" / f"{claim}.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {row["case"]: row["median"] for row in rows}


def chart() -> Path:
    """Bars of seconds: a group for each case, a panel for each machine, one scale for all."""
    heights = [sum(len(labels) + 1.1 for _, _, labels in cases) for cases in BARS.values()]
    figure, panels = plt.subplots(
        len(BARS), 1, figsize=(8.6, 0.235 * sum(heights) + 1.1), sharex=True, height_ratios=heights, squeeze=False
    )
    for axes, (machine, cases) in zip(panels[:, 0], BARS.items()):
        y = 0.0
        for case, claim, labels in cases:
            axes.text(0.205, y, case, va="center", fontsize=11)
            y += 1
            for row, label in labels.items():
                median = medians(claim)[row]
                ours = label == "tilespark"
                axes.barh(y, float(median), height=0.78, color=OURS if ours else OTHERS)
                axes.text(
                    float(median) * 1.04, y, f"{label}  {median} s", va="center", fontsize=10,
                    weight="bold" if ours else "normal",
                )
                y += 1
            y += 0.1
        axes.set_ylim(y - 0.4, -0.7)
        axes.set_yticks([])
        axes.set_title(machine, loc="left", fontsize=12, weight="bold")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_xscale("log")
        axes.set_xlim(0.2, 150)
    panels[-1, 0].set_xticks([0.3, 1, 3, 10, 30, 100], ["0.3", "1", "3", "10", "30", "100"])
    panels[-1, 0].minorticks_off()
    panels[-1, 0].set_xlabel("seconds, logarithmic scale; less is better")
    figure.tight_layout()
    file = DOCS / "images" / "times.svg"
    save(figure, file)
    return file


def volume(directory: Path) -> Path:
    """The middle slice of a volume, of its spectrum and of the volume after a low pass."""
    source = np.load(DOCS.parent / "examples" / "data" / "brain-colin27.npy", mmap_mode="r")
    lowpass = np.load(directory / "lowpass.npy", mmap_mode="r").real
    spectrum = np.load(directory / "spectrum.npy", mmap_mode="r")
    middle = source.shape[2] // 2
    plane = np.log10(np.maximum(np.abs(np.fft.fftshift(spectrum[:, :, 0])), 1))
    images = [
        ("a volume of 181 × 217 × 181 voxels", source[:, :, middle], "gray", (0, float(source.max())), None),
        ("its spectrum, log₁₀ |S|", plane, "magma", (plane.max() - 4, plane.max()), (-0.5, 0.5, -0.5, 0.5)),
        ("without frequencies above 0.1", lowpass[:, :, middle], "gray", (0, float(source.max())), None),
    ]
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.9))
    for axes, (title, image, colours, (least, most), extent) in zip(panels, images):
        shown = axes.imshow(
            image.T, origin="lower", cmap=colours, vmin=least, vmax=most, extent=extent,
            aspect="equal" if extent is None else image.shape[1] / image.shape[0],
        )
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("x, voxels" if extent is None else "cycles per voxel along x")
        if extent is not None:
            axes.set_xticks([-0.5, 0, 0.5])
        axes.set_ylabel("y, voxels" if extent is None else "cycles per voxel along y")
        bar = figure.colorbar(shown, ax=axes, orientation="horizontal", pad=0.2, fraction=0.05)
        bar.outline.set_edgecolor(TEXT)
    figure.tight_layout()
    file = DOCS / "images" / "volume.png"
    figure.savefig(file, dpi=100, metadata={"Software": None})
    return file


def jobs(directory: Path) -> list[Path]:
    """The figures of jobs, at half their size in 256 colours, so that the files are small."""
    files = []
    for job in ("fft", "pca", "similar"):
        with Image.open(directory / f"{job}.png") as figure:
            half = figure.convert("RGB").reduce(2)
        files.append(DOCS / "images" / f"job-{job}.png")
        half.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(files[-1], optimize=True)
    return files


def main(arguments: list[str]) -> None:
    (DOCS / "images").mkdir(exist_ok=True)
    match arguments:
        case ["chart"]:
            print(chart())
        case ["volume", directory]:
            print(volume(Path(directory)))
        case ["jobs", directory]:
            print(*jobs(Path(directory)), sep="\n")
        case _:
            sys.exit(f"dev/figures: expected chart, or volume or jobs with DIRECTORY; found: {' '.join(arguments)}")


if __name__ == "__main__":
    main(sys.argv[1:])

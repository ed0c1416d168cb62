"""The notebooks of examples/notebooks run from end to end, and show what they compute."""

import os
from pathlib import Path

import pytest
import tilespark as ts

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_runs(path, client, monkeypatch):
    if client != "classic":
        pytest.skip("notebooks make sessions of their own, classic ones")
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    paths = [str(Path(ts.__file__).parent.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": path.parent}}
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=resources, record_timing=False
    ).execute()
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in data for data in shown)
    assert any("<svg" in str(data.get("text/html", "")) for data in shown)
    target = os.environ.get("TILESPARK_WRITE_NOTEBOOKS")
    if target:  # to renew the pictures in the repository
        nbformat.write(notebook, path)


def test_pictures_are_there_and_no_paths_of_machines():
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    assert len(paths) >= 4
    for path in paths:
        text = path.read_text("utf-8")
        assert '"image/png"' in text, f"{path.name} was saved without its outputs"
        for word in ("/home/", "/root/", "/tmp/", "/work/"):
            assert word not in text, f"{path.name} holds {word}"

"""The ten lines of the package's README, as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import tilespark as ts
from scipy import fft

ROOT = Path(__file__).parents[2]
LINES = re.search(r"## Ten lines\n.*?```python\n(.*?)```", (ROOT / "python" / "README.md").read_text("utf-8"), re.DOTALL)
MAKES_A_SESSION = "spark = ts.configure("


def test_ten_lines(spark, client, tmp_path, monkeypatch):
    assert LINES is not None
    lines = LINES[1].splitlines()
    assert len([line for line in lines if line]) == 9
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if client == "classic":
        paths = [str(Path(ts.__file__).parent.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "SPARK_LOCAL_IP": "127.0.0.1"}
        (tmp_path / "lines.py").write_text("\n".join(lines))
        done = subprocess.run(
            [sys.executable, "lines.py"], capture_output=True, text=True, cwd=tmp_path, timeout=300, env=environment
        )
        assert done.returncode == 0, done.stderr
        assert "BlockArray(shape=(181, 217, 181), dtype=float64" in done.stdout
    else:  # all but the line that makes a session
        assert any(line.startswith(MAKES_A_SESSION) for line in lines)
        monkeypatch.chdir(tmp_path)
        absolute = [line.replace('"smooth.npy"', f'"{tmp_path}/smooth.npy"') for line in lines]
        absolute = [line.replace('"examples/', f'"{ROOT}/examples/') for line in absolute]
        exec("\n".join(line for line in absolute if not line.startswith(MAKES_A_SESSION)), {})
    a = np.load(ROOT / "examples" / "data" / "brain-colin27.npy").astype(float)
    f = np.meshgrid(*(fft.fftfreq(n) for n in a.shape[:2]), fft.rfftfreq(a.shape[2]), indexing="ij")
    kept = np.where(sum(axis**2 for axis in f) <= 0.1**2, fft.rfftn(a), 0)
    found = np.load(tmp_path / "smooth.npy")
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, fft.irfftn(kept, s=a.shape), rtol=1e-5, atol=1e-3)

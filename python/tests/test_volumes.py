"""Files of volumes that have no Python package of their own here: NIfTI, and numbers after a header."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

SERIES = (np.arange(5 * 6 * 7 * 4) * 7 % 251).astype("int16").reshape(5, 6, 7, 4)


def nifti(order: str = "<", slope: float = 0, intercept: float = 0) -> bytes:
    """A header of NIfTI-1 (nifti1.h), and the numbers with the first axis contiguous."""
    header = bytearray(352)
    struct.pack_into(order + "i", header, 0, 348)
    struct.pack_into(order + "8h", header, 40, 4, *SERIES.shape, 1, 1, 1)
    struct.pack_into(order + "2h", header, 70, 4, 16)
    struct.pack_into(order + "8f", header, 76, 1, 2, 2, 3.5, 0.5, 0, 0, 0)
    struct.pack_into(order + "3f", header, 108, 352, slope, intercept)
    header[344:348] = b"n+1\0"
    return bytes(header) + SERIES.astype(order + "i2").tobytes(order="F")


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_nifti(tmp_path: Path, order: str, name: str) -> None:
    content = nifti(order)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    x = ts.read_nifti(tmp_path / name)
    expected = np.moveaxis(SERIES, 3, 0)
    assert (x.dims, x.spacing, x.dtype) == (("t", "x", "y", "z"), (0.5, 2.0, 2.0, 3.5), np.dtype("int16"))
    np.testing.assert_array_equal(x.compute(), expected)
    np.testing.assert_array_equal(x[2, 1:4].compute(), expected[2, 1:4])
    np.testing.assert_allclose(x.mean("t").compute(), expected.mean(0))
    x.to_zarr(tmp_path / "z")
    assert ts.read_zarr(tmp_path / "z").dims == x.dims


def test_scaled_nifti(tmp_path: Path) -> None:
    (tmp_path / "s.nii").write_bytes(nifti(slope=0.25, intercept=-3))
    expected = np.moveaxis(SERIES, 3, 0) * 0.25 - 3
    np.testing.assert_array_equal(ts.read_nifti(tmp_path / "s.nii").compute(), expected)
    np.testing.assert_array_equal(ts.read_nifti(tmp_path / "s.nii", dtype="float32").compute(), expected.astype("float32"))


@pytest.mark.parametrize("version", [1, 2])
def test_what_nibabel_writes(tmp_path: Path, version: int) -> None:
    nibabel = pytest.importorskip("nibabel")
    image = nibabel.Nifti1Image if version == 1 else nibabel.Nifti2Image
    for dtype in ("uint8", "int16", "float32", "float64", "complex64", "uint16"):
        array = (SERIES % 120).astype(dtype)
        for name, values in (("a.nii", array), ("a.nii.gz", array[..., 0]), ("m.nii", array[:, :, 0, 0])):
            nibabel.save(image(values, np.diag([2, 2, 3, 1])), tmp_path / name)
            expected = np.moveaxis(values, 3, 0) if values.ndim == 4 else values
            np.testing.assert_array_equal(ts.read_nifti(tmp_path / name).compute(), expected)


def test_raw(tmp_path: Path) -> None:
    array = SERIES.astype(">u2")
    (tmp_path / "a.raw").write_bytes(b"header" + array.tobytes())
    x = ts.read_raw(tmp_path / "a.raw", array.shape, ">u2", offset=6)
    np.testing.assert_array_equal(x.compute(), array)
    (tmp_path / "f.raw").write_bytes(array[0].tobytes(order="F"))
    y = ts.read_raw(tmp_path / "f.raw", array.shape[1:], array.dtype, order="F", blocks=(2, 3, 4))
    np.testing.assert_array_equal(y.compute(), array[0])
    with pytest.raises(ts.InvalidInputError, match=r"expected 1686 bytes \(6 of option offset"):
        ts.read_raw(tmp_path / "f.raw", array.shape, ">u2", offset=6)
    with pytest.raises(ts.InvalidInputError, match="no NIfTI file: its first number is not 348 or 540"):
        ts.read_nifti(tmp_path / "a.raw")

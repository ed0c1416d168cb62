"""Arrays of Zarr, written by zarr-python and numcodecs, compared with what zarr-python reads of them."""

from __future__ import annotations

import itertools
import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilespark as ts
from pyspark.sql import SparkSession

zarr = pytest.importorskip("zarr", reason="needs Python 3.11 or newer")
numcodecs = pytest.importorskip("numcodecs")

from zarr.codecs import (  # noqa: E402
    BloscCodec,
    BytesCodec,
    Crc32cCodec,
    GzipCodec,
    ShardingCodec,
    TransposeCodec,
    ZstdCodec,
)

TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 float16 float32 float64 complex64 complex128".split()
SHAPE, CHUNK = (13, 11, 20), (5, 4, 6)


def data(dtype: str, shape: tuple[int, ...] = SHAPE) -> Any:
    """Values that repeat enough to be compressed, and of which no neighbours are alike."""
    count = int(np.prod(shape))
    numbers = np.arange(count) * 7 % 251
    if dtype.startswith("complex"):
        return (numbers - 1j * numbers[::-1]).astype(dtype).reshape(shape)
    return (numbers % 2 if dtype == "bool" else numbers % 120).astype(dtype).reshape(shape)


def same(found: ts.BlockArray, expected: Any) -> None:
    """Compares types as blocks hold them, and bits."""
    values = found.compute()
    assert values.shape == expected.shape
    np.testing.assert_array_equal(values, expected)


def write2(path: Path, array: Any, chunk: tuple[int, ...], **options: Any) -> None:
    made = zarr.create_array(path, shape=array.shape, dtype=array.dtype, chunks=chunk, zarr_format=2, **options)
    made[...] = array


def write3(path: Path, array: Any, chunk: tuple[int, ...], codecs: list[Any], **options: Any) -> None:
    """With any chain of codecs, also those that create_array takes no part of."""
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(array.shape),
        "data_type": array.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": [0, 0] if array.dtype.kind == "c" else False if array.dtype.kind == "b" else 0,
        "codecs": [each.to_dict() for each in codecs],
        "attributes": {},
    } | options
    path.mkdir()
    (path / "zarr.json").write_text(json.dumps(metadata))
    zarr.open_array(path, mode="r+")[...] = array


@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders_of_version_2(spark: SparkSession, tmp_path: Path, order: str, endian: str) -> None:
    for dtype in TYPES:
        array = data(dtype)
        write2(tmp_path / dtype, array.astype(array.dtype.newbyteorder(endian)), CHUNK, order=order, fill_value=0)
        same(ts.read_zarr(tmp_path / dtype), array)


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("transpose", [None, (2, 0, 1), (2, 1, 0)])
def test_types_and_orders_of_version_3(
    spark: SparkSession, tmp_path: Path, transpose: tuple[int, ...] | None, endian: str
) -> None:
    for dtype in TYPES:
        array = data(dtype)
        codecs = [] if transpose is None else [TransposeCodec(order=transpose)]
        write3(tmp_path / dtype, array, CHUNK, [*codecs, BytesCodec(endian=endian), ZstdCodec()])
        same(ts.read_zarr(tmp_path / dtype), array)


COMPRESSORS = {
    "none": None,
    "zstd": numcodecs.Zstd(3),
    "zlib": numcodecs.Zlib(5),
    "gzip": numcodecs.GZip(5),
    "lz4": numcodecs.LZ4(),
} | {
    f"blosc-{codec}-{shuffle}-{level}": numcodecs.Blosc(codec, clevel=level, shuffle=shuffle)
    for codec, shuffle, level in itertools.product(numcodecs.blosc.list_compressors(), (0, 1, 2), (1, 5, 9))
}


@pytest.mark.parametrize("dtype", ["float32", "int16", "float64", "uint8", "complex128"])
def test_compressors(spark: SparkSession, tmp_path: Path, dtype: str) -> None:
    array = data(dtype, (70, 90, 60))
    array[3:40, 5:50] = 1  # long matches
    random = np.random.default_rng(7)
    array[50:, :, :] = np.frombuffer(random.bytes(array[50:].nbytes), "u1").view(dtype).reshape(array[50:].shape)
    array[~np.isfinite(array)] = 0
    for name, compressor in COMPRESSORS.items():
        write2(tmp_path / name, array, (33, 64, 60), compressors=compressor)
        same(ts.read_zarr(tmp_path / name), array)


def test_codecs_of_version_3(spark: SparkSession, tmp_path: Path) -> None:
    array = data("float32")
    chains: list[list[Any]] = [
        [BytesCodec()],
        [BytesCodec(), GzipCodec(level=5)],
        [BytesCodec(), Crc32cCodec()],
        [BytesCodec(), ZstdCodec(level=1, checksum=True), Crc32cCodec()],
        [BytesCodec(), GzipCodec(), ZstdCodec(), Crc32cCodec()],
        [BytesCodec(), BloscCodec(typesize=4, cname="lz4", shuffle="bitshuffle")],
    ]
    for location, chain in itertools.product(("start", "end"), chains):
        chains = chains + [[ShardingCodec(chunk_shape=(5, 2, 3), codecs=chain, index_location=location)]]
    nested = ShardingCodec(chunk_shape=(5, 4, 2), codecs=[ShardingCodec(chunk_shape=(5, 2, 1), codecs=chains[4])])
    # zarr-python compares inner shapes with a shard's as if it were not transposed: these divide both.
    chains += [[nested], [TransposeCodec(order=(2, 0, 1)), ShardingCodec(chunk_shape=(3, 1, 2), codecs=chains[1])]]
    chains += [
        [
            TransposeCodec(order=(1, 2, 0)),
            ShardingCodec(chunk_shape=(2, 3, 6), codecs=[TransposeCodec(order=(2, 1, 0)), BytesCodec(endian="big")]),
        ]
    ]
    transposed = [TransposeCodec(order=(2, 0, 1)), TransposeCodec(order=(1, 2, 0))]
    for number, codecs in enumerate(chains):
        path = tmp_path / str(number)
        write3(path, array, (6, 6, 6) if codecs[0] in transposed else (5, 4, 6), codecs)
        same(ts.read_zarr(path), array)
        same(ts.read_zarr(path, blocks=(7, 3, 4)), array)


def test_keys(spark: SparkSession, tmp_path: Path) -> None:
    array = data("int16")
    for name, separator in itertools.product(("default", "v2"), "./"):
        path = tmp_path / f"{name}{ord(separator)}"
        encoding = {"name": name, "configuration": {"separator": separator}}
        write3(path, array, CHUNK, [BytesCodec()], chunk_key_encoding=encoding)
        same(ts.read_zarr(path), array)
    for separator in "./":
        path = tmp_path / f"old{ord(separator)}"
        write2(path, array, CHUNK, chunk_key_encoding={"name": "v2", "separator": separator})
        same(ts.read_zarr(path), array)


@pytest.mark.parametrize("version", [2, 3])
def test_fill_values(spark: SparkSession, tmp_path: Path, version: int) -> None:
    fills = [
        ("float32", np.nan),
        ("float32", -np.inf),
        ("float64", 0.1),
        ("float16", np.inf),
        ("int64", -(2**63)),
        ("uint32", 2**32 - 1),
        ("int8", -128),
        ("bool", True),
        ("complex64", complex(1, np.nan)),
        ("complex128", complex(-0.0, np.inf)),
    ]
    for number, (dtype, fill) in enumerate(fills):
        path = tmp_path / str(number)
        made = zarr.create_array(path, shape=(9, 8), dtype=dtype, chunks=(4, 3), fill_value=fill, zarr_format=version)
        made[5, 4] = 1
        same(ts.read_zarr(path), made[...])
        assert np.signbit(ts.read_zarr(path).compute().real[0, 0]) == np.signbit(made[0, 0].real)


def test_vectors_and_selections(spark: SparkSession, tmp_path: Path) -> None:
    vector = data("float32", (23,))
    write3(tmp_path / "v", vector, (5,), [BytesCodec()])
    same(ts.read_zarr(tmp_path / "v"), vector)
    five = data("int32", (2, 3, 5, 7, 6))
    write3(tmp_path / "5", five, (1, 2, 3, 4, 5), [BytesCodec()], dimension_names=["t", "c", "z", "y", None])
    read = ts.read_zarr(tmp_path / "5", select={"t": 1, "c": -1})
    same(read, five[1, -1])
    same(ts.read_zarr(tmp_path / "5", select="t:0,2:4"), five[0, :, 4])
    same(ts.read_zarr(tmp_path / "5", select={"t": 0, "c": 1, "z": 2, "y": 3}), five[0, 1, 2, 3])
    with pytest.raises(ts.TileSparkError, match="names no axis"):
        ts.read_zarr(tmp_path / "5", select={"w": 1})


def test_leading_axes_are_read_in_part(spark: SparkSession, tmp_path: Path) -> None:
    five = data("int32", (4, 3, 5, 7, 6))
    write3(tmp_path / "5", five, (3, 2, 3, 4, 5), [BytesCodec()], dimension_names=["t", "c", "z", "y", "x"])
    x = ts.read_zarr(tmp_path / "5")
    same(x, five)
    assert x.dims == ("t", "c", "z", "y", "x")
    assert x.df.columns[0] == "batch"
    same(x[2], five[2])
    same(x[::-2, 1], five[::-2, 1])
    same(x[1:3][0, :, 2:4], five[1, :, 2:4])
    same(x.sum(axis=0), five.sum(axis=0, dtype=np.int64))
    same(x.transpose(1, 0, 2, 4, 3), five.transpose(1, 0, 2, 4, 3))
    plan = x[2, 1:].df._jdf.queryExecution().toString() if hasattr(x.df, "_jdf") else "EqualTo(t,2) GreaterThanOrEqual(c,1)"
    assert "EqualTo(t,2)" in plan and "GreaterThanOrEqual(c,1)" in plan, plan
    four = data("float32", (6, 4, 5, 3))
    write2(tmp_path / "4", four, (1, 4, 4, 3))
    y = ts.read_zarr(tmp_path / "4")
    same(y[3], four[3])
    same(y.mean(0).astype("float64"), y.compute().mean(0).astype("float64"))


@pytest.mark.parametrize("version", [2, 3])
def test_more_than_three_axes_are_written(spark: SparkSession, tmp_path: Path, version: int) -> None:
    five = data("int16", (2, 3, 5, 7, 6))
    x = ts.from_numpy(five, blocks=(3, 4, 6))
    x.to_zarr(tmp_path / "5", chunks=(3, 4, 6), options={"version": version})
    assert written(tmp_path / "5", five).chunks == (1, 1, 3, 4, 6)
    (x + 1)[:, ::2].to_zarr(tmp_path / "5", chunks=(1, 1, 5, 7, 3), overwrite=True, options={"version": version})
    written(tmp_path / "5", (five + 1)[:, ::2])
    for chunks, shards in (((2, 2, 2, 7, 4), None), ((1, 3, 2, 4, 5), (2, 6, 4, 8, 5))):
        if version == 3 or shards is None:
            x.to_zarr(tmp_path / "long", chunks=chunks, shards=shards, overwrite=True, options={"version": version})
            written(tmp_path / "long", five)
            same(ts.read_zarr(tmp_path / "long")[1], five[1])
    with pytest.raises(ts.TileSparkError, match="expected 1 along axis0|expected 3 for"):
        x.to_zarr(tmp_path / "no", options={"version": version, "downsample": "2,1,2,2,2"})
    stack = ts.from_numpy(five[0], batch=True)
    stack.to_zarr(tmp_path / "4", options={"version": version})
    written(tmp_path / "4", five[0])


def test_series_of_xarray_come_back(spark: SparkSession, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    values = data("float64", (4, 5, 6, 7))
    x = ts.from_xarray(xarray.DataArray(values, dims=("time", "z", "y", "x"), coords={"z": np.arange(5) * 2.5}))
    x.to_zarr(tmp_path / "a", "tas", chunks=(5, 3, 7))
    back = ts.read_zarr(tmp_path / "a", "tas")
    assert (back.dims, back.shape) == (("time", "z", "y", "x"), values.shape)
    assert back.spacing == x.spacing
    same(back[1:3, 2], values[1:3, 2])
    assert written(tmp_path / "a" / "tas", values).metadata.dimension_names == ("time", "z", "y", "x")
    opened = xarray.open_zarr(tmp_path / "a", consolidated=False)
    np.testing.assert_array_equal(opened["tas"].transpose("time", "z", "y", "x").values, values)
    x.to_zarr(tmp_path / "b", "deep/er/tas", options={"version": 2})
    assert xarray.open_zarr(tmp_path / "b", group="deep/er", consolidated=False)["tas"].dims == x.dims


def test_groups_and_images(spark: SparkSession, tmp_path: Path) -> None:
    for version in (2, 3):
        root = zarr.open_group(tmp_path / str(version), mode="w", zarr_format=version)
        image = root.create_group("image")
        fine = data("uint16", (4, 8, 12))
        for level, array in enumerate((fine, fine[:, ::2, ::2])):
            image.create_array(str(level), data=array, chunks=(2, 4, 4))
        multiscales = [
            {
                "axes": [{"name": name, "type": "space"} for name in "zyx"],
                "datasets": [
                    {"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [2.0, 0.5 * 2**level, 0.25]}]}
                    for level in (0, 1)
                ],
                "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0, 2.0]}],
            }
        ]
        image.attrs.update({"multiscales": multiscales} if version == 2 else {"ome": {"version": "0.5", "multiscales": multiscales}})
        zarr.consolidate_metadata(tmp_path / str(version))
        read = ts.read_zarr(tmp_path / str(version), component="image", level=1)
        same(read, fine[:, ::2, ::2])
        assert read.dims == ("z", "y", "x")
        assert read.spacing == (2.0, 1.0, 0.5)
        same(ts.read_zarr(tmp_path / str(version) / "image"), fine)
        same(ts.read_zarr(tmp_path / str(version), "image/1"), fine[:, ::2, ::2])
        with pytest.raises(ts.TileSparkError, match="no image of OME-Zarr"):
            ts.read_zarr(tmp_path / str(version))
        with pytest.raises(ts.TileSparkError, match="levels 0 to 1"):
            ts.read_zarr(tmp_path / str(version), "image", level=2)
        with pytest.raises(ts.TileSparkError, match="it has .*image"):
            ts.read_zarr(tmp_path / str(version), "picture")


def test_names_of_xarray(spark: SparkSession, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    values = data("float64", (6, 9))
    xarray.Dataset({"t2m": (("lat", "lon"), values)}).to_zarr(tmp_path / "x", zarr_format=2)
    read = ts.read_zarr(tmp_path / "x", "t2m")
    same(read, values)
    assert read.dims == ("lat", "lon")


def test_slices_and_conversion(spark: SparkSession, tmp_path: Path) -> None:
    array = data("uint16", (40, 50))
    write3(tmp_path / "a", array, (8, 8), [BytesCodec(), ZstdCodec()])
    (tmp_path / "a" / "c" / "0" / "0").write_bytes(b"damaged")
    read = ts.read_zarr(tmp_path / "a", blocks=8, dtype="float32")
    same(read[16:33, 9:40], array[16:33, 9:40].astype("float32"))
    with pytest.raises(ts.TileSparkError, match="c/0/0: zstd"):
        read.compute()


def written(path: Path, expected: Any) -> Any:
    """What zarr-python reads of an array that was written, and its metadata."""
    made = zarr.open_array(path, mode="r")
    assert made.dtype == expected.dtype
    assert made.shape == expected.shape
    assert made[...].tobytes() == expected.tobytes()
    return made


LAYOUTS: list[dict[str, Any]] = [
    {},
    {"compressor": "none"},
    {"compressor": "gzip", "compressionLevel": 1},
    {"compressor": "blosc-lz4", "checksum": "true"},
    {"compressor": "blosc-zstd", "compressionLevel": 9, "order": "F"},
    {"compressionLevel": 11, "checksum": "true", "order": "F"},
    {"version": 2},
    {"version": 2, "compressor": "none", "order": "F"},
    {"version": 2, "compressor": "gzip"},
    {"version": 2, "compressor": "blosc-lz4"},
    {"version": 2, "compressor": "blosc-zstd", "order": "F"},
]


def test_zarr_python_reads_what_is_written(spark: SparkSession, tmp_path: Path) -> None:
    for i, dtype in enumerate(TYPES):
        array = data(dtype)
        x = ts.from_numpy(array, blocks=(6, 7, 8))
        for options in LAYOUTS if dtype == "float32" else LAYOUTS[i % 3 :: 3]:
            x.to_zarr(tmp_path / "a", chunks=CHUNK, overwrite=True, options=options)
            made = written(tmp_path / "a", array)
            assert made.chunks == CHUNK
            same(ts.read_zarr(tmp_path / "a"), array)
        if i % 3 == 0:
            x.to_zarr(tmp_path / "a", chunks=(5, 2, 3), shards=(10, 4, 9), overwrite=True, options={"fill_value": 0})
            made = written(tmp_path / "a", array)
            assert (made.chunks, made.shards) == ((5, 2, 3), (10, 4, 9))


def test_large_chunks_are_read_by_zarr_python(spark: SparkSession, tmp_path: Path) -> None:
    array = data("float64", (70, 90, 60))
    array[:40, 5:50] = 1  # long matches
    array[50:] = np.random.default_rng(3).random(array[50:].shape)
    array[:20, :30] = 0
    x = ts.from_numpy(array, blocks=(33, 64, 60))
    for compressor in ("zstd", "gzip", "blosc-lz4", "blosc-zstd"):
        x.to_zarr(tmp_path / "a", chunks=(33, 64, 60), overwrite=True, options={"compressor": compressor})
        written(tmp_path / "a", array)
        x.to_zarr(tmp_path / "a", chunks=(20, 30, 20), shards=(40, 90, 60), overwrite=True, options={"compressor": compressor})
        written(tmp_path / "a", array)


def test_written_names_spacing_and_arguments(spark: SparkSession, tmp_path: Path) -> None:
    array = data("int16", (4, 6, 8))
    write3(tmp_path / "in", array, (4, 4, 4), [BytesCodec(), ZstdCodec()], dimension_names=["z", "y", "x"])
    x = ts.read_zarr(tmp_path / "in", spacing=(2, 1, 0.5)).transpose(2, 0, 1)
    x.to_zarr(tmp_path / "out", "a/b", chunks=3, options={"attributes": json.dumps({"unit": "mm"}), "fill_value": 7})
    made = written(tmp_path / "out" / "a" / "b", array.transpose(2, 0, 1))
    assert made.metadata.dimension_names == ("x", "z", "y")
    assert dict(made.attrs) == {"spacing": [0.5, 2.0, 1.0], "unit": "mm"}
    assert made.fill_value == 7
    back = ts.read_zarr(tmp_path / "out", "a/b")
    assert back.dims == ("x", "z", "y")
    assert back.spacing == (0.5, 2.0, 1.0)
    with pytest.raises(ts.InvalidInputError, match=r"to_zarr\(path, overwrite=True\) replaces it"):
        x.to_zarr(tmp_path / "out", "a/b")
    with pytest.raises(ts.TileSparkError, match="shards of whole chunks"):
        x.to_zarr(tmp_path / "new", chunks=2, shards=3)
    with pytest.raises(ts.UnsupportedError, match="1 axis or more"):
        ts.from_numpy(np.array(3.0)).to_zarr(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_pyramids(spark: SparkSession, tmp_path: Path) -> None:
    for dtype in ("float32", "uint8", "int64", "complex64", "float16"):
        array = data(dtype, (13, 20, 9))
        x = ts.from_numpy(array, blocks=(6, 7, 8), spacing=(2, 1, 0.5))
        x.to_zarr(tmp_path / "a", chunks=4, overwrite=True, options={"downsample": "1,2,2"})
        group = zarr.open_group(tmp_path / "a", mode="r")
        image = group.attrs["ome"]["multiscales"][0]
        assert [axis["name"] for axis in image["axes"]] == ["z", "y", "x"]
        assert [level["path"] for level in image["datasets"]] == ["0", "1", "2", "3"]
        assert image["datasets"][2]["coordinateTransformations"] == [
            {"type": "scale", "scale": [2.0, 4.0, 2.0]},
            {"type": "translation", "translation": [0.0, 1.5, 0.75]},
        ]
        finer = array
        for level in range(4):
            written(tmp_path / "a" / str(level), finer)
            assert group[str(level)].metadata.dimension_names == ("z", "y", "x")
            read = ts.read_zarr(tmp_path / "a", level=level)
            same(read, finer)
            assert read.spacing == (2.0, 2.0**level, 0.5 * 2**level)
            finer = means(finer)
    series = data("uint16", (2, 3, 5, 6))
    ts.from_numpy(series).to_zarr(tmp_path / "s", chunks=(2, 3, 3), options={"downsample": "1,2,2"})
    image = zarr.open_group(tmp_path / "s", mode="r").attrs["ome"]["multiscales"][0]
    assert [(axis["name"], axis["type"]) for axis in image["axes"]] == [
        ("t", "time"), ("z", "space"), ("y", "space"), ("x", "space")
    ]
    written(tmp_path / "s" / "1", means(series))
    labels = data("int32", (13, 20, 9))
    ts.from_numpy(labels).to_zarr(
        tmp_path / "l", chunks=4, shards=8, options={"downsample": "2,2,2", "downsampleMethod": "nearest"}
    )
    written(tmp_path / "l" / "0", labels)
    written(tmp_path / "l" / "1", labels[::2, ::2, ::2])
    written(tmp_path / "l" / "2", labels[::4, ::4, ::4])


def means(array: Any, factors: tuple[int, ...] = (1, 2, 2)) -> Any:
    """The mean of each ``factors`` elements along the last axes, of fewer at the ends."""
    sums, counts = array.astype("complex128" if array.dtype.kind == "c" else "float64"), np.ones(array.shape)
    for axis, factor in zip(range(-len(factors), 0), factors):
        starts = np.arange(0, array.shape[axis], factor)
        sums, counts = np.add.reduceat(sums, starts, axis), np.add.reduceat(counts, starts, axis)
    return (np.rint(sums / counts) if array.dtype.kind in "iu" else sums / counts).astype(array.dtype)


def firsts(array: Any, factors: tuple[int, ...]) -> Any:
    return array[(Ellipsis,) + tuple(slice(None, None, factor) for factor in factors)]


@pytest.mark.parametrize(
    ("dtype", "shape", "factors", "method", "levels"),
    [
        ("uint16", (13, 20, 9), (2, 2, 2), "mean", 4),
        ("float32", (2, 3, 5, 9, 8), (1, 2, 2), "mean", 3),
        ("int32", (13, 20, 9), (2, 2, 2), "nearest", 4),
    ],
    ids=["volume", "series", "labels"],
)
def test_ome_zarr_reads_pyramids(
    spark: SparkSession,
    tmp_path: Path,
    dtype: str,
    shape: tuple[int, ...],
    factors: tuple[int, ...],
    method: str,
    levels: int,
) -> None:
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Multiscales, Reader
    from ome_zarr_models.v05 import Image

    array = data(dtype, shape)
    finest = np.array((0.5, 4.0, 2.0, 1.0, 0.25)[-len(shape) :])
    options = {"downsample": ",".join(map(str, factors)), "downsampleMethod": method}
    x = ts.from_numpy(array, spacing=tuple(finest))
    x.to_zarr(tmp_path / "a", chunks=4, shards=8, options=options)
    Image.from_zarr(zarr.open_group(tmp_path / "a", mode="r"))  # the reader takes metadata that this refuses
    (node,) = Reader(parse_url(tmp_path / "a"))()
    assert node.first(Multiscales).datasets == [str(level) for level in range(levels)]
    types = {"t": "time", "c": "channel"}
    assert node.metadata["axes"] == [{"name": name, "type": types.get(name, "space")} for name in "tczyx"[-len(shape) :]]
    every = np.array((1,) * (len(shape) - len(factors)) + factors)
    expected = array
    for level, (found, steps) in enumerate(zip(node.data, node.metadata["coordinateTransformations"], strict=True)):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(found.compute(scheduler="synchronous"), expected)
        scale = [{"type": "scale", "scale": (finest * every**level).tolist()}]
        # The middle of the elements whose mean this is.
        shift = [{"type": "translation", "translation": (finest * (every**level - 1.0) / 2).tolist()}]
        assert steps == (scale + shift if method == "mean" and level > 0 else scale)
        expected = means(expected, factors) if method == "mean" else firsts(expected, factors)


def test_spectra_from_store_to_store(spark: SparkSession, tmp_path: Path) -> None:
    array = data("float32", (12, 10, 16))
    write3(tmp_path / "v", array, (5, 4, 6), [BytesCodec(), ZstdCodec()])
    ts.fft.rfftn(ts.read_zarr(tmp_path / "v")).to_zarr(tmp_path / "s", chunks=8)
    found = zarr.open_array(tmp_path / "s", mode="r")[...]
    np.testing.assert_allclose(found, np.fft.rfftn(array), rtol=1e-4, atol=1e-2)
    same(ts.read_zarr(tmp_path / "s"), found)


@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
def test_tensorstore(spark: SparkSession, tmp_path: Path, driver: str) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    for dtype, shape in (("float32", (13, 11, 20)), ("uint16", (3, 13, 11, 20)), ("complex64", (30, 41))):
        array = data(dtype, shape)
        chunk = [min(each, 7) for each in shape[-3:]]
        chunks = [1] * (len(shape) - len(chunk)) + chunk
        layout = {"chunk_layout": {"write_chunk": {"shape": chunks}}} if driver == "zarr3" else {"chunks": chunks}
        spec = {"driver": driver, "kvstore": f"file://{tmp_path / 'in'}/", "create": True, "delete_existing": True}
        made = tensorstore.open(
            spec | ({"schema": layout} if driver == "zarr3" else {"metadata": layout}), dtype=dtype, shape=shape
        ).result()
        made[...] = array
        same(ts.read_zarr(tmp_path / "in"), array)
        options = {"version": 3 if driver == "zarr3" else 2, "compressor": "blosc-lz4"}
        ts.from_numpy(array).to_zarr(tmp_path / "out", chunks=chunk, overwrite=True, options=options)
        found = tensorstore.open({"driver": driver, "kvstore": f"file://{tmp_path / 'out'}/"}).result()
        np.testing.assert_array_equal(found[...].read().result(), array)


def measured() -> Any:
    xarray = pytest.importorskip("xarray")
    time = np.datetime64("2026-11-30", "ns") + np.arange(6) * np.timedelta64(1500, "ms")
    y, x = np.linspace(-1, 1, 5), np.arange(4, dtype="f4")
    coords = {
        "time": ("time", time),
        "y": ("y", y, {"units": "m"}),
        "x": ("x", x),
        "angle": (("y", "x"), np.outer(y, x)),
        "number": ("time", np.arange(6) * 3),
    }
    values = np.random.default_rng(5).normal(size=(6, 5, 4))
    return xarray.DataArray(values, dims=("time", "y", "x"), coords=coords, name="pressure", attrs={"units": "Pa", "bits": [1, 2]})


@pytest.mark.parametrize("component", ["pressure", "run/first/pressure"])
@pytest.mark.parametrize("version", [3, 2])
def test_coordinates_come_back(spark: SparkSession, tmp_path: Path, component: str, version: int) -> None:
    xarray = pytest.importorskip("xarray")
    data, store = measured(), tmp_path / "store.zarr"
    array = ts.from_xarray(data)
    array.to_zarr(store, component, options={"version": version})
    back = ts.read_zarr(store, component)
    assert back.spacing == (1.5, 0.5, 1.0)
    xarray.testing.assert_identical(back.to_xarray(), data)
    xarray.testing.assert_identical(ts.read_zarr(store / component).to_xarray(), data)
    group = component.rpartition("/")[0] or None
    with xarray.open_zarr(store, group=group, consolidated=False) as opened:
        xarray.testing.assert_identical(opened["pressure"].load(), data)
    spectrum = ts.fft.fft(back, axis=0)
    spectrum.to_zarr(store, component.replace("pressure", "spectrum"), options={"version": version})
    with xarray.open_zarr(store, group=group, consolidated=False) as opened:
        np.testing.assert_array_equal(opened["spectrum"]["freq_time"], np.fft.fftfreq(6, 1.5))
    assert ts.read_zarr(store, component, select="time:2").to_xarray().equals(data[2].drop_vars(("time", "number")))


def test_coordinates_that_xarray_wrote(spark: SparkSession, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    data = measured().assign_coords(kind=("time", list("abcdef")))
    for version in (2, 3):
        path = tmp_path / str(version)
        data.to_dataset().to_zarr(path, zarr_format=version)
        with pytest.warns(UserWarning, match="'kind' is left out"):
            back = ts.read_zarr(path, "pressure")
        xarray.testing.assert_identical(back.to_xarray(), data.drop_vars("kind"))
    uneven = data.drop_vars("kind").assign_coords(y=[0.0, 1, 3, 4, 9])
    uneven.to_dataset().to_zarr(tmp_path / "uneven")
    with pytest.warns(UserWarning, match="axis 'y' are not at equal distances"):
        back = ts.read_zarr(tmp_path / "uneven", "pressure")
    assert back.spacing is not None and np.isnan(back.spacing[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ts.read_zarr(tmp_path / "uneven", "pressure", spacing=2).spacing == (2, 2, 2)


def test_other_coordinates_are_not_lost(spark: SparkSession, tmp_path: Path) -> None:
    data = measured()
    ts.from_xarray(data).to_zarr(tmp_path / "s", "pressure")
    ts.from_xarray(data * 2).to_zarr(tmp_path / "s", "twice")  # with the same coordinates
    moved = ts.from_xarray(data.assign_coords(x=data.x + 1))
    with pytest.raises(ts.errors.InvalidInputError, match="other coordinates 'x'"):
        moved.to_zarr(tmp_path / "s", "moved")
    assert not (tmp_path / "s" / "moved").exists()
    moved.to_zarr(tmp_path / "s", "moved", overwrite=True)
    np.testing.assert_array_equal(ts.read_zarr(tmp_path / "s", "moved").to_xarray().x, data.x + 1)
    with pytest.raises(ts.errors.InvalidInputError, match="overwrite=True"):
        ts.from_xarray(data).to_zarr(tmp_path / "s", "twice")


@pytest.mark.parametrize("options", [{}, {"version": 2}, {"chunks": 5}, {"chunks": 4, "shards": 8}, {"order": "F"}])
def test_vectors(spark: SparkSession, tmp_path: Path, options: dict[str, Any]) -> None:
    numbers = np.arange(23) * 0.5 - 3
    given = {name: options[name] for name in ("chunks", "shards") if name in options}
    rest = {name: value for name, value in options.items() if name not in given}
    column = ts.from_numpy(np.tile(numbers, (2, 1)).T)[:, 1]
    for path, array in ((tmp_path / "row", ts.from_numpy(numbers)), (tmp_path / "column", column)):
        array.to_zarr(path, **given, options=rest)
        stored = zarr.open_array(path)
        assert stored.shape == (23,) and stored.chunks == (given.get("chunks", 23),)
        np.testing.assert_array_equal(stored[...], numbers)
        same(ts.read_zarr(path), numbers)
    with pytest.raises(ts.errors.InvalidInputError, match="an array of 2 axes or more"):
        ts.from_numpy(numbers).to_zarr(tmp_path / "image", options={"downsample": "1,2"})


def packed(tmp_path: Path, version: int) -> Any:
    xarray = pytest.importorskip("xarray")
    values = np.round(np.random.default_rng(3).normal(58, 3, size=(4, 5, 6)), 2)
    values[1, 2, 3] = values[3, :, 0] = np.nan
    data = xarray.DataArray(values, dims=("z", "y", "x"), name="a", attrs={"units": "m"})
    encoding = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 50.0, "_FillValue": -32768}
    data.to_dataset().to_zarr(tmp_path / "packed", zarr_format=version, encoding={"a": encoding}, consolidated=True)
    return data


@pytest.mark.parametrize("version", [2, 3])
def test_packed_numbers_are_decoded_as_by_xarray(spark: SparkSession, tmp_path: Path, version: int) -> None:
    xarray = pytest.importorskip("xarray")
    data, store = packed(tmp_path, version), tmp_path / "packed"
    x = ts.read_zarr(store, "a")
    np.testing.assert_allclose(x.compute(), data, rtol=1e-14)
    assert x.to_xarray().attrs == {"units": "m"}
    (x * 2).to_zarr(store, "twice")  # the group's consolidated metadata would not show it
    with xarray.open_zarr(store) as opened:
        np.testing.assert_allclose(opened["twice"], data * 2)
    raw = ts.read_zarr(store, "a", mask_and_scale=False)
    assert raw.dtype == np.int16 and raw.to_xarray().attrs["scale_factor"] == 0.01
    assert (raw + 1).to_xarray().attrs == {"units": "m"}
    assert ts.read_zarr(store, "a", dtype="float32").dtype == np.float32
    xarray.DataArray(np.where(np.isnan(data), -9999, data), dims=data.dims, name="b").to_dataset().to_zarr(
        tmp_path / "marked", zarr_format=version, encoding={"b": {"_FillValue": -9999.0}}
    )
    with xarray.open_zarr(tmp_path / "marked") as opened:
        np.testing.assert_array_equal(ts.read_zarr(tmp_path / "marked", "b").compute(), opened["b"])
    write2(tmp_path / "image", np.arange(60, dtype="u2").reshape(3, 4, 5), (3, 4, 5), fill_value=0, attributes={"_ARRAY_DIMENSIONS": ["z", "y", "x"]})
    assert ts.read_zarr(tmp_path / "image").dtype == np.uint16


@pytest.mark.parametrize("version", [2, 3])
def test_groups_that_exist(spark: SparkSession, tmp_path: Path, version: int) -> None:
    data = packed(tmp_path, version)
    store, x = tmp_path / "packed", ts.from_xarray(data.fillna(0))
    x.to_zarr(store, "x")
    x[:2, :3].to_zarr(store, "a", chunks=2, overwrite=True)
    group = zarr.open_group(store, mode="r")
    np.testing.assert_array_equal(group["x"][...], data.fillna(0))
    assert group["a"].shape == (2, 3, 6)
    assert zarr.open_array(store / "x").metadata.zarr_format == version
    with pytest.raises(ts.InvalidInputError, match=f"expected {version}, that of the group"):
        x.to_zarr(store, "y", options={"version": 5 - version})
    with pytest.raises(ts.InvalidInputError, match="is an array, which holds no other arrays"):
        x.to_zarr(store, "x/inner")
    with pytest.raises(ts.InvalidInputError, match="packed/x exists"):
        x.to_zarr(store, "x")


def test_spectra_keep_their_frequencies(spark: SparkSession, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    plain = ts.from_numpy(np.random.default_rng(1).normal(size=(8, 6, 10)), spacing=(2, 0.5, 0.25))
    spectrum = ts.fft.fftn(plain)
    spectrum.to_zarr(tmp_path / "alone")
    assert ts.read_zarr(tmp_path / "alone").spacing == (1 / 16, 1 / 3, 0.4)
    spectrum.to_zarr(tmp_path / "group", "spectrum")
    with xarray.open_zarr(tmp_path / "group") as opened:
        assert opened["spectrum"].dims == ("freq_dim_0", "freq_dim_1", "freq_dim_2")
        np.testing.assert_array_equal(opened["freq_dim_2"], np.fft.fftfreq(10, 0.25))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ts.read_zarr(tmp_path / "group", "spectrum").spacing == (1 / 16, 1 / 3, 0.4)


def test_options_as_python_writes_them(spark: SparkSession, tmp_path: Path) -> None:
    x = ts.from_numpy(np.zeros((6, 8, 10)) + 1, spacing=(2, 1, 1))
    x._labels = x._labels.__class__(("time", "y", "x"), spacing=x.spacing)
    x.to_zarr(tmp_path / "i", chunks=(2, -1, 4), options={"downsample": (1, 2, 2), "attributes": {"a": [1]}})
    group = zarr.open_group(tmp_path / "i", mode="r")
    image = group.attrs["ome"]["multiscales"][0]
    assert [axis.get("type") for axis in image["axes"]] == ["time", "space", "space"]
    assert group.attrs["a"] == [1] and group["0"].chunks == (2, 8, 4)
    with pytest.raises(ts.TileSparkError, match="expected 3 whole numbers of 1 or more"):
        x.to_zarr(tmp_path / "no", chunks=(32, 32))


@pytest.mark.parametrize("names", [("a b", "a.b"), ("a-b", "a`b"), ("é", "select")])
def test_axes_of_any_name(tmp_path: Path, spark: SparkSession, names: tuple[str, str]) -> None:
    array = data("float64", (3, 2, 2, 3, 4))
    write3(tmp_path / "in", array, (1, 1, 2, 3, 4), [BytesCodec()], dimension_names=[*names, "p", "q", "r"])
    x = ts.read_zarr(tmp_path / "in")
    same(x, array)
    same(x[1], array[1])
    same(x[:, 0], array[:, 0])
    same(x[::-1, 1] + 1, array[::-1, 1] + 1)
    same(x.take([2, 0], axis=0), array[[2, 0]])
    same(x.sum(0), array.sum(0))
    x[0].to_zarr(tmp_path / "out", chunks=(2, 2, 3, 4))
    same(ts.read_zarr(tmp_path / "out"), array[0])


def test_coordinates_that_differ_in_their_units(spark: SparkSession, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    store = tmp_path / "s"

    def month(start: str) -> Any:
        days = np.datetime64(start, "ns") + np.arange(3) * np.timedelta64(1, "D")
        return xarray.DataArray(np.ones((3, 2)), dims=("time", "x"), coords={"time": days}, name=start)

    ts.from_xarray(month("2000-01-01")).to_zarr(store, "a")
    with pytest.raises(ts.InvalidInputError, match="other coordinates 'time'"):
        ts.from_xarray(month("2000-02-01")).to_zarr(store, "b")
    ts.from_xarray(month("2000-02-01")).to_zarr(store, "b", overwrite=True)
    np.testing.assert_array_equal(ts.read_zarr(store, "b").to_xarray().time, month("2000-02-01").time)
    metres = xarray.DataArray(np.ones(3), dims="u", coords={"u": ("u", [1.0, np.nan, 3.0], {"units": "m"})})
    for name in ("c", "d"):  # a coordinate with NaN is equal to itself
        with pytest.warns(UserWarning, match="not all finite"):
            array = ts.from_xarray(metres)
        array.to_zarr(store, name)
    with pytest.warns(UserWarning, match="not all finite"):
        kilometres = ts.from_xarray(metres.assign_coords(u=("u", metres.u.data, {"units": "km"})))
    with pytest.raises(ts.InvalidInputError, match="other coordinates 'u'"):
        kilometres.to_zarr(store, "e")


def test_names_of_coordinates(spark: SparkSession, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    store = tmp_path / "s"
    values = np.arange(12.0).reshape(3, 4) + 1
    plain = xarray.DataArray(values, dims=("y", "x"), coords={"x": np.arange(4)})
    with pytest.raises(ts.InvalidInputError, match="coordinate of the same name"):
        ts.from_xarray(plain).to_zarr(store, "x", overwrite=True)
    ts.from_numpy(values).to_zarr(store, "lat")
    with pytest.raises(ts.InvalidInputError, match="something else of the name of the coordinate 'lat'"):
        ts.from_xarray(plain.assign_coords(lat=("x", np.arange(4.0)))).to_zarr(store, "n", overwrite=True)
    np.testing.assert_array_equal(ts.read_zarr(store, "lat").compute(), values)
    assert not (store / "n").exists()
    odd = plain.assign_coords({"a/b": ("x", np.arange(4)), "..": ("y", np.arange(3)), "big": ("x", np.arange(4, dtype="u8"))})
    with pytest.warns(UserWarning) as warned:
        ts.from_xarray(odd).to_zarr(store, "n")
    assert sum("is left out" in str(each.message) for each in warned) == 3
    xarray.testing.assert_equal(ts.read_zarr(store, "n").to_xarray(), plain)
    names = xarray.DataArray(values.reshape(3, 2, 2), dims=("a b", "y,z", "é"))
    ts.from_xarray(names).to_zarr(store, "odd")
    back = ts.read_zarr(store, "odd")
    assert back.dims == ("a b", "y,z", "é")
    np.testing.assert_array_equal(back[1].compute(), names[1])
    with pytest.raises(ts.InvalidInputError, match="component is 5"):
        ts.from_numpy(values).to_zarr(store, 5)  # type: ignore[arg-type]


def test_missing_values_of_coordinates(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    xarray = pytest.importorskip("xarray")
    lat = np.array([[1.0, 2, np.nan, 4]] * 3)
    data = xarray.Dataset({"v": (("y", "x"), np.ones((3, 4)))}, coords={"lat": (("y", "x"), lat)})
    for version in (2, 3):
        data.lat.encoding = {"_FillValue": -999.0, "scale_factor": 0.5}
        data.to_zarr(tmp_path / str(version), zarr_format=version)
        np.testing.assert_array_equal(ts.read_zarr(tmp_path / str(version), "v").to_xarray().lat, lat)
    with monkeypatch.context() as patch, pytest.warns(UserWarning, match="it would be read now"):
        patch.setattr("tilespark._coordinates.MOST", 11)
        assert "lat" not in ts.read_zarr(tmp_path / "3", "v").to_xarray().coords
    damaged = tmp_path / "3" / "lat" / "c" / "0" / "0"
    damaged.write_bytes(b"none of zstd")
    with pytest.warns(UserWarning, match="'lat' is left out"):
        assert ts.read_zarr(tmp_path / "3", "v").compute().sum() == 12
    write3(tmp_path / "nameless", np.ones((3, 4)), (3, 4), [BytesCodec()], attributes={"coordinates": "lat"})
    assert ts.read_zarr(tmp_path / "nameless").dims is None
    plain = tmp_path / "plain"  # a directory that is no group
    ts.from_numpy(np.arange(4.0)).to_zarr(plain / "x", options={"dimension_names": "x"})
    ts.from_numpy(np.ones((3, 4))).to_zarr(plain / "v", options={"dimension_names": "y,x"})
    assert "x" not in ts.read_zarr(plain / "v").to_xarray().coords


def test_variables_with_common_coordinates_at_once(spark: SparkSession, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(np.ones((3, 4)), dims=("y", "x"), coords={"x": np.arange(4), "y": np.arange(3)})
    arrays = {name: ts.from_xarray(data * at) for at, name in enumerate("abcd")}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda each: each[1].to_zarr(tmp_path / "s", each[0]), arrays.items()))
    for at, name in enumerate(arrays):
        xarray.testing.assert_equal(ts.read_zarr(tmp_path / "s", name).to_xarray(), data * at)

"""Names, coordinates and spacing of xarray's arrays: in, through operators, and back."""

import warnings
from typing import Any

import numpy as np
import pytest
import tilespark as ts

xarray = pytest.importorskip("xarray")

numpys: Any = np  # whose types know no names of axes

pytestmark = pytest.mark.usefixtures("spark")


def labelled(dims="time lat lon", shape=(6, 4, 5)):
    names = dims.split()
    coords = {
        "time": np.datetime64("2026-03-01") + np.arange(shape[0]) * np.timedelta64(30, "s"),
        "lat": [10.0, 10.5, 11.0, 11.5],
        "lon": np.arange(5.0),
    }
    values = np.random.default_rng(3).normal(size=shape)
    data = xarray.DataArray(values, dims=names, coords={name: coords[name] for name in names}, name="t2m", attrs={"units": "K"})
    return data.assign_coords(height=2.0, area=(names[1:], np.arange(np.prod(shape[1:])).reshape(shape[1:])))


def uneven(axis="time"):
    data = labelled()
    values = data[axis].values.copy()
    values[1] += (values[1] - values[0]) // 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ts.from_xarray(data.assign_coords({axis: values}))


def same(found, expected):
    xarray.testing.assert_allclose(found.to_xarray(), expected, rtol=1e-12)
    assert found.dims == expected.dims


@pytest.mark.parametrize(
    "of",
    [
        lambda x: x.transpose("lon", "time", "lat"),
        lambda x: x[1:5:2, :, 3],
        lambda x: x[::-1, 1:],
        lambda x: x[0],
        lambda x: x.sum("time"),
        lambda x: x.mean(("lat", "lon")),
        lambda x: x.max("lon", keepdims=True),
        lambda x: x.std("lat"),
        lambda x: x.argmax("time"),
        lambda x: x * 2 + 1,
        lambda x: -abs(x),
        lambda x: x + x,
        lambda x: np.maximum(x, 0.0),
        lambda x: x.astype("float32").astype("float64") * 0 + x,
        lambda x: (x[0] * 2).T,
    ],
)
def test_coordinates_follow(of):
    data = labelled()
    same(of(ts.from_xarray(data)), of(data))


def test_a_round_trip_is_the_same_array():
    data = labelled()
    xarray.testing.assert_identical(ts.from_xarray(data).to_xarray(), data)
    assert ts.from_xarray(data).spacing == (30.0, 0.5, 1.0)
    xarray.testing.assert_identical(ts.from_xarray(data.isel(lat=0)).rechunk((3, 5)).to_xarray(), data.isel(lat=0))


def test_names_in_every_axis_argument():
    data = labelled()
    x, a = ts.from_xarray(data), data.values
    same(x.swapaxes("time", "lon"), data.transpose("lon", "lat", "time"))
    for found, expected in (
        (x.flip("lat"), np.flip(a, 1)),
        (x.flip(["lat", "time"]), np.flip(a, (0, 1))),
        (numpys.flip(x, "lon"), np.flip(a, 2)),
        (x.roll(2, "time"), np.roll(a, 2, 0)),
        (x.roll((2, 1), ("time", "lon")), np.roll(a, (2, 1), (0, 2))),
        (ts.concatenate([x, x], axis="lat"), np.concatenate([a, a], 1)),
        (x.pad({"time": (1, 2), "lon": 1}), np.pad(a, ((1, 2), (0, 0), (1, 1)))),
        (x.crop({"lat": (1, 0)}), a[:, 1:]),
        (x.map_overlap(lambda b: b * 2.0, {"time": 1}), a * 2),
        (x.halo({"lat": 1}).trim(), a),
        (x[:, :1].squeeze("lat"), a[:, 0]),
        (numpys.moveaxis(x, "lon", 0), np.moveaxis(a, 2, 0)),
        (numpys.moveaxis(x, ("lon", "lat"), (0, 1)), np.moveaxis(a, (2, 1), (0, 1))),
        (numpys.mean(x, axis="lat"), a.mean(1)),
        (ts.linalg.norm(x, axis="time"), np.linalg.norm(a, axis=0)),
        (ts.fft.fft(x, axis="time"), np.fft.fft(a, axis=0)),
        (ts.fft.fftn(x, axes="time"), np.fft.fft(a, axis=0)),
        (ts.fft.rfftn(x, axes=("lat", "time")), np.fft.rfftn(a, axes=(1, 0))),
        (ts.fft.fftshift(x, "lon"), np.fft.fftshift(a, 2)),
        (ts.fft.fftshift(x, ("lon", "lat")), np.fft.fftshift(a, (2, 1))),
        (ts.signal.welch(x, nperseg=4, axis="time")[1], None),
        (x.slabs("lat"), a),
        (x.pencils("time"), a),
        (ts.fft.ifft(ts.fft.fft(x, axis="time"), axis="time").real, a),
        (ts.fft.ifft(ts.fft.fft(x, axis="time"), axis="freq_time").real, a),
    ):
        if expected is None:
            expected = ts.signal.welch(x, nperseg=4, axis=0)[1].compute()
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-9, atol=1e-12)
    assert numpys.size(x, axis="lat") == 4
    with pytest.raises(ts.InvalidInputError, match="'depth'"):
        x.sum("depth")
    with pytest.raises(ts.InvalidInputError, match="'depth'"):
        x.pad({"depth": 1})


def test_coordinates_of_shapes_that_change():
    data = labelled()
    x = ts.from_xarray(data)
    same(x.crop({"lat": (1, 1), "lon": 2}), data.isel(lat=slice(1, 3), lon=slice(2, 3)))
    same(x[:, 1:2].squeeze(), data.isel(lat=1))
    joined = ts.concatenate([x, x], axis="time").to_xarray()
    assert joined.dims == data.dims and "time" not in joined.coords
    xarray.testing.assert_identical(joined.lat.drop_vars("height"), data.lat.drop_vars("height"))
    padded = x.pad(1).to_xarray()
    assert padded.dims == data.dims and not set(padded.coords) & {"time", "lat", "lon", "area"}
    wider = x[:, :1] + np.ones((6, 4, 5))
    assert wider.to_xarray().dims == data.dims and "lat" not in wider.to_xarray().coords


def test_names_come_from_either_operand():
    data = labelled()
    x, plain = ts.from_xarray(data), ts.from_numpy(np.ones((6, 4, 5)))
    for found in (x + plain, plain + x, np.ones((6, 4, 5)) + x, plain[0] + x):
        same(found, data + 1)


def test_a_batch_keeps_the_names_of_axes_that_stay():
    data = labelled()
    x = ts.from_xarray(data, batch=True)
    same(x.sum("time"), data.sum("time"))
    same(x.sum("lat"), data.sum("lat"))
    same(x.mT, data.transpose("time", "lon", "lat"))


@pytest.mark.parametrize(
    ("operator", "of"),
    [
        ("low_pass", lambda s: ts.fft.low_pass(s, 0.1)),
        ("band_pass", lambda s: ts.fft.band_pass(s, 0.1, 0.2)),
        ("radial_average", ts.fft.radial_average),
        ("frequencies", ts.fft.frequencies),
    ],
)
def test_what_needs_the_spacing_refuses_uneven_coordinates(operator, of):
    x = uneven()
    assert np.isnan(x.spacing[0]) and x.spacing[1:] == (0.5, 1.0)
    for spectrum in (ts.fft.fftn(x), ts.fft.rfftn(x.T), ts.fft.fftn(x, permuted=True), ts.fft.fftn(x[1:]).transpose(1, 0, 2)):
        with pytest.raises(ts.InvalidInputError, match=f"{operator} .*'time'.*interp.*spacing=") as error:
            of(spectrum)
        assert "freq_" not in str(error.value)
    of(ts.fft.fftn(x, axes=("lat", "lon")))  # whose coordinates are even
    of(ts.fft.fftn(ts.from_xarray(x.to_xarray(), spacing=(30.0, 0.5, 1.0))))


def test_transforms_alone_need_no_spacing(tmp_path):
    x = uneven()
    a = x.compute()
    spectrum = ts.fft.fftn(x)
    np.testing.assert_allclose(spectrum.compute(), np.fft.fftn(a), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ts.fft.ifftn(spectrum).real.compute(), a, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ts.fft.power_spectrum(spectrum).compute(), abs(np.fft.fftn(a)) ** 2, rtol=1e-9)
    shown = spectrum.to_xarray()
    assert shown.dims == ("freq_time", "freq_lat", "freq_lon")
    assert set(shown.coords) & set(shown.dims) == {"freq_lat", "freq_lon"}  # none are known for time
    x.to_zarr(tmp_path / "z")
    assert ts.read_zarr(tmp_path / "z").dims == ("time", "lat", "lon")


@pytest.mark.parametrize("shift", [False, True, "volume", "both"])
@pytest.mark.parametrize("transform", ["fftn", "rfftn"])
def test_a_spectrum_has_frequencies_for_coordinates(transform, shift):
    data = labelled()
    spectrum = getattr(ts.fft, transform)(ts.from_xarray(data), shift=shift)
    found = spectrum.to_xarray()
    assert found.dims == ("freq_time", "freq_lat", "freq_lon") == spectrum.dims
    for name, expected in zip(found.dims, ts.fft.frequencies(spectrum), strict=True):
        np.testing.assert_allclose(found[name], np.asarray(expected), rtol=1e-12)
    turned = spectrum.transpose("freq_lon", "freq_time", "lat").to_xarray()
    xarray.testing.assert_allclose(turned, found.transpose("freq_lon", "freq_time", "freq_lat"))
    xarray.testing.assert_allclose(abs(spectrum)[1:4].to_xarray(), abs(found)[1:4])


def test_frequencies_of_axes_that_are_transformed():
    data = labelled()
    x = ts.from_xarray(data)
    one = ts.fft.rfft(x, n=8, axis="time").to_xarray()
    assert one.dims == ("freq_time", "lat", "lon")
    np.testing.assert_allclose(one.freq_time, np.fft.rfftfreq(8, 30.0))
    xarray.testing.assert_equal(one.lat.drop_vars("height"), data.lat.drop_vars("height"))  # as it was
    both = ts.fft.fft(ts.fft.fft(x, axis="time"), axis="lat").to_xarray()
    np.testing.assert_allclose(both.freq_time, np.fft.fftfreq(6, 30.0))
    np.testing.assert_allclose(both.freq_lat, np.fft.fftfreq(4, 0.5))
    moved = ts.fft.fftshift(ts.fft.fft(x, axis="time"), axes="time").to_xarray()
    np.testing.assert_allclose(moved.freq_time, np.fft.fftshift(np.fft.fftfreq(6, 30.0)))
    permuted = ts.fft.fftn(x, permuted=True).to_xarray()
    assert permuted.dims == ("freq_lat", "freq_lon", "freq_time")
    np.testing.assert_allclose(permuted.freq_lat, np.fft.fftfreq(4, 0.5))
    np.testing.assert_allclose(permuted.freq_time, np.fft.fftfreq(6, 30.0))


def test_frequencies_of_vectors_matrices_and_batches():
    data = labelled()
    line = ts.fft.rfft(ts.from_xarray(data[:, 0, 0])).to_xarray()
    assert line.dims == ("freq_time",)
    np.testing.assert_allclose(line.freq_time, np.fft.rfftfreq(6, 30.0))
    plane = ts.fft.fft2(ts.from_xarray(data[0])).to_xarray()
    assert plane.dims == ("freq_lat", "freq_lon")
    np.testing.assert_allclose(plane.freq_lat, np.fft.fftfreq(4, 0.5))
    batch = ts.fft.rfft2(ts.from_xarray(data, batch=True)).to_xarray()
    assert batch.dims == ("time", "freq_lat", "freq_lon")
    np.testing.assert_allclose(batch.freq_lon, np.fft.rfftfreq(5))
    xarray.testing.assert_equal(batch.time.drop_vars("height"), data.time.drop_vars("height"))
    plain = ts.fft.fft(ts.from_numpy(np.ones((3, 4)), spacing=0.1)).to_xarray()
    assert plain.dims == ("dim_0", "freq_dim_1")
    np.testing.assert_allclose(plain.freq_dim_1, np.fft.fftfreq(4, 0.1))


def test_an_inverse_has_the_names_of_before():
    data = labelled()
    x = ts.from_xarray(data)
    for back in (
        ts.fft.irfftn(ts.fft.low_pass(ts.fft.rfftn(x), 9.0)),
        ts.fft.ifftn(ts.fft.fftn(x, permuted=True)).real,
        ts.fft.irfft(ts.fft.rfft(x, axis="lat"), axis="lat"),
        ts.fft.ifft(ts.fft.fft(x[:, 0, 0])).real,
    ):
        found = back.to_xarray()
        assert found.dims == data.dims[: found.ndim]
        assert not any(str(name).startswith("freq_") for name in found.coords)
    kept = ts.fft.irfft(ts.fft.rfft(x, axis="time"), n=6, axis="time").to_xarray()
    xarray.testing.assert_equal(kept.lat.drop_vars("height"), data.lat.drop_vars("height"))
    np.testing.assert_allclose(kept, data, rtol=1e-9, atol=1e-12)


def test_an_inverse_has_the_coordinates_of_before():
    x = ts.from_xarray(labelled())
    back = ts.fft.irfft(ts.fft.rfft(x, axis="time"), 6, axis="freq_time")
    xarray.testing.assert_allclose(back.to_xarray(), labelled().rename(None).drop_attrs())
    longer = ts.fft.ifft(ts.fft.fft(x, axis="time")[:4], 9, axis="freq_time")[7:]
    assert "time" not in longer.to_xarray().coords and "lat" in longer.to_xarray().coords


def test_welch_has_its_frequencies():
    data = labelled()
    frequencies, spectra = ts.signal.welch(ts.from_xarray(data), 1 / 30, nperseg=4, axis="time")
    found = spectra.to_xarray()
    assert found.dims == ("freq_time", "lat", "lon")
    np.testing.assert_allclose(found.freq_time, frequencies)
    np.testing.assert_allclose(found.lat, data.lat)

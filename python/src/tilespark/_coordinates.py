"""Coordinates of an array of Zarr, as xarray stores them: arrays of the same group, named as the axes they belong to."""

from __future__ import annotations

import base64
import json
import math
import struct
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._labels import Labels, steps_of
from .errors import InvalidInputError, TileSparkError

if TYPE_CHECKING:
    from ._array import BlockArray

#: CF's attributes of numbers that are stored in a packed form.
PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value")


def group_of(path: str, component: str | None) -> tuple[str, str, str]:
    """The store, the component of the array's group, ``""`` for the store's root, and the array's name."""
    if component and component.strip("/"):
        group, _, name = component.strip("/").rpartition("/")
        return path, group, name
    store, _, name = path.rstrip("/").rpartition("/")
    return store, "", name


def read(read_array: Callable[[str], BlockArray], array: BlockArray, name: str, stated: tuple[float, ...] | None) -> Labels:
    """The labels of an array with the coordinates that its group holds, decoded as xarray does.

    Args:
        read_array: reads an array of the group by its name.
        array: the array, with the labels that its own metadata state.
        name: the array's name.
        stated: the user's spacing, in place of that of the coordinates.
    """
    own = array._labels if stated is None else replace(array._labels, spacing=stated)
    try:
        import xarray
    except ImportError:
        return own
    rest = _without_encoding(own.attrs)
    listed = own.attrs.get("coordinates")
    further = listed.split() if isinstance(listed, str) else []
    found = {}
    for each in dict.fromkeys((*(own.dims or ()), *further)):
        if each != name and (variable := _variable(read_array, each, array)) is not None:
            found[each] = variable
    raw = xarray.Dataset(coords=found)
    try:
        decoded = xarray.decode_cf(raw)
    except ValueError as error:
        warnings.warn(f"read_zarr: the coordinates of {name!r} stay numbers, as their times cannot be decoded: {error}", stacklevel=3)
        decoded = xarray.decode_cf(raw, decode_times=False)
    coords: dict[str, Any] = {str(each): decoded.coords[each] for each in decoded.coords}
    spacing = own.spacing
    if stated is None and any(dim in coords for dim in own.dims or ()):
        steps = steps_of(own.dims or (), coords, "read_zarr")
        spacing = tuple(step or stated for step, stated in zip(steps, spacing or (1.0,) * len(steps), strict=True))
    return Labels(own.dims, coords, spacing, name=name, attrs=rest)


def _variable(read_array: Callable[[str], BlockArray], name: str, array: BlockArray) -> Any:
    """A coordinate as xarray's variable; None if the group has none of this name that fits the array."""
    import xarray

    try:
        found = read_array(name)
    except TileSparkError as error:
        if "has no array or group" not in str(error) and "is a group and no image" not in str(error):
            warnings.warn(f"read_zarr: the coordinate {name!r} is left out: {error}", stacklevel=4)
        return None
    dims, own = found.dims, array.dims or ()
    extents = dict(zip(own, array.shape, strict=True))
    if dims is None or any(extents.get(dim) != extent for dim, extent in zip(dims, found.shape, strict=True)):
        return None
    if name in own and dims != (name,):
        return None
    return xarray.Variable(dims, found.compute(), _without_encoding(found._labels.attrs))


def _without_encoding(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that are xarray's own, for its way of storing. Only a fill value that is a number marks missing values."""
    rest = {name: each for name, each in attributes.items() if name != "coordinates"}
    fill = _number(rest.get("_FillValue"))
    if fill is None or math.isnan(fill):
        rest.pop("_FillValue", None)
    return rest


def _number(value: Any) -> float | None:
    """A number in an attribute; xarray writes floats of version 3 as the base64 text of their bytes. None for anything else."""
    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
            return float(value) if len(raw) != 8 else float(struct.unpack("<d", raw)[0])
        except ValueError:
            return math.nan if value == "NaN" else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def decoded(array: BlockArray) -> BlockArray:
    """An array of CF's conventions as its numbers: ``value * scale_factor + add_offset`` in float64, and NaN for missing values.

    Those equal ``_FillValue`` or ``missing_value``. An array without these attributes is returned as it is.
    """
    attrs = array._labels.attrs
    given = {name: _number(attrs[name]) for name in PACKING if name in attrs}
    known = {name: value for name, value in given.items() if value is not None and not math.isnan(value)}
    if not known or array.dtype.kind == "c":
        return array
    missing = {f"m{at}": known[name] for at, name in enumerate(("_FillValue", "missing_value")) if name in known}
    text = "v"
    if "scale_factor" in known or "add_offset" in known:
        text = "v * s + o"
    if missing:
        text = f"if({' OR '.join(f'v = {name}' for name in missing)}, nan(), {text})"
    scalars = {"s": known.get("scale_factor", 1.0), "o": known.get("add_offset", 0.0)} if "s" in text else {}
    return array.astype("float64").map(text, **scalars, **missing)


def missing(
    array: BlockArray, read_array: Callable[[str], BlockArray], overwrite: bool
) -> tuple[dict[str, BlockArray], dict[str, Any]]:
    """The coordinates of an array that its group does not hold yet, by their names, and the attributes of the array in it.

    Args:
        array: the array.
        read_array: reads an array of the group by its name.
        overwrite: whether other coordinates of the same name are to be replaced.

    Raises:
        InvalidInputError: if the group has other coordinates of the same name, and they are not to be replaced.
    """
    import xarray

    from ._array import from_numpy

    dims, known = array._labels.coordinates(array.shape)
    coords = xarray.Dataset(coords=known).coords
    further, made = [], {}
    for name, each in coords.items():
        encoded = xarray.conventions.encode_cf_variable(each.variable, name=name)
        if encoded.ndim == 0 or encoded.dtype.kind not in "biufc":
            what = "a single value" if encoded.ndim == 0 else f"of dtype {each.dtype}"
            warnings.warn(f"to_zarr: the coordinate {name!r} is {what} and is left out", stacklevel=4)
            continue
        if name not in (dims or ()):
            further.append(str(name))
        stored = _stored(read_array, str(name))
        if stored is not None and stored.dims == encoded.dims and np.array_equal(stored.compute(), encoded.values):
            continue
        if stored is not None and not overwrite:
            raise InvalidInputError(
                f"The group has other coordinates {name!r}; to_zarr(path, component, overwrite=True) replaces them, or name"
                " another group"
            )
        values = from_numpy(np.ascontiguousarray(encoded.values), spark=array.spark)
        values._labels = Labels(tuple(map(str, encoded.dims)), attrs=dict(encoded.attrs))
        made[str(name)] = values
    attributes = dict(array._labels.attrs)
    return made, attributes | {"coordinates": " ".join(further)} if further else attributes


def _stored(read_array: Callable[[str], BlockArray], name: str) -> BlockArray | None:
    try:
        return read_array(name)
    except TileSparkError:
        return None


def text(attributes: Mapping[Any, Any]) -> str | None:
    """Attributes as JSON; those that JSON cannot hold are left out, with a warning; None if none are left."""
    held = {}
    for name, value in attributes.items():
        plain = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
        if isinstance(plain, float) and not np.isfinite(plain):
            if name == "_FillValue":
                continue  # xarray adds it to all floats
            plain = None
        try:
            held[str(name)] = json.loads(json.dumps(plain, allow_nan=False))
        except (TypeError, ValueError):
            plain = None
        if plain is None and value is not None:
            warnings.warn(f"to_zarr: the attribute {name!r} is no JSON and is left out: {value!r}", stacklevel=4)
            held.pop(str(name), None)
    return json.dumps(held) if held else None

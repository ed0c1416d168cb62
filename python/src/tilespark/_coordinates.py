"""Coordinates of an array of Zarr, as xarray stores them: arrays of the same group, named as the axes they belong to."""

from __future__ import annotations

import base64
import json
import math
import struct
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._labels import PACKING, Labels, steps_of
from .errors import InvalidInputError, TileSparkError

if TYPE_CHECKING:
    from ._array import BlockArray

#: Types of coordinates that are stored.
STORABLE = "bool int8 int16 int32 int64 uint8 uint16 uint32 float16 float32 float64 complex64 complex128".split()

#: Most elements of a coordinate that is read with its array.
MOST = 10_000_000

#: How often a coordinate is tried that another process writes, and the seconds between.
ATTEMPTS, PAUSE = 50, 0.2


@dataclass(frozen=True)
class Group:
    """The group of a Zarr store that holds an array.

    Attributes:
        store: path of the store.
        component: path of the group in it, ``""`` for the store's root.
        name: the array's name.
        read_component: reads an array by its path in the store, without coordinates.
    """

    store: str
    component: str
    name: str
    read_component: Callable[[str], BlockArray]

    def place(self, name: str) -> str:
        """The path of an array of the group in the store."""
        return f"{self.component}/{name}" if self.component else name

    def read(self, name: str) -> BlockArray | None:
        """An array of the group; None if there is none of this name.

        Raises:
            TileSparkError: if it is a group, or cannot be read.
        """
        try:
            return self.read_component(self.place(name))
        except TileSparkError as error:
            if "has no array or group" in str(error) or "Path does not exist" in str(error):
                return None
            raise

    def exists(self) -> bool:
        """Whether it is a group of Zarr, and not only a directory."""
        try:
            self.read_component(self.component)
        except TileSparkError as error:
            return "is a group" in str(error)
        return True  # an image


def group_of(read_array: Callable[[str, str], BlockArray], path: str, component: str | None) -> Group:
    """The group of an array.

    Args:
        read_array: reads an array by the path of its store and its path in it.
        path: path of the store, or of the array.
        component: path of the array in the store.
    """
    store, inner = path, (component or "").strip("/")
    if not inner:
        store, _, inner = path.rstrip("/").rpartition("/")
    group, _, name = inner.rpartition("/")
    return Group(store, group, name, lambda place: read_array(store, place))


def read(group: Group, array: BlockArray, stated: tuple[float, ...] | None) -> Labels:
    """The labels of an array with the coordinates that its group holds, decoded as xarray does.

    Args:
        group: the array's group.
        array: the array, with the labels that its own metadata state.
        stated: the user's spacing, in place of that of the coordinates.
    """
    own = array._labels if stated is None else replace(array._labels, spacing=stated)
    try:
        import xarray
    except ImportError:
        return own
    dims, listed = own.dims or (), own.attrs.get("coordinates")
    names = (*dims, *listed.split()) if dims and isinstance(listed, str) else dims
    found = {}
    for name in dict.fromkeys(names):
        if name != group.name and (variable := _fitting(group, name, array)) is not None:
            found[name] = variable
    if not found or not group.exists():
        return replace(own, attrs=_for_xarray(own.attrs)) if own.attrs else own
    raw = xarray.Dataset(coords=found).coords
    coords: dict[str, Any] = {str(each): raw[each] for each in raw}
    spacing = own.spacing
    if stated is None and any(dim in coords for dim in dims):
        steps = steps_of(dims, coords, "read_zarr")
        spacing = tuple(step or known for step, known in zip(steps, spacing or (1.0,) * len(steps), strict=True))
    return Labels(own.dims, coords, spacing, name=group.name, attrs=_for_xarray(own.attrs))


def _fitting(group: Group, name: str, array: BlockArray) -> Any:
    """A coordinate as xarray's variable; None if the group has none of this name that fits the array."""
    try:
        found = group.read(name)
        dims, own = None if found is None else found.dims, array.dims or ()
        extents = dict(zip(own, array.shape, strict=True))
        if found is None or dims is None or (name in own and dims != (name,)):
            return None
        if any(extents.get(dim) != extent for dim, extent in zip(dims, found.shape, strict=True)):
            return None
        if math.prod(found.shape) > MOST:
            warnings.warn(f"read_zarr: the coordinate {name!r} of {found.shape} is left out: it would be read now", stacklevel=4)
            return None
        return _variable(name, found)
    except TileSparkError as error:
        if "is a group" not in str(error):
            warnings.warn(f"read_zarr: the coordinate {name!r} is left out: {error}", stacklevel=4)
        return None


def _variable(name: str, stored: BlockArray) -> Any:
    """A stored coordinate as xarray's variable, decoded."""
    import xarray

    raw = xarray.Variable(stored.dims or (), stored.compute(), _for_xarray(stored._labels.attrs, stored.dtype))
    try:
        return xarray.conventions.decode_cf_variable(name, raw).load()
    except ValueError as error:
        warnings.warn(f"the times of {name!r} cannot be decoded, they stay numbers: {error}", stacklevel=5)
        return xarray.conventions.decode_cf_variable(name, raw, decode_times=False).load()


def _for_xarray(attributes: Mapping[str, Any], dtype: np.dtype[Any] | None = None) -> dict[str, Any]:
    """Attributes without those of xarray's way of storing; a fill value stays if it is a number, which marks missing values."""
    rest = {name: each for name, each in attributes.items() if name != "coordinates"}
    fill = _number(rest.get("_FillValue"))
    if fill is None or math.isnan(fill):
        rest.pop("_FillValue", None)
    elif dtype is not None:
        rest["_FillValue"] = dtype.type(fill)
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
    text, scalars = "v", {}
    if "scale_factor" in known or "add_offset" in known:
        text, scalars = "v * s + o", {"s": known.get("scale_factor", 1.0), "o": known.get("add_offset", 0.0)}
    if missing:
        text = f"if({' OR '.join(f'v = {name}' for name in missing)}, nan(), {text})"
    return array.astype("float64").map(text, **scalars, **missing)


def missing(
    array: BlockArray, group: Group, overwrite: bool, made_of: Callable[..., BlockArray]
) -> tuple[dict[str, BlockArray], dict[str, Any]]:
    """The coordinates of an array that its group does not hold yet, by their names, and the attributes of the array in it.

    Args:
        array: the array.
        group: its group.
        overwrite: whether other coordinates of the same name are to be replaced.
        made_of: makes an array of a numpy array.

    Raises:
        InvalidInputError: if the group has something else of the same name; coordinates are replaced with ``overwrite``.
    """
    import xarray

    dims, known = array._labels.coordinates(array.shape)
    coords = xarray.Dataset(coords=known).coords
    further, made = [], {}
    for key, each in coords.items():
        name = str(key)
        if name == group.name:
            raise InvalidInputError(f"The array {name!r} has a coordinate of the same name; name another component")
        encoded = xarray.conventions.encode_cf_variable(each.variable, name=name)
        if reason := _unstorable(name, encoded):
            warnings.warn(f"to_zarr: the coordinate {name!r} is left out: {reason}", stacklevel=4)
            continue
        if name not in (dims or ()):
            further.append(name)
        if _is_there(group, name, encoded, each.variable, overwrite):
            continue
        values = made_of(np.ascontiguousarray(encoded.values), spark=array.spark)
        values._labels = Labels(tuple(map(str, encoded.dims)), attrs=dict(encoded.attrs))
        made[name] = values
    attributes = dict(array._labels.attrs)
    return made, attributes | {"coordinates": " ".join(further)} if further else attributes


def _unstorable(name: str, encoded: Any) -> str | None:
    """Why a coordinate cannot be an array of a group; None if it can."""
    if name in (".", "..", "zarr.json") or name.startswith((".z", "__")) or "/" in name or " " in name or len(name) > 200:
        return "Zarr has no array of this name"
    if encoded.ndim == 0:
        return "it is a single value"
    if encoded.dtype.kind not in "biufc" or str(encoded.dtype) not in STORABLE:
        return f"its dtype is {encoded.dtype}"
    return None


def _is_there(group: Group, name: str, encoded: Any, coordinate: Any, overwrite: bool) -> bool:
    """Whether the group has the same coordinate."""
    try:
        stored = group.read(name)
        if stored is None:
            return False
        if stored.dims == encoded.dims:
            found = _variable(name, stored)
            same = stored.dtype == encoded.dtype and found.equals(coordinate) and text(found.attrs) == text(coordinate.attrs)
            if same or overwrite:
                return bool(same)
            raise InvalidInputError(
                f"The group has other coordinates {name!r}; to_zarr(path, component, overwrite=True) replaces them for all its"
                " arrays, or name another group"
            )
        reason = f"of the axes {stored.dims}"
    except InvalidInputError:
        raise
    except TileSparkError as error:
        reason = f"({error})"
    raise InvalidInputError(f"The group has something else of the name of the coordinate {name!r} {reason}; name another group")


def put(group: Group, name: str, values: BlockArray, overwrite: bool) -> None:
    """Writes a coordinate; if another process writes the same one meanwhile, that is enough."""
    for attempt in range(ATTEMPTS + 1):
        try:
            values.to_zarr(group.store, group.place(name), overwrite=overwrite)
            return
        except TileSparkError as error:
            if attempt == ATTEMPTS or not ("another write" in str(error) or "exists;" in str(error)):
                raise
            time.sleep(PAUSE)
            stored = group.read(name)
            if stored is not None and stored.dims == values.dims and np.array_equal(stored.compute(), values.compute()):
                return


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

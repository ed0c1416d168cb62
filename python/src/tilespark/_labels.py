"""Names, coordinates and spacing of an array's axes. Only Python knows them."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .errors import InvalidInputError

NDArray = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Labels:
    """Labels of an array and its axes.

    Attributes:
        dims: a name for each axis, or None.
        coords: coordinates along axes, by name.
        spacing: distance between neighbours along each axis, or None.
        name: name of the array, as in xarray.
        attrs: attributes of the array, as in xarray.
    """

    dims: tuple[str, ...] | None = None
    coords: dict[str, Any] = field(default_factory=dict)
    spacing: tuple[float, ...] | None = None
    name: Any = None
    attrs: dict[Any, Any] = field(default_factory=dict)

    def transposed(self, axes: Sequence[int]) -> Labels:
        """The labels of a transpose whose axis i is axis ``axes[i]`` of this array."""
        return replace(
            self,
            dims=self.dims and tuple(self.dims[axis] for axis in axes),
            spacing=self.spacing and tuple(self.spacing[axis] for axis in axes),
        )

    def sliced(self, entries: Sequence[slice | int]) -> Labels:
        """The labels of a part of the array: a slice or an index for each axis; an index drops its axis."""
        kept = [axis for axis, entry in enumerate(entries) if isinstance(entry, slice)]
        dims, spacing = self.dims, self.spacing
        coords = self.coords
        if dims is not None:
            of = dict(zip(dims, entries, strict=True))
            coords = {name: each.isel({dim: of[dim] for dim in each.dims if dim in of}) for name, each in coords.items()}
        return replace(
            self,
            dims=dims and tuple(dims[axis] for axis in kept),
            coords=coords,
            spacing=spacing and tuple(spacing[axis] * abs(entries[axis].step or 1) for axis in kept),  # type: ignore[union-attr]
        )

    def taken(self, axis: int, indices: NDArray) -> Labels:
        """The labels of the array at some indices along an axis; its spacing is 1 unless the indices are evenly spaced."""
        spacing = self.spacing
        if spacing is not None:
            steps = np.unique(np.diff(indices))
            own = spacing[axis] * abs(int(steps[0])) if len(steps) == 1 and steps[0] else 1.0
            spacing = (*spacing[:axis], own, *spacing[axis + 1 :])
        coords = self.coords
        if self.dims is not None:
            dim = self.dims[axis]
            coords = {name: each.isel({dim: indices}) if dim in each.dims else each for name, each in coords.items()}
        return replace(self, coords=coords, spacing=spacing)

    def of_axes(self) -> Labels:
        """Only names and spacing of the axes: a spectrum has other coordinates, name and attributes than its input."""
        return Labels(self.dims, spacing=self.spacing)


def labels_of(data_array: Any, spacing: float | Sequence[float] | None) -> Labels:
    """The labels of an xarray.DataArray.

    Args:
        data_array: the DataArray.
        spacing: the user's spacing; by default the distances between each axis' coordinates. If these are uneven, a
            warning names the axis and its spacing is 1.
    """
    dims = tuple(str(dim) for dim in data_array.dims)
    found = checked_spacing(spacing, len(dims))
    if found is None:
        found = ()
        for dim in data_array.dims:
            found += (_step(dim, np.asarray(data_array.coords[dim])) if dim in data_array.coords else 1.0,)
    return Labels(
        dims,
        {str(name): data_array.coords[name] for name in data_array.coords},
        found,
        name=data_array.name,
        attrs=dict(data_array.attrs),
    )


def _step(dim: object, values: NDArray) -> float:
    """The distance between coordinates, in seconds for dates and durations; 1 if it is undefined, as between names."""
    if len(values) < 2:
        return 1.0
    numbers = _numbers(values)
    if numbers is None:
        return 1.0
    if np.isfinite(numbers).all():
        steps = np.diff(numbers)
        step = float(numbers[-1] - numbers[0]) / len(steps)
        rounding = np.finfo(values.dtype).eps if values.dtype.kind == "f" else np.finfo(float).eps
        if step and np.abs(steps - step).max() <= 1e-6 * abs(step) + 4 * rounding * np.abs(numbers).max():
            return abs(step)
        what = f"are not at equal distances: from {steps.min():g} to {steps.max():g}"
    else:
        what = f"are not all finite: {values[~np.isfinite(numbers)][0]}"
    warnings.warn(
        f"from_xarray: the coordinates of the axis {dim!r} {what}. Its spacing is 1; say spacing=..., or interpolate to even ones",
        stacklevel=4,
    )
    return 1.0


def _numbers(values: NDArray) -> NDArray | None:
    """Coordinates as floats; dates and durations as seconds since the first one; None for anything else."""
    if values.dtype.kind in "iuf":
        return values.astype(float)
    try:
        since = values - values[0]
    except TypeError:  # names or bools
        return None
    if since.dtype.kind == "m":
        seconds: NDArray = since / np.timedelta64(1, "s")  # NaT becomes NaN
        return seconds
    if all(isinstance(each, datetime.timedelta) for each in since):  # datetimes of Python or cftime
        return np.array([each.total_seconds() for each in since])
    return None


def checked_spacing(spacing: float | Sequence[float] | None, rank: int) -> tuple[float, ...] | None:
    """The spacing of each axis, from a user's argument.

    Raises:
        InvalidInputError: if there is not one finite number above 0 for each axis.
    """
    if spacing is None:
        return None
    try:
        values = (float(spacing),) * rank if np.ndim(spacing) == 0 else tuple(map(float, spacing))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        values = ()
    if len(values) != rank or not all(0 < value < math.inf for value in values):
        raise InvalidInputError(
            f"spacing {spacing!r} of an array of {rank} axes; expected a finite number above 0, one for all or one for each axis"
        )
    return values

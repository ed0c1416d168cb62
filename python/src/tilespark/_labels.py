"""Names, coordinates and spacing of an array's axes. Only Python knows them."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .errors import InvalidInputError

NDArray = np.ndarray[Any, np.dtype[Any]]
Frequencies = Callable[[], NDArray]

#: CF's attributes of numbers that are stored in a packed form.
PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value")

#: What the name of an axis begins with after a transform, as in xrft.
FREQUENCY = "freq_"


@dataclass(frozen=True)
class Labels:
    """Labels of an array and its axes.

    Attributes:
        dims: a name for each axis, or None; ``freq_time`` after a transform along ``time``.
        coords: coordinates along axes, by name.
        spacing: distance between neighbours along each axis, NaN if its coordinates are uneven or not finite, or None; for an
            axis of frequencies, that of the axis before its transform.
        frequencies: for each axis a function that returns its frequencies in the order of the elements, since they may be many;
            or None if it was not transformed or the spacing is unknown. None if no axis has any.
        name: name of the array, as in xarray.
        attrs: attributes of the array, as in xarray.
    """

    dims: tuple[str, ...] | None = None
    coords: dict[str, Any] = field(default_factory=dict)
    spacing: tuple[float, ...] | None = None
    frequencies: tuple[Frequencies | None, ...] | None = field(default=None, compare=False)
    name: Any = None
    attrs: dict[Any, Any] = field(default_factory=dict)

    def transposed(self, axes: Sequence[int]) -> Labels:
        """The labels of a transpose whose axis i is axis ``axes[i]`` of this array."""
        dims = self.dims and tuple(self.dims[axis] for axis in axes)
        turned = {name: each.transpose(*(dim for dim in dims or () if dim in each.dims)) for name, each in self.coords.items()}
        return replace(
            self,
            dims=dims,
            coords=turned,  # as xarray does
            spacing=self.spacing and tuple(self.spacing[axis] for axis in axes),
            frequencies=self.frequencies and tuple(self.frequencies[axis] for axis in axes),
        )

    def sliced(self, entries: Sequence[slice | int]) -> Labels:
        """The labels of a part of the array: a slice or an index for each axis; an index drops its axis."""
        kept = [axis for axis, entry in enumerate(entries) if isinstance(entry, slice)]
        dims, spacing = self.dims, self.spacing
        coords = self.coords
        if dims is not None:
            of = dict(zip(dims, entries, strict=True))
            coords = {name: each.isel({dim: of[dim] for dim in each.dims if dim in of}) for name, each in coords.items()}
        found = self.frequencies or (None,) * len(entries)
        return replace(
            self,
            dims=dims and tuple(dims[axis] for axis in kept),
            coords=coords,
            spacing=spacing and tuple(spacing[axis] * abs(entries[axis].step or 1) for axis in kept),  # type: ignore[union-attr]
            frequencies=self.frequencies and _unless_empty([_part(found[axis], entries[axis]) for axis in kept]),
        )

    def taken(self, axis: int, indices: NDArray) -> Labels:
        """The labels of the array at some indices along an axis; its spacing is unknown unless the indices are evenly spaced."""
        spacing = self.spacing
        if spacing is not None and len(indices) > 1:
            steps = np.unique(np.diff(indices))
            own = spacing[axis] * abs(int(steps[0])) if len(steps) == 1 and steps[0] else math.nan
            spacing = (*spacing[:axis], own, *spacing[axis + 1 :])
        coords = self.coords
        if self.dims is not None:
            dim = self.dims[axis]
            coords = {name: each.isel({dim: indices}) if dim in each.dims else each for name, each in coords.items()}
        found = self.frequencies and tuple(
            _part(each, indices) if at == axis else each for at, each in enumerate(self.frequencies)
        )
        return replace(self, coords=coords, spacing=spacing, frequencies=found)
    def reduced(self, axes: Sequence[int], rank: int, keepdims: bool) -> Labels:
        """The labels of a reduction along ``axes`` of an array of ``rank`` axes: coordinates of the other axes stay."""
        found = self.frequencies and tuple(None if axis in axes else each for axis, each in enumerate(self.frequencies))
        rest = replace(self, coords=self._coords_but(axes), frequencies=found, attrs={})
        return rest if keepdims else rest.sliced([0 if axis in axes else slice(None) for axis in range(rank)])

    def rolled(self, shifts: Sequence[int]) -> Labels:
        """The labels of an array whose elements move by ``shifts`` along each axis.

        Frequencies move too, as fftshift needs; other coordinates along these axes are dropped.
        """
        found = self.frequencies and tuple(
            _rolled(each, shift) for each, shift in zip(self.frequencies, shifts, strict=True)
        )
        coords = self._coords_but([axis for axis, shift in enumerate(shifts) if shift])
        return Labels(self.dims, coords, self.spacing, found)

    def joined(self, axis: int) -> Labels:
        """The labels of arrays joined along an axis, with the coordinates of the other axes."""
        return replace(self.reduced([axis], axis + 1, True), name=None)

    def computed(self) -> Labels:
        """The labels of elements that were computed from those of this array: without attributes of how it packs numbers."""
        return replace(self, attrs={name: each for name, each in self.attrs.items() if name not in PACKING})

    def of_axes(self) -> Labels:
        """Only names and spacing of the axes: of a result with other coordinates, name and attributes than its input."""
        return Labels(self.dims, spacing=self.spacing)

    def of_spectrum(self, frequencies: Mapping[int, Frequencies | None], rank: int) -> Labels:
        """The labels after a transform.

        Args:
            frequencies: the frequencies along the transformed axes; None for an axis whose spacing is unknown.
            rank: number of axes.
        """
        found = [each if axis not in frequencies else frequencies[axis] for axis, each in self._each(rank)]
        dims = self.dims and tuple(FREQUENCY * (axis in frequencies) + dim for axis, dim in enumerate(self.dims))
        # Coordinates along the axis alone have the name from before, so they come back with the inverse.
        gone = set(self.coords) - set(self._coords_but(tuple(frequencies)))
        coords = {name: each for name, each in self.coords.items() if name not in gone or each.ndim == 1}
        return Labels(dims, coords, self.spacing, _unless_empty(found))

    def of_inverse(self, axes: Sequence[int], rank: int) -> Labels:
        """The labels after an inverse transform along ``axes`` of an array of ``rank`` axes."""
        found = [None if axis in axes else each for axis, each in self._each(rank)]
        dims = self.dims and tuple(before(dim) if axis in axes else dim for axis, dim in enumerate(self.dims))
        return Labels(dims, self._coords_but(axes), self.spacing, _unless_empty(found))

    def fitting(self, shape: Sequence[int | None]) -> Labels:
        """The labels without coordinates along an axis of another extent than theirs."""
        extents = dict(zip(self.dims or (), shape, strict=False))
        coords = {
            name: each
            for name, each in self.coords.items()
            if all(extents.get(dim, extent) == extent for dim, extent in each.sizes.items())
        }
        return replace(self, coords=coords)

    def spacing_or_one(self) -> tuple[float, ...] | None:
        """The spacing with 1 for axes whose spacing is unknown; None if there is none."""
        return self.spacing and tuple(1.0 if math.isnan(each) else each for each in self.spacing)

    def stored_spacing(self) -> tuple[float, ...] | None:
        """The distance between neighbours along each axis, of frequencies too, if that of all axes is known, else None."""
        if self.spacing is None:
            return None
        own = tuple(
            step if each is None else frequency_step(each())
            for step, (_, each) in zip(self.spacing, self._each(len(self.spacing)), strict=True)
        )
        return None if any(map(math.isnan, own)) else own

    def require_spacing(self, operator: str, axes: Sequence[int]) -> None:
        """Checks that the spacing of some axes is known.

        Raises:
            InvalidInputError: if the coordinates of one were uneven or not finite; the message names ``operator``.
        """
        for axis in axes:
            if self.spacing and math.isnan(self.spacing[axis]):
                name = repr(before(self.dims[axis])) if self.dims else str(axis)
                raise InvalidInputError(
                    f"{operator} needs the spacing of the axis {name}, whose coordinates are uneven or not finite; interpolate"
                    " to even ones before from_xarray, by data.interp for example, or say spacing=... to from_xarray or"
                    " read_zarr"
                )

    def has_coordinates(self) -> bool:
        """Whether an axis has coordinates or frequencies."""
        return bool(self.coords) or self.frequencies is not None

    def coordinates(self, shape: Sequence[int]) -> tuple[tuple[str, ...] | None, dict[str, Any]]:
        """The names of the axes and the coordinates that fit an array of ``shape``, for an xarray.DataArray.

        An axis of frequencies has them as its coordinates, in cycles per unit of the coordinates before the transform.
        """
        dims = self.dims
        if dims is None and self.frequencies is not None:
            dims = tuple(f"{'' if each is None else FREQUENCY}dim_{axis}" for axis, each in enumerate(self.frequencies))
        extents = dict(zip(dims or (), shape, strict=False))
        known: dict[str, Any] = {
            name: each
            for name, each in self.coords.items()
            if all(extents.get(dim) == extent for dim, extent in each.sizes.items())
        }
        for axis, each in self._each(len(shape)):
            values = None if each is None else each()
            if dims and values is not None and len(values) == shape[axis]:
                known[dims[axis]] = (dims[axis], values)
        return dims, known

    def _coords_but(self, axes: Sequence[int]) -> dict[str, Any]:
        """The coordinates that do not depend on some axes."""
        gone = {dim for axis, dim in enumerate(self.dims or ()) if axis in axes}
        return {name: each for name, each in self.coords.items() if not gone & set(each.dims)}

    def _each(self, rank: int) -> Iterator[tuple[int, Frequencies | None]]:
        return enumerate(self.frequencies or (None,) * rank)


def before(dim: str) -> str:
    """The name of an axis before its transform."""
    return dim.removeprefix(FREQUENCY)


def of_two(one: Labels, two: Labels, ranks: tuple[int, int]) -> Labels:
    """The labels of an elementwise function of two arrays: those of the array of more axes, or of the first that has names."""
    if ranks[0] != ranks[1]:
        return one if ranks[0] > ranks[1] else two
    return two if one.dims is None and one.spacing is None else one


def frequencies_of(length: int | None, step: float, half: bool, shifted: bool) -> Frequencies | None:
    """The frequencies along a transformed axis; None if length or step is unknown.

    Args:
        length: elements before the transform.
        step: distance between them, NaN if it is unknown.
        half: whether only the frequencies 0 to length // 2 are there; these are never shifted.
        shifted: whether the zero frequency is in the middle.
    """
    if length is None or math.isnan(step):
        return None

    def found() -> NDArray:
        if half:
            return np.fft.rfftfreq(length, step)
        values: NDArray = np.fft.fftfreq(length, step)
        return np.fft.fftshift(values) if shifted else values

    return found


def _part(frequencies: Frequencies | None, entry: slice | int | NDArray) -> Frequencies | None:
    return None if frequencies is None else lambda: frequencies()[entry]


def _rolled(frequencies: Frequencies | None, shift: int) -> Frequencies | None:
    return None if frequencies is None else lambda: np.roll(frequencies(), shift)


def _unless_empty(found: Sequence[Frequencies | None]) -> tuple[Frequencies | None, ...] | None:
    return None if all(each is None for each in found) else tuple(found)


def labels_of(data_array: Any, spacing: float | Sequence[float] | None) -> Labels:
    """The labels of an xarray.DataArray.

    Args:
        data_array: the DataArray.
        spacing: the user's spacing; by default the distances between each axis' coordinates. If these are uneven, a
            warning names the axis and its spacing is NaN, which functions that need it refuse.
    """
    dims = tuple(str(dim) for dim in data_array.dims)
    found = checked_spacing(spacing, len(dims))
    if found is None:
        found = tuple(each or 1.0 for each in steps_of(data_array.dims, data_array.coords, "from_xarray"))
    return Labels(
        dims,
        {str(name): data_array.coords[name] for name in data_array.coords},
        found,
        name=data_array.name,
        attrs=dict(data_array.attrs),
    )


def steps_of(dims: Sequence[Any], coords: Mapping[Any, Any], maker: str) -> list[float | None]:
    """The distance between the coordinates of each axis, as :func:`labels_of` says; None for an axis without any."""
    found: list[float | None] = []
    for dim in dims:
        found.append(_step(dim, np.asarray(coords[dim]), maker) if dim in coords else None)
    return found


def frequency_step(frequencies: NDArray) -> float:
    """The distance between neighbouring frequencies, which may begin at zero or in the middle."""
    return abs(float(frequencies[1] - frequencies[0])) if len(frequencies) > 1 else 1.0


def _step(dim: object, values: NDArray, maker: str) -> float:
    """The distance between coordinates, in seconds for dates and durations; 1 between names, NaN if it is not one number."""
    if len(values) < 2:
        return 1.0
    numbers = _numbers(values)
    if numbers is None:
        return 1.0
    if str(dim).startswith(FREQUENCY):
        return frequency_step(numbers) or math.nan
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
        f"{maker}: the coordinates of the axis {dim!r} {what}. Its spacing is unknown, and what needs it will raise; say"
        " spacing=..., or interpolate to even ones",
        stacklevel=5,
    )
    return math.nan


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

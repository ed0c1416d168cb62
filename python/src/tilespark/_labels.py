"""Names, coordinates and spacing of the axes of an array. They live in Python alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .errors import InvalidInputError


@dataclass(frozen=True)
class Labels:
    """What is known of an array's axes.

    Attributes:
        dims: a name for each axis, or None.
        coords: coordinates along axes, by name.
        spacing: distance between neighbours along each axis, or None.
        name: of the array, as xarray has it.
        attrs: of the array, as xarray has them.
    """

    dims: tuple[str, ...] | None = None
    coords: dict[str, Any] = field(default_factory=dict)
    spacing: tuple[float, ...] | None = None
    name: Any = None
    attrs: dict[Any, Any] = field(default_factory=dict)

    def transposed(self, axes: Sequence[int]) -> Labels:
        """The labels after output axis i became input axis ``axes[i]``."""
        return replace(
            self,
            dims=self.dims and tuple(self.dims[axis] for axis in axes),
            spacing=self.spacing and tuple(self.spacing[axis] for axis in axes),
        )

    def of_axes(self) -> Labels:
        """Names and spacing of the axes alone: a spectrum has other coordinates, and is another quantity."""
        return Labels(self.dims, spacing=self.spacing)


def labels_of(data_array: Any) -> Labels:
    """The labels of an xarray.DataArray; the spacing where all coordinates are numbers at equal distances."""
    dims = tuple(str(dim) for dim in data_array.dims)
    labels = Labels(
        dims,
        {str(name): data_array.coords[name] for name in data_array.coords},
        name=data_array.name,
        attrs=dict(data_array.attrs),
    )
    spacing: list[float] = []
    for dim, extent in zip(dims, data_array.shape, strict=True):
        values = np.asarray(data_array.coords[dim]) if dim in data_array.coords else np.arange(extent)
        if values.dtype.kind not in "iuf" or len(values) < 2:
            spacing.append(1.0)
            continue
        steps = np.diff(values.astype(float))
        if not np.allclose(steps, steps[0], rtol=1e-6) or steps[0] == 0:
            return labels
        spacing.append(abs(float(steps.mean())))
    return replace(labels, spacing=tuple(spacing))


def checked_spacing(spacing: float | Sequence[float] | None, rank: int) -> tuple[float, ...] | None:
    """One distance between neighbours for each axis, from what a user gives."""
    if spacing is None:
        return None
    values = (float(spacing),) * rank if isinstance(spacing, int | float | np.number) else tuple(float(s) for s in spacing)
    if len(values) != rank or any(not value > 0 for value in values):
        raise InvalidInputError(f"spacing {spacing} of an array of {rank} axes; expected a number above 0 for each")
    return values

"""Names, coordinates and spacing of the axes of an array. They live in Python alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Labels:
    """What is known of an array's axes.

    Attributes:
        dims: a name for each axis, or None.
        coords: coordinates along axes, by name.
        spacing: distance between neighbours along each axis, or None.
    """

    dims: tuple[str, ...] | None = None
    coords: dict[str, Any] = field(default_factory=dict)
    spacing: tuple[float, ...] | None = None

    def transposed(self, axes: Sequence[int]) -> Labels:
        """The labels after output axis i became input axis ``axes[i]``."""
        return Labels(
            self.dims and tuple(self.dims[axis] for axis in axes),
            self.coords,
            self.spacing and tuple(self.spacing[axis] for axis in axes),
        )

    def without_coords(self) -> Labels:
        """Names and spacing alone: the axes have other coordinates now, as a spectrum's have."""
        return replace(self, coords={})


def labels_of(data_array: Any) -> Labels:
    """The labels of an xarray.DataArray; the spacing where all coordinates are numbers at equal distances."""
    dims = tuple(str(dim) for dim in data_array.dims)
    coords = {str(name): data_array.coords[name] for name in data_array.coords}
    spacing: list[float] = []
    for dim, extent in zip(dims, data_array.shape, strict=True):
        values = np.asarray(data_array.coords[dim]) if dim in data_array.coords else np.arange(extent)
        if values.dtype.kind not in "iuf" or len(values) < 2:
            spacing.append(1.0)
            continue
        steps = np.diff(values.astype(float))
        if not np.allclose(steps, steps[0], rtol=1e-6) or steps[0] == 0:
            return Labels(dims, coords)
        spacing.append(abs(float(steps.mean())))
    return Labels(dims, coords, tuple(spacing))

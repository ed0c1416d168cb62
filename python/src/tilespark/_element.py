"""Elements of small arrays: loops over ``x[i, j]`` compute the array once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ._array import BlockArray, NDArray
from ._blocks import MATRIX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Element(BlockArray):
    """An element of a small array, without axes. Its value comes from the array's; its plan is made when it is asked for."""

    def __init__(self, source: BlockArray, at: tuple[int, ...]) -> None:
        """Wraps the element of ``source`` at ``at``, one index of 0 or more for each axis."""
        self._source, self._at = source, at
        self._batch, self._leading, self._numbered = None, None, False
        self._dropped, self._labels, self._keep = (0, 1), source._labels.sliced(list(at)), source._keep
        self._whole = self._stored = self._made = None
        self.__dict__ |= {"_kind": MATRIX, "_extents": (1, 1), "dtype": source.dtype}

    @cached_property
    def _df(self) -> DataFrame:  # type: ignore[override]
        return self._source._sliced(list(self._at))._df

    def compute(self) -> NDArray:
        """The element as a numpy array without axes; computes the whole small array, once."""
        return np.asarray(self._source._values()[self._at])


BlockArray._element_class = Element

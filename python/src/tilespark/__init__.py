"""Dense arrays on Spark: matrices and volumes as DataFrames of blocks, on CPUs and GPUs.

A :class:`BlockArray` is a lazy array with numpy's operators; :mod:`tilespark.linalg`, :mod:`tilespark.fft`,
:mod:`tilespark.random` and :mod:`tilespark.signal` have numpy's and scipy's names. Everything calls tilespark's SQL functions, so it works with a
classic session and over Spark Connect.
"""

import sys as _sys
from importlib import metadata as _metadata

from . import _element, _functions, array_api, fft, linalg, random, signal
from ._array import BlockArray, concatenate, from_numpy
from ._gaps import explain_missing as _explain_missing
from ._makers import from_cells, from_dataframe, from_rows, from_xarray, read_nifti, read_npy, read_raw, read_zarr
from ._neighbours import knn, pairs_above, row_argmax
from ._session import check, configure, jar_path
from ._versions import show_versions
from .array_api import *
from .array_api import __array_api_version__, __array_namespace_info__
from .errors import InvalidInputError, SetupError, TileSparkError, UnsupportedError
from .linalg import corrcoef, cov

_explain_missing(_sys.modules[__name__], fft, linalg, random, signal)

try:
    __version__ = _metadata.version("tilespark")
except _metadata.PackageNotFoundError:  # a source tree without an installed package
    __version__ = "0+unknown"

__all__ = [
    "BlockArray",
    "InvalidInputError",
    "SetupError",
    "TileSparkError",
    "UnsupportedError",
    "arange",
    "check",
    "concatenate",
    "configure",
    "corrcoef",
    "cov",
    "eye",
    "fft",
    "from_cells",
    "from_dataframe",
    "from_numpy",
    "from_rows",
    "from_xarray",
    "full",
    "jar_path",
    "knn",
    "linalg",
    "linspace",
    "ones",
    "pairs_above",
    "random",
    "read_nifti",
    "read_npy",
    "read_raw",
    "read_zarr",
    "row_argmax",
    "show_versions",
    "signal",
    "stack",
    "zeros",
]

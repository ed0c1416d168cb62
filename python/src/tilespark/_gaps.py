"""What numpy has and tilespark does not have yet, and the nearest thing that works."""

from __future__ import annotations

from .errors import UnsupportedError

_IN_NUMPY = "x.compute() gives the whole array to numpy"
_BY_BLOCK = "x.map_blocks(f) applies a function of numpy to each block"
_REDUCE = (
    f"{_IN_NUMPY}; for means of columns there is tilespark.linalg.center(x), for sums over blocks"
    " x.df with Spark's aggregate(values, ...)"
)

_NEAREST = {
    "__getitem__": "x.compute()[...] after making it small, or x.df.where(...) on the places of blocks",
    "__mul__": "a @ b is the matrix product, x * number scales; elementwise products exist for volumes",
    "add_number": f"a number added to each element: {_BY_BLOCK}, as x.map_blocks(lambda b: b + 1)",
    **dict.fromkeys(("sum", "mean", "std", "var", "min", "max", "argmin", "argmax", "prod", "any", "all"), _REDUCE),
    **dict.fromkeys(("real", "imag", "conj", "conjugate", "round", "clip"), _BY_BLOCK),
    **dict.fromkeys(("reshape", "ravel", "flatten", "squeeze", "swapaxes"), f"x.transpose(axes), x.rechunk(shape); {_IN_NUMPY}"),
    **dict.fromkeys(("chunks", "chunksize", "numblocks", "npartitions"), "x.blocks is the shape of a full block"),
    "dot": "a @ b",
    "visualize": "x.explain()",
    "to_zarr": "x.to_npy(path)",
    "map_overlap": _BY_BLOCK,
}


class MissingAttribute(UnsupportedError, AttributeError):
    """An attribute of numpy's or dask's arrays that this one does not have yet."""


def gap(name: str) -> Exception:
    """The error for a name that a BlockArray does not have."""
    if name not in _NEAREST:
        return AttributeError(f"A BlockArray has no attribute {name!r}")
    what = {"__getitem__": "Slicing", "__mul__": "The elementwise product of matrices", "add_number": "Adding a number"}
    return MissingAttribute(f"{what.get(name, name)} is not there yet. Nearest: {_NEAREST[name]}")


def no_ufunc(name: str) -> UnsupportedError:
    """The error for one of numpy's elementwise functions."""
    return UnsupportedError(
        f"numpy.{name} of a BlockArray is not there yet. Nearest: x.map_blocks(numpy.{name}) for functions of one array,"
        f" or {_IN_NUMPY}"
    )

"""Names that numpy has and tilespark lacks, with the nearest alternative."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import partial
from types import ModuleType
from typing import Any

from ._dispatch import NEAREST, not_offered
from .errors import UnsupportedError

_IN_NUMPY = "x.compute() gives the whole array to numpy"
_BY_BLOCK = "x.map_blocks(f) applies a function of numpy to each block"

#: Python operators that a BlockArray lacks, by the names of their methods.
OPERATORS = {
    "divmod": "divmod(x, y)",
    "rdivmod": "divmod(y, x)",
}

_NEAREST = {
    "__setitem__": "arrays never change; x.map_blocks(f) makes a new one",
    **{
        f"__{name}__": f"where y is a number, x.map_blocks(lambda b: {text.replace('x', 'b')}); {_IN_NUMPY}"
        for name, text in OPERATORS.items()
    },
    **dict.fromkeys(("chunks", "chunksize", "numblocks", "npartitions"), "x.blocks is the shape of a full block"),
    "visualize": "x.explain()",
    "argsort": f"ORDER BY over x.to_cells(); {_IN_NUMPY}",
    "sort": f"ORDER BY over x.to_cells(); {_IN_NUMPY}",
    **dict.fromkeys(("collect", "values"), "x.compute(), the whole array as numpy's"),
    **dict.fromkeys(("tolist", "tobytes"), "x.compute() of numpy has it"),
    **dict.fromkeys(("sel", "isel"), "x[...] by places; x.to_xarray() by labels, of the whole array"),
}

_WHAT = {
    "__setitem__": "Assignment to elements",
    **{f"__{name}__": text for name, text in OPERATORS.items()},
}

#: Names of reductions, by the ufuncs whose ``reduce`` they equal.
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_or": "any",
    "logical_and": "all",
}


class MissingAttribute(UnsupportedError, AttributeError):
    """An attribute of numpy or dask arrays that a BlockArray lacks."""


def gap(name: str, names: Iterable[str] = ()) -> Exception:
    """The error for an attribute that a BlockArray lacks.

    Args:
        name: the attribute.
        names: the attributes that there are.
    """
    if name not in _NEAREST:
        return AttributeError(f"A BlockArray has no attribute {name!r}{_nearest(name, names)}", name=name)
    return MissingAttribute(f"{_WHAT.get(name, name)} is not there yet. Nearest: {_NEAREST[name]}")


def explain_missing(*modules: ModuleType) -> None:
    """Makes the errors for attributes that the modules lack name the nearest ones."""
    for module in modules:
        module.__getattr__ = partial(_missing, module)  # type: ignore[method-assign]


def _missing(module: ModuleType, name: str) -> Any:
    ours = (each for each, value in vars(module).items() if getattr(value, "__module__", "").startswith("tilespark"))
    known = _OF_MODULES.get(name) or NEAREST.get(name)
    nearest = f". Nearest: {known}" if known else _nearest(name, ours)
    raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}{nearest}", name=name)


def _nearest(name: str, names: Iterable[str]) -> str:
    if name.startswith("_"):
        return ""
    found = difflib.get_close_matches(name, [each for each in names if not each.startswith("_")], cutoff=0.6)
    return f". Nearest: {', '.join(found)}" if found else ""


#: What to use in place of a name of numpy's or dask's that a module of this package lacks.
_OF_MODULES = {
    **dict.fromkeys(("load", "from_npy", "fromfile", "memmap"), "read_npy(path), read_zarr(path), read_raw(path, shape, dtype)"),
    **dict.fromkeys(("array", "from_array"), "from_numpy(a), asarray(a)"),
    **dict.fromkeys(("vstack", "hstack"), "concat(arrays, axis=...), numpy.vstack, numpy.hstack"),
    **dict.fromkeys(("rand", "random", "random_sample"), "tilespark.random.uniform(size=shape)"),
    **dict.fromkeys(("randn", "standard_normal"), "tilespark.random.normal(size=shape)"),
    **dict.fromkeys(("default_rng", "seed", "Generator"), "tilespark.random.normal(size=shape, seed=46)"),
    **dict.fromkeys(("randint", "integers"), "tilespark.astype(tilespark.random.uniform(low, high, shape), 'int64')"),
}


def with_option(name: str, option: str) -> Exception:
    """The error for an option of a function of numpy that is available without it."""
    nearest = {
        "out": f"y = {name}(...), since arrays never change; for a += x of numpy's a, a = a + x",
        "where": "tilespark.where(mask, x, y)",
        "dtype": "tilespark.astype(x, dtype)",
    }
    return not_offered(f"{name} with {option}=...", nearest.get(option, ""))


def no_ufunc(name: str, method: str, arrays: int) -> Exception:
    """The error for a ufunc of numpy, or for its reduction, that is not available.

    Args:
        name: the ufunc's name.
        method: the ufunc's method that was called: ``__call__``, ``reduce`` or others.
        arrays: the number of array arguments.
    """
    if method != "__call__":
        return not_offered(f"numpy.{name}.{method}")
    nearest = (
        f"x.map_blocks(numpy.{name})" if arrays == 1 else f"where y is a number, x.map_blocks(lambda b: numpy.{name}(b, y))"
    )
    return not_offered(f"numpy.{name}", nearest)

"""numpy's array functions for BlockArrays.

Each takes the arguments of numpy's function. Functions that some version of numpy lacks are left out there.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from functools import wraps
from typing import Any

import numpy as np

from . import array_api, fft, linalg
from ._array import BlockArray, as_array, is_number
from ._dispatch import OFFERED, Function, not_offered
from ._filled import filled
from ._gaps import with_option

#: numpy functions that call a method of their first argument, with the method's name.
_METHODS: dict[str, str] = {
    **{
        name: name
        for name in (
            "all any argmax argmin copy count_nonzero max mean min nanmean nansum pad ptp ravel round squeeze std sum swapaxes var"
        ).split()
    },
    "amax": "max",
    "amin": "min",
    "around": "round",
}

#: Functions of the array API standard that have numpy's options, or some of them.
_OF_STANDARD = (
    "broadcast_to clip cumulative_prod cumulative_sum diff empty_like expand_dims flip full_like matrix_transpose moveaxis"
    " ones_like prod repeat reshape roll stack take tensordot tile tril triu unstack zeros_like"
).split()

#: Functions of :mod:`tilespark.linalg` and :mod:`tilespark.fft`.
_OF_LINALG = "cholesky cov corrcoef eigh eigvalsh lstsq matrix_rank norm pinv qr slogdet solve svdvals".split()
_OF_FFT = "fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn".split()

#: Names of numpy's options where ours differ.
_OURS = {"a_min": "min", "a_max": "max", "correction": "ddof", "newshape": "shape"}


def _bound(theirs: Function, ours: Function) -> Function:
    """Our function with the parameters of numpy's; options that ours lacks must have values that change nothing.

    The first parameters, as many as are given by place only in ours, at least one, are numpy's first ones. Others go by name.
    """
    name = f"{theirs.__module__ or 'numpy'}.{theirs.__name__}"
    known = inspect.signature(ours).parameters
    try:
        signature = inspect.signature(theirs)
    except ValueError:  # a compiled function of an older numpy
        signature = inspect.signature(ours)
    places = list(signature.parameters)[: max(1, sum(each.kind is each.POSITIONAL_ONLY for each in known.values()))]

    @wraps(ours)
    def function(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        given |= given.pop("kwargs", {})
        first = [given.pop(each) for each in places if each in given]
        options = {}
        for option, value in given.items():
            target = _OURS.get(option, option)
            default = signature.parameters[option].default if option in signature.parameters else None
            if target in known:
                if not _same(value, default):
                    options[target] = value
            elif not _same(value, default) and not (option == "order" and value in ("C", "A", "K")):
                raise with_option(name, option)
        return ours(*first, **options)

    return function


def _same(value: Any, default: Any) -> bool:
    """Whether an option has its default, without a comparison of arrays."""
    return value is default or type(value) is type(default) and isinstance(value, str | int | float | tuple) and value == default


def _of_method(name: str) -> Function:
    method = getattr(BlockArray, name)

    @wraps(method)
    def function(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, BlockArray):
            raise not_offered(f"numpy.{name} with a BlockArray among its options,")
        return method(x, *args, **kwargs)

    return function


def _array(value: Any, like: Any = None) -> BlockArray:
    given = np.asarray(value) if isinstance(value, list | tuple) else value
    return as_array(given, like if isinstance(like, BlockArray) else None)


def _one_matrix(name: str, a: Any) -> Any:
    """A function of :mod:`tilespark.linalg` that takes the last two axes of an array, where numpy takes the first two."""
    if np.ndim(a) > 2:
        raise not_offered(f"numpy.{name} of {np.ndim(a)} axes", f"tilespark.linalg.{name}(x), of each matrix")
    return getattr(linalg, name)(a)


def diagonal(a: Any) -> Any:
    """The diagonal of a matrix; see :func:`tilespark.linalg.diagonal`."""
    return _one_matrix("diagonal", a)


def trace(a: Any) -> Any:
    """The sum of the diagonal of a matrix; see :func:`tilespark.linalg.trace`."""
    return _one_matrix("trace", a)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition; see :func:`tilespark.linalg.svd`."""
    return linalg.svd(a, full_matrices=full_matrices and compute_uv, compute_uv=compute_uv)


def transpose(a: Any, axes: Any = None) -> BlockArray:
    """The array whose axis i is axis ``axes[i]`` of this one; by default the axes in reverse order."""
    return _array(a).transpose(axes)


def where(condition: Any, x: Any = None, y: Any = None, /) -> BlockArray:
    """``x`` where the condition is true, else ``y``; see :func:`tilespark.where`."""
    if x is None or y is None:
        raise not_offered("numpy.where of a condition alone", "WHERE over x.to_cells()")
    return array_api.where(condition, x, y)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> BlockArray:
    """Sums up to each element along an axis, or in row-major order; see :func:`tilespark.cumulative_sum`."""
    return array_api.cumulative_sum(_array(a).ravel() if axis is None else a, axis=axis or 0, dtype=dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> BlockArray:
    """Products up to each element, as :func:`cumsum`; see :func:`tilespark.cumulative_prod`."""
    return array_api.cumulative_prod(_array(a).ravel() if axis is None else a, axis=axis or 0, dtype=dtype)


def dot(a: Any, b: Any) -> BlockArray:
    """``a @ b``, or ``a * b`` if one of them is a number; with the last axis but one of a ``b`` of several matrices."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return array_api.multiply(a, b)
    product: BlockArray = array_api.tensordot(a, b, axes=([-1], [-2])) if np.ndim(b) > 2 else a @ b
    return product


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> BlockArray:
    """True where ``|a - b| <= atol + rtol |b|``, and where both are the same infinity."""
    like = a if isinstance(a, BlockArray) else b
    # Numbers are repeated without a job, integers would overflow.
    pair = [filled(like, each, np.asarray(each).dtype) if is_number(each) else _array(each, like) for each in (a, b)]
    one, two = (array_api.astype(each, np.result_type(each.dtype, 1.0)) for each in pair)
    text = "a = b OR abs(a - b) <= atol + rtol * abs(b) AND abs(b) < inf" + (" OR isnan(a) AND isnan(b)" if equal_nan else "")
    return one.zip(two, text, rtol=rtol, atol=atol, inf=math.inf)


def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, see :func:`isclose`; computed now."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether shapes and all elements are equal; computed now."""
    if np.shape(a1) != np.shape(a2):
        return False
    first, second = _array(a1, a2), _array(a2, a1)
    text = "a = b OR isnan(a) AND isnan(b)" if equal_nan and first.dtype.kind in "fc" else "a = b"
    return bool(first.zip(second, text).all())


def concatenate(arrays: Sequence[Any], /, axis: int | None = 0, *, dtype: Any = None) -> BlockArray:
    """Arrays joined along an axis; see :func:`tilespark.concat`."""
    found = array_api.concat(arrays, axis=axis)
    return found if dtype is None else array_api.astype(found, dtype)


def vstack(tup: Sequence[Any], *, dtype: Any = None) -> BlockArray:
    """Matrices, or vectors as rows, one below the other."""
    return concatenate([array_api.reshape(each, (1, -1)) if np.ndim(each) < 2 else each for each in tup], dtype=dtype)


def hstack(tup: Sequence[Any], *, dtype: Any = None) -> BlockArray:
    """Matrices side by side; vectors one after the other."""
    return concatenate(tup, 0 if all(np.ndim(each) == 1 for each in tup) else 1, dtype=dtype)


def real(val: Any) -> BlockArray:
    """The real parts."""
    return _array(val).real


def imag(val: Any) -> BlockArray:
    """The imaginary parts."""
    return _array(val).imag


def shape(a: Any) -> tuple[int, ...]:
    """The extents."""
    extents: tuple[int, ...] = a.shape
    return extents


def ndim(a: Any) -> int:
    """The number of axes."""
    return _array(a).ndim


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or the extent of an axis."""
    array = _array(a)
    return array.size if axis is None else array.shape[array._axis(axis)]


def iscomplexobj(x: Any) -> bool:
    """Whether the elements are complex."""
    return _array(x).dtype.kind == "c"


def isrealobj(x: Any) -> bool:
    """Whether the elements are real."""
    return not iscomplexobj(x)


def _offer() -> None:
    """Registers all functions of this module, and makes some of them methods of arrays."""
    found: list[tuple[Any, str, Function]] = [(np, name, _of_method(method)) for name, method in _METHODS.items()]
    found += [(np, name, getattr(array_api, name)) for name in _OF_STANDARD]
    for ours, numpys, names in ((linalg, np.linalg, _OF_LINALG), (fft, np.fft, _OF_FFT)):
        found += [(there, name, getattr(ours, name)) for name in names for there in (np, numpys)]
    own: list[Function] = [allclose, array_equal, concatenate, cumprod, cumsum, diagonal, dot, hstack, imag, iscomplexobj, isclose]
    own += [isrealobj, ndim, real, shape, size, trace, transpose, vstack, where]
    found += [(np, each.__name__, each) for each in own]
    found += [(np, "permute_dims", transpose), (np.linalg, "svd", svd)]
    found += [(np.linalg, name, getattr(linalg, name)) for name in ("diagonal", "trace")]
    for there, name, function in found:
        theirs = getattr(there, name, None)  # some are in numpy since 2.0 or 2.1
        if callable(theirs):
            OFFERED[theirs] = _bound(theirs, function)
    OFFERED[np.result_type] = array_api.result_type
    for name in ("cumprod", "cumsum", "diagonal", "dot", "prod", "repeat", "trace"):
        setattr(BlockArray, name, OFFERED[getattr(np, name)])


_offer()

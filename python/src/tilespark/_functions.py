"""numpy's array functions for BlockArrays."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import array_api, fft, linalg
from ._array import BlockArray, as_array, concatenate
from ._dispatch import OFFERED, Function, not_offered

#: numpy functions that call a method of their first argument, with the method's name.
_METHODS: dict[str, str] = {
    **{
        name: name
        for name in (
            "all any argmax argmin clip copy count_nonzero flip max mean min nanmean nansum pad ptp ravel reshape roll round"
            " squeeze std sum swapaxes transpose var"
        ).split()
    },
    "amax": "max",
    "amin": "min",
    "around": "round",
    "permute_dims": "transpose",
}

#: Functions of the array API standard that have numpy's options, or some of them.
_OF_STANDARD = (
    "broadcast_to cumulative_prod cumulative_sum diff empty_like expand_dims full_like matrix_transpose moveaxis ones_like prod"
    " repeat stack take tensordot tile tril triu unstack zeros_like"
).split()
#: Where numpy's function is compiled and has no signature, one that has the same.
_SIGNATURES = {"empty_like": "zeros_like"}

#: Functions of :mod:`tilespark.linalg` and :mod:`tilespark.fft` with the same arguments as numpy's.
_OF_LINALG = "cholesky cov corrcoef diagonal eigh eigvalsh lstsq matrix_rank norm pinv qr slogdet solve svdvals trace".split()
_OF_FFT = "fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn".split()


def _method(name: str) -> Function:
    def method(first: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(first, BlockArray):
            raise not_offered(f"numpy.{name} with a BlockArray among its options,")
        for numpys, ours in (("a_min", "min"), ("a_max", "max"), ("newshape", "shape")):
            if numpys in kwargs:
                kwargs[ours] = kwargs.pop(numpys)
        if name == "reshape" and "shape" in kwargs:
            args = (*args, kwargs.pop("shape"))
        if name == "transpose" and "axes" in kwargs:
            args = (*args, kwargs.pop("axes"))
        return getattr(first, name)(*args, **kwargs)

    return method


def _of_one_matrix(name: str) -> Function:
    """A function of :mod:`tilespark.linalg` that takes the last two axes of an array, where numpy takes the first two."""

    def function(a: Any, *args: Any, **kwargs: Any) -> Any:
        if np.ndim(a) > 2:
            raise not_offered(f"numpy.{name} of {np.ndim(a)} axes", f"tilespark.linalg.{name}(x), of each matrix")
        return getattr(linalg, name)(a, *args, **kwargs)

    return function


def _of_standard(name: str) -> Function:
    """A function of the array API standard with numpy's parameters; options that only numpy has are refused."""
    ours = getattr(array_api, name)
    known = inspect.signature(ours).parameters
    theirs = inspect.signature(getattr(np, _SIGNATURES.get(name, name)))
    places = list(theirs.parameters)[: sum(each.kind is each.POSITIONAL_ONLY for each in known.values())]

    def function(*args: Any, **kwargs: Any) -> Any:
        given = theirs.bind(*args, **kwargs).arguments
        first = [given.pop(each) for each in places if each in given]
        unknown = {each: value for each, value in given.items() if each not in known}
        _refuse(name, {each: value for each, value in unknown.items() if value is not theirs.parameters[each].default})
        return ours(*first, **{each: value for each, value in given.items() if each not in unknown})

    return function


def _array(value: Any, like: Any = None) -> BlockArray:
    return as_array(value, like if isinstance(like, BlockArray) else None)


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        raise not_offered("numpy.linalg.svd with hermitian=True", "numpy.linalg.eigh(x)")
    return linalg.svd(a, full_matrices=full_matrices and compute_uv, compute_uv=compute_uv)


def where(condition: Any, x: Any = None, y: Any = None) -> BlockArray:
    """``x`` where the condition is true, else ``y``; see :func:`tilespark.where`."""
    if x is None or y is None:
        raise not_offered("numpy.where of a condition alone", "WHERE over x.to_cells()")
    return array_api.where(condition, x, y)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, **options: Any) -> BlockArray:
    """Sums up to each element along an axis, or in row-major order; see :func:`tilespark.cumulative_sum`."""
    _refuse("cumsum", options)
    return array_api.cumulative_sum(_array(a).ravel() if axis is None else a, axis=axis or 0, dtype=dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, **options: Any) -> BlockArray:
    """Products up to each element, as :func:`cumsum`; see :func:`tilespark.cumulative_prod`."""
    _refuse("cumprod", options)
    return array_api.cumulative_prod(_array(a).ravel() if axis is None else a, axis=axis or 0, dtype=dtype)


def dot(a: Any, b: Any) -> BlockArray:
    """``a @ b``, or ``a * b`` if one of them is a number."""
    product: BlockArray = a * b if np.ndim(a) == 0 or np.ndim(b) == 0 else a @ b
    return product


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> BlockArray:
    """True where ``|a - b| <= atol + rtol |b|``, and where both are the same infinity."""
    first = a if isinstance(a, BlockArray) else b
    if not isinstance(a, BlockArray | np.ndarray) or not isinstance(b, BlockArray | np.ndarray):
        number = b if first is a else a
        a, b = (first, first.map("value", value=float(number))) if first is a else (first.map("value", value=float(number)), first)
    text = "a = b OR abs(a - b) <= atol + rtol * abs(b) AND abs(b) < inf" + (" OR isnan(a) AND isnan(b)" if equal_nan else "")
    return _array(a, first).zip(_array(b, first), text, rtol=rtol, atol=atol, inf=math.inf)


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


def _refuse(name: str, options: Mapping[str, Any]) -> None:
    given = [option for option, value in options.items() if value not in (None, True, "K")]
    if given:
        raise not_offered(f"numpy.{name} with {given[0]}=...")


def vstack(tup: Sequence[Any], **options: Any) -> BlockArray:
    """Matrices one below the other."""
    return _joined("vstack", tup, 0, options)


def hstack(tup: Sequence[Any], **options: Any) -> BlockArray:
    """Matrices side by side; vectors one after the other."""
    return _joined("hstack", tup, 0 if all(np.ndim(each) == 1 for each in tup) else 1, options)


def _joined(name: str, arrays: Sequence[Any], axis: int, options: Mapping[str, Any]) -> BlockArray:
    _refuse(name, options)
    if name == "vstack" and any(np.ndim(each) == 1 for each in arrays):
        raise not_offered("numpy.vstack of vectors", "x.reshape(1, -1) of each")
    return concatenate(arrays, axis)


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
    """Registers all functions of this module."""
    for name, method in _METHODS.items():
        if hasattr(np, name):  # numpy 1.26 has no permute_dims
            OFFERED[getattr(np, name)] = _method(method)
    for ours, numpys, names in ((linalg, np.linalg, _OF_LINALG), (fft, np.fft, _OF_FFT)):
        for name in names:
            for there in (np, numpys):
                if callable(getattr(there, name, None)):
                    OFFERED[getattr(there, name)] = getattr(ours, name)
    for name in _OF_STANDARD:
        if hasattr(np, name):  # some are in numpy since 2.0 or 2.1
            OFFERED[getattr(np, name)] = _of_standard(name)
    for name in ("diagonal", "trace"):
        OFFERED[getattr(np, name)] = _of_one_matrix(name)
    own: list[Function] = [allclose, array_equal, concatenate, cumprod, cumsum, dot, hstack, imag, iscomplexobj, isclose]
    own += [isrealobj, ndim, real, array_api.result_type, shape, size, vstack, where]
    OFFERED.update({getattr(np, each.__name__): each for each in own})
    OFFERED[np.linalg.svd] = _svd


_offer()

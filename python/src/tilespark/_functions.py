"""numpy's array functions for BlockArrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import fft, linalg
from ._arguments import many
from ._array import BlockArray, as_array, concatenate, stack
from ._dispatch import OFFERED, Function, not_offered
from .errors import InvalidInputError

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


def _array(value: Any, like: Any = None) -> BlockArray:
    return as_array(value, like if isinstance(like, BlockArray) else None)


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        raise not_offered("numpy.linalg.svd with hermitian=True", "numpy.linalg.eigh(x)")
    return linalg.svd(a, full_matrices=full_matrices and compute_uv, compute_uv=compute_uv)


def where(condition: Any, x: Any = None, y: Any = None) -> BlockArray:
    """``x`` where the condition is true, else ``y``; arrays of one shape, or numbers."""
    if x is None or y is None:
        raise not_offered("numpy.where of a condition alone", "WHERE over x.to_cells()")
    first = next(each for each in (condition, x, y) if isinstance(each, BlockArray))
    holds = _array(condition, first)
    ones = [each for each in (x, y) if isinstance(each, BlockArray | np.ndarray) and np.ndim(each)]
    if not ones:
        dtype = np.result_type(x, y)
        return holds.map("if(v <> 0, x, y)", x=x, y=y).astype(dtype)
    wanted = np.result_type(*(each.dtype if hasattr(each, "dtype") and np.ndim(each) else each for each in (x, y)))
    if len(ones) == 1:
        array = _array(ones[0], first).astype(wanted)
        value, text = (y, "if(a <> 0, b, value)") if ones[0] is x else (x, "if(a <> 0, value, b)")
        return holds.zip(array, text, value=value).astype(wanted)
    one, two = (_array(each, first).astype(wanted) for each in (x, y))
    # Each term is zero where the other operand is selected, so the sum is the selected one.
    return holds.zip(one, "if(a <> 0, b, 0)").astype(wanted) + holds.zip(two, "if(a <> 0, 0, b)").astype(wanted)


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


def full_like(a: Any, fill_value: Any, dtype: Any = None, **options: Any) -> BlockArray:
    """An array with the shape and blocks of ``a``, filled with one number."""
    _refuse("full_like", options)
    array = _array(a)
    target = array.dtype if dtype is None else np.dtype(dtype)
    return array.map("value", value=fill_value).astype(target)


def zeros_like(a: Any, dtype: Any = None, **options: Any) -> BlockArray:
    """Zeros with the shape and blocks of ``a``."""
    return full_like(a, 0, dtype, **options)


def ones_like(a: Any, dtype: Any = None, **options: Any) -> BlockArray:
    """Ones with the shape and blocks of ``a``."""
    return full_like(a, 1, dtype, **options)


def empty_like(prototype: Any, dtype: Any = None, **options: Any) -> BlockArray:
    """Zeros, as :func:`zeros_like`."""
    return full_like(prototype, 0, dtype, **options)


def _refuse(name: str, options: Mapping[str, Any]) -> None:
    given = [option for option, value in options.items() if value not in (None, True, "K")]
    if given:
        raise not_offered(f"numpy.{name} with {given[0]}=...")


def expand_dims(a: Any, axis: Any) -> BlockArray:
    """The array with an additional axis of extent 1."""
    array = _array(a)
    axes = (axis,) if np.ndim(axis) == 0 else tuple(axis)
    rank = array.ndim + len(axes)
    places = {each + rank if each < 0 else each for each in axes}
    if len(places) != len(axes) or not all(0 <= each < rank for each in places):
        raise InvalidInputError(f"expand_dims at {axis!r} of {array.ndim} axes; expected places among {rank}")
    extents = iter(array.shape)
    return array.reshape(tuple(1 if each in places else next(extents) for each in range(rank)))


def moveaxis(a: Any, source: Any, destination: Any) -> BlockArray:
    """The array with some axes moved to other positions."""
    array = _array(a)
    numbered = np.empty(tuple(range(array.ndim)))  # axis i has extent i, so the new shape is the permutation
    places = tuple(array._axis(each) for each in many(source))
    try:
        return array.transpose(np.moveaxis(numbered, places, many(destination)).shape)
    except ValueError as error:
        raise InvalidInputError(f"moveaxis: {error}") from None


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


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype of a numpy operation on these operands."""
    return np.result_type(*(each.dtype if isinstance(each, BlockArray) else each for each in arrays_and_dtypes))


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
    for name in ("diagonal", "trace"):
        OFFERED[getattr(np, name)] = _of_one_matrix(name)
    own: list[Function] = [allclose, array_equal, concatenate, dot, empty_like, expand_dims, full_like, hstack, imag, iscomplexobj]
    own += [isclose, isrealobj, moveaxis, ndim, ones_like, real, result_type, shape, size, stack, vstack, where, zeros_like]
    OFFERED.update({getattr(np, each.__name__): each for each in own})
    OFFERED[np.linalg.svd] = _svd


_offer()

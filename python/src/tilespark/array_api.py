"""The functions of the Python array API standard (https://data-apis.org/array-api/2024.12), which are names of ``tilespark`` too.

``x.__array_namespace__()`` is the package, so libraries written to the standard take a :class:`BlockArray`. Results are lazy,
reductions over all axes included: they are arrays without axes, and ``float(y)`` computes one. docs/array-api.md lists what the
standard's tests say.

Parameters are those of the standard: arrays are given by place, options by name. Creation functions also take ``blocks`` and
``spark``. A name that the standard has and this module lacks needs the values to know a shape, or a kernel that there is not.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import _leading, fft, linalg
from ._arguments import integer, integers, many
from ._array import BlockArray, NDArray, as_array, concatenate, from_numpy, is_dataframe, is_number
from ._elementwise import SQL, wrapped
from ._filled import DEVICE, arange, eye, filled, full, linspace, ones, zeros
from .errors import InvalidInputError, UnsupportedError

__array_api_version__ = "2024.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi

_DType = np.dtype[Any]
_F = TypeVar("_F", bound=Callable[..., Any])
_Axes = int | Sequence[int] | None

int8, int16, int32, int64 = (np.dtype(name) for name in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32 = (np.dtype(name) for name in ("uint8", "uint16", "uint32"))
float32, float64, complex64, complex128 = (np.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))
bool = np.dtype("bool")


def _given(x: Any, like: Any = None) -> BlockArray:
    """An argument as an array; a number gets the dtype that numpy gives it with ``like``, to which it wraps."""
    if isinstance(x, BlockArray) or is_dataframe(x):
        return as_array(x)
    if like is not None and isinstance(x, builtins.bool | int | float | complex):
        dtype = np.result_type(like.dtype if isinstance(like, BlockArray) else like, x)
        return asarray(np.asarray(x).astype(dtype))
    if isinstance(x, builtins.bool | int | float | complex | np.ndarray | np.generic | list | tuple):
        return asarray(x)
    return as_array(x)


def _shaped(x: BlockArray, shape: Sequence[int]) -> BlockArray:
    """The elements in another shape."""
    return x.reshape(tuple(shape))


def _on_device(device: Any) -> None:
    if device not in (None, DEVICE):
        raise UnsupportedError(f"device is {device!r}; expected {DEVICE!r}, where all arrays are")


# Creation


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: builtins.bool | None = None) -> BlockArray:
    """An array of a number, nested sequences, a numpy array or a DataFrame of blocks; a BlockArray stays as it is.

    Raises:
        ValueError: if ``copy`` is False and values must be sent to Spark.
    """
    _on_device(device)
    if isinstance(obj, BlockArray):
        return obj if dtype is None else astype(obj, dtype)
    if copy is False:
        raise ValueError("asarray with copy=False; values that are not in Spark yet are copied there")
    if hasattr(obj, "sparkSession"):
        return asarray(as_array(obj), dtype=dtype)
    return from_numpy(np.asarray(obj, dtype))


def from_dlpack(x: Any, /, *, device: Any = None, copy: builtins.bool | None = None) -> BlockArray:
    """An array with the values of an array of another library, by the DLPack protocol."""
    return asarray(np.from_dlpack(x), device=device, copy=copy)


def empty(shape: int | Sequence[int], *, dtype: Any = None, device: Any = None) -> BlockArray:
    """Zeros, as :func:`zeros`."""
    return zeros(shape, dtype, device=device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> BlockArray:
    """An array with the shape and blocks of ``x``, filled with one number."""
    _on_device(device)
    array = _given(x)
    target = array.dtype if dtype is None else np.dtype(dtype)
    return filled(array, fill_value, target)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> BlockArray:
    """Zeros with the shape and blocks of ``x``."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> BlockArray:
    """Ones with the shape and blocks of ``x``."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> BlockArray:
    """Zeros, as :func:`zeros_like`."""
    return full_like(x, 0, dtype=dtype, device=device)


def _triangle(name: str, x: Any, keeps: str, k: int) -> BlockArray:
    array = _given(x)
    if array.ndim < 2:
        raise InvalidInputError(f"{name} of {array._what}; expected a matrix, or a stack of matrices")
    row, col = array._kind.offsets[-2:]
    zero = "complex(0, 0)" if array.dtype.kind == "c" else "0"
    bound = builtins.max(-array.shape[-2], builtins.min(array.shape[-1], integer("k", k)))
    return array.map(f"if({col} - {row} {keeps} k, v, {zero})", k=bound)._in(array.dtype)


def tril(x: Any, /, *, k: int = 0) -> BlockArray:
    """The matrix, or each of a stack, with zeros above the diagonal ``k``."""
    return _triangle("tril", x, "<=", k)


def triu(x: Any, /, *, k: int = 0) -> BlockArray:
    """The matrix, or each of a stack, with zeros below the diagonal ``k``."""
    return _triangle("triu", x, ">=", k)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[BlockArray]:
    """The coordinates of a grid: each vector repeated along the axes of the others.

    Args:
        arrays: vectors of one dtype.
        indexing: ``"xy"`` (default), where the second vector runs along the first axis, or ``"ij"``.
    """
    if indexing not in ("xy", "ij"):
        raise InvalidInputError(f"indexing is {indexing!r}; expected 'xy' or 'ij'")
    vectors = [_given(each) for each in arrays]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    extents = [1] * len(vectors)
    for at, vector in zip(places, vectors, strict=True):
        extents[at] = vector.size
    grid = []
    for at, vector in zip(places, vectors, strict=True):
        along = [vector.size if each == at else 1 for each in range(len(vectors))]
        grid.append(broadcast_to(_shaped(vector, along), tuple(extents)))
    return grid


# Data types


def astype(x: Any, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> BlockArray:
    """The array in another dtype; values are truncated and wrap as in numpy, while ``x.astype`` refuses them.

    Raises:
        UnsupportedError: from complex to real, and if blocks cannot hold the dtype.
    """
    _on_device(device)
    array, target = _given(x), np.dtype(dtype)
    source = array.dtype
    if source == target:
        return array
    if target.kind == "c":
        return _map(array, "v" if source.kind == "c" else "complex(v, 0)", target)
    if source.kind == "c" or target.name not in SQL and target.kind != "b":
        return array.astype(target)
    if target.kind == "b":
        return array.map("v <> 0")
    # By way of BIGINT, which holds where unsigned integers wrap; and a float cast to a narrow integer would stop at its bounds.
    text = "CAST(v AS BIGINT)" if target.kind == "u" or source.kind == "f" and target.kind == "i" else "v"
    return _map(array, f"CAST({wrapped(text, target)} AS {SQL[target.name]})", target)


def _map(x: BlockArray, text: str, dtype: _DType, **scalars: float) -> BlockArray:
    return x.map(text, **scalars)._in(dtype)


def broadcast_to(x: Any, /, shape: Sequence[int]) -> BlockArray:
    """The array repeated along axes of extent 1, and along new axes before its own."""
    array, extents = _given(x), integers("shape", shape)
    if array.ndim > len(extents) or builtins.any(have not in (1, want) for have, want in zip(array.shape[::-1], extents[::-1])):
        raise InvalidInputError(f"broadcast_to of shape {array.shape} to {extents}; expected axes that repeat")
    if array.shape == extents:
        return array
    if 0 in extents:
        return zeros(extents, array.dtype, spark=array.spark)
    return array.zip(zeros(extents, int8, spark=array.spark), "if(b = 0, a, a)")._in(array.dtype)


def broadcast_arrays(*arrays: Any) -> list[BlockArray]:
    """The arrays, each repeated to the shape that they have in common."""
    found = [_given(each) for each in arrays]
    shape = broadcast_shapes(*(each.shape for each in found))
    return [broadcast_to(each, shape) for each in found]


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of these shapes have in common.

    Raises:
        InvalidInputError: if they have none.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise InvalidInputError(f"broadcast_shapes: {error}") from None


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether the standard's promotion makes ``to`` of ``from_``."""
    return builtins.bool(np.can_cast(from_.dtype if isinstance(from_, BlockArray) else from_, to))


class FInfo(NamedTuple):
    """Limits of a floating-point dtype, see :func:`finfo`."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: _DType


class IInfo(NamedTuple):
    """Limits of an integer dtype, see :func:`iinfo`."""

    bits: int
    max: int
    min: int
    dtype: _DType


def _dtype(type: Any) -> _DType:
    return type.dtype if isinstance(type, BlockArray) else np.dtype(type)


def finfo(type: Any, /) -> FInfo:
    """Limits of a floating-point dtype, or of the parts of a complex one."""
    found = np.finfo(_dtype(type))
    return FInfo(
        found.bits, float(found.eps), float(found.max), float(found.min), float(found.smallest_normal), np.dtype(found.dtype)
    )


def iinfo(type: Any, /) -> IInfo:
    """Limits of an integer dtype."""
    found = np.iinfo(_dtype(type))
    return IInfo(found.bits, found.max, found.min, np.dtype(found.dtype))


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is one of a kind, such as ``"real floating"``, of several kinds, or equal to another dtype."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise InvalidInputError(f"kind is {kind!r}; expected one of {', '.join(_KINDS)}")
        return np.dtype(dtype).kind in _KINDS[kind]
    return builtins.bool(np.dtype(dtype) == np.dtype(kind))


def result_type(*arrays_and_dtypes: Any) -> _DType:
    """The dtype of an operation on arrays, dtypes and numbers, by numpy's promotion."""
    return np.result_type(*(each.dtype if isinstance(each, BlockArray) else each for each in arrays_and_dtypes))


# Elementwise functions


def _unary(name: str, numpys: str) -> Callable[[Any], BlockArray]:
    def function(x: Any, /) -> BlockArray:
        return _given(x)._function(numpys)

    return _named(function, name, f"numpy's ``{numpys}`` of each element.")


def _binary(name: str, numpys: str) -> Callable[[Any, Any], BlockArray]:
    def function(x1: Any, x2: Any, /) -> BlockArray:
        one, two = (each if is_number(each) else _given(each) for each in (x1, x2))
        if isinstance(one, BlockArray):
            return one._elementwise(numpys, two)
        return _given(two)._elementwise(numpys, one, reflected=True)

    return _named(function, name, f"numpy's ``{numpys}`` of the elements of two arrays, of which one may be a number.")


def _named(function: _F, name: str, doc: str) -> _F:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


abs = _unary("abs", "absolute")
acos = _unary("acos", "arccos")
acosh = _unary("acosh", "arccosh")
add = _binary("add", "add")
asin = _unary("asin", "arcsin")
asinh = _unary("asinh", "arcsinh")
atan = _unary("atan", "arctan")
atan2 = _binary("atan2", "arctan2")
atanh = _unary("atanh", "arctanh")
bitwise_and = _binary("bitwise_and", "bitwise_and")
bitwise_invert = _unary("bitwise_invert", "invert")
bitwise_left_shift = _binary("bitwise_left_shift", "left_shift")
bitwise_or = _binary("bitwise_or", "bitwise_or")
bitwise_right_shift = _binary("bitwise_right_shift", "right_shift")
bitwise_xor = _binary("bitwise_xor", "bitwise_xor")
ceil = _unary("ceil", "ceil")
conj = _unary("conj", "conjugate")
copysign = _binary("copysign", "copysign")
cos = _unary("cos", "cos")
cosh = _unary("cosh", "cosh")
divide = _binary("divide", "divide")
equal = _binary("equal", "equal")
exp = _unary("exp", "exp")
expm1 = _unary("expm1", "expm1")
floor = _unary("floor", "floor")
floor_divide = _binary("floor_divide", "floor_divide")
greater = _binary("greater", "greater")
greater_equal = _binary("greater_equal", "greater_equal")
hypot = _binary("hypot", "hypot")
isfinite = _unary("isfinite", "isfinite")
isinf = _unary("isinf", "isinf")
isnan = _unary("isnan", "isnan")
less = _binary("less", "less")
less_equal = _binary("less_equal", "less_equal")
log = _unary("log", "log")
log10 = _unary("log10", "log10")
log1p = _unary("log1p", "log1p")
log2 = _unary("log2", "log2")
logaddexp = _binary("logaddexp", "logaddexp")
logical_and = _binary("logical_and", "logical_and")
logical_not = _unary("logical_not", "logical_not")
logical_or = _binary("logical_or", "logical_or")
logical_xor = _binary("logical_xor", "logical_xor")
maximum = _binary("maximum", "maximum")
minimum = _binary("minimum", "minimum")
multiply = _binary("multiply", "multiply")
negative = _unary("negative", "negative")
not_equal = _binary("not_equal", "not_equal")
positive = _unary("positive", "positive")
pow = _binary("pow", "power")
reciprocal = _unary("reciprocal", "reciprocal")
remainder = _binary("remainder", "remainder")


def round(x: Any, /) -> BlockArray:
    """The nearest whole number to each element, the even one of two; integers stay."""
    array = _given(x)
    return array if array.dtype.kind in "iu" else array._function("rint")


sign = _unary("sign", "sign")
signbit = _unary("signbit", "signbit")
sin = _unary("sin", "sin")
sinh = _unary("sinh", "sinh")
sqrt = _unary("sqrt", "sqrt")
square = _unary("square", "square")
subtract = _binary("subtract", "subtract")
tan = _unary("tan", "tan")
tanh = _unary("tanh", "tanh")
trunc = _unary("trunc", "trunc")


def clip(x: Any, /, min: Any = None, max: Any = None) -> BlockArray:
    """The elements limited to the range from ``min`` to ``max``, which are numbers or arrays."""
    array = _given(x)
    low, high = (each if each is None or is_number(each) else _given(each) for each in (min, max))
    clipped = array.clip(low, high)
    return clipped if clipped.dtype == array.dtype else astype(clipped, array.dtype)


def real(x: Any, /) -> BlockArray:
    """The real parts."""
    return _given(x).real


def imag(x: Any, /) -> BlockArray:
    """The imaginary parts; zeros of a real array."""
    return _given(x).imag


# Reductions


def _reduced(name: str, x: Any, axis: _Axes, keepdims: builtins.bool, **options: Any) -> BlockArray:
    """A lazy reduction; over all axes its result has none."""
    array = _given(x)
    is_whole = axis is None or len(many(axis)) == array.ndim
    found: BlockArray = array._reduced(name, axis, keepdims or is_whole, **options)
    return found.reshape(()) if is_whole and not keepdims else found


def _reduction(name: str) -> Callable[..., BlockArray]:
    def function(x: Any, /, *, axis: _Axes = None, keepdims: builtins.bool = False) -> BlockArray:
        return _reduced(name, x, axis, keepdims)

    return _named(function, name, f"The method ``x.{name}``, lazy over all axes too.")


def _argument(name: str) -> Callable[..., BlockArray]:
    def function(x: Any, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> BlockArray:
        array = _given(x)
        if axis is not None or array.ndim < 2:
            return _reduced(name, array, axis, keepdims)
        found = _reduced(name, array.reshape(-1), 0, keepdims)  # the place among all elements
        return _shaped(found, (1,) * array.ndim) if keepdims else found

    return _named(function, name, f"The method ``x.{name}``, lazy over all axes too.")


all = _reduction("all")
any = _reduction("any")
argmax = _argument("argmax")
argmin = _argument("argmin")
count_nonzero = _reduction("count_nonzero")
max = _reduction("max")
mean = _reduction("mean")
min = _reduction("min")


def sum(x: Any, /, *, axis: _Axes = None, dtype: Any = None, keepdims: builtins.bool = False) -> BlockArray:
    """The sum of the elements; of integers and bool in int64, else in the array's dtype, unless ``dtype`` is given."""
    array = _given(x)
    wanted = _wanted(array, dtype)
    return astype(_reduced("sum", array if dtype is None else astype(array, wanted), axis, keepdims), wanted)


def _summed(x: BlockArray) -> _DType:
    return int64 if x.dtype.kind in "biu" else x.dtype


def _wanted(x: BlockArray, dtype: Any) -> _DType:
    return _summed(x) if dtype is None else np.dtype(dtype)


def std(x: Any, /, *, axis: _Axes = None, correction: float = 0.0, keepdims: builtins.bool = False) -> BlockArray:
    """The standard deviation of the elements; ``correction`` is taken off their count."""
    return _reduced("std", x, axis, keepdims, ddof=float(correction))


def var(x: Any, /, *, axis: _Axes = None, correction: float = 0.0, keepdims: builtins.bool = False) -> BlockArray:
    """The variance of the elements; ``correction`` is taken off their count."""
    return _reduced("var", x, axis, keepdims, ddof=float(correction))


def _along(name: str, x: Any, axis: int | None, dtype: Any) -> tuple[BlockArray, int]:
    """The array of :func:`cumulative_sum` or a like function, in blocks that are whole along the axis, and the axis."""
    array = _given(x)
    if axis is None and array.ndim != 1:
        raise InvalidInputError(f"{name} of {array._what} without an axis; expected axis=...")
    along = array._axis(0 if axis is None else axis)
    converted = astype(array, _wanted(array, dtype))
    blocks = list(converted.blocks or (1,) * converted._lead_rank + converted._own_extents)
    blocks[along] = -1
    return converted.rechunk(blocks), along


def _running(name: str, function: Callable[..., Any], x: Any, axis: int | None, dtype: Any, first: int | None) -> BlockArray:
    array, along = _along(name, x, axis, dtype)
    wanted = array.dtype
    if along < array._lead_rank:
        return _leading.along(array, along, lambda view: _running(name, function, view, 1, wanted, first))
    block_axis = along - array._lead_rank
    if 0 not in array.shape:
        array = array.map_blocks(lambda block: function(block, axis=block_axis, dtype=wanted), dtype=wanted)
    if first is None:
        return array
    edge = tuple(1 if each == along else extent for each, extent in enumerate(array.shape))
    return concatenate([full(edge, first, wanted, spark=array.spark), array], along)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False
) -> BlockArray:
    """The sums of the elements up to each one along an axis, by numpy in Spark's Python workers; a line is in one block.

    Args:
        x: an array.
        axis: the axis; may be left out for a vector.
        dtype: the dtype of the sums; by default that of :func:`sum`.
        include_initial: whether a zero comes first.
    """
    return _running("cumulative_sum", np.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False
) -> BlockArray:
    """The products of the elements up to each one along an axis, see :func:`cumulative_sum`; with a one first."""
    return _running("cumulative_prod", np.cumprod, x, axis, dtype, 1 if include_initial else None)


def prod(x: Any, /, *, axis: _Axes = None, dtype: Any = None, keepdims: builtins.bool = False) -> BlockArray:
    """The product of the elements, by :func:`cumulative_prod` along one axis after the other; dtypes as of :func:`sum`."""
    array = _given(x)
    found = astype(array, _wanted(array, dtype))
    axes = tuple(range(array.ndim)) if axis is None else tuple(array._axis(each) for each in many(axis))
    for along in axes:
        shape = tuple(1 if each == along else extent for each, extent in enumerate(found.shape))
        if 0 in shape:
            found = zeros(shape, found.dtype, spark=array.spark)
        elif not found.shape[along]:
            found = ones(shape, found.dtype, spark=array.spark)
        else:
            last = [slice(-1, None) if each == along else slice(None) for each in range(found.ndim)]
            found = cumulative_prod(found, axis=along, dtype=found.dtype)[tuple(last)]
    return found if keepdims else _shaped(found, [extent for each, extent in enumerate(found.shape) if each not in axes])


# Searching


def where(condition: Any, x1: Any, x2: Any, /) -> BlockArray:
    """``x1`` where the condition is true, else ``x2``; shapes broadcast, and each of the two may be a number."""
    if isinstance(condition, BlockArray) and is_number(x1) and is_number(x2):
        return _of_numbers(condition, x1, x2)
    one, two = _given(x1, x2), _given(x2, x1)
    holds, dtype = _given(condition), result_type(one, two)
    if dtype.kind == "f":  # a pair of numbers is an element of one array, whose bits stay
        pair = astype(one, dtype).zip(astype(two, dtype), "complex(a, b)")
        return holds.zip(pair, "if(a <> 0, real(b), imag(b))")._in(dtype)
    if dtype.kind == "c":
        parts = [where(holds, part(one), part(two)) for part in (real, imag)]
        return parts[0].zip(parts[1], "complex(a, b)")._in(dtype)
    if dtype.kind == "b":
        return (holds & one) | (~holds & two)
    zero = "if(a <> 0, {}, {})"
    first = holds.zip(astype(one, dtype), zero.format("b", 0))
    second = holds.zip(astype(two, dtype), zero.format(0, "b"))
    return first.zip(second, "a + b")._in(dtype)


def _of_numbers(condition: BlockArray, x1: Any, x2: Any) -> BlockArray:
    """One number where the condition is true, else the other, by one pass over it."""
    dtype = result_type(x1, x2)
    one, two = (np.asarray(each).astype(dtype).item() for each in (x1, x2))
    if dtype.kind == "c":
        parts = {"re1": one.real, "im1": one.imag, "re2": two.real, "im2": two.imag}
        return _map(condition, "if(v <> 0, complex(re1, im1), complex(re2, im2))", dtype, **parts)
    if dtype.kind == "b":
        return condition.map("if(v <> 0, x1 = 1, x2 = 1)", x1=int(one), x2=int(two))
    sql = SQL.get(dtype.name, "FLOAT")
    return _map(condition, f"if(v <> 0, CAST(x1 AS {sql}), CAST(x2 AS {sql}))", dtype, x1=one, x2=two)


# Manipulation


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> BlockArray:
    """Arrays joined along an axis, or their elements in one vector if it is None; dtypes are promoted."""
    found = [_given(each) for each in arrays]
    if not found:
        raise InvalidInputError("concat of no arrays; expected one or more")
    dtype = result_type(*found)
    converted = [astype(each, dtype) for each in found]
    if axis is None:
        converted, axis = [_shaped(each, (each.size,)) for each in converted], 0
    along = converted[0]._axis(axis)
    filled = [each for each in converted if each._known_shape[along] != 0]
    return concatenate(filled, along) if filled and 0 not in filled[0]._known_shape else _joined_empty(converted, along)


def _joined_empty(arrays: Sequence[BlockArray], along: int) -> BlockArray:
    shape = list(arrays[0].shape)
    shape[along] = builtins.sum(each.shape[along] for each in arrays)
    return zeros(shape, arrays[0].dtype, spark=arrays[0].spark)


def stack(arrays: Sequence[Any], /, axis: int = 0) -> BlockArray:
    """Arrays of one shape joined along a new axis; dtypes are promoted."""
    found = [_given(each) for each in arrays]
    if not found:
        raise InvalidInputError("stack of no arrays; expected one or more")
    if len({each.shape for each in found}) > 1:
        raise InvalidInputError(f"stack of shapes {[each.shape for each in found]}; expected one")
    return concat([expand_dims(each, axis=axis) for each in found], axis=axis)


def expand_dims(x: Any, /, *, axis: int | Sequence[int] = 0) -> BlockArray:
    """The array with additional axes of extent 1.

    Args:
        x: an array.
        axis: the places of the new axes among those of the result.

    Raises:
        IndexError: if a place is out of range or given twice.
    """
    array, axes = _given(x), integers("axis", axis)
    rank = array.ndim + len(axes)
    places = {each + rank if each < 0 else each for each in axes}
    if len(places) != len(axes) or not builtins.all(0 <= each < rank for each in places):
        raise IndexError(f"expand_dims at {axis} of {array.ndim} axes; expected different places from {-rank} to {rank - 1}")
    extents = iter(array.shape)
    return _shaped(array, [1 if each in places else next(extents) for each in range(rank)])


def squeeze(x: Any, /, axis: int | Sequence[int]) -> BlockArray:
    """The array without axes of extent 1.

    Raises:
        InvalidInputError: if another extent is not 1.
    """
    array = _given(x)
    at = [array._axis(each) for each in many(axis)]
    if builtins.any(array.shape[each] != 1 for each in at):
        raise InvalidInputError(f"squeeze of the axes {axis} of {array._what}; expected axes of one element")
    return _shaped(array, [extent for each, extent in enumerate(array.shape) if each not in at])


def permute_dims(x: Any, /, axes: Sequence[int]) -> BlockArray:
    """The array whose axis i is axis ``axes[i]`` of this one."""
    return _given(x).transpose(many(axes))


def reshape(x: Any, /, shape: Sequence[int], *, copy: builtins.bool | None = None) -> BlockArray:
    """The elements in row-major order in another shape; -1 stands for the remaining extent."""
    array, extents = _given(x), list(integers("shape", shape))
    if -1 in extents:
        known = math.prod(extent for extent in extents if extent != -1)
        extents[extents.index(-1)] = array.size // known if known else -1
    if builtins.min(extents, default=0) < 0 or math.prod(extents) != array.size:
        raise InvalidInputError(f"reshape of shape {array.shape} to {tuple(shape)}; expected as many elements")
    return _shaped(array, extents) if array.size or not extents else zeros(extents, array.dtype, spark=array.spark)


def flip(x: Any, /, *, axis: _Axes = None) -> BlockArray:
    """The elements along some axes, by default all, in reverse order."""
    array = _given(x)
    return array.flip(axis) if array.ndim else array


def roll(x: Any, /, shift: int | Sequence[int], *, axis: _Axes = None) -> BlockArray:
    """The array with each element moved by ``shift`` along ``axis``; among all elements in row-major order by default."""
    array = _given(x)
    if 0 in array.shape or not array.ndim:
        return array
    if axis is None:
        return _shaped(_shaped(array, (array.size,)).roll(builtins.sum(integers("shift", shift))), array.shape)
    return array.roll(shift, axis)


def moveaxis(x: Any, source: Any, destination: Any, /) -> BlockArray:
    """The array with some axes moved to other positions."""
    array = _given(x)
    numbered = np.empty(tuple(range(array.ndim)))  # axis i has extent i, so the new shape is the permutation
    try:
        moved = np.moveaxis(numbered, tuple(array._axis(each) for each in many(source)), many(destination))
    except ValueError as error:
        raise InvalidInputError(f"moveaxis: {error}") from None
    return array.transpose(moved.shape)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> BlockArray:
    """The array with each element, or each slice along ``axis``, repeated next to itself.

    Args:
        x: an array.
        repeats: one number, or one for each index of the axis; a BlockArray is computed now.
        axis: the axis; by default the elements of the whole array, as a vector.
    """
    array = _given(x)
    if axis is None:
        array, axis = _shaped(array, (array.size,)), 0
    along = array._axis(axis)
    if isinstance(repeats, BlockArray) or np.ndim(repeats):
        counts = np.asarray(repeats.compute() if isinstance(repeats, BlockArray) else repeats)
        if counts.size != 1:
            return _repeated(array, counts, along)
        repeats = counts.item()
    count = integer("repeats", repeats)
    if count < 0:
        raise InvalidInputError(f"repeats is {count}; expected 0 or more")
    before, after = math.prod(array.shape[: along + 1]), math.prod(array.shape[along + 1 :])
    shape = (*array.shape[:along], array.shape[along] * count, *array.shape[along + 1 :])
    if 0 in shape:
        return zeros(shape, array.dtype, spark=array.spark)
    return _shaped(broadcast_to(_shaped(array, (before, 1, after)), (before, count, after)), shape)


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> BlockArray:
    """The elements at some indices along an axis, which may be left out for a vector."""
    array = _given(x)
    if axis is None and array.ndim != 1:
        raise InvalidInputError(f"take of {array._what} without an axis; expected axis=...")
    return array.take(indices, 0 if axis is None else axis)


def _repeated(array: BlockArray, counts: NDArray, along: int) -> BlockArray:
    if counts.shape != array.shape[along : along + 1] or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise InvalidInputError(f"repeats of shape {counts.shape} for an axis of {array.shape[along]}; expected one number of 0 or more each")
    places = np.repeat(np.arange(len(counts)), counts)
    shape = (*array.shape[:along], len(places), *array.shape[along + 1 :])
    return array.take(places, along) if math.prod(shape) else zeros(shape, array.dtype, spark=array.spark)


def tile(x: Any, repetitions: Sequence[int], /) -> BlockArray:
    """The array repeated as a whole along each axis."""
    array, counts = _given(x), integers("repetitions", repetitions)
    rank = builtins.max(array.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    array = _shaped(array, (1,) * (rank - array.ndim) + array.shape)
    shape = tuple(extent * count for extent, count in zip(array.shape, counts, strict=True))
    if 0 in shape:
        return zeros(shape, array.dtype, spark=array.spark)
    more = [(0, wide - extent) for wide, extent in zip(shape, array.shape, strict=True)]
    return array if shape == array.shape else array.pad(more, mode="wrap")


def unstack(x: Any, /, *, axis: int = 0) -> tuple[BlockArray, ...]:
    """The slices along an axis, without the axis."""
    array = _given(x)
    along = array._axis(axis)
    before = (slice(None),) * along
    keys = [(*before, place) for place in range(array.shape[along])]
    return tuple(array[key] for key in keys)


# Linear algebra


def matmul(x1: Any, x2: Any, /) -> BlockArray:
    """The matrix product; of stacks of matrices one of each pair. Integers are summed in float64: exactly up to 2**53."""
    one, two = _given(x1), _given(x2)
    if not one.ndim or not two.ndim:
        raise InvalidInputError(f"matmul of {one._what} and {two._what}; expected arrays with axes")
    dtype = result_type(one, two)
    wide = [astype(each, float64) if dtype.kind in "biu" else each for each in (one, two)]
    product = wide[0] @ wide[1]
    return product if product.dtype == dtype else astype(product, dtype)


def matrix_transpose(x: Any, /) -> BlockArray:
    """The transposed matrix, or each of a stack."""
    array = _given(x)
    if array.ndim < 2:
        raise InvalidInputError(f"matrix_transpose of {array._what}; expected a matrix, or a stack of matrices")
    return array.swapaxes(array.ndim - 2, array.ndim - 1)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> BlockArray:
    """The sums of ``conj(x1) * x2`` along an axis, counted from the end."""
    one, two = _given(x1), _given(x2)
    if not one.ndim or not two.ndim or one.shape[axis] != two.shape[axis]:
        raise InvalidInputError(f"vecdot of shapes {one.shape} and {two.shape} along axis {axis}; expected one extent there")
    dtype = result_type(one, two)
    product = multiply(conj(one) if one.dtype.kind == "c" else one, two)
    return astype(sum(product, axis=axis), dtype)


def tensordot(x1: Any, x2: Any, /, *, axes: int | Sequence[Sequence[int]] = 2) -> BlockArray:
    """The sums of products over pairs of axes, as one matrix product.

    Args:
        x1: an array.
        x2: an array.
        axes: how many of the last axes of ``x1`` meet the first ones of ``x2``, or the axes of each.
    """
    one, two = _given(x1), _given(x2)
    if len(many(axes)) > 2:
        raise InvalidInputError(f"axes is {axes!r}; expected a number of axes, or the axes of each array")
    if len(many(axes)) == 1:
        count = integer("axes", axes)
        if not 0 <= count <= builtins.min(one.ndim, two.ndim):
            raise InvalidInputError(f"tensordot of shapes {one.shape} and {two.shape} over {count} axes; expected 0 or more that both have")
        pairs = [tuple(range(one.ndim - count, one.ndim)), tuple(range(count))]
    else:
        pairs = [tuple(each._axis(at) for at in many(ats)) for each, ats in zip((one, two), many(axes), strict=False)]
    kept = [[at for at in range(each.ndim) if at not in gone] for each, gone in zip((one, two), pairs, strict=True)]
    if [one.shape[at] for at in pairs[0]] != [two.shape[at] for at in pairs[1]]:
        raise InvalidInputError(f"tensordot of shapes {one.shape} and {two.shape} over {axes}; expected one extent for each pair")
    inner = math.prod(one.shape[at] for at in pairs[0])
    rows, cols = ([each.shape[at] for at in ats] for each, ats in zip((one, two), kept, strict=True))
    first = reshape(permute_dims(one, (*kept[0], *pairs[0])), (math.prod(rows), inner))
    second = reshape(permute_dims(two, (*pairs[1], *kept[1])), (inner, math.prod(cols)))
    return reshape(matmul(first, second), (*rows, *cols))


# Utility functions


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> BlockArray:
    """The differences of neighbours along an axis, ``n`` times, with arrays put before and after it first."""
    array = _given(x)
    along, count = array._axis(axis), integer("n", n)
    if count < 0:
        raise InvalidInputError(f"n is {count}; expected 0 or more")
    if not count:
        return array
    edge = [1 if each == along else extent for each, extent in enumerate(array.shape)]
    parts = [_given(each) for each in (prepend, array, append) if each is not None]
    array = concat([each if each.ndim else broadcast_to(each, edge) for each in parts], axis=along) if len(parts) > 1 else array
    before = (slice(None),) * along
    for _ in range(count):
        if array.shape[along] < 2:
            edge[along] = 0
            return zeros(edge, array.dtype, spark=array.spark)
        upper, lower = (array[tuple((*before, part))] for part in (slice(1, None), slice(None, -1)))
        array = upper != lower if array.dtype.kind == "b" else upper - lower
    return array


# Inspection


class _Info:
    """What the namespace has, see :func:`__array_namespace_info__`."""

    def capabilities(self) -> dict[str, Any]:
        """No shapes that depend on values; masks along one axis only. Arrays have any number of axes."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": None}

    def default_device(self) -> str:
        return DEVICE

    def devices(self) -> list[str]:
        return [DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, _DType]:
        _on_device(device)
        return {"real floating": float64, "complex floating": complex128, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, _DType]:
        _on_device(device)
        found = (bool, int8, int16, int32, int64, uint8, uint16, uint32, float32, float64, complex64, complex128)
        return {each.name: each for each in found if kind is None or isdtype(each, kind)}


def __array_namespace_info__() -> _Info:
    """Capabilities, devices and dtypes."""
    return _Info()


__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "complex128",
    "complex64",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "e",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flip",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "from_dlpack",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "imag",
    "inf",
    "int16",
    "int32",
    "int64",
    "int8",
    "isdtype",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "tensordot",
    "take",
    "tile",
    "tril",
    "triu",
    "trunc",
    "uint16",
    "uint32",
    "uint8",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]

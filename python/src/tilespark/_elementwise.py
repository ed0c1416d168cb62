"""Python's operators and numpy's elementwise functions, each defined by an SQL expression."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _formulas
from .errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from ._array import BlockArray

#: Expressions of two operands, by the names of numpy's functions.
BINARY = {
    "add": "a + b",
    "subtract": "a - b",
    "multiply": "a * b",
    "divide": "a / b",
    "floor_divide": "a div b",
    "remainder": "a % b",
    "power": "pow(a, b)",
    "equal": "a = b",
    "not_equal": "a <> b",
    "less": "a < b",
    "less_equal": "a <= b",
    "greater": "a > b",
    "greater_equal": "a >= b",
    "maximum": "greatest(a, b)",
    "minimum": "least(a, b)",
    "arctan2": "atan2(a, b)",
    "hypot": "hypot(a, b)",
    "logical_and": "a <> 0 AND b <> 0",
    "logical_or": "a <> 0 OR b <> 0",
    "logical_xor": "(a <> 0) <> (b <> 0)",
    **_formulas.REAL_PAIRS,
}

#: Expressions of two bool operands; those of integers are in :mod:`tilespark._formulas`.
LOGICAL = {"bitwise_and": "a AND b", "bitwise_or": "a OR b", "bitwise_xor": "a <> b"}

#: Comparisons, which a whole number beyond those of blocks passes as infinity does.
COMPARED = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")

#: Further functions of two integers.
SHIFTS = ("left_shift", "right_shift")

#: Expressions of one operand, by the names of numpy's functions.
UNARY = {
    "negative": "-v",
    "absolute": "abs(v)",
    "invert": "NOT v",
    "logical_not": "v = 0",
    "sign": "sign(v)",
    "conjugate": "conj(v)",
    "isnan": "isnan(v)",
    "floor": "floor(v)",
    "ceil": "ceil(v)",
    "rint": "round(v)",
    **{name: f"{name}(v)" for name in "sqrt exp expm1 log log1p sin cos tan tanh".split()},
    **_formulas.REAL,
}

#: The SQL type of a dtype's column, the narrowest that has all its values.
SQL = {
    **{"int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float32": "FLOAT", "float64": "DOUBLE"},
    **{"uint8": "SMALLINT", "uint16": "INT", "uint32": "BIGINT"},
}


def steps(name: str, dtype: np.dtype[Any], wanted: np.dtype[Any]) -> tuple[str, ...]:
    """The expressions that make a function of one operand, each of the result of the one before.

    Args:
        name: the name of numpy's function.
        dtype: the operand's dtype.
        wanted: the result's dtype.
    """
    if name == "invert" and dtype.kind in "iu":
        return (wrapped("-1 - v", wanted),)
    if name in _OF_INTEGERS and dtype.kind in "bui" and wanted.kind != "f":
        return (_OF_INTEGERS[name],)
    if dtype.kind in "bui" and wanted.kind == "f":  # an integer would overflow within a formula
        return (re.sub(r"\bv\b", f"CAST(v AS {SQL.get(wanted.name, 'FLOAT')})", UNARY[name]),)
    if dtype.kind != "c":
        return (wrapped(UNARY[name], wanted),)
    found = _formulas.COMPLEX.get(name, UNARY[name])
    parts = {"re": "real(v)", "im": "imag(v)"}
    texts = (found,) if isinstance(found, str) else found
    return tuple(re.sub(r"\b(re|im)\b", lambda part: parts[part[0]], each) for each in texts)


_OF_INTEGERS = {
    **{"isnan": "v <> v", "isfinite": "v = v", "isinf": "v <> v", "signbit": "v < 0"},
    **dict.fromkeys(("floor", "ceil", "trunc", "rint", "positive"), "v"),
    "reciprocal": "if(v = 1 OR v = -1, v, 0)",
}


def wrapped(text: str, dtype: np.dtype[Any]) -> str:
    """The expression of a result of ``dtype``: an unsigned one wraps, while its column has values beyond it."""
    return f"({text}) % {1 << 8 * dtype.itemsize}" if dtype.kind == "u" else text


def numpys_dtype(name: str, *operands: Any) -> np.dtype[Any]:
    """The dtype of a numpy function's result for operands that are dtypes of arrays, or numbers.

    Raises:
        InvalidInputError: if numpy does not accept the operands.
        UnsupportedError: if the result is of 64 bits without a sign, which blocks cannot hold.
    """
    ones = [np.ones(1, operand) if isinstance(operand, np.dtype) else operand for operand in operands]
    try:
        with np.errstate(all="ignore"):
            dtype: np.dtype[Any] = getattr(np, name)(*ones).dtype
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"numpy.{name}: {error}") from None
    if dtype.name == "uint64":
        raise UnsupportedError(f"numpy.{name} would give {dtype.name}, which blocks cannot hold. Nearest: a.astype('int64')")
    return dtype


def expression(name: str, operands: tuple[np.dtype[Any], np.dtype[Any]], wanted: np.dtype[Any], number: bool = False) -> str:
    """The expression of a function of two operands.

    Args:
        name: the name of numpy's function.
        operands: dtypes of the operands.
        wanted: the dtype of the result.
        number: whether the second operand is a number, as which an exponent may be a literal.

    Raises:
        UnsupportedError: if blocks have no expression for these operands.
    """
    kinds = {dtype.kind for dtype in operands}
    if name in LOGICAL and kinds == {"b"}:
        return LOGICAL[name]
    text = _formulas.REAL_PAIRS.get(name)
    if wanted.kind in "iu" and not (name == "power" and number):
        text = _formulas.of_integers(name, 8 * wanted.itemsize, wanted.kind == "i")
    if text is not None:
        sql = SQL.get(wanted.name, "FLOAT")
        return wrapped(re.sub(r"\b[ab]\b", lambda operand: f"CAST({operand[0]} AS {sql})", text), wanted)
    if name in BINARY:
        return _formulas.COMPLEX_POWER if name == "power" and wanted.kind == "c" else wrapped(BINARY[name], wanted)
    raise UnsupportedError(
        f"numpy.{name} of {operands[0].name} and {operands[1].name} is not there yet. Nearest: x.compute() gives the whole array"
        " to numpy"
    )


def with_number(text: str, array: np.dtype[Any], number: Any, reflected: bool) -> tuple[str, dict[str, Any]]:
    """Rewrites an expression of two operands, an array and a number, with ``v`` for the element; returns it and its scalars.

    Args:
        text: an expression of ``a`` and ``b``.
        array: the array's dtype.
        number: a Python number, which adopts the array's dtype, or a numpy scalar, which has its own.
        reflected: whether the number is ``a``.
    """
    scalars: dict[str, Any]
    if isinstance(number, bool | np.bool_):
        beside, scalars = ("TRUE" if number else "FALSE"), {}
    elif isinstance(number, complex | np.complexfloating):
        beside, scalars = "complex(re, im)", {"re": float(number.real), "im": float(number.imag)}
    else:
        beside, scalars = "number", {"number": number}
    own = "v"
    if isinstance(number, np.generic):
        own = _cast(array, np.result_type(array, number))
    first, second = (beside, own) if reflected else (own, beside)
    return re.sub(r"\b[ab]\b", lambda found: first if found[0] == "a" else second, text), scalars


def _cast(array: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    """The expression ``v``, cast to the dtype in which numpy combines it with a numpy scalar."""
    part = SQL.get(np.zeros(0, wanted).real.dtype.name)
    if part is None or array == wanted or np.zeros(0, array).real.dtype == np.zeros(0, wanted).real.dtype:
        return "v"
    return f"complex(CAST(real(v) AS {part}), CAST(imag(v) AS {part}))" if array.kind == "c" else f"CAST(v AS {part})"


Operator = Callable[["BlockArray", Any], "BlockArray"]


def operators(name: str) -> tuple[Operator, Operator]:
    """The two methods of a Python operator: for the left and for the right operand."""

    def left(self: BlockArray, other: Any) -> BlockArray:
        return self._operated(name, other)

    def right(self: BlockArray, other: Any) -> BlockArray:
        return self._operated(name, other, reflected=True)

    return left, right

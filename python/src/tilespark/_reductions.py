"""Builds the reduction methods, such as ``x.sum``, each from its name and a description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from ._arguments import number
from .errors import UnsupportedError

if TYPE_CHECKING:
    from ._array import BlockArray

Axis = int | str | Sequence[int | str] | None

_DOC = """{what}

        Along axes a BlockArray, lazy; over all axes a number of numpy, which is computed now.

        Args:
            axis: one axis or several, as numbers, letters or names; by default all.
            {more}keepdims: whether the axes stay, with extent 1; the result is then always a BlockArray.
            dtype: None; what ``numpy.{name}(x)`` gives.
            out: None, as ``dtype``.
        """
_DDOF = """ddof: what is taken off the count of elements before the division by it.
            """


class Reduction(Protocol):
    """The type of a method such as ``x.sum``."""

    def __call__(self, axis: Axis = None, *, keepdims: bool = False, dtype: None = None, out: None = None) -> Any: ...


class Spread(Protocol):
    """The type of a method such as ``x.std``."""

    def __call__(
        self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False, dtype: None = None, out: None = None
    ) -> Any: ...


def reduction(name: str, what: str) -> Reduction:
    """A method that calls the SQL reduction ``name``; ``what`` is the first sentence of its docstring."""

    def method(self: BlockArray, axis: Axis = None, *, keepdims: bool = False, dtype: None = None, out: None = None) -> Any:
        _refuse(name, dtype, out)
        return self._reduced(name, axis, keepdims)

    return cast(Reduction, _named(method, name, _DOC.format(what=what, name=name, more="")))


def spread(name: str, what: str) -> Spread:
    """Same as :func:`reduction`, for reductions with the argument ``ddof``."""

    def method(
        self: BlockArray, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False, dtype: None = None, out: None = None
    ) -> Any:
        _refuse(name, dtype, out)
        return self._reduced(name, axis, keepdims, ddof=number("ddof", ddof))

    return cast(Spread, _named(method, name, _DOC.format(what=what, name=name, more=_DDOF)))


def _named(method: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    method.__name__, method.__qualname__, method.__doc__ = name, f"BlockArray.{name}", doc
    return method


def _refuse(name: str, dtype: object, out: object) -> None:
    for argument, value, nearest in (("dtype", dtype, f"x.astype(dtype).{name}()"), ("out", out, f"y = x.{name}()")):
        if value is not None:
            raise UnsupportedError(f"{name} with {argument}=... is not there yet. Nearest: {nearest}")

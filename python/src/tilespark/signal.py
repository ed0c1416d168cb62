"""Convolution and correlation by Fourier transforms, with scipy.signal's names and meaning."""

from __future__ import annotations

from typing import Any

from . import fft
from ._array import BlockArray, as_array
from .errors import InvalidInputError

__all__ = ["correlate", "fftconvolve"]

_MODES = ("full", "same", "valid")


def fftconvolve(in1: Any, in2: Any, mode: str = "full") -> BlockArray:
    """The convolution of two arrays along all axes, as scipy.signal.fftconvolve.

    Both arrays are padded to the extents of the full result, rounded up to products of 2, 3 and 5; so a small ``in2``
    costs as much as a large one.

    Args:
        in1: a vector, a matrix or a volume.
        in2: an array with as many axes.
        mode: ``"full"``, ``"same"`` (the middle part with the extents of ``in1``) or ``"valid"`` (where the arrays overlap
            fully).
    """
    one, two = as_array(in1), as_array(in2)
    if mode not in _MODES:
        raise InvalidInputError(f"mode is {mode!r}; expected {', '.join(_MODES)}")
    if one.ndim != two.ndim or one._is_batch or two._is_batch:
        raise InvalidInputError(f"fftconvolve of {one._what} and {two._what}; expected two vectors, two matrices or two volumes")
    if not one.size or not two.size:
        raise InvalidInputError(f"fftconvolve of arrays of shape {one.shape} and {two.shape}; expected elements in both")
    if mode == "valid":
        fits = [(a >= b, b >= a) for a, b in zip(one.shape, two.shape, strict=True)]
        if not all(first for first, _ in fits):
            if not all(second for _, second in fits):
                raise InvalidInputError(
                    f"fftconvolve of shape {one.shape} and {two.shape}, mode 'valid'; expected one that is as long as the other"
                    " along each axis"
                )
            one, two = two, one
    whole = tuple(a + b - 1 for a, b in zip(one.shape, two.shape, strict=True))
    lengths = tuple(map(_next_fast, whole))
    is_complex = "c" in (one.dtype.kind, two.dtype.kind)
    there, back = (fft.fftn, fft.ifftn) if is_complex else (fft.rfftn, fft.irfftn)
    result = back(there(one, lengths) * there(two, lengths), lengths)
    if mode == "full":
        starts, extents = (0,) * one.ndim, whole
    elif mode == "same":
        starts, extents = tuple((b - 1) // 2 for b in two.shape), one.shape
    else:
        starts, extents = tuple(b - 1 for b in two.shape), tuple(a - b + 1 for a, b in zip(one.shape, two.shape, strict=True))
    return result[tuple(slice(start, start + extent) for start, extent in zip(starts, extents, strict=True))]


def correlate(in1: Any, in2: Any, mode: str = "full") -> BlockArray:
    """The cross-correlation of two arrays along all axes, as scipy.signal.correlate.

    Args:
        in1: see :func:`fftconvolve`.
        in2: an array with as many axes; its complex conjugate is used.
        mode: see :func:`fftconvolve`.
    """
    one, two = as_array(in1), as_array(in2)
    if mode == "valid" and one.ndim == two.ndim and any(a < b for a, b in zip(one.shape, two.shape, strict=True)):
        return correlate(two, one, mode).flip().conj()
    return fftconvolve(one, two.conj().flip(), mode)


def _next_fast(length: int) -> int:
    """The least product of powers of 2, 3 and 5 that is at least ``length``."""
    best = 1 << (length - 1).bit_length()
    fives = 1
    while fives < best:
        threes = fives
        while threes < best:
            short = -(-length // threes)
            best = min(best, threes << (short - 1).bit_length())
            threes *= 3
        fives *= 5
    return best

"""Convolution, correlation and power spectra by Fourier transforms, with scipy.signal's names and meaning."""

from __future__ import annotations

import math
import warnings
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from . import fft
from ._arguments import integer, number
from ._array import BlockArray, NDArray, as_array
from .errors import InvalidInputError, UnsupportedError

__all__ = ["correlate", "fftconvolve", "welch"]

_MODES = ("full", "same", "valid")

#: Periodic windows, as factors of 1, cos(t) and cos(2 t) where t goes from 0 to 2 pi.
_WINDOWS = {
    "boxcar": (1.0,),
    "hann": (0.5, -0.5),
    "hamming": (0.54, -0.46),
    "blackman": (0.42, -0.5, 0.08),
}


def fftconvolve(in1: Any, in2: Any, mode: str = "full") -> BlockArray:
    """The convolution of two arrays along all axes, as scipy.signal.fftconvolve.

    Both arrays are padded to the extents of the full result, rounded up to products of 2, 3 and 5; so a small ``in2``
    costs as much as a large one.

    Args:
        in1: an array.
        in2: an array with as many axes.
        mode: ``"full"``, ``"same"`` (the middle part with the extents of ``in1``) or ``"valid"`` (where the arrays overlap
            fully).
    """
    one, two = as_array(in1), as_array(in2)
    if mode not in _MODES:
        raise InvalidInputError(f"mode is {mode!r}; expected {', '.join(_MODES)}")
    if one.ndim != two.ndim or not one.ndim:
        raise InvalidInputError(f"fftconvolve of {one._what} and {two._what}; expected arrays of as many axes, one or more")
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
    shorter = one.ndim == two.ndim and one.shape != two.shape and all(a <= b for a, b in zip(one.shape, two.shape, strict=True))
    if mode == "valid" and shorter:
        return correlate(two, one, mode).flip().conj()
    return fftconvolve(one, two.conj().flip(), mode)


def welch(
    x: Any,
    fs: float = 1.0,
    window: str | NDArray = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    *,
    detrend: str | bool = "constant",
    scaling: str = "density",
    axis: int | str = -1,
) -> tuple[NDArray, BlockArray]:
    """The power spectrum of real signals along an axis, as scipy.signal.welch: the mean over segments that overlap.

    Args:
        x: an array of signals.
        fs: samples per unit of time.
        window: ``"hann"``, ``"hamming"``, ``"blackman"``, ``"boxcar"``, or ``nperseg`` numbers.
        nperseg: samples of a segment; by default 256, or those of the window.
        noverlap: samples that two segments share; by default half of a segment.
        detrend: ``"constant"`` subtracts each segment's mean, ``False`` nothing.
        scaling: ``"density"`` for power per frequency, ``"spectrum"`` for power.
        axis: the axis of time.

    Returns:
        The frequencies, a numpy vector, and the spectra, which have them in place of time.

    Raises:
        InvalidInputError: if an argument is out of range.
        UnsupportedError: if the signals are complex.
    """
    signals = as_array(x)
    if signals.dtype.kind == "c":
        raise UnsupportedError(f"welch of {signals.dtype.name} values; expected real ones")
    for name, value, known in (("detrend", detrend, ("constant", False)), ("scaling", scaling, ("density", "spectrum"))):
        if value not in known:
            raise InvalidInputError(f"{name} is {value!r}; expected {known[0]!r} or {known[1]!r}")
    place = signals._axis(axis)
    order = [each for each in range(signals.ndim) if each != place]
    leading = tuple(signals.shape[each] for each in order)
    samples = signals.shape[place]
    weights = _window(window, nperseg, samples)
    length = len(weights)
    step = length - (length // 2 if noverlap is None else integer("noverlap", noverlap))
    if not 0 < step <= length:
        raise InvalidInputError(f"noverlap is {noverlap}, segments have {length} samples; expected 0 or more, and fewer than those")
    rows = signals.transpose((*order, place)) if signals.ndim > 1 else signals
    if len(leading) > 1:
        rows = rows.reshape(math.prod(leading), samples)
    rows = rows.astype(np.result_type(signals.dtype, np.complex64).type(0).real.dtype)
    scale = 1 / (number("fs", fs) * (weights**2).sum()) if scaling == "density" else 1 / weights.sum() ** 2
    twice = np.full(length // 2 + 1, 2.0)
    twice[0] = 1
    if length % 2 == 0:
        twice[-1] = 1
    # Each of these sets of segments has no overlap, so it is a reshape of the signals.
    stride = -(-length // step) * step
    starts = [start for start in range(0, stride, step) if start + length <= samples]
    counts = [(samples - start - length) // stride + 1 for start in starts]
    powers = [
        _powers(rows, start, (count, stride), weights.astype(rows.dtype), detrend == "constant")
        for start, count in zip(starts, counts, strict=True)
    ]
    spectra = reduce(add, powers) * (twice * scale / sum(counts)).astype(rows.dtype)
    if len(leading) > 1:
        spectra = spectra.reshape(*leading, len(twice))
    if signals.ndim > 1:
        spectra = spectra.transpose(tuple(np.argsort((*order, place))))
    frequencies = np.fft.rfftfreq(length, 1 / fs)
    spectra._labels = signals._labels.of_spectrum({place: lambda: frequencies}, signals.ndim)
    return frequencies, spectra


def _window(window: str | NDArray, nperseg: int | None, samples: int) -> NDArray:
    """The weights of a segment's samples."""
    if not isinstance(window, str):
        weights = np.asarray(window, float)
        if weights.ndim != 1 or not 0 < len(weights) <= samples or nperseg not in (None, len(weights)):
            raise InvalidInputError(
                f"window has the shape {weights.shape}, nperseg is {nperseg}, the signals have {samples} samples; expected"
                " nperseg numbers, and no more than samples"
            )
        return weights
    if window not in _WINDOWS:
        raise InvalidInputError(f"window is {window!r}; expected {', '.join(_WINDOWS)}, or the numbers of one")
    length = 256 if nperseg is None else integer("nperseg", nperseg)
    if length < 1 or samples < 1:
        raise InvalidInputError(f"nperseg is {length}, the signals have {samples} samples; expected 1 or more")
    if length > samples:
        if nperseg is not None:
            warnings.warn(f"welch: nperseg is {length}, the signals have {samples} samples: segments have as many", stacklevel=3)
        length = samples
    angles = 2 * np.pi * np.arange(length) / length
    return sum(factor * np.cos(times * angles) for times, factor in enumerate(_WINDOWS[window]))  # type: ignore[return-value]


def _powers(rows: BlockArray, start: int, shape: tuple[int, int], weights: NDArray, detrend: bool) -> BlockArray:
    """The sum over segments of the squares of their spectra, for each row of signals."""
    *leading, samples = rows.shape
    count, stride = shape
    end = start + count * stride
    part = rows[..., start : min(end, samples)]
    if end > samples:
        part = part.pad([(0, 0)] * len(leading) + [(0, end - samples)])
    segments = part.reshape(*leading, count, stride)[..., : len(weights)]
    if detrend:
        segments = segments - segments.mean(-1, keepdims=True)
    spectra = fft.rfft(segments * weights, axis=-1)
    powers: BlockArray = spectra.map("real(v) * real(v) + imag(v) * imag(v)").sum(-2)
    return powers


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

"""Fourier transforms of arrays of any number of axes, with numpy's and scipy's names and meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _blocks, _leading
from ._arguments import flag, integer, integers, many, number
from ._array import BlockArray, as_array
from ._blocks import MATRIX, VOLUME
from ._labels import Labels, before, frequencies_of
from ._sql import call, numbers
from .errors import InvalidInputError, UnsupportedError, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "RadialAverage",
    "band_pass",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "frequencies",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "low_pass",
    "power_spectrum",
    "radial_average",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

NDArray = np.ndarray[Any, np.dtype[Any]]

_LETTERS = "xyz"
_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
_Axes = int | str | Sequence[int | str]


def fft(x: Any, n: int | None = None, axis: int | str = -1, norm: str | None = None) -> BlockArray:
    """The discrete Fourier transform along one axis, as numpy.fft.fft.

    Args:
        x: any array; a vector is transformed by a single task.
        n: length of the axis, which is cropped or padded with zeros to it.
        axis: the axis that is transformed.
        norm: ``"backward"`` (default), ``"ortho"``, ``"forward"``.
    """
    return fftn(x, _length(n), (axis,), norm)


def ifft(x: Any, n: int | None = None, axis: int | str = -1, norm: str | None = None) -> BlockArray:
    """The inverse of :func:`fft`."""
    return ifftn(x, _length(n), (axis,), norm)


def rfft(x: Any, n: int | None = None, axis: int | str = -1, norm: str | None = None) -> BlockArray:
    """Same as :func:`fft` of real values, with the frequencies 0 to n // 2 only."""
    return rfftn(x, _length(n), (axis,), norm)


def irfft(x: Any, n: int | None = None, axis: int | str = -1, norm: str | None = None) -> BlockArray:
    """The inverse of :func:`rfft`: ``n`` real values; by default an even number of them."""
    return irfftn(x, _length(n), (axis,), norm)


def hfft(x: Any, n: int | None = None, axis: int | str = -1, norm: str | None = None) -> BlockArray:
    """The transform of a Hermitian-symmetric array, given by its first half, to a real spectrum, as numpy.fft.hfft."""
    return irfft(as_array(x).conj(), n, axis, _swapped(norm))


def ihfft(x: Any, n: int | None = None, axis: int | str = -1, norm: str | None = None) -> BlockArray:
    """The inverse of :func:`hfft`."""
    return rfft(x, n, axis, _swapped(norm)).conj()


def fft2(x: Any, s: Sequence[int] | None = None, axes: _Axes = (-2, -1), norm: str | None = None) -> BlockArray:
    """Same as :func:`fftn` along two axes, by default the last ones: of an image, or of each image of a stack."""
    return fftn(x, s, axes, norm)


def ifft2(x: Any, s: Sequence[int] | None = None, axes: _Axes = (-2, -1), norm: str | None = None) -> BlockArray:
    """The inverse of :func:`fft2`."""
    return ifftn(x, s, axes, norm)


def rfft2(x: Any, s: Sequence[int] | None = None, axes: _Axes = (-2, -1), norm: str | None = None) -> BlockArray:
    """Same as :func:`fft2` of real values: the last axis has the frequencies 0 to n // 2 only."""
    return rfftn(x, s, axes, norm)


def irfft2(x: Any, s: Sequence[int] | None = None, axes: _Axes = (-2, -1), norm: str | None = None) -> BlockArray:
    """The inverse of :func:`rfft2`."""
    return irfftn(x, s, axes, norm)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> NDArray:
    """The frequencies of a transform of ``n`` elements, as a vector of numpy, see numpy.fft.fftfreq.

    Args:
        n: elements before the transform.
        d: distance between them.
        dtype: dtype of the frequencies; float64 by default.
        device: ignored; the vector is numpy's.
    """
    return np.fft.fftfreq(n, d).astype(dtype or float, copy=False)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> NDArray:
    """The frequencies of a transform of ``n`` real elements, see :func:`fftfreq`."""
    return np.fft.rfftfreq(n, d).astype(dtype or float, copy=False)


def fftshift(x: Any, axes: _Axes | None = None) -> BlockArray:
    """The array with the zero frequency moved to the middle, as numpy.fft.fftshift; :func:`fftn` can do it with ``shift``."""
    return _rolled(x, axes, lambda extent: extent // 2)


def ifftshift(x: Any, axes: _Axes | None = None) -> BlockArray:
    """The inverse of :func:`fftshift`."""
    return _rolled(x, axes, lambda extent: -(extent // 2))


def fftn(
    x: Any,
    s: int | Sequence[int] | None = None,
    axes: int | str | Sequence[int | str] | None = None,
    norm: str | None = None,
    *,
    permuted: bool = False,
    shift: bool | str = False,
    window: str | Sequence[str] | None = None,
    detrend: str | None = None,
    decomposition: str | None = None,
    missing: str | None = None,
) -> BlockArray:
    """The discrete Fourier transform along all axes, or along some.

    Integers are promoted to float64 as by numpy; float32 gives complex64. A volume becomes a spectrum, which records its
    transform for :func:`ifftn`, :func:`low_pass` and others. Other arrays become ordinary complex arrays.

    Args:
        x: a BlockArray or a numpy array.
        s: extents of the transformed axes, which are cropped or padded with zeros to them; -1 keeps the length of an
            axis.
        axes: the axes to transform; by default all or, if ``s`` is given, the last ``len(s)`` ones.
        norm: ``"backward"`` (default), ``"ortho"``, ``"forward"``.
        permuted: for a volume, whether the result has its axes in the order (1, 2, 0), which saves an exchange of all
            values; :func:`ifftn`, :func:`low_pass` and :func:`radial_average` accept either order.
        shift: whether the zero frequency is in the middle, as after ``fftshift`` of the result. ``"volume"`` means that
            the origin of ``x`` is in the middle, as if ``ifftshift(x)`` were transformed; ``"both"`` means both.
        window: ``"hann"``, ``"hamming"``, ``"blackman"``, or a sequence of these names, one for each transformed axis.
        detrend: ``"mean"`` or ``"linear"``: the trend to subtract before the transform.
        decomposition: how tasks share the work: ``"auto"`` (default), ``"task"``, ``"slabs"``, ``"pencils"``.
        missing: the value of elements in no block: ``"error"`` (default) raises, ``"zero"`` takes zero.

    Raises:
        InvalidInputError: if an argument does not fit ``x``.
    """
    return _forward(x, s, axes, norm, permuted, shift, window, detrend, decomposition, missing, real=False)


def rfftn(
    x: Any,
    s: int | Sequence[int] | None = None,
    axes: int | str | Sequence[int | str] | None = None,
    norm: str | None = None,
    *,
    permuted: bool = False,
    shift: bool | str = False,
    window: str | Sequence[str] | None = None,
    detrend: str | None = None,
    decomposition: str | None = None,
    missing: str | None = None,
) -> BlockArray:
    """Same as :func:`fftn` of real values: the last of ``axes`` has the frequencies 0 to n // 2 only."""
    return _forward(x, s, axes, norm, permuted, shift, window, detrend, decomposition, missing, real=True)


def ifftn(
    x: Any,
    s: int | Sequence[int] | None = None,
    axes: int | str | Sequence[int | str] | None = None,
    norm: str | None = None,
    *,
    shift: bool | str | None = None,
    decomposition: str | None = None,
    missing: str | None = None,
) -> BlockArray:
    """The inverse of :func:`fftn`. A spectrum records axes, norm, shift and order of its transform, which are undone.

    If the axes of a spectrum were permuted after its transform, the result has the permuted order, as in numpy:
    ``ifftn(fftn(x).T)`` is ``x.T``. ``axes`` are always axes of the argument.

    Args:
        x: a spectrum, or any complex array, which is transformed as by scipy.
        s: the extents of the result along ``axes``; for a spectrum, they must be its own.
        axes: the transformed axes; by default those of the spectrum's transform or, without a record of it, all.
        norm: see :func:`fftn`.
        shift: see :func:`fftn`; by default the spectrum's own.
        decomposition: see :func:`fftn`.
        missing: see :func:`fftn`.

    Raises:
        UnsupportedError: for a spectrum, if ``s`` would pad or crop, or ``axes`` are not those of its transform.
    """
    return _with_fitting(_inverse(x, s, axes, norm, shift, decomposition, missing, real=False))


def irfftn(
    x: Any,
    s: int | Sequence[int] | None = None,
    axes: int | str | Sequence[int | str] | None = None,
    norm: str | None = None,
    *,
    shift: bool | str | None = None,
    decomposition: str | None = None,
    missing: str | None = None,
) -> BlockArray:
    """The inverse of :func:`rfftn`: a real array.

    Args:
        x: half a spectrum.
        s: the extents of the result along ``axes``; without a record of the transform, the last one tells an even from an
            odd length.
        axes: see :func:`ifftn`; the last one is the halved one.
        norm: see :func:`fftn`.
        shift: see :func:`ifftn`.
        decomposition: see :func:`fftn`.
        missing: see :func:`fftn`.

    Raises:
        UnsupportedError: as :func:`ifftn`.
    """
    return _with_fitting(_inverse(x, s, axes, norm, shift, decomposition, missing, real=True))


def _with_fitting(found: BlockArray) -> BlockArray:
    """The result of an inverse, with those coordinates from before the transform that it still has."""
    found._labels = found._labels.fitting(found._known_shape)
    return found


def low_pass(x: Any, cutoff: float) -> BlockArray:
    """A spectrum with zeros where the absolute value of the frequency is above a cutoff.

    Args:
        x: a result of :func:`fftn` or :func:`rfftn`.
        cutoff: in cycles per unit of the spacing; 0.5 is the highest frequency along an axis of spacing 1.
    """
    array = _spectrum("low_pass", x)
    return array._of(call("volume_low_pass", {"input": array._df}, cutoff=number("cutoff", cutoff)), array._labels)


def band_pass(x: Any, low: float, high: float) -> BlockArray:
    """A spectrum with zeros where the absolute value of the frequency is outside a band.

    Args:
        x: a result of :func:`fftn` or :func:`rfftn`.
        low: the least frequency that is kept, in the unit of ``high``.
        high: the greatest, in cycles per unit of the spacing; 0.5 is the highest along an axis of spacing 1.
    """
    array = _spectrum("band_pass", x)
    found = call("volume_band_pass", {"input": array._df}, low=number("low", low), high=number("high", high))
    return array._of(found, array._labels)


def power_spectrum(x: Any) -> BlockArray:
    """The squared absolute values of a spectrum, as a real volume."""
    array = _volume("power_spectrum", x)
    if array.dtype.kind != "c":
        raise InvalidInputError(f"power_spectrum of {array.dtype} values; expected a spectrum, as tilespark.fft.fftn(x) gives")
    return array._of(call("volume_power_spectrum", {"input": array._df}), array._labels)


@dataclass(frozen=True)
class RadialAverage:
    """The mean power at each absolute value of the frequency.

    Attributes:
        frequency: (bins,), in cycles per unit of the spacing.
        power: (bins,), the mean of the squared absolute values.
        count: (bins,), number of elements of the spectrum in each bin.
    """

    frequency: NDArray
    power: NDArray
    count: NDArray


def radial_average(x: Any, width: float | None = None) -> RadialAverage:
    """The power of a spectrum, averaged over directions; computed now.

    Args:
        x: a result of :func:`fftn` or :func:`rfftn`.
        width: width of a bin, in cycles per unit of the spacing; by default the finest step between frequencies.
    """
    array = _spectrum("radial_average", x)
    if array._batch is not None:
        raise UnsupportedError(f"radial_average of {array._what}; expected one volume: x[0]")
    df = call("volume_radial_average", {"input": array._df}, width=None if width is None else number("width", width))
    with translated():
        rows = df.select("frequency", "power", "count").orderBy("frequency").collect()
    frequency, power, count = zip(*rows, strict=True) if rows else ((), (), ())
    return RadialAverage(np.array(frequency, float), np.array(power, float), np.array(count, np.int64))


def frequencies(x: Any) -> tuple[NDArray | None, ...]:
    """The frequencies along each axis of a spectrum, in the order of its elements, in cycles per unit of the spacing.

    Args:
        x: a result of :func:`fftn` or :func:`rfftn`.

    Returns:
        An array for each axis, as from ``fftfreq`` or ``rfftfreq``, shifted if the spectrum is; None for an axis that was
        not transformed.
    """
    array = _spectrum("frequencies", x)
    with translated():
        rows = call("volume_frequencies", {"input": array._df}).orderBy("index").collect()
    found = {letter: [row.frequency for row in rows if row.axis == letter] for letter in _LETTERS}
    return (None,) * array._lead_rank + tuple(np.array(found[letter]) if found[letter] else None for letter in _LETTERS)


def _forward(
    x: Any,
    s: int | Sequence[int] | None,
    axes: int | str | Sequence[int | str] | None,
    norm: str | None,
    permuted: bool,
    shift: bool | str,
    window: str | Sequence[str] | None,
    detrend: str | None,
    decomposition: str | None,
    missing: str | None,
    *,
    real: bool,
) -> BlockArray:
    name = "rfftn" if real else "fftn"
    array = as_array(x)._floating()
    if real and array.dtype.kind == "c":
        raise InvalidInputError(f"rfftn of {array.dtype} values; expected real ones: fftn takes complex ones")
    along, lengths = _axes(array, axes, s)
    array = _cropped(array, along, lengths)
    pad = None if lengths is None else numbers(lengths)
    lead = array._lead_rank
    if array._batch is not None and array._kind is MATRIX:  # Spark transforms volumes
        stack = _leading.as_kind(array, VOLUME)
        found = _forward(stack, lengths, along, norm, permuted, shift, window, detrend, decomposition, missing, real=real)
        return _leading.as_kind(found, MATRIX)
    labels = _labels_of_spectrum(array, along, lengths, shift, real)
    if min(along) < lead:
        if permuted or shift or window is not None or detrend is not None:
            raise UnsupportedError(
                f"{name} of {array._what} along its first {lead} axes with permuted, shift, window or detrend; expected none of these"
            )
        steps = _steps(along[:-1] if real else along, lead)
        for step in [along[-1:], *steps] if real else steps:
            forward = rfftn if real and step == along[-1:] else fftn
            array = _stepped(array, forward, step, _of_axes(lengths, along, step), norm, decomposition, missing)
        return array._of(array._df, labels)
    spacing = array._labels.spacing_or_one()
    raised = _Raised.of(array)
    if flag("permuted", permuted) and not raised.is_volume:
        raise UnsupportedError(f"{name} of {array._what} with permuted=True; expected a volume")
    df = call(
        "volume_fft",
        {"input": raised.df},
        axes=None if raised.is_volume and len(along) == 3 and axes is None and s is None else raised.letters(along),
        norm=norm,
        real=True if real else None,
        output="permuted" if permuted else "natural",
        shift=_shift(shift),
        decomposition=decomposition,
        missing=missing,
        window=_windows(window),
        detrend=detrend,
        padTo=pad,
        spacing=None if spacing is None else numbers(tuple(spacing[axis] for axis in along)),
    )
    return raised.lowered(df, labels)


def _labels_of_spectrum(
    array: BlockArray, along: tuple[int, ...], lengths: tuple[int, ...] | None, shift: bool | str, real: bool
) -> Labels:
    shifted = _shift(shift) in ("spectrum", "both") if isinstance(shift, bool | str) else False
    found = {
        axis: frequencies_of(
            array._known_shape[axis] if lengths is None else lengths[at],
            array.spacing[axis],
            real and at == len(along) - 1,
            shifted,
        )
        for at, axis in enumerate(along)
    }
    return array._labels.of_spectrum(found, array.ndim)


def _shift(shift: bool | str | None) -> str | None:
    return ("spectrum" if shift else "none") if isinstance(shift, bool) else shift


def _inverse(
    x: Any,
    s: int | Sequence[int] | None,
    axes: int | str | Sequence[int | str] | None,
    norm: str | None,
    shift: bool | str | None,
    decomposition: str | None,
    missing: str | None,
    *,
    real: bool,
) -> BlockArray:
    name = "irfftn" if real else "ifftn"
    array = as_array(x)._floating()
    array = array.astype(np.result_type(array.dtype, np.complex64))
    options = {"shift": _shift(shift), "decomposition": decomposition, "missing": missing}
    is_mixed = _blocks.is_mixed(array._df.schema)
    if is_mixed and axes is None:
        raise InvalidInputError(
            f"{name} of blocks that come from different transforms, or some from none, as after a union; expected those of one"
            " transform: undo each before, or state axes and norm"
        )
    if _blocks.is_spectrum(array._df.schema) and not is_mixed:
        transform = _blocks.transform_of(array._df.schema)
        if (transform.half is not None) != real:
            raise _not_inverse(name, real)
        _require_made(name, array, transform, s, axes)
        made = tuple(array._lead_rank + axis for axis in transform.axes)
        labels = array._labels.of_inverse(made, array.ndim)
        return _Raised.of(array).lowered(call("volume_ifft", {"input": array._df}, norm=norm, **options), labels)
    along, lengths = _axes(array, axes, s)
    lead = array._lead_rank
    labels = array._labels.of_inverse(along, array.ndim)
    if array._batch is not None and array._kind is MATRIX:
        stack = _leading.as_kind(array, VOLUME)
        return _leading.as_kind(_inverse(stack, lengths, along, norm, shift, decomposition, missing, real=real), MATRIX)
    if min(along) < lead:
        if shift:
            raise UnsupportedError(f"{name} of {array._what} along its first {lead} axes with shift; expected none")
        steps = _steps(along[:-1] if real else along, lead)
        for step in [*steps, along[-1:]] if real else steps:
            backward = irfftn if real and step == along[-1:] else ifftn
            array = _stepped(array, backward, step, _of_axes(lengths, along, step), norm, decomposition, missing)
        return array._of(array._df, labels)
    if len(along) == 3 and sorted(along) != list(along):  # a halved axis must be last, here z
        order, last = (*range(lead), *along), tuple(range(lead, lead + 3))
        turned = _inverse(array.transpose(order), lengths, last, norm, shift, decomposition, missing, real=real)
        return turned.transpose(tuple(order.index(axis) for axis in range(lead + 3)))
    half = None
    if real:
        half = 2 * (array.shape[along[-1]] - 1) if lengths is None else lengths[-1]
        lengths = None if lengths is None else (*lengths[:-1], half // 2 + 1)
    array = _padded(_cropped(array, along, lengths), along, lengths)
    raised = _Raised.of(array)
    df = call(
        "volume_ifft",
        {"input": raised.df},
        axes=raised.letters(along),
        norm="backward" if norm is None else norm,
        real=True if real else None,
        realExtent=half,
        **options,
    )
    return raised.lowered(df, labels)


def _steps(along: tuple[int, ...], lead: int) -> list[tuple[int, ...]]:
    """The axes in groups that are transformed one after the other: those within blocks' volumes at once, each leading one."""
    own = tuple(axis for axis in along if axis >= lead)
    return [*([own] if own else []), *((axis,) for axis in along if axis < lead)]


def _of_axes(lengths: tuple[int, ...] | None, along: tuple[int, ...], step: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if lengths is None else tuple(lengths[along.index(axis)] for axis in step)


def _stepped(
    array: BlockArray,
    transform: Callable[..., BlockArray],
    axes: tuple[int, ...],
    lengths: tuple[int, ...] | None,
    norm: str | None,
    decomposition: str | None,
    missing: str | None,
) -> BlockArray:
    """The array after a transform along one leading axis, or along others."""
    if axes[0] >= array._lead_rank:
        return transform(array, lengths, axes, norm, decomposition=decomposition, missing=missing)
    return _leading.along(
        array, axes[0], lambda view: transform(view, lengths, (1,), norm, decomposition=decomposition, missing=missing)
    )


@dataclass(frozen=True)
class _Raised:
    """An array converted to volumes, the only kind that Spark transforms.

    Attributes:
        array: a vector, a matrix, or an array stored as volumes.
        df: blocks of the volumes.
        axes: for each axis of the array that is no leading one the axis of the volume.
    """

    array: BlockArray
    df: DataFrame
    axes: tuple[int, ...]

    @staticmethod
    def of(array: BlockArray) -> _Raised:
        if array._kind is VOLUME:
            return _Raised(array, array._df, (0, 1, 2))
        kept = tuple(axis + 1 for axis in range(2) if axis not in array._dropped)
        return _Raised(array, _blocks.with_first_axis(array._df, array._extents), kept)

    @property
    def is_volume(self) -> bool:
        return self.array._kind is VOLUME

    def letters(self, along: tuple[int, ...]) -> str:
        return "".join(_LETTERS[self.axes[axis - self.array._lead_rank]] for axis in along)

    def lowered(self, df: DataFrame, labels: Labels) -> BlockArray:
        """Converts volumes back to an array of the original rank; ``labels`` has the order of the original axes."""
        array = self.array
        if not self.is_volume:
            with translated():
                lower = _blocks.without_axis(df, 0)
            return BlockArray(lower, dropped=array._dropped, labels=labels, keep=array._keep)
        lead = array._lead_rank
        with translated():
            own = _blocks.axis_order(array._df.schema, df.schema)
        return array._of(df, labels.transposed((*range(lead), *(lead + axis for axis in own))))


def _cropped(array: BlockArray, along: tuple[int, ...], lengths: tuple[int, ...] | None) -> BlockArray:
    """The array cut to the given lengths along some axes, where it is longer."""
    ends = dict(zip(along, lengths or (), strict=False))
    if all(length >= array.shape[axis] for axis, length in ends.items()):
        return array
    return array[tuple(slice(ends.get(axis)) for axis in range(array.ndim))]


def _padded(array: BlockArray, along: tuple[int, ...], lengths: tuple[int, ...] | None) -> BlockArray:
    """The array padded with zeros to the given lengths along some axes."""
    widths = [(0, 0)] * array.ndim
    for axis, length in zip(along, lengths or (), strict=False):
        widths[axis] = (0, length - array.shape[axis])
    return array.pad(widths) if any(after for _, after in widths) else array


def _rolled(x: Any, axes: _Axes | None, step: Callable[[int], int]) -> BlockArray:
    array = as_array(x)
    chosen: Any = range(array.ndim) if axes is None else _each(array, axes)
    along = [array._axis(axis) for axis in chosen]
    return array.roll(tuple(step(array.shape[axis]) for axis in along), tuple(along))


def _swapped(norm: str | None) -> str:
    if norm not in _SWAPPED:
        raise InvalidInputError(f"norm is {norm!r}; expected backward, ortho or forward")
    return _SWAPPED[norm]


def _require_made(
    name: str,
    array: BlockArray,
    transform: _blocks.Transform,
    s: int | Sequence[int] | None,
    axes: int | str | Sequence[int | str] | None,
) -> None:
    """Checks that the arguments of an inverse agree with the transform that made a spectrum."""
    if axes is None and s is None:
        return
    along, lengths = _axes(array, axes, s)
    made = tuple(array._lead_rank + axis for axis in transform.axes)
    if set(along) != set(made) or (transform.half is not None and along[-1] != made[-1]):
        raise UnsupportedError(f"{name} along the axes {along} of a spectrum made along {made}; expected those, or no axes and no s")
    _require_extents(name, array, transform, along, lengths)


def _require_extents(
    name: str, array: BlockArray, transform: _blocks.Transform, along: tuple[int, ...], lengths: tuple[int, ...] | None
) -> None:
    """Checks that ``s`` neither pads nor crops."""
    extents = [array.shape[axis] for axis in along]
    if transform.half is not None:
        extents[-1] = transform.half
    if lengths is not None and lengths != tuple(extents):
        raise UnsupportedError(
            f"{name} with s {lengths} along the axes {along} of an array of shape {array.shape};"
            f" expected {tuple(extents)}: pad or crop the spectrum in numpy before"
        )


def _not_inverse(name: str, real: bool) -> InvalidInputError:
    other = "ifftn" if real else "irfftn"
    made = "fftn" if real else "rfftn"
    return InvalidInputError(f"{name} of a spectrum that {made} made; expected {other}")


def _volume(operator: str, x: Any) -> BlockArray:
    array = as_array(x)
    if array._kind is not VOLUME:
        raise UnsupportedError(
            f"{operator} of {array._what}; expected a volume: a.reshape(1, *a.shape) in numpy, with axes=(1, 2) of its transform"
        )
    return array


def _spectrum(operator: str, x: Any) -> BlockArray:
    array = _volume(operator, x)
    if not _blocks.is_spectrum(array._df.schema):
        raise InvalidInputError(f"{operator} of an array that is no spectrum; expected what tilespark.fft.fftn or rfftn gives")
    if not _blocks.is_mixed(array._df.schema):
        made = _blocks.transform_of(array._df.schema).axes
        array._labels.require_spacing(operator, [array._lead_rank + axis for axis in made])
    return array


def _axes(array: BlockArray, axes: Any, s: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The numbers of the axes and, if ``s`` is given, the length along each; accepts a single axis."""
    lengths = None if s is None else integers("s", s)
    if axes is None:
        rank = array.ndim if lengths is None else len(lengths)
        along = tuple(range(array.ndim - rank, array.ndim)) if rank <= array.ndim else ()
    else:
        along = tuple(array._axis(axis) for axis in _each(array, axes))
    if not along or len(set(along)) != len(along) or (lengths is not None and len(lengths) != len(along)):
        raise InvalidInputError(f"axes {axes} and s {s} of an array of {array.ndim} axes; expected each axis once, s one for each")
    if lengths is None:
        return along, None
    if any(length < 1 and length != -1 for length in lengths):
        raise InvalidInputError(f"s is {s}; expected lengths of 1 or more, or -1 for an axis as long as it is")
    return along, tuple(array.shape[axis] if length == -1 else length for axis, length in zip(along, lengths, strict=True))


def _length(n: Any) -> int | None:
    """The length of the only transformed axis; None if it is as long as it is."""
    if n is not None and integer("n", n) < 1:
        raise InvalidInputError(f"n is {n}; expected a length of 1 or more")
    return None if n is None else integer("n", n)


def _each(array: BlockArray, axes: Any) -> Any:
    """The axes one by one: a text is the name of one axis, or has a letter for each."""
    dims = array.dims or ()
    is_name = isinstance(axes, str) and axes in (*dims, *map(before, dims))
    return axes if isinstance(axes, str) and not is_name else many(axes)


def _windows(window: Any) -> str | None:
    if window is None:
        return None
    names = many(window)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInputError(f"window is {window!r}; expected a name, or one for each transformed axis")
    return ",".join(names)

"""numpy's functions of BlockArrays run on Spark, equal to numpy's; others are refused and collect nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilespark as ts
from tilespark import _array
from tilespark.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("spark")

RNG = np.random.default_rng(46)
MATRIX = RNG.normal(size=(6, 8))
SQUARE = MATRIX[:, :6] @ MATRIX[:, :6].T + 6 * np.eye(6)
VOLUME = RNG.normal(size=(4, 6, 5)).astype("float32")

FUNCTIONS: list[tuple[str, Callable[..., Any]]] = [
    ("mean", lambda x, v: np.mean(x)),
    ("mean of an axis", lambda x, v: np.mean(x, axis=0)),
    ("sum", lambda x, v: np.sum(v, axis=(0, 2), keepdims=True)),
    ("std", lambda x, v: np.std(x, 1, ddof=1)),
    ("amax", lambda x, v: np.amax(x, axis=1)),
    ("argmin", lambda x, v: np.argmin(x, axis=0)),
    ("ptp", lambda x, v: np.ptp(x, axis=0)),
    ("any", lambda x, v: np.any(x > 2, axis=1)),
    ("count_nonzero", lambda x, v: np.count_nonzero(x > 0)),
    ("nansum", lambda x, v: np.nansum(v)),
    ("clip", lambda x, v: np.clip(x, -0.5, 0.5)),
    ("clip by name", lambda x, v: np.clip(x, a_min=-0.5, a_max=None)),
    ("round", lambda x, v: np.round(x, 1)),
    ("real", lambda x, v: np.real(x * 1j)),
    ("imag", lambda x, v: np.imag(x * 1j)),
    ("transpose", lambda x, v: np.transpose(v, (2, 0, 1))),
    ("swapaxes", lambda x, v: np.swapaxes(v, 0, -1)),
    ("moveaxis", lambda x, v: np.moveaxis(v, 0, -1)),
    ("moveaxis of two", lambda x, v: np.moveaxis(v, (0, 1), (2, 0))),
    ("reshape", lambda x, v: np.reshape(x, (4, 12))),
    ("ravel", lambda x, v: np.ravel(x)),
    ("squeeze", lambda x, v: np.squeeze(v[1:2])),
    ("expand_dims", lambda x, v: np.expand_dims(x, 1)),
    ("expand_dims at the end", lambda x, v: np.expand_dims(x, -1)),
    ("flip", lambda x, v: np.flip(x, axis=1)),
    ("roll", lambda x, v: np.roll(x, 3, axis=0)),
    ("pad", lambda x, v: np.pad(x, ((1, 0), (2, 3)), mode="reflect")),
    ("concatenate", lambda x, v: np.concatenate((x, x + 1), axis=1)),
    ("concatenate with numpy's", lambda x, v: np.concatenate([MATRIX, x])),
    ("stack", lambda x, v: np.stack([x, -x])),
    ("vstack", lambda x, v: np.vstack((x, x))),
    ("hstack", lambda x, v: np.hstack((x, x))),
    ("dot", lambda x, v: np.dot(x, MATRIX.T)),
    ("dot with a number", lambda x, v: np.dot(2, x)),
    ("where of numbers", lambda x, v: np.where(x > 0, 1.0, -1.0)),
    ("where of an array", lambda x, v: np.where(x > 0, x, 0)),
    ("where of the other", lambda x, v: np.where(x > 0, 0, x)),
    ("where of two", lambda x, v: np.where(x > 0, x, MATRIX * 10)),
    ("isclose", lambda x, v: np.isclose(x, MATRIX + 1e-9)),
    ("isclose to a number", lambda x, v: np.isclose(x, 0, atol=0.5)),
    ("zeros_like", lambda x, v: np.zeros_like(v)),
    ("ones_like", lambda x, v: np.ones_like(x, dtype="float32")),
    ("full_like", lambda x, v: np.full_like(x, 2.5)),
    ("take", lambda x, v: np.take(x, [3, 0, 3], axis=1)),
    ("repeat", lambda x, v: np.repeat(x, 2, axis=0)),
    ("tile", lambda x, v: np.tile(x, (2, 1))),
    ("tensordot", lambda x, v: np.tensordot(x, MATRIX, axes=([1], [1]))),
    ("diff", lambda x, v: np.diff(x, axis=0)),
    ("tril", lambda x, v: np.tril(x, 1)),
    ("cumsum", lambda x, v: np.cumsum(x)),
    ("cumprod of an axis", lambda x, v: np.cumprod(v, axis=1)),
    ("prod", lambda x, v: np.prod(x, axis=0)),
    ("broadcast_to", lambda x, v: np.broadcast_to(x, (2, 6, 8))),
    ("expand_dims at two places", lambda x, v: np.expand_dims(x, (0, -1))),
    ("stack at the end", lambda x, v: np.stack((x, x > 0), axis=-1)),
    ("empty_like", lambda x, v: np.empty_like(x, dtype="int32") * 0),
    ("where of an integer", lambda x, v: np.where(x > 0, 1, 2.5)),
    ("cov", lambda x, v: np.cov(x)),
    ("corrcoef", lambda x, v: np.corrcoef(x, rowvar=False)),
    ("trace", lambda x, v: np.trace(x[:, :6])),
    ("diagonal", lambda x, v: np.diagonal(x[:, :6])),
    ("norm", lambda x, v: np.linalg.norm(x)),
    ("svd", lambda x, v: np.linalg.svd(x, compute_uv=False)),
    ("solve", lambda x, v: np.linalg.solve(x[:, :6] @ x[:, :6].mT + np.ones((6, 6)), np.ones(6)) if isinstance(x, ts.BlockArray)
        else np.linalg.solve(x[:, :6] @ x[:, :6].T + np.ones((6, 6)), np.ones(6))),
    ("fftn", lambda x, v: np.fft.fftn(v.astype("float64"))),
]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_same_as_numpys(name: str, function: Callable[..., Any]) -> None:
    found = function(ts.from_numpy(MATRIX, (4, 3)), ts.from_numpy(VOLUME, (2, 3, 4)))
    expected = function(MATRIX, VOLUME)
    if isinstance(found, ts.BlockArray):
        assert found.shape == np.shape(expected)
        found = found.compute()
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5 if name in ("sum", "nansum") else 1e-9, atol=1e-12)


m, v4, e, z = MATRIX, np.arange(16.0).reshape(2, 2, 2, 2), np.zeros(0), np.array(3.0)
i8, u8, i16, i64 = np.array([-128, 50, 127, 0, 1], "int8"), np.array([0, 200, 5], "uint8"), np.array([200, -3, 100], "int16"), np.array([2**63 - 1, 3])
bools, k = np.array([True, False, True]), np.zeros((2, 0), "int16")
_REDUCTIONS = "sum mean max var argmax any ptp count_nonzero nansum prod linalg.norm".split()

#: Expressions, by what they are about, of which each is computed with BlockArrays in place of the arrays above too.
CORNERS: dict[str, list[str]] = {
    "integers in formulas": [
        *(f"np.{name}({x})" for name in "arcsinh arccosh arccos arcsin cosh reciprocal square trunc".split() for x in ("i8", "i16", "bools")),
        *("np.copysign(i8, 1)", "np.copysign(i8, i8)", "np.isclose(i8, i8 * 0)", "np.isclose(i8, 3)", "np.isclose(m + 1j, 1 + 1j)"),
    ],
    "numbers beyond 64 bits": ["i64 == 2**63", "i64 < 2**63", "i64 >= -(2**70)", "i64 != np.uint64(2**63)", "i64[: 2**70]", "i8.clip(-300, 300)"],
    "shifts and powers": [
        *("i8 << -1", "i8 >> -1", "i16 << i8[:3]", "np.int64(5) >> i16", "u8 >> u8", "2 ** abs(i16 % 5)", "i16 ** 2"),
        *("np.array([1 - 2j, complex(-np.inf, 2)])[:, None] ** (0 * i16)",),
    ],
    "norms": [
        *(f"np.linalg.norm(v4, {ord}, axis={axis})" for ord, axis in ((1, (0, 1)), ("np.inf", (1, 0)), (2, (2, 0)), ("'fro'", (1, 3)))),
        *("np.linalg.norm(v4[0], 2, (1, 2))", "np.linalg.norm(v4, 1, (2, 0), True)", "np.linalg.norm(m, 1, (1, 0))"),
    ],
    "no elements": [
        *(f"np.{name}(e)" for name in _REDUCTIONS if name not in ("max", "argmax", "ptp")),
        *("np.mean(k, 0)", "np.mean(k, 1)", "np.var(k, axis=1, keepdims=True)", "np.argmax(k, axis=0)", "np.flip(e)", "np.concatenate([e, e])"),
        *("np.array_equal(e, e)", "np.allclose(e, e)", "np.diff(m, n=8)"),
    ],
    "no axes": [*(f"np.{name}(z)" for name in _REDUCTIONS), "np.sum(m, axis=())", "np.sum(z, keepdims=True)"],
    "options": [
        *("np.std(m, 0, None, None, 1)", "np.std(m, correction=1)", "np.reshape(m, (4, 12), order='C')", "np.ravel(m, 'K')", "m.flatten('C')"),
        *("np.trace(m[:, :6], offset=0)", "np.diagonal(m, 0)", "np.add.reduce(m)", "np.multiply.reduce(m, axis=1)", "np.clip(m, [0] * 8, None)"),
        *("np.cov(m, None, False)", "np.cov(m[:1])", "np.cov(m[0])", "np.corrcoef(m[:1])", "np.linalg.pinv(m, hermitian=False)"),
        *("np.concatenate([m, m > 0], axis=None, dtype='float32')", "np.vstack([m, m[0]])", "np.roll(m, 3)", "np.flip(m, (0, 1))"),
        *("np.take(m, 1, axis=0)", "np.take(m, [[0, 1], [2, 3]], axis=1)", "np.tensordot(m, m, axes=np.int64(2))", "np.vecdot(m, m, axis=0)"),
        *("np.add([1.0] * 8, m)", "np.sum(m, z.astype(int) - 2)", "np.roll(m, i64[1], axis=0)", "np.tile(m, i64[1])", "np.expand_dims(m, i64[1] - 1)"),
        *("m.dot(m.T)", "m.prod()", "m.cumsum(1)", "m.cumprod(axis=0)", "m.repeat(2, axis=1)", "m[:, :6].trace()"),
    ],
    "where": [
        *(f"np.where(m > 0, {pair})" for pair in ("300, 2", "2**53 + 1, 0", "True, False", "1.5, True", "1j, 0", "np.ones(8), 1.5")),
        *("np.where(i8 > 0, i8, 1000)", "np.where(u8 > 5, u8, -1)", "np.where(True, m, 0)"),
    ],
    "differences": ["np.diff(m, prepend=0)", "np.diff(bools)", "np.diff(m, append=m[:, :1])", "np.diff(m, axis=0, n=2)", "np.diff(m, n=0, prepend=1)"],
    "products": ["np.dot(v4[0], v4[1])", "np.dot(v4[0, 0, 0], v4[0])", "np.dot(2, m)"],
    "parts": ["u8.imag", "bools.imag", "np.fft.ifft(m)", "np.fft.irfft(m)", "m.astype(complex)", "f'{m[0, 1]:.2f}'", "np.round(u8)", "np.round(i16, -2)"],
    "running": ["np.cumsum(np.hstack([v4, v4[:, :1]]), axis=-2)"],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("about", CORNERS)
def test_corners_are_numpys(about: str) -> None:
    names = "m v4 e z i8 u8 i16 i64 bools k".split()
    for text in CORNERS[about]:
        if "vecdot" in text and not hasattr(np, "vecdot") or "correction" in text and np.__version__ < "2":
            continue
        with np.errstate(all="ignore"):
            expected = np.asarray(eval(text))
            arrays = {name: ts.from_numpy(globals()[name]) for name in names}
            result = eval(text, {"np": np, **arrays})
        found = np.asarray(result.compute() if isinstance(result, ts.BlockArray) else result)
        assert found.shape == expected.shape, text
        # Blocks have no float16, in which overflow is earlier.
        half = expected.dtype == np.float16
        assert found.dtype == (np.float32 if half else expected.dtype), text
        if expected.dtype.kind == "U":
            assert found == expected
            continue
        if half:
            expected, found = (np.where(np.isinf(each) | (abs(each) > 65504), np.inf, each) for each in (expected, found))
        np.testing.assert_allclose(found, expected, rtol=1e-3 if half else 1e-5 if expected.dtype == np.float32 else 1e-9, atol=1e-12, err_msg=text)


def test_generated_integers_are_numpys() -> None:
    for got, want in (
        (ts.linspace(0, 10, 5, dtype=int), np.linspace(0, 10, 5, dtype=int)),
        (ts.arange(0.5, 3, dtype=int), np.arange(0.5, 3, dtype=int)),
        (ts.mean(ts.zeros(0, "int64")), np.array(np.nan)),
        (ts.add([1, 2], ts.ones(2)), np.array([2.0, 3.0])),
        (ts.clip(ts.zeros(2), [1, 0], None), np.array([1.0, 0.0])),
        (round(ts.ones(2) / 3, 2), np.array([0.33, 0.33])),
    ):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.compute(), want)


def test_of_shapes_and_types() -> None:
    x = ts.from_numpy(MATRIX)
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)) == ((6, 8), 2, 48, 8)
    assert np.isrealobj(x) and not np.iscomplexobj(x)
    assert np.result_type(x, "complex64") == np.complex128
    assert np.allclose(x, MATRIX + 1e-10) and not np.allclose(x, MATRIX + 1)
    assert np.array_equal(x, MATRIX) and not np.array_equal(x, MATRIX.T) and not np.array_equal(x, MATRIX + 1)
    holed = np.where(MATRIX > 1, np.nan, MATRIX)
    assert np.array_equal(ts.from_numpy(holed), holed, equal_nan=True)
    assert not np.array_equal(ts.from_numpy(holed), holed)


@pytest.mark.parametrize(
    ("function", "nearest"),
    [
        (lambda x: np.median(x), "percentile"),
        (lambda x: np.linalg.det(x), "slogdet"),
        (lambda x: np.linalg.svd(x), "full_matrices=False"),
        (lambda x: np.gradient(x), r"x\.compute\(\)"),
        (lambda x: np.einsum("ij->ji", x), r"x\.compute\(\)"),
        (lambda x: np.save("/nowhere/x.npy", x), r"to_npy"),
        (lambda x: np.add.outer(x, x), r"x\.compute\(\)"),
        (lambda x: np.where(x), r"to_cells"),
        (lambda x: np.zeros_like(x, order="F"), r"zeros_like with order="),
    ],
)
def test_others_collect_nothing(function: Callable[[ts.BlockArray], Any], nearest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def collect(self: object) -> None:
        raise AssertionError("the array was collected")

    x = ts.from_numpy(MATRIX)
    monkeypatch.setattr(_array.BlockArray, "compute", collect)
    with pytest.raises(UnsupportedError, match=nearest):
        function(x)


def test_errors_are_type_errors() -> None:
    with pytest.raises(TypeError, match="numpy.gradient of a BlockArray is not there yet"):
        np.gradient(ts.from_numpy(MATRIX))


@pytest.mark.parametrize(
    ("holder", "name", "message"),
    [
        (ts.linalg, "svdd", r"module 'tilespark\.linalg' has no attribute 'svdd'\. Nearest: svd$"),
        (ts.linalg, "det", r"no attribute 'det'\. Nearest: numpy\.linalg\.slogdet\(x\)$"),
        (ts.fft, "rftn", r"Nearest: rfftn"),
        (ts, "load", r"Nearest: read_npy\(path\)"),
        (ts, "vstack", "Nearest: concat"),
        (ts.random, "default_rng", r"Nearest: tilespark\.random\.normal"),
        (ts, "from_nunpy", r"module 'tilespark' has no attribute 'from_nunpy'\. Nearest: from_numpy"),
        (ts.signal, "zzz", r"no attribute 'zzz'$"),
    ],
)
def test_attributes_that_do_not_exist_name_the_nearest(holder: Any, name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(holder, name)
    with pytest.raises(AttributeError, match="no attribute 'tranpose'. Nearest: transpose"):
        ts.from_numpy(MATRIX).tranpose


def test_arrays_that_are_stored_in_other_ways_meet() -> None:
    stack = np.ones((2, 3, 3)) + np.eye(3)
    volume, batch = ts.from_numpy(stack), ts.from_numpy(stack, batch=True)
    solved: Any = np.linalg.solve(volume, ts.from_numpy(np.ones((2, 3, 1))))
    joined: Any = np.concatenate([batch, volume], 1)
    np.testing.assert_allclose(solved.compute(), np.full((2, 3, 1), 0.25))
    np.testing.assert_array_equal(joined.compute(), np.concatenate([stack, stack], 1))
    np.testing.assert_array_equal(ts.where(batch > 1, batch, -1).compute(), np.where(stack > 1, stack, -1))
    np.testing.assert_array_equal((volume @ volume + ts.from_numpy(np.ones((2, 1, 1)))).compute(), stack @ stack + 1)


@pytest.mark.parametrize(("a", "b"), [((0, 3), (3, 2)), ((3, 2), (2, 0)), ((2, 2, 3), (2, 3, 0)), ((2, 0), (0, 3))])
def test_products_of_integers_without_elements(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    found = ts.from_numpy(np.ones(a, int)) @ ts.from_numpy(np.ones(b, int))
    np.testing.assert_array_equal(found.compute(), np.ones(a, int) @ np.ones(b, int))

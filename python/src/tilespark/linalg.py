"""Linear algebra of BlockArrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _leading
from ._arguments import flag, integer, integers, many, number
from ._array import BlockArray, as_array
from ._blocks import with_dtype
from ._reductions import Axis
from ._sql import call, numbers, quoted
from .errors import InvalidInputError, UnsupportedError, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NDArray = np.ndarray[Any, np.dtype[Any]]


def matmul(
    a: Any,
    b: Any,
    *,
    precision: str | None = None,
    strategy: str | None = None,
    blocks: tuple[int, int] | None = None,
    missing: str | None = None,
) -> BlockArray:
    """The matrix product, as ``a @ b``. Transposes are not computed: ``a @ b.T`` reads ``b`` as it is stored.

    The dtype is numpy's ``result_type``, except float64 for two integer arrays. Sums of integers are exact up to 2**53. A
    complex product is computed as four real ones, which determine its result for infinite or NaN parts.

    Args:
        a: an M x K matrix, a vector of length K, or a batch of matrices.
        b: a K x N matrix, a vector of length K, or a batch of equally many matrices. Either ``a`` or ``b`` may be a numpy
            array.
        precision: ``"full"`` (default); for float32 also ``"tf32"``, ``"bfloat16"``, ``"float16"``, which round inputs.
        strategy: ``"auto"`` (default), ``"broadcast"``, ``"cuboid(P,Q,R)"``.
        blocks: the shape of a full block of the result.
        missing: the value of missing blocks: ``"error"`` (default) raises, ``"zero"`` takes zeros.

    Raises:
        InvalidInputError: if the shapes do not fit.
    """
    first = as_array(a, b if isinstance(b, BlockArray) else None)
    second = as_array(b, first)
    return first._matmul(second, precision=precision, strategy=strategy, blockShape=_shape(blocks), missing=missing)


def gram(
    a: Any,
    *,
    precision: str | None = None,
    strategy: str | None = None,
    blocks: tuple[int, int] | None = None,
    missing: str | None = None,
) -> BlockArray:
    """``a.conj().T @ a``, exactly symmetric or Hermitian; computes half of it. Arguments and dtype: see :func:`matmul`."""
    array = as_array(a)._matrices()
    array._require_matrix("gram", may_be_complex=True)
    if array.ndim == 1:
        raise InvalidInputError("gram of a vector; expected a matrix")
    if array._batch is not None and array.shape[-2] == 0:
        return array.mT @ array  # all zeros, since no rows exist
    df = call(
        "matrix_gram",
        {"a": array._df},
        precision=precision,
        strategy=strategy,
        blockShape=_shape(blocks),
        missing=missing,
    )
    return array._of(df)


def center(a: Any) -> BlockArray:
    """The matrix with each column's mean subtracted. The blocks are read twice."""
    array = _floating_matrix("center", a)
    return array._of(call("matrix_center", {"a": array._df}), array._labels)


def standardize(a: Any) -> BlockArray:
    """The matrix with each column's mean subtracted, divided by its standard deviation unless the column is constant."""
    array = _floating_matrix("standardize", a)
    return array._of(call("matrix_standardize", {"a": array._df}), array._labels)


def norm(a: Any, ord: int | float | str | None = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """The norm, as numpy.linalg.norm: a BlockArray if along some axes, a number, computed now, if over all.

    Args:
        a: any array; the norm of integers is float64.
        ord: along one axis 1, 2 (default) or inf; along two ``"fro"`` (default), 1 or inf; for matrices also 2 (the largest
            singular value) and ``"nuc"`` (the sum of the singular values).
        axis: one axis, or two; by default all.
        keepdims: whether axes stay, with extent 1.
    """
    array = as_array(a)
    if ord is not None and axis is None and array.ndim > 2:
        raise InvalidInputError(f"norm of {array._what} with ord={ord!r}; expected axis=..., one axis or two")
    text = None if ord is None else str(ord)
    axes = [] if ord is None or axis is None else [array._axis(each) for each in many(axis)]
    if len(set(axes)) != 2:
        return array._reduced("norm", axis, keepdims, ord=text)
    rest = [each for each in range(array.ndim) if each not in axes]
    found = array.transpose((*rest, *axes))._matrices()._reduced("norm", (-2, -1), keepdims, ord=text)
    return found.transpose(tuple(np.argsort((*rest, *axes)))) if keepdims else found


def diagonal(a: Any) -> BlockArray:
    """The elements a[i, i] as a vector; for a stack of matrices one vector for each, along the last axis."""
    array = _real_or_complex_matrix("diagonal", a)
    column = array._of(with_dtype(call("matrix_diag", {"a": array._df}), array.dtype))
    return column._without([1])


def trace(a: Any) -> Any:
    """The sum of the diagonal, computed now: a number; for a stack of matrices a numpy array with one for each."""
    array = _real_or_complex_matrix("trace", a)
    rows = _rows(array, call("matrix_trace", {"a": array._df}))
    values = [complex(row["value"], row["imag"]) if array.dtype.kind == "c" else row["value"] for row in rows]
    found = np.array(values, array.dtype if array.dtype.kind in "fc" else np.int64)
    return found.reshape(array._lead)[()]


def cov(a: Any, *, rowvar: bool = True, bias: bool = False, ddof: float | None = None) -> BlockArray:
    """The covariances of the variables of a matrix, as numpy.cov, in the dtype of ``a``, or float64 for integers.

    Args:
        a: a matrix, or an array of matrices.
        rowvar: whether rows are variables and columns are observations, as in numpy; else the other way round.
        bias: whether to divide by the number of observations N instead of N - 1.
        ddof: divides by N - ``ddof``; overrides ``bias``.
    """
    array = _of_observations("cov", a, rowvar)
    taken = number("ddof", float(not flag("bias", bias)) if ddof is None else ddof)
    return _of_variables(array._of(call("matrix_cov", {"a": array._df}, ddof=taken)))


def corrcoef(a: Any, *, rowvar: bool = True) -> BlockArray:
    """The correlations of the variables of a matrix, as numpy.corrcoef; NaN for constant variables. See :func:`cov`."""
    array = _of_observations("corrcoef", a, rowvar)
    return _of_variables(array._of(call("matrix_corrcoef", {"a": array._df})))


class QRResult(NamedTuple):
    """The result of :func:`qr`."""

    Q: BlockArray
    R: BlockArray


class SVDResult(NamedTuple):
    """The result of :func:`svd`."""

    U: BlockArray
    S: BlockArray
    Vh: BlockArray


class EighResult(NamedTuple):
    """The result of :func:`eigh`."""

    eigenvalues: BlockArray
    eigenvectors: BlockArray


class SlogdetResult(NamedTuple):
    """The result of :func:`slogdet`."""

    sign: Any
    logabsdet: Any


def cholesky(a: Any, *, upper: bool = False) -> BlockArray:
    """The Cholesky factor of a symmetric, positive definite matrix, as numpy.linalg.cholesky: the L with ``a = L @ L.T``.

    This function and those below compute in float64; the result is float32 for float32, else float64. Each matrix becomes
    one block of at most 2 GiB. NaN or infinity raise when the result is computed.

    Args:
        a: a matrix, or an array of matrices.
        upper: whether to return ``L.T`` and read the upper triangle of ``a``; by default L, from the lower one.

    Raises:
        InvalidInputError: if the matrix is not square; at computation, if it is not positive definite.
    """
    array = _square_matrix("cholesky", a)
    if flag("upper", upper):
        return cholesky(array.mT).mT
    return array._of(call("matrix_cholesky", {"a": array._df}))


def eigh(a: Any, UPLO: str = "L", *, k: int | None = None) -> EighResult:
    """The eigenvalues, ascending, and the eigenvectors, as columns, of a symmetric matrix, as numpy.linalg.eigh.

    Args:
        a: a matrix, or an array of matrices.
        UPLO: the triangle that is read: ``"L"`` or ``"U"``.
        k: number of eigenvalues, the largest ones; by default all.
    """
    array = _triangle("eigh", a, UPLO)
    table = call("matrix_eigh", {"a": array._df}, k=None if k is None else integer("k", k))
    values, vectors = _factors(array, table, "values", "vectors")
    return EighResult(_column(values), vectors)


def eigvalsh(a: Any, UPLO: str = "L") -> BlockArray:
    """The eigenvalues alone, as :func:`eigh` computes them."""
    array = _triangle("eigvalsh", a, UPLO)
    return _column(array._of(call("matrix_eigvalsh", {"a": array._df})))


def qr(a: Any, mode: str = "reduced") -> Any:
    """The factors Q, with orthonormal columns, and R, upper triangular, as numpy.linalg.qr.

    Args:
        a: a matrix, or an array of matrices.
        mode: ``"reduced"`` returns (Q, R), ``"r"`` returns only R.
    """
    array = _one_matrix("qr", a)
    if not isinstance(mode, str):
        raise InvalidInputError(f"qr: mode is {mode!r}; expected 'reduced' or 'r'")
    if mode == "r":
        return array._of(call("matrix_qr", {"a": array._df}, mode=mode))
    if mode != "reduced":
        raise UnsupportedError(f"qr with mode={mode!r} is not there yet; expected 'reduced' or 'r'")
    return QRResult(*_factors(array, call("matrix_qr", {"a": array._df}), "q", "r"))


def svd(
    a: Any,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    k: int | None = None,
    power_steps: int | None = None,
    oversampling: int | None = None,
    seed: int | None = None,
) -> Any:
    """The singular value decomposition ``U @ diag(S) @ Vh``, as numpy.linalg.svd with ``full_matrices=False``.

    Args:
        a: a matrix, or an array of matrices.
        full_matrices: must be False; numpy's default is True.
        compute_uv: whether to return U and Vh; else the result is S alone.
        k: number of singular values, the largest ones; by default all. A few of many are found by a randomized method.
        power_steps: power iterations of the randomized method, 4 by default; more are more exact.
        oversampling: random vectors of this method in addition to ``k``, 10 by default.
        seed: seed of the random vectors.
    """
    array = _one_matrix("svd", a)
    if flag("full_matrices", full_matrices) and array.shape[-1] != array.shape[-2]:
        raise UnsupportedError("svd with full_matrices=True is not there yet. Nearest: full_matrices=False")
    wanted = flag("compute_uv", compute_uv)
    if not wanted and k is None:
        return svdvals(array)
    options = {"k": k, "powerSteps": power_steps, "oversampling": oversampling, "seed": seed}
    counts = {name: None if value is None else integer(name, value) for name, value in options.items()}
    table = call("matrix_svd", {"a": array._df}, **counts)
    if not wanted:
        return _column(_factors(array, table, "s")[0])
    u, s, vt = _factors(array, table, "u", "s", "vt")
    return SVDResult(u, _column(s), vt)


def svdvals(a: Any) -> BlockArray:
    """The singular values, descending, as numpy.linalg.svdvals."""
    array = _one_matrix("svdvals", a)
    return _column(array._of(call("matrix_svdvals", {"a": array._df})))


def solve(a: Any, b: Any, *, assume_a: str = "general") -> BlockArray:
    """The solution ``x`` of ``a @ x = b``, as numpy.linalg.solve.

    Args:
        a: a matrix, or an array of matrices.
        b: a vector or a matrix; or a batch of matrices, as many as in ``a`` if ``a`` is a batch.
        assume_a: ``"general"`` (LU), or ``"positive definite"`` (Cholesky of the lower triangle of ``a``).

    Raises:
        InvalidInputError: if the shapes do not fit; at computation, if ``a`` is singular.
    """
    first = _square_matrix("solve", a, b)
    second, is_vector = _right_side("solve", first, b)
    batch = first if first._batch is not None else second
    df = call("matrix_solve", {"a": first._df, "b": second._df}, assume=assume_a)
    x = batch._of(df, keep=(*first._keep, *second._keep))
    return _column(x) if is_vector else x


def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[BlockArray, BlockArray, Any, BlockArray]:
    """The least-squares solution of ``a @ x = b`` with the least norm, as numpy.linalg.lstsq; the rank is computed now.

    Args:
        a: an M x N matrix, or a batch of matrices.
        b: a vector of length M, an M x P matrix, or a batch of equally many matrices.
        rcond: singular values up to this fraction of the largest count as zero; by default max(M, N) times the epsilon of the
            dtype.

    Returns:
        ``x``; the sums of squares of ``b - a @ x``, as in numpy empty if the rank is below N or M <= N; the rank; and the
        singular values of ``a``.
    """
    first = _one_matrix("lstsq", a, b)
    second, is_vector = _right_side("lstsq", first, b)
    if (first._batch is None) != (second._batch is None):
        raise InvalidInputError(f"lstsq of {first._what} and {second._what}; expected both or neither a stack of matrices")
    tables = {"a": first._df, "b": second._df}
    table = call("matrix_lstsq", tables, rcond=None if rcond is None else number("rcond", rcond))
    both = first._of(first._df, keep=second._keep)
    x, residuals, rank, s = _factors(both, table, "x", "residuals", "rank", "s")
    found = _column(rank).compute().astype(np.int64)
    count, few = found.reshape(-1), first.shape[-2] <= first.shape[-1]
    sums = _column(residuals)
    if first._batch is None and (few or count[0] < first.shape[-1]):
        sums = as_array(np.zeros(0, sums.dtype), first)
    return _column(x) if is_vector else x, sums, found if first._batch is not None else int(count[0]), _column(s)


def pinv(a: Any, rcond: float | None = None, *, rtol: float | None = None) -> BlockArray:
    """The Moore-Penrose inverse, as numpy.linalg.pinv and scipy.linalg.pinv.

    Args:
        a: a matrix, or an array of matrices.
        rcond: singular values up to this fraction of the largest count as zero; by default the larger extent times the epsilon
            of the dtype, as in scipy and unlike numpy.
        rtol: the same as ``rcond``.
    """
    array = _one_matrix("pinv", a)
    ratio = rcond if rtol is None else rtol
    return array._of(call("matrix_pinv", {"a": array._df}, rcond=None if ratio is None else number("rcond", ratio)))


def slogdet(a: Any) -> SlogdetResult:
    """Sign of the determinant and logarithm of its absolute value, as numpy.linalg.slogdet; computed now."""
    array = _square_matrix("slogdet", a)
    one = np.ones((*array.shape[:-2],))
    if not array.shape[-1]:
        return SlogdetResult(one[()], 0 * one[()])
    found = _rows(array, call("matrix_slogdet", {"a": array._df}))
    dtype = np.dtype("float32") if array.dtype in ("float16", "float32") else np.dtype("float64")
    sign, logarithm = (np.array([row[name] for row in found], dtype) for name in ("sign", "logabsdet"))
    return SlogdetResult(sign.reshape(array._lead)[()], logarithm.reshape(array._lead)[()])


def matrix_rank(a: Any, tol: float | None = None, *, rtol: float | None = None) -> Any:
    """The number of singular values above a tolerance, as numpy.linalg.matrix_rank; computed now.

    Args:
        a: a matrix, or an array of matrices.
        tol: the tolerance.
        rtol: the tolerance divided by the largest singular value; by default the larger extent times the epsilon of the dtype.
    """
    array = _one_matrix("matrix_rank", a)
    if 0 in array.shape[-2:]:
        return np.zeros(array.shape[:-2], np.int64)[()]
    df = call(
        "matrix_rank",
        {"a": array._df},
        tol=None if tol is None else number("tol", tol),
        rtol=None if rtol is None else number("rtol", rtol),
    )
    found = np.array([row["value"] for row in _rows(array, df)], np.int64)
    return found.reshape(array._lead)[()]


@dataclass(frozen=True)
class PrincipalComponents:
    """The result of :func:`pca`.

    Attributes:
        components: (k, columns), orthonormal rows by decreasing variance; the element of largest magnitude is positive.
        explained_variance: (k,), with the divisor rows - 1.
        explained_variance_ratio: (k,), fractions of the total variance of all columns.
        scores: (rows, k), the centred matrix projected on the components; lazy.
    """

    components: NDArray
    explained_variance: NDArray
    explained_variance_ratio: NDArray
    scores: BlockArray


def pca(a: Any, k: int, *, whiten: bool = False, nan: str = "error") -> PrincipalComponents:
    """Principal components of a matrix whose columns are variables. Spark computes them now; the scores are lazy.

    Args:
        a: a rows x columns matrix.
        k: number of components, from 1 to the shorter side.
        whiten: whether scores are divided by their standard deviations.
        nan: ``"error"`` (default) raises; ``"mean"`` replaces NaN by the mean of its column.

    Raises:
        InvalidInputError: if ``a`` is no matrix of two rows or more or has NaN or infinity, or ``k`` is out of range.
    """
    array = _floating_matrix("pca", a)
    count = integer("k", k)
    if array.ndim != 2 or array.shape[0] < 2 or not 1 <= count <= min(array.shape):
        raise InvalidInputError(
            f"pca of an array of shape {array.shape} with k={k};"
            " expected a matrix of two rows or more and k from 1 to its shorter side"
        )
    table = call("matrix_pca", {"a": array._df}, k=count, whiten=flag("whiten", whiten), nan=nan)
    (scores,) = _factors(array, table, "scores")
    with translated():
        rows = table.where("factor NOT IN ('scores', 'mean')").collect()
    found = {row["factor"]: np.array(row["values"], np.float64).reshape(row["rows"], row["cols"]) for row in rows}
    with np.errstate(over="ignore"):  # squares of numbers above 1e154 overflow
        variance = found["singular_values"][:, 0] ** 2 / (array.shape[0] - 1)
    return PrincipalComponents(found["components"], variance, found["explained_variance_ratio"][:, 0], scores)


def _shape(blocks: tuple[int, int] | None) -> str | None:
    return None if blocks is None else numbers(integers("blocks", blocks))


def _of_observations(operator: str, a: Any, rowvar: Any) -> BlockArray:
    """The matrix, transposed if ``rowvar``, so that columns are variables."""
    given = as_array(a)
    if given.ndim == 1:
        return given.reshape(-1, 1)._floating()
    array = _floating_matrix(operator, given)
    return array.mT if flag("rowvar", rowvar) else array


def _of_variables(found: BlockArray) -> BlockArray:
    """A matrix with a row and a column for each variable; as in numpy, that of one variable has no axes."""
    return found.reshape(()) if found._known_shape == (1, 1) else found


def _real_or_complex_matrix(operator: str, a: Any) -> BlockArray:
    array = as_array(a)
    if array.ndim < 2:
        raise InvalidInputError(f"{operator} of {array._what}; expected a matrix, or an array of matrices")
    return array._matrices()


def _floating_matrix(operator: str, a: Any) -> BlockArray:
    return _one_matrix(operator, a)._floating()


# Helpers for factorizations


def _one_matrix(operator: str, a: Any, like: Any = None) -> BlockArray:
    """A real matrix, or an array of real matrices, stored as matrices."""
    array = as_array(a, like if isinstance(like, BlockArray) else None)._matrices()
    array._require_matrix(operator)
    if array.ndim == 1:
        raise InvalidInputError(f"{operator} of a vector; expected a matrix")
    return array


def _square_matrix(operator: str, a: Any, like: Any = None) -> BlockArray:
    array = _one_matrix(operator, a, like)
    if array.shape[-1] != array.shape[-2]:
        raise InvalidInputError(f"{operator} of {array._what}; expected as many rows as columns")
    return array


def _triangle(operator: str, a: Any, uplo: Any) -> BlockArray:
    """The matrix, transposed for ``"U"``, so that its lower triangle is the named one."""
    if not isinstance(uplo, str) or uplo not in ("L", "U"):
        raise InvalidInputError(f"{operator}: UPLO is {uplo!r}; expected 'L' or 'U'")
    array = _square_matrix(operator, a)
    return array.mT if uplo == "U" else array


def _right_side(operator: str, a: BlockArray, b: Any) -> tuple[BlockArray, bool]:
    """The right side of equations, with a vector as a column, and whether it was a vector."""
    array = as_array(b, a)._matrices()
    array._require_matrix(operator)
    is_vector = array.ndim == 1
    column = array._stored_transpose() if array._dropped == (0,) else array
    leads = [each._leading for each in (a, array) if each._batch is not None]
    if a.shape[-2] != column._own_extents[0] or len(leads) == 2 and None not in leads and leads[0] != leads[1]:
        raise InvalidInputError(
            f"{operator} of shapes {a.shape} and {array.shape}; expected as many rows, and of two stacks as many matrices"
        )
    if len(leads) == 2:
        _, column = _leading.alike(a, column)
    return column._of(column._df, dropped=()), is_vector


def _factors(array: BlockArray, table: DataFrame, *names: str) -> list[BlockArray]:
    """Selects factors from the DataFrame that a factorization of the array returned."""
    return [array._of(call("matrix_factor", {"input": table}, factor=name)) for name in names]


def _column(column: BlockArray) -> BlockArray:
    """A matrix of one column as a vector; an array of these as vectors along the last axis."""
    return column._without([1])


def _rows(array: BlockArray, df: DataFrame) -> list[Any]:
    """The rows of a DataFrame with one row for each matrix of the array, in their order; computed now."""
    with translated():
        return df.collect() if array._batch is None else df.orderBy(quoted(array._batch)).collect()

"""Linear algebra of BlockArrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arguments import flag, integer, integers, number
from ._array import BlockArray, as_array
from ._blocks import MATRIX, with_dtype
from ._reductions import Axis
from ._sql import call, numbers, quoted
from .errors import InvalidInputError, translated

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
    """The matrix product, as ``a @ b``. Transposed operands are not made: ``a @ b.T`` reads ``b`` as it is stored.

    Args:
        a: M x K; or a vector of K; or a batch of matrices.
        b: K x N; or a vector of K; or a batch of as many matrices. One of the two may be a numpy array.
        precision: ``"full"`` (default); of float32 also ``"tf32"``, ``"bfloat16"``, ``"float16"``, which round inputs.
        strategy: ``"auto"`` (default), ``"broadcast"``, ``"cuboid(P,Q,R)"``.
        blocks: the shape of a full block of the result.
        missing: what a missing block is: ``"error"`` (default) or ``"zero"``.

    Raises:
        InvalidInputError: if the shapes do not fit.
        UnsupportedError: if both are of integers, or one is complex.
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
    """``a.T @ a``, exactly symmetric; half of it is computed. Arguments as of :func:`matmul`."""
    array = _floating_matrix("gram", a)
    if array._is_batch and array.shape[1] == 0:
        return array.transpose(0, 2, 1) @ array
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
    """The matrix with the mean of each column taken off the column. The blocks are read twice."""
    array = _floating_matrix("center", a)
    return array._of(call("matrix_center", {"a": array._df}), array._labels)


def standardize(a: Any) -> BlockArray:
    """The matrix with each column less its mean, and over its standard deviation unless the column is constant."""
    array = _floating_matrix("standardize", a)
    return array._of(call("matrix_standardize", {"a": array._df}), array._labels)


def norm(a: Any, ord: int | float | str | None = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """The norm, as numpy.linalg.norm: along axes a BlockArray, over all a number, which is computed now.

    Args:
        a: any array; of integers the norm is float64.
        ord: 1, 2 (default) or inf of vectors along one axis; ``"fro"`` (default), 1 or inf of matrices along two.
        axis: one axis, or two; by default all.
        keepdims: whether axes stay, with extent 1.
    """
    array = as_array(a)
    if ord is not None and axis is None and array.ndim > 2:
        raise InvalidInputError(f"norm of {array._what} with ord={ord!r}; expected axis=..., one axis or two")
    return array._reduced("norm", axis, keepdims, ord=None if ord is None else str(ord))


def diagonal(a: Any) -> BlockArray:
    """The elements whose row is their column, as a vector; of a batch a matrix with a row for each."""
    array = _real_or_complex_matrix("diagonal", a)
    column = array._of(with_dtype(call("matrix_diag", {"a": array._df}), array.dtype))
    return column._as_volume()._without([2]) if array._is_batch else column._without([1])


def trace(a: Any) -> Any:
    """The sum of the diagonal, computed now: a number; of a batch an array of them."""
    array = _real_or_complex_matrix("trace", a)
    df = call("matrix_trace", {"a": array._df})
    with translated():
        rows = df.orderBy(quoted(str(array._batch))).collect() if array._is_batch else df.collect()
    values = [complex(row["value"], row["imag"]) if array.dtype.kind == "c" else row["value"] for row in rows]
    found = np.array(values, array.dtype if array.dtype.kind in "fc" else np.int64)
    return found if array._is_batch else found[0]


def cov(a: Any, *, rowvar: bool = True, bias: bool = False, ddof: float | None = None) -> BlockArray:
    """The covariances of the variables of a matrix, as numpy.cov, in the dtype of ``a``; of integers in float64.

    Args:
        a: a matrix, or a batch of them.
        rowvar: whether rows are variables and columns observations, as in numpy; else the other way round.
        bias: whether to divide by the count of observations, and not by that less 1.
        ddof: what is taken off the count of observations, in place of ``bias``.
    """
    array = _of_observations("cov", a, rowvar)
    taken = number("ddof", float(not flag("bias", bias)) if ddof is None else ddof)
    return array._of(call("matrix_cov", {"a": array._df}, ddof=taken))


def corrcoef(a: Any, *, rowvar: bool = True) -> BlockArray:
    """The correlations of the variables of a matrix, as numpy.corrcoef; NaN of constant ones. Arguments as of :func:`cov`."""
    array = _of_observations("corrcoef", a, rowvar)
    return array._of(call("matrix_corrcoef", {"a": array._df}))


@dataclass(frozen=True)
class PrincipalComponents:
    """What :func:`pca` gives.

    Attributes:
        components: (k, columns), orthonormal rows, the largest variance first; the largest element of each is positive.
        explained_variance: (k,), with the divisor rows - 1.
        explained_variance_ratio: (k,), of the variance of all columns.
        scores: (rows, k), the centred matrix in the components' axes; lazy.
    """

    components: NDArray
    explained_variance: NDArray
    explained_variance_ratio: NDArray
    scores: BlockArray


def pca(a: Any, k: int) -> PrincipalComponents:
    """Principal components of a tall matrix, whose columns are variables.

    The covariance is made by Spark, now; its eigenvectors by numpy here, so columns x columns numbers must fit the driver.

    Args:
        a: rows x columns.
        k: count of components, 1 to the count of columns.

    Raises:
        InvalidInputError: if ``a`` is no matrix of two rows or more or has NaN or infinity, or ``k`` is out of range.
    """
    array = _floating_matrix("pca", a)
    count = integer("k", k)
    if array.ndim != 2 or array.shape[0] < 2 or not 1 <= count <= array.shape[1]:
        raise InvalidInputError(
            f"pca of an array of shape {array.shape} with k={k};"
            " expected a matrix of two rows or more and k from 1 to its count of columns"
        )
    products, exponent = _centered_gram(array)
    covariance = products / (array.shape[0] - 1)
    values, vectors = np.linalg.eigh(covariance)
    components = vectors[:, ::-1][:, :count].T
    largest = np.abs(components).argmax(axis=1)
    components = components * np.sign(components[np.arange(count), largest])[:, None]
    variance = np.maximum(values[::-1][:count], 0)
    total = np.trace(covariance)
    scores = matmul(center(array), np.ascontiguousarray(components.T.astype(array.dtype)))
    ratio = variance / total if total > 0 else variance * 0
    with np.errstate(over="ignore"):  # squares of numbers beyond 1e154 are infinite
        return PrincipalComponents(components, np.ldexp(variance, 2 * exponent), ratio, scores)


def _centered_gram(array: BlockArray) -> tuple[NDArray, int]:
    """The gram of the centred matrix, as float64.

    Returns:
        The gram over ``4**exponent``, and the exponent: 0, unless the squares of the elements are out of their type's range.
    """
    products = gram(center(array)).compute().astype(np.float64, copy=False)
    kind = np.finfo(np.result_type(array.dtype, np.float32))
    least = array.shape[0] * kind.tiny / kind.eps  # below it squares lose bits
    if np.isfinite(products).all() and np.trace(products) >= least:
        return products, 0
    largest = _largest("pca", array)
    if largest == 0:
        return products, 0
    most = 120 if kind.bits == 32 else 1000  # the factor has a range too
    exponent = int(np.clip(np.frexp(largest)[1], -most, most))
    scaled = array._called("scale", array._labels, alpha=2.0**-exponent)
    return gram(center(scaled)).compute().astype(np.float64, copy=False), exponent


def _largest(operator: str, array: BlockArray) -> float:
    """The largest absolute value.

    Raises:
        InvalidInputError: if an element is NaN or infinite; names its block.
    """
    with translated():
        ends = array._df.selectExpr("max(array_max(values))", "min(array_min(values))").first()
        most, least = (0.0, 0.0) if ends is None or ends[0] is None else (float(end) for end in ends)
        if np.isfinite(most) and np.isfinite(least):
            return max(abs(most), abs(least))
        # NaN is above infinity.
        finite = "array_max(values) < double('Infinity') AND array_min(values) > double('-Infinity')"
        block = array._df.where(f"NOT ({finite})").orderBy("row", "col").select("row", "col").first()
    where = "" if block is None else f" in the block at row {block[0]}, col {block[1]}"
    raise InvalidInputError(
        f"{operator} of a matrix with NaN or infinity{where}; expected finite numbers:"
        " x.map_blocks(numpy.nan_to_num) replaces them"
    )


def _shape(blocks: tuple[int, int] | None) -> str | None:
    return None if blocks is None else numbers(integers("blocks", blocks))


def _of_observations(operator: str, a: Any, rowvar: Any) -> BlockArray:
    """A matrix whose columns are variables."""
    array = _floating_matrix(operator, a)
    return array.mT if flag("rowvar", rowvar) else array


def _real_or_complex_matrix(operator: str, a: Any) -> BlockArray:
    array = as_array(a)
    if array._kind is not MATRIX or array.ndim - array._is_batch != 2:
        raise InvalidInputError(f"{operator} of {array._what}; expected a matrix or a batch of matrices")
    return array


def _floating_matrix(operator: str, a: Any) -> BlockArray:
    array = as_array(a)
    array._require_matrix(operator)
    if array.ndim == 1:
        raise InvalidInputError(f"{operator} of a vector; expected a matrix")
    return array._floating()

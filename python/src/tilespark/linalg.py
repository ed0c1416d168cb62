"""Linear algebra of BlockArrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arguments import integer, integers
from ._array import BlockArray, as_array
from ._sql import call, numbers
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
    """The matrix product, as ``a @ b``. Transposed operands are not made: ``a @ b.T`` reads ``b`` as it lies.

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


def _floating_matrix(operator: str, a: Any) -> BlockArray:
    array = as_array(a)
    array._require_matrix(operator)
    if array.ndim == 1:
        raise InvalidInputError(f"{operator} of a vector; expected a matrix")
    return array._floating()

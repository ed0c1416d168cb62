"""Each argument of each public function with values that it does not take: an error of ours, or a result, and never one of
Python's, Py4J's or Java's."""

from pathlib import Path

import numpy as np
import pytest
import tilespark as ts
from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")

WRONG = [
    None, -1, 0, 1.5, float("nan"), float("inf"), "x", "", (), (1,), (-1, 8, 8), (1, 2, 3, 4), [[1, 2], [3]], [None],
    object(), {}, {1, 2}, b"x", 1j, 10**30, np.zeros((3, 3)), np.zeros(0), "é'`{}\\",
]  # fmt: skip


class Given:
    """Arrays to call functions with."""

    def __init__(self, directory: Path) -> None:
        self.x = ts.from_numpy(np.arange(20.0).reshape(4, 5), (2, 2))
        self.v = ts.from_numpy(np.arange(64.0).reshape(4, 4, 4))
        self.batch = ts.from_numpy(np.zeros((2, 3, 3)), batch=True)
        self.vector = ts.from_numpy(np.arange(5.0))
        self.spectrum = ts.fft.fftn(self.v)
        self.half = ts.fft.rfftn(self.v)
        self.file = directory / "a.npy"
        self.new = directory / "new.npy"
        np.save(self.file, np.zeros((4, 5)))


@pytest.fixture(scope="module")
def given(spark, tmp_path_factory):
    return Given(tmp_path_factory.mktemp("arguments"))


def keywords(function, array, names):
    """The function with one wrong keyword argument, for each."""
    label = f"{function.__name__}_{array}"
    return {
        f"{label}_{name}": (lambda g, wrong, name=name: function(getattr(g, array), **{name: wrong})) for name in names.split()
    }


PRODUCT = "precision strategy blocks missing"
TRANSFORM = "s axes norm shift decomposition missing"

CALLS = {
    "from_numpy_a": lambda g, wrong: ts.from_numpy(wrong),
    "from_numpy_blocks": lambda g, wrong: ts.from_numpy(np.zeros((4, 5)), wrong),
    "from_numpy_batch": lambda g, wrong: ts.from_numpy(np.zeros((4, 5)), batch=wrong),
    "from_numpy_spacing": lambda g, wrong: ts.from_numpy(np.zeros((4, 5)), spacing=wrong),
    "from_numpy_spark": lambda g, wrong: ts.from_numpy(np.zeros((4, 5)), spark=wrong),
    "read_npy_path": lambda g, wrong: ts.read_npy(wrong),
    "read_npy_blocks": lambda g, wrong: ts.read_npy(g.file, wrong),
    "read_npy_dtype": lambda g, wrong: ts.read_npy(g.file, dtype=wrong),
    "read_npy_spacing": lambda g, wrong: ts.read_npy(g.file, spacing=wrong),
    "read_zarr_path": lambda g, wrong: ts.read_zarr(wrong),
    "read_npy_spark": lambda g, wrong: ts.read_npy(g.file, spark=wrong),
    "from_dataframe_df": lambda g, wrong: ts.from_dataframe(wrong),
    "from_dataframe_batch": lambda g, wrong: ts.from_dataframe(g.x.df, batch=wrong),
    "from_dataframe_shape": lambda g, wrong: ts.from_dataframe(g.x.df, shape=wrong),
    "from_xarray_data": lambda g, wrong: ts.from_xarray(wrong),
    "check_spark": lambda g, wrong: ts.check(wrong),
    "configure_builder": lambda g, wrong: ts.configure(wrong),
    "matmul_a": lambda g, wrong: ts.linalg.matmul(wrong, g.x),
    "matmul_b": lambda g, wrong: ts.linalg.matmul(g.x, wrong),
    "matmul_precision": lambda g, wrong: ts.linalg.matmul(g.x, g.x.T, precision=wrong),
    **keywords(ts.linalg.gram, "x", PRODUCT),
    "knn_a": lambda g, wrong: ts.knn(wrong, g.x, 1, "inner"),
    "knn_b": lambda g, wrong: ts.knn(g.x, wrong, 1, "inner"),
    "knn_k": lambda g, wrong: ts.knn(g.x, g.x, wrong, "inner"),
    "knn_metric": lambda g, wrong: ts.knn(g.x, g.x, 1, wrong),
    "pairs_above_threshold": lambda g, wrong: ts.pairs_above(g.x, g.x, wrong, "inner"),
    "pairs_above_metric": lambda g, wrong: ts.pairs_above(g.x, g.x, 1, wrong),
    "row_argmax_b": lambda g, wrong: ts.row_argmax(g.x, wrong),
    "center_a": lambda g, wrong: ts.linalg.center(wrong),
    "pca_a": lambda g, wrong: ts.linalg.pca(wrong, 1),
    "pca_k": lambda g, wrong: ts.linalg.pca(g.x, wrong),
    "pca_whiten": lambda g, wrong: ts.linalg.pca(g.x, 1, whiten=wrong),
    "pca_nan": lambda g, wrong: ts.linalg.pca(g.x, 1, nan=wrong),
    "cholesky_a": lambda g, wrong: ts.linalg.cholesky(wrong),
    "eigh_uplo": lambda g, wrong: ts.linalg.eigh(g.batch, wrong),
    "eigh_k": lambda g, wrong: ts.linalg.eigh(g.batch, k=wrong),
    "qr_mode": lambda g, wrong: ts.linalg.qr(g.x, wrong),
    **keywords(ts.linalg.svd, "x", "k power_steps oversampling seed"),
    "svd_full_matrices": lambda g, wrong: ts.linalg.svd(g.x, wrong),
    "solve_b": lambda g, wrong: ts.linalg.solve(g.x[:, :4], wrong),
    "solve_assume_a": lambda g, wrong: ts.linalg.solve(g.x[:, :4], g.x, assume_a=wrong),
    "lstsq_b": lambda g, wrong: ts.linalg.lstsq(g.x, wrong),
    "pinv_rcond": lambda g, wrong: ts.linalg.pinv(g.x, wrong),
    "matrix_rank_tol": lambda g, wrong: ts.linalg.matrix_rank(g.x, wrong),
    "fftn_x": lambda g, wrong: ts.fft.fftn(wrong),
    **keywords(ts.fft.fftn, "v", TRANSFORM + " permuted window detrend"),
    **keywords(ts.fft.rfftn, "v", "s axes"),
    **keywords(ts.fft.ifftn, "spectrum", TRANSFORM),
    **keywords(ts.fft.irfftn, "half", TRANSFORM),
    "ifftn_plain_axes": lambda g, wrong: ts.fft.ifftn(np.zeros((4, 4, 4), "c16"), axes=wrong),
    "irfftn_plain_s": lambda g, wrong: ts.fft.irfftn(np.zeros((4, 4, 4), "c16"), s=wrong),
    "low_pass_x": lambda g, wrong: ts.fft.low_pass(wrong, 0.1),
    "low_pass_cutoff": lambda g, wrong: ts.fft.low_pass(g.spectrum, wrong),
    "power_spectrum_x": lambda g, wrong: ts.fft.power_spectrum(wrong),
    "radial_average_width": lambda g, wrong: ts.fft.radial_average(g.spectrum, wrong) if wrong is not None else None,
    "transpose_volume": lambda g, wrong: g.v.transpose(wrong),
    "transpose_matrix": lambda g, wrong: g.x.transpose(wrong, 0),
    "transpose_batch": lambda g, wrong: g.batch.transpose(wrong),
    "rechunk_blocks": lambda g, wrong: g.x.rechunk(wrong),
    "rechunk_batch": lambda g, wrong: g.batch.rechunk(wrong),
    "rechunk_missing": lambda g, wrong: g.x.rechunk(2, missing=wrong),
    "slabs_axis": lambda g, wrong: g.v.slabs(wrong),
    "slabs_thickness": lambda g, wrong: g.v.slabs(0, wrong),
    "pencils_axis": lambda g, wrong: g.v.pencils(wrong),
    "pencils_section": lambda g, wrong: g.v.pencils(0, wrong),
    "astype_dtype": lambda g, wrong: g.x.astype(wrong),
    "map_blocks_function": lambda g, wrong: g.x.map_blocks(wrong),
    "map_blocks_dtype": lambda g, wrong: g.x.map_blocks(np.sqrt, dtype=wrong),
    "to_npy_path": lambda g, wrong: g.x.to_npy(wrong if not isinstance(wrong, str) or not wrong else g.file),
    "to_npy_path_of_a_vector": lambda g, wrong: g.vector.to_npy(wrong if not isinstance(wrong, str) or not wrong else g.file),
    "to_npy_dtype": lambda g, wrong: g.x.to_npy(g.new, dtype=wrong, overwrite=True) if wrong is not None else None,
    "to_npy_overwrite": lambda g, wrong: g.x.to_npy(g.file, overwrite=wrong),
    "persist_level": lambda g, wrong: g.x.persist(wrong).unpersist(),
    "explain_mode": lambda g, wrong: g.x.explain(wrong),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments(given, name):
    raised = 0
    for wrong in WRONG:
        try:
            CALLS[name](given, wrong)
        except ts.TileSparkError as error:
            raised += 1
            assert "please report" not in str(error) and "py4j" not in str(error), repr(wrong)
        except Exception as error:
            pytest.fail(f"{name} of {wrong!r}: {type(error).__name__}: {error}")
    assert raised > (len(WRONG) // 2 if name != "from_numpy_a" else 5)  # numbers are arrays without axes


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda g: ts.fft.radial_average(g.spectrum, 1e-300), r"width is 1.0E-300 .* more than 16777216 rings; expected .* or more"),
        (lambda g: ts.fft.low_pass(g.spectrum, None), "cutoff is None; expected a number"),  # type: ignore[arg-type]
        (lambda g: ts.fft.fftn(g.v, s=(-2, 8, 8)), r"s is \(-2, 8, 8\); expected lengths of 1 or more, or -1"),
        (lambda g: ts.fft.fftn(g.v, axes=7), "no axis 7"),
        (lambda g: ts.configure(g.x.spark), "configure of .*; expected SparkSession.builder, before"),
        (lambda g: ts.configure(SparkSession.Builder(), jar=3), "jar is 3; expected the path of a file"),  # type: ignore[arg-type]
        (lambda g: g.x.to_npy(g.file), r"a.npy exists; to_npy\(path, overwrite=True\) replaces it"),
        (lambda g: ts.from_numpy([[1, 2], [3]]), "from_numpy of list: numpy makes no array of it: .*inhomogeneous"),
        (lambda g: ts.linalg.matmul(g.x, g.x.T, strategy=["broadcast"]), r"strategy is \['broadcast'\]; expected a text"),  # type: ignore[arg-type]
    ],
)
def test_reasons(given, call, reason):
    with pytest.raises(ts.TileSparkError, match=reason):
        call(given)


def test_numbers_as_scipy_takes_them(given):
    a = given.v.compute()
    for found, expected in (
        (ts.fft.fftn(given.v, axes=1), np.fft.fftn(a, axes=(1,))),
        (ts.fft.fftn(given.v, s=6), np.fft.fftn(a, s=(6,), axes=(2,))),
        (ts.fft.fftn(given.v, s=(-1, 8, 8)), np.fft.fftn(a, s=(4, 8, 8), axes=(0, 1, 2))),
        (ts.fft.irfftn(ts.fft.rfftn(given.v, axes=1), s=4, axes=1), a),
    ):
        np.testing.assert_allclose(found.compute(), expected, atol=1e-10)


def test_columns_that_differ_in_case(spark, given):
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        df = given.x.df.selectExpr("7L AS Row", "'k' AS VALUES", "*").withMetadata("VALUES", {"tilespark.extents": "9,9"})
        x = ts.from_dataframe(df.drop("VALUES"), batch="Row")
        assert (x.shape, x.dtype) == ((1, 4, 5), np.dtype("float64"))
        np.testing.assert_array_equal(x.compute()[0], given.x.compute())
        np.testing.assert_array_equal(x.map_blocks(lambda b: b + 1).compute()[0], given.x.compute() + 1)
        assert ts.BlockArray(df)._extents == (4, 5)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_arrays_of_two_sessions(spark, client, given):
    if client != "classic":
        pytest.skip("a client of Connect has one session a process")
    other = ts.from_numpy(np.zeros((4, 5)), spark=spark.newSession())
    for operation in (lambda: given.x + other, lambda: other - given.x, lambda: given.x @ other.T):
        with pytest.raises(ts.InvalidInputError, match="arrays of several Spark sessions; expected those of one"):
            operation()
    # Several objects of one session.
    again = ts.from_numpy(np.zeros((4, 5)), spark=SparkSession(spark.sparkContext, spark._jsparkSession))
    np.testing.assert_array_equal((given.x + again).compute(), given.x.compute())

"""What is known of arrays after unions, files and tables: what all rows say, or an error."""

import numpy as np
import pytest
import tilespark as ts
from numpy import fft

A = np.random.default_rng(11).standard_normal((4, 3, 2))
MIXED = "come from different transforms, or some from none"


@pytest.fixture
def table(spark):
    yield "spectra"
    spark.sql("DROP TABLE IF EXISTS spectra")


def back(df):
    return ts.fft.irfftn(ts.from_dataframe(df)).compute()


@pytest.mark.smoke
def test_files(spark, tmp_path):
    path = str(tmp_path / "spectrum")
    spectrum = ts.fft.rfftn(ts.from_numpy(A), norm="ortho", shift=True).rechunk((1, 3, 2)).T
    spectrum.df.write.parquet(path)
    np.testing.assert_allclose(back(spark.read.parquet(path)), A.T, atol=1e-12)
    ts.fft.rfftn(ts.from_numpy(A)).T.df.write.mode("append").parquet(path)
    for df in (spark.read.parquet(path), spark.read.option("mergeSchema", "true").parquet(path)):
        mixed = ts.from_dataframe(df)
        with pytest.raises(ts.errors.InvalidInputError, match=MIXED):
            ts.fft.irfftn(mixed)
        with pytest.raises(ts.errors.InvalidInputError, match=MIXED):
            ts.fft.low_pass(mixed, 0.1)
        with pytest.raises(ts.errors.InvalidInputError, match=MIXED):
            mixed + mixed


@pytest.mark.smoke
def test_unions(spark):
    x = ts.from_numpy(A)
    upper = ts.fft.fftn(x, norm="ortho").rechunk((2, 3, 2))
    same = upper.df.where("x >= 2").union(upper.df.where("x < 2"))
    np.testing.assert_allclose(ts.fft.ifftn(ts.from_dataframe(same)).compute(), A, atol=1e-12)
    for other in (ts.fft.fftn(x).rechunk((2, 3, 2)), ts.from_numpy(A.astype(complex), (2, 3, 2))):
        for df in (upper.df.where("x < 2").union(other.df.where("x >= 2")), other.df.where("x >= 2").union(upper.df.where("x < 2"))):
            with pytest.raises(ts.errors.InvalidInputError, match=MIXED):
                ts.fft.ifftn(ts.from_dataframe(df))
            # Who says what to undo has numpy's inverse of these numbers.
            array = ts.from_dataframe(df)
            np.testing.assert_allclose(ts.fft.ifftn(array, axes=(0, 1, 2)).compute(), fft.ifftn(array.compute()), atol=1e-12)
    # Arrays of other extents: those of all rows.
    tall = np.concatenate([A, A])
    union = x.df.union(ts.from_numpy(tall, (4, 3, 2)).df.where("x >= 4"))
    np.testing.assert_array_equal(ts.from_dataframe(union).compute(), tall)


def test_tables(spark, table):
    x = ts.from_numpy(A)
    ts.fft.rfftn(x, norm="ortho").df.write.format("parquet").saveAsTable(table)
    np.testing.assert_allclose(back(spark.table(table)), A, atol=1e-12)
    rows = ts.fft.rfftn(x).df
    with pytest.raises(Exception, match="INSERT INTO .*spectra: the table holds the spectrum .*norm=ortho"):
        rows.write.insertInto(table, overwrite=True)
    ts.fft.rfftn(x, norm="ortho").df.write.insertInto(table, overwrite=True)
    np.testing.assert_allclose(back(spark.table(table)), A, atol=1e-12)


def test_stale_extents_of_a_table(spark, table):
    ts.from_numpy(A).df.write.format("parquet").saveAsTable(table)
    taller = np.concatenate([A, A, A])
    ts.from_numpy(taller).df.write.insertInto(table, overwrite=True)
    with pytest.raises(Exception, match="tilespark.extents says .*ALTER TABLE t SET TBLPROPERTIES"):
        (ts.from_dataframe(spark.table(table)) * 2.0).compute()
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('tilespark.extents' = 'unknown')")
    np.testing.assert_array_equal((ts.from_dataframe(spark.table(table)) * 2.0).compute(), 2 * taller)

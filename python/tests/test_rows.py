"""Rows and elements of Spark's tables against numpy's arrays."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import tilespark as ts
from pyspark.sql import functions as f
from tilespark import InvalidInputError


def table(spark, rows=20, partitions=3, kind="float"):
    elements = f"transform(sequence(0, 4), j -> CAST(id * 5 + j AS {kind}))"
    return spark.range(0, rows, 1, partitions).selectExpr("id", "concat('r', id) AS name", f"{elements} AS features")


def expected(rows=20):
    return np.arange(5 * rows).reshape(rows, 5)


@pytest.mark.smoke
def test_rows_there_and_back(spark):
    x = ts.from_rows(table(spark), "features", id="name", block_rows=3)
    assert x.dtype == "float32"
    np.testing.assert_array_equal(x.compute(), expected())
    rows = x.to_rows("features").orderBy("row").collect()
    assert [row.name for row in rows] == [f"r{i}" for i in range(20)]
    np.testing.assert_array_equal([row.features for row in rows], expected())
    product = (x @ np.eye(5, 2, dtype="float32")).to_rows().join(x.row_ids(), "row").orderBy("row").collect()
    np.testing.assert_array_equal([row["values"] for row in product], expected()[:, :2])
    assert product[7].name == "r7"


@pytest.mark.smoke
def test_large_arrays_with_ids(spark, tmp_path):
    """Arrays cross as files where they are large, and files hold no ids."""
    x = ts.from_rows(spark.range(0, 9000, 1, 2).selectExpr("concat('r', id) AS name", "array_repeat(double(id), 70) AS v"), "v", id="name")
    wanted = np.repeat(np.arange(9000.0), 70).reshape(9000, 70)
    np.testing.assert_array_equal(x.compute(), wanted)
    x.to_npy(tmp_path / "x.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), wanted)
    np.testing.assert_array_equal(ts.from_dataframe(x.df).compute(), wanted)
    assert [row.row for row in ts.from_dataframe(x.df).row_ids().where("name = 'r77'").collect()] == [77]


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "int", "bigint", "float", "double"])
def test_types(spark, kind):
    x = ts.from_rows(table(spark, 20, 2, kind), "features")
    np.testing.assert_array_equal(x.compute(), expected())
    np.testing.assert_array_equal(ts.linalg.gram(ts.from_rows(table(spark, 20, 2, "double"), "features")).compute(), expected().T @ expected())


def test_columns_and_orders(spark):
    df = table(spark).select("id", (f.col("id") * 2).alias("twice"), f.lit(0.5).alias("half")).repartition(3)
    with pytest.raises(InvalidInputError, match="orderBy"):
        ts.from_rows(df, ["id", "twice"])
    x = ts.from_rows(df, ["id", "twice", "half"], order_by=["half", "id"])
    np.testing.assert_array_equal(x.compute(), [[i, 2 * i, 0.5] for i in range(20)])


def test_policies(spark):
    df = spark.sql("SELECT * FROM VALUES (array(1D, 2D)), (array(3D, NULL)), (array(double('NaN'), 4D)) AS t(v)").coalesce(1).persist()
    np.testing.assert_array_equal(ts.from_rows(df, "v", nulls="zero", nan="keep").compute(), [[1, 2], [3, 0], [np.nan, 4]])
    np.testing.assert_array_equal(ts.from_rows(df, "v", nulls="skip", nan="zero").compute(), [[1, 2], [0, 4]])
    with pytest.raises(InvalidInputError, match="expected error, skip, zero"):
        ts.from_rows(df, "v", nulls="drop")


def test_elements_there_and_back(spark):
    a = expected(7).astype("float64")
    cells = ts.from_numpy(a, (3, 2)).to_cells()
    assert cells.count() == a.size
    np.testing.assert_array_equal(ts.from_cells(cells.where("value > 0"), (4, 4)).compute(), a)
    padded = ts.from_cells(cells, 4, shape=(8, 6)).compute()
    np.testing.assert_array_equal(padded, np.pad(a, ((0, 1), (0, 1))))


def test_what_is_no_table():
    nothing: Any = [1]
    for maker in (lambda: ts.from_rows(nothing, "v"), lambda: ts.from_cells(nothing, 4)):
        with pytest.raises(InvalidInputError, match="expected a DataFrame of Spark"):
            maker()
    with pytest.raises(InvalidInputError, match=r"from_rows of pandas.*\.DataFrame; .* spark.createDataFrame\(df\)"):
        ts.from_rows(pd.DataFrame({"v": [[1.0]]}), "v")  # type: ignore[arg-type]


def test_a_table_where_blocks_are_expected(spark):
    with pytest.raises(InvalidInputError, match=r"found \(id, name, features\); tilespark.from_rows makes a matrix"):
        ts.cov(table(spark))
    with pytest.raises(Exception, match=r"found \(id BIGINT, .*\); fromRows, matrix_from_rows in SQL, makes matrix blocks"):
        spark.sql("SELECT * FROM matrix_cov(TABLE({t}))", t=table(spark)).collect()

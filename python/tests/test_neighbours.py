"""Neighbours and pairs, compared with numpy."""

import numpy as np
import pytest
import tilespark as ts


def scores(a, b, metric):
    if metric == "inner":
        return a @ b.T
    if metric == "cosine":
        return (a @ b.T) / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    return np.linalg.norm(a[:, None, :] - b[None, :, :], axis=2)


@pytest.mark.smoke
@pytest.mark.parametrize("metric", ["inner", "cosine", "euclidean"])
def test_knn_and_pairs(spark, metric):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((13, 8)).astype("float32")
    b = rng.standard_normal((50, 8)).astype("float32")
    x, y = ts.from_numpy(a, (5, 3)), ts.from_numpy(b, (20, 8))
    expected = scores(a.astype("float64"), b.astype("float64"), metric)
    order = np.argsort(expected if metric == "euclidean" else -expected, axis=1, kind="stable")[:, :4]

    found = ts.knn(x, y, 4, metric).orderBy("query", "rank").collect()
    assert [row["neighbour"] for row in found] == order.ravel().tolist()
    assert [row["rank"] for row in found] == [1, 2, 3, 4] * 13
    np.testing.assert_allclose([row["score"] for row in found], np.take_along_axis(expected, order, 1).ravel(), rtol=1e-12)

    threshold = float(np.sort(expected.ravel())[100] + 1e-9)
    near = expected <= threshold if metric == "euclidean" else expected >= threshold
    pairs = ts.pairs_above(x, b, threshold, metric)
    assert pairs.columns == ["query", "neighbour", "score"]
    assert {(row["query"], row["neighbour"]) for row in pairs.collect()} == {(i, j) for i, j in np.argwhere(near).tolist()}


def test_row_argmax(spark):
    rng = np.random.default_rng(4)
    a, b = rng.integers(-9, 9, (7, 5)), rng.integers(-9, 9, (11, 5))
    found = ts.row_argmax(ts.from_numpy(a), b).orderBy("query").collect()
    assert [row["neighbour"] for row in found] == (a @ b.T).argmax(axis=1).tolist()
    assert [row["score"] for row in found] == (a @ b.T).max(axis=1).tolist()


def test_ids_come_beside_places(spark):
    rows = [(f"v{i}", [float(i), 1.0]) for i in range(12)]
    table = spark.createDataFrame(rows, "name STRING, v ARRAY<DOUBLE>").coalesce(1)
    x = ts.from_rows(table, "v", id="name", order_by="name")
    found = ts.knn(x, x, 2, "euclidean")
    assert found.columns == ["query", "query_id", "neighbour", "neighbour_id", "rank", "score"]
    for row in found.where("rank = 1").collect():
        assert row["query_id"] == row["neighbour_id"]
    assert ts.pairs_above(x, x, 1, "euclidean").where("query_id < neighbour_id").count() == 11
    whole = ts.from_rows(table.selectExpr("name", "CAST(v AS ARRAY<TINYINT>) AS v"), "v", id="name", order_by="name")
    mixed = ts.knn(whole, x, 1, "euclidean")
    assert mixed.columns == found.columns and mixed.where("query_id = neighbour_id").count() == 12


def test_batches(spark):
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((3, 4, 6)), rng.standard_normal((3, 9, 6))
    x, y = ts.from_numpy(a, batch=True), ts.from_numpy(b, batch=True)
    found = ts.knn(x, y, 1, "inner").orderBy("batch", "query").collect()
    assert [row["neighbour"] for row in found] == np.einsum("gik,gjk->gij", a, b).argmax(axis=2).ravel().tolist()


def test_shapes_that_do_not_fit(spark):
    x = ts.from_numpy(np.zeros((4, 5)))
    with pytest.raises(ts.InvalidInputError, match=r"knn of shapes \(4, 5\) and \(4, 6\); expected two matrices"):
        ts.knn(x, np.zeros((4, 6)), 1, "inner")
    with pytest.raises(ts.InvalidInputError, match="k is 0; expected 1 to"):
        ts.knn(x, x, 0, "inner")
    with pytest.raises(ts.InvalidInputError, match="metric is 'l1'; expected inner, cosine or euclidean"):
        ts.knn(x, x, 1, "l1")

"""Long chains of operators."""

import gc

import numpy as np
import pytest
import tilespark as ts
from tilespark._deep import is_connect


def views(spark):
    return [table.name for table in spark.catalog.listTables() if table.name.startswith("tilespark_")]


@pytest.mark.smoke
def test_a_hundred_operators(spark):
    a = np.arange(20.0).reshape(4, 5)
    x = ts.from_numpy(a, (2, 2))
    for _ in range(25):
        x = (-x * 2).T / -2
    np.testing.assert_array_equal(x.compute(), a.T)
    whole = spark.sql("SELECT sum(rows * cols) FROM {blocks}", blocks=x.df)
    assert bool(views(spark)) == is_connect(spark)
    del x
    gc.collect()
    # What reads the views by another way still can.
    y = ts.from_numpy(a)
    for _ in range(6):
        y = -y
    np.testing.assert_array_equal(y.compute(), a)
    assert whole.first()[0] == 20


@pytest.mark.smoke
def test_views_are_dropped(spark):
    before = set(views(spark))
    for _ in range(3):
        x = ts.from_numpy(np.ones((2, 2)))
        for _ in range(6):
            x = -x
        assert x.compute().sum() == 4
        del x
        gc.collect()
    assert len(set(views(spark)) - before) <= 2  # dropped by the next chain that needs one

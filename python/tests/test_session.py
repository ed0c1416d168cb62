"""The fixture's session has the package's jar, and is the kind that was asked for."""

import numpy as np
import pyspark
import pytest

pytestmark = pytest.mark.smoke

BLOCK = "SELECT 0L AS row, 0L AS col, 2 AS rows, 3 AS cols, array(1f, 2f, 3f, 4f, 5f, 6f) AS values"


def test_version_and_kind(spark, client):
    assert spark.version == pyspark.__version__
    assert type(spark).__module__.startswith("pyspark.sql.connect.") == (client == "connect")


def test_transposes(spark):
    block = spark.sql("SELECT * FROM matrix_transpose(TABLE({m}))", m=spark.sql(BLOCK)).head()
    assert np.array_equal(np.reshape(block["values"], (3, 2)), [[1, 4], [2, 5], [3, 6]])

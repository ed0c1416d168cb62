package org.tilespark.spark.fourier;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;

/** Base of the tests of Fourier transforms: their volumes and what runs. */
public abstract class FourierTestBase extends SparkTest {
  static final ElementType FLOAT = ElementType.FLOAT32;
  static final ElementType DOUBLE = ElementType.FLOAT64;

  static int[] shape(String text) {
    return Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
  }

  static ArrayMetadata metadata(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }

  public static Dataset<Row> stated(Dataset<Row> df, int[] shape, int... tiling) {
    Metadata metadata =
        ArrayMetadata.empty()
            .withExtents(Shape.of(shape[0], shape[1], shape[2]))
            .withBlockShape(Shape.of(tiling[0], tiling[1], tiling[2]))
            .toMetadata();
    return df.withColumn("values", functions.col("values").as("values", metadata));
  }

  static List<ShuffleExchangeExec> shuffles(Dataset<Row> df) {
    df.collectAsList();
    return PlanNodes.all(plan(df), ShuffleExchangeExec.class);
  }
}

package org.tilespark.spark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;

/** Projections below our nodes that only give columns other names. */
class RenamedBlocksTest extends SparkTest {
  private static final FftOptions BY_SLABS =
      FftOptions.of(Map.of("decomposition", "slabs", "output", "natural"));

  private static List<ProjectExec> projections(Dataset<Row> query) {
    return PlanNodes.all(query.queryExecution(), ProjectExec.class);
  }

  @Test
  void framesThatStateNothingAreNotCopied() {
    TestField field = TestField.random(1, true, 16, 12, 10);
    Dataset<Row> cached = field.blocks(spark, ElementType.FLOAT32, true, 4, 12, 10).persist();
    try {
      cached.count();
      for (Dataset<Row> slabs :
          List.of(cached, field.blocks(spark, ElementType.FLOAT32, true, 4, 12, 10))) {
        Dataset<Row> query = VolumeBlocks.fft(slabs, BY_SLABS);
        TestField.of(query, 16, 12, 10)
            .assertNear(field.fft("xyz"), ElementType.FLOAT32, "fft of " + slabs);
        query.collectAsList();
        List<RenamedBlocksExec> renamed =
            PlanNodes.all(query.queryExecution(), RenamedBlocksExec.class);
        assertEquals(1, renamed.size(), () -> query.queryExecution().toString());
        assertEquals(List.of(), projections(query).stream().filter(this::hasValues).toList());
      }
    } finally {
      cached.unpersist(true);
    }
  }

  private boolean hasValues(ProjectExec project) {
    return project.output().exists(column -> column.name().equals("re"));
  }

  @Test
  void otherNamesPass() {
    TestProduct matrix = TestProduct.random(ElementType.FLOAT64, 12, 10, 2);
    Dataset<Row> frame = matrix.frame(spark, 4, 5);
    Dataset<Row> renamed = frame.withColumnRenamed("tag", "label");
    assertEquals(
        TestProduct.bits(MatrixBlocks.transpose(frame)),
        TestProduct.bits(MatrixBlocks.transpose(renamed)));
  }

  @Test
  void columnsInAnotherOrderAndDroppedOnesPass() {
    TestProduct matrix = TestProduct.random(ElementType.FLOAT64, 12, 10, 2);
    Dataset<Row> frame = matrix.frame(spark, 4, 5);
    Dataset<Row> wide = frame.withColumn("more", functions.lit(1)).persist();
    try {
      wide.count();
      Dataset<Row> turned =
          wide.selectExpr("values AS values", "cols", "rows", "col", "row AS row");
      Dataset<Row> query = MatrixBlocks.transpose(turned);
      assertEquals(TestProduct.bits(MatrixBlocks.transpose(frame)), TestProduct.bits(query));
      assertEquals(List.of(), projections(query));
    } finally {
      wide.unpersist(true);
    }
  }

  @Test
  void whatIsComputedIsProjected() {
    TestProduct matrix = TestProduct.random(ElementType.FLOAT64, 12, 10, 2);
    Dataset<Row> frame = matrix.frame(spark, 4, 5);
    Dataset<Row> negated = frame.withColumn("values", functions.expr("transform(values, x -> -x)"));
    Dataset<Row> twice = MatrixBlocks.transpose(negated);
    assertEquals(List.of(), PlanNodes.all(twice.queryExecution(), RenamedBlocksExec.class));
    Dataset<Row> back =
        MatrixBlocks.transpose(twice)
            .withColumn("values", functions.expr("transform(values, x -> -x)"));
    assertEquals(TestProduct.bits(frame), TestProduct.bits(back));
  }

  /** From Spark 4.1 on, a union asks when it runs how its children are partitioned. */
  @Test
  void unionsBelowAggregatesKeepTheirPartitions() {
    TestProduct matrix = TestProduct.random(ElementType.FLOAT64, 12, 10, 2);
    for (boolean adaptive : new boolean[] {true, false}) {
      spark.conf().set("spark.sql.adaptive.enabled", adaptive);
      try {
        Dataset<Row> one = transposed(matrix.frame(spark, 4, 5).coalesce(1));
        List<Row> sums = one.unionAll(one).selectExpr("sum(size(values))").collectAsList();
        assertEquals(1, sums.size());
        assertEquals(240L, sums.get(0).getLong(0));
        Dataset<Row> byRow =
            transposed(matrix.frame(spark, 4, 5).repartition(8, functions.col("row")));
        assertEquals(3, byRow.unionAll(byRow).groupBy("col").count().count());
      } finally {
        spark.conf().unset("spark.sql.adaptive.enabled");
      }
    }
  }

  /** With a projection below that Spark does not drop, since it states something. */
  private static Dataset<Row> transposed(Dataset<Row> blocks) {
    Metadata stated = ArrayMetadata.empty().withExtents(Shape.of(12, 10)).toMetadata();
    Dataset<Row> query =
        MatrixBlocks.transpose(
            blocks.withColumn("values", functions.col("values").as("values", stated)));
    query.collectAsList();
    assertEquals(1, PlanNodes.all(query.queryExecution(), RenamedBlocksExec.class).size());
    return query;
  }
}

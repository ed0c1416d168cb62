package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.SparkTest;

/** The backend of factorisations is part of the plan. */
class ChooseFactorizersTest extends SparkTest {
  private static final String OF_STRIPS = "tasks make factors of a strip that belong together";

  @AfterEach
  void asTheSessionBegan() {
    spark.conf().unset(TileSparkConf.BACKEND.name());
  }

  private static Dataset<Row> identity(int rows, int cols) {
    double[][] a = new double[rows][cols];
    for (int i = 0; i < cols; i++) {
      a[i][i] = 1;
    }
    return Matrices.blocks(spark, a, ElementType.FLOAT64, Matrices.strips(rows, cols, rows));
  }

  private static Dataset<Row> frame(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) spark, plan);
  }

  @Test
  void explainTellsWhoFactorizes() {
    Dataset<Row> lower = MatrixBlocks.cholesky(identity(3, 3));
    String host = ExecutorRuntime.current().hostFactorizer().toString();
    assertTrue(host.contains("LAPACK"), host);
    String automatic = explained(lower);
    assertTrue(automatic.contains("backend=auto -> "), automatic);
    assertTrue(automatic.contains(host), automatic);
    // The session's backend when the query is optimized, not when it is written.
    spark.conf().set(TileSparkConf.BACKEND.name(), "cpu");
    String onCpu = explained(lower.select("*"));
    assertTrue(onCpu.contains("backend=cpu -> " + host), onCpu);
    String optimized = optimized(lower.select("*"));
    assertFalse(optimized.contains("backend=auto"), optimized);
  }

  @Test
  void explainTellsWhoFactorizesStrips() {
    StripSizes small = new StripSizes(1, 1, 1 << 20, 1 << 20);
    FactorPlans plans =
        new FactorPlans(
            plan(identity(40, 2)).analyzed(), small, ChooseFactorizersTest::frame, "test");
    String values = explained(frame(plans.svdvals()));
    assertTrue(values.contains(OF_STRIPS), values);
    assertTrue(values.contains("backend=auto -> "), values);
    String lifted = explained(frame(FactorTable.factor(plans.qr(), "q", "test")));
    assertTrue(lifted.contains("lifted_strip(") && lifted.contains(OF_STRIPS), lifted);
  }

  /** Tasks act on the plan alone, wherever they run. */
  @Test
  void theOptimizedPlanHasTheChoice() {
    spark.conf().set(TileSparkConf.BACKEND.name(), "gpu");
    Dataset<Row> lower = MatrixBlocks.cholesky(identity(3, 3));
    String analyzed = plan(lower).analyzed().toString();
    assertTrue(analyzed.contains(BackendChoice.NOT_YET.toString()), analyzed);
    assertTrue(optimized(lower).contains("backend=gpu -> "), optimized(lower));
    assertEquals(Backend.CPU, BackendChoice.NOT_YET.requested());
    BlockFrame whole = BlockFrame.of(plan(lower).analyzed(), BlockKind.MATRIX, "test");
    assertEquals(1, frame(whole.plan()).count());
  }
}

package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.device.library.LibCusolver;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.TestProduct;

/** The expectations of {@link FactorsTest} with {@code backend=gpu}, and large matrices. */
@RequiresGpu
class FactorsIT extends FactorsTest {
  @BeforeAll
  static void onTheGpu() {
    spark.conf().set(TileSparkConf.BACKEND.name(), "gpu");
  }

  @AfterAll
  static void asTheSessionBegan() {
    spark.conf().unset(TileSparkConf.BACKEND.name());
  }

  /** In memory that the governor grants, more than small matrices ever took; none stays. */
  @Test
  void largeMatricesAreFactorisedOnTheDevice() {
    Availability<String> cusolver = LibCusolver.load(List.of());
    assumeTrue(cusolver.isPresent(), cusolver::whyNot);
    int n = 1600;
    double[] values = TestProduct.random(ElementType.FLOAT64, n, n, 1).values().clone();
    for (int i = 0; i < n; i++) {
      values[i * n + i] += 2.0 * n;
      for (int j = 0; j < i; j++) {
        values[j * n + i] = values[i * n + j];
      }
    }
    TestProduct a = new TestProduct(ElementType.FLOAT64, n, n, values);
    Dataset<Row> blocks = a.stated(a.frame(spark, n, n), n, n);
    long before = peakBytes();
    List<Double> found = MatrixBlocks.cholesky(blocks).select("values").head().getList(0);
    assertTrue(peakBytes() > before, () -> "the device did it; its peak was " + before);
    assertEquals(0, ExecutorRuntime.current().liveDeviceBytes());
    double[] expected = values.clone();
    ExecutorRuntime.current().hostFactorizer().cholesky(n, HostMemory.ofArray(expected));
    for (int i = 0; i < expected.length; i++) {
      assertEquals(expected[i], found.get(i), 10 * n * Math.ulp(1.0) * Math.sqrt(3.0 * n));
    }
  }

  /** Most device bytes that tasks ever held. */
  private static long peakBytes() {
    return ExecutorRuntime.current().gpus().stream()
        .mapToLong(gpu -> gpu.governor().peakBytes())
        .sum();
  }
}

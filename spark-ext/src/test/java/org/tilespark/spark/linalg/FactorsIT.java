package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.MemoryGovernor.Grant;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.device.library.LibCusolver;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.Qr;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;
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

  /** In memory that the governor grants; none stays. */
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
    String plan = explained(MatrixBlocks.cholesky(blocks));
    assertTrue(plan.contains("cuSOLVER for matrices from 512 x 512"), plan);
    List<MemoryGovernor> governors =
        ExecutorRuntime.current().gpus().stream().map(Gpu::governor).toList();
    // Earlier tests may have taken more: with as much taken here, the peak of the device that does
    // it rises.
    List<Grant<AutoCloseable>> taken = governors.stream().map(FactorsIT::taken).toList();
    List<Long> before = peaks(governors);
    List<Double> found = MatrixBlocks.cholesky(blocks).select("values").head().getList(0);
    taken.forEach(Grant::close);
    assertNotEquals(before, peaks(governors), "peaks of the devices");
    assertEquals(0, ExecutorRuntime.current().liveDeviceBytes());
    double[] expected = values.clone();
    ExecutorRuntime.current().hostFactorizer().cholesky(n, HostMemory.ofArray(expected));
    for (int i = 0; i < expected.length; i++) {
      assertEquals(expected[i], found.get(i), 10 * n * Math.ulp(1.0) * Math.sqrt(3.0 * n));
    }
  }

  /** A batch of FLOAT matrices whose columns are of very different lengths. */
  @Test
  void batchesOfGradedMatricesAreFactorisedToo() {
    int n = 520;
    Dataset<Row> batch = null;
    List<double[]> all = new ArrayList<>();
    for (int which = 0; which < 3; which++) {
      double[] values = TestProduct.random(ElementType.FLOAT32, n, n, which).values().clone();
      for (int i = 0; i < values.length; i++) {
        values[i] = (float) (values[i] * Math.pow(10, 15 - 30.0 * (i % n) / n));
      }
      all.add(values);
      TestProduct a = new TestProduct(ElementType.FLOAT32, n, n, values);
      Dataset<Row> next = a.frame(spark, n, n).withColumn("sample", functions.lit(which));
      batch = batch == null ? next : batch.unionAll(next);
    }
    Qr qr = MatrixBlocks.qr(batch);
    for (int which = 0; which < 3; which++) {
      Column own = new Column("sample").equalTo(which);
      List<Float> q = qr.q().where(own).select("values").head().getList(0);
      List<Float> r = qr.r().where(own).select("values").head().getList(0);
      double[] a = all.get(which);
      for (int j = 0; j < n; j += 7) {
        double error = 0;
        double length = 0;
        for (int i = 0; i < n; i++) {
          double sum = 0;
          for (int k = 0; k <= j; k++) {
            sum += (double) q.get(i * n + k) * r.get(k * n + j);
          }
          error = Math.hypot(error, sum - a[i * n + j]);
          length = Math.hypot(length, a[i * n + j]);
        }
        assertEquals(0, error, 20 * Math.ulp(1f) * length, "column " + j);
      }
    }
  }

  /** As many bytes as the governor ever granted together; simulated faults refuse some requests. */
  private static Grant<AutoCloseable> taken(MemoryGovernor governor) {
    return Stream.generate(() -> governor.tryAcquire(governor.peakBytes(), 0, bytes -> () -> {}))
        .limit(100)
        .flatMap(Optional::stream)
        .findFirst()
        .orElseThrow();
  }

  private static List<Long> peaks(List<MemoryGovernor> governors) {
    return governors.stream().map(MemoryGovernor::peakBytes).toList();
  }
}

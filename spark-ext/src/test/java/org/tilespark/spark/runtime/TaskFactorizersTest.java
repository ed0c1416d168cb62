package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.DeviceFactorizer;
import org.tilespark.kernels.factor.LargeFactorizer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.testing.SparkTest;

/** The place of a task's factorisations, with a GPU or without. */
class TaskFactorizersTest extends SparkTest {
  @Test
  void outsideATaskTheCpuDoes() {
    ExecutorRuntime runtime = ExecutorRuntime.current();
    assertSame(
        runtime.hostFactorizer(), runtime.factorized(Backend.AUTO, null, factorizer -> factorizer));
  }

  @Test
  void theBackendDecidesAndLargeMatricesAreDoneEverywhere() {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    List<double[]> found =
        context
            .parallelize(List.of("cpu", "auto", "gpu"), 3)
            .map(TaskFactorizersTest::lu)
            .collect();
    assertArrayEquals(found.get(0), found.get(1), 1e-9);
    assertArrayEquals(found.get(0), found.get(2), 1e-9);
  }

  /** The diagonal of L of a large matrix. */
  private static double[] lu(String name) {
    Backend backend = Backend.valueOf(name.toUpperCase(Locale.ROOT));
    int n = DeviceFactorizer.LEAST_SIDE;
    double[] a = new SplittableRandom(1).doubles((long) n * n, -1, 1).toArray();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    return runtime.factorized(
        backend,
        TaskContext.get(),
        factorizer -> {
          if (backend == Backend.CPU) {
            assertSame(runtime.hostFactorizer(), factorizer);
          } else {
            assertInstanceOf(LargeFactorizer.class, factorizer);
          }
          factorizer.lu(n, HostMemory.ofArray(a), new int[n]);
          double[] diagonal = new double[n];
          for (int i = 0; i < n; i++) {
            diagonal[i] = a[i * n + i];
          }
          return diagonal;
        });
  }
}

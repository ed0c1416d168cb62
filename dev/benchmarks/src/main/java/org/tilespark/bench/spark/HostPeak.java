package org.tilespark.bench.spark;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;

/** Measures the rate of matrix products on all CPU cores at once, with operands in memory. */
final class HostPeak {
  private static final int EXTENT = 960;
  private static final int ROUNDS = 3;

  private HostPeak() {}

  /** The best rate of a few rounds in GFLOP/s, of all cores together. */
  static double gigaflops(ElementType type) {
    int cores = Runtime.getRuntime().availableProcessors();
    MultiplyProblem problem = MultiplyProblem.dense(EXTENT, EXTENT, EXTENT, type, false, false);
    double best = 0;
    ExecutorService threads = Executors.newFixedThreadPool(cores);
    try (HostMultiplier multiplier = new HostMultiplier()) {
      for (int round = 0; round <= ROUNDS; round++) {
        CountDownLatch ready = new CountDownLatch(cores);
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(cores);
        for (int core = 0; core < cores; core++) {
          threads.execute(
              () -> {
                HostMemory a = matrix(type);
                HostMemory b = matrix(type);
                HostMemory c = matrix(type);
                ready.countDown();
                try {
                  go.await();
                  multiplier.multiply(problem, a, b, c);
                } catch (InterruptedException e) {
                  Thread.currentThread().interrupt();
                } finally {
                  done.countDown();
                }
              });
        }
        ready.await();
        long start = System.nanoTime();
        go.countDown();
        done.await();
        double operations = 2.0 * EXTENT * EXTENT * EXTENT * cores;
        best = round == 0 ? 0 : Math.max(best, operations / (System.nanoTime() - start));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      threads.shutdownNow();
    }
    return best;
  }

  private static HostMemory matrix(ElementType type) {
    int count = EXTENT * EXTENT;
    return HostMemory.ofArray(type == ElementType.FLOAT32 ? new float[count] : new double[count]);
  }
}

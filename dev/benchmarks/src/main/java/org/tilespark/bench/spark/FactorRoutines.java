package org.tilespark.bench.spark;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.RefusedException;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Calls the routines of a factorizer on a square DOUBLE matrix on the heap, as Spark tasks do.
 * Copies to and from a device are part of the measured time.
 */
final class FactorRoutines {
  private final int n;
  private final double[] positive; // symmetric positive definite
  private final double[] general;

  FactorRoutines(int n, long seed) {
    this.n = n;
    this.general = new SplittableRandom(seed).doubles((long) n * n, -1, 1).toArray();
    this.positive = new double[n * n];
    for (int i = 0; i < n; i++) {
      for (int j = 0; j <= i; j++) {
        double value = general[i * n + j] + (i == j ? 2.0 * n : 0);
        positive[i * n + j] = value;
        positive[j * n + i] = value;
      }
    }
  }

  /** Returns the routines by their LAPACK names. */
  Map<String, Consumer<Factorizer>> all() {
    HostMemory a = HostMemory.ofArray(general);
    HostMemory b = HostMemory.ofArray(positive);
    HostMemory vector = HostMemory.ofArray(new double[n]);
    HostMemory left = HostMemory.ofArray(new double[n * n]);
    HostMemory right = HostMemory.ofArray(new double[n * n]);
    int[] pivots = new int[n];
    Map<String, Consumer<Factorizer>> routines = new LinkedHashMap<>();
    routines.put(
        "potrf",
        each -> {
          b.copyTo(left);
          each.cholesky(n, left);
        });
    routines.put(
        "getrf",
        each -> {
          a.copyTo(left);
          each.lu(n, left, pivots);
        });
    routines.put("geqrf+orgqr", each -> each.qr(n, n, a, left, right));
    routines.put("syevd", each -> each.eigh(n, n, b, vector, left));
    routines.put("syevd, values", each -> each.eigvalsh(n, b, vector));
    routines.put("gesvd", each -> each.svd(n, n, a, left, vector, right));
    routines.put("gesvd, values", each -> each.svdvals(n, n, a, vector));
    return routines;
  }

  /**
   * The median seconds of three calls after a warm-up call.
   *
   * @return empty if the factorizer declines the routine
   */
  static Optional<Double> seconds(Factorizer factorizer, Consumer<Factorizer> routine) {
    double[] seconds = new double[3];
    try {
      routine.accept(factorizer);
      for (int i = 0; i < seconds.length; i++) {
        long start = System.nanoTime();
        routine.accept(factorizer);
        seconds[i] = (System.nanoTime() - start) / 1e9;
      }
    } catch (RefusedException e) {
      return Optional.empty();
    }
    Arrays.sort(seconds);
    return Optional.of(seconds[1]);
  }
}

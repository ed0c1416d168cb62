package org.tilespark.kernels.host.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;
import org.tilespark.kernels.Sampling;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplierContract;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/** The OpenBLAS of a jar that only tests have, on memory outside the heap. */
@InTurn
class OpenblasMultiplierTest extends MultiplierContract {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private OpenblasMultiplier multiplier;

  @BeforeAll
  void unpack(@TempDir Path directory) throws IOException {
    TestOpenblas.unpack(directory);
    Availability<OpenblasMultiplier> found = OpenblasMultiplier.find(List.of(directory));
    assertTrue(found.isPresent(), found::whyNot);
    multiplier = found.get();
  }

  @AfterAll
  void close() {
    if (multiplier != null) {
      multiplier.close();
      multiplier.close();
    }
  }

  @Override
  protected Multiplier multiplier() {
    return new OffHeap(multiplier);
  }

  @Override
  protected long longestInner() {
    return Sampling.FULL ? super.longestInner() : 200_000;
  }

  /** Takes matrices on the heap out of it, for the length of a call. */
  private record OffHeap(Multiplier multiplier) implements Multiplier {
    @Override
    public void multiply(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c) {
      outside(taken -> multiplier.multiply(problem, taken[0], taken[1], taken[2]), a, b, c);
    }

    @Override
    public void multiplyHalf(MultiplyProblem problem, HostMemory a, HostMemory c) {
      outside(taken -> multiplier.multiplyHalf(problem, taken[0], taken[1]), a, c);
    }

    private static void outside(Consumer<HostMemory[]> call, HostMemory... given) {
      HostMemory[] taken = new HostMemory[given.length];
      int last = given.length - 1;
      try {
        for (int i = 0; i < given.length; i++) {
          taken[i] = outside(given[i]);
        }
        call.accept(taken);
        if (taken[last] != given[last]) {
          taken[last].copyTo(given[last]);
        }
      } finally {
        for (int i = 0; i < given.length; i++) {
          if (taken[i] != null && taken[i] != given[i]) {
            UNSAFE.freeMemory(taken[i].offset());
          }
        }
      }
    }

    private static HostMemory outside(HostMemory memory) {
      if (memory.isOffHeap()) {
        return memory;
      }
      HostMemory copy =
          HostMemory.ofAddress(UNSAFE.allocateMemory(Math.max(1, memory.bytes())), memory.bytes());
      memory.copyTo(copy);
      return copy;
    }

    @Override
    public void close() {}
  }

  @Test
  void saysWhoseKernelsItTook() {
    assertTrue(multiplier.toString().matches("cpu \\(OpenBLAS \\w+\\)"), multiplier::toString);
    assertTrue(multiplier.library().endsWith("libopenblas.so.0"), multiplier::library);
  }

  /** A call for each chunk of K: one chain of all would err by more than is allowed. */
  @Test
  void chunksFollowTheRootOfK() {
    assertEquals(2, OpenblasMultiplier.chunk(1));
    assertEquals(8, OpenblasMultiplier.chunk(16));
    assertEquals(32, OpenblasMultiplier.chunk(64));
    assertEquals(32, OpenblasMultiplier.chunk(256));
    assertEquals(46, OpenblasMultiplier.chunk(512));
    assertEquals(2000, OpenblasMultiplier.chunk(1_000_000));
  }

  /** Rows of FLOAT that overflow on the way are made again from the C that was there before. */
  @Test
  void sumsOfFloatsOverflowAtTheEndAlone() {
    int rows = 600;
    float[] a = new float[rows * 3];
    float[] b = {1e10f, 1e10f, 1, 1, 1e10f, 0}; // columns: 1e40 + 3e38 - 1e40, 1e40 + 3e38
    float[] expected = new float[rows * 2];
    float[] c = new float[rows * 2];
    for (int i = 0; i < rows; i++) {
      boolean overflows = i == 7 || i == 555;
      System.arraycopy(
          overflows ? new float[] {1e30f, 3e38f, -1e30f} : new float[] {1, 2, 3}, 0, a, 3 * i, 3);
      c[2 * i] = 4;
      c[2 * i + 1] = 8;
      expected[2 * i] = overflows ? 1.5e38f : 0.5f * (1e10f + 2 + 3e10f) + 2;
      expected[2 * i + 1] = overflows ? Float.POSITIVE_INFINITY : 0.5f * (1e10f + 2) + 4;
    }
    MultiplyProblem problem =
        MultiplyProblem.dense(rows, 3, 2, ElementType.FLOAT32, false, false)
            .withFactors(new Factors(0.5, 0.5));
    multiplier()
        .multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    assertArrayEquals(expected, c);
  }

  @Test
  void severalThreadsShareOne() throws Exception {
    MultiplyProblem problem =
        MultiplyProblem.dense(241, 517, 483, ElementType.FLOAT32, true, false)
            .withFactors(Factors.ADD);
    float[] a = floats(241 * 517, 7);
    float[] b = floats(517 * 483, 8);
    float[] expected = product(problem, a, b);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<float[]>> results = new ArrayList<>();
      for (int i = 0; i < 24; i++) {
        results.add(threads.submit(() -> product(problem, a, b)));
      }
      for (Future<float[]> result : results) {
        assertArrayEquals(expected, result.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** OpenBLAS is asked at all: its last bits are others than those of our kernels. */
  @Test
  void otherBitsThanOurs() {
    MultiplyProblem problem =
        MultiplyProblem.dense(64, 5000, 64, ElementType.FLOAT32, false, false);
    float[] a = floats(64 * 5000, 9);
    float[] b = floats(64 * 5000, 10);
    float[] own = new float[64 * 64];
    try (HostMultiplier ours = new HostMultiplier()) {
      ours.multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(own));
    }
    assertFalse(Arrays.equals(own, product(problem, a, b)));
  }

  private static float[] floats(int count, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextDouble();
    }
    return values;
  }

  private float[] product(MultiplyProblem problem, float[] a, float[] b) {
    float[] c = new float[Math.toIntExact(problem.m() * problem.n())];
    multiplier()
        .multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    return c;
  }
}

package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;

/**
 * Products of floats some of whose half tiles are left to the repair, small enough for racecheck:
 * {@code dev/sanitize racecheck SplitRepairRoundsIT}. Where there is no compute-sanitizer, {@code
 * dev/sanitize repeat} runs them with many seeds; then a race shows as bits that differ.
 */
@RequiresGpu
class SplitRepairRoundsIT extends MultiplyWays {
  private static final long SEED = Long.getLong("tilespark.test.seed", 23);
  private static final int ROUNDS = Integer.getInteger("tilespark.test.rounds", 3);
  private static final float[] BAD = {
    0x1p-120f, -0x1.5p-140f, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY
  };

  /** Four tiles and edges; K in several panels, and in parts where tiles are few. */
  private static final int[][] SHAPES = {{130, 70, 140}, {64, 96, 128}, {70, 1100, 130}};

  @Test
  void repairAgainAndAgain() {
    Optional<OneWay> split =
        ways(ElementType.FLOAT32).stream()
            .filter(way -> way.toString().startsWith("multiply_split"))
            .findFirst();
    Assumptions.assumeTrue(split.isPresent(), "this device has no kernel that splits floats");
    System.out.println("repairs, seed " + SEED);
    SplittableRandom random = new SplittableRandom(SEED);
    for (int[] shape : SHAPES) {
      for (int which = 0; which < 4; which++) {
        MultiplyProblem problem =
            MultiplyProblem.dense(
                    shape[0],
                    shape[1],
                    shape[2],
                    ElementType.FLOAT32,
                    (which & 1) != 0,
                    (which & 2) != 0)
                .withFactors(new MultiplyProblem.Factors(2, -1));
        check(split.orElseThrow().at(which % 2 * 3), problem, random);
      }
    }
  }

  private void check(OneWay way, MultiplyProblem problem, SplittableRandom random) {
    assertTrue(way.takes(problem), () -> way + " does not take " + problem);
    assertTrue(
        way.kernels(problem).stream().anyMatch(kernel -> kernel.startsWith("repair_split")),
        () -> problem + " is not repaired");
    float[] a = values((int) (problem.m() * problem.k()), random);
    float[] b = values((int) (problem.k() * problem.n()), random);
    float[] c = values((int) (problem.m() * problem.n()), random);
    for (int i = 0; i < 2; i++) { // not in all rows and columns: some half tiles are clean
      a[random.nextInt(a.length)] = BAD[random.nextInt(BAD.length)];
    }
    b[random.nextInt(b.length)] = BAD[random.nextInt(BAD.length)];
    float[] expected = c.clone();
    try (HostMultiplier host = new HostMultiplier()) {
      host.multiply(
          problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(expected));
    }
    int[] first = new int[0];
    for (int round = 0; round < ROUNDS; round++) {
      float[] found = c.clone();
      way.multiply(
          problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(found));
      int[] bits = new int[found.length];
      for (int at = 0; at < found.length; at++) {
        bits[at] = Float.floatToIntBits(found[at]);
      }
      if (round == 0) {
        first = bits;
        // |a|, |b| < 1 and alpha is 2.
        double bound = 2 * 2 * 0x1p-24 * Math.sqrt((double) problem.k()) * problem.k() + 0x1p-20;
        for (int at = 0; at < found.length; at++) {
          String where = "seed " + SEED + ", " + problem + ", element " + at;
          if (Float.isFinite(expected[at])) {
            assertEquals(expected[at], found[at], bound, where);
          } else {
            assertEquals(expected[at], found[at], where);
          }
        }
      } else {
        assertArrayEquals(first, bits, "seed " + SEED + ", " + problem + ", round " + round);
      }
    }
  }

  /** Of both signs, 2^-10 to 1 in size. */
  private static float[] values(int count, SplittableRandom random) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      float size = (random.nextInt(1, 1 << 10) + random.nextInt(1 << 14) * 0x1p-14f) * 0x1p-10f;
      values[i] = random.nextBoolean() ? size : -size;
    }
    return values;
  }
}

package org.tilespark.spark.nearest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class NearestGridTest {
  private static final long MIB = 1L << 20;

  private static long[] even(int partitions, long bytes) {
    long[] each = new long[partitions];
    Arrays.fill(each, bytes / partitions);
    return each;
  }

  @Test
  void manyQueriesAreCutAndWinnersAreFinal() {
    NearestGrid grid = NearestGrid.of(even(16, 8 * MIB), even(16, 8 * MIB), 8, 1);
    assertEquals("8 x 1", grid.toString());
    assertFalse(grid.isMerged());
    assertTrue(IntStream.range(0, 8).allMatch(grid::isFirst));
  }

  @Test
  void fewQueriesMeetPartsOfManyVectors() {
    NearestGrid grid = NearestGrid.of(even(1, MIB), even(32, 4096 * MIB), 16, 1);
    assertEquals("1 x 16", grid.toString());
    assertTrue(grid.isMerged() && grid.isFirst(0) && !grid.isFirst(1));
  }

  @Test
  void aTaskHoldsNoMoreOfTheLeftSideThanItShould() {
    long[] left = even(64, 4L * NearestGrid.MOST_LEFT_BYTES);
    assertEquals("4 x 1", NearestGrid.of(left, even(4, MIB), 2, 1).toString());
  }

  @Test
  void emptySidesAreOneTask() {
    assertEquals("1 x 1", NearestGrid.of(new long[4], new long[4], 8, 1).toString());
    assertEquals("2 x 1", NearestGrid.of(even(2, MIB), new long[4], 2, 1).toString());
  }

  @Test
  void aSideThatIsSentMeetsEachPartitionOfTheOther() {
    NearestGrid right = NearestGrid.besides(true, 3);
    assertEquals("3 x 1", right.toString());
    assertFalse(right.isMerged());
    NearestGrid left = NearestGrid.besides(false, 3);
    assertEquals("1 x 3", left.toString());
    assertTrue(left.isMerged() && left.isFirst(0) && !left.isFirst(2));
    assertFalse(NearestGrid.besides(false, 1).isMerged());
  }

  @Test
  void aSideIsSentIfOneTaskCouldDoAllTheWork() {
    long most = 10 * MIB;
    assertEquals(SentSide.RIGHT, SentSide.of(MIB / 4, 3 * MIB, most));
    assertEquals(SentSide.LEFT, SentSide.of(MIB / 16, 11 * MIB, most));
    assertEquals(SentSide.LEFT, SentSide.of(MIB / 8, 1L << 50, most));
    assertEquals(SentSide.RIGHT, SentSide.of(200 * MIB, MIB / 8, most));
    assertEquals(SentSide.LEFT, SentSide.of(MIB / 16, MIB / 8, MIB / 16));
    assertEquals(SentSide.NEITHER, SentSide.of(MIB / 8, MIB / 8, -1)); // Spark's threshold is off
    assertEquals(SentSide.NEITHER, SentSide.of(5 * MIB, 5 * MIB, most)); // too much work for one
    long held = NearestGrid.MOST_LEFT_BYTES + 1; // too much for a task that has all of it
    assertEquals(SentSide.NEITHER, SentSide.of(held, MIB / 8, most));
  }

  /** Each partition of the left side meets each of the right side once. */
  @Test
  void allPartitionsMeetOnce() {
    for (long seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      long[] left = random.longs(1 + random.nextInt(9), 0, 1L << random.nextInt(1, 40)).toArray();
      long[] right = random.longs(1 + random.nextInt(9), 0, 1L << random.nextInt(1, 40)).toArray();
      int cores = 1 + random.nextInt(12);
      NearestGrid grid = NearestGrid.of(left, right, cores, random.nextDouble());
      Map<List<Integer>, Integer> met = new HashMap<>();
      List<List<Integer>> lefts = grid.ofTasks(false);
      List<List<Integer>> rights = grid.ofTasks(true);
      for (int task = 0; task < grid.tasks(); task++) {
        for (int i : lefts.get(task)) {
          rights.get(task).forEach(j -> met.merge(List.of(i, j), 1, Integer::sum));
        }
      }
      List<List<Integer>> all = new ArrayList<>();
      for (int i = 0; i < left.length; i++) {
        for (int j = 0; j < right.length; j++) {
          all.add(List.of(i, j));
        }
      }
      String text = "seed " + seed + ": " + grid;
      assertEquals(all.size(), met.size(), text);
      assertTrue(met.values().stream().allMatch(count -> count == 1), text);
      // The first part of the right side meets each row of the left side once.
      long first =
          IntStream.range(0, grid.tasks())
              .filter(grid::isFirst)
              .mapToLong(task -> lefts.get(task).size())
              .sum();
      assertEquals(left.length, first, text);
    }
  }
}

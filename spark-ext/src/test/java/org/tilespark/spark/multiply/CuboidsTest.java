package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.LongStream;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.junit.jupiter.api.Test;

/** How cuboids are numbered. */
class CuboidsTest {
  @Test
  void eachHasANumberAndThoseWithTheSameAFollowEachOther() {
    for (int p = 1; p <= 5; p++) {
      for (int q = 1; q <= 5; q++) {
        for (int r = 1; r <= 4; r++) {
          check(cuboids(p, q, r, false), p, q, r);
        }
      }
    }
  }

  @Test
  void ofAGramTheUpperHalf() {
    for (int p = 1; p <= 6; p++) {
      for (int r = 1; r <= 4; r++) {
        check(cuboids(p, p, r, true), p, p, r);
      }
    }
  }

  private static void check(Cuboids cuboids, int ranges, int q, int r) {
    int number = 0;
    for (int p = 0; p < ranges; p++) {
      for (int inner = 0; inner < r; inner++) {
        for (int col = cuboids.gram() ? p : 0; col < q; col++) {
          assertEquals(number, cuboids.cuboid(p, col, inner), cuboids::toString);
          assertArrayEquals(new int[] {p, col, inner}, cuboids.place(number), cuboids::toString);
          assertEquals(OptionalInt.of(number), cuboids.ofPartition(number));
          assertEquals(number, cuboids.ofKey(cuboids.key(number)));
          number++;
        }
      }
    }
    assertEquals(number, cuboids.count());
    assertEquals(number, cuboids.partitions());
    checkParts(cuboids);
  }

  /** Each part has a partition of the shuffle, where Spark's hash puts its key. */
  private static void checkParts(Cuboids cuboids) {
    int sides = cuboids.gram() ? cuboids.p() : cuboids.p() + cuboids.q();
    assertTrue(cuboids.isShared());
    assertEquals(sides * cuboids.r(), cuboids.shufflePartitions());
    Set<Integer> parts = new HashSet<>();
    for (int inner = 0; inner < cuboids.r(); inner++) {
      for (int outer = 0; outer < cuboids.p(); outer++) {
        parts.add(cuboids.part(false, outer, inner));
      }
      for (int outer = 0; outer < cuboids.q(); outer++) {
        parts.add(cuboids.part(true, outer, inner));
      }
    }
    assertEquals(cuboids.shufflePartitions(), parts.size());
    for (int part : parts) {
      int hash = Murmur3_x86_32.hashInt(cuboids.partKey(part), 42);
      assertEquals(part, Math.floorMod(hash, cuboids.shufflePartitions()), cuboids::toString);
    }
  }

  @Test
  void devicesShareTheOperandsOut() {
    Cuboids deep = cuboids(3, 4, 2, false);
    Cuboids wide = cuboids(3, 4, 1, false);
    int[][] tasks = new int[2][2];
    for (int cuboid = 0; cuboid < 12; cuboid++) {
      assertEquals(wide.place(cuboid)[1] % 2, wide.device(cuboid, 2).getAsInt());
      tasks[0][wide.device(cuboid, 2).getAsInt()]++;
    }
    for (int cuboid = 0; cuboid < 24; cuboid++) {
      assertEquals(deep.place(cuboid)[2], deep.device(cuboid, 2).getAsInt());
      tasks[1][deep.device(cuboid, 2).getAsInt()]++;
      assertEquals(OptionalInt.empty(), deep.device(cuboid, 1));
      assertEquals(OptionalInt.empty(), deep.device(cuboid, 3), "neither 2 nor 4 are even shares");
    }
    assertArrayEquals(new int[][] {{6, 6}, {12, 12}}, tasks);
  }

  @Test
  void manyMatricesGetCopies() {
    assertFalse(new Cuboids(cuts(2), cuts(1), cuts(3), 1, false, 7).isShared());
  }

  private static Cuboids cuboids(int p, int q, int r, boolean gram) {
    return new Cuboids(cuts(p), cuts(r), cuts(q), 1, gram, 0);
  }

  private static long[] cuts(int parts) {
    return LongStream.rangeClosed(0, parts).map(i -> 3 * i).toArray();
  }
}

package org.tilespark.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.Cuts;
import org.tilespark.spark.catalyst.ScalaInterop;

class PartitionPlannerTest {
  private static final long MIB = 1 << 20;
  private static final long GIB = 1 << 30;

  @Test
  void aTinyArrayIsOnePartition() {
    for (int cores : new int[] {1, 2, 16, 1000}) {
      assertEquals(1, new PartitionPlanner(cores).partitions(17_000, grid(64, 64, 16)));
      assertEquals(1, new PartitionPlanner(cores).partitions(0, grid(0, 0, 16)));
    }
  }

  @Test
  void partitionsGrowWithTheWork() {
    for (int cores : new int[] {1, 2, 16, 64}) {
      PartitionPlanner planner = new PartitionPlanner(cores);
      int before = 1;
      // Of very many blocks, so that no accident of hashes counts.
      for (long bytes = MIB; bytes <= 1024 * GIB; bytes *= 4) {
        int count = planner.partitions(bytes, grid(1000, 1000, 10));
        assertTrue(count >= before, bytes + " bytes: " + count + " after " + before);
        before = count;
      }
      assertTrue(before >= 4096, "256 MiB at most: " + before);
      assertEquals(0, before % cores, "whole waves");
    }
  }

  /** About half of 94 partitions have none of 64 slabs. */
  @Test
  void adaptiveExecutionPaysWhereManyPartitionsAreEmpty() {
    PartitionPlanner planner = new PartitionPlanner(16);
    assertTrue(planner.areFilled(1, slabs(64, 64)));
    assertTrue(planner.areFilled(16, slabs(16, 64)));
    assertFalse(planner.areFilled(94, slabs(64, 64)));
    assertTrue(planner.areFilled(94, grid(1000, 1000, 10)));
  }

  /** As many slabs as cores: each core gets one, though Spark's hash would send some together. */
  @Test
  void slabsAreSpreadOverAllCores() {
    for (int cores : new int[] {2, 4, 8, 16, 32}) {
      for (int waves : new int[] {1, 2, 4}) {
        Cuts slabs = slabs(cores * waves, 64);
        int count = new PartitionPlanner(cores).partitions(8 * GIB, slabs);
        long longest = longest(slabs, count, cores);
        assertTrue(
            longest <= waves + 1,
            cores + " cores, " + waves + " slabs each, " + count + " partitions: " + longest);
        assertTrue(count <= 4 * cores * waves, "partitions: " + count);
      }
    }
  }

  @Test
  void noPartitionNeedsMoreThanItsBlocks() {
    assertEquals(1, new PartitionPlanner(16).partitions(GIB, grid(64, 64, 64)));
  }

  /** Spark's own hash of BIGINT columns is the oracle. */
  @Test
  void keysAreHashedAsSparkDoes() {
    for (long[] keys : new long[][] {{0}, {0, 0, 128}, {1L << 40, 7}, {-1, 5, 9}}) {
      Expression[] literals = new Expression[keys.length];
      for (int i = 0; i < keys.length; i++) {
        literals[i] = Literal.create(keys[i], DataTypes.LongType);
      }
      Murmur3Hash hash = new Murmur3Hash(ScalaInterop.seq(literals), 42);
      assertEquals(hash.eval(InternalRow.empty()), Exchange.hash(keys));
    }
  }

  /** Blocks of the core that is done last, if cores take partitions in their order. */
  private static long longest(Cuts slabs, int count, int cores) {
    long[] partitions = new long[count];
    for (long slab = 0; slab < slabs.axis(0).parts(); slab++) {
      partitions[Math.floorMod(Exchange.hash(slabs.axis(0).low(slab), 0, 0), count)]++;
    }
    long[] ends = new long[cores];
    for (long blocks : partitions) {
      int first = 0;
      for (int core = 1; core < cores; core++) {
        first = ends[core] < ends[first] ? core : first;
      }
      ends[first] += blocks;
    }
    long longest = 0;
    for (long end : ends) {
      longest = Math.max(longest, end);
    }
    return longest;
  }

  private static Cuts slabs(int count, int thickness) {
    return Cuts.of(
        AxisCuts.every(thickness, (long) count * thickness),
        AxisCuts.every(1024, 1024),
        AxisCuts.every(1024, 1024));
  }

  private static Cuts grid(long rows, long cols, int block) {
    return Cuts.of(AxisCuts.every(block, rows), AxisCuts.every(block, cols));
  }
}

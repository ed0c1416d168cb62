package org.tilespark.spark.multiply;

import java.io.Serializable;
import org.apache.spark.Partition;
import org.apache.spark.rdd.PartitionCoalescer;
import org.apache.spark.rdd.PartitionGroup;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.spark.error.ErrorBoundary;
import scala.Option;

/**
 * Gives each cuboid the part of A, or of B, that it needs, which others may need too: partitions of
 * a shuffle are read by several tasks. The part of B on the diagonal of a gram is that of A, and is
 * not read twice.
 */
final class SharedParts implements PartitionCoalescer, Serializable {
  private static final long serialVersionUID = 1;

  private final Cuboids cuboids;
  private final boolean right;

  private SharedParts(Cuboids cuboids, boolean right) {
    this.cuboids = cuboids;
    this.right = right;
  }

  /**
   * One side of all cuboids, a partition for each, in the order of their numbers.
   *
   * @param parts partitions as {@link Cuboids#part} counts them
   * @param right true for B
   */
  static RDD<InternalRow> of(RDD<InternalRow> parts, Cuboids cuboids, boolean right) {
    return parts.coalesce(
        cuboids.count(), false, Option.apply(new SharedParts(cuboids, right)), null);
  }

  @Override
  public PartitionGroup[] coalesce(int maxPartitions, RDD<?> parent) {
    Partition[] parts = parent.partitions();
    if (parts.length != cuboids.shufflePartitions()) {
      throw ErrorBoundary.defect(
          parts.length
              + " partitions of pieces for "
              + cuboids
              + "; expected "
              + cuboids.shufflePartitions()
              + "; please report this with the plan");
    }
    PartitionGroup[] groups = new PartitionGroup[cuboids.count()];
    for (int cuboid = 0; cuboid < groups.length; cuboid++) {
      int[] place = cuboids.place(cuboid);
      groups[cuboid] = new PartitionGroup(Option.empty());
      if (!right || !cuboids.gram() || place[0] != place[1]) {
        groups[cuboid]
            .partitions()
            .addOne(parts[cuboids.part(right, place[right ? 1 : 0], place[2])]);
      }
    }
    return groups;
  }
}

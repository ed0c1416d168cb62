package org.tilespark.spark.source;

import java.util.Optional;
import java.util.OptionalInt;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;

/** What rules may know of the arrays that our sources read. */
public final class StoredArrays {
  private StoredArrays() {}

  /**
   * The shape of the blocks that a plan reads, which begin at its multiples; empty if it does not
   * read an array of our sources.
   */
  public static Optional<Shape> blockShape(LogicalPlan plan) {
    return plan instanceof DataSourceV2Relation relation
            && relation.table() instanceof BlockTable table
        ? table.blockShape()
        : Optional.empty();
  }

  /** The axis of an offset column of such an array; empty if it is none. */
  public static OptionalInt axis(String column, int rank) {
    for (BlockKind kind : BlockKind.values()) {
      int axis = kind.rank() == rank ? kind.offsetColumns().indexOf(column) : -1;
      if (axis >= 0) {
        return OptionalInt.of(axis);
      }
    }
    return OptionalInt.empty();
  }
}

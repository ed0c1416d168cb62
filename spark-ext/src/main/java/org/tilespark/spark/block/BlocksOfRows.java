package org.tilespark.spark.block;

import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Shape;
import scala.collection.immutable.Seq;

/** A logical node that makes one matrix from the rows of a table, in their order. */
public interface BlocksOfRows {
  /** The columns of the blocks, of which places and sizes are the first. */
  Seq<Attribute> produced();

  /** The shape of a full block; each block has all columns of the matrix. */
  Shape blockShape();

  /**
   * A plan of the table's rows without their columns, for counting; empty if some of them do not
   * become rows of the matrix.
   */
  Optional<LogicalPlan> rows();
}

package org.tilespark.spark.block;

import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Shape;
import scala.collection.immutable.Seq;

/** A logical node that makes blocks of one matrix of the rows of a table, in their order. */
public interface BlocksOfRows {
  /** The columns of the blocks: their places and sizes first. */
  Seq<Attribute> produced();

  /** The shape of a full block, which is whole along the columns. */
  Shape blockShape();

  /** A plan with the rows without columns; empty if not every row becomes one of the matrix. */
  Optional<LogicalPlan> rows();
}

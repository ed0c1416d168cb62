package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * The union of pieces and of marks of their target blocks, with the columns of the pieces. Spark's
 * own union would copy each row: from 4.3 on it is compiled together with the operators above it.
 */
public final class PieceUnion extends LogicalBlockNode {
  private static final long serialVersionUID = 1;

  private final LogicalPlan pieces;
  private final LogicalPlan marks;

  /**
   * The union of pieces and marks.
   *
   * @param marks plan of the marks, with the same number and types of columns as {@code pieces}
   */
  public PieceUnion(LogicalPlan pieces, LogicalPlan marks) {
    this.pieces = pieces;
    this.marks = marks;
  }

  /** The plan of the pieces. */
  public LogicalPlan pieces() {
    return pieces;
  }

  /** The plan of the marks, which have the bounds of each block. */
  public LogicalPlan marks() {
    return marks;
  }

  @Override
  public Seq<Attribute> output() {
    return output(ScalaInterop.list(pieces.output()), ScalaInterop.list(marks.output()));
  }

  /** The columns of the first plan, nullable if those of the second are. */
  static Seq<Attribute> output(List<Attribute> first, List<Attribute> second) {
    List<Attribute> output = new ArrayList<>();
    for (int i = 0; i < first.size(); i++) {
      Attribute column = first.get(i);
      output.add(column.withNullability(column.nullable() || second.get(i).nullable()));
    }
    return ScalaInterop.seq(output);
  }

  @Override
  public Statistics stats() {
    return pieces.stats(); // marks are small, so they do not count
  }

  @Override
  protected List<Object> fields() {
    return List.of(pieces, marks);
  }
}

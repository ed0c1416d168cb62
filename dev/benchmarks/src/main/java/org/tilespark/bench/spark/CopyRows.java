package org.tilespark.bench.spark;

import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * The identity that a transpose is measured against: every row of the child, with its array, copied
 * once. What the least operator would do that hands on rows of its own.
 */
public final class CopyRows extends LogicalBlockNode {
  private static final long serialVersionUID = 1;

  private final boolean reuse;
  private final LogicalPlan child;

  /**
   * For Catalyst; others call {@link #of}.
   *
   * @param reuse true if all rows are copied into one, false if each gets memory of its own
   */
  public CopyRows(boolean reuse, LogicalPlan child) {
    this.reuse = reuse;
    this.child = child;
  }

  /**
   * A copy of the DataFrame.
   *
   * @param reuse true if all rows are copied into one, false if each gets memory of its own
   */
  static Dataset<Row> of(Dataset<Row> df, boolean reuse) {
    var classic = (org.apache.spark.sql.classic.Dataset<Row>) df;
    SparkSession session = classic.sparkSession();
    boolean known =
        ScalaInterop.list(session.experimental().extraStrategies()).stream()
            .anyMatch(Planned.class::isInstance);
    if (!known) {
      session
          .experimental()
          .extraStrategies_$eq(
              ScalaInterop.<SparkStrategy>seq(
                  java.util.stream.Stream.concat(
                          ScalaInterop.list(session.experimental().extraStrategies()).stream(),
                          java.util.stream.Stream.of(new Planned()))
                      .toList()));
    }
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        session, new CopyRows(reuse, classic.logicalPlan()));
  }

  /** Makes the physical node. */
  private static final class Planned extends SparkStrategy {
    @Override
    public Seq<SparkPlan> apply(LogicalPlan plan) {
      return plan instanceof CopyRows copy
          ? ScalaInterop.<SparkPlan>seq(new CopyRowsExec(copy.reuse, planLater(copy.child)))
          : ScalaInterop.emptySeq();
    }
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Option<Object> maxRows() {
    return child.maxRows();
  }

  @Override
  protected List<Object> fields() {
    return List.of(reuse, child);
  }
}

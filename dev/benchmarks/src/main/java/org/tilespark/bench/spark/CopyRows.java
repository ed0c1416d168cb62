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
 * The identity operator with which a transpose is compared: it copies every row, including its
 * array, once. It shows the least cost of an operator that produces new rows.
 */
public final class CopyRows extends LogicalBlockNode {
  private static final long serialVersionUID = 1;

  private final boolean reuse;
  private final LogicalPlan child;

  /**
   * Creates the node, for Catalyst.
   *
   * @param reuse true if all rows are copied to one buffer, false if each copy gets its own memory
   */
  public CopyRows(boolean reuse, LogicalPlan child) {
    this.reuse = reuse;
    this.child = child;
  }

  /**
   * Returns a DataFrame that copies the rows of {@code df}.
   *
   * @param reuse true if all rows are copied to one buffer, false if each copy gets its own memory
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

  /** Plans {@link CopyRows} as {@link CopyRowsExec}. */
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

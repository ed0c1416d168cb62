package org.tilespark.spark.nearest;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeMap$;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.math.BigInt;

/**
 * Joins each row of the left side with the rows of the right side whose vectors are nearest, the
 * nearest first. The output is that of Spark's node: columns of both sides, all nullable.
 */
public final class NearestRows extends LogicalBlockNode {
  private final NearestSpec spec;
  private final Seq<Attribute> vectors;
  private final Seq<Attribute> dropped;
  private final LogicalPlan left;
  private final LogicalPlan right;

  /**
   * The join of two plans.
   *
   * @param vectors columns with the vectors: that of the left side, then that of the right side
   * @param dropped columns among these that the output leaves out, since no node above uses them
   */
  public NearestRows(
      NearestSpec spec,
      Seq<Attribute> vectors,
      Seq<Attribute> dropped,
      LogicalPlan left,
      LogicalPlan right) {
    this.spec = spec;
    this.vectors = vectors;
    this.dropped = dropped;
    this.left = left;
    this.right = right;
  }

  /** The specification of the join. */
  public NearestSpec spec() {
    return spec;
  }

  /** The plan of the left side, or of the right one. */
  LogicalPlan side(boolean ofRight) {
    return ofRight ? right : left;
  }

  /** The column with the vectors of a side. */
  Attribute vector(boolean ofRight) {
    return vectors.apply(ofRight ? 1 : 0);
  }

  /** The columns of a side that are in the output. */
  List<Attribute> kept(boolean ofRight) {
    List<Attribute> unread = ScalaInterop.list(dropped);
    return ScalaInterop.<Attribute>list(side(ofRight).output()).stream()
        .filter(column -> Attributes.indexOf(unread, column) < 0)
        .toList();
  }

  /**
   * This node without the vectors' columns that are not in {@code used}; empty if it drops as many
   * already.
   */
  Optional<LogicalPlan> reading(AttributeSet used) {
    List<Attribute> unread =
        ScalaInterop.<Attribute>list(vectors).stream().filter(v -> !used.contains(v)).toList();
    return unread.size() == dropped.size()
        ? Optional.empty()
        : Optional.of(new NearestRows(spec, vectors, ScalaInterop.seq(unread), left, right));
  }

  /** This node over {@code newLeft}, which gives some rows of the left side. */
  LogicalPlan withLeft(LogicalPlan newLeft) {
    return new NearestRows(spec, vectors, dropped, newLeft, right);
  }

  @Override
  public Seq<Attribute> output() {
    List<Attribute> all = new ArrayList<>(kept(false));
    all.addAll(kept(true));
    return ScalaInterop.seq(all.stream().map(column -> column.withNullability(true)).toList());
  }

  /** Estimates {@code k} result rows for each row of the left side. */
  @Override
  public Statistics stats() {
    BigInteger bytes =
        left.stats().sizeInBytes().bigInteger().multiply(BigInteger.valueOf(2L * spec.k()));
    return new Statistics(new BigInt(bytes), Option.empty(), AttributeMap$.MODULE$.empty(), false);
  }

  @Override
  public boolean costsLittle() {
    return false;
  }

  @Override
  public boolean holdsExchanges() {
    return true;
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + spec;
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, vectors, dropped, left, right);
  }
}

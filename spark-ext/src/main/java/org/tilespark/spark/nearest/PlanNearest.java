package org.tilespark.spark.nearest;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.compat.NearestJoins;
import org.tilespark.spark.conf.NearestMode;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.Metric;

/**
 * Replaces Spark's {@code NEAREST k BY} if it ranks by a vector function of one column of each
 * side. Otherwise it shows in the plan why Spark plans the join.
 *
 * <p>A rule of plan normalization: earlier rules would hide the node from Spark's own checks, and
 * optimizer rules run after Spark has replaced it.
 */
public final class PlanNearest extends Rule<LogicalPlan> {
  private static final Logger LOG = LoggerFactory.getLogger(PlanNearest.class);

  /**
   * The meaning of a vector function.
   *
   * @param largest true if a larger value is nearer
   */
  private record Measured(Metric metric, boolean largest) {}

  private static final Map<String, Measured> FUNCTIONS =
      Map.of(
          "vector_inner_product", new Measured(Metric.INNER, true),
          "vector_cosine_similarity", new Measured(Metric.COSINE, true),
          "vector_l2_distance", new Measured(Metric.EUCLIDEAN, false));

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    boolean isOff =
        !NearestJoins.exist()
            || TileSparkConf.NEAREST.read(TileSparkConf.session()) == NearestMode.OFF
            || plan.isStreaming(); // Spark refuses it
    return isOff
        ? plan
        : plan.transformUpWithSubqueries(
            ScalaInterop.partialFunction(
                node -> NearestJoins.of(node).map(join -> planned(node, join))));
  }

  private static LogicalPlan planned(LogicalPlan node, NearestJoins.Join join) {
    Optional<NearestJoins.Score> score = NearestJoins.score(join.ranking());
    Optional<String> reason = whyNot(join, score);
    if (reason.isPresent()) {
      LOG.info("NEAREST BY is left to Spark: {}", reason.get());
      return new LeftToSpark(reason.get(), node);
    }
    String function = score.get().function();
    return new NearestRows(
        new NearestSpec(
            join.k(),
            FUNCTIONS.get(function).metric(),
            function,
            join.type() == LeftOuter$.MODULE$),
        ScalaInterop.seq(vectors(join, score.get()).orElseThrow()),
        ScalaInterop.<Attribute>emptySeq(),
        join.left(),
        join.right());
  }

  /** The reason why a join is left to Spark; empty if tilespark plans it. */
  private static Optional<String> whyNot(
      NearestJoins.Join join, Optional<NearestJoins.Score> score) {
    if (join.type() != Inner$.MODULE$ && join.type() != LeftOuter$.MODULE$) {
      return Optional.of("the join is " + join.type().sql());
    }
    if (score.isEmpty()) {
      return Optional.of(
          "it ranks by %s; expected one of %s"
              .formatted(join.ranking().sql(), FUNCTIONS.keySet().stream().sorted().toList()));
    }
    boolean largest = FUNCTIONS.get(score.get().function()).largest();
    if (join.largest() != largest) {
      return Optional.of(
          "it ranks by %s %s; expected %s"
              .formatted(direction(join.largest()), score.get().function(), direction(largest)));
    }
    return vectors(join, score.get()).isPresent()
        ? Optional.empty()
        : Optional.of(
            "it ranks by %s; expected one column of each side, ARRAY<FLOAT>"
                .formatted(join.ranking().sql()));
  }

  private static String direction(boolean largest) {
    return largest ? "SIMILARITY" : "DISTANCE";
  }

  /** The column of the left side and that of the right one, in either order of the arguments. */
  private static Optional<List<Attribute>> vectors(
      NearestJoins.Join join, NearestJoins.Score score) {
    Optional<List<Attribute>> inOrder = vectors(join, score.first(), score.second());
    return inOrder.isPresent() ? inOrder : vectors(join, score.second(), score.first());
  }

  private static Optional<List<Attribute>> vectors(
      NearestJoins.Join join, Expression left, Expression right) {
    return column(join.left(), left)
        .flatMap(ofLeft -> column(join.right(), right).map(ofRight -> List.of(ofLeft, ofRight)));
  }

  private static Optional<Attribute> column(LogicalPlan side, Expression expression) {
    boolean isVector =
        expression instanceof Attribute column
            && Attributes.indexOf(ScalaInterop.list(side.output()), column) >= 0
            && column.dataType() instanceof ArrayType array
            && array.elementType().equals(DataTypes.FloatType);
    return isVector ? Optional.of((Attribute) expression) : Optional.empty();
  }
}

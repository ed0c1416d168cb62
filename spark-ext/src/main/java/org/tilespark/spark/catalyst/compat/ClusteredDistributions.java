package org.tilespark.spark.catalyst.compat;

import java.util.Collection;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.physical.ClusteredDistribution;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Makes Spark's {@link ClusteredDistribution}. Spark 4.3 added the parameter {@code
 * allowNullKeySpreading}; with its default, rows with equal null keys stay together as in older
 * versions.
 */
public final class ClusteredDistributions {
  private static final NewestConstructor<ClusteredDistribution> CONSTRUCTOR =
      new NewestConstructor<>(ClusteredDistribution.class, Seq.class, boolean.class, Option.class);

  private ClusteredDistributions() {}

  /** A distribution in which rows with equal keys are in one partition. */
  public static ClusteredDistribution of(Collection<? extends Expression> keys) {
    return CONSTRUCTOR.make(ScalaInterop.<Expression>seq(keys), false, ScalaInterop.none());
  }

  /** A distribution in which rows with equal keys are in one of {@code partitions} partitions. */
  public static ClusteredDistribution of(Collection<? extends Expression> keys, int partitions) {
    return CONSTRUCTOR.make(
        ScalaInterop.<Expression>seq(keys), false, Option.apply((Object) partitions));
  }

  /**
   * A distribution in which rows with equal keys are in one of {@code partitions} partitions; Spark
   * must hash all keys, not a subset.
   */
  public static ClusteredDistribution ofAll(Collection<? extends Expression> keys, int partitions) {
    return CONSTRUCTOR.make(ScalaInterop.<Expression>seq(keys), true, Option.apply(partitions));
  }
}

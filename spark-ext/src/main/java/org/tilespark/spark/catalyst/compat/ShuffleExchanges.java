package org.tilespark.spark.catalyst.compat;

import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.REPARTITION_BY_NUM$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleOrigin;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;

/** Makes Spark's {@link ShuffleExchangeExec}. Spark 4.3 added the parameter {@code pipelined}. */
public final class ShuffleExchanges {
  private static final NewestConstructor<ShuffleExchangeExec> CONSTRUCTOR =
      new NewestConstructor<>(
          ShuffleExchangeExec.class,
          Partitioning.class,
          SparkPlan.class,
          ShuffleOrigin.class,
          Option.class);

  private ShuffleExchanges() {}

  /** A shuffle whose number of partitions adaptive execution keeps. */
  public static ShuffleExchangeExec of(Partitioning partitioning, SparkPlan child) {
    return CONSTRUCTOR.make(partitioning, child, REPARTITION_BY_NUM$.MODULE$, ScalaInterop.none());
  }
}

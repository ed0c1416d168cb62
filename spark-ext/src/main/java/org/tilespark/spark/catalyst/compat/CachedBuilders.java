package org.tilespark.spark.catalyst.compat;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.columnar.CachedBatchSerializer;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.columnar.CachedRDDBuilder;
import org.apache.spark.storage.StorageLevel;
import scala.Option;

/** Makes Spark's {@link CachedRDDBuilder}, which newer versions may give further parameters. */
public final class CachedBuilders {
  private static final NewestConstructor<CachedRDDBuilder> CONSTRUCTOR =
      new NewestConstructor<>(
          CachedRDDBuilder.class,
          CachedBatchSerializer.class,
          StorageLevel.class,
          SparkPlan.class,
          Option.class,
          LogicalPlan.class);

  private CachedBuilders() {}

  /**
   * A copy of {@code other} for the physical plan {@code plan}. Its logical plan, which only
   * Spark's cache manager reads, is empty.
   */
  public static CachedRDDBuilder of(CachedRDDBuilder other, SparkPlan plan) {
    return CONSTRUCTOR.make(
        other.serializer(), other.storageLevel(), plan, other.tableName(), new OneRowRelation());
  }
}

package org.tilespark.spark.shuffle;

import java.lang.reflect.Field;
import java.util.Optional;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The metric {@code data size} of a shuffle, which Spark's serializer of rows counts but does not
 * expose.
 */
final class DataSizes {
  private static final Logger LOG = LoggerFactory.getLogger(DataSizes.class);
  private static final Optional<Field> FIELD = field();

  private DataSizes() {}

  private static Optional<Field> field() {
    try {
      Field field = UnsafeRowSerializer.class.getDeclaredField("dataSize");
      field.setAccessible(true);
      return Optional.of(field);
    } catch (ReflectiveOperationException e) {
      LOG.warn("Exchanges in memory will show no data size on this version of Spark", e);
      return Optional.empty();
    }
  }

  /** The metric of a shuffle with this serializer, if it has one. */
  static Optional<SQLMetric> find(Serializer serializer) {
    return FIELD.map(
        field -> {
          try {
            return (SQLMetric) field.get(serializer);
          } catch (IllegalAccessException e) {
            throw new IllegalStateException(field.toString(), e);
          }
        });
  }
}

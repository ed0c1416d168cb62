package org.tilespark.spark.shuffle;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.util.Optional;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Spark's checksums of the rows of one map output. From them the scheduler learns that a repeated
 * map task gave other rows than its first attempt, and repeats the stages that read it. Spark 4.0
 * has none; in 4.1 they can be switched on; in 4.3 they are on by default. For the task's thread.
 */
final class RowChecksums {
  private static final Optional<Api> API = Api.find();

  private final Api api; // null if no checksums are wanted
  private final Object checksums; // an array of Spark's RowBasedChecksum, one for each partition

  private RowChecksums(Api api, Object checksums) {
    this.api = api;
    this.checksums = checksums;
  }

  /** The methods of Spark, which 4.0 lacks. */
  private record Api(MethodHandle ofShuffle, MethodHandle update, MethodHandle aggregate) {

    static Optional<Api> find() {
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      try {
        Class<?> checksum = Class.forName("org.apache.spark.shuffle.checksum.RowBasedChecksum");
        Class<?> array = checksum.arrayType();
        return Optional.of(
            new Api(
                lookup.findVirtual(
                    ShuffleDependency.class, "rowBasedChecksums", MethodType.methodType(array)),
                lookup.findVirtual(
                    checksum,
                    "update",
                    MethodType.methodType(void.class, Object.class, Object.class)),
                lookup.findStatic(
                    checksum,
                    "getAggregatedChecksumValue",
                    MethodType.methodType(long.class, array))));
      } catch (ClassNotFoundException | NoSuchMethodException e) {
        return Optional.empty();
      } catch (IllegalAccessException e) {
        throw new IllegalStateException("Spark's RowBasedChecksum", e);
      }
    }
  }

  /** The checksums that {@code shuffle} requires, initially without rows. */
  static RowChecksums of(ShuffleDependency<?, ?, ?> shuffle) {
    if (API.isPresent()) {
      Object checksums = invoked(() -> API.get().ofShuffle.invoke(shuffle));
      if (checksums != null && Array.getLength(checksums) > 0) {
        return new RowChecksums(API.get(), checksums);
      }
    }
    return new RowChecksums(null, null);
  }

  /** Adds a row; reads each byte of it if checksums are required. */
  void update(int partition, UnsafeRow row) {
    if (api != null) {
      Object checksum = Array.get(checksums, partition);
      invoked(
          () -> {
            api.update.invoke(checksum, (Object) partition, (Object) row);
            return null;
          });
    }
  }

  /**
   * One checksum of all partitions, independent of the order of their rows; 0 if no checksum is
   * required.
   */
  long value() {
    return api == null ? 0 : (long) invoked(() -> api.aggregate.invoke(checksums));
  }

  private interface Call {
    Object run() throws Throwable;
  }

  private static Object invoked(Call call) {
    try {
      return call.run();
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("Spark's checksums of rows", e);
    }
  }
}

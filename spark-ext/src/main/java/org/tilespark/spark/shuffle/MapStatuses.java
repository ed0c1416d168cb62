package org.tilespark.spark.shuffle;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockManagerId;

/** Makes Spark's {@link MapStatus}, to which Spark 4.1 added a checksum. */
final class MapStatuses {
  private static final Method APPLY =
      Arrays.stream(MapStatus$.class.getMethods())
          .filter(method -> method.getName().equals("apply") && method.getParameterCount() >= 3)
          .findFirst()
          .orElseThrow(() -> new IllegalStateException("Spark's MapStatus has no apply"));

  private MapStatuses() {}

  /**
   * The location of an output and the lengths of its partitions.
   *
   * @param lengths bytes of each partition; 0 if and only if it has no rows
   * @param checksum checksum of all rows, in any order; 0 if it was not computed
   */
  static MapStatus of(BlockManagerId location, long[] lengths, long mapId, long checksum) {
    Object[] arguments = {location, lengths, mapId, checksum};
    try {
      return (MapStatus)
          APPLY.invoke(MapStatus$.MODULE$, Arrays.copyOf(arguments, APPLY.getParameterCount()));
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(APPLY.toString(), e);
    }
  }
}

package org.tilespark.spark.shuffle;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.storage.BlockManagerId;

/** Makes Spark's {@link MapStatus}. Spark 4.1 added a checksum, for which 0 stands here. */
final class MapStatuses {
  private static final Method APPLY =
      Arrays.stream(MapStatus$.class.getMethods())
          .filter(method -> method.getName().equals("apply") && method.getParameterCount() >= 3)
          .findFirst()
          .orElseThrow(() -> new IllegalStateException("Spark's MapStatus has no apply"));

  private MapStatuses() {}

  /**
   * Where an output is and how long its partitions are.
   *
   * @param lengths bytes of each partition; 0 if and only if it has no rows
   */
  static MapStatus of(BlockManagerId location, long[] lengths, long mapId) {
    Object[] arguments = {location, lengths, mapId, 0L};
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

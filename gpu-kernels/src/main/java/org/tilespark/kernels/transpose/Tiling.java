package org.tilespark.kernels.transpose;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;
import org.tilespark.kernels.launch.TuningTable;

/**
 * The way in which a two-dimensional transpose is cut into tiles, which the tuner chooses. Written
 * as {@code KERNEL ORDER}.
 *
 * @param kernel name of the kernel; if there are kernels with and without masks, of that with masks
 * @param order order of the tiles that neighbouring thread blocks take
 */
public record Tiling(String kernel, TileOrder order) {
  /** The way to read tables of tilings. */
  public static final TuningTable.Format<ProblemClass, Tiling> FORMAT =
      new TuningTable.Format<>("tilings", ProblemClass::parse, Tiling::parse);

  /** Checks that no component is null. */
  public Tiling {
    Objects.requireNonNull(kernel, "kernel");
    Objects.requireNonNull(order, "order");
  }

  /**
   * The classes for which this jar has a tiling that is faster than the planner's rule on an
   * architecture, as measured there; empty if nothing was measured.
   *
   * @param architecture such as sm_90
   * @throws IllegalStateException if the resource cannot be read
   */
  public static TuningTable<ProblemClass, Tiling> bundled(String architecture) {
    String resource = architecture + ".tilings";
    try (InputStream in = Tiling.class.getResourceAsStream(resource)) {
      return in == null
          ? TuningTable.empty()
          : FORMAT.parse(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new IllegalStateException("Cannot read the resource " + resource, e);
    }
  }

  private static Tiling parse(String text) {
    String[] words = text.split(" ", -1);
    Optional<TileOrder> order = words.length == 2 ? TileOrder.parse(words[1]) : Optional.empty();
    if (order.isEmpty() || words[0].isEmpty()) {
      throw new IllegalArgumentException(
          "Tiling '" + text + "'; expected KERNEL rows-first or cols-first");
    }
    return new Tiling(words[0], order.get());
  }

  @Override
  public String toString() {
    return kernel + " " + order;
  }
}

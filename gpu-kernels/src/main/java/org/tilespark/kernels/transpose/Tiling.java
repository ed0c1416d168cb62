package org.tilespark.kernels.transpose;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;
import org.tilespark.kernels.launch.TuningTable;

/**
 * How a two-dimensional transpose is cut into tiles: what the tuner chooses. Written as {@code
 * KERNEL ORDER}.
 *
 * @param kernel the kernel of the tile, that with masks where there are two
 * @param order which tiles neighbouring thread blocks take
 */
public record Tiling(String kernel, TileOrder order) {
  /** How tables of tilings are read. */
  public static final TuningTable.Format<ProblemClass, Tiling> FORMAT =
      new TuningTable.Format<>("tilings", ProblemClass::parse, Tiling::parse);

  /** The architecture that {@link #bundled} was measured on. */
  public static final String BUNDLED_ARCHITECTURE = "sm_90";

  /** Checks that nothing is missing. */
  public Tiling {
    Objects.requireNonNull(kernel, "kernel");
    Objects.requireNonNull(order, "order");
  }

  /**
   * The table that comes with this jar, measured on {@link #BUNDLED_ARCHITECTURE}; on other
   * architectures it is a guess.
   *
   * @throws IllegalStateException if the resource cannot be read
   */
  public static TuningTable<ProblemClass, Tiling> bundled() {
    String resource = BUNDLED_ARCHITECTURE + ".tilings";
    try (InputStream in = Tiling.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException("This jar lacks " + resource);
      }
      return FORMAT.parse(new String(in.readAllBytes(), StandardCharsets.UTF_8));
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

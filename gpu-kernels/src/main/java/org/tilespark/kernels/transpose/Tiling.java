package org.tilespark.kernels.transpose;

import java.util.Objects;

/**
 * How a two-dimensional transpose is cut into tiles: what the tuner chooses.
 *
 * @param kernel the kernel of the tile, that with masks where there are two
 * @param order which tiles neighbouring thread blocks take
 */
public record Tiling(String kernel, TileOrder order) {
  /** Checks that nothing is missing. */
  public Tiling {
    Objects.requireNonNull(kernel, "kernel");
    Objects.requireNonNull(order, "order");
  }

  @Override
  public String toString() {
    return kernel + " " + order;
  }
}

package org.tilespark.kernels.host.fourier;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.host.fourier.LaneTiles.Stage;

/**
 * Two pairs of planes of rows in which transforms work. The planes grow when needed and are kept.
 */
final class Workspace<A> {
  private final FourierKernels<A> kernels;
  private final List<A> planes = new ArrayList<>();
  private int length = -1;
  private A stage; // null until it is used
  private int stageLength;

  Workspace(FourierKernels<A> kernels) {
    this.kernels = kernels;
  }

  FourierKernels<A> kernels() {
    return kernels;
  }

  /**
   * Planes of {@code rows} rows and their gaps; planes that {@link #second} returned before become
   * invalid.
   */
  Rows<A> first(int rows, int lanes) {
    int needed =
        Math.addExact(
            Math.multiplyExact(rows, lanes), (ComplexTransform.LARGEST_PRIME + 1) * kernels.pad());
    if (needed > length) {
      planes.clear();
      length = needed;
      for (int p = 0; p < 4; p++) {
        // Planes have different lengths, so that equal indices do not map to the same part of the
        // cache.
        planes.add(kernels.array(Math.addExact(needed, p * kernels.pad() / 4)));
      }
    }
    return new Rows<>(planes.get(0), planes.get(1), lanes, rows);
  }

  /** The second pair of planes, which is as long as that of {@link #first}. */
  Rows<A> second(int rows, int lanes) {
    return new Rows<>(planes.get(2), planes.get(3), lanes, rows);
  }

  /**
   * Buffer for contiguous lines of {@code numbers} numbers each.
   *
   * @param spare true if there must be room for one more number after each line
   */
  Stage<A> stage(int numbers, int lanes, boolean spare) {
    int pitch = spare ? Math.addExact(numbers, 1) : numbers;
    int needed = Math.multiplyExact(pitch, lanes);
    if (stage == null || needed > stageLength) {
      stage = kernels.array(needed);
      stageLength = needed;
    }
    return new Stage<>(stage, pitch, lanes);
  }
}

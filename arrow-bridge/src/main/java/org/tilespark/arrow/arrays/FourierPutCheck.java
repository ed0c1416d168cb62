package org.tilespark.arrow.arrays;

import java.util.List;
import org.tilespark.arrow.arrays.FourierChain.State;
import org.tilespark.arrow.arrays.FourierPipeline.Part;
import org.tilespark.arrow.blocks.PermutePipeline.Plane;

/** What both twins check of a part that is put. */
final class FourierPutCheck {
  private FourierPutCheck() {}

  /**
   * Checks a part against the array.
   *
   * @throws IllegalArgumentException if it is not inside, or has not the planes it needs
   */
  static void check(Part part, List<Plane> planes, State state) {
    part.requireInside(state.shape());
    long bytes = part.elements() * state.type().bytes();
    boolean fits = planes.size() == state.planes();
    for (Plane plane : planes) {
      fits &= plane.values().bytes() == bytes;
    }
    if (!fits) {
      throw new IllegalArgumentException(
          "A part of size "
              + part.size()
              + " of a "
              + state
              + " array with planes of "
              + planes.stream().map(plane -> plane.values().bytes()).toList()
              + " bytes; expected "
              + state.planes()
              + " of "
              + bytes);
    }
  }
}

package org.tilespark.kernels.host;

import java.nio.file.Path;
import java.util.List;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.multiply.Multiplier;

/** Whose kernels multiply on the CPU. */
public enum HostEngine {
  /** OpenBLAS where it is found, which is faster; this project's own elsewhere. */
  AUTO,
  /** This project's own, whose sums are the same on all machines. */
  OWN,
  /** OpenBLAS. */
  OPENBLAS;

  /**
   * What multiplies.
   *
   * @param directories where to look for OpenBLAS when the system's loader does not know it
   * @return the multiplier, which the caller closes; or why OpenBLAS, which was asked for, is not
   *     there, and what helps
   */
  public Availability<Multiplier> multiplier(List<Path> directories) {
    if (this == OWN) {
      return Availability.of(new HostMultiplier());
    }
    Availability<OpenblasMultiplier> found = OpenblasMultiplier.find(directories);
    return !found.isPresent() && this == AUTO
        ? Availability.of(new HostMultiplier())
        : found.map(Multiplier.class::cast);
  }
}

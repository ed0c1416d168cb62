package org.tilespark.kernels.host.engine;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.NetlibFactorizer;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.multiply.Multiplier;

/** The engines of which one multiplies and factorizes on the CPU. */
public enum HostEngine {
  /** OpenBLAS, which is faster, if it is found; otherwise plain Java. */
  AUTO,
  /** Plain Java, whose sums are the same on all machines: this project's own products. */
  OWN,
  /** OpenBLAS, which must be there. */
  OPENBLAS;

  /**
   * The multiplier of this engine.
   *
   * @param directories directories to look for OpenBLAS in when the system's loader does not know
   *     the library
   * @param declined gets the reason if {@link #AUTO} does not use OpenBLAS
   * @return the multiplier, which the caller closes; or why OpenBLAS, which the user asked for, is
   *     not there, and what helps
   */
  public Availability<Multiplier> multiplier(List<Path> directories, Consumer<String> declined) {
    if (this == OWN) {
      return Availability.of(new HostMultiplier());
    }
    Availability<OpenblasMultiplier> found = OpenblasMultiplier.find(directories);
    if (!found.isPresent() && this == AUTO) {
      declined.accept(found.whyNot());
      return Availability.of(new HostMultiplier());
    }
    return found.map(Multiplier.class::cast);
  }

  /**
   * The factorizer of this engine.
   *
   * @param directories directories to look for OpenBLAS in when the system's loader does not know
   *     the library
   * @param declined gets the reason if {@link #AUTO} does not use OpenBLAS
   * @return the factorizer, which the caller closes; or why OpenBLAS, which the user asked for, is
   *     not there, and what helps
   */
  public Availability<Factorizer> factorizer(List<Path> directories, Consumer<String> declined) {
    if (this == OWN) {
      return Availability.of(new NetlibFactorizer(new HostMultiplier()));
    }
    Availability<OpenblasFactorizer> found = OpenblasFactorizer.find(directories);
    if (!found.isPresent() && this == AUTO) {
      declined.accept(found.whyNot());
      return Availability.of(new NetlibFactorizer(new HostMultiplier()));
    }
    return found.map(Factorizer.class::cast);
  }
}

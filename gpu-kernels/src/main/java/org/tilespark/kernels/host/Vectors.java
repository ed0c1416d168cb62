package org.tilespark.kernels.host;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorShape;

/**
 * What the Vector API says of this machine. Its module is not part of every JVM: ask {@link
 * #isPresent} before anything that links against {@code jdk.incubator.vector}.
 */
final class Vectors {
  private static final boolean PRESENT =
      ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent();

  private Vectors() {}

  /** True if the JVM runs with {@code --add-modules jdk.incubator.vector}. */
  static boolean isPresent() {
    return PRESENT;
  }

  /** Bits of the widest vectors that the JVM makes use of; 0 without the module. */
  static int bits() {
    return PRESENT ? Api.bits() : 0;
  }

  /** Linked only where the module is there. */
  private static final class Api {
    static int bits() {
      return Math.min(
          FloatVector.SPECIES_PREFERRED.vectorBitSize(), VectorShape.S_512_BIT.vectorBitSize());
    }
  }
}

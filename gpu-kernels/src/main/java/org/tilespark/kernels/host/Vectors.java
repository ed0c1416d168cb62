package org.tilespark.kernels.host;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import jdk.incubator.vector.FloatVector;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This JVM's support of the Vector API. Not every JVM has its module, and only HotSpot's C2
 * compiles it to vector instructions: elsewhere its calls are slower than scalar code.
 */
final class Vectors {
  private static final Logger LOG = LoggerFactory.getLogger(Vectors.class);
  private static final int MOST_BITS = 512;
  private static final int LEAST_BITS = 128;
  private static final boolean FUSED = flag("UseFMA", "false").equals("true");

  private Vectors() {}

  /** True if the CPU multiplies and adds in one instruction, and the JVM uses it. */
  static boolean isFused() {
    return FUSED;
  }

  /**
   * Bits of the widest vectors that kernels use; 0, with a line in the log, if kernels use no
   * vectors.
   */
  static int bits() {
    String absence = absence();
    if (absence.isEmpty()) {
      return Math.min(Api.bits(), MOST_BITS);
    }
    LOG.warn(
        "Products and transforms on the CPU run without vector instructions, several times slower,"
            + " because {}",
        absence);
    return 0;
  }

  /** The reason why kernels use no vectors; empty if they do. */
  private static String absence() {
    if (ModuleLayer.boot().findModule("jdk.incubator.vector").isEmpty()) {
      return "the JVM was started without --add-modules=jdk.incubator.vector";
    }
    if (!FUSED) {
      return "the CPU or the JVM has no fused multiply-add";
    }
    if (!flag("TieredStopAtLevel", "4").equals("4")
        || flag("UseJVMCICompiler", "false").equals("true")) {
      return "the JVM runs without HotSpot's C2 compiler";
    }
    return Api.bits() < LEAST_BITS ? "vectors have " + Api.bits() + " bits" : "";
  }

  /** The value of a HotSpot flag; {@code otherwise} if this JVM has no flag of this name. */
  private static String flag(String name, String otherwise) {
    try {
      HotSpotDiagnosticMXBean hotspot =
          ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
      return hotspot == null ? otherwise : hotspot.getVMOption(name).getValue();
    } catch (IllegalArgumentException e) {
      return otherwise;
    }
  }

  /** Calls of the Vector API; linked only if its module is there. */
  private static final class Api {
    static int bits() {
      return FloatVector.SPECIES_PREFERRED.vectorBitSize();
    }
  }
}

package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import jdk.incubator.vector.FloatVector;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.InTurn;

/** {@link HostMultiplierFuzz} at each width of vectors, compiled and not: all bits are the same. */
@InTurn
class HostMultiplierFuzzTest {
  private static final long SEED = 20261125;
  private static final int PRODUCTS = 60;
  private static final int BITS = FloatVector.SPECIES_PREFERRED.vectorBitSize();

  @Test
  void vectorsAndScalarsMakeTheSameBits() {
    long scalars = HostMultiplierFuzz.run(scalars(), SEED, PRODUCTS);
    assertEquals(scalars, HostMultiplierFuzz.run(scalars().withVectorBits(BITS), SEED, PRODUCTS));
  }

  @Test
  void eachWidthMakesTheSameBits() throws Exception {
    assumeTrue(Vectors.isFused(), "without fused multiply-adds scalars round differently");
    String expected = String.format("%016x", HostMultiplierFuzz.run(scalars(), SEED, PRODUCTS));
    for (int bits = 128; bits <= BITS; bits *= 2) {
      assertEquals(
          bits + " " + expected,
          fork("--add-modules=jdk.incubator.vector", "-XX:MaxVectorSize=" + bits / 8));
    }
    assertEquals("0 " + expected, fork());
  }

  private static HostProfile scalars() {
    return HostProfile.current().withVectorBits(0);
  }

  /** The last line of {@link HostMultiplierFuzz} in a JVM of its own, with HotSpot's compilers. */
  private static String fork(String... options) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(options));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(HostMultiplierFuzz.class.getName());
    command.addAll(List.of(Long.toString(SEED), Integer.toString(PRODUCTS)));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String printed =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
    assertTrue(process.waitFor() == 0, () -> command + " printed " + printed);
    return printed.substring(printed.lastIndexOf('\n') + 1);
  }
}

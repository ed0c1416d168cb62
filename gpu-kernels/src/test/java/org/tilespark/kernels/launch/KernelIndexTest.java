package org.tilespark.kernels.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

class KernelIndexTest {
  private static final String TEXT =
      """
      # a comment
      nvcc 13.0.88

      fatbin transpose_vector 1000
      kernel transpose_vector transpose_vector_w4_64x32x256 sm_80 registers=64 sharedBytes=16640
      kernel transpose_vector transpose_vector_w4_64x32x256 sm_90a
      kernel copy_strided copy_strided_w16_128 compute_80
      """;

  @Test
  void saysWhyThereAreNoFunctions() {
    KernelIndex index = KernelIndex.parse(TEXT + "ptx other 7\n");
    assertEquals("this build has no device functions of math", index.functions("math").whyNot());
    assertThrows(IllegalStateException.class, () -> index.functions("other"));
  }

  @Test
  void readsNamesTilesAndArchitectures() {
    KernelIndex index = KernelIndex.parse(TEXT);
    assertEquals("nvcc 13.0.88", index.compiler());
    KernelIndex.Kernel tiled = index.find("transpose_vector_w4_64x32x256").orElseThrow();
    assertEquals("transpose_vector", tiled.family());
    assertEquals("transpose_vector", tiled.source());
    assertEquals(4, tiled.elementBytes());
    assertEquals(new KernelIndex.TileShape(64, 32, 256), tiled.shape());
    assertEquals(Set.of("sm_80", "sm_90a"), tiled.architectures());
    KernelIndex.Kernel strided = index.find("copy_strided_w16_128").orElseThrow();
    assertEquals(16, strided.elementBytes());
    assertEquals(new KernelIndex.TileShape(1, 1, 128), strided.shape());
    assertEquals(List.of("compute_80", "sm_80", "sm_90a"), index.architectures());
    assertEquals("2 kernels for compute_80, sm_80, sm_90a", index.toString());
  }

  /** The needs of a launch are stated with the machine code, and hold for all architectures. */
  @Test
  void readsWhatALaunchNeeds() {
    KernelIndex.Kernel kernel =
        KernelIndex.parse(
                """
                kernel m m_w4_128x256x384 sm_90a spillBytes=0 dynamicBytes=197632 blocksPerProcessor=2 early=1
                kernel m m_w4_128x256x384 compute_90
                """)
            .find("m_w4_128x256x384")
            .orElseThrow();
    assertEquals(197_632, kernel.traits().dynamicBytes());
    assertEquals(2, kernel.traits().blocksPerProcessor());
    assertTrue(kernel.traits().early());
    KernelIndex.Kernel plain = KernelIndex.parse(TEXT).find("copy_strided_w16_128").orElseThrow();
    assertEquals(0, plain.traits().dynamicBytes());
    assertEquals(1, plain.traits().blocksPerProcessor());
    assertFalse(plain.traits().early());
  }

  @Test
  void machineCodeRunsOnItsMajorArchitecture() {
    assertTrue(runs("sm_80", 8, 0));
    assertTrue(runs("sm_80", 8, 9));
    assertFalse(runs("sm_86", 8, 0));
    assertFalse(runs("sm_80", 9, 0));
    assertFalse(runs("sm_80", 7, 5));
  }

  @Test
  void architectureSpecificCodeRunsThereOnly() {
    assertTrue(runs("sm_90a", 9, 0));
    assertFalse(runs("sm_90a", 10, 0));
    assertFalse(runs("sm_100a", 10, 3));
    assertTrue(runs("sm_100a", 10, 0));
  }

  @Test
  void ptxRunsOnLaterArchitectures() {
    assertTrue(runs("compute_75", 7, 5));
    assertTrue(runs("compute_75", 8, 6));
    assertTrue(runs("compute_80", 12, 0));
    assertFalse(runs("compute_80", 7, 5));
  }

  @Test
  void linesNotUnderstoodAreQuoted() {
    assertMessage("kernel a b_w4_32 sm_x", "expected an architecture like sm_90a or compute_80");
    assertMessage("kernel a nameless sm_80", "expected a name like transpose_vector_w4_64x64x256");
    assertMessage("kernel a b", "expected at least 4 words");
    assertMessage("colonel a", "expected nvcc, fatbin, ptx or kernel first");
  }

  /** The compiler's report on the kernels in this jar. */
  @Test
  void noKernelOfThisJarSpills() throws IOException {
    List<String> machineCode = linesOfThisJar(" spillBytes=");
    assertEquals(
        List.of(),
        machineCode.stream().filter(line -> !line.matches(".* spillBytes=0( .*)?")).toList());
  }

  /** Compute capability 8.6 and 8.9 run the code of sm_80 and lend a thread block 99 KiB. */
  @Test
  void kernelsOfSm80FitTheSmallestSharedMemoryOfItsKind() throws IOException {
    List<String> machineCode = linesOfThisJar(" sm_80 ");
    assertEquals(
        List.of(),
        machineCode.stream()
            .filter(line -> bytes(line, "sharedBytes") + bytes(line, "dynamicBytes") > 99 << 10)
            .toList());
  }

  /** The lines of this jar's index that contain a text: one at least, if it was built with nvcc. */
  private static List<String> linesOfThisJar(String part) throws IOException {
    try (InputStream in = KernelIndex.class.getResourceAsStream(KernelIndex.RESOURCE)) {
      Assumptions.assumeTrue(in != null, "built without nvcc");
      List<String> lines =
          new String(in.readAllBytes(), StandardCharsets.UTF_8)
              .lines()
              .filter(line -> line.contains(part))
              .toList();
      assertFalse(lines.isEmpty());
      return lines;
    }
  }

  private static int bytes(String line, String name) {
    Matcher value = Pattern.compile(" " + name + "=(\\d+)").matcher(line);
    return value.find() ? Integer.parseInt(value.group(1)) : 0;
  }

  @Test
  void emptyIndex() {
    assertTrue(KernelIndex.EMPTY.isEmpty());
    assertTrue(KernelIndex.parse("").isEmpty());
    assertEquals("no kernels", KernelIndex.EMPTY.toString());
  }

  private static void assertMessage(String line, String expected) {
    Exception e = assertThrows(IllegalArgumentException.class, () -> KernelIndex.parse(line));
    assertEquals("Kernel index, line 1 '" + line + "': " + expected, e.getMessage());
  }

  private static boolean runs(String architecture, int major, int minor) {
    return KernelIndex.parse("kernel s k_w4_32 " + architecture)
        .find("k_w4_32")
        .orElseThrow()
        .runsOn(major, minor);
  }
}

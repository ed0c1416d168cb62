package org.tilespark.kernels.transpose;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.TuningTable;

class TilingTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "16384 | 16384 | 1 | 4 | vector w4 16384 x 16384 of 2^28",
        "10007 | 7919 | 1 | 4 | vector w4 16384- x 8192- of 2^28",
        "131072 | 1000 | 1 | 4 | vector w4 65536 x 1024- of 2^28",
        "128 | 129 | 4096 | 4 | vector w4 128 x 144 of 2^28",
        "17 | 256 | 16 | 1 | vector w1 32 x 256 of 2^17",
        "257 | 320 | 1 | 16 | vector w16 512- x 512 of 2^21",
        "33554432 | 40 | 1 | 8 | vector w8 65536 x 48 of 2^28",
        "1 | 1 | 1 | 1 | vector w1 16 x 16 of 2^0",
      })
  void similarProblemsShareAClass(long rows, long cols, long count, int width, String expected) {
    MatrixBatch matrices =
        new MatrixBatch(
            width, rows, cols, cols, rows, List.of(new Axis(count, rows * cols, rows * cols)));
    ProblemClass problems = ProblemClass.of(matrices, true);
    assertEquals(expected, problems.toString());
    assertEquals(problems, ProblemClass.parse(expected));
  }

  @Test
  void textGivesTheSameTable() {
    String text =
        "shifted w1 48 x 65536 of 2^20 = transpose_shifted_w1_64x128x128 rows-first\n"
            + "vector w8 512 x 512 of 2^27 = transpose_vector_w8_64x32x256 cols-first\n";
    TuningTable<ProblemClass, Tiling> table = Tiling.FORMAT.parse("# a comment\n\n" + text);
    assertEquals(text, table.toText());
    assertEquals(2, table.entries().size());
    assertEquals(table, Tiling.FORMAT.parse(table.toText()));
    TuningTable<ProblemClass, Tiling> newer =
        Tiling.FORMAT.parse(
            "vector w8 512 x 512 of 2^27 = transpose_vector_w8_32x32x128 rows-first");
    assertEquals(2, table.with(newer).entries().size());
    assertTrue(table.with(newer).toText().endsWith(newer.toText()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "nonsense",
        "vector w4 512 x 512 of 2^27 = kernel",
        "vector w4 512 x 512 of 2^27 = kernel sideways",
        "vector w4 512 x 512 of 2^27 = kernel rows-first more",
        "vector w3 512 x 512 of 2^27 = kernel rows-first",
        "vector w4 512 of 2^27 = kernel rows-first",
        "vector w4 512 x 99999999999999999999 of 2^27 = kernel rows-first",
      })
  void otherTextIsRefused(String line) {
    Exception e = assertThrows(IllegalArgumentException.class, () -> Tiling.FORMAT.parse(line));
    assertTrue(e.getMessage().contains("expected"), e.getMessage());
  }

  @Test
  void whatComesWithTheJarNamesKernelsOfTheJar() {
    KernelIndex index = KernelIndex.ofThisJar();
    Assumptions.assumeTrue(!index.isEmpty(), "built without nvcc");
    assertEquals(TuningTable.empty(), Tiling.bundled("sm_80"));
    TuningTable<ProblemClass, Tiling> table = Tiling.bundled("sm_90");
    assertTrue(table.entries().size() > 30, "only " + table.entries().size() + " tilings");
    for (Map.Entry<ProblemClass, Tiling> entry : table.entries().entrySet()) {
      ProblemClass problems = entry.getKey();
      KernelIndex.Kernel kernel =
          index
              .find(entry.getValue().kernel())
              .orElseThrow(() -> new AssertionError("no kernel " + entry.getValue()));
      assertEquals(problems.elementBytes(), kernel.elementBytes(), entry::toString);
      assertEquals(
          problems.aligned() ? "transpose_vector" : "transpose_shifted",
          kernel.family(),
          entry::toString);
    }
  }
}

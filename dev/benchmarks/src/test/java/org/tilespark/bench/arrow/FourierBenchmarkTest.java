package org.tilespark.bench.arrow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FourierBenchmarkTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  @TempDir Path directory;

  /** Small cubes on this backend; where that is a GPU, {@link FourierBenchmarkIT} runs it. */
  String backend() {
    return "cpu";
  }

  @Test
  void measuresWholeCubesAndSlabs() throws Exception {
    Path csv = directory.resolve("fourier.csv");
    assertEquals(
        0,
        run(
            "--commit",
            "none",
            "--backend",
            backend(),
            "--extent",
            "24",
            "--slabs",
            "32",
            "--thickness",
            "8",
            "--runs",
            "2",
            "--csv",
            csv.toString()),
        err::toString);
    String table = out.toString(StandardCharsets.UTF_8);
    assertTrue(table.contains("24^3 pipeline, one at a time"), table);
    assertTrue(table.contains("32^3 in 4 slabs, both stages"), table);
    List<String> lines = Files.readAllLines(csv);
    assertEquals("what,millis,least,most,bytes", lines.get(1));
    for (String line : lines.subList(2, lines.size())) {
      assertEquals(5, line.replaceAll("\"[^\"]*\"", "what").split(",").length, line);
    }
    assertTrue(lines.size() >= 7, "rows " + lines);
  }

  @Test
  void optionsThatAreNone() throws Exception {
    assertEquals(2, run("--extent", "24"));
    assertEquals(2, run("--commit", "none", "--exent", "24"));
    assertTrue(err.toString(StandardCharsets.UTF_8).contains("usage: FourierBenchmark"));
  }

  private int run(String... arguments) throws Exception {
    List<String> all = new ArrayList<>(List.of(arguments));
    return FourierBenchmark.run(
        all.toArray(String[]::new),
        new PrintStream(out, true, StandardCharsets.UTF_8),
        new PrintStream(err, true, StandardCharsets.UTF_8));
  }
}

package org.tilespark.bench.arrow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The benchmark as a user runs it, small. On a machine with a GPU it runs on that. */
class ArrowTransposeBenchmarkTest {
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);

  @TempDir Path directory;

  @Test
  void measuresAndChecksEverySourceAndCountOfTasks() throws Exception {
    Path csv = directory.resolve("arrow.csv");
    String options =
        "--commit test --extents 32,65 --tasks 1,3 --gib 0.01 --source-mib 2 --batch-mib 1"
            + " --pool-mib 64 --runs 2 --csv "
            + csv;
    assertEquals(0, ArrowTransposeBenchmark.run(options.split(" "), stream, stream), this::printed);
    List<String> lines = Files.readAllLines(csv);
    assertEquals(2 + 2 * 2 * 2, lines.size(), () -> String.join("\n", lines));
    assertTrue(lines.get(0).contains("commit test"), lines.get(0));
    for (String line : lines.subList(2, lines.size())) {
      String[] cells = line.split(",");
      assertEquals(12, cells.length, line);
      assertTrue(Long.parseLong(cells[3]) > 9_000_000, line); // about 0.01 GiB, in whole batches
      assertTrue(Double.parseDouble(cells[10]) > 0, line);
    }
  }

  @Test
  void refusesWhatItDoesNotKnow() throws Exception {
    assertEquals(2, run());
    assertEquals(2, run("--commit", "test", "--extent", "32"));
    assertEquals(2, run("--commit"));
    assertTrue(printed().contains("usage: "), this::printed);
  }

  private int run(String... args) throws Exception {
    return ArrowTransposeBenchmark.run(args, stream, stream);
  }

  private String printed() {
    return printed.toString(StandardCharsets.UTF_8);
  }
}

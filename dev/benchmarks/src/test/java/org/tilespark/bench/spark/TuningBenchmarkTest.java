package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;

@InTurn
class TuningBenchmarkTest {
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);

  @TempDir Path directory;

  @Test
  void everySweepIsMeasured() throws IOException {
    Path csv = directory.resolve("tuning.csv");
    int status =
        run(
            "--gib=0.0005",
            "--shuffle-gib=0.0005",
            "--block-shape=64,32",
            "--runs=1",
            "--warmups=0",
            "--csv",
            csv.toString());
    assertEquals(0, status, this::printed);
    List<String[]> lines = Files.readAllLines(csv).stream().map(line -> line.split(",")).toList();
    assertEquals(1 + 7 + 5 + 5 + 5 + 6 + 3 + 6, lines.size(), this::printed);
    for (String[] cells : lines.subList(1, lines.size())) {
      assertTrue(Double.parseDouble(cells[2]) > 0, this::printed);
      double shuffled = Double.parseDouble(cells[5]);
      assertEquals(cells[0].equals("shuffle"), shuffled > 0, this::printed);
      if (cells[1].equals("off/random")) { // the values, and a little for each row
        assertTrue(shuffled > 1 && shuffled < 1.1, this::printed);
      }
    }
  }

  @Test
  void refusesSweepsThatItDoesNotKnow() {
    assertEquals(1, run("--sweeps=batch,colour"));
    assertTrue(printed().contains("There is no sweep 'colour'"), this::printed);
  }

  private int run(String... args) {
    return TuningBenchmark.run(args, stream, stream);
  }

  private String printed() {
    return printed.toString(StandardCharsets.UTF_8);
  }
}

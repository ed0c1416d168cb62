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
class VolumeFourierBenchmarkTest {
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);

  @TempDir Path directory;

  @Test
  void everyDecompositionIsRightAndMeasured() throws IOException {
    Path csv = directory.resolve("fourier.csv");
    assertEquals(
        0,
        run(
            "--shape=11,9,10",
            "--thickness=3",
            "--backend=cpu",
            "--warmups=0",
            "--rounds=1",
            "--csv=" + csv),
        this::printed);
    for (String part :
        List.of("check      task right", "slabs right", "pencils right", "slabs      stage ")) {
      assertTrue(printed().contains(part), () -> "expected '" + part + "' in: " + printed());
    }
    // A cached array as small as this is gathered in one task, which has one stage.
    assertEquals(
        1,
        printed().lines().filter(line -> line.startsWith("slabs      stage ")).count(),
        this::printed);
    List<String[]> lines = Files.readAllLines(csv).stream().map(line -> line.split(",")).toList();
    assertEquals(
        List.of("task", "slabs", "pencils"),
        lines.stream().skip(2).map(cells -> cells[0]).toList());
    for (String[] cells : lines.subList(2, lines.size())) {
      assertTrue(Double.parseDouble(cells[5]) > 0, cells[0]);
    }
  }

  @Test
  void doubleAndNaturalOrder() {
    assertEquals(
        0,
        run(
            "--shape=6,7,8",
            "--type=double",
            "--output=natural",
            "--decompositions=slabs",
            "--backend=cpu",
            "--warmups=0",
            "--rounds=1"),
        this::printed);
    assertTrue(printed().contains("slabs right"), this::printed);
  }

  @Test
  void refusesWhatItDoesNotKnow() {
    assertEquals(2, run("--decompositions=bricks"));
    assertTrue(printed().contains("bricks"), this::printed);
  }

  private int run(String... args) {
    return VolumeFourierBenchmark.run(args, stream, stream);
  }

  private String printed() {
    return printed.toString(StandardCharsets.UTF_8);
  }
}

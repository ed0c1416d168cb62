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
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RoundTripBenchmarkTest {
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);

  @TempDir Path directory;

  @Test
  void everyCaseIsRightAndMeasured() throws IOException {
    Path csv = directory.resolve("roundtrip.csv");
    int status =
        run(
            "--gib=0.002",
            "--block-shape=64,48",
            "--partitions=3",
            "--held-gib=0.001",
            "--rounds=2",
            "--warmups=0",
            "--cases=cache,copy,reuse,cpu,cpu2,cpu3,cpu4,arrow,arrowcpu",
            "--csv",
            csv.toString());
    assertEquals(0, status, this::printed);
    assertTrue(printed().contains("right: every case"), this::printed);
    assertTrue(printed().contains("3 of 3 partitions"), this::printed);
    List<String[]> lines = Files.readAllLines(csv).stream().map(line -> line.split(",")).toList();
    assertEquals(
        List.of("cache", "copy", "reuse", "cpu", "cpu2", "cpu3", "cpu4", "arrow", "arrowcpu"),
        lines.stream().skip(2).map(cells -> cells[0]).toList());
    Stream<String[]> chains = lines.stream().skip(2).filter(cells -> cells[0].matches("cpu[234]"));
    chains.forEach(cells -> assertEquals("cpu", cells[8]));
    for (String[] cells : lines.subList(2, lines.size())) {
      assertTrue(Double.parseDouble(cells[3]) > 0, cells[0]);
      assertTrue(Double.parseDouble(cells[9]) > 0, cells[0]);
    }
  }

  @Test
  void refusesCasesThatItDoesNotKnow() {
    assertEquals(1, run("--cases=cache,cpu5", "--gib=0.001"));
    assertTrue(printed().contains("There is no case cpu5"), this::printed);
  }

  private int run(String... args) {
    return RoundTripBenchmark.run(args, stream, stream);
  }

  private String printed() {
    return printed.toString(StandardCharsets.UTF_8);
  }
}

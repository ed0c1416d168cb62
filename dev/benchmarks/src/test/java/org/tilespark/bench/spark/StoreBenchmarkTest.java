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

/** The benchmark as a user runs it, small. */
class StoreBenchmarkTest {
  @TempDir Path directory;

  @Test
  void measuresEachBlockAndLeavesNoFile() throws IOException {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);
    String options = "--matrix 64 --blocks 64,16 --threads 2 --rounds 1 --directory " + directory;
    assertEquals(0, StoreBenchmark.run(options.split(" "), stream, stream), printed::toString);
    for (String rows : List.of("512", "128")) {
      assertTrue(
          printed.toString(StandardCharsets.UTF_8).contains("rows of " + rows + " bytes: "),
          printed::toString);
    }
    try (Stream<Path> files = Files.list(directory)) {
      assertEquals(0, files.count());
    }
  }
}

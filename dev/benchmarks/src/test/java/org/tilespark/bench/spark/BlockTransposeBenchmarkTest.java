package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BlockTransposeBenchmarkTest {
  @ParameterizedTest
  @ValueSource(strings = {"--no-cache", "--storage-level=MEMORY_ONLY"})
  void measuresAndChecks(String cache) {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);
    String[] args = {"--gib=0.001", "--block-shape=64,32", "--runs=2", "--warmups=0", cache};
    int status = BlockTransposeBenchmark.run(args, stream, stream);
    String text = printed.toString(StandardCharsets.UTF_8);
    assertEquals(0, status, text);
    assertTrue(text.contains("131 blocks of 64 x 32 FLOAT"), text);
    assertTrue(text.contains("in 2 runs"), text);
    assertTrue(text.contains("right: 8 elements of each block"), text);
  }
}

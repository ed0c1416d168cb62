package org.tilespark.bench.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.InTurn;

@InTurn
class QuerySoakTest {
  @Test
  void everyKindOfQueryLeavesNothingAlive() {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);
    String[] args = {"--queries=40", "--every=10", "--trace-native", "--seed=7"};
    int status = QuerySoak.run(args, stream, stream);
    String text = printed.toString(StandardCharsets.UTF_8);
    assertEquals(0, status, text);
    assertTrue(text.contains("after    40 queries"), text);
    assertTrue(text.contains("alive 0 bytes"), text);
    assertTrue(text.contains("tasks killed"), text);
    assertTrue(text.contains("right: no growth, nothing alive"), text);
  }
}

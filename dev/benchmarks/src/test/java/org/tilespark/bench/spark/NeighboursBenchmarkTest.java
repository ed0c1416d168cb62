package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class NeighboursBenchmarkTest {
  @Test
  void neighboursAreRightAndMeasured() {
    for (String metric : List.of("inner", "cosine", "euclidean")) {
      ByteArrayOutputStream printed = new ByteArrayOutputStream();
      PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);
      int status =
          NeighboursBenchmark.run(
              new String[] {
                "--shape=7,12,900",
                "--nearest=4",
                "--metric=" + metric,
                "--block-rows=100",
                "--backend=cpu",
                "--warmups=0",
                "--rounds=1"
              },
              stream,
              stream);
      String text = printed.toString(StandardCharsets.UTF_8);
      assertEquals(0, status, text);
      for (String part : List.of("4 of 900 vectors by " + metric, "cpu        stage ", "right")) {
        assertTrue(text.contains(part), () -> "expected '" + part + "' in: " + text);
      }
    }
  }
}

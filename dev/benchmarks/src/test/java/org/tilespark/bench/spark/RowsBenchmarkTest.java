package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class RowsBenchmarkTest {
  @Test
  void aTableOfVectorsIsMeasuredWhereverItLies() {
    for (String source : List.of("parquet", "cached")) {
      ByteArrayOutputStream printed = new ByteArrayOutputStream();
      PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);
      int status =
          RowsBenchmark.run(
              new String[] {
                "--shape=500,7", "--source=" + source, "--backend=cpu", "--warmups=0", "--rounds=1"
              },
              stream,
              stream);
      String text = printed.toString(StandardCharsets.UTF_8);
      assertEquals(0, status, text);
      for (String part :
          List.of("500 vectors of 7", "read ", "blocks ", "cov ", "mllib ", "right")) {
        assertTrue(text.contains(part), () -> "expected '" + part + "' in: " + text);
      }
    }
  }
}

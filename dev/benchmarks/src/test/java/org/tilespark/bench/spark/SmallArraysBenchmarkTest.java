package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class SmallArraysBenchmarkTest {
  @Test
  void allCasesAreMeasured() {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);
    int status =
        SmallArraysBenchmark.run(
            new String[] {
              "--arrays=30",
              "--extent=8",
              "--volume=4",
              "--type=double",
              "--backends=cpu",
              "--warmups=0",
              "--rounds=1"
            },
            stream,
            stream);
    String text = printed.toString(StandardCharsets.UTF_8);
    assertEquals(0, status, text);
    for (String name :
        List.of(
            "30 arrays of 8 x 8 or 4^3",
            "transpose ",
            "map ",
            "zip ",
            "sum ",
            "gram ",
            "cov ",
            "permute ",
            "fft ",
            "volume-map ")) {
      assertTrue(text.contains(name), () -> "expected '" + name + "' in: " + text);
    }
  }
}

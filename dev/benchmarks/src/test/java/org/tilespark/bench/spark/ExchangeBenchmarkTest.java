package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.InTurn;

@InTurn
class ExchangeBenchmarkTest {
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);

  @Test
  void bothExchangesGiveTheSameResults() {
    assertEquals(
        0,
        ExchangeBenchmark.run(
            new String[] {
              "--extent=1100",
              "--volume=12",
              "--product=100",
              "--backend=cpu",
              "--warmups=0",
              "--rounds=1"
            },
            stream,
            stream),
        this::printed);
    for (String name : List.of("reblock", "alone", "fft", "filter", "average", "multiply")) {
      List<String> lines = printed().lines().filter(line -> line.startsWith(name)).toList();
      assertEquals(5, lines.size(), this::printed); // first runs and figures of both, and the ratio
      assertTrue(lines.get(4).endsWith("results are the same"), this::printed);
    }
  }

  private String printed() {
    return printed.toString(StandardCharsets.UTF_8);
  }
}

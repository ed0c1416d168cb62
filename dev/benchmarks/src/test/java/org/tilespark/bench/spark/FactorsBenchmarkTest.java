package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** The benchmark of factorizations runs. */
class FactorsBenchmarkTest {
  @Test
  void measuresEachCase() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    String[] small = {
      "--lstsq=60,4",
      "--svd=12,90",
      "--pca=40,5",
      "--pca-wide=30,6",
      "--k=2",
      "--rounds=1",
      "--warmups=0",
      "--partitions=2"
    };
    int status = FactorsBenchmark.run(small, out, out);
    String printed = bytes.toString(StandardCharsets.UTF_8);
    assertEquals(0, status, printed);
    for (String name : new String[] {"lstsq", "qr", "svd", "pca", "mllib"}) {
      assertTrue(printed.contains(name), printed);
    }
  }
}

package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.factor.NetlibFactorizer;
import org.tilespark.kernels.host.HostMultiplier;

/** The benchmark of factorizations runs. */
class FactorsBenchmarkTest {
  @Test
  void measuresEachCase() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    String[] small = {
      "--lstsq=60,4",
      "--svd=12,90",
      "--tall=60,4",
      "--wide=4,60",
      "--pca=40,5",
      "--pca-wide=30,6",
      "--device=20,33",
      "--k=2",
      "--rounds=1",
      "--warmups=0",
      "--partitions=2"
    };
    int status = FactorsBenchmark.run(small, out, out);
    String printed = bytes.toString(StandardCharsets.UTF_8);
    assertEquals(0, status, printed);
    for (String name :
        new String[] {"lstsq", "qr", "svd-tall", "svd-wide", "MLlib", "pca", "device"}) {
      assertTrue(printed.contains(name), printed);
    }
  }

  /** Each routine does its matrix, whichever factorizer it is given. */
  @Test
  void routinesFactorise() {
    try (NetlibFactorizer java = new NetlibFactorizer(new HostMultiplier())) {
      new FactorRoutines(9, 1)
          .all()
          .forEach(
              (name, routine) ->
                  assertTrue(FactorRoutines.seconds(java, routine).orElseThrow() > 0, name));
    }
  }
}

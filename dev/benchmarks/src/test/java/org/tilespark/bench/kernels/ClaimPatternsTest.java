package org.tilespark.bench.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** The patterns of docs/benchmarks/claims.toml find what the benchmarks of kernels print. */
class ClaimPatternsTest {
  private static final Pattern CASE = Pattern.compile("(?m)^\"?([^\"\n]+?)\"? = '(.+)'$");

  @Test
  void ratesOfTransposes() throws IOException {
    DeviceTransposeBenchmark.Peers peers = new DeviceTransposeBenchmark.Peers(1166.4, 4143.2);
    StringBuilder output = new StringBuilder();
    for (DeviceTransposeBenchmark.Result result :
        new DeviceTransposeBenchmark.Result[] {
          result(2, 0.5, 0.4, Shape.of(16384, 16384), 1, 0),
          result(4, 0.25, 0.2, Shape.of(16384, 16384), 1, 0),
          result(4, 0.5, 0.4, Shape.of(512, 512, 512), 1, 2, 0),
          result(4, 0.125, 0.1, Shape.of(512, 512, 512), 2, 1, 0)
        }) {
      output.append(DeviceTransposeBenchmark.line(result)).append('\n');
      output.append(DeviceTransposeBenchmark.line(result, peers)).append('\n');
    }

    Map<String, Matcher> found = found("transposes", output);

    assertEquals("8000", found.get("tilespark, 16384 x 16384").group(1));
    assertEquals("10000", found.get("copy, 16384 x 16384").group(1));
    assertEquals("16000", found.get("tilespark, 512^3").group(1));
    assertEquals("20000", found.get("copy, 512^3").group(1));
    for (String shape : new String[] {"16384 x 16384", "512^3"}) {
      assertEquals("1166", found.get("torch, " + shape).group(1));
      assertEquals("4143", found.get("Triton, " + shape).group(1));
    }
    assertEquals(8, found.size());
  }

  @Test
  void ratiosOfProducts() throws IOException {
    DoubleSummaryStatistics ratios = new DoubleSummaryStatistics();
    ratios.accept(2.09);
    ratios.accept(1.978);
    StringBuilder output = new StringBuilder();
    for (String product :
        new String[] {
          "4096x4096x4096 float",
          "4096x4096x4096 double",
          "4096x4096x4096 float16",
          "1024*256x256x256 float"
        }) {
      output.append(KernelMultiplyBenchmark.summary(product, ratios)).append('\n');
    }

    Map<String, Matcher> found = found("products", output);

    assertEquals(4, found.size());
    for (Matcher each : found.values()) {
      assertEquals("", each.group(1));
      assertEquals("1.98", each.group(2));
      assertEquals("2.09", each.group(3));
    }
  }

  /** A transpose of 1 GB that took some milliseconds. */
  private static DeviceTransposeBenchmark.Result result(
      int width, double millis, double copyMillis, Shape shape, int... order) {
    return new DeviceTransposeBenchmark.Result(
        new DeviceTransposeBenchmark.Case(shape, Permutation.of(order), width, 0.9),
        new double[] {millis},
        copyMillis,
        1_000_000_000,
        "Vector");
  }

  /** The matches of a claim's patterns by their cases. */
  private static Map<String, Matcher> found(String claim, CharSequence output) throws IOException {
    String claims = Files.readString(Path.of("../../docs/benchmarks/claims.toml"));
    String cases = claims.substring(claims.indexOf("[" + claim + ".cases]"));
    int next = cases.indexOf("\n[", 1);
    Matcher lines = CASE.matcher(next < 0 ? cases : cases.substring(0, next));
    Map<String, Matcher> found = new LinkedHashMap<>();
    while (lines.find()) {
      Matcher match = Pattern.compile(lines.group(2)).matcher(output);
      assertTrue(match.find(), lines.group(1) + ": no match of " + lines.group(2));
      found.put(lines.group(1), match);
    }
    return found;
  }
}

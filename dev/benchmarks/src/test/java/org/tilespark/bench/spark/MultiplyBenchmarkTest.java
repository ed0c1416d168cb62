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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MultiplyBenchmarkTest {
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);

  @TempDir Path directory;

  @Test
  void oursAndMllibsAreRightAndMeasured() throws IOException {
    Path csv = directory.resolve("multiply.csv");
    int status =
        run(
            "--shape=70,110,50",
            "--block-shape=32,24",
            "--partitions=3",
            "--cases=cpu,mllib",
            "--mllib-blocks=30,40",
            "--mllib-splits=1,2",
            "--strategy=cuboid(2,1,2)",
            "--warmups=0",
            "--rounds=1",
            "--csv=" + csv);
    assertEquals(0, status, this::printed);
    for (String part :
        List.of(
            "check      cpu right",
            "mllib block 40 splits 2 right",
            "Exchange",
            "of the same blocks alone in",
            "cpu        stage ",
            "operations at",
            "times the floor")) {
      assertTrue(printed().contains(part), () -> "expected '" + part + "' in: " + printed());
    }
    List<String[]> lines = Files.readAllLines(csv).stream().map(line -> line.split(",")).toList();
    assertEquals(
        List.of(
            "cpu",
            "mllib block 30 splits 1",
            "mllib block 30 splits 2",
            "mllib block 40 splits 1",
            "mllib block 40 splits 2"),
        lines.stream().skip(2).map(cells -> cells[0]).toList());
    for (String[] cells : lines.subList(2, lines.size())) {
      assertTrue(Double.parseDouble(cells[5]) > 0, cells[0]);
      assertTrue(Double.parseDouble(cells[8]) > 0, cells[0]);
    }
    String[] ours = lines.get(2);
    assertEquals(11, ours.length, String.join(",", ours));
    assertEquals(
        Double.parseDouble(ours[5]),
        Double.parseDouble(ours[9]) * Double.parseDouble(ours[10]),
        0.01 * Double.parseDouble(ours[5]) + 0.001);
  }

  @Test
  void floatHasItsOwnBar() {
    assertEquals(
        0,
        run(
            "--shape=33,65,17",
            "--type=float",
            "--block-shape=16,16",
            "--cases=cpu",
            "--rounds=1",
            "--no-cache"),
        this::printed);
    assertTrue(printed().contains("of FLOAT"), this::printed);
  }

  @Test
  void manySmallMatrices() {
    assertEquals(
        0,
        run("--matrices=9", "--shape=5,7,6", "--type=float", "--warmups=0", "--rounds=1"),
        this::printed);
    for (String part : List.of("9 times A 5 x 7, B 7 x 6", "check      cpu right")) {
      assertTrue(printed().contains(part), () -> "expected '" + part + "' in: " + printed());
    }
    assertEquals(1, run("--matrices=9", "--cases=mllib"));
    assertTrue(printed().contains("Case mllib has one matrix on each side"), this::printed);
  }

  @Test
  void refusesCasesThatItDoesNotKnow() {
    assertEquals(1, run("--cases=cpu,tpu", "--shape=2,2,2"));
    assertTrue(printed().contains("There is no case tpu"), this::printed);
    assertEquals(2, run("--shape=2,2"));
    assertTrue(printed().contains("expected M,K,N"), this::printed);
  }

  private int run(String... args) {
    return MultiplyBenchmark.run(args, stream, stream);
  }

  private String printed() {
    return printed.toString(StandardCharsets.UTF_8);
  }
}

package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.cluster.LocalCluster;

/**
 * The jobs of the examples as users run them on a cluster: a standalone master and two workers with
 * Spark's jars alone, spark-submit's entry class in client mode, the jars of tilespark and
 * JFreeChart by {@code --jars}, files in a directory that all processes share. Needs the packaged
 * jars: {@code mvn verify}.
 */
class ExamplesJarTest {
  private static final Duration LIMIT = Duration.ofMinutes(15);

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  static Path clusterDirectory;

  private static LocalCluster cluster;

  /** The executors on which tasks of any job succeeded. */
  private static final Set<String> WORKED = new TreeSet<>();

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path shared;

  private Path events;

  @BeforeAll
  static void startCluster() throws IOException {
    List<Path> sparkJars =
        Arrays.stream(Files.readString(given("sparkJars")).trim().split(File.pathSeparator))
            .map(Path::of)
            .toList();
    cluster =
        LocalCluster.start(
            clusterDirectory, new LocalCluster.Layout(2, 1, 1024, Map.of(), sparkJars));
  }

  @AfterAll
  static void endCluster() {
    if (cluster == null) {
      return; // it did not start, and that was said
    }
    cluster.close();
    // Of one short job, all tasks may run where the first executor is up.
    assertEquals(Set.of("0", "1"), WORKED);
  }

  @BeforeEach
  void makeEventDirectory() throws IOException {
    events = Files.createDirectory(shared.resolve("events"));
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    cluster.awaitNoExecutors();
    try (Stream<Path> files = Files.walk(shared)) {
      assertEquals(
          List.of(), files.filter(file -> file.getFileName().toString().startsWith(".")).toList());
    }
  }

  @Test
  void transpose() throws IOException {
    byte[] data = NpyBytes.data(310 * 170, 8);
    Path input = file("in.npy", NpyBytes.of("<i8", false, "(310, 170)", data));
    Path output = shared.resolve("out.npy");

    String printed = submit(TransposeMatrixJob.class, input, output, "--block-shape=200,100");

    byte[] expected = NpyBytes.permuted(data, 8, new int[] {1, 310, 170}, 0, 2, 1);
    assertArrayEquals(
        NpyBytes.of("<i8", false, "(170, 310)", expected), Files.readAllBytes(output));
    // The plugin of each executor has reported to the driver's.
    assertSays(printed, "backend    auto -> each executor decides: ", "executors have a GPU");
  }

  @Test
  void permute() throws IOException {
    int[] shape = {50, 70, 30};
    byte[] data = NpyBytes.data(50 * 70 * 30, 16);
    Path input = file("in.npy", NpyBytes.of("<c16", false, "(50, 70, 30)", data));
    Path output = shared.resolve("out.npy");

    submit(PermuteVolumeJob.class, input, output, "--axes=yzx", "--block-shape=20,30,20");

    assertArrayEquals(
        NpyBytes.of("<c16", false, "(70, 30, 50)", NpyBytes.permuted(data, 16, shape, 1, 2, 0)),
        Files.readAllBytes(output));
  }

  @Test
  void pencils() throws IOException {
    int[] shape = {30, 40, 20};
    byte[] data = NpyBytes.data(30 * 40 * 20, 4);
    Path input = file("in.npy", NpyBytes.of("<i4", false, "(30, 40, 20)", data));
    Path output = shared.resolve("out.npy");

    String printed =
        submit(
            PencilsJob.class,
            input,
            output,
            "--axis=x",
            "--section=16,20",
            "--block-shape=10,40,20");

    assertArrayEquals(
        NpyBytes.of("<i4", false, "(40, 20, 30)", NpyBytes.permuted(data, 4, shape, 1, 2, 0)),
        Files.readAllBytes(output));
    assertSays(printed, "of pieces", "Exchange");
  }

  @Test
  void fft() throws IOException {
    int[] shape = {8, 10, 9};
    double[] values = new double[8 * 10 * 9];
    ByteBuffer data = ByteBuffer.allocate(8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < values.length; i++) {
      values[i] = i * 131 % 97 / 8.0;
      data.putDouble(values[i]);
    }
    double sum = Arrays.stream(values).sum();
    Path input = file("in.npy", NpyBytes.of("<f8", false, "(8, 10, 9)", data.array()));
    Path output = shared.resolve("fft");

    // Of all frequencies 0 alone is left: the mean.
    String printed =
        submit(
            FourierVolumeJob.class,
            input,
            output,
            "--real",
            "--low-pass=0",
            "--figure=" + output.resolve("fft.png"),
            "--block-shape=2,10,9");

    ByteBuffer spectrum = elements(output.resolve("spectrum.npy"), 16 * 8 * 10 * 5);
    for (int i = 0; i < 8 * 10 * 5; i++) {
      double[] expected = frequency(values, shape, i / 50, i / 5 % 10, i % 5);
      assertEquals(expected[0], spectrum.getDouble(), 1e-12 * sum, "real part " + i);
      assertEquals(expected[1], spectrum.getDouble(), 1e-12 * sum, "imaginary part " + i);
    }
    ByteBuffer lowPass = elements(output.resolve("lowpass.npy"), 8 * values.length);
    for (int i = 0; i < values.length; i++) {
      assertEquals(sum / values.length, lowPass.getDouble(), 1e-12 * sum, "element " + i);
    }
    assertSays(printed, "BlockStage");
    assertTrue(Files.size(output.resolve("fft.png")) > 0);
  }

  /** One element of the spectrum of a volume, by the sum that defines it. */
  private static double[] frequency(double[] values, int[] shape, int kx, int ky, int kz) {
    double[] sums = new double[2];
    for (int i = 0; i < values.length; i++) {
      int x = i / shape[2] / shape[1];
      int y = i / shape[2] % shape[1];
      int z = i % shape[2];
      double turns =
          (double) kx * x / shape[0] + (double) ky * y / shape[1] + (double) kz * z / shape[2];
      sums[0] += values[i] * Math.cos(-2 * Math.PI * turns);
      sums[1] += values[i] * Math.sin(-2 * Math.PI * turns);
    }
    return sums;
  }

  @Test
  void multiply() throws IOException {
    // (50, 70) of uint8 and (50, 60) of int16: At B is (70, 60). Whole numbers: sums are exact.
    byte[] a = NpyBytes.data(50 * 70, 1);
    byte[] b = NpyBytes.data(50 * 60, 2);
    Path fileA = file("a.npy", NpyBytes.of("|u1", false, "(50, 70)", a));
    Path fileB = file("b.npy", NpyBytes.of("<i2", false, "(50, 60)", b));
    Path output = shared.resolve("c.npy");

    String printed =
        submit(
            MultiplyMatricesJob.class,
            fileA,
            fileB,
            output,
            "--transpose-a",
            "--as=double",
            "--strategy=cuboid(2,2,2)",
            "--block-shape=20,40");

    ByteBuffer numbers = ByteBuffer.wrap(b).order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer expected = ByteBuffer.allocate(70 * 60 * 8).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 70; i++) {
      for (int j = 0; j < 60; j++) {
        double sum = 0;
        for (int k = 0; k < 50; k++) {
          sum += (a[k * 70 + i] & 0xff) * (double) numbers.getShort(2 * (k * 60 + j));
        }
        expected.putDouble(sum);
      }
    }
    assertArrayEquals(
        NpyBytes.of("<f8", false, "(70, 60)", expected.array()), Files.readAllBytes(output));
    assertSays(printed, "SumBlocks", "Exchange", "right: ");
  }

  @Test
  void principalComponents() throws IOException {
    // Each feature is a wave of its own frequency, so features are uncorrelated, and each is a
    // component; later ones are stronger.
    int observations = 240;
    int features = 16;
    ByteBuffer data =
        ByteBuffer.allocate(observations * features * 8).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < observations; i++) {
      for (int f = 0; f < features; f++) {
        double phase = 2 * Math.PI * i * (f + 1) / observations + f; // no two rows alike
        data.putDouble(100 + (f + 1) * Math.cos(phase));
      }
    }
    Path input = file("in.npy", NpyBytes.of("<f8", false, "(240, 16)", data.array()));
    Path output = shared.resolve("pca");

    submit(PrincipalComponentsJob.class, input, output, "--components=4", "--block-shape=50,16");

    ByteBuffer components = elements(output.resolve("components.npy"), 4 * features * 8);
    List<String> variances = Files.readAllLines(output.resolve("explained-variance.csv"));
    for (int c = 0; c < 4; c++) {
      for (int f = 0; f < features; f++) {
        assertEquals(f == features - 1 - c ? 1 : 0, components.getDouble(), 1e-9);
      }
      double amplitude = features - c;
      double variance = amplitude * amplitude / 2 * observations / (observations - 1);
      String line = variances.get(c + 1);
      assertEquals(variance, Double.parseDouble(line.split(",")[1]), 1e-9 * variance, line);
    }
  }

  @Test
  void aJobThatFailsSaysSo() throws IOException {
    byte[] broken = NpyBytes.of("<f4", false, "(3, 3)", new byte[35]);
    ChildJvm.Outcome outcome =
        outcome(
            TransposeMatrixJob.class,
            file("in.npy", broken).toString(),
            shared.resolve("out.npy").toString());

    assertEquals(ExampleJob.FAILED, outcome.exitCode(), outcome::output);
    assertSays(outcome.output(), "error: ", "in.npy");
    assertTrue(Files.notExists(shared.resolve("out.npy")));
  }

  private String submit(Class<?> job, Object... arguments) throws IOException {
    String[] words = Arrays.stream(arguments).map(Object::toString).toArray(String[]::new);
    ChildJvm.Outcome outcome = outcome(job, words);
    assertEquals(ExampleJob.RIGHT, outcome.exitCode(), () -> outcome.output() + cluster.logs());
    assertSays(outcome.output(), "check      right");
    WORKED.addAll(executorsThatWorked());
    return outcome.output();
  }

  private ChildJvm.Outcome outcome(Class<?> job, String... arguments) {
    return cluster.submit(
        job.getName(),
        given("examplesJar"),
        List.of(given("jar"), given("chartJar")),
        Map.of(
            "spark.eventLog.enabled", "true",
            "spark.eventLog.compress", "false",
            "spark.eventLog.rolling.enabled", "false",
            "spark.eventLog.dir", events.toUri().toString()),
        LIMIT,
        arguments);
  }

  /** The executors on which a task succeeded, by the log of Spark's events. */
  private Set<String> executorsThatWorked() throws IOException {
    List<Path> logs;
    try (Stream<Path> files = Files.list(events)) {
      logs = files.filter(Files::isRegularFile).toList();
    }
    ObjectMapper json = new ObjectMapper();
    Set<String> executors = new TreeSet<>();
    for (Path log : logs) {
      for (String line : Files.readAllLines(log)) {
        JsonNode event = json.readTree(line);
        JsonNode task = event.get("Task Info");
        boolean end = event.get("Event").asText().equals("SparkListenerTaskEnd");
        if (end && !task.get("Failed").asBoolean() && !task.get("Killed").asBoolean()) {
          executors.add(task.get("Executor ID").asText());
        }
      }
    }
    return executors;
  }

  private Path file(String name, byte[] content) throws IOException {
    return Files.write(shared.resolve(name), content);
  }

  /** The elements of an .npy file, which are its last bytes. */
  private static ByteBuffer elements(Path file, int bytes) throws IOException {
    ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(file));
    return all.position(all.capacity() - bytes).slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void assertSays(String printed, String... parts) {
    for (String part : parts) {
      assertTrue(printed.contains(part), () -> "expected '" + part + "' in: " + printed);
    }
  }

  /** Settings of the build for its tests. */
  private static Path given(String name) {
    String value = System.getProperty("tilespark.test." + name);
    assertNotNull(value, "this test needs the packaged jars; run it by mvn verify");
    return Path.of(value);
  }
}

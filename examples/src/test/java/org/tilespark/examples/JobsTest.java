package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The jobs as a user runs them, except that spark-submit's settings are system properties. */
class JobsTest {
  @TempDir Path directory;

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  private interface Job {
    int run(String[] args, PrintStream out, PrintStream err);
  }

  @Test
  void transposesAMatrixInRaggedBlocks() throws IOException {
    byte[] data = NpyBytes.data(31 * 17, 8);
    Path input = file("in.npy", NpyBytes.of("<i8", false, "(31, 17)", data));
    Path output = directory.resolve("out of job.npy");

    int status =
        run(TransposeMatrixJob::run, input, output, "--block-shape=7,5", "--backend", "cpu");

    assertEquals(ExampleJob.RIGHT, status, this::printed);
    byte[] expected = NpyBytes.permuted(data, 8, new int[] {1, 31, 17}, 0, 2, 1);
    assertArrayEquals(NpyBytes.of("<i8", false, "(17, 31)", expected), Files.readAllBytes(output));
    assertPrinted(
        "int64 (31, 17)", "20 of (7, 5) at most", "backend    cpu -> cpu", " s: reading", "right");
  }

  @Test
  void ratesOfShortRunsAreNotNamed() {
    assertEquals("", JobReport.rate(15e6, 420_000_000L, "GB/s"));
    assertEquals(", 2.000 GB/s", JobReport.rate(20e9, 10_000_000_000L, "GB/s"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"yzx", "zyx"})
  void permutesAComplexVolume(String axes) throws IOException {
    int[] shape = {5, 7, 3};
    byte[] data = NpyBytes.data(5 * 7 * 3, 16);
    Path input = file("in.npy", NpyBytes.of("<c16", false, "(5, 7, 3)", data));
    Path output = directory.resolve("out.npy");

    int status =
        run(PermuteVolumeJob::run, input, output, "--axes", axes, "--block-shape", "2,3,2");

    assertEquals(ExampleJob.RIGHT, status, this::printed);
    int[] order = axes.chars().map(c -> c - 'x').toArray();
    String permutedShape =
        "(" + shape[order[0]] + ", " + shape[order[1]] + ", " + shape[order[2]] + ")";
    assertArrayEquals(
        NpyBytes.of("<c16", false, permutedShape, NpyBytes.permuted(data, 16, shape, order)),
        Files.readAllBytes(output));
    assertPrinted("complex128 (5, 7, 3)", "and imag", "backend    auto -> ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "y", "z"})
  void takesAVolumeToPencils(String axis) throws IOException {
    int[] shape = {5, 7, 3};
    byte[] data = NpyBytes.data(5 * 7 * 3, 8);
    Path input = file("in.npy", NpyBytes.of("<f8", false, "(5, 7, 3)", data));
    Path output = directory.resolve("out.npy");

    int status =
        run(
            PencilsJob::run,
            input,
            output,
            "--axis=" + axis,
            "--section=2,3",
            "--block-shape=3,2,2");

    assertEquals(ExampleJob.RIGHT, status, this::printed);
    int first = axis.charAt(0) - 'x';
    int[] order = {(first + 1) % 3, (first + 2) % 3, first};
    String ordered = "(" + shape[order[0]] + ", " + shape[order[1]] + ", " + shape[order[2]] + ")";
    assertArrayEquals(
        NpyBytes.of("<f8", false, ordered, NpyBytes.permuted(data, 8, shape, order)),
        Files.readAllBytes(output));
    assertPrinted("float64[5, 7, 3], blockShape [", "right: 4096 elements");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "--real"})
  void transformsAVolumeAndBack(String form) throws IOException {
    Path input = file("in.npy", NpyBytes.of("<i2", false, "(5, 7, 6)", NpyBytes.data(210, 2)));
    Path output = directory.resolve("fft");

    Path figure = directory.resolve("figures/fft.png");
    Object[] words = {
      input,
      output,
      "--as=double",
      "--block-shape=2,4,3",
      "--low-pass=0.2",
      "--figure",
      figure,
      form
    };
    int status = run(FourierVolumeJob::run, form.isEmpty() ? Arrays.copyOf(words, 7) : words);

    assertEquals(ExampleJob.RIGHT, status, this::printed);
    assertPrinted(
        "BlockStage",
        "InMemoryTableScan", // the spectrum is computed once
        form.isEmpty() ? "complex128 (5, 7, 6)" : "complex128 (5, 7, 4)",
        form.isEmpty() ? "lowpass.npy: complex128" : "lowpass.npy: float64 (5, 7, 6)",
        "right: the spectrum at 8 frequencies");
    assertPrinted("drew       " + figure);
    assertTrue(Files.size(figure) > 0);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void registersAVolume(boolean fortranOrder) throws IOException {
    ByteBuffer random = ByteBuffer.allocate(8 * 7 * 5 * 6).order(ByteOrder.LITTLE_ENDIAN);
    Random numbers = new Random(11);
    while (random.hasRemaining()) {
      random.putDouble(numbers.nextGaussian());
    }
    Path input = file("in.npy", NpyBytes.of("<f8", fortranOrder, "(7, 5, 6)", random.array()));
    Path output = directory.resolve("out.npy");

    int status =
        run(CorrelateVolumesJob::run, input, input, output, "--roll=2,-1,3", "--block-shape=4,3,6");

    assertEquals(ExampleJob.RIGHT, status, this::printed);
    assertPrinted("shift      [-2, 1, -3] elements", "a * conj(b)", "check      right");
    byte[] expected =
        fortranOrder
            ? NpyBytes.permuted(random.array(), 8, new int[] {6, 5, 7}, 2, 1, 0)
            : random.array();
    assertArrayEquals(NpyBytes.of("<f8", false, "(7, 5, 6)", expected), Files.readAllBytes(output));
  }

  @Test
  void standardizesColumns() throws IOException {
    byte[] data = new byte[40 * 7];
    new Random(5).nextBytes(data);
    for (int row = 0; row < 40; row++) {
      data[row * 7 + 3] = 9; // a column of one value
    }
    Path input = file("in.npy", NpyBytes.of("|i1", false, "(40, 7)", data));
    Path output = directory.resolve("out");

    int status = run(StandardizeMatrixJob::run, input, output, "--block-shape=16,3");

    assertEquals(ExampleJob.RIGHT, status, this::printed);
    assertPrinted("scores.npy in", "correlations.npy in", "check      right");
    try (NpyElements correlations = NpyElements.open(output.resolve("correlations.npy"))) {
      assertEquals(1, correlations.number(2, 2), 1e-12);
      assertEquals(0, correlations.number(3, 3));
    }
  }

  /** Images of one bright pixel, whose class is the third of the image that it is in. */
  @ParameterizedTest
  @ValueSource(strings = {"cosine", "euclidean", "inner"})
  void findsSimilarImages(String metric) throws IOException {
    int images = 90;
    Random random = new Random(8);
    byte[] pixels = new byte[images * 12];
    byte[] labels = new byte[images];
    for (int image = 0; image < images; image++) {
      labels[image] = (byte) random.nextInt(3);
      for (int pixel = 0; pixel < 12; pixel++) {
        boolean isBright = pixel / 4 == labels[image];
        pixels[image * 12 + pixel] = (byte) ((isBright ? 100 : 0) + random.nextInt(20));
      }
    }
    Path imagesFile = file("images.npy", NpyBytes.of("|u1", false, "(90, 12)", pixels));
    Path labelsFile = file("labels.npy", NpyBytes.of("|u1", false, "(90, 1)", labels));
    Path output = directory.resolve("similar");

    int status =
        run(
            SimilarImagesJob::run,
            imagesFile,
            labelsFile,
            output,
            "--queries=30",
            "--k=3",
            "--metric=" + metric,
            "--image-shape=3,4",
            "--figure-theme=dark",
            "--figure=" + output.resolve("similar.png"),
            "--block-shape=16,5");

    assertEquals(ExampleJob.RIGHT, status, this::printed);
    assertPrinted("3 of each of 30 images among 60", "accuracy   1.000", "check      right");
    assertTrue(Files.isDirectory(output.resolve("neighbours.parquet")));
    assertTrue(Files.size(output.resolve("similar.png")) > 0);
  }

  @Test
  void relatesIndividualsByTheirGenotypes() throws IOException {
    Path output = directory.resolve("grm");

    int status =
        run(
            GenomicRelationshipJob::run,
            output,
            "--individuals=61",
            "--variants=300",
            "--missing=0.1",
            "--seed=7");

    assertEquals(ExampleJob.RIGHT, status, this::printed);
    assertPrinted("of children and parents", "check      right");
    Genotypes genotypes = new Genotypes(30, 300, 0.1, 7);
    byte[][] rows = new byte[61][];
    Arrays.setAll(rows, genotypes::of);
    Relationships expected = Relationships.of(rows);
    try (NpyElements found = NpyElements.open(output.resolve("grm.npy"))) {
      for (int i = 0; i < 61; i++) {
        for (int j = 0; j < 61; j++) {
          assertEquals(expected.between(i, j), found.number(i, j), 1e-12, i + ", " + j);
        }
      }
    }
  }

  /** Worked by hand: means 1 and 0.5, so p = 1/2 and 1/4, and 2 sum p (1 - p) = 1/2 + 3/8. */
  @Test
  void relationshipsAreVanRadens() {
    Relationships found = Relationships.of(new byte[][] {{2, 0}, {0, -1}, {1, 1}});
    assertEquals((1 + 0.25) / 0.875, found.between(0, 0), 1e-15);
    assertEquals(-1 / 0.875, found.between(0, 1), 1e-15);
    assertEquals(-0.25 / 0.875, found.between(0, 2), 1e-15);
  }

  @Test
  void childrenHaveHalfOfEachParent() {
    Genotypes genotypes = new Genotypes(20, 4000, 0, 3);
    byte[][] rows = new byte[60][];
    Arrays.setAll(rows, genotypes::of);
    Relationships related = Relationships.of(rows);
    int[] parents = genotypes.parents(40);
    assertEquals(0.5, related.between(40, parents[0]), 0.12);
    assertEquals(0.5, related.between(40, parents[1]), 0.12);
    for (int variant = 0; variant < 4000; variant++) {
      int least = rows[parents[0]][variant] / 2 + rows[parents[1]][variant] / 2;
      int most = (rows[parents[0]][variant] + 1) / 2 + (rows[parents[1]][variant] + 1) / 2;
      assertTrue(rows[40][variant] >= least && rows[40][variant] <= most, "variant " + variant);
    }
  }

  @Test
  void multipliesMatricesOfTwoTypes() throws IOException {
    // (5, 7) of uint8 and (5, 6) of int16: At B is (7, 6)
    byte[] a = NpyBytes.data(35, 1);
    byte[] b = NpyBytes.data(30, 2);
    Path fileA = file("a.npy", NpyBytes.of("|u1", false, "(5, 7)", a));
    Path fileB = file("b.npy", NpyBytes.of("<i2", false, "(5, 6)", b));
    Path output = directory.resolve("c.npy");

    int status =
        run(
            MultiplyMatricesJob::run,
            fileA,
            fileB,
            output,
            "--transpose-a",
            "--as=double",
            "--block-shape=2,4",
            "--backend=cpu");

    assertEquals(ExampleJob.RIGHT, status, this::printed);
    ByteBuffer numbers = ByteBuffer.wrap(b).order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer expected = ByteBuffer.allocate(7 * 6 * 8).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 7; i++) {
      for (int j = 0; j < 6; j++) {
        double sum = 0;
        for (int k = 0; k < 5; k++) {
          sum += (a[k * 7 + i] & 0xff) * (double) numbers.getShort(2 * (k * 6 + j));
        }
        expected.putDouble(sum);
      }
    }
    assertArrayEquals(
        NpyBytes.of("<f8", false, "(7, 6)", expected.array()), Files.readAllBytes(output));
    assertPrinted("Multiply", " s: reading", "right: 1024 elements");
  }

  @Test
  void aWrongProductIsSeen() throws IOException {
    byte[] eye = new byte[9 * 4];
    for (int i = 0; i < 3; i++) {
      ByteBuffer.wrap(eye).order(ByteOrder.LITTLE_ENDIAN).putFloat(16 * i, 1 + i);
    }
    Path a = file("a.npy", NpyBytes.of("<f4", false, "(3, 3)", eye));
    ByteBuffer.wrap(eye).order(ByteOrder.LITTLE_ENDIAN).putFloat(16, Math.nextUp(4f));
    ByteBuffer.wrap(eye).order(ByteOrder.LITTLE_ENDIAN).putFloat(32, 9);
    Path square = file("c.npy", NpyBytes.of("<f4", false, "(3, 3)", eye));
    ProductCheck.Factor factor = new ProductCheck.Factor(a, false);
    ProductCheck near = ProductCheck.run(factor, factor, square, true, 0x1p-24, 5);
    assertTrue(near.isRight(), near::toString);
    ByteBuffer.wrap(eye).order(ByteOrder.LITTLE_ENDIAN).putFloat(16, 4.00001f);
    file("c.npy", NpyBytes.of("<f4", false, "(3, 3)", eye));
    ProductCheck far = ProductCheck.run(factor, factor, square, true, 0x1p-24, 5);
    assertFalse(far.isRight());
    assertTrue(far.toString().contains("output[1, 1] is 4.00001"), far::toString);
  }

  @Test
  void refusesWrongArguments() throws IOException {
    Path input = file("in.npy", NpyBytes.of("|u1", false, "(2, 2)", NpyBytes.data(4, 1)));
    Path output = directory.resolve("out.npy");

    assertRefused("expected 2: IN.npy OUT.npy", TransposeMatrixJob::run, input);
    assertRefused(
        "There is no option --blockshape",
        TransposeMatrixJob::run,
        input,
        output,
        "--blockshape",
        "1,1");
    assertRefused("--backend is 'tpu'", TransposeMatrixJob::run, input, output, "--backend", "tpu");
    assertRefused(
        "--seed is 'x': expected a number", TransposeMatrixJob::run, input, output, "--seed=x");
    assertRefused("--seed has no value", TransposeMatrixJob::run, input, output, "--seed");
    assertRefused(
        "--precision is 'exact'",
        MultiplyMatricesJob::run,
        input,
        input,
        output,
        "--precision=exact");
    assertRefused("--as is 'half'", MultiplyMatricesJob::run, input, input, output, "--as=half");
    assertRefused(
        "--components is '0'", PrincipalComponentsJob::run, input, output, "--components=0");
    assertRefused("--axes is missing", PermuteVolumeJob::run, input, output);
    assertRefused("--k is '0'", SimilarImagesJob::run, input, input, output, "--k=0");
    assertRefused("--metric is 'l1'", SimilarImagesJob::run, input, input, output, "--metric=l1");
    assertRefused("--missing is '1'", GenomicRelationshipJob::run, output, "--missing=1");
    assertRefused("--axis is 'w': expected x, y or z", PencilsJob::run, input, output, "--axis=w");
    assertRefused(
        "--section is '3': expected two",
        PencilsJob::run,
        input,
        output,
        "--axis=x",
        "--section=3");
    assertRefused("--low-pass is '-1'", FourierVolumeJob::run, input, output, "--low-pass=-1");
    assertRefused("--axes is 'yyx'", PermuteVolumeJob::run, input, output, "--axes", "yyx");
    assertFalse(Files.exists(output));
  }

  @Test
  void failsOnFilesItCannotUse() throws IOException {
    Path volume = file("in.npy", NpyBytes.of("|u1", false, "(2, 2, 2)", NpyBytes.data(8, 1)));
    Path output = directory.resolve("out.npy");

    assertEquals(ExampleJob.FAILED, run(TransposeMatrixJob::run, volume, output));
    assertPrinted("has no column row");
    assertEquals(ExampleJob.FAILED, run(PermuteVolumeJob::run, volume, volume, "--axes", "yzx"));
    assertPrinted("is both input and output");
    assertFalse(Files.exists(output));
  }

  @Test
  void aWrongAnswerAndAFailureAreFailures() {
    JobArguments.Usage usage = new JobArguments.Usage("job", "", List.of(), List.of());
    ExampleJob.Body wrong = (spark, arguments, stream) -> false;
    ExampleJob.Body failing =
        (spark, arguments, stream) -> {
          throw new IOException("disk full");
        };
    assertEquals(
        ExampleJob.FAILED, ExampleJob.run(usage, new String[0], wrong, stream(out), stream(err)));
    assertEquals(
        ExampleJob.FAILED, ExampleJob.run(usage, new String[0], failing, stream(out), stream(err)));
    assertPrinted("disk full");
  }

  /** So that the run against another Spark is one. */
  @Test
  void runsOnTheSparkThatTheBuildNames() {
    assertEquals(
        System.getProperty("tilespark.test.sparkVersion"),
        org.apache.spark.package$.MODULE$.SPARK_VERSION());
  }

  private void assertRefused(String message, Job job, Object... args) {
    err.reset();
    assertEquals(ExampleJob.WRONG_ARGUMENTS, run(job, args), this::printed);
    assertPrinted(message, "usage: ");
  }

  private void assertPrinted(String... parts) {
    for (String part : parts) {
      assertTrue(printed().contains(part), () -> "expected '" + part + "' in: " + printed());
    }
  }

  private int run(Job job, Object... args) {
    String[] words = new String[args.length];
    for (int i = 0; i < args.length; i++) {
      words[i] = args[i].toString();
    }
    return job.run(words, stream(out), stream(err));
  }

  private Path file(String name, byte[] bytes) throws IOException {
    return Files.write(directory.resolve(name), bytes);
  }

  private String printed() {
    return out.toString(StandardCharsets.UTF_8) + err.toString(StandardCharsets.UTF_8);
  }

  private static PrintStream stream(ByteArrayOutputStream bytes) {
    return new PrintStream(bytes, true, StandardCharsets.UTF_8);
  }
}

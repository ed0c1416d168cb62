package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Singular values of Fashion-MNIST, and its labels by least squares. */
class FactorJobsTest {
  private static final Path DATA = Path.of("data/fashion-mnist-t10k.npy");

  /** By numpy.linalg.svd of the images as doubles; the labels told right are by its lstsq. */
  private static final double LARGEST = 268126.62230922;

  @TempDir Path directory;

  /** Runs a job. */
  private interface Job {
    int run(String[] args, PrintStream out, PrintStream err);
  }

  private static String printed(Job job, String... arguments) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    int status = job.run(arguments, stream, stream);
    String printed = bytes.toString(StandardCharsets.UTF_8);
    assertEquals(ExampleJob.RIGHT, status, printed);
    return printed;
  }

  @Test
  void findsSingularValues() throws Exception {
    Path figure = directory.resolve("svd.png");
    String printed =
        printed(
            SingularValuesJob::run,
            DATA.toString(),
            directory.toString(),
            "--backend=cpu",
            "--values=6",
            "--figure=" + figure);
    assertTrue(printed.contains("check      right"), printed);
    try (NpyElements s = NpyElements.open(directory.resolve("s.npy"))) {
      assertEquals(LARGEST, s.number(0, 0), 1e-6 * LARGEST);
    }
    assertTrue(ImageIO.read(figure.toFile()).getWidth() > 6 * 28);
  }

  @Test
  void tellsLabels() throws Exception {
    Path figure = directory.resolve("lstsq.png");
    String printed =
        printed(
            LeastSquaresJob::run,
            DATA.toString(),
            DATA.resolveSibling("fashion-mnist-t10k-labels.npy").toString(),
            directory.toString(),
            "--backend=cpu",
            "--figure=" + figure);
    assertTrue(printed.contains("check      right"), printed);
    assertTrue(printed.contains("84.90 % of the labels are predicted right"), printed);
    assertTrue(ImageIO.read(figure.toFile()).getWidth() > 10 * 28);
  }
}

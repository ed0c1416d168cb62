package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
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
import java.util.concurrent.TimeUnit;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Principal components of Fashion-MNIST, compared with others' results. */
class PrincipalComponentsJobTest {
  private static final Path DATA = Path.of("data/fashion-mnist-t10k.npy");
  private static final int COUNT = 16;
  private static final int FEATURES = 784;
  private static final double TOLERANCE = 1e-5; // of sines between subspaces

  @TempDir static Path directory;
  private static String printed;

  @BeforeAll
  static void runTheJob() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    int status =
        PrincipalComponentsJob.run(
            new String[] {
              DATA.toString(),
              directory.toString(),
              "--backend=cpu",
              "--block-shape=1000,300",
              "--labels=" + DATA.resolveSibling("fashion-mnist-t10k-labels.npy"),
              "--figure=" + directory.resolve("pca.png")
            },
            stream,
            stream);
    printed = bytes.toString(StandardCharsets.UTF_8);
    assertEquals(ExampleJob.RIGHT, status, printed);
  }

  @Test
  void leadingSubspacesAreThoseOfSubspaceIteration() throws IOException {
    assertSubspaces(subspaceIteration());
  }

  @Test
  void leadingSubspacesAreThoseOfNumpysSvd() throws IOException, InterruptedException {
    Path found = directory.resolve("numpy.npy");
    String script =
        "import numpy, sys\n"
            + "x = numpy.load(sys.argv[1]).astype(numpy.float64)\n"
            + "u, s, vt = numpy.linalg.svd(x - x.mean(axis=0), full_matrices=False)\n"
            + "numpy.save(sys.argv[2], vt[:16])\n";
    int status;
    try {
      Process python =
          new ProcessBuilder("python3", "-c", script, DATA.toString(), found.toString())
              .redirectErrorStream(true)
              .redirectOutput(directory.resolve("numpy.log").toFile())
              .start();
      if (!python.waitFor(300, TimeUnit.SECONDS)) {
        python.destroyForcibly().waitFor();
      }
      status = python.exitValue();
    } catch (IOException e) {
      status = -1;
    }
    Assumptions.assumeTrue(status == 0, "there is no python3 with numpy");
    assertSubspaces(read(found, COUNT, FEATURES));
  }

  @Test
  void saysAndWritesWhatItFound() throws IOException {
    for (String part : List.of("Multiply", "component   1 explains 29.", "check      right")) {
      assertTrue(printed.contains(part), () -> "expected '" + part + "' in: " + printed);
    }
    List<String> lines = Files.readAllLines(directory.resolve("explained-variance.csv"));
    assertEquals(COUNT + 1, lines.size());
    double before = Double.MAX_VALUE;
    for (String line : lines.subList(1, lines.size())) {
      double variance = Double.parseDouble(line.split(",")[1]);
      assertTrue(variance > 0 && variance <= before, line);
      before = variance;
    }
    // Components are uncorrelated, and their variances are those that were printed.
    double[][] scores = read(directory.resolve("scores.npy"), 10_000, COUNT);
    double first = Double.parseDouble(lines.get(1).split(",")[1]);
    for (int c = 0; c < COUNT; c++) {
      double variance = Double.parseDouble(lines.get(c + 1).split(",")[1]);
      for (int other = 0; other <= c; other++) {
        double sum = 0;
        double product = 0;
        for (double[] score : scores) {
          sum += score[c];
          product += score[c] * score[other];
        }
        assertEquals(0, sum / scores.length, 1e-9 * Math.sqrt(first));
        assertEquals(c == other ? variance : 0, product / (scores.length - 1), 1e-9 * first);
      }
    }
    BufferedImage figure = ImageIO.read(directory.resolve("pca.png").toFile());
    assertTrue(figure.getWidth() > 10 * 28 * 4 && figure.getHeight() > 2 * 28 * 4);
    long colours =
        Arrays.stream(
                figure.getRGB(
                    0, 0, figure.getWidth(), figure.getHeight(), null, 0, figure.getWidth()))
            .distinct()
            .count();
    assertTrue(colours > 200, "colours: " + colours);
  }

  /**
   * For each count of leading components: the sine of the largest angle between what they span and
   * what as many rows of {@code others} span. Where two variances are nearly equal, only the plane
   * of both is determined; there are none so near here.
   */
  private static void assertSubspaces(double[][] others) throws IOException {
    double[][] components = read(directory.resolve("components.npy"), COUNT, FEATURES);
    for (int count = 1; count <= COUNT; count++) {
      double sine = 0;
      for (int c = 0; c < count; c++) {
        double[] rest = others[c].clone();
        for (int k = 0; k < count; k++) {
          double product = dot(others[c], components[k]);
          for (int i = 0; i < FEATURES; i++) {
            rest[i] -= product * components[k][i];
          }
        }
        sine += dot(rest, rest); // the Frobenius norm bounds the largest sine
      }
      assertTrue(Math.sqrt(sine) <= TOLERANCE, "leading " + count + ": sine " + Math.sqrt(sine));
    }
  }

  /** Leading eigenvectors of the covariances, by plain loops and repeated multiplication. */
  private static double[][] subspaceIteration() throws IOException {
    byte[] file = Files.readAllBytes(DATA);
    int rows = 10_000;
    int start = file.length - rows * FEATURES;
    long[] sums = new long[FEATURES];
    long[][] products = new long[FEATURES][FEATURES]; // exact: whole numbers
    int[] row = new int[FEATURES];
    for (int r = 0; r < rows; r++) {
      for (int i = 0; i < FEATURES; i++) {
        row[i] = file[start + r * FEATURES + i] & 0xff;
        sums[i] += row[i];
      }
      for (int i = 0; i < FEATURES; i++) {
        long x = row[i];
        if (x != 0) {
          for (int j = 0; j <= i; j++) {
            products[i][j] += x * row[j];
          }
        }
      }
    }
    double[][] covariance = new double[FEATURES][FEATURES];
    for (int i = 0; i < FEATURES; i++) {
      for (int j = 0; j <= i; j++) {
        // rows^2 times the covariance is whole, and less than 2^63
        double exact = (double) (products[i][j] * rows - sums[i] * sums[j]);
        covariance[i][j] = exact;
        covariance[j][i] = exact;
      }
    }
    // Twice as many vectors as are asked for, so that the last ones converge too.
    int width = 2 * COUNT;
    Random random = new Random(1);
    double[][] basis = new double[width][FEATURES];
    for (double[] vector : basis) {
      Arrays.setAll(vector, i -> random.nextGaussian());
    }
    for (int step = 0; step < 120; step++) {
      double[][] next = new double[width][];
      for (int v = 0; v < width; v++) {
        next[v] = times(covariance, basis[v]);
        for (int twice = 0; twice < 2; twice++) {
          for (int u = 0; u < v; u++) {
            double product = dot(next[v], next[u]);
            for (int i = 0; i < FEATURES; i++) {
              next[v][i] -= product * next[u][i];
            }
          }
        }
        double length = Math.sqrt(dot(next[v], next[v]));
        for (int i = 0; i < FEATURES; i++) {
          next[v][i] /= length;
        }
      }
      basis = next;
    }
    return rotated(basis, covariance);
  }

  /** Jacobi's rotations: the basis whose vectors' images are at right angles, by falling length. */
  private static double[][] rotated(double[][] basis, double[][] covariance) {
    int width = basis.length;
    double[][] images = new double[width][];
    for (int v = 0; v < width; v++) {
      images[v] = times(covariance, basis[v]);
    }
    for (int sweep = 0; sweep < 30; sweep++) {
      for (int p = 0; p < width; p++) {
        for (int q = p + 1; q < width; q++) {
          double pp = dot(basis[p], images[p]);
          double qq = dot(basis[q], images[q]);
          double pq = dot(basis[p], images[q]);
          if (Math.abs(pq) <= 1e-16 * Math.sqrt(pp * qq)) {
            continue;
          }
          double theta = 0.5 * Math.atan2(2 * pq, pp - qq);
          double cos = Math.cos(theta);
          double sin = Math.sin(theta);
          for (double[][] of : List.of(basis, images)) {
            for (int i = 0; i < FEATURES; i++) {
              double x = of[p][i];
              double y = of[q][i];
              of[p][i] = cos * x + sin * y;
              of[q][i] = cos * y - sin * x;
            }
          }
        }
      }
    }
    Integer[] order = new Integer[width];
    Arrays.setAll(order, i -> i);
    Arrays.sort(order, java.util.Comparator.comparingDouble(v -> -dot(basis[v], images[v])));
    return Arrays.stream(order).map(v -> basis[v]).toArray(double[][]::new);
  }

  private static double[] times(double[][] matrix, double[] vector) {
    double[] result = new double[matrix.length];
    Arrays.setAll(result, i -> dot(matrix[i], vector));
    return result;
  }

  private static double dot(double[] a, double[] b) {
    double sum = 0;
    for (int i = 0; i < a.length; i++) {
      sum += a[i] * b[i];
    }
    return sum;
  }

  /** A file of little-endian doubles, whose header is not looked at. */
  private static double[][] read(Path file, int rows, int cols) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    ByteBuffer numbers =
        ByteBuffer.wrap(
                bytes, bytes.length - rows * cols * Double.BYTES, rows * cols * Double.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    double[][] matrix = new double[rows][cols];
    for (double[] row : matrix) {
      for (int j = 0; j < cols; j++) {
        row[j] = numbers.getDouble();
      }
    }
    return matrix;
  }
}

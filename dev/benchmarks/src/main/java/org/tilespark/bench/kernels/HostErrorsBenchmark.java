package org.tilespark.bench.kernels;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.host.HostProfile;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;

/**
 * Rounding errors of matrix products, by our CPU code and by numpy, compared with sums in twice the
 * digits of double. {@link HostFourierBenchmark} prints the errors of transforms.
 */
public final class HostErrorsBenchmark {
  private static final int SIDE = 48; // rows and columns of C
  private static final int[] DEPTHS = {64, 1000, 10_000, 100_000};
  private static final long SEED = 20261125;

  private static final String HELP =
      """
      usage: dev/bench host-errors [OPTION]...
        --numpy PYTHON   whose numpy to stand beside (default: that of dev/python-env)
      """;

  private HostErrorsBenchmark() {}

  /** Prints one line for each type, range of values and K. */
  public static void main(String[] args) throws IOException {
    if (args.length != 2 || !args[0].equals("--numpy")) {
      System.out.print(HELP);
      return;
    }
    Path folder = Files.createTempDirectory("products");
    try (PythonPeer peer = PythonPeer.ofNumpy(args[1]);
        HostMultiplier multiplier = new HostMultiplier()) {
      System.out.printf("%s; %s; seed %d%n", HostProfile.current(), peer, SEED);
      System.out.printf(
          "%-7s %-8s %7s %10s %10s %10s %10s%n",
          "type", "values", "K", "largest", "numpy's", "rms", "numpy's");
      for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
        for (boolean isPositive : new boolean[] {false, true}) {
          for (int k : DEPTHS) {
            line(
                multiplier,
                peer,
                folder,
                MultiplyProblem.dense(SIDE, k, SIDE, type, false, false),
                isPositive);
          }
        }
      }
    } finally {
      for (String name : List.of("a", "b", "c")) {
        Files.deleteIfExists(folder.resolve(name));
      }
      Files.delete(folder);
    }
  }

  private static void line(
      HostMultiplier multiplier,
      PythonPeer peer,
      Path folder,
      MultiplyProblem problem,
      boolean isPositive)
      throws IOException {
    boolean isFloat = problem.type() == ElementType.FLOAT32;
    SplittableRandom random = new SplittableRandom(SEED);
    byte[] a = values(problem.bytesA(), isFloat, isPositive, random);
    byte[] b = values(problem.bytesB(), isFloat, isPositive, random);
    byte[] c = new byte[Math.toIntExact(problem.bytesC())];
    multiplier.multiply(
        problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    Files.write(folder.resolve("a"), a);
    Files.write(folder.resolve("b"), b);
    peer.ask(
        String.format(
            "product %s %d %d %d %s",
            isFloat ? "f4" : "f8", problem.m(), problem.k(), problem.n(), folder));
    byte[] peers = Files.readAllBytes(folder.resolve("c"));
    double unit = isFloat ? 0x1p-24 : 0x1p-53;
    double[] largest = new double[2];
    double[] squares = new double[2];
    double exactSquares = 0;
    int k = Math.toIntExact(problem.k());
    for (int e = 0; e < SIDE * SIDE; e++) {
      double high = 0;
      double low = 0;
      double absolute = 0;
      for (int p = 0; p < k; p++) {
        double x = value(a, e / SIDE * k + p, isFloat);
        double y = value(b, p * SIDE + e % SIDE, isFloat);
        double product = x * y;
        double sum = high + product;
        double seen = sum - high;
        low += (high - (sum - seen)) + (product - seen) + Math.fma(x, y, -product);
        high = sum;
        absolute += Math.abs(product);
      }
      for (int side = 0; side < 2; side++) {
        double error = value(side == 0 ? c : peers, e, isFloat) - high - low;
        largest[side] = Math.max(largest[side], Math.abs(error) / absolute / unit);
        squares[side] += error * error;
      }
      exactSquares += high * high;
    }
    System.out.printf(
        Locale.ROOT,
        "%-7s %-8s %7d %10.3f %10.3f %10.2e %10.2e%n",
        isFloat ? "float" : "double",
        isPositive ? "0 to 1" : "normal",
        k,
        largest[0],
        largest[1],
        Math.sqrt(squares[0] / exactSquares),
        Math.sqrt(squares[1] / exactSquares));
  }

  private static byte[] values(
      long bytes, boolean isFloat, boolean isPositive, SplittableRandom random) {
    ByteBuffer values = ByteBuffer.allocate(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
    while (values.hasRemaining()) {
      double value = isPositive ? random.nextDouble() : random.nextGaussian();
      if (isFloat) {
        values.putFloat((float) value);
      } else {
        values.putDouble(value);
      }
    }
    return values.array();
  }

  private static double value(byte[] values, int element, boolean isFloat) {
    ByteBuffer buffer = ByteBuffer.wrap(values).order(ByteOrder.nativeOrder());
    return isFloat ? buffer.getFloat(4 * element) : buffer.getDouble(8 * element);
  }
}

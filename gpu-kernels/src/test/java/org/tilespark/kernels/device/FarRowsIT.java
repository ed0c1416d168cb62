package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.ProductKind;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Rows with offsets beyond 2^31 elements: in each operand, by each way, of few rows with leading
 * dimensions above 2^30 and of several tiles of them.
 */
@RequiresGpu
class FarRowsIT extends MultiplyWays {
  private static final long FAR = 1L << 31; // elements

  private enum Side {
    A,
    B,
    C
  }

  /** Each way takes each side's far rows, in at least one storage; whole numbers are exact. */
  @Test
  void rowsFarApartOnTheDevice() {
    for (ProductKind kind : ProductKind.values()) {
      // The last row begins beyond FAR, of the longest lead by some rows' padding.
      long bytes = (FAR + (1 << 20)) * kind.type().bytes();
      long free = device.memoryInfo().freeBytes();
      Assumptions.assumeTrue(
          free > bytes + (2L << 30),
          () -> kind + " needs " + bytes + " bytes for far rows; " + free + " are free");
      try (CudaStream stream = device.newStream();
          DeviceBuffer far = device.allocate(bytes, stream);
          DeviceBuffer near = device.allocate(1 << 20, stream);
          DeviceBuffer other = device.allocate(1 << 20, stream);
          PinnedBuffer pinned = device.allocatePinned(1 << 20)) {
        for (OneWay way : ways(kind.type(), kind.precision())) {
          stream.fill(far, (byte) 0xff); // NaN
          for (Side side : Side.values()) {
            int taken = 0;
            for (int which = 0; which < 4; which++) {
              for (MultiplyProblem problem : problems(way, kind, side, which)) {
                if (way.takes(problem)) {
                  taken++;
                  check(way, problem, side, far, near, other, pinned, stream);
                }
              }
            }
            assertTrue(taken > 0, way + " of " + kind + " took no far rows of " + side);
          }
        }
      }
    }
  }

  /** Of 3 rows, or of more than a tile; from leads that keep rows even, and others. */
  private static List<MultiplyProblem> problems(
      OneWay way, ProductKind kind, Side side, int which) {
    List<MultiplyProblem> problems = new ArrayList<>();
    for (long rows : new long[] {3, 140}) {
      // Where K goes down the far rows, there are as many as a split or a panel wants.
      long m = side == Side.B ? 70 : rows;
      long n = side == Side.B ? rows : 70;
      long[] shape = way.near(m, 72, n);
      MultiplyProblem dense =
          MultiplyProblem.dense(
              shape[0], shape[1], shape[2], kind.type(), (which & 1) != 0, (which & 2) != 0);
      for (int odd = 0; odd < 2; odd++) {
        long lead = lead(dense, side) + odd;
        problems.add(
            new MultiplyProblem(
                dense.extents(),
                dense.type(),
                kind.precision(),
                new Stored(
                    dense.a().transposed(), side == Side.A ? lead : nearLead(dense.colsA(), odd)),
                new Stored(
                    dense.b().transposed(), side == Side.B ? lead : nearLead(dense.colsB(), odd)),
                side == Side.C ? lead : nearLead(dense.n(), odd),
                Factors.OVERWRITE,
                Batch.ONE));
      }
    }
    return problems;
  }

  private static long nearLead(long cols, int odd) {
    return (cols + 3) / 4 * 4 + odd;
  }

  /** The least multiple of 16 with which the last row begins beyond {@link #FAR}. */
  private static long lead(MultiplyProblem dense, Side side) {
    long rows = side == Side.A ? dense.rowsA() : side == Side.B ? dense.rowsB() : dense.m();
    return (FAR / (rows - 1) / 16 + 1) * 16;
  }

  private void check(
      OneWay way,
      MultiplyProblem problem,
      Side side,
      DeviceBuffer far,
      DeviceBuffer near,
      DeviceBuffer other,
      PinnedBuffer pinned,
      CudaStream stream) {
    SplittableRandom random = new SplittableRandom(problem.hashCode());
    double[] a = numbers(problem.rowsA() * problem.colsA(), random);
    double[] b = numbers(problem.rowsB() * problem.colsB(), random);
    DeviceBuffer deviceA = side == Side.A ? far : near;
    DeviceBuffer deviceB = side == Side.B ? far : side == Side.A ? near : other;
    DeviceBuffer deviceC = side == Side.C ? far : other;
    ElementType type = problem.type();
    upload(a, type, problem.rowsA(), problem.colsA(), problem.a().lead(), deviceA, pinned, stream);
    upload(b, type, problem.rowsB(), problem.colsB(), problem.b().lead(), deviceB, pinned, stream);
    double[] nothing = new double[Math.toIntExact(problem.m() * problem.n())];
    Arrays.fill(nothing, Double.NaN);
    upload(nothing, type, problem.m(), problem.n(), problem.leadC(), deviceC, pinned, stream);
    multiplier.enqueue(
        way.plan(problem),
        new DeviceMultiplier.Operands(deviceA, 0, deviceB, 0, deviceC, 0),
        stream);
    int width = type.bytes();
    long rowBytes = problem.n() * width;
    for (long i = 0; i < problem.m(); i++) {
      stream.download(
          deviceC, i * problem.leadC() * width, pinned.memory().slice(i * rowBytes, rowBytes));
    }
    stream.synchronize();
    for (long i = 0; i < problem.m(); i++) {
      for (long j = 0; j < problem.n(); j++) {
        double expected = 0;
        for (long p = 0; p < problem.k(); p++) {
          long inA = problem.a().transposed() ? p * problem.colsA() + i : i * problem.colsA() + p;
          long inB = problem.b().transposed() ? j * problem.colsB() + p : p * problem.colsB() + j;
          expected += a[(int) inA] * b[(int) inB];
        }
        double found = get(pinned.memory(), i * problem.n() + j, type);
        if (expected != found) {
          throw new AssertionError(
              String.format(
                  "%s of %s, far rows of %s: C[%d, %d] is %s, expected %s",
                  way, problem, side, i, j, found, expected));
        }
      }
    }
  }

  private static double[] numbers(long count, SplittableRandom random) {
    return random.ints(count, -8, 9).asDoubleStream().toArray();
  }

  private static void upload(
      double[] dense,
      ElementType type,
      long rows,
      long cols,
      long lead,
      DeviceBuffer to,
      PinnedBuffer pinned,
      CudaStream stream) {
    Unsafe unsafe = HostMemory.unsafe();
    long first = pinned.memory().offset();
    for (int at = 0; at < dense.length; at++) {
      if (type == ElementType.FLOAT64) {
        unsafe.putDouble(first + (long) at * Double.BYTES, dense[at]);
      } else {
        unsafe.putFloat(first + (long) at * Float.BYTES, (float) dense[at]);
      }
    }
    long rowBytes = cols * type.bytes();
    for (long row = 0; row < rows; row++) {
      stream.upload(pinned.memory().slice(row * rowBytes, rowBytes), to, row * lead * type.bytes());
    }
    stream.synchronize(); // before the next matrix is staged
  }

  private static double get(HostMemory memory, long at, ElementType type) {
    return type == ElementType.FLOAT64
        ? HostMemory.unsafe().getDouble(memory.offset() + at * Double.BYTES)
        : HostMemory.unsafe().getFloat(memory.offset() + at * Float.BYTES);
  }
}

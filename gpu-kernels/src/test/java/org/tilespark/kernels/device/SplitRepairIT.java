package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyStep;
import org.tilespark.kernels.multiply.SplitArithmetic;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Half tiles of 64 x 128 that the split leaves to the repair, read back from the workspace, and the
 * repair's results. Whole numbers, so that nothing may differ; small shapes that meet all edges, so
 * that compute-sanitizer runs through them.
 */
@RequiresGpu
class SplitRepairIT extends MultiplyWays {
  private static final int HALF = 64; // rows of a half tile
  private static final int TILE = 128; // columns of a tile
  private static final int PANEL = 32; // steps of K that are cut at once

  /** Values without three parts, whichever operand they are in. */
  private static final float[] BAD = {
    Math.nextDown(SplitArithmetic.LEAST),
    -Math.nextDown(SplitArithmetic.LEAST),
    Float.MIN_VALUE,
    -0x1.8p-130f,
    Float.POSITIVE_INFINITY,
    Float.NEGATIVE_INFINITY,
    Float.NaN,
    Float.MAX_VALUE // the nearest bfloat16 is infinite
  };

  /** Whole tiles; ragged ones; a half tile; C of one row; parts of K, the last one ragged. */
  private static final int[][] SHAPES = {
    {256, 64, 256}, {300, 100, 260}, {64, 96, 128}, {1, 70, 129}, {140, 2050, 150}
  };

  private OneWay way() {
    Assumptions.assumeTrue(split().isPresent(), "this device has no kernel that splits floats");
    return split().orElseThrow();
  }

  /** Flags of clean data are all 0, of the least values that have parts too. */
  @Test
  void nothingIsFlaggedOfCleanData() {
    forEachProblem(
        (run, random) -> {
          run.fill(random);
          run.a[run.inA(0, 0, 0)] = SplitArithmetic.LEAST;
          run.b[run.inB(0, 0, 0)] = -SplitArithmetic.LEAST;
          run.a[run.inA(0, run.m() - 1, run.k() - 1)] = -0f;
          run.b[run.inB(0, run.k() - 1, run.n() - 1)] = 0x1p100f;
          run.check();
          assertEquals(0, run.flagged(), run + ": flagged half tiles of clean data");
        });
  }

  /** One bad value at each edge: exactly the half tiles that read it are flagged, and repaired. */
  @Test
  void halfTilesOfOneBadValueAreFlagged() {
    forEachProblem(
        (run, random) -> {
          int round = random.nextInt(BAD.length);
          long last = run.problem.batch().count() - 1;
          long[] steps = edges(run.k(), PANEL);
          long[] rows = edges(run.m(), HALF);
          long[] cols = edges(run.n(), TILE);
          for (int at = 0; at < Math.max(rows.length, steps.length); at++) {
            run.fill(random);
            long step = steps[at % steps.length];
            run.badInA(last, rows[at % rows.length], step, BAD[round++ % BAD.length]);
            run.check();
          }
          for (int at = 0; at < Math.max(cols.length, steps.length); at++) {
            run.fill(random);
            long step = steps[at % steps.length];
            run.badInB(last, step, cols[at % cols.length], BAD[round++ % BAD.length]);
            run.check();
          }
        });
  }

  /** Several bad values in both operands, of any product. */
  @Test
  void halfTilesOfSeveralBadValuesAreFlagged() {
    forEachProblem(
        (run, random) -> {
          for (int round = 0; round < 3; round++) {
            run.fill(random);
            for (int count = random.nextInt(1, 4); count > 0; count--) {
              long q = random.nextLong(run.problem.batch().count());
              float bad = BAD[random.nextInt(BAD.length)];
              if (random.nextBoolean()) {
                run.badInA(q, random.nextLong(run.m()), random.nextLong(run.k()), bad);
              } else {
                run.badInB(q, random.nextLong(run.k()), random.nextLong(run.n()), bad);
              }
            }
            run.check();
          }
        });
  }

  /** Sums that overflow are flagged, though all values have parts. */
  @Test
  void sumsThatOverflowAreFlagged() {
    forEachProblem(
        (run, random) -> {
          run.fill(random);
          long row = run.m() - 1;
          long col = run.n() - 1;
          run.clearRow(0, row);
          run.a[run.inA(0, row, 0)] = 0x1p120f;
          for (long j = 0; j < run.n(); j++) {
            run.b[run.inB(0, 0, j)] = 1;
          }
          run.b[run.inB(0, 0, col)] = 0x1p20f;
          run.overflows(0, row, 0, col);
          run.check();
        });
  }

  /** A product of many half tiles, all of them flagged: the repair makes all of C. */
  @Test
  void everyHalfTileIsRepaired() {
    forEachProblem(
        (run, random) -> {
          run.fill(random);
          for (long q = 0; q < run.problem.batch().count(); q++) {
            for (long step = 0; step < run.k(); step += HALF) { // every part of K
              for (long row = 0; row < run.m(); row += HALF) {
                run.a[run.inA(q, row, step)] = Float.MIN_VALUE;
              }
            }
          }
          run.check();
          assertEquals(run.halvesInside(), run.flaggedInside(), run + ": flagged half tiles");
        });
  }

  /** The first and last index, and both sides of the first two edges and of the last one. */
  private static long[] edges(long extent, int piece) {
    long lastEdge = (extent - 1) / piece * piece;
    return LongStream.of(
            0, piece - 1, piece, 2L * piece - 1, 2L * piece, lastEdge - 1, lastEdge, extent - 1)
        .filter(index -> index >= 0 && index < extent)
        .distinct()
        .toArray();
  }

  private interface Check {
    void on(Run run, SplittableRandom random);
  }

  /** In every storage, from even and uneven starts, adding or not; one product, and batches. */
  private void forEachProblem(Check check) {
    OneWay way = way();
    SplittableRandom random = new SplittableRandom(51);
    for (int which = 0; which < 4; which++) {
      List<MultiplyProblem> problems = new ArrayList<>();
      for (int[] shape : SHAPES) {
        problems.add(
            MultiplyProblem.dense(
                shape[0],
                shape[1],
                shape[2],
                ElementType.FLOAT32,
                (which & 1) != 0,
                (which & 2) != 0));
      }
      problems.add(batch(problems.get(1), 3, Lie.BEHIND)); // A is packed
      problems.add(batch(problems.get(0), 2, Lie.BEHIND)); // A can be read as it is stored
      for (MultiplyProblem problem : problems) {
        boolean add = random.nextBoolean();
        int shift = problem.m() == 256 ? 0 : random.nextInt(2) * 3;
        try (Run run =
            new Run(
                way.at(shift),
                add ? problem.withFactors(MultiplyProblem.Factors.ADD) : problem,
                shift)) {
          check.on(run, random);
        }
      }
    }
  }

  /** One problem with its memory; index letters q, i, p and j: product, row, step, column. */
  private final class Run implements AutoCloseable {
    private final MultiplyProblem problem;
    private final MultiplyPlan plan;
    private final MultiplyStep product;
    private final long shiftBytes;
    private final float[] a;
    private final float[] b;
    private final float[] c;
    private final float[] found;
    private final List<long[]> overflows = new ArrayList<>(); // q, i, p, j
    private int[] flags; // of half tiles: (batches, row tiles, column tiles, 2)
    private final CudaStream stream;
    private final PinnedBuffer pinned;
    private final PinnedBuffer pinnedFlags;
    private final DeviceBuffer deviceA;
    private final DeviceBuffer deviceB;
    private final DeviceBuffer deviceC;
    private final DeviceBuffer workspace;

    Run(OneWay way, MultiplyProblem problem, int shift) {
      this.problem = problem;
      plan = way.plan(problem);
      List<MultiplyStep> products =
          plan.steps(shift == 0, shift == 0).stream()
              .filter(step -> step.launch().kernel().startsWith("multiply_split"))
              .toList();
      assertEquals(1, products.size(), () -> problem + ": flags of one launch alone can be read");
      product = products.get(0);
      shiftBytes = (long) shift * Float.BYTES;
      a = new float[floats(problem.bytesA())];
      b = new float[floats(problem.bytesB())];
      c = new float[floats(problem.bytesC())];
      found = new float[c.length];
      long most = Math.max(problem.bytesA(), Math.max(problem.bytesB(), problem.bytesC()));
      stream = device.newStream();
      pinned = device.allocatePinned(most);
      pinnedFlags = device.allocatePinned((long) flagCount() * Short.BYTES);
      deviceA = device.allocate(problem.bytesA() + shiftBytes, stream);
      deviceB = device.allocate(problem.bytesB() + shiftBytes, stream);
      deviceC = device.allocate(problem.bytesC() + shiftBytes, stream);
      workspace = device.allocate(plan.workspaceBytes(), stream);
    }

    @Override
    public void close() {
      workspace.close();
      deviceC.close();
      deviceB.close();
      deviceA.close();
      pinnedFlags.close();
      pinned.close();
      stream.close();
    }

    @Override
    public String toString() {
      return plan.describe() + " of " + problem + ", first bytes at " + shiftBytes;
    }

    private static int floats(long bytes) {
      return Math.toIntExact(bytes / Float.BYTES);
    }

    long m() {
      return problem.m();
    }

    long k() {
      return problem.k();
    }

    long n() {
      return problem.n();
    }

    /** A word of SplitArguments, as PackedSteps.addMultiply has them. */
    private int word(int which) {
      return Math.toIntExact(product.launch().words()[which]);
    }

    private int rowTiles() {
      return word(4);
    }

    private int colTiles() {
      return word(5);
    }

    /** Products, or parts of one. */
    private int batches() {
      return word(9);
    }

    /** Steps of K of a part; all of K of products of their own. */
    private long partSteps() {
      return word(13) == 0 ? k() : word(13);
    }

    private int flagCount() {
      return batches() * rowTiles() * colTiles() * 2;
    }

    int inA(long q, long i, long p) {
      return Math.toIntExact(
          q * problem.batch().strideA()
              + (problem.a().transposed()
                  ? p * problem.a().lead() + i
                  : i * problem.a().lead() + p));
    }

    int inB(long q, long p, long j) {
      return Math.toIntExact(
          q * problem.batch().strideB()
              + (problem.b().transposed()
                  ? j * problem.b().lead() + p
                  : p * problem.b().lead() + j));
    }

    int inC(long q, long i, long j) {
      return Math.toIntExact(q * problem.batch().strideC() + i * problem.leadC() + j);
    }

    /** Whole numbers from 1 to 4 and their negatives: infinity times any is infinite. */
    void fill(SplittableRandom random) {
      overflows.clear();
      for (float[] matrix : new float[][] {a, b, c}) {
        for (int at = 0; at < matrix.length; at++) {
          matrix[at] = random.nextInt(1, 5) * (random.nextBoolean() ? 1 : -1);
        }
      }
    }

    void clearRow(long q, long i) {
      for (long p = 0; p < k(); p++) {
        a[inA(q, i, p)] = 0;
      }
    }

    /** A value alone in its row, so that the smallest reaches C. */
    void badInA(long q, long i, long p, float value) {
      clearRow(q, i);
      a[inA(q, i, p)] = value;
    }

    void badInB(long q, long p, long j, float value) {
      for (long step = 0; step < k(); step++) {
        b[inB(q, step, j)] = 0;
      }
      b[inB(q, p, j)] = value;
    }

    /** States that one sum overflows. */
    void overflows(long q, long i, long p, long j) {
      overflows.add(new long[] {q, i, p, j});
    }

    /** Runs the plan, and requires the flags and C. */
    void check() {
      upload(a, deviceA);
      upload(b, deviceB);
      upload(c, deviceC);
      stream.fill(workspace, (byte) 0xff); // what is never written is no flag
      multiplier.enqueue(
          plan,
          new DeviceMultiplier.Operands(
              deviceA, shiftBytes, deviceB, shiftBytes, deviceC, shiftBytes),
          workspace,
          stream);
      stream.download(deviceC, shiftBytes, pinned.memory().slice(0, problem.bytesC()));
      stream.download(workspace, product.pointers().get(1).bytes(), pinnedFlags.memory());
      stream.synchronize();
      pinned.memory().slice(0, problem.bytesC()).copyTo(HostMemory.ofArray(found));
      flags = new int[flagCount()];
      Unsafe unsafe = HostMemory.unsafe();
      for (int at = 0; at < flags.length; at++) {
        flags[at] = unsafe.getShort(pinnedFlags.memory().offset() + (long) at * Short.BYTES);
      }
      requireFlags();
      requireProducts();
    }

    private void upload(float[] from, DeviceBuffer to) {
      HostMemory staged = pinned.memory().slice(0, (long) from.length * Float.BYTES);
      HostMemory.ofArray(from).copyTo(staged);
      stream.upload(staged, to, shiftBytes);
      stream.synchronize(); // before the next matrix is staged
    }

    /** Flags that are set. */
    int flagged() {
      return Arrays.stream(flags).sum();
    }

    /** The number of half tiles to repair that hold some of C. */
    int flaggedInside() {
      int flagged = 0;
      for (int at = 0; at < flags.length; at++) {
        flagged += isInside(at) ? flags[at] : 0;
      }
      return flagged;
    }

    /** Half tiles that hold some of C. */
    int halvesInside() {
      return (int) IntStream.range(0, flags.length).filter(this::isInside).count();
    }

    /** The first row of a half tile, by its number among the flags. */
    private long firstRow(int half) {
      return ((long) half / 2 / colTiles() % rowTiles() * 2 + half % 2) * HALF;
    }

    private boolean isInside(int half) {
      return firstRow(half) < m();
    }

    /** The numbers of the half tiles that are to be flagged and hold some of C. */
    int[] expectedFlags() {
      return IntStream.range(0, flagCount())
          .filter(this::isInside)
          .filter(this::isToBeFlagged)
          .toArray();
    }

    /** True if a value of its rows of A or columns of B has no parts, or a sum overflows. */
    private boolean isToBeFlagged(int half) {
      long firstCol = (long) half / 2 % colTiles() * TILE;
      long batch = half / 2 / colTiles() / rowTiles();
      boolean parts = word(13) != 0;
      long q = parts ? 0 : batch;
      long firstStep = parts ? batch * partSteps() : 0;
      long rows = Math.min(m(), firstRow(half) + HALF);
      long cols = Math.min(n(), firstCol + TILE);
      for (long p = firstStep; p < Math.min(k(), firstStep + partSteps()); p++) {
        for (long i = firstRow(half); i < rows; i++) {
          if (SplitArithmetic.hasNoParts(a[inA(q, i, p)])) {
            return true;
          }
        }
        for (long j = firstCol; j < cols; j++) {
          if (SplitArithmetic.hasNoParts(b[inB(q, p, j)])) {
            return true;
          }
        }
      }
      long lastStep = firstStep + partSteps();
      return overflows.stream()
          .anyMatch(
              at ->
                  at[0] == q
                      && at[1] >= firstRow(half)
                      && at[1] < rows
                      && at[2] >= firstStep
                      && at[2] < lastStep
                      && at[3] >= firstCol
                      && at[3] < cols);
    }

    private void requireFlags() {
      int[] expected = expectedFlags();
      int[] set =
          IntStream.range(0, flags.length)
              .filter(this::isInside)
              .filter(at -> flags[at] != 0)
              .toArray();
      for (int at = 0; at < flags.length; at++) {
        if (flags[at] != 0 && flags[at] != 1) {
          fail(this + ": flag of half tile " + name(at) + " is " + flags[at]);
        }
      }
      if (!Arrays.equals(expected, set)) {
        fail(
            String.format(
                "%s: %d of %d half tiles are flagged, expected %d; flagged %s, expected %s",
                this, set.length, flags.length, expected.length, names(set), names(expected)));
      }
    }

    private String name(int half) {
      int tile = half / 2;
      return String.format(
          "(%d: %d, %d %s)",
          tile / colTiles() / rowTiles(),
          tile / colTiles() % rowTiles(),
          tile % colTiles(),
          half % 2 == 0 ? "upper" : "lower");
    }

    private List<String> names(int[] halves) {
      return Arrays.stream(halves).limit(12).mapToObj(this::name).toList();
    }

    /** Sums of whole numbers are exact; with values of other sizes they are rounded. */
    private void requireProducts() {
      for (long q = 0; q < problem.batch().count(); q++) {
        for (long i = 0; i < m(); i++) {
          double[] sums = new double[Math.toIntExact(n())];
          double[] magnitudes = new double[sums.length];
          for (long p = 0; p < k(); p++) {
            double left = a[inA(q, i, p)];
            for (int j = 0; j < sums.length; j++) {
              double term = left * b[inB(q, p, j)];
              sums[j] += term;
              magnitudes[j] += Math.abs(term);
            }
          }
          for (int j = 0; j < sums.length; j++) {
            float before = problem.factors().readsC() ? c[inC(q, i, j)] : 0;
            float expected = (float) sums[j] + before;
            float is = found[inC(q, i, j)];
            boolean isClose =
                Float.isFinite(expected)
                    && Math.abs((double) is - expected)
                        <= 0x1p-20 * (magnitudes[j] + Math.abs(before));
            if (!isClose && Float.compare(expected, is) != 0) {
              fail(
                  String.format(
                      "%s: C[%d: %d, %d] is %s, expected %s", this, q, i, j, is, expected));
            }
          }
        }
      }
    }
  }
}

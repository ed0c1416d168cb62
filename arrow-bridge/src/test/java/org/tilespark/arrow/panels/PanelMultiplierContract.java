package org.tilespark.arrow.panels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.panels.PanelMultiplier.FinishedTile;
import org.tilespark.arrow.panels.PanelMultiplier.Panel;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Panels;
import org.tilespark.arrow.panels.PanelMultiplier.Rectangle;
import org.tilespark.arrow.panels.PanelMultiplier.Tile;
import org.tilespark.arrow.panels.PanelMultiplier.Wanted;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.layout.ElementType;

/**
 * Cases of every panel multiplier. Unless said otherwise elements are small whole numbers, so that
 * sums are exact in any order.
 */
abstract class PanelMultiplierContract {
  /** Runs {@code body} with a multiplier, and checks that it releases everything. */
  abstract void withMultiplier(java.util.function.Consumer<PanelMultiplier> body);

  private static final int M = 37;
  private static final int N = 29;

  @Test
  void tilesOfManyPanels() {
    withMultiplier(
        multiplier -> {
          Random random = new Random(1);
          for (int tile = 0; tile < 3; tile++) { // one multiplier, several tiles
            double[] expected = new double[M * N];
            int[] depths = {5, 64, 17, 64, 1, 64, 33};
            multiplier.begin(new Tile(problem(M, 64, N, 64, 64), false, depths.length));
            for (int k : depths) {
              double[] a = numbers(random, M * k); // (M, k)
              double[] b = numbers(random, N * k); // (N, k), B transposed
              Panels panels = panels(multiplier, bytes(M, k), bytes(N, k));
              panels.a().orElseThrow().put(HostMemory.ofArray(a));
              panels.b().orElseThrow().put(HostMemory.ofArray(b));
              multiplier.multiply(List.of(new PanelProduct(problem(M, k, N, k, k), 0, 0, 0)));
              add(expected, N, a, b, k, 0, M, 0, k, 0, N);
            }
            assertTile(expected, multiplier.finish());
          }
        });
  }

  @Test
  void productsOfPartsOfPanels() {
    withMultiplier(
        multiplier -> {
          int k = 40;
          double[] a = numbers(new Random(2), M * k);
          double[] b = numbers(new Random(3), N * k);
          double[] expected = new double[M * N];
          multiplier.begin(new Tile(problem(M, k, N, k, k), false, 2));
          Panels panels = panels(multiplier, bytes(M, k), bytes(N, k));
          panels.a().orElseThrow().put(HostMemory.ofArray(a));
          panels.b().orElseThrow().put(HostMemory.ofArray(b));
          List<PanelProduct> products = new ArrayList<>();
          for (int[] part : new int[][] {{0, 10, 0, 7, 3, 12}, {5, 37, 7, 40, 0, 29}}) {
            products.add(
                new PanelProduct(
                    problem(part[1] - part[0], part[3] - part[2], part[5] - part[4], k, k),
                    (part[0] * k + part[2]) * 8L,
                    (part[4] * k + part[2]) * 8L,
                    (part[0] * N + part[4]) * 8L));
            add(expected, N, a, b, k, part[0], part[1], part[2], part[3], part[4], part[5]);
          }
          multiplier.multiply(products);
          assertTile(expected, multiplier.finish());
        });
  }

  /**
   * Panels in pieces, from memory of which a device reads some in place: of many sizes, with gaps
   * between rows on either side.
   */
  @Test
  void panelsOfPieces() {
    int m = 1200;
    int n = N;
    int k = 130;
    withMultiplier(
        multiplier -> {
          Random random = new Random(8);
          for (int round = 0; round < 4; round++) {
            double[] a = numbers(random, m * k);
            double[] b = numbers(random, n * k);
            double[] expected = new double[m * n];
            add(expected, n, a, b, k, 0, m, 0, k, 0, n);
            List<PinnedOrNot> pieces = new ArrayList<>();
            multiplier.begin(new Tile(problem(m, k, n, k, k), false, 1));
            Panels panels = panels(multiplier, bytes(m, k), bytes(n, k));
            putPieces(panels.a().orElseThrow(), a, m, k, round, random, pieces);
            putPieces(panels.b().orElseThrow(), b, n, k, round, random, pieces);
            multiplier.multiply(List.of(new PanelProduct(problem(m, k, n, k, k), 0, 0, 0)));
            assertTile(expected, multiplier.finish());
            pieces.forEach(PinnedOrNot::close);
          }
        });
  }

  private static final ElementwiseProgram TWICE =
      new ElementwiseProgram(
          2,
          List.of(ElementwiseProgram.Input.of(ElementType.FLOAT64, false)),
          List.of(),
          List.of(new Instruction.Load(0, 0), new Instruction.Binary(BinaryFunction.ADD, 0, 0)),
          List.of(ElementwiseProgram.Output.real(1)));

  /** Of one panel, of many with totals, and of none. */
  @Test
  void whatIsComputedOfTheTile() {
    withMultiplier(
        multiplier -> {
          for (int depths : new int[] {1, 40, 0}) {
            double[] expected = sumOfPanels(multiplier, depths);
            Arrays.setAll(expected, i -> 4 * expected[i]);
            assertTile(expected, multiplier.finish(List.of(TWICE, TWICE)));
          }
        });
  }

  /** Begins a tile and adds panels to it; what it is then. */
  private static double[] sumOfPanels(PanelMultiplier multiplier, int depths) {
    int k = 5;
    Random random = new Random(depths);
    double[] expected = new double[M * N];
    multiplier.begin(new Tile(problem(M, k, N, k, k), false, depths));
    for (int i = 0; i < depths; i++) {
      double[] a = numbers(random, M * k);
      double[] b = numbers(random, N * k);
      Panels panels = panels(multiplier, bytes(M, k), bytes(N, k));
      panels.a().orElseThrow().put(HostMemory.ofArray(a));
      panels.b().orElseThrow().put(HostMemory.ofArray(b));
      multiplier.multiply(List.of(new PanelProduct(problem(M, k, N, k, k), 0, 0, 0)));
      add(expected, N, a, b, k, 0, M, 0, k, 0, N);
    }
    return expected;
  }

  /**
   * Rectangles of the tile, which cover it: all at once, a few at a time, and the last ones after
   * others wanted the memory; then the next tile.
   */
  @Test
  void theTileInRectangles() {
    int[] rowCuts = {0, 1, 20, M};
    int[] colCuts = {0, 17, 18, N};
    withMultiplier(
        multiplier -> {
          for (int depths : new int[] {1, 40, 0}) {
            for (int atATime : new int[] {9, 4, 1}) {
              for (int settledBefore : new int[] {9, 4, 0}) {
                double[] expected = sumOfPanels(multiplier, depths);
                Arrays.setAll(expected, i -> 2 * expected[i]);
                Optional<FinishedTile> finished = multiplier.finishInParts(List.of(TWICE));
                if (finished.isEmpty()) {
                  assertTrue(depths == 0 || !writesRectangles(), "a device writes them");
                  assertTile(expected, multiplier.finish(List.of(TWICE)));
                  continue;
                }
                assertTrue(writesRectangles());
                PinnedOrNot room = room(bytes(M, N), true);
                double[] found = new double[M * N];
                for (int first = 0; first < 9; first += atATime) {
                  if (first >= settledBefore) {
                    settle(multiplier);
                  }
                  List<Rectangle> rectangles = new ArrayList<>();
                  long used = 0;
                  for (int which = first; which < Math.min(9, first + atATime); which++) {
                    long fromRow = rowCuts[which / 3];
                    long fromCol = colCuts[which % 3];
                    long rows = rowCuts[which / 3 + 1] - fromRow;
                    long rowBytes = 8 * (colCuts[which % 3 + 1] - fromCol);
                    HostMemory to = room.memory().slice(used, rows * rowBytes);
                    used += to.bytes();
                    rectangles.add(new Rectangle(8 * (fromRow * N + fromCol), rowBytes, rows, to));
                  }
                  finished.get().fetch(rectangles, first + atATime >= 9);
                  for (Rectangle each : rectangles) {
                    new MemoryRows(each.to(), 0, each.rowBytes(), each.rowBytes(), each.rows())
                        .copyTo(HostMemory.ofArray(found), each.start(), 8L * N);
                  }
                }
                assertTile(expected, HostMemory.ofArray(found));
                room.close();
              }
            }
          }
        });
  }

  /** True if finished tiles can be fetched in rectangles. */
  boolean writesRectangles() {
    return false;
  }

  /** The work of another operator of the task that finds no device memory. */
  void settle(PanelMultiplier multiplier) {}

  /** Columns are selected of the finished tile: of few, and of more than a device has room for. */
  @Test
  void columnsOfTheTile() {
    withMultiplier(
        multiplier -> {
          for (int n : new int[] {N, 2000}) {
            int m = n == N ? M : 500;
            for (double least : new double[] {Double.NEGATIVE_INFINITY, 900, 1e9}) {
              for (int depths : new int[] {0, 3, 40}) { // several panels have totals
                assertSelects(multiplier, m, n, depths, least);
              }
            }
          }
        });
  }

  private static void assertSelects(
      PanelMultiplier multiplier, int m, int n, int depths, double least) {
    int k = 5;
    Random random = new Random(depths);
    double[] expected = new double[m * n];
    multiplier.begin(new Tile(problem(m, k, n, k, k, n), false, depths, true));
    for (int i = 0; i < depths; i++) {
      double[] a = numbers(random, m * k);
      double[] b = numbers(random, n * k);
      Panels panels = panels(multiplier, bytes(m, k), bytes(n, k));
      panels.a().orElseThrow().put(HostMemory.ofArray(a));
      panels.b().orElseThrow().put(HostMemory.ofArray(b));
      multiplier.multiply(List.of(new PanelProduct(problem(m, k, n, k, k, n), 0, 0, 0)));
      add(expected, n, a, b, k, 0, m, 0, k, 0, n);
    }
    double[] none = new double[Math.max(m, n)];
    double[] ones = new double[n];
    double[] leasts = new double[m];
    Arrays.fill(ones, 1);
    Arrays.fill(leasts, least);
    SelectedColumns found =
        multiplier.select(
            new ColumnSelection(
                ElementType.FLOAT64,
                new ColumnSelection.Rows(m, none, none, leasts),
                new ColumnSelection.Columns(
                    n, ones, none, none, none, none, new ColumnSelection.Most(0, 0, 0)),
                0,
                1));
    for (int row = 0; row < m; row++) {
      List<Integer> columns = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        if (expected[row * n + i] >= least) {
          columns.add(i);
        }
      }
      int count = found.select(row);
      assertEquals(columns, IntStream.range(0, count).mapToObj(found::column).toList());
    }
  }

  /** Memory whose values stay until it is closed. */
  record PinnedOrNot(HostMemory memory, Runnable free) {
    void close() {
      free.run();
    }
  }

  /** Memory of the kind that a device reads itself, if {@code pinned}. */
  abstract PinnedOrNot room(long bytes, boolean pinned);

  /** Cuts a panel into four, each a part of a larger block. */
  private void putPieces(
      Panel panel,
      double[] values,
      int rows,
      int cols,
      int round,
      Random random,
      List<PinnedOrNot> pieces) {
    int midRow = round == 0 ? rows / 2 : 1 + random.nextInt(rows - 1);
    int midCol = round == 0 ? cols : 1 + random.nextInt(cols - 1); // whole rows first
    for (int[] box :
        new int[][] {
          {0, midRow, 0, midCol},
          {midRow, rows, 0, midCol},
          {0, midRow, midCol, cols},
          {midRow, rows, midCol, cols}
        }) {
      int height = box[1] - box[0];
      int width = box[3] - box[2];
      int lead = width + random.nextInt(3);
      double[] block = new double[height * lead + 2];
      for (int i = 0; i < height; i++) {
        System.arraycopy(values, (box[0] + i) * cols + box[2], block, 2 + i * lead, width);
      }
      boolean stays = random.nextBoolean() || round == 0;
      PinnedOrNot room = room(block.length * 8L, round == 0 || random.nextBoolean());
      HostMemory.ofArray(block).copyTo(room.memory());
      panel.put(
          new MemoryRows(room.memory(), 16, lead * 8L, width * 8L, height),
          (box[0] * (long) cols + box[2]) * 8,
          cols * 8L,
          stays);
      if (stays) {
        pieces.add(room);
      } else {
        room.memory().fill((byte) -1); // it has been read
        room.close();
      }
    }
  }

  @Test
  void onePanelServesAsBoth() {
    withMultiplier(
        multiplier -> {
          int k = 21;
          multiplier.begin(new Tile(problem(N, k, N, k, k), true, 3));
          double[] expected = new double[N * N];
          for (int panel = 0; panel < 3; panel++) {
            double[] a = numbers(new Random(panel), N * k);
            Panels panels = panels(multiplier, bytes(N, k), -1);
            assertSame(panels.a().orElseThrow(), panels.b().orElseThrow());
            panels.a().orElseThrow().put(HostMemory.ofArray(a));
            multiplier.multiply(List.of(new PanelProduct(problem(N, k, N, k, k), 0, 0, 0)));
            add(expected, N, a, a, k, 0, N, 0, k, 0, N);
          }
          double[] found = new double[N * N];
          multiplier.finish().copyTo(HostMemory.ofArray(found));
          for (int at = 0; at < found.length; at++) {
            if (at / N <= at % N) { // the other half is not defined
              assertEquals(expected[at], found[at], "element " + at);
            }
          }
        });
  }

  /**
   * A panel is written where it is, and once its product is there it can be changed and go again.
   */
  @Test
  void onePanelOfFewerStepsIsWrittenInPlace() {
    withMultiplier(
        multiplier -> {
          int most = 21;
          int k = 13;
          MultiplyProblem gram = MultiplyProblem.dense(N, k, N, ElementType.FLOAT64, true, false);
          double[] a = numbers(new Random(5), k * N); // (k, N)
          double[] expected = new double[N * N];
          for (int p = 0; p < k; p++) {
            for (int at = 0; at < expected.length; at++) {
              expected[at] += a[p * N + at / N] * a[p * N + at % N];
            }
          }
          HostMemory written = HostMemory.ofArray(a);
          for (double scale : new double[] {1, 4}) {
            multiplier.begin(
                new Tile(
                    MultiplyProblem.dense(N, most, N, ElementType.FLOAT64, true, false), true, 1));
            Panels panels = panels(multiplier, bytes(most, N), -1);
            HostMemory panel = panels.a().orElseThrow().memory();
            assertEquals(bytes(most, N), panel.bytes());
            written.copyTo(panel);
            multiplier.shorten(new Tile(gram, true, 1));
            multiplier.multiply(List.of(new PanelProduct(gram, 0, 0, 0)));
            double[] found = new double[N * N];
            multiplier.finish().copyTo(HostMemory.ofArray(found));
            for (int at = 0; at < found.length; at++) {
              if (at / N <= at % N) { // the other half is not defined
                assertEquals(expected[at] * scale, found[at], 1e-12, "element " + at);
              }
            }
            written = panel.slice(0, bytes(k, N));
            for (long at = 0; at < written.bytes(); at += Double.BYTES) {
              long address = written.offset() + at;
              double value = HostMemory.unsafe().getDouble(written.base(), address);
              HostMemory.unsafe().putDouble(written.base(), address, 2 * value);
            }
          }
        });
  }

  @Test
  void aTileOfNothingIsZero() {
    withMultiplier(
        multiplier -> {
          multiplier.begin(new Tile(problem(M, 0, N, 1, 1), false, 0));
          assertTile(new double[M * N], multiplier.finish());
          multiplier.begin(new Tile(problem(M, 9, N, 9, 9), false, 1));
          panels(multiplier, bytes(M, 9), bytes(N, 9));
          multiplier.multiply(List.of());
          assertTile(new double[M * N], multiplier.finish());
        });
  }

  @Test
  void closedInTheMiddle() {
    withMultiplier(
        multiplier -> {
          multiplier.begin(new Tile(problem(M, 1, N, 1, 1), false, 2));
          Panels panels = panels(multiplier, bytes(M, 1), bytes(N, 1));
          panels.a().orElseThrow().put(HostMemory.ofArray(new double[M]));
          panels.b().orElseThrow().put(HostMemory.ofArray(new double[N]));
          multiplier.multiply(List.of(new PanelProduct(problem(M, 1, N, 1, 1), 0, 0, 0)));
          panels(multiplier, bytes(M, 1), bytes(N, 1));
          multiplier.close();
        });
  }

  /** Small matrices that are multiplied at once have the bits of each alone, and nothing else. */
  @Test
  void batchesOfMatrices() {
    withMultiplier(
        multiplier -> {
          Random random = new Random(9);
          int k = 11;
          for (int[] counts : new int[][] {{1, 1}, {7, 7}, {9, 4}, {5, 1}}) { // room, and filled
            for (Factors factors : List.of(Factors.OVERWRITE, Factors.ADD)) {
              MultiplyProblem one = problem(M, k, N, k, k).withFactors(factors);
              multiplier.begin(new Tile(batch(one, counts[0]), false, 1));
              MultiplyProblem whole = batch(one, counts[0]);
              Panels panels = panels(multiplier, whole.bytesA(), whole.bytesB());
              double[] expected = new double[counts[1] * M * N];
              for (int matrix = 0; matrix < counts[1]; matrix++) {
                double[] a = numbers(random, M * k);
                double[] b = numbers(random, N * k);
                put(panels.a().orElseThrow(), a, matrix * STRIDE);
                put(panels.b().orElseThrow(), b, matrix * STRIDE);
                double[] product = new double[M * N];
                add(product, N, a, b, k, 0, M, 0, k, 0, N);
                System.arraycopy(product, 0, expected, matrix * M * N, M * N);
              }
              MultiplyProblem filled = batch(one, counts[1]);
              if (counts[1] < counts[0]) {
                multiplier.shorten(new Tile(filled, false, 1));
              }
              multiplier.multiply(List.of(new PanelProduct(filled, 0, 0, 0)));
              assertTile(expected, multiplier.finish());
            }
          }
        });
  }

  private static final long STRIDE = 512; // elements between matrices of a batch

  private static MultiplyProblem batch(MultiplyProblem one, int count) {
    return one.withBatch(new Batch(count, STRIDE, STRIDE, (long) M * N));
  }

  private static void put(Panel panel, double[] values, long element) {
    HostMemory memory = HostMemory.ofArray(values);
    panel.put(
        new MemoryRows(memory, 0, memory.bytes(), memory.bytes(), 1),
        element * Double.BYTES,
        memory.bytes(),
        false);
  }

  @Test
  void aTileIsOverwrittenByOneProduct() {
    MultiplyProblem problem = problem(M, 1, N, 1, 1).withFactors(Factors.OVERWRITE);
    Exception e = assertThrows(IllegalArgumentException.class, () -> new Tile(problem, false, 2));
    assertEquals("A tile that is overwritten by 2 products; expected 1", e.getMessage());
  }

  @Test
  void aProductMustAccumulate() {
    for (Factors factors : List.of(new Factors(2, 0), new Factors(2, 1), new Factors(1, 2))) {
      MultiplyProblem problem =
          MultiplyProblem.dense(1, 1, 1, ElementType.FLOAT64, false, false).withFactors(factors);
      String message =
          "A product of panels must add to its tile, or be all of it; found " + problem;
      Exception e =
          assertThrows(IllegalArgumentException.class, () -> new PanelProduct(problem, 0, 0, 0));
      assertEquals(message, e.getMessage());
      e = assertThrows(IllegalArgumentException.class, () -> new Tile(problem, false, 1));
      assertEquals(message, e.getMessage());
    }
  }

  /** Contents of A and B. */
  private enum Inputs {
    /** Uniform in 0..1. */
    POSITIVE {
      @Override
      double next(SplittableRandom random) {
        return random.nextDouble();
      }
    },
    /** Equal numbers: all additions err to the same side. */
    CONSTANT {
      @Override
      double next(SplittableRandom random) {
        return 0.7;
      }
    },
    /** Positive, of magnitudes between 2^-20 and 2^20. */
    BADLY_SCALED {
      @Override
      double next(SplittableRandom random) {
        return Math.scalb(random.nextDouble(), random.nextInt(-20, 21));
      }
    };

    abstract double next(SplittableRandom random);
  }

  /**
   * Many shallow panels of positive numbers: errors stay within {@code 2 u sqrt(K)} of {@code
   * |A||B|}, as for one product, though one chain of additions would not keep to it.
   */
  @Test
  void longSumsOfShallowPanels() {
    for (ElementType type : new ElementType[] {ElementType.FLOAT32, ElementType.FLOAT64}) {
      for (Inputs inputs : Inputs.values()) {
        withMultiplier(multiplier -> checkLongSum(multiplier, type, inputs, 4, 20_000));
      }
    }
    withMultiplier(
        multiplier -> checkLongSum(multiplier, ElementType.FLOAT32, Inputs.CONSTANT, 16, 10_000));
  }

  private static void checkLongSum(
      PanelMultiplier multiplier, ElementType type, Inputs inputs, int depth, int panels) {
    boolean single = type == ElementType.FLOAT32;
    int m = 3;
    int n = 2;
    MultiplyProblem problem =
        new MultiplyProblem(
            new Extents(m, depth, n),
            type,
            Precision.FULL,
            new Stored(false, depth),
            new Stored(true, depth),
            n,
            Factors.ADD,
            Batch.ONE);
    SplittableRandom random = new SplittableRandom(panels + inputs.ordinal());
    double[] sum = new double[m * n];
    double[] lost = new double[m * n]; // rounding errors of sums in double
    double[] chain = new double[m * n]; // one chain, a panel at a time, in the element's type
    multiplier.begin(new Tile(problem, false, panels));
    for (int panel = 0; panel < panels; panel++) {
      double[] a = elements(m * depth, single, inputs, random); // (m, depth)
      double[] b = elements(n * depth, single, inputs, random); // (n, depth)
      Panels filled = panels(multiplier, problem.bytesA(), problem.bytesB());
      filled.a().orElseThrow().put(memory(a, single));
      filled.b().orElseThrow().put(memory(b, single));
      multiplier.multiply(List.of(new PanelProduct(problem, 0, 0, 0)));
      for (int at = 0; at < sum.length; at++) {
        double part = 0;
        for (int k = 0; k < depth; k++) {
          double left = a[at / n * depth + k];
          double right = b[at % n * depth + k];
          double product = left * right;
          double after = sum[at] + product;
          double seen = after - sum[at];
          lost[at] +=
              Math.fma(left, right, -product) + (sum[at] - (after - seen)) + (product - seen);
          sum[at] = after;
          part = Math.fma(left, right, part);
        }
        chain[at] = single ? (float) chain[at] + (float) part : chain[at] + part;
      }
    }
    double[] found = values(multiplier.finish(), m * n, single);
    double allowed = 2 * Math.sqrt((double) depth * panels) * (single ? 0x1p-24 : 0x1p-53);
    double worst = 0;
    double worstChain = 0;
    for (int at = 0; at < sum.length; at++) {
      worst = Math.max(worst, Math.abs(found[at] - sum[at] - lost[at]) / sum[at]);
      worstChain = Math.max(worstChain, Math.abs(chain[at] - sum[at] - lost[at]) / sum[at]);
    }
    assertTrue(
        worst <= allowed,
        type + ", " + inputs + ": error " + worst + " of |A||B|, allowed " + allowed);
    if (inputs == Inputs.CONSTANT) {
      assertTrue(
          worstChain > allowed,
          type + ": one chain errs by " + worstChain + ", so this shows nothing");
    }
  }

  private static double[] elements(
      int count, boolean single, Inputs inputs, SplittableRandom random) {
    double[] elements = new double[count];
    for (int i = 0; i < count; i++) {
      double next = inputs.next(random);
      elements[i] = single ? (float) next : next;
    }
    return elements;
  }

  private static HostMemory memory(double[] elements, boolean single) {
    if (!single) {
      return HostMemory.ofArray(elements);
    }
    float[] floats = new float[elements.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) elements[i];
    }
    return HostMemory.ofArray(floats);
  }

  private static double[] values(HostMemory memory, int count, boolean single) {
    double[] values = new double[count];
    if (!single) {
      memory.copyTo(HostMemory.ofArray(values));
      return values;
    }
    float[] floats = new float[count];
    memory.copyTo(HostMemory.ofArray(floats));
    for (int i = 0; i < count; i++) {
      values[i] = floats[i];
    }
    return values;
  }

  /** Missing blocks: parts of the tile are added to, some more often than others. */
  @Test
  void longSumsOfParts() {
    withMultiplier(
        multiplier -> {
          int k = 2;
          int panels = 600;
          Random random = new Random(6);
          double[] expected = new double[M * N];
          multiplier.begin(new Tile(problem(M, k, N, k, k), false, 2L * panels));
          for (int panel = 0; panel < panels; panel++) {
            double[] a = numbers(random, M * k);
            double[] b = numbers(random, N * k);
            Panels filled = panels(multiplier, bytes(M, k), bytes(N, k));
            filled.a().orElseThrow().put(HostMemory.ofArray(a));
            filled.b().orElseThrow().put(HostMemory.ofArray(b));
            List<PanelProduct> products = new ArrayList<>();
            int middle = 1 + panel % 30;
            for (int[] part :
                new int[][] {{0, middle, 0, 1}, {0, middle, 1, 2}, {middle, M, 0, 2}}) {
              products.add(
                  new PanelProduct(
                      problem(part[1] - part[0], part[3] - part[2], N, k, k),
                      (part[0] * k + part[2]) * 8L,
                      part[2] * 8L,
                      part[0] * 8L * N));
              add(expected, N, a, b, k, part[0], part[1], part[2], part[3], 0, N);
            }
            multiplier.multiply(products);
          }
          assertTile(expected, multiplier.finish());
        });
  }

  private static MultiplyProblem problem(long m, long k, long n, long leadA, long leadB) {
    return problem(m, k, n, leadA, leadB, N);
  }

  private static MultiplyProblem problem(
      long m, long k, long n, long leadA, long leadB, long leadC) {
    return new MultiplyProblem(
        new Extents(m, k, n),
        ElementType.FLOAT64,
        Precision.FULL,
        new Stored(false, leadA),
        new Stored(true, leadB),
        leadC,
        Factors.ADD,
        Batch.ONE);
  }

  private static long bytes(long rows, long cols) {
    return rows * cols * Double.BYTES;
  }

  static double[] numbers(Random random, int count) {
    double[] numbers = new double[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = random.nextInt(19) - 9;
    }
    return numbers;
  }

  static void add(
      double[] c,
      int cols,
      double[] a,
      double[] b,
      int lead,
      int m0,
      int m1,
      int k0,
      int k1,
      int n0,
      int n1) {
    for (int i = m0; i < m1; i++) {
      for (int j = n0; j < n1; j++) {
        for (int k = k0; k < k1; k++) {
          c[i * cols + j] += a[i * lead + k] * b[j * lead + k];
        }
      }
    }
  }

  static void assertTile(double[] expected, HostMemory found) {
    assertEquals(expected.length * 8L, found.bytes());
    double[] values = new double[expected.length];
    found.copyTo(HostMemory.ofArray(values));
    for (int i = 0; i < values.length; i++) {
      assertEquals(expected[i], values[i], "element " + i);
    }
  }

  /** Panels that no other task has; of A alone if {@code bytesB} is negative. */
  static Panels panels(PanelMultiplier multiplier, long bytesA, long bytesB) {
    return multiplier.panels(
        new Wanted(bytesA, Optional.empty()),
        bytesB < 0 ? Optional.empty() : Optional.of(new Wanted(bytesB, Optional.empty())));
  }
}

package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.tilespark.kernels.multiply.MultiplyStep.Place;
import org.tilespark.kernels.multiply.MultiplyStep.Side;
import org.tilespark.kernels.multiply.MultiplyStep.TensorMap;
import org.tilespark.layout.ElementType;

/**
 * The memory of a problem, and what kernels do with it as their structs say, element by element, on
 * small whole numbers: results are exact. The gaps between rows are NaN, the workspace's first
 * contents are not zero, and some tiles are left to the repair.
 *
 * <p>A value of 16 bits is kept as a short here; how K is ordered in packed rows is left out.
 */
final class SimulatedKernels {
  private static final double GUARD = -12345;

  private final MultiplyProblem problem;
  private final boolean isDouble;
  private final int width;
  private final Map<Side, ByteBuffer> memory = new EnumMap<>(Side.class);
  private final double[] before;

  SimulatedKernels(MultiplyProblem problem, long workspaceBytes, long seed) {
    this.problem = problem;
    this.isDouble = problem.type() == ElementType.FLOAT64;
    this.width = problem.type().bytes();
    SplittableRandom random = new SplittableRandom(seed);
    MultiplyProblem.Batch batch = problem.batch();
    memory.put(Side.A, buffer(problem.bytesA()));
    memory.put(Side.B, buffer(problem.bytesB()));
    memory.put(Side.C, buffer(problem.bytesC()));
    ByteBuffer workspace = buffer(workspaceBytes);
    Arrays.fill(workspace.array(), (byte) 0x41);
    memory.put(Side.WORKSPACE, workspace);
    for (Side side : new Side[] {Side.A, Side.B, Side.C}) {
      for (long at = 0; at < memory.get(side).capacity(); at += width) {
        put(new Place(side, at), side == Side.C ? GUARD : Double.NaN);
      }
    }
    for (long q = 0; q < batch.count(); q++) {
      fill(
          Side.A,
          q * batch.strideA(),
          problem.rowsA(),
          problem.colsA(),
          problem.a().lead(),
          random);
      fill(
          Side.B,
          q * batch.strideB(),
          problem.rowsB(),
          problem.colsB(),
          problem.b().lead(),
          random);
      if (problem.factors().readsC()) {
        fill(Side.C, q * batch.strideC(), problem.m(), problem.n(), problem.leadC(), random);
      }
    }
    before = new double[memory.get(Side.C).capacity() / width];
    for (int at = 0; at < before.length; at++) {
      before[at] = get(new Place(Side.C, (long) at * width));
    }
  }

  private static ByteBuffer buffer(long bytes) {
    return ByteBuffer.allocate(Math.toIntExact(bytes)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private void fill(
      Side side, long first, long rows, long cols, long lead, SplittableRandom random) {
    for (long row = 0; row < rows; row++) {
      for (long col = 0; col < cols; col++) {
        put(new Place(side, (first + row * lead + col) * width), random.nextInt(-4, 5));
      }
    }
  }

  private double get(Place at) {
    ByteBuffer from = memory.get(at.side());
    int where = Math.toIntExact(at.bytes());
    return isDouble ? from.getDouble(where) : from.getFloat(where);
  }

  private void put(Place at, double value) {
    ByteBuffer to = memory.get(at.side());
    int where = Math.toIntExact(at.bytes());
    if (isDouble) {
      to.putDouble(where, value);
    } else {
      to.putFloat(where, (float) value);
    }
  }

  private static Place on(Place from, long bytes) {
    return new Place(from.side(), from.bytes() + bytes);
  }

  void run(List<MultiplyStep> steps) {
    for (MultiplyStep step : steps) {
      run(step);
    }
  }

  private void run(MultiplyStep run) {
    String kernel = run.launch().kernel();
    long[] w = run.launch().words();
    List<Place> p = run.pointers();
    if (kernel.startsWith("pack_rows")) {
      packRows(w, p.get(0), p.get(1));
    } else if (kernel.startsWith("pack")) {
      assertEquals(16, w.length);
      boolean split = kernel.contains("split");
      String form = kernel.contains("_w2_") ? "short" : "float";
      pack(split ? "raw" : form, Arrays.copyOf(w, 8), p.get(0), p.get(1));
      pack(split ? "split" : form, Arrays.copyOfRange(w, 8, 16), p.get(2), p.get(3));
    } else if (kernel.startsWith("multiply_split")) {
      assertEquals(14, w.length);
      long[] tensor = new long[13];
      System.arraycopy(w, 0, tensor, 0, 6);
      System.arraycopy(w, 7, tensor, 6, 7);
      tensor(run.maps(), tensor, w[6], kernel.contains("across"), p.get(0), p.get(1));
    } else if (kernel.startsWith("multiply_double")) {
      doubles(kernel, run.maps(), w, p.get(0));
    } else if (kernel.startsWith("multiply_mma")) {
      mma(kernel, w, p.get(0), p.get(1), p.get(2));
    } else if (kernel.startsWith("multiply_fused")) {
      fused(kernel, run.maps(), w, p.get(0));
    } else if (kernel.startsWith("multiply_parts")) {
      sum(w, p.get(0), p.get(1));
    } else if (kernel.startsWith("repair")) {
      tiled(w, p.get(0), p.get(1), p.get(2), p.get(3));
    } else {
      tensor(run.maps(), w, 0, false, p.get(0), null);
    }
  }

  /** PackOperand. */
  private void pack(String form, long[] w, Place from, Place to) {
    boolean split = form.equals("split");
    boolean isShort = split || form.equals("short");
    long plane = w[6] * w[4] * w[5];
    for (long q = 0; q < w[6]; q++) {
      for (long x = 0; x < w[4]; x++) {
        for (long k = 0; k < w[5]; k++) {
          boolean inside = x < w[0] && k < w[1];
          long at = q * w[7] + (w[3] != 0 ? k * w[2] + x : x * w[2] + k);
          double value = inside ? get(on(from, at * width)) : 0;
          long target = (q * w[4] + x) * w[5] + k;
          for (int part = 0; part < (split ? 3 : 1); part++) {
            double cut = !split || !inside ? value : part == 0 ? value - 3 : part;
            long where = to.bytes() + (part * plane + target) * (isShort ? 2 : 4);
            ByteBuffer out = memory.get(to.side());
            if (isShort) {
              out.putShort((int) where, (short) cut);
            } else {
              out.putFloat((int) where, (float) cut);
            }
          }
        }
      }
    }
  }

  /** PackRowsArguments. */
  private void packRows(long[] w, Place from, Place to) {
    assertEquals(6, w.length);
    for (long row = 0; row < w[4] * w[0]; row++) {
      for (long col = 0; col < w[3]; col++) {
        long at = row / w[0] * w[5] + row % w[0] * w[2] + col;
        put(on(to, (row * w[3] + col) * width), col < w[1] ? get(on(from, at * width)) : 0);
      }
    }
  }

  /** An element that the copy engine brings; 0 outside. */
  private double fetch(TensorMap map, long... place) {
    long at = map.from().bytes() + place[0] * map.element().bytes();
    for (int axis = 0; axis < place.length; axis++) {
      if (place[axis] < 0 || place[axis] >= map.extents().get(axis)) {
        return 0;
      }
      at += axis == 0 ? 0 : place[axis] * map.strideBytes().get(axis - 1);
    }
    ByteBuffer from = memory.get(map.from().side());
    return switch (map.element()) {
      case FLOAT16, BFLOAT16 -> from.getShort((int) at);
      case FLOAT32, TF32 -> from.getFloat((int) at);
      case FLOAT64 -> from.getDouble((int) at);
    };
  }

  /** TensorArguments, and SplitArguments but for the rows of a plane, if there are any. */
  private void tensor(
      List<TensorMap> maps, long[] w, long planeRows, boolean across, Place c, Place flags) {
    assertEquals(13, w.length);
    TensorMap a = maps.get(0);
    TensorMap b = maps.get(1);
    int panel = b.box().get(0);
    long tileCols = b.box().get(1);
    long tileRows = flags == null ? a.box().get(1) : 128;
    assertEquals((w[0] + tileRows - 1) / tileRows, w[4]);
    assertEquals((w[1] + tileCols - 1) / tileCols, w[5]);
    for (long q = 0; q < w[8]; q++) {
      for (long row = 0; row < w[4]; row++) {
        for (long col = 0; col < w[5]; col++) {
          for (long half = 0; half < 2; half++) {
            long i0 = row * tileRows + half * tileRows / 2;
            long j0 = col * tileCols;
            long rows = Math.min(tileRows / 2, w[0] - i0);
            long cols = Math.min(tileCols, w[1] - j0);
            // Some are left alone, as are those with what is no number.
            boolean bad = flags != null && (q + row + col + half) % 3 == 1;
            double[] sums = new double[(int) (Math.max(0, rows) * cols)];
            for (int e = 0; e < sums.length; e++) {
              long i = i0 + e / cols;
              long j = j0 + e % cols;
              for (long step = 0; step < w[3] * panel; step++) {
                long p = q * w[12] + step;
                double left = across ? fetch(a, i, q * w[9] + p) : fetch(a, p, q * w[9] + i);
                double right = fetch(b, p, q * w[10] + j);
                if (planeRows > 0) {
                  right += fetch(b, p, q * w[10] + j + planeRows);
                  right += fetch(b, p, q * w[10] + j + 2 * planeRows);
                }
                sums[e] += left * right;
              }
              bad |= flags != null && Double.isNaN(sums[e]);
            }
            if (flags != null) {
              long tile = (q * w[4] + row) * w[5] + col;
              memory
                  .get(flags.side())
                  .putShort((int) (flags.bytes() + tile * 4 + half * 2), (short) (bad ? 1 : 0));
            }
            for (int e = 0; e < sums.length && !bad; e++) {
              add(
                  on(c, (q * w[11] + (i0 + e / cols) * w[2] + j0 + e % cols) * 4),
                  sums[e],
                  w[6],
                  w[7]);
            }
          }
        }
      }
    }
  }

  /** FusedArguments. */
  private void fused(String kernel, List<TensorMap> maps, long[] w, Place c) {
    assertEquals(15, w.length);
    boolean acrossA = kernel.matches(".*_t[nt]_w4_.*");
    boolean acrossB = kernel.matches(".*_[nt]n_w4_.*");
    assertEquals((w[0] + 127) / 128, w[4]);
    long cols = kernel.contains("_128x128x") ? 128 : 256;
    assertEquals((w[1] + cols - 1) / cols, w[5]);
    long panel = kernel.contains("tf32") ? 32 : 64;
    boolean atOnce = panel == 64 && cols == 256;
    for (int operand = 0; operand < 2; operand++) {
      boolean blocks = w[13 + operand] == 1;
      assertTrue(!blocks || atOnce, kernel);
      assertEquals(
          List.of(32, atOnce && operand == 1 ? 64 : 32, blocks ? 2 : 1, 1),
          maps.get(operand).box());
      assertEquals(
          panel == 32 ? MultiplyStep.Element.TF32 : MultiplyStep.Element.FLOAT32,
          maps.get(operand).element());
      assertEquals(
          atOnce ? TensorMap.Fetch.BYTES_128 : TensorMap.Fetch.BYTES_256,
          maps.get(operand).fetch());
    }
    for (long q = 0; q < w[8]; q++) {
      for (long i = 0; i < w[0]; i++) {
        for (long j = 0; j < w[1]; j++) {
          double sum = 0;
          for (long p = q * w[12]; p < q * w[12] + w[3] * panel; p++) {
            sum +=
                stored(maps.get(0), acrossA ? i : p, acrossA ? p : i, q * w[9], w[13])
                    * stored(maps.get(1), acrossB ? j : p, acrossB ? p : j, q * w[10], w[14]);
          }
          add(on(c, (q * w[11] + i * w[2] + j) * 4), sum, w[6], w[7]);
        }
      }
    }
  }

  /** An element of a matrix that is a map of its rows, or of blocks of 32 columns. */
  private double stored(TensorMap map, long col, long row, long matrix, long blocks) {
    return blocks == 1
        ? fetch(map, col % 32, row, col / 32, matrix)
        : fetch(map, col, row, 0, matrix);
  }

  /** MmaArguments. */
  private void mma(String kernel, long[] w, Place a, Place b, Place c) {
    assertEquals(16, w.length);
    boolean isShort = kernel.contains("_w2_");
    int tile = kernel.contains("_64x64x") ? 64 : 128;
    assertEquals((w[0] + tile - 1) / tile, w[7]);
    assertEquals((w[1] + tile - 1) / tile, w[8]);
    long panel = isShort ? 64 : 32;
    for (long q = 0; q < w[11]; q++) {
      long first = q * w[15] * panel;
      long steps = Math.min(w[6] * panel, w[5] * panel - first);
      assertTrue(steps > 0, "part " + q + " is empty");
      for (long i = 0; i < w[0]; i++) {
        for (long j = 0; j < w[1]; j++) {
          long row = q * w[12] + i;
          long col = q * w[13] + j;
          assertTrue(row < w[3] && col < w[4], "row " + row + ", column " + col);
          double sum = 0;
          for (long p = first; p < first + steps; p++) {
            sum +=
                packed(a, row * w[5] * panel + p, isShort)
                    * packed(b, col * w[5] * panel + p, isShort);
          }
          add(on(c, (q * w[14] + i * w[2] + j) * 4), sum, w[9], w[10]);
        }
      }
    }
  }

  private double packed(Place from, long at, boolean isShort) {
    ByteBuffer bytes = memory.get(from.side());
    return isShort
        ? bytes.getShort((int) (from.bytes() + at * 2))
        : bytes.getFloat((int) (from.bytes() + at * 4));
  }

  /** Words of factors.cuh. */
  private void add(Place at, double sum, long alpha, long beta) {
    double product = factor(alpha) * sum;
    put(at, factor(beta) == 0 ? product : product + factor(beta) * get(at));
  }

  private double factor(long word) {
    return isDouble ? Double.longBitsToDouble(word) : Float.intBitsToFloat((int) word);
  }

  /** MultiplyArguments; with flags, of the flagged tiles alone. */
  void tiled(long[] w, Place flags, Place a, Place b, Place c) {
    assertEquals(18, w.length);
    for (long q = 0; q < w[13]; q++) {
      for (long i = 0; i < w[0]; i++) {
        for (long j = 0; j < w[2]; j++) {
          long tile = (q * ((w[11] + 1) / 2) + i / 128) * ((w[12] + 1) / 2) + j / 128;
          if (flags != null
              && memory
                      .get(flags.side())
                      .getShort((int) (flags.bytes() + tile * 4 + i / 64 % 2 * 2))
                  == 0) {
            continue;
          }
          double sum = 0;
          for (long p = 0; p < (q + 1 == w[13] ? w[17] : w[1]); p++) {
            double left =
                get(on(a, (q * w[14] + (w[6] != 0 ? p * w[3] + i : i * w[3] + p)) * width));
            double right =
                get(on(b, (q * w[15] + (w[7] != 0 ? j * w[4] + p : p * w[4] + j)) * width));
            sum += left * right;
          }
          add(on(c, (q * w[16] + i * w[5] + j) * width), sum, w[8], w[9]);
        }
      }
    }
  }

  /** DoubleArguments. */
  private void doubles(String kernel, List<TensorMap> maps, long[] w, Place c) {
    assertEquals(17, w.length);
    assertEquals(2, maps.size());
    assertTrue(maps.stream().allMatch(TensorMap::swizzled), "panels are swizzled");
    boolean leftAcross = kernel.contains("_tt_") || kernel.contains("_tn_");
    boolean rightAcross = kernel.contains("_tn_");
    boolean oneChain = kernel.contains("_chain_");
    int rows = oneChain ? 128 : 64;
    int cols = oneChain ? 64 : 128;
    assertEquals((w[0] + rows - 1) / rows, w[6]);
    assertEquals((w[1] + cols - 1) / cols, w[7]);
    // A team's share of a tile.
    assertEquals(List.of(16, leftAcross ? 16 : rows, 1), maps.get(0).box());
    assertEquals(List.of(16, rightAcross ? 16 : 64, 1), maps.get(1).box());
    for (long q = 0; q < w[10]; q++) {
      for (long part = 0; part < w[12]; part++) {
        long end = Math.min(w[4], (part + 1) * w[13]);
        assertTrue(part * w[13] < end, "empty part");
        for (long i = 0; i < w[0]; i++) {
          for (long j = 0; j < w[1]; j++) {
            double sum = 0;
            for (long p = part * w[13] * 16; p < end * 16; p++) {
              sum +=
                  fetch(maps.get(0), leftAcross ? i : p, leftAcross ? p : i, q * w[15])
                      * fetch(maps.get(1), rightAcross ? j : p, rightAcross ? p : j, q * w[16]);
            }
            add(on(c, (q * w[11] + part * w[14] + i * w[2] + j * w[3]) * 8), sum, w[8], w[9]);
          }
        }
      }
    }
  }

  /** SumArguments. */
  private void sum(long[] w, Place scratch, Place c) {
    assertEquals(9, w.length);
    for (long q = 0; q < w[7]; q++) {
      for (long at = 0; at < w[0] * w[1]; at++) {
        double sum = 0;
        for (long part = 0; part < w[4]; part++) {
          sum += get(on(scratch, ((q * w[4] + part) * w[0] * w[1] + at) * width));
        }
        add(on(c, (q * w[8] + at / w[1] * w[2] + at % w[1] * w[3]) * width), sum, w[5], w[6]);
      }
    }
  }

  /** C holds the products, and the gaps are unchanged. */
  void check(MultiplyPlan plan) {
    MultiplyProblem.Batch batch = problem.batch();
    double[] expected = before.clone();
    for (long q = 0; q < batch.count(); q++) {
      for (long i = 0; i < problem.m(); i++) {
        for (long j = 0; j < problem.n(); j++) {
          double sum = 0;
          for (long p = 0; p < problem.k(); p++) {
            long inA =
                problem.a().transposed() ? p * problem.a().lead() + i : i * problem.a().lead() + p;
            long inB =
                problem.b().transposed() ? j * problem.b().lead() + p : p * problem.b().lead() + j;
            sum +=
                get(new Place(Side.A, (q * batch.strideA() + inA) * width))
                    * get(new Place(Side.B, (q * batch.strideB() + inB) * width));
          }
          int at = (int) (q * batch.strideC() + i * problem.leadC() + j);
          double product = problem.factors().alpha() * sum;
          expected[at] =
              problem.factors().readsC()
                  ? product + problem.factors().beta() * before[at]
                  : product;
        }
      }
    }
    List<String> wrong = new ArrayList<>();
    for (int at = 0; at < expected.length; at++) {
      double found = get(new Place(Side.C, (long) at * width));
      if (found != expected[at]) {
        wrong.add("element " + at + " is " + found + ", expected " + expected[at]);
      }
    }
    if (!wrong.isEmpty()) {
      fail(plan + ": " + wrong.size() + " elements, " + wrong.get(0));
    }
  }
}

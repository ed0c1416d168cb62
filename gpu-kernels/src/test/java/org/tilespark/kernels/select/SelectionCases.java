package org.tilespark.kernels.select;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.BitSet;
import java.util.Random;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;

/** Tiles of which columns are selected, and what must and may be selected of them. */
public final class SelectionCases {
  private SelectionCases() {}

  /** A selection and its tile, (rows, columns), row-major. */
  public record Case(ColumnSelection selection, HostMemory tile) {
    /** Rows, columns and what is wanted, for messages. */
    @Override
    public String toString() {
      return "%s x %s of %s, %s wanted"
          .formatted(
              selection.rows().count(),
              selection.columns().count(),
              selection.type(),
              selection.wanted());
    }
  }

  /**
   * A random tile.
   *
   * @param odd one of this many elements and bounds is NaN, infinite or repeated; 0 for none
   */
  public static Case random(
      ElementType type, int rows, int cols, int wanted, int odd, Random random) {
    double[] tile = random.doubles((long) rows * cols, -1, 1).toArray();
    double[] scale = random.doubles(cols, 0.5, 2).toArray();
    double[] shift = random.doubles(cols, -0.1, 0.1).toArray();
    double[] perNorm = random.doubles(cols, 0, 1e-3).toArray();
    double[] errors = random.doubles(cols, 0, 1e-3).toArray();
    double[] norms = random.doubles(cols, 0, 2).toArray();
    double[] rowNorms = random.doubles(rows, 0, 2).toArray();
    double[] rowErrors = random.doubles(rows, 0, 1e-3).toArray();
    double[] least = new double[rows];
    for (int row = 0; row < rows; row++) {
      least[row] = random.nextInt(3) == 0 ? Double.NEGATIVE_INFINITY : random.nextDouble() * 3 - 1;
    }
    if (odd > 0) {
      double[] kinds = {
        Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 0, -0.0, 0.5, 0.5, 1e30
      };
      for (double[] each : new double[][] {tile, scale, norms, rowNorms, shift}) {
        for (int i = 0; i < each.length; i++) {
          each[i] = random.nextInt(odd) == 0 ? kinds[random.nextInt(kinds.length)] : each[i];
        }
      }
    }
    Arrays.setAll(norms, i -> Math.abs(norms[i]));
    Arrays.setAll(scale, i -> Double.isNaN(norms[i]) ? Double.NaN : scale[i]);
    Arrays.setAll(rowNorms, i -> Math.abs(rowNorms[i]));
    ColumnSelection.Most most = new ColumnSelection.Most(most(norms), most(perNorm), most(errors));
    return new Case(
        new ColumnSelection(
            type,
            new ColumnSelection.Rows(rows, rowNorms, rowErrors, least),
            new ColumnSelection.Columns(cols, scale, shift, perNorm, errors, norms, most),
            wanted,
            1e20),
        tile(type, tile));
  }

  private static double most(double[] numbers) {
    return Arrays.stream(numbers).filter(x -> !Double.isNaN(x)).max().orElse(0);
  }

  private static HostMemory tile(ElementType type, double[] values) {
    if (type == ElementType.FLOAT64) {
      return HostMemory.ofArray(values);
    }
    float[] floats = new float[values.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) values[i];
    }
    return HostMemory.ofArray(floats);
  }

  /** Checks what was selected against the definition. */
  public static void check(Case given, SelectedColumns selected) {
    ColumnSelection selection = given.selection();
    int cols = selection.columns().count();
    for (int row = 0; row < selection.rows().count(); row++) {
      double least = selection.rows().least()[row];
      double[] upper = new double[cols];
      double[] lower = new double[cols];
      for (int col = 0; col < cols; col++) {
        double estimate =
            element(given, row, col) * selection.columns().scale()[col]
                + selection.columns().shift()[col];
        upper[col] = estimate + selection.error(row, col);
        lower[col] = estimate - selection.error(row, col);
      }
      double sure = Math.max(least, sure(lower, selection.wanted()));
      int count = selected.select(row);
      BitSet found = new BitSet();
      int last = -1;
      for (int i = 0; i < count; i++) {
        int col = selected.column(i);
        assertTrue(col > last, given + ": column " + col + " behind " + last);
        found.set(col);
        last = col;
      }
      for (int col = 0; col < cols; col++) {
        String which = given + ": row " + row + ", column " + col;
        if (!(upper[col] < sure)) {
          assertTrue(found.get(col), which);
        } else if (upper[col] < least) {
          assertFalse(found.get(col), which);
        }
      }
      if (selection.wanted() == 0) {
        assertEquals(
            Arrays.stream(upper).filter(x -> !(x < least)).count(), count, given::toString);
      }
    }
  }

  /** A bound that as many numbers as are wanted reach; negative infinity if there are fewer. */
  private static double sure(double[] lower, int wanted) {
    double[] numbers = Arrays.stream(lower).filter(x -> !Double.isNaN(x)).sorted().toArray();
    return wanted == 0 || numbers.length < wanted
        ? Double.NEGATIVE_INFINITY
        : numbers[numbers.length - wanted];
  }

  private static double element(Case given, int row, int col) {
    long index = (long) row * given.selection().columns().count() + col;
    HostMemory tile = given.tile();
    return given.selection().type() == ElementType.FLOAT32
        ? HostMemory.unsafe().getFloat(tile.base(), tile.offset() + 4 * index)
        : HostMemory.unsafe().getDouble(tile.base(), tile.offset() + 8 * index);
  }
}

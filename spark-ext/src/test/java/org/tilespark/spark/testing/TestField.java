package org.tilespark.spark.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;

/**
 * A volume of complex numbers in plain arrays of double, with what is done to it in the tests of
 * Fourier transforms: straight from the definitions, and slow.
 *
 * @param shape three extents
 * @param re real parts, row-major
 * @param im imaginary parts
 */
public record TestField(int[] shape, double[] re, double[] im) {
  /** A volume of zeros. */
  public static TestField zeros(int... shape) {
    int count = shape[0] * shape[1] * shape[2];
    return new TestField(shape.clone(), new double[count], new double[count]);
  }

  /** Random numbers of -1 to 1 with an offset, so that frequency 0 is not like the others. */
  public static TestField random(long seed, boolean isComplex, int... shape) {
    Random random = new Random(seed);
    TestField field = zeros(shape);
    for (int i = 0; i < field.re.length; i++) {
      // FLOAT holds them exactly.
      field.re[i] = 0.25 + (float) (2 * random.nextDouble() - 1);
      field.im[i] = isComplex ? (float) (2 * random.nextDouble() - 1) : 0;
    }
    return field;
  }

  /** The index of an element in the arrays. */
  public int at(int... index) {
    return (index[0] * shape[1] + index[1]) * shape[2] + index[2];
  }

  /** The discrete Fourier transform along one axis: sums as they are defined, times a factor. */
  public TestField transformed(int axis, int sign, double scale) {
    int n = shape[axis];
    double[] cos = new double[n];
    double[] sin = new double[n];
    for (int i = 0; i < n; i++) {
      cos[i] = Math.cos(2 * Math.PI * i / n);
      sin[i] = sign * Math.sin(2 * Math.PI * i / n);
    }
    int inner = 1;
    for (int after = axis + 1; after < 3; after++) {
      inner *= shape[after];
    }
    TestField result = zeros(shape);
    double[] lineRe = new double[n];
    double[] lineIm = new double[n];
    for (int start = 0; start < re.length; start++) {
      if (start / inner % n != 0) {
        continue;
      }
      for (int i = 0; i < n; i++) {
        lineRe[i] = re[start + i * inner];
        lineIm[i] = im[start + i * inner];
      }
      for (int k = 0; k < n; k++) {
        double sumRe = 0;
        double sumIm = 0;
        int turn = 0;
        for (int i = 0; i < n; i++) {
          sumRe += lineRe[i] * cos[turn] - lineIm[i] * sin[turn];
          sumIm += lineRe[i] * sin[turn] + lineIm[i] * cos[turn];
          turn += k;
          turn = turn >= n ? turn - n : turn;
        }
        result.re[start + k * inner] = sumRe * scale;
        result.im[start + k * inner] = sumIm * scale;
      }
    }
    return result;
  }

  /** Forward over the axes that the letters name, with norm backward. */
  public TestField fft(String axes) {
    TestField field = this;
    for (char letter : axes.toCharArray()) {
      field = field.transformed("xyz".indexOf(letter), -1, 1);
    }
    return field;
  }

  /** The frequencies 0 to n / 2 of one axis. */
  public TestField half(int axis) {
    int[] kept = shape.clone();
    kept[axis] = shape[axis] / 2 + 1;
    TestField field = zeros(kept);
    forEach(kept, index -> field.set(index, this, index));
    return field;
  }

  public TestField padded(int... to) {
    TestField field = zeros(to);
    forEach(shape, index -> field.set(index, this, index));
    return field;
  }

  /** Every element moved cyclically. */
  public TestField rolled(int... by) {
    TestField field = zeros(shape);
    forEach(
        shape,
        index -> {
          int[] target = new int[3];
          Arrays.setAll(target, a -> Math.floorMod(index[a] + by[a], shape[a]));
          field.set(target, this, index);
        });
    return field;
  }

  /** Output axis i is input axis order[i]. */
  public TestField permuted(int... order) {
    int[] to = new int[3];
    Arrays.setAll(to, a -> shape[order[a]]);
    TestField field = zeros(to);
    forEach(
        shape,
        index -> {
          int[] target = new int[3];
          Arrays.setAll(target, a -> index[order[a]]);
          field.set(target, this, index);
        });
    return field;
  }

  public TestField scaled(double factor) {
    TestField field = zeros(shape);
    Arrays.setAll(field.re, i -> re[i] * factor);
    Arrays.setAll(field.im, i -> im[i] * factor);
    return field;
  }

  /** Each element by what a function says of its index. */
  public TestField weighted(java.util.function.ToDoubleFunction<int[]> weight) {
    TestField field = zeros(shape);
    forEach(
        shape,
        index -> {
          double factor = weight.applyAsDouble(index);
          field.re[at(index)] = factor * re[at(index)];
          field.im[at(index)] = factor * im[at(index)];
        });
    return field;
  }

  public TestField plus(TestField that) {
    TestField field = zeros(shape);
    Arrays.setAll(field.re, i -> re[i] + that.re[i]);
    Arrays.setAll(field.im, i -> im[i] + that.im[i]);
    return field;
  }

  /** The products of elements at equal places. */
  public TestField times(TestField that) {
    TestField field = zeros(shape);
    Arrays.setAll(field.re, i -> re[i] * that.re[i] - im[i] * that.im[i]);
    Arrays.setAll(field.im, i -> re[i] * that.im[i] + im[i] * that.re[i]);
    return field;
  }

  /** A spectrum without its first element, which is the volume's sum. */
  public TestField withoutSum() {
    return weighted(index -> index[0] + index[1] + index[2] == 0 ? 0 : 1);
  }

  public double energy() {
    double sum = 0;
    for (int i = 0; i < re.length; i++) {
      sum += re[i] * re[i] + im[i] * im[i];
    }
    return sum;
  }

  public static void forEach(int[] shape, java.util.function.Consumer<int[]> body) {
    for (int x = 0; x < shape[0]; x++) {
      for (int y = 0; y < shape[1]; y++) {
        for (int z = 0; z < shape[2]; z++) {
          body.accept(new int[] {x, y, z});
        }
      }
    }
  }

  private void set(int[] index, TestField from, int[] source) {
    re[at(index)] = from.re[from.at(source)];
    im[at(index)] = from.im[from.at(source)];
  }

  // ---- as blocks

  public static StructType schema(ElementType type, boolean isComplex) {
    StructType schema = TestArray.volume(type, 1, 1, 1, 1, 1, 1).schema();
    return isComplex ? schema.add("imag", schema.apply("values").dataType()) : schema;
  }

  /** Blocks of a regular tiling. */
  public Dataset<Row> blocks(
      SparkSession spark, ElementType type, boolean isComplex, int bx, int by, int bz) {
    List<Box> boxes = new ArrayList<>();
    for (int x = 0; x < shape[0]; x += bx) {
      for (int y = 0; y < shape[1]; y += by) {
        for (int z = 0; z < shape[2]; z += bz) {
          boxes.add(
              Box.between(
                  new long[] {x, y, z},
                  new long[] {
                    Math.min(shape[0], x + bx),
                    Math.min(shape[1], y + by),
                    Math.min(shape[2], z + bz)
                  }));
        }
      }
    }
    return blocks(spark, type, isComplex, boxes);
  }

  public Dataset<Row> blocks(
      SparkSession spark, ElementType type, boolean isComplex, List<Box> boxes) {
    List<Row> rows = new ArrayList<>();
    for (Box box : boxes) {
      List<Object> cells = new ArrayList<>();
      for (int axis = 0; axis < 3; axis++) {
        cells.add(box.low(axis));
      }
      for (int axis = 0; axis < 3; axis++) {
        cells.add((int) box.size(axis));
      }
      for (double[] plane : isComplex ? new double[][] {re, im} : new double[][] {re}) {
        float[] floats = new float[(int) box.volume()];
        double[] doubles = new double[floats.length];
        int i = 0;
        for (int x = (int) box.low(0); x < box.high(0); x++) {
          for (int y = (int) box.low(1); y < box.high(1); y++) {
            for (int z = (int) box.low(2); z < box.high(2); z++, i++) {
              doubles[i] = plane[at(x, y, z)];
              floats[i] = (float) doubles[i];
            }
          }
        }
        cells.add(type == ElementType.FLOAT32 ? floats : doubles);
      }
      rows.add(RowFactory.create(cells.toArray()));
    }
    return SpreadRows.of(spark, rows, schema(type, isComplex), 3);
  }

  /** The volume that blocks hold, each element in one of them. */
  public static TestField of(Dataset<Row> df, int... shape) {
    TestField field = zeros(shape);
    boolean[] seen = new boolean[field.re.length];
    boolean isComplex = Arrays.asList(df.columns()).contains("imag");
    boolean isSingle =
        df.schema()
            .apply("values")
            .dataType()
            .equals(DataTypes.createArrayType(DataTypes.FloatType, false));
    for (Row row : df.collectAsList()) {
      List<? extends Number> real = row.getList(row.fieldIndex("values"));
      List<? extends Number> imag = isComplex ? row.getList(row.fieldIndex("imag")) : real;
      int[] size = new int[3];
      int[] low = new int[3];
      for (int axis = 0; axis < 3; axis++) {
        low[axis] = (int) row.getLong(row.fieldIndex(List.of("x", "y", "z").get(axis)));
        size[axis] = row.getInt(row.fieldIndex(List.of("nx", "ny", "nz").get(axis)));
      }
      assertEquals(size[0] * size[1] * size[2], real.size(), "elements of a block");
      int[] i = new int[1];
      forEach(
          size,
          index -> {
            int at = field.at(low[0] + index[0], low[1] + index[1], low[2] + index[2]);
            assertTrue(!seen[at], () -> "element " + at + " is in two blocks");
            seen[at] = true;
            field.re[at] = real.get(i[0]).doubleValue();
            field.im[at] = isComplex ? imag.get(i[0]).doubleValue() : 0;
            i[0]++;
          });
    }
    for (int i = 0; i < seen.length; i++) {
      assertTrue(seen[i], "element " + i + " of " + Arrays.toString(shape) + " is in no block");
    }
    assertTrue(isSingle || df.schema().apply("values").dataType().sql().contains("DOUBLE"));
    return field;
  }

  /** {@code |this - that| / |that|} in the Euclidean norm. */
  double distance(TestField that) {
    assertEquals(Arrays.toString(that.shape), Arrays.toString(shape));
    double sum = 0;
    for (int i = 0; i < re.length; i++) {
      sum += Math.pow(re[i] - that.re[i], 2) + Math.pow(im[i] - that.im[i], 2);
    }
    return Math.sqrt(sum / that.energy());
  }

  /** Asserts that this differs from that by no more than rounding. */
  public void assertNear(TestField that, ElementType type, String what) {
    double distance = distance(that);
    double elements = Math.max(2, re.length);
    double limit = type == ElementType.FLOAT32 ? 1e-6 : 1e-14 * Math.log(elements) / Math.log(2);
    assertTrue(distance <= limit, () -> what + ": relative error " + distance + " > " + limit);
  }
}

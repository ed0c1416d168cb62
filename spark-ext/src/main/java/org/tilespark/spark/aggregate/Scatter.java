package org.tilespark.spark.aggregate;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.IntToDoubleFunction;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;

/**
 * How the rows of some blocks of a matrix scatter about their mean: the sums of the products of any
 * two columns, of which the means were subtracted. Half of them is kept, 4 bytes times the square
 * of the columns, and 32 bytes for each block that has a place, for the check that all blocks are
 * there. Not for several threads at once.
 *
 * <p>Rows are taken in chunks. The means of the rows before are subtracted from a chunk, so that a
 * product in the elements' type loses nothing by large means, and chunks are joined in double
 * (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
 * variances", 1979).
 */
final class Scatter {
  /** Elements of a chunk: 1 MiB of FLOAT. */
  private static final int CHUNK = 1 << 18;

  /** Rows of FLOAT that are summed in FLOAT. */
  private static final int SUMMED = 16;

  /** Sums of squares of FLOAT between these lost nothing to its range. */
  private static final float LEAST_SQUARE = 1e-20f;

  private static final float MOST_SQUARE = 1e30f;

  private final ElementType type;
  private final int cols;
  private final boolean isPlaced;
  private final TaskGrams grams;
  private final BoxList boxes = new BoxList(BlockKind.MATRIX.rank());
  private final double[] means;
  private final double[] products; // (cols, cols) from the diagonal on, row by row
  private long rows; // of which these are the means and products
  private Object chunk; // float[] or double[], (rows, cols); null before the first row
  private int pending; // rows in the chunk

  /**
   * @param cols columns of the matrix
   * @param backend where columns are multiplied
   * @param isPlaced false if the blocks have no places, and are all of the matrix
   */
  Scatter(ElementType type, int cols, Backend backend, boolean isPlaced) {
    this.type = type;
    this.cols = cols;
    this.isPlaced = isPlaced;
    this.grams = new TaskGrams(backend);
    this.means = new double[cols];
    this.products = new double[Math.toIntExact((long) cols * (cols + 1) / 2)];
  }

  /**
   * Adds the rows of a block.
   *
   * @param operator who asks, for messages
   * @throws IllegalArgumentException if the block does not have all columns
   */
  void add(Block block, String operator) {
    if (block.offset().get(1) != 0 || block.size().get(1) != cols) {
      throw new IllegalArgumentException(
          "%s: the block has %s columns; expected all %s, as the others have (in %s)"
              .formatted(block.describe(), block.size().get(1), cols, operator));
    }
    if (isPlaced) {
      boxes.add(block.box());
    }
    if (chunk == null) {
      int elements = cols * most();
      chunk = type == ElementType.FLOAT32 ? new float[elements] : new double[elements];
    }
    HostMemory values = block.planes().get(0);
    long rowBytes = (long) cols * type.bytes();
    int count = block.size().get(0);
    for (int row = 0; row < count; ) {
      int some = Math.min(count - row, most() - pending);
      values.slice(row * rowBytes, some * rowBytes).copyTo(memory(pending, some));
      row += some;
      pending += some;
      if (pending == most()) {
        fold();
      }
    }
  }

  /** Rows of a full chunk. */
  private int most() {
    return Math.max(1, CHUNK / cols);
  }

  private HostMemory memory(int row, int count) {
    long rowBytes = (long) cols * type.bytes();
    HostMemory all =
        chunk instanceof float[] floats
            ? HostMemory.ofArray(floats)
            : HostMemory.ofArray((double[]) chunk);
    return all.slice(row * rowBytes, count * rowBytes);
  }

  // ---- chunks

  /** Joins the rows of the chunk with those before. */
  private void fold() {
    if (pending == 0) {
      return;
    }
    double[] left = new double[cols];
    double[] shift =
        chunk instanceof float[] values ? center(values, left) : center((double[]) chunk, left);
    double[] scales = new double[cols];
    Arrays.fill(scales, 1);
    HostMemory squares = squaresOfChunk();
    if (chunk instanceof float[] values && scale(values, squares, scales)) {
      squares = squaresOfChunk();
    }
    double[] own = new double[cols];
    double[] ofChunk = new double[products.length];
    double[] row = new double[cols];
    float[] room = new float[cols];
    for (int i = 0, at = 0; i < cols; i++) {
      ArrayValues.read(squares, type, i * cols + i, row, room, cols - i);
      double mean = left[i] / pending;
      own[i] = shift[i] + mean;
      for (int j = i; j < cols; j++) {
        ofChunk[at++] = row[j - i] * scales[i] * scales[j] - mean * left[j];
      }
    }
    join(pending, own, ofChunk);
    pending = 0;
  }

  /** The products of all columns of the chunk, (cols, cols), from the diagonal on. */
  private HostMemory squaresOfChunk() {
    return grams.of(memory(0, pending), pending, cols, type);
  }

  /**
   * What is subtracted of the columns: the means of all rows before, about which rows scatter at
   * most twice as much as about the means of them all; of the first chunk its own.
   */
  private double[] shift(IntToDoubleFunction value) {
    double[] shift = means.clone();
    if (rows == 0) {
      // Apart from the first row, so that of equal numbers nothing is left.
      for (int row = 0; row < pending * cols; row += cols) {
        for (int j = 0; j < cols; j++) {
          shift[j] += value.applyAsDouble(row + j) - value.applyAsDouble(j);
        }
      }
      Arrays.setAll(shift, j -> value.applyAsDouble(j) + shift[j] / pending);
    }
    for (int j = 0; j < cols; j++) {
      shift[j] = Double.isFinite(shift[j]) ? shift[j] : 0;
    }
    return shift;
  }

  /**
   * Subtracts a shift from each of the chunk's columns.
   *
   * @param left takes the sums of what is left; NaN of columns with numbers that are not finite
   * @return the shift
   */
  private double[] center(float[] values, double[] left) {
    double[] shift = shift(at -> values[at]);
    float[] rounded = new float[cols];
    for (int j = 0; j < cols; j++) {
      rounded[j] = (float) shift[j];
      shift[j] = rounded[j];
    }
    float[] sums = new float[cols];
    for (int row = 0; row < pending; row++) {
      subtract(values, row * cols, rounded, sums);
      if (row % SUMMED == SUMMED - 1 || row == pending - 1) {
        for (int j = 0; j < cols; j++) {
          left[j] += sums[j];
          sums[j] = 0;
        }
      }
    }
    for (int j = 0; j < cols; j++) {
      if (!Double.isFinite(left[j])) { // or FLOAT is too small for a sum
        left[j] = 0;
        for (int at = j; at < pending * cols; at += cols) {
          left[j] += values[at];
        }
        left[j] = Double.isFinite(left[j]) ? left[j] : Double.NaN;
      }
    }
    return shift;
  }

  /** Subtracts from a row, and adds what is left to sums. */
  private static void subtract(float[] values, int from, float[] shift, float[] sums) {
    for (int j = 0; j < shift.length; j++) {
      float left = values[from + j] - shift[j];
      values[from + j] = left;
      sums[j] += left;
    }
  }

  private double[] center(double[] values, double[] left) {
    double[] shift = shift(at -> values[at]);
    for (int row = 0; row < pending; row++) {
      subtract(values, row * cols, shift, left);
    }
    for (int j = 0; j < cols; j++) {
      left[j] = Double.isFinite(left[j]) ? left[j] : Double.NaN;
    }
    return shift;
  }

  private static void subtract(double[] values, int from, double[] shift, double[] sums) {
    for (int j = 0; j < shift.length; j++) {
      double left = values[from + j] - shift[j];
      values[from + j] = left;
      sums[j] += left;
    }
  }

  /**
   * Divides the chunk's columns whose squares FLOAT cannot hold by powers of two.
   *
   * @param squares of the chunk's columns
   * @param scales takes those of the powers, of columns that do not stay
   * @return false if all columns stay
   */
  private boolean scale(float[] values, HostMemory squares, double[] scales) {
    boolean isScaled = false;
    float[] squareOfOne = new float[1];
    for (int j = 0; j < cols; j++) {
      ArrayValues.read(squares, j * cols + j, squareOfOne, 1);
      float square = squareOfOne[0];
      if (square > LEAST_SQUARE && square < MOST_SQUARE) {
        continue;
      }
      float largest = 0;
      for (int at = j; at < pending * cols; at += cols) {
        largest = Math.max(largest, Math.abs(values[at]));
      }
      if (largest > 0 && largest < Float.POSITIVE_INFINITY) {
        int exponent = Math.getExponent(largest);
        scales[j] = Math.scalb(1.0, exponent);
        for (int at = j; at < pending * cols; at += cols) {
          values[at] = Math.scalb(values[at], -exponent);
        }
        isScaled = true;
      }
    }
    return isScaled;
  }

  private void join(long others, double[] otherMeans, double[] otherProducts) {
    if (others == 0) {
      return;
    }
    double all = rows + others;
    double weight = rows * (others / all);
    double[] apart = new double[cols];
    Arrays.setAll(apart, j -> otherMeans[j] - means[j]);
    for (int i = 0, at = 0; i < cols; i++) {
      for (int j = i; j < cols; j++, at++) {
        // Of the first rows no weight is taken: zero times the square of a large mean is NaN.
        double between = rows == 0 ? 0 : apart[i] * apart[j] * weight;
        products[at] += otherProducts[at] + between;
      }
    }
    Arrays.setAll(means, j -> means[j] + apart[j] * (others / all));
    rows += others;
  }

  // ---- results

  /** Adds other rows. */
  Scatter merge(Scatter other) {
    fold();
    other.fold();
    boxes.add(other.boxes);
    join(other.rows, other.means, other.products);
    return this;
  }

  /**
   * The covariances of all pairs of columns, (cols, cols).
   *
   * @param ddof what is taken off the count of rows before the division by it
   * @throws IllegalArgumentException if the blocks leave holes in the matrix, or overlap
   */
  ArrayData covariances(BlockArguments known, double ddof) {
    double divisor = Math.max(0, checked(known) - ddof);
    return square((i, j, product) -> product / divisor);
  }

  /**
   * The correlations of all pairs of columns, (cols, cols): NaN of constant ones. A column is
   * constant if it deviates from its mean by no more than rounding of the mean may make of it.
   *
   * @throws IllegalArgumentException if the blocks leave holes in the matrix, or overlap
   */
  ArrayData correlations(BlockArguments known) {
    double rounding = Math.ulp(1.0) * Math.min(checked(known), most());
    double[] norms = new double[cols];
    for (int j = 0, at = 0; j < cols; at += cols - j++) {
      double norm = Math.sqrt(products[at]);
      boolean isConstant = norm <= rounding * Math.abs(means[j]) * Math.sqrt((double) rows);
      norms[j] = isConstant ? Double.NaN : norm;
    }
    return square(
        (i, j, product) -> {
          double correlation = Math.max(-1, Math.min(product / norms[i] / norms[j], 1));
          return i == j && !Double.isNaN(correlation) ? 1 : correlation;
        });
  }

  /** The count of rows, once all of them are in the sums and known to be all of the matrix. */
  private long checked(BlockArguments known) {
    fold();
    if (!isPlaced) {
      requireRows(known);
      return rows;
    }
    long[] extents = known.extents().isEmpty() ? boxes.reached() : known.extents().get().toArray();
    boxes.check(extents, BlockKind.MATRIX, false, known.operator());
    return rows;
  }

  private void requireRows(BlockArguments known) {
    if (rows == 0) {
      throw new IllegalArgumentException(
          "%s: the table has no rows that are not left out; a matrix has at least one"
              .formatted(known.operator()));
    }
    if (known.extents().isDefined() && rows != known.extents().get().extent(0)) {
      throw new IllegalArgumentException(
          ("%s: the table has %s rows; it had %s when the query was made; make the query again, or"
                  + " persist() the table")
              .formatted(known.operator(), rows, known.extents().get().extent(0)));
    }
  }

  /** An element of a result, of two columns and their sum of products. */
  private interface Element {
    double of(int i, int j, double product);
  }

  private ArrayData square(Element element) {
    double[] square = new double[cols * cols];
    for (int i = 0, at = 0; i < cols; i++) {
      for (int j = i; j < cols; j++, at++) {
        square[i * cols + j] = element.of(i, j, products[at]);
        square[j * cols + i] = square[i * cols + j];
      }
    }
    if (type == ElementType.FLOAT64) {
      return UnsafeArrayData.fromPrimitiveArray(square);
    }
    float[] rounded = new float[square.length];
    for (int i = 0; i < rounded.length; i++) {
      rounded[i] = (float) square[i];
    }
    return UnsafeArrayData.fromPrimitiveArray(rounded);
  }

  // ---- bytes

  /** For {@link #deserialize}: boxes, the count of rows, means, products. */
  byte[] serialize() {
    fold();
    long bytes =
        boxes.bytes() + Long.BYTES + (long) Double.BYTES * (means.length + products.length);
    ByteBuffer buffer = ByteBuffer.allocate(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
    boxes.putInto(buffer);
    buffer.putLong(rows).asDoubleBuffer().put(means).put(products);
    return buffer.array();
  }

  /** Takes what {@link #serialize} wrote, in place of nothing. */
  Scatter deserialize(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    boxes.takeFrom(buffer);
    rows = buffer.getLong();
    buffer.asDoubleBuffer().get(means).get(products);
    return this;
  }
}

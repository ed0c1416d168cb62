package org.tilespark.spark.aggregate;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
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
import sun.misc.Unsafe;

/**
 * The scatter of the rows of some blocks about their mean: for each pair of columns, the sum of the
 * products of their deviations from the mean. Half of the symmetric matrix is kept, 4 bytes times
 * the square of the columns, and 32 bytes for each block that has a place, for the check that all
 * blocks are there. Not for several threads at once.
 *
 * <p>Rows are processed in chunks. The means of the earlier rows are subtracted from a chunk, so
 * that products in the elements' type lose no accuracy with large means, and chunks are merged in
 * double (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
 * variances", 1979).
 */
final class Scatter {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /**
   * Sums of squares in FLOAT between this limit and {@link #MOST_SQUARE} neither overflowed nor
   * underflowed.
   */
  private static final float LEAST_SQUARE = 1e-20f;

  private static final float MOST_SQUARE = 1e30f;

  private final ElementType type;
  private final int cols;
  private final boolean isPlaced;
  private final TaskGrams grams;
  private final BoxList boxes = new BoxList(BlockKind.MATRIX.rank());
  private final double[] means;
  // Scatter of each pair of columns, from the diagonal on, row by row.
  private final double[] products;
  private long rows; // number of rows that the means and products are computed from
  // Subtracts the shift while it copies rows to the chunk; null before the first row.
  private CenteredRows centered;
  // The rows of the chunk, (rows, cols), in memory of the multiplier; null before its first row.
  private HostMemory chunk;
  private int most; // number of rows of a full chunk
  private int pending; // number of rows in the chunk
  private double[] shift; // numbers subtracted from the chunk's columns; null if not known yet

  /**
   * @param backend backend that computes the products of columns
   */
  Scatter(ElementType type, Covariances.Rows matrix, Backend backend) {
    this.type = type;
    this.cols = matrix.cols();
    this.isPlaced = matrix.arePlaced();
    this.grams = new TaskGrams(backend);
    this.means = new double[cols];
    this.products = new double[Math.toIntExact((long) cols * (cols + 1) / 2)];
  }

  /**
   * Adds the rows of a block.
   *
   * @param operator operator's name, for messages
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
    HostMemory values = block.planes().get(0);
    long rowBytes = (long) cols * type.bytes();
    int count = block.size().get(0);
    for (int row = 0; row < count; ) {
      if (chunk == null) {
        begin();
      }
      int some = Math.min(count - row, most - pending);
      HostMemory from = values.slice(row * rowBytes, some * rowBytes);
      HostMemory to = chunk.slice(pending * rowBytes, some * rowBytes);
      if (shift == null) {
        from.copyTo(to);
      } else {
        centered.move(from, to);
      }
      row += some;
      pending += some;
      if (pending == most) {
        fold();
      }
    }
  }

  /**
   * Begins a chunk. For the first chunk, the numbers to subtract are known only when all of its
   * rows are there.
   */
  private void begin() {
    most = grams.rows(cols);
    chunk = grams.begin(most, cols, type);
    if (centered == null) {
      centered = CenteredRows.of(type, cols);
    }
    shift = null;
    if (rows > 0) {
      shift = finite(means.clone());
      centered.begin(shift);
    }
  }

  // ---- chunks

  /** Adds the rows of the chunk to the means and products of the rows before. */
  private void fold() {
    if (pending == 0) {
      return;
    }
    long bytes = (long) pending * cols * type.bytes();
    HostMemory values = chunk.slice(0, bytes);
    if (shift == null) {
      shift = finite(ownMeans(values));
      centered.begin(shift);
      centered.move(values, values);
    }
    double[] left = finiteSums(values, centered.sums().clone());
    double[] scales = new double[cols];
    Arrays.fill(scales, 1);
    HostMemory squares = grams.of(pending);
    if (type == ElementType.FLOAT32 && scale(values, squares, scales)) {
      values.copyTo(grams.begin(pending, cols, type));
      squares = grams.of(pending);
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
    chunk = null;
  }

  /**
   * The means of the first chunk's rows, which are subtracted from this chunk. From later chunks
   * the means of all earlier rows are subtracted. The scatter about these means is at most twice
   * the scatter about the means of all rows.
   */
  private double[] ownMeans(HostMemory values) {
    // The first row is the reference, so that equal numbers give exactly zero.
    double[] first = new double[cols];
    double[] row = new double[cols];
    double[] sums = new double[cols];
    float[] room = new float[cols];
    ArrayValues.read(values, type, 0, first, room, cols);
    for (int i = 0; i < pending; i++) {
      ArrayValues.read(values, type, i * cols, row, room, cols);
      for (int j = 0; j < cols; j++) {
        sums[j] += row[j] - first[j];
      }
    }
    Arrays.setAll(sums, j -> first[j] + sums[j] / pending);
    return sums;
  }

  private static double[] finite(double[] shift) {
    for (int j = 0; j < shift.length; j++) {
      shift[j] = Double.isFinite(shift[j]) ? shift[j] : 0;
    }
    return shift;
  }

  /** The sum of each column's differences; NaN for columns with numbers that are not finite. */
  private double[] finiteSums(HostMemory values, double[] sums) {
    double[] row = new double[cols];
    float[] room = new float[cols];
    boolean[] isFinite = new boolean[cols];
    boolean areAll = true;
    for (int j = 0; j < cols; j++) {
      isFinite[j] = Double.isFinite(sums[j]);
      areAll &= isFinite[j];
      sums[j] = isFinite[j] ? sums[j] : 0;
    }
    for (int i = 0; i < pending && !areAll; i++) { // the sums may only be too large for FLOAT
      ArrayValues.read(values, type, i * cols, row, room, cols);
      for (int j = 0; j < cols; j++) {
        sums[j] += isFinite[j] ? 0 : row[j];
      }
    }
    for (int j = 0; j < cols; j++) {
      sums[j] = Double.isFinite(sums[j]) ? sums[j] : Double.NaN;
    }
    return sums;
  }

  /**
   * Divides the chunk's columns whose squares FLOAT cannot hold by powers of two.
   *
   * @param squares sums of squares of the chunk's columns
   * @param scales gets the powers of two, for the columns that are divided
   * @return false if no column is divided
   */
  private boolean scale(HostMemory values, HostMemory squares, double[] scales) {
    boolean isScaled = false;
    float[] squareOfOne = new float[1];
    float[] column = new float[pending];
    for (int j = 0; j < cols; j++) {
      ArrayValues.read(squares, j * cols + j, squareOfOne, 1);
      float square = squareOfOne[0];
      if (square > LEAST_SQUARE && square < MOST_SQUARE) {
        continue;
      }
      float largest = 0;
      long at = values.offset() + (long) j * Float.BYTES;
      for (int i = 0; i < pending; i++) {
        column[i] = UNSAFE.getFloat(values.base(), at + (long) i * cols * Float.BYTES);
        largest = Math.max(largest, Math.abs(column[i]));
      }
      if (largest > 0 && largest < Float.POSITIVE_INFINITY) {
        int exponent = Math.getExponent(largest);
        scales[j] = Math.scalb(1.0, exponent);
        for (int i = 0; i < pending; i++) {
          UNSAFE.putFloat(
              values.base(), at + (long) i * cols * Float.BYTES, Math.scalb(column[i], -exponent));
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
        // The first rows have no weight: zero times an infinite square of a large mean would be
        // NaN.
        double between = rows == 0 ? 0 : apart[i] * apart[j] * weight;
        products[at] += otherProducts[at] + between;
      }
    }
    Arrays.setAll(means, j -> means[j] + apart[j] * (others / all));
    rows += others;
  }

  // ---- results

  /** Adds the rows of another object. */
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
   * @param ddof number that is subtracted from the count of rows before the division by it
   * @throws IllegalArgumentException if the blocks leave holes in the matrix, or overlap
   */
  ArrayData covariances(BlockArguments known, double ddof) {
    double divisor = Math.max(0, checked(known) - ddof);
    return square((i, j, product) -> product / divisor);
  }

  /**
   * The correlations of all pairs of columns, (cols, cols): NaN for constant columns. A column is
   * constant if its deviations are not larger than the rounding error of its mean can explain.
   *
   * @throws IllegalArgumentException if the blocks leave holes in the matrix, or overlap
   */
  ArrayData correlations(BlockArguments known) {
    double rounding = Math.ulp(1.0) * Math.min(checked(known), TaskGrams.mostRows(cols));
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

  /**
   * Adds the last chunk, checks that the blocks cover the matrix, and returns the count of rows.
   */
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

  /** Computes an element of a result from the numbers of two columns and their sum of products. */
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

  /** The bytes for {@link #deserialize}: boxes, the count of rows, means, products. */
  byte[] serialize() {
    fold();
    long bytes =
        boxes.bytes() + Long.BYTES + (long) Double.BYTES * (means.length + products.length);
    ByteBuffer buffer = ByteBuffer.allocate(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
    boxes.putInto(buffer);
    buffer.putLong(rows).asDoubleBuffer().put(means).put(products);
    return buffer.array();
  }

  /** Takes the bytes of {@link #serialize} into this object, which has no rows yet. */
  Scatter deserialize(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    boxes.takeFrom(buffer);
    rows = buffer.getLong();
    buffer.asDoubleBuffer().get(means).get(products);
    return this;
  }
}

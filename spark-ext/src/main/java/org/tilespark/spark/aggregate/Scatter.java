package org.tilespark.spark.aggregate;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * How the rows of some blocks of a matrix scatter about their mean: the sums of the products of any
 * two columns, of which the means were subtracted. Half of them is kept, 4 bytes times the square
 * of the columns, and 32 bytes for each block, for the check that all blocks are there. Not for
 * several threads at once.
 *
 * <p>Rows are taken in chunks. A chunk's own means are subtracted from it, so that a product in the
 * elements' type loses nothing by large means, and chunks are joined in double (Chan, Golub and
 * LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
 */
final class Scatter {
  /** Elements of a chunk: 1 MiB of FLOAT. */
  private static final int CHUNK = 1 << 18;

  /** Sums of squares of FLOAT between these lost nothing to its range. */
  private static final float LEAST_SQUARE = 1e-20f;

  private static final float MOST_SQUARE = 1e30f;

  private final ElementType type;
  private final int cols;
  private final BoxList boxes = new BoxList(BlockKind.MATRIX.rank());
  private final double[] means;
  private final double[] products; // (cols, cols) from the diagonal on, row by row
  private long rows; // of which these are the means and products
  private Object chunk; // float[] or double[], (rows, cols); null before the first row
  private int pending; // rows in the chunk

  /**
   * @param cols columns of the matrix
   */
  Scatter(ElementType type, int cols) {
    this.type = type;
    this.cols = cols;
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
    boxes.add(block.box());
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
    Multiplier multiplier = ExecutorRuntime.current().hostMultiplier();
    MultiplyProblem gram = MultiplyProblem.dense(cols, pending, cols, type, true, false);
    double[] own;
    double[] ofChunk = new double[products.length];
    HostMemory rowsOfChunk = memory(0, pending);
    if (chunk instanceof float[] values) {
      own = center(values);
      float[] squares = new float[cols * cols];
      multiplier.multiply(gram, rowsOfChunk, rowsOfChunk, HostMemory.ofArray(squares));
      int[] exponents = new int[cols];
      if (scale(values, squares, exponents)) {
        multiplier.multiply(gram, rowsOfChunk, rowsOfChunk, HostMemory.ofArray(squares));
      }
      for (int i = 0, at = 0; i < cols; i++) {
        for (int j = i; j < cols; j++) {
          ofChunk[at++] = Math.scalb((double) squares[i * cols + j], exponents[i] + exponents[j]);
        }
      }
    } else {
      own = center((double[]) chunk);
      double[] squares = new double[cols * cols];
      multiplier.multiply(gram, rowsOfChunk, rowsOfChunk, HostMemory.ofArray(squares));
      for (int i = 0, at = 0; i < cols; i++) {
        System.arraycopy(squares, i * cols + i, ofChunk, at, cols - i);
        at += cols - i;
      }
    }
    join(pending, own, ofChunk);
    pending = 0;
  }

  /** Subtracts the means of the chunk's columns; the means. */
  private double[] center(float[] values) {
    double[] own = new double[cols];
    for (int row = 0; row < pending * cols; row += cols) {
      for (int j = 0; j < cols; j++) {
        own[j] += values[row + j];
      }
    }
    Arrays.setAll(own, j -> own[j] / pending);
    for (int row = 0; row < pending * cols; row += cols) {
      for (int j = 0; j < cols; j++) {
        values[row + j] = (float) (values[row + j] - own[j]);
      }
    }
    return own;
  }

  /**
   * Divides the chunk's columns whose squares FLOAT cannot hold by powers of two.
   *
   * @param squares of the chunk's columns
   * @param exponents takes those of the powers, 0 for columns that stay
   * @return false if all columns stay
   */
  private boolean scale(float[] values, float[] squares, int[] exponents) {
    boolean isScaled = false;
    for (int j = 0; j < cols; j++) {
      float square = squares[j * cols + j];
      if (square > LEAST_SQUARE && square < MOST_SQUARE) {
        continue;
      }
      float largest = 0;
      for (int at = j; at < pending * cols; at += cols) {
        largest = Math.max(largest, Math.abs(values[at]));
      }
      if (largest > 0 && largest < Float.POSITIVE_INFINITY) {
        exponents[j] = Math.getExponent(largest);
        for (int at = j; at < pending * cols; at += cols) {
          values[at] = Math.scalb(values[at], -exponents[j]);
        }
        isScaled = true;
      }
    }
    return isScaled;
  }

  private double[] center(double[] values) {
    double[] own = new double[cols];
    for (int row = 0; row < pending * cols; row += cols) {
      for (int j = 0; j < cols; j++) {
        own[j] += values[row + j];
      }
    }
    Arrays.setAll(own, j -> own[j] / pending);
    for (int row = 0; row < pending * cols; row += cols) {
      for (int j = 0; j < cols; j++) {
        values[row + j] -= own[j];
      }
    }
    return own;
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
    long[] extents = known.extents().isEmpty() ? boxes.reached() : known.extents().get().toArray();
    boxes.check(extents, BlockKind.MATRIX, false, known.operator());
    return rows;
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

  /** What {@link #serialize} wrote. */
  static Scatter deserialize(ElementType type, int cols, byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    Scatter scatter = new Scatter(type, cols);
    scatter.boxes.takeFrom(buffer);
    scatter.rows = buffer.getLong();
    buffer.asDoubleBuffer().get(scatter.means).get(scatter.products);
    return scatter;
  }
}

package org.tilespark.spark.aggregate;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;

/**
 * Sums of the columns of some blocks of a matrix: 16 bytes for each column of each range of columns
 * that blocks have, and 32 for each block, for the check that all blocks are there. Not for several
 * threads at once.
 *
 * <p>Sums are computed in double and their rounding errors are summed separately (Knuth's two-sum,
 * as in Neumaier's summation), so the order of the blocks changes a mean by less than one rounding.
 */
final class ColumnSums {
  /** The columns of the matrix that a block has. */
  private record Range(long col, int cols) {
    long end() {
      return col + cols;
    }
  }

  /**
   * Sums of columns. The exact ones are near {@code sum + error}; {@code error} is meaningless if
   * sum is not finite.
   */
  private record Sums(double[] sum, double[] error) {
    Sums(int cols) {
      this(new double[cols], new double[cols]);
    }

    /** Adds {@code count} numbers to the sums of the columns from {@code col} on. */
    void add(double[] values, int from, int col, int count) {
      for (int i = 0; i < count; i++) {
        double a = sum[col + i];
        double b = values[from + i];
        double s = a + b;
        double bRounded = s - a;
        error[col + i] += (a - (s - bRounded)) + (b - bRounded);
        sum[col + i] = s;
      }
    }

    void add(Sums other, int from, int col, int count) {
      add(other.sum, from, col, count);
      for (int i = 0; i < count; i++) {
        error[col + i] += other.error[from + i];
      }
    }
  }

  private final Map<Range, Sums> ranges =
      new TreeMap<>(Comparator.comparingLong(Range::col).thenComparingInt(Range::cols));
  private final BoxList boxes = new BoxList(BlockKind.MATRIX.rank());

  /** Adds one plane of a block: its values, or their imaginary parts. */
  void add(Block block, int plane, ElementType type) {
    boxes.add(block.box());
    int cols = block.size().get(1);
    Range columns = new Range(block.offset().get(1), cols);
    Sums sums = ranges.computeIfAbsent(columns, range -> new Sums(cols));
    HostMemory values = block.planes().get(plane);
    int count = block.count();
    int chunk = Math.min(ArrayValues.CHUNK, count);
    double[] numbers = new double[chunk];
    float[] floats = new float[type == ElementType.FLOAT32 ? chunk : 0];
    for (int start = 0; start < count; start += chunk) {
      int length = Math.min(chunk, count - start);
      ArrayValues.read(values, type, start, numbers, floats, length);
      int col = start % cols;
      for (int i = 0; i < length; col = 0) {
        int run = Math.min(cols - col, length - i);
        sums.add(numbers, i, col, run);
        i += run;
      }
    }
  }

  /** Adds the sums of other blocks. */
  ColumnSums merge(ColumnSums other) {
    boxes.add(other.boxes);
    other.ranges.forEach(
        (range, sums) ->
            ranges.computeIfAbsent(range, r -> new Sums(r.cols())).add(sums, 0, 0, range.cols()));
    return this;
  }

  /**
   * The means of the columns of each range that some block has, in the order of the ranges: structs
   * of col, cols, means, and each mean's rounding error.
   *
   * @param known arguments of the operator, with the extents of the matrix if they are known
   * @throws IllegalArgumentException if the blocks leave holes in the matrix, or overlap
   */
  ArrayData means(BlockArguments known) {
    long[] extents = known.extents().isEmpty() ? boxes.reached() : known.extents().get().toArray();
    boxes.check(extents, BlockKind.MATRIX, false, known.operator());
    // Ranges of blocks with different cuts may overlap: cut them at all ends, so that each piece is
    // completely inside or outside a range.
    long[] cuts =
        ranges.keySet().stream()
            .flatMapToLong(range -> LongStream.of(range.col(), range.end()))
            .sorted()
            .distinct()
            .toArray();
    Sums[] pieces = new Sums[Math.max(0, cuts.length - 1)];
    ranges.forEach(
        (range, sums) -> {
          for (int p = first(cuts, range); p < pieces.length && cuts[p] < range.end(); p++) {
            int cols = Math.toIntExact(cuts[p + 1] - cuts[p]);
            pieces[p] = pieces[p] == null ? new Sums(cols) : pieces[p];
            pieces[p].add(sums, Math.toIntExact(cuts[p] - range.col()), 0, cols);
          }
        });
    return new GenericArrayData(
        ranges.keySet().stream()
            .map(range -> (Object) means(range, cuts, pieces, extents[0]))
            .toArray());
  }

  private static InternalRow means(Range range, long[] cuts, Sums[] pieces, long rows) {
    double[] means = new double[range.cols()];
    double[] rest = new double[range.cols()];
    int at = 0;
    for (int p = first(cuts, range); at < range.cols(); p++) {
      for (int i = 0; i < pieces[p].sum().length; i++, at++) {
        double sum = pieces[p].sum()[i];
        double error = pieces[p].error()[i];
        double mean = Double.isFinite(sum) ? (sum + error) / rows : sum;
        means[at] = mean;
        if (Double.isFinite(mean)) {
          rest[at] = (Math.fma(-mean, (double) rows, sum) + error) / rows;
        }
      }
    }
    return new GenericInternalRow(
        new Object[] {
          range.col(),
          range.cols(),
          UnsafeArrayData.fromPrimitiveArray(means),
          UnsafeArrayData.fromPrimitiveArray(rest)
        });
  }

  private static int first(long[] cuts, Range range) {
    return Arrays.binarySearch(cuts, range.col());
  }

  /** The bytes for {@link #deserialize}: boxes, then ranges with their sums. */
  byte[] serialize() {
    long bytes = boxes.bytes() + Integer.BYTES;
    for (Range range : ranges.keySet()) {
      bytes += Long.BYTES + Integer.BYTES + 2L * Double.BYTES * range.cols();
    }
    ByteBuffer buffer = ByteBuffer.allocate(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
    boxes.putInto(buffer);
    buffer.putInt(ranges.size());
    ranges.forEach(
        (range, sums) -> {
          buffer.putLong(range.col()).putInt(range.cols());
          for (double[] part : new double[][] {sums.sum(), sums.error()}) {
            buffer.asDoubleBuffer().put(part);
            buffer.position(buffer.position() + Double.BYTES * part.length);
          }
        });
    return buffer.array();
  }

  /** Reads the bytes of {@link #serialize}. */
  static ColumnSums deserialize(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    ColumnSums sums = new ColumnSums();
    sums.boxes.takeFrom(buffer);
    for (int rangeCount = buffer.getInt(); rangeCount > 0; rangeCount--) {
      Range range = new Range(buffer.getLong(), buffer.getInt());
      Sums of = new Sums(range.cols());
      for (double[] part : new double[][] {of.sum(), of.error()}) {
        buffer.asDoubleBuffer().get(part);
        buffer.position(buffer.position() + Double.BYTES * part.length);
      }
      sums.ranges.put(range, of);
    }
    return sums;
  }
}

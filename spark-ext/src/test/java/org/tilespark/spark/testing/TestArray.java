package org.tilespark.spark.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;

/**
 * A whole array whose elements are their own linear index (narrow types keep its low bytes), cut
 * into blocks; and the check that blocks hold a permutation of it, element by element, by index
 * arithmetic alone.
 */
public record TestArray(
    BlockKind kind, ElementType type, Shape extents, Shape blockShape, boolean complex) {

  public static TestArray matrix(
      ElementType type, long rows, long cols, int blockRows, int blockCols) {
    return new TestArray(
        BlockKind.MATRIX, type, Shape.of(rows, cols), Shape.of(blockRows, blockCols), false);
  }

  public static TestArray volume(
      ElementType type, long nx, long ny, long nz, int bx, int by, int bz) {
    return new TestArray(BlockKind.VOLUME, type, Shape.of(nx, ny, nz), Shape.of(bx, by, bz), false);
  }

  public TestArray withImag() {
    return new TestArray(kind, type, extents, blockShape, true);
  }

  public StructType schema() {
    List<StructField> fields = new ArrayList<>();
    kind.offsetColumns().forEach(n -> fields.add(field(n, DataTypes.LongType)));
    kind.sizeColumns().forEach(n -> fields.add(field(n, DataTypes.IntegerType)));
    var values = DataTypes.createArrayType(BlockSchema.sparkType(type), true);
    fields.add(field("values", values));
    if (complex) {
      fields.add(field("imag", values));
    }
    return new StructType(fields.toArray(StructField[]::new));
  }

  /** The blocks as a DataFrame with a further column {@code tag}, spread over partitions. */
  public Dataset<Row> toDataFrame(SparkSession spark, int partitions) {
    List<Row> rows = new ArrayList<>();
    for (long[] offset : offsets()) {
      long[] size = size(offset);
      List<Object> cells = new ArrayList<>();
      for (long o : offset) {
        cells.add(o);
      }
      for (long s : size) {
        cells.add((int) s);
      }
      cells.add(block(offset, size, false));
      if (complex) {
        cells.add(block(offset, size, true));
      }
      cells.add(rows.size() % 5 == 4 ? null : tag(offset));
      rows.add(RowFactory.create(cells.toArray()));
    }
    return SpreadRows.of(spark, rows, schema().add("tag", DataTypes.StringType), partitions);
  }

  /** The parts of this array in the given boxes as blocks, in this order, without {@code tag}. */
  public Dataset<Row> toDataFrame(SparkSession spark, int partitions, List<Box> boxes) {
    List<Row> rows = new ArrayList<>();
    for (Box box : boxes) {
      List<Object> cells = new ArrayList<>();
      for (long o : box.offset()) {
        cells.add(o);
      }
      for (long s : box.sizes()) {
        cells.add((int) s);
      }
      cells.add(block(box.offset(), box.sizes(), false));
      if (complex) {
        cells.add(block(box.offset(), box.sizes(), true));
      }
      rows.add(RowFactory.create(cells.toArray()));
    }
    return SpreadRows.of(spark, rows, schema(), partitions);
  }

  /** Boxes of many sizes that tile this array, cut at random. */
  public List<Box> randomTiling(Random random) {
    List<Box> boxes = new ArrayList<>();
    boxes.add(Box.at(new long[extents.rank()], extents.toArray()));
    for (int cut = 0; cut < 25; cut++) {
      Box box = boxes.remove(random.nextInt(boxes.size()));
      int axis = random.nextInt(extents.rank());
      if (box.size(axis) == 1) {
        boxes.add(box);
        continue;
      }
      long[] middle = box.offset();
      middle[axis] += 1 + random.nextInt((int) box.size(axis) - 1);
      long[] high = box.offset();
      for (int i = 0; i < high.length; i++) {
        high[i] = box.high(i);
      }
      long[] firstHigh = high.clone();
      firstHigh[axis] = middle[axis];
      boxes.add(Box.between(box.offset(), firstHigh));
      boxes.add(Box.between(middle, high));
    }
    return boxes;
  }

  public int blockCount() {
    return offsets().size();
  }

  /** Asserts that {@code df} holds this array with its axes permuted, in permuted blocks. */
  public void assertPermuted(Permutation permutation, Dataset<Row> df) {
    List<Row> rows = df.collectAsList();
    assertEquals(blockCount(), rows.size(), "blocks");
    int rank = kind.rank();
    Permutation inverse = permutation.inverse();
    for (Row row : rows) {
      long[] outOffset = new long[rank];
      long[] outSize = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        outOffset[axis] = row.<Long>getAs(kind.offsetColumns().get(axis));
        outSize[axis] = row.<Integer>getAs(kind.sizeColumns().get(axis));
      }
      long[] offset = inverse.apply(outOffset);
      assertEquals(Shape.of(size(offset)), Shape.of(inverse.apply(outSize)), "size of the block");
      String tag = row.getAs("tag");
      if (tag != null) {
        assertEquals(tag(offset), tag, "further column");
      }
      for (String plane : complex ? List.of("values", "imag") : List.of("values")) {
        List<?> values = row.getList(row.fieldIndex(plane));
        assertEquals(Shape.of(outSize).elements(), values.size());
        long[] local = new long[rank];
        for (int i = 0; i < values.size(); i++) {
          unravel(i, outSize, local);
          long[] at = new long[rank];
          for (int axis = 0; axis < rank; axis++) {
            at[axis] = outOffset[axis] + local[axis];
          }
          assertEquals(
              value(ravel(inverse.apply(at), extents.toArray()), plane.equals("imag")),
              values.get(i));
        }
      }
    }
  }

  /**
   * Asserts that blocks tile an array whose elements are some of this one.
   *
   * @param shape shape of the array
   * @param source place in this array of an element of it
   */
  public void assertElements(Shape shape, UnaryOperator<long[]> source, Dataset<Row> df) {
    int rank = kind.rank();
    BitSet found = new BitSet();
    for (Row row : df.collectAsList()) {
      long[] offset = new long[rank];
      long[] size = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        offset[axis] = row.<Long>getAs(kind.offsetColumns().get(axis));
        size[axis] = row.<Integer>getAs(kind.sizeColumns().get(axis));
        assertTrue(offset[axis] + size[axis] <= shape.extent(axis), () -> row + " in " + shape);
      }
      for (String plane : complex ? List.of("values", "imag") : List.of("values")) {
        List<?> values = row.getList(row.fieldIndex(plane));
        assertEquals(Shape.of(size).elements(), values.size());
        long[] at = new long[rank];
        for (int i = 0; i < values.size(); i++) {
          unravel(i, size, at);
          for (int axis = 0; axis < rank; axis++) {
            at[axis] += offset[axis];
          }
          int index = (int) ravel(at, shape.toArray());
          assertEquals(plane.equals("imag"), found.get(2 * index), "first of its kind");
          found.set(2 * index + (plane.equals("imag") ? 1 : 0));
          long from = ravel(source.apply(at.clone()), extents.toArray());
          assertEquals(value(from, plane.equals("imag")), values.get(i), plane);
        }
      }
    }
    assertEquals(shape.elements() * (complex ? 2 : 1), found.cardinality(), "elements");
  }

  private List<long[]> offsets() {
    List<long[]> all = new ArrayList<>();
    long[] at = new long[kind.rank()];
    while (at[0] < extents.extent(0)) {
      all.add(at.clone());
      int axis = kind.rank() - 1;
      at[axis] += blockShape.extent(axis);
      while (axis > 0 && at[axis] >= extents.extent(axis)) {
        at[axis] = 0;
        axis--;
        at[axis] += blockShape.extent(axis);
      }
    }
    return all;
  }

  private long[] size(long[] offset) {
    long[] size = new long[offset.length];
    for (int axis = 0; axis < size.length; axis++) {
      size[axis] = Math.min(blockShape.extent(axis), extents.extent(axis) - offset[axis]);
    }
    return size;
  }

  private List<Object> block(long[] offset, long[] size, boolean imag) {
    List<Object> values = new ArrayList<>();
    long[] local = new long[size.length];
    for (long i = 0; i < Shape.of(size).elements(); i++) {
      unravel(i, size, local);
      long[] at = new long[size.length];
      for (int axis = 0; axis < size.length; axis++) {
        at[axis] = offset[axis] + local[axis];
      }
      values.add(value(ravel(at, extents.toArray()), imag));
    }
    return values;
  }

  private Object value(long index, boolean imag) {
    long n = imag ? -index - 1 : index;
    return switch (type) {
      case INT8 -> (byte) n;
      case INT16 -> (short) n;
      case INT32 -> (int) n;
      case INT64 -> n << 33 | (n & 0xff);
      case FLOAT32 -> (float) n;
      case FLOAT64 -> n / 8.0;
    };
  }

  private static String tag(long[] offset) {
    return "block " + java.util.Arrays.toString(offset);
  }

  private static void unravel(long index, long[] shape, long[] out) {
    for (int axis = shape.length - 1; axis >= 0; axis--) {
      out[axis] = index % shape[axis];
      index /= shape[axis];
    }
  }

  private static long ravel(long[] at, long[] shape) {
    long index = 0;
    for (int axis = 0; axis < shape.length; axis++) {
      index = index * shape[axis] + at[axis];
    }
    return index;
  }

  private static StructField field(String name, org.apache.spark.sql.types.DataType type) {
    return DataTypes.createStructField(name, type, true);
  }
}

package org.tilespark.spark.transfer;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.testing.SpreadRows;

/**
 * An array of random bytes as packed blocks, ragged at the far edges, with further columns before,
 * among and after the block's own.
 *
 * @param rows {@code weight}, places, {@code label}, sizes, {@code data}, {@code tags}
 */
record PackedArray(BlockKind kind, NpyType type, Shape extents, Shape blockShape, List<Row> rows) {

  static PackedArray random(NpyType type, Shape extents, Shape blockShape, Random random) {
    BlockKind kind = extents.rank() == 2 ? BlockKind.MATRIX : BlockKind.VOLUME;
    List<Row> rows = new ArrayList<>();
    long[] at = new long[extents.rank()];
    while (extents.elements() > 0 && at[0] < extents.extent(0)) {
      rows.add(row(type, at, extents, blockShape, random));
      int axis = at.length - 1;
      at[axis] += blockShape.extent(axis);
      while (axis > 0 && at[axis] >= extents.extent(axis)) {
        at[axis] = 0;
        axis--;
        at[axis] += blockShape.extent(axis);
      }
    }
    return new PackedArray(kind, type, extents, blockShape, rows);
  }

  private static Row row(NpyType type, long[] at, Shape extents, Shape blockShape, Random random) {
    List<Object> cells = new ArrayList<>();
    cells.add(random.nextDouble());
    Arrays.stream(at).forEach(cells::add);
    cells.add(random.nextBoolean() ? null : "block " + Arrays.toString(at));
    int count = 1;
    for (int axis = 0; axis < at.length; axis++) {
      int size = (int) Math.min(blockShape.extent(axis), extents.extent(axis) - at[axis]);
      cells.add(size);
      count *= size;
    }
    cells.add(bytes(type, count, random));
    cells.add(List.of((int) at[0], random.nextInt()));
    return RowFactory.create(cells.toArray());
  }

  /** Elements of any bits, NaNs of all kinds among them; of bool, False and True. */
  static byte[] bytes(NpyType type, int count, Random random) {
    byte[] bytes = new byte[count * type.elementBytes()];
    random.nextBytes(bytes);
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int number = 0; number < count * type.parts(); number++) {
      boolean nan = random.nextInt(4) == 0;
      switch (type) {
        case BOOL -> bytes[number] &= 1;
        case FLOAT16 -> {
          if (nan) {
            buffer.putShort(2 * number, (short) (0x7c00 | buffer.getShort(2 * number)));
          }
        }
        case FLOAT32, COMPLEX64 -> {
          if (nan) {
            buffer.putInt(4 * number, 0x7f800000 | buffer.getInt(4 * number));
          }
        }
        case FLOAT64, COMPLEX128 -> {
          if (nan) {
            buffer.putLong(8 * number, 0x7ffL << 52 | buffer.getLong(8 * number));
          }
        }
        case INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32 -> {}
      }
    }
    return bytes;
  }

  StructType schema() {
    StructType schema = new StructType().add("weight", DataTypes.DoubleType, false);
    for (String name : kind.offsetColumns()) {
      schema = schema.add(name, DataTypes.LongType);
    }
    schema = schema.add("label", DataTypes.StringType);
    for (String name : kind.sizeColumns()) {
      schema = schema.add(name, DataTypes.IntegerType);
    }
    return schema
        .add("data", DataTypes.BinaryType)
        .add("tags", DataTypes.createArrayType(DataTypes.IntegerType));
  }

  Dataset<Row> frame(SparkSession spark) {
    return SpreadRows.of(spark, rows, schema(), 3);
  }

  /** The cells of each block by its place; bytes as text. */
  Map<String, List<String>> cells() {
    return cells(rows, kind);
  }

  /** As the other one, of packed blocks in a frame. */
  static Map<String, List<String>> cells(Dataset<Row> packed, BlockKind kind) {
    return cells(packed.collectAsList(), kind);
  }

  private static Map<String, List<String>> cells(List<Row> rows, BlockKind kind) {
    Map<String, List<String>> blocks = new TreeMap<>();
    for (Row row : rows) {
      List<String> cells = new ArrayList<>();
      for (int i = 0; i < row.length(); i++) {
        Object cell = row.get(i);
        cells.add(
            cell instanceof byte[] bytes
                ? Arrays.toString(bytes)
                : String.valueOf(
                    row.schema() != null && cell != null && i == row.length() - 1
                        ? row.getList(i)
                        : cell));
      }
      String place = cells.subList(1, 1 + kind.rank()).toString();
      if (blocks.put(place, cells) != null) {
        throw new AssertionError("two blocks at " + place);
      }
    }
    return blocks;
  }
}

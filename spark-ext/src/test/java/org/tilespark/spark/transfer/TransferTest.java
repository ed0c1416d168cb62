package org.tilespark.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.numpy.HalfFloat;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.testing.SparkTest;

/** Blocks to bytes and back: the bits, the columns, the metadata and the plans. */
class TransferTest extends SparkTest {
  private static final Shape MATRIX = Shape.of(11, 13);
  private static final Shape MATRIX_BLOCK = Shape.of(4, 5);
  private static final Shape VOLUME = Shape.of(5, 7, 9);
  private static final Shape VOLUME_BLOCK = Shape.of(3, 4, 9);

  /** The blocks of an array, with all that can be stated of it. */
  static Dataset<Row> unpack(PackedArray array, Dataset<Row> df) {
    return Transfers.unpack(
        array.kind(),
        df,
        "dtype => '" + array.type().numpyName() + "'",
        "extents => '" + array.extents().text() + "'",
        "blockShape => '" + array.blockShape().text() + "'");
  }

  private static List<PackedArray> both(NpyType type) {
    Random random = new Random(type.ordinal());
    return List.of(
        PackedArray.random(type, MATRIX, MATRIX_BLOCK, random),
        PackedArray.random(type, VOLUME, VOLUME_BLOCK, random));
  }

  @ParameterizedTest
  @EnumSource
  void everyBitComesBack(NpyType type) {
    for (PackedArray array : both(type)) {
      assertComesBack(array, array.frame(spark));
    }
  }

  private static void assertComesBack(PackedArray array, Dataset<Row> frame) {
    Dataset<Row> blocks = unpack(array, frame);
    assertUnpacked(array, blocks);
    Dataset<Row> packed = Transfers.pack(array.kind(), blocks);
    assertEquals(array.cells(), PackedArray.cells(packed, array.kind()));
    assertArrayEquals(array.schema().fieldNames(), packed.columns());
    Dataset<Row> chosen =
        Transfers.pack(array.kind(), blocks, "dtype => '" + array.type().descr() + "'");
    assertEquals(array.cells(), PackedArray.cells(chosen, array.kind()));
  }

  /** Asserts that blocks hold the numbers of an array's bytes, as {@link #number} reads them. */
  private static void assertUnpacked(PackedArray array, Dataset<Row> blocks) {
    BlockKind kind = array.kind();
    NpyType type = array.type();
    int dataAt = array.schema().fieldIndex("data");
    List<String> names = new ArrayList<>(List.of(array.schema().fieldNames()));
    names.set(dataAt, "values");
    if (type.isComplex()) {
      names.add(dataAt + 1, "imag");
    }
    assertEquals(names, List.of(blocks.columns()));
    InternalRow[] rows = plan(blocks).executedPlan().executeCollect();
    assertEquals(array.rows().size(), rows.length);
    for (InternalRow row : rows) {
      Row from =
          array.rows().stream()
              .filter(each -> samePlace(each, row, kind))
              .findFirst()
              .orElseThrow();
      ByteBuffer bytes = ByteBuffer.wrap(from.<byte[]>getAs(dataAt)).order(ByteOrder.LITTLE_ENDIAN);
      for (int part = 0; part < type.parts(); part++) {
        ArrayData values = row.getArray(dataAt + part);
        assertEquals(bytes.capacity() / type.elementBytes(), values.numElements());
        for (int i = 0; i < values.numElements(); i++) {
          int at = i * type.elementBytes() + part * type.partBytes();
          assertEquals(number(type, bytes, at), bits(type.columnType(), values, i));
        }
      }
    }
  }

  private static boolean samePlace(Row expected, InternalRow row, BlockKind kind) {
    for (int axis = 0; axis < kind.rank(); axis++) {
      if (expected.getLong(1 + axis) != row.getLong(1 + axis)) {
        return false;
      }
    }
    return true;
  }

  /** The bits that a number has in its column. */
  private static long number(NpyType type, ByteBuffer bytes, int at) {
    return switch (type) {
      case INT8, BOOL -> bytes.get(at);
      case INT16 -> bytes.getShort(at);
      case INT32, FLOAT32, COMPLEX64 -> bytes.getInt(at);
      case INT64, FLOAT64, COMPLEX128 -> bytes.getLong(at);
      case UINT8 -> bytes.get(at) & 0xff;
      case UINT16 -> bytes.getShort(at) & 0xffff;
      case UINT32 -> bytes.getInt(at) & 0xffffffffL;
      case FLOAT16 -> HalfFloat.toFloatBits(bytes.getShort(at));
    };
  }

  private static long bits(ElementType type, ArrayData values, int i) {
    return switch (type) {
      case INT8 -> values.getByte(i);
      case INT16 -> values.getShort(i);
      case INT32 -> values.getInt(i);
      case INT64 -> values.getLong(i);
      case FLOAT32 -> Float.floatToRawIntBits(values.getFloat(i));
      case FLOAT64 -> Double.doubleToRawLongBits(values.getDouble(i));
    };
  }

  @Test
  void randomArrays() {
    long seed = Optional.ofNullable(Long.getLong("tilespark.test.seed")).orElse(System.nanoTime());
    Random random = new Random(seed);
    for (int round = 0; round < 15; round++) {
      int rank = 2 + random.nextInt(2);
      long[] extents = new long[rank];
      long[] block = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        extents[axis] = 1L + random.nextInt(rank == 2 ? 60 : 15);
        block[axis] = 1L + random.nextInt(rank == 2 ? 70 : 17);
        // few enough blocks for a job of some hundred milliseconds
        block[axis] = Math.max(block[axis], extents[axis] / 4);
      }
      NpyType type = NpyType.values()[random.nextInt(NpyType.values().length)];
      PackedArray array = PackedArray.random(type, Shape.of(extents), Shape.of(block), random);
      try {
        assertComesBack(array, array.frame(spark));
      } catch (Throwable t) {
        throw new AssertionError(
            "seed "
                + seed
                + ", round "
                + round
                + ": "
                + type
                + " "
                + array.extents()
                + " in "
                + array.blockShape(),
            t);
      }
    }
  }

  @Test
  void inEveryModeAndFromTheCache() {
    for (NpyType type : List.of(NpyType.COMPLEX64, NpyType.UINT8, NpyType.FLOAT64)) {
      for (PackedArray array : both(type)) {
        for (Map<String, String> mode : sampledModes()) {
          with(mode, () -> assertComesBack(array, array.frame(spark)));
        }
        for (boolean offHeap : new boolean[] {false, true}) {
          with(
              Map.of("spark.sql.columnVector.offheap.enabled", Boolean.toString(offHeap)),
              () -> {
                Dataset<Row> cached = array.frame(spark).cache();
                Dataset<Row> blocks = unpack(array, cached).cache();
                try {
                  assertComesBack(array, cached);
                  assertUnpacked(array, blocks);
                  assertEquals(
                      array.cells(),
                      PackedArray.cells(Transfers.pack(array.kind(), blocks), array.kind()));
                } finally {
                  blocks.unpersist();
                  cached.unpersist();
                }
              });
        }
      }
    }
  }

  @Test
  void framesWithoutBlocks() {
    for (PackedArray array : both(NpyType.COMPLEX128)) {
      Dataset<Row> none = array.frame(spark).where("weight > 2");
      Dataset<Row> blocks = unpack(array, none);
      assertEquals(0, blocks.count());
      assertEquals(List.of(), blocks.collectAsList());
      assertEquals(List.of(), Transfers.pack(array.kind(), blocks).collectAsList());
    }
    for (Shape extents : List.of(Shape.of(0, 5), Shape.of(3, 0, 4))) {
      Shape block = extents.rank() == 2 ? Shape.of(2, 2) : Shape.of(2, 2, 2);
      PackedArray empty = PackedArray.random(NpyType.INT16, extents, block, new Random(1));
      Dataset<Row> blocks = unpack(empty, empty.frame(spark));
      assertEquals(List.of(), blocks.collectAsList());
      ArrayMetadata metadata = metadata(blocks, "values");
      assertEquals(Optional.of(extents), metadata.extents(extents.rank()));
      assertEquals(extents.rank(), metadata.blockShape(extents.rank()).orElseThrow().rank());
    }
  }

  private static ArrayMetadata metadata(Dataset<Row> df, String column) {
    return ArrayMetadata.of(df.schema().apply(column).metadata());
  }

  @Tag("versions")
  @Test
  void metadataGoesThereAndBack() {
    PackedArray array = both(NpyType.UINT16).get(1);
    Dataset<Row> blocks = unpack(array, array.frame(spark));
    ArrayMetadata values = metadata(blocks, "values");
    assertEquals(Optional.of("<u2"), values.fileType());
    assertEquals(Optional.of(VOLUME), values.extents(3));
    assertEquals(Optional.of(VOLUME_BLOCK), values.blockShape(3));
    assertEquals(Optional.of("xyz"), values.axes());

    Dataset<Row> others =
        blocks.withMetadata(
            "values",
            Metadata.fromJson(
                values.withAxes("yzx").toMetadata().json().replaceFirst("\\{", "{\"of\":\"me\",")));
    Dataset<Row> packed = Transfers.pack(BlockKind.VOLUME, others, "dtype => 'int64'");
    Metadata data = packed.schema().apply("data").metadata();
    assertEquals(
        Metadata.fromJson(
            "{\"of\":\"me\",\"tilespark.extents\":\"5,7,9\",\"tilespark.blockShape\":\"3,4,9\","
                + "\"tilespark.axes\":\"yzx\",\"tilespark.fileType\":\"<i8\"}"),
        data);
    // Without dtype the metadata says what the bytes are.
    Dataset<Row> again = Transfers.unpack(BlockKind.VOLUME, packed);
    assertEquals(data, again.schema().apply("values").metadata());
    assertEquals("ARRAY<BIGINT>", again.schema().apply("values").dataType().sql());
    assertEquals(
        blocks
            .selectExpr("x", "y", "z", "transform(values, e -> bigint(e))")
            .orderBy("x", "y")
            .collectAsList(),
        again.select("x", "y", "z", "values").orderBy("x", "y").collectAsList());
    // A block's shape is clipped to the extents, as a source does.
    assertEquals(
        Optional.of(Shape.of(5, 2, 9)),
        metadata(Transfers.unpack(BlockKind.VOLUME, packed, "blockShape => '50,2,9'"), "values")
            .blockShape(3));
    ArrayMetadata forgotten =
        metadata(Transfers.unpack(BlockKind.VOLUME, packed, "extents => 'unknown'"), "values");
    assertEquals(Optional.empty(), forgotten.extents(3));
    assertEquals(Optional.of("yzx"), forgotten.axes());
  }

  @Test
  void typesByDefault() {
    PackedArray array = both(NpyType.UINT8).get(0);
    Dataset<Row> blocks = unpack(array, array.frame(spark));
    assertEquals("|u1", packedType(blocks));
    // Values that became FLOAT on the way are no uint8 any more, whatever the metadata says.
    Metadata stale = blocks.schema().apply("values").metadata();
    Dataset<Row> floats =
        blocks
            .withColumn("values", blocks.col("values").cast("array<float>"))
            .withMetadata("values", stale);
    assertEquals("<f4", packedType(floats));
    assertEquals("<f4", packedType(MatrixBlocks.scale(floats, 0.5)));
    assertEquals(
        "<i2",
        packedType(
            MatrixBlocks.withoutExtents(blocks)
                .withMetadata("values", new MetadataBuilder().putBoolean("other", true).build())));
    assertEquals("|u1", packedType(MatrixBlocks.transpose(blocks)));
    PackedArray complex = both(NpyType.COMPLEX64).get(0);
    assertEquals("<c8", packedType(unpack(complex, complex.frame(spark))));
    assertFalse(Transfers.pack(BlockKind.MATRIX, blocks).schema().apply("data").nullable());
    StructType schema = unpack(complex, complex.frame(spark)).schema();
    assertFalse(schema.apply("values").nullable() || schema.apply("imag").nullable());
    assertEquals(
        "values ARRAY<FLOAT> NOT NULL,imag ARRAY<FLOAT> NOT NULL",
        new StructType().add(schema.apply("values")).add(schema.apply("imag")).toDDL());
  }

  private static String packedType(Dataset<Row> matrix) {
    return metadata(Transfers.pack(BlockKind.MATRIX, matrix), "data").fileType().orElseThrow();
  }

  /** Operators of ours between bytes and bytes, without and with an exchange. */
  @Test
  void chainsWithOtherOperators() {
    Random random = new Random(5);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            PackedArray a = whole(Shape.of(11, 13), random);
            PackedArray b = whole(Shape.of(13, 7), random);
            plain(unpack(a, a.frame(spark))).createOrReplaceTempView("transfer_a");
            plain(unpack(b, b.frame(spark))).createOrReplaceTempView("transfer_b");
            Dataset<Row> packed =
                spark.sql(
                    "SELECT * FROM matrix_pack(TABLE(SELECT * FROM matrix_transpose(TABLE("
                        + "SELECT * FROM matrix_multiply(TABLE(transfer_a), TABLE(transfer_b),"
                        + " blockShape => '11,7')))), 'float64')");
            assertEquals(List.of(product(a, b)), doubles(packed));
            String explained = explained(packed);
            assertTrue(explained.contains("pack_block(float64"), explained);
            assertTrue(explained.contains("unpack_block(float64"), explained);
            assertTrue(explained.contains("Multiply"), explained);
          });
    }
  }

  /** Blocks of whole numbers from 0 to 9, as DOUBLE. */
  private static PackedArray whole(Shape extents, Random random) {
    PackedArray array = PackedArray.random(NpyType.FLOAT64, extents, MATRIX_BLOCK, random);
    for (Row row : array.rows()) {
      ByteBuffer bytes = bytes(row.getAs(array.schema().fieldIndex("data")));
      while (bytes.hasRemaining()) {
        bytes.putDouble(random.nextInt(10));
      }
    }
    return array;
  }

  private static ByteBuffer bytes(byte[] data) {
    return ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static Dataset<Row> plain(Dataset<Row> blocks) {
    return blocks.drop("weight", "label", "tags");
  }

  /** The elements of {@code (AB)^T}, row by row. */
  private static List<Double> product(PackedArray a, PackedArray b) {
    double[][] left = elements(a);
    double[][] right = elements(b);
    List<Double> product = new ArrayList<>();
    for (int col = 0; col < right[0].length; col++) {
      for (double[] row : left) {
        double sum = 0;
        for (int k = 0; k < row.length; k++) {
          sum += row[k] * right[k][col];
        }
        product.add(sum);
      }
    }
    return product;
  }

  private static double[][] elements(PackedArray array) {
    double[][] elements =
        new double[(int) array.extents().extent(0)][(int) array.extents().extent(1)];
    StructType schema = array.schema();
    for (Row row : array.rows()) {
      int top = (int) row.getLong(schema.fieldIndex("row"));
      int left = (int) row.getLong(schema.fieldIndex("col"));
      ByteBuffer bytes = bytes(row.getAs(schema.fieldIndex("data")));
      for (int i = 0; i < row.getInt(schema.fieldIndex("rows")); i++) {
        for (int j = 0; j < row.getInt(schema.fieldIndex("cols")); j++) {
          elements[top + i][left + j] = bytes.getDouble();
        }
      }
    }
    return elements;
  }

  private static List<List<Double>> doubles(Dataset<Row> packed) {
    List<List<Double>> blocks = new ArrayList<>();
    for (Row row : packed.collectAsList()) {
      ByteBuffer bytes = bytes(row.getAs("data"));
      List<Double> block = new ArrayList<>();
      while (bytes.hasRemaining()) {
        block.add(bytes.getDouble());
      }
      blocks.add(block);
    }
    return blocks;
  }

  @Tag("versions")
  @Test
  void filtersPassBelowAndUnreadColumnsAreNotMade() {
    PackedArray array = both(NpyType.FLOAT32).get(0);
    Dataset<Row> frame = array.frame(spark).localCheckpoint(); // which the optimizer leaves alone
    Dataset<Row> blocks = unpack(array, frame);
    String filtered = optimized(blocks.where("row >= 4 AND col = 5"));
    assertTrue(
        filtered.indexOf("unpack_block") < filtered.indexOf("Filter"), "below it: " + filtered);
    assertEquals(2, blocks.where("row >= 4 AND col = 5").count());
    assertFalse(optimized(blocks.select("row", "rows")).contains("unpack_block"));
    assertFalse(optimized(blocks.groupBy().count()).contains("unpack_block"));
    Dataset<Row> packed = Transfers.pack(BlockKind.MATRIX, blocks);
    assertFalse(optimized(packed.select("label")).contains("pack_block"));
    String below = optimized(packed.where("row < 4"));
    assertTrue(below.indexOf("pack_block") < below.indexOf("Filter"), below);
    Dataset<Row> imag = unpack(both(NpyType.COMPLEX64).get(0), frame).select("values");
    assertEquals(1, optimized(imag).split("unpack_block\\(", -1).length - 1, () -> optimized(imag));
  }
}

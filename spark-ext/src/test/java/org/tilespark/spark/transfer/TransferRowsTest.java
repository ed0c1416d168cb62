package org.tilespark.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.TileSparkException;
import org.tilespark.spark.numpy.NpyType;
import scala.collection.immutable.Seq;

/** The expressions over rows of every kind that Spark has: in memory of whichever sort, or not. */
class TransferRowsTest {
  private static final int ROWS = 3;
  private static final int COLS = 5;
  private static final int BOX = 4;

  private static StructType schema(DataType... elements) {
    StructType schema =
        new StructType()
            .add("row", DataTypes.LongType)
            .add("col", DataTypes.LongType)
            .add("rows", DataTypes.IntegerType)
            .add("cols", DataTypes.IntegerType);
    for (int i = 0; i < elements.length; i++) {
      schema = schema.add("c" + i, elements[i]);
    }
    return schema;
  }

  private static Seq<Expression> children(StructType schema) {
    List<Expression> children = new ArrayList<>();
    for (int i = 0; i < schema.length(); i++) {
      children.add(new BoundReference(i, schema.fields()[i].dataType(), true));
    }
    return ScalaInterop.seq(children);
  }

  private static PackedBlocks packed(NpyType type, boolean inOneColumn) {
    boolean isComplex = type.isComplex() && !inOneColumn;
    List<Integer> planes = isComplex ? List.of(BOX, BOX + 1) : List.of(BOX);
    return PackedBlocks.of(
        new BlockSchema(BlockKind.MATRIX, List.of(0, 1), List.of(2, 3), planes, type.columnType()),
        type,
        "test",
        Optional.of(Shape.of(100, 100)));
  }

  private static GenericInternalRow row(Object... elements) {
    Object[] cells = new Object[BOX + elements.length];
    cells[0] = 7L;
    cells[1] = 0L;
    cells[2] = ROWS;
    cells[3] = COLS;
    System.arraycopy(elements, 0, cells, BOX, elements.length);
    return new GenericInternalRow(cells);
  }

  /** Forms of one row in Spark: as objects, in one array on the heap, off the heap, of two. */
  private static List<InternalRow> forms(GenericInternalRow row, StructType schema) {
    UnsafeRow onHeap = UnsafeProjection.create(schema).apply(row).copy();
    ByteBuffer outside = ByteBuffer.allocateDirect(onHeap.getSizeInBytes() + 24);
    HostMemory memory = HostMemory.ofDirectBuffer(outside).slice(16, onHeap.getSizeInBytes());
    new HostMemory(onHeap.getBaseObject(), onHeap.getBaseOffset(), onHeap.getSizeInBytes())
        .copyTo(memory);
    UnsafeRow offHeap = new UnsafeRow(schema.length());
    offHeap.pointTo(null, memory.offset(), onHeap.getSizeInBytes());
    KEPT.add(outside);
    return List.of(
        row, onHeap, offHeap, new JoinedRow(onHeap, new GenericInternalRow(new Object[] {1})));
  }

  /** Memory that rows point to. */
  private static final List<ByteBuffer> KEPT = new ArrayList<>();

  @Test
  void rowsOfEveryForm() {
    Random random = new Random(17);
    for (NpyType type : NpyType.values()) {
      byte[] data = PackedArray.bytes(type, ROWS * COLS, random);
      StructType bytes = schema(DataTypes.BinaryType);
      DataType array = DataTypes.createArrayType(BlockSchema.sparkType(type.columnType()), false);
      StructType arrays = type.isComplex() ? schema(array, array) : schema(array);
      for (InternalRow row : forms(row((Object) data), bytes)) {
        Object[] parts = new Object[type.parts()];
        for (int part = 0; part < parts.length; part++) {
          UnpackBlock unpack = new UnpackBlock(packed(type, true), part, children(bytes));
          parts[part] = unpack.eval(row);
          // Nothing is kept for the next row: whoever holds the first array still has it.
          assertNotEquals(
              System.identityHashCode(parts[part]), System.identityHashCode(unpack.eval(row)));
        }
        for (InternalRow block : forms(row(parts), arrays)) {
          assertArrayEquals(
              data,
              (byte[]) new PackBlock(packed(type, false), true, children(arrays)).eval(block),
              type + " " + row.getClass() + " " + block.getClass());
        }
        Object[] boxed = new Object[parts.length];
        for (int part = 0; part < parts.length; part++) {
          boxed[part] =
              new GenericArrayData(
                  ((ArrayData) parts[part])
                      .toObjectArray(BlockSchema.sparkType(type.columnType())));
        }
        assertArrayEquals(
            data,
            (byte[]) new PackBlock(packed(type, false), true, children(arrays)).eval(row(boxed)));
      }
    }
  }

  @Test
  void nullsInRowsOfEveryForm() {
    StructType bytes = schema(DataTypes.BinaryType);
    for (InternalRow row : forms(row((Object) null), bytes)) {
      TileSparkException thrown =
          assertThrows(
              TileSparkException.class,
              () -> new UnpackBlock(packed(NpyType.INT8, true), 0, children(bytes)).eval(row));
      assertEquals(ErrorCondition.INVALID_BLOCK, thrown.condition());
      assertTrue(thrown.reason().startsWith("block at row 7, col 0: data is null"), thrown::reason);
    }
  }

  /** An exception of a child, a user's function say, is no error about blocks. */
  @Test
  void errorsOfChildrenPassAsTheyAre() {
    StructType bytes = schema(DataTypes.BinaryType);
    List<Expression> children = new ArrayList<>(ScalaInterop.list(children(bytes)));
    for (int failing : new int[] {0, BOX}) {
      List<Expression> some = new ArrayList<>(children);
      some.set(failing, new RaiseError(Literal.create("theirs", DataTypes.StringType)));
      UnpackBlock unpack =
          new UnpackBlock(packed(NpyType.INT8, true), 0, ScalaInterop.<Expression>seq(some));
      RuntimeException thrown =
          assertThrows(
              RuntimeException.class, () -> unpack.eval(row((Object) new byte[ROWS * COLS])));
      assertTrue(thrown.getClass().getName().startsWith("org.apache.spark."), thrown::toString);
    }
  }

  @Test
  void aFreshArrayForEachBlock() {
    StructType bytes = schema(DataTypes.BinaryType);
    UnpackBlock unpack = new UnpackBlock(packed(NpyType.INT8, true), 0, children(bytes));
    UnsafeArrayData first = (UnsafeArrayData) unpack.eval(row((Object) new byte[ROWS * COLS]));
    byte[] ones = new byte[ROWS * COLS];
    java.util.Arrays.fill(ones, (byte) 1);
    UnsafeArrayData second = (UnsafeArrayData) unpack.eval(row((Object) ones));
    assertEquals(0, first.getByte(ROWS * COLS - 1));
    assertEquals(1, second.getByte(0));
  }

  /** Catalyst compares expressions to find what is computed twice. */
  @Test
  void equalExpressionsAreEqual() {
    StructType bytes = schema(DataTypes.BinaryType);
    Expression first = new UnpackBlock(packed(NpyType.INT8, true), 0, children(bytes));
    Expression same = new UnpackBlock(packed(NpyType.INT8, true), 0, children(bytes));
    assertEquals(first, same);
    assertEquals(first.hashCode(), same.hashCode());
    assertEquals(first, first.withNewChildren(first.children()));
    assertEquals(first.canonicalized(), same.canonicalized());
    List<Expression> others =
        List.of(
            new UnpackBlock(packed(NpyType.UINT8, true), 0, children(bytes)),
            new UnpackBlock(packed(NpyType.COMPLEX64, true), 1, children(bytes)),
            new UnpackBlock(packed(NpyType.COMPLEX64, true), 0, children(bytes)),
            new PackBlock(packed(NpyType.INT8, true), true, children(bytes)),
            new PackBlock(packed(NpyType.INT8, true), false, children(bytes)),
            first);
    for (Expression one : others) {
      for (Expression other : others) {
        assertEquals(one == other, one.equals(other), one + " and " + other);
      }
      assertTrue(one.throwable() && !one.nullable() && one.deterministic());
    }
  }
}

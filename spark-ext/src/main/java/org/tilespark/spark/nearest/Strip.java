package org.tilespark.spark.nearest;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.unsafe.Platform;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.catalyst.Attributes;

/**
 * Some rows of one side, in the form that is sent to the tasks that compare them. The columns of a
 * strip:
 *
 * <pre>
 *   key      INT     says to which partition it goes
 *   first    BIGINT  the number of its first row; no other row of its side has it
 *   length   INT     elements of each vector; of rows that match nothing -1
 *   count    INT     rows; 0 in a strip that only tells that there are vectors of its length
 *   vectors  BINARY  (count, length) FLOAT; empty if the rows match nothing
 *   rows     BINARY  of each row its bytes' count, a BIGINT, and its bytes, an UnsafeRow
 * </pre>
 */
final class Strip {
  static final int KEY = 0;
  static final int FIRST = 1;
  static final int LENGTH = 2;
  static final int COUNT = 3;
  static final int VECTORS = 4;
  static final int ROWS = 5;
  private static final int COLUMNS = 6;

  /** The length of a strip of rows that match nothing. */
  static final int UNMATCHED = -1;

  /**
   * Bytes of vectors, or of rows, at which a strip is full: small, since work is divided by strips.
   */
  private static final int FULL_BYTES = 256 << 10;

  private final int length;
  private byte[] vectors = new byte[0];
  private int vectorBytes;
  private byte[] rows = new byte[0];
  private int rowBytes;
  private int count;

  /** No rows yet. */
  Strip(int length) {
    this.length = length;
  }

  /** The columns of strips, under fresh ids. */
  static List<Attribute> columns() {
    return List.of(
        Attributes.column("key", DataTypes.IntegerType, Metadata.empty()),
        Attributes.column("first", DataTypes.LongType, Metadata.empty()),
        Attributes.column("length", DataTypes.IntegerType, Metadata.empty()),
        Attributes.column("count", DataTypes.IntegerType, Metadata.empty()),
        Attributes.column("vectors", DataTypes.BinaryType, Metadata.empty()),
        Attributes.column("rows", DataTypes.BinaryType, Metadata.empty()));
  }

  /** Elements of each vector. */
  int length() {
    return length;
  }

  /** Count of rows. */
  int count() {
    return count;
  }

  /** True if the next row goes to another strip. */
  boolean isFull() {
    return vectorBytes >= FULL_BYTES || rowBytes >= FULL_BYTES;
  }

  /** Adds a row without a vector. */
  void add(UnsafeRow row) {
    int size = row.getSizeInBytes();
    rows = room(rows, rowBytes, Long.BYTES + size);
    Platform.putLong(rows, Platform.BYTE_ARRAY_OFFSET + (long) rowBytes, size);
    row.writeToMemory(rows, Platform.BYTE_ARRAY_OFFSET + (long) rowBytes + Long.BYTES);
    rowBytes += Long.BYTES + size;
    count++;
  }

  /** Adds a row and its vector. */
  void add(UnsafeRow row, HostMemory vector) {
    int size = Math.toIntExact(vector.bytes());
    vectors = room(vectors, vectorBytes, size);
    vector.copyTo(HostMemory.ofArray(vectors).slice(vectorBytes, size));
    vectorBytes += size;
    add(row);
  }

  private static byte[] room(byte[] bytes, int used, int more) {
    int needed = Math.addExact(used, more);
    return needed <= bytes.length
        ? bytes
        : Arrays.copyOf(bytes, Math.max(needed, (int) Math.min(2L * needed, FULL_BYTES)));
  }

  /** Writes the strip as a row, and empties it. */
  UnsafeRow write(int key, long first) {
    UnsafeRowWriter writer =
        new UnsafeRowWriter(COLUMNS, Math.addExact(vectorBytes, Math.addExact(rowBytes, 16)));
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(KEY, key);
    writer.write(FIRST, first);
    writer.write(LENGTH, length);
    writer.write(COUNT, count);
    writer.write(VECTORS, vectors, 0, vectorBytes);
    writer.write(ROWS, rows, 0, rowBytes);
    vectorBytes = 0;
    rowBytes = 0;
    count = 0;
    return writer.getRow();
  }

  /** The columns of a strip that tasks read: all but the key. */
  record Read(long first, int length, int count, byte[] vectors, byte[] rows) {
    static Read of(InternalRow strip) {
      return new Read(
          strip.getLong(FIRST),
          strip.getInt(LENGTH),
          strip.getInt(COUNT),
          strip.getBinary(VECTORS),
          strip.getBinary(ROWS));
    }

    /** Bytes of the vectors and rows. */
    long bytes() {
      return (long) vectors.length + rows.length;
    }
  }
}

package org.tilespark.spark.nearest;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.multiply.scores.VectorSquares;
import org.tilespark.spark.multiply.scores.Vectors;

/**
 * The rows and vectors of one side that a task holds: rows on the heap, vectors outside it. Used by
 * one thread.
 */
final class VectorGroup implements AutoCloseable {
  private final GrowingBuffer buffer;
  private final int fields;
  private final List<Strip.Read> strips = new ArrayList<>();
  private final Set<Integer> lengths = new TreeSet<>();
  private boolean isIndexed;
  private Strip.Read[] stripOf = {}; // strip of each row
  private int[] start = {}; // index of each row's bytes in those of its strip
  private int[] size = {};
  private int[] place = {}; // place of each row in its strip
  private int count; // number of rows with vectors
  private long bytes;
  private Vectors vectors; // all vectors in one memory; null until needed
  private VectorSquares squares; // squares of the vectors
  private List<Integer> unbounded = List.of(); // indices of vectors with infinite elements or NaN

  /**
   * A group without rows.
   *
   * @param fields number of fields of a row
   * @param allocator allocator of the vectors' memory; borrowed
   */
  VectorGroup(int fields, BufferAllocator allocator) {
    this.fields = fields;
    this.buffer = new GrowingBuffer(allocator);
  }

  /** Adds the rows and vectors of a strip. */
  void add(Strip.Read strip) {
    strips.add(strip);
    lengths.add(strip.length());
    bytes += strip.bytes();
    count = Math.addExact(count, strip.count());
    changed();
  }

  /** Removes all rows, but remembers the lengths of their vectors. */
  void clear() {
    strips.clear();
    count = 0;
    bytes = 0;
    changed();
  }

  private void changed() {
    vectors = null;
    isIndexed = false;
  }

  /** The lengths of all vectors that were added, including those that were cleared. */
  Set<Integer> lengths() {
    return lengths;
  }

  /** Count of rows. */
  int count() {
    return count;
  }

  /** Bytes of rows and vectors. */
  long bytes() {
    return bytes;
  }

  /** The vectors, at least one, all of one length. */
  Vectors vectors() {
    if (vectors == null) {
      int length = strips.get(0).length();
      HostMemory memory = buffer.memory(Math.max(1, (long) count * length * Float.BYTES));
      long at = 0;
      unbounded = new ArrayList<>();
      for (Strip.Read strip : strips) {
        HostMemory from = HostMemory.ofArray(strip.vectors());
        from.copyTo(memory.slice(at, from.bytes()));
        at += from.bytes();
      }
      long pitch = (long) length * Float.BYTES;
      vectors = new Vectors(memory, ElementType.FLOAT32, length, pitch, Float.BYTES);
      squares = new VectorSquares(vectors);
      for (int i = 0; i < count; i++) {
        if (!Double.isFinite(squares.get(i))) {
          unbounded.add(i);
        }
      }
    }
    return vectors;
  }

  /** The sums of squares of the vectors; call {@link #vectors} first. */
  VectorSquares squares() {
    return squares;
  }

  /** The indices of the vectors with elements that are infinite or NaN. */
  List<Integer> unbounded() {
    return unbounded;
  }

  private void index() {
    if (isIndexed) {
      return;
    }
    isIndexed = true;
    stripOf = new Strip.Read[count];
    start = new int[count];
    size = new int[count];
    place = new int[count];
    int next = 0;
    for (Strip.Read strip : strips) {
      int at = 0;
      for (int i = 0; i < strip.count(); i++) {
        stripOf[next] = strip;
        start[next] = at + Long.BYTES;
        size[next] = size(strip, at);
        place[next] = i;
        at += Long.BYTES + size[next++];
      }
    }
  }

  private static int size(Strip.Read strip, int at) {
    return (int) Platform.getLong(strip.rows(), Platform.BYTE_ARRAY_OFFSET + (long) at);
  }

  /** A row, which points to its bytes in the strip. */
  UnsafeRow row(int index) {
    index();
    UnsafeRow row = new UnsafeRow(fields);
    row.pointTo(
        stripOf[index].rows(), Platform.BYTE_ARRAY_OFFSET + (long) start[index], size[index]);
    return row;
  }

  /** The number of a row, which no other row of its side has. */
  long number(int index) {
    index();
    return stripOf[index].first() + place[index];
  }

  @Override
  public void close() {
    buffer.close();
  }
}

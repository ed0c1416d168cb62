package org.tilespark.arrow.blocks;

import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;

/**
 * The {@code values} column of a batch of blocks: an Arrow list vector with one list per block, all
 * lists contiguous in one buffer, no nulls.
 */
public final class BlockVectors {
  private BlockVectors() {}

  /**
   * A list vector around values that are already in place.
   *
   * @param name the column's name
   * @param type type of the values
   * @param lengths count of elements of each block; block {@code i} starts where block {@code i -
   *     1} ends
   * @param data holds the values of all blocks from its first byte on; the vector retains it until
   *     it is closed; the caller keeps its own reference
   * @param allocator allocator for the offsets and validity bits
   * @throws IllegalArgumentException if the blocks hold 2^31 elements or more, or more than {@code
   *     data} holds
   */
  public static ListVector list(
      String name, ElementType type, int[] lengths, ArrowBuf data, BufferAllocator allocator) {
    long elements = 0;
    for (int length : lengths) {
      elements += length;
    }
    if (elements > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          ("A batch of %s elements exceeds an Arrow list vector's 2^31 - 1; lower the"
                  + " batch size")
              .formatted(elements));
    }
    if (elements * type.bytes() > data.capacity()) {
      throw new IllegalArgumentException(
          "Blocks of %s elements of %s bytes need %s bytes, the buffer has %s"
              .formatted(elements, type.bytes(), elements * type.bytes(), data.capacity()));
    }
    ListVector list =
        new ListVector(name, allocator, FieldType.notNullable(ArrowType.List.INSTANCE), null);
    try (ArrowBuf offsets = allocator.buffer((lengths.length + 1L) * Integer.BYTES);
        ArrowBuf noValidity = allocator.getEmpty();
        ArrowBuf values = data.slice(0, elements * type.bytes())) {
      values
          .getReferenceManager()
          .retain(); // the slice shares the caller's count; close() drops it
      int end = 0;
      offsets.setInt(0, 0);
      for (int i = 0; i < lengths.length; i++) {
        end += lengths[i];
        offsets.setInt((i + 1L) * Integer.BYTES, end);
      }
      offsets.writerIndex(offsets.capacity());
      FieldVector elementsVector =
          (FieldVector) list.addOrGetVector(FieldType.notNullable(arrowType(type))).getVector();
      elementsVector.loadFieldBuffers(new ArrowFieldNode(elements, 0), List.of(noValidity, values));
      list.loadFieldBuffers(new ArrowFieldNode(lengths.length, 0), List.of(noValidity, offsets));
      return list;
    } catch (Throwable t) {
      list.close();
      throw t;
    }
  }

  /**
   * The values of list {@code row}, in place; valid while the vector is alive.
   *
   * @throws IndexOutOfBoundsException if the list is not in the vector's buffer, for instance after
   *     the vector was closed
   */
  public static HostMemory values(ListVector list, int row) {
    long width = ((BaseFixedWidthVector) list.getDataVector()).getTypeWidth();
    long start = list.getElementStartIndex(row);
    long end = list.getElementEndIndex(row);
    return Buffers.memory(
        list.getDataVector().getDataBuffer(), start * width, (end - start) * width);
  }

  /** Count of elements of list {@code row}. */
  public static int length(ListVector list, int row) {
    return list.getElementEndIndex(row) - list.getElementStartIndex(row);
  }

  /** Arrow's type for an element type. */
  public static ArrowType arrowType(ElementType type) {
    return switch (type) {
      case INT8 -> new ArrowType.Int(8, true);
      case INT16 -> new ArrowType.Int(16, true);
      case INT32 -> new ArrowType.Int(32, true);
      case INT64 -> new ArrowType.Int(64, true);
      case FLOAT32 -> new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
      case FLOAT64 -> new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
    };
  }
}

package org.tilespark.spark.multiply.scores;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * The vectors of one operand that a task holds; the memory is borrowed.
 *
 * @param memory memory from the first vector on
 * @param type FLOAT32 or FLOAT64
 * @param extent elements of a vector
 * @param pitch bytes from one vector to the next one
 * @param step bytes from one element of a vector to the next one
 */
public record Vectors(HostMemory memory, ElementType type, long extent, long pitch, long step) {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /** The sum of squares of a vector, in the order of its elements. */
  public double squares(long index) {
    double sum = 0;
    for (long k = 0; k < extent; k++) {
      double element = get(index, k);
      sum += element * element;
    }
    return sum;
  }

  /** The inner product with a vector of the same type, in the order of the elements. */
  public double dot(long index, Vectors other, long otherIndex) {
    double sum = 0;
    for (long k = 0; k < extent; k++) {
      sum += get(index, k) * other.get(otherIndex, k);
    }
    return sum;
  }

  /** The Euclidean distance from a vector of the same type, summed in the order of the elements. */
  public double distance(long index, Vectors other, long otherIndex) {
    double sum = 0;
    for (long k = 0; k < extent; k++) {
      double difference = get(index, k) - other.get(otherIndex, k);
      sum += difference * difference;
    }
    return Math.sqrt(sum);
  }

  private double get(long index, long k) {
    long at = memory.offset() + index * pitch + k * step;
    return type == ElementType.FLOAT32
        ? UNSAFE.getFloat(memory.base(), at)
        : UNSAFE.getDouble(memory.base(), at);
  }
}

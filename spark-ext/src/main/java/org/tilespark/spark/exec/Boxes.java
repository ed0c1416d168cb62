package org.tilespark.spark.exec;

import java.util.Objects;
import org.tilespark.kernels.HostMemory;
import sun.misc.Unsafe;

/** Copies rectangles between arrays in host memory. Stateless. */
final class Boxes {
  private Boxes() {}

  /**
   * Copies rows that lie apart.
   *
   * @param fromStart first byte read
   * @param fromPitch bytes from one row's start to the next one's
   * @param toStart first byte written
   * @param toPitch the same of the target
   * @param rowBytes length of each row
   * @param rows count of rows, 0 or more
   * @throws IndexOutOfBoundsException if a row does not lie in its range
   */
  static void copy(
      HostMemory from,
      long fromStart,
      long fromPitch,
      HostMemory to,
      long toStart,
      long toPitch,
      long rowBytes,
      long rows) {
    if (rows == 0 || rowBytes == 0) {
      return;
    }
    Objects.checkFromIndexSize(fromStart, (rows - 1) * fromPitch + rowBytes, from.bytes());
    Objects.checkFromIndexSize(toStart, (rows - 1) * toPitch + rowBytes, to.bytes());
    Unsafe unsafe = HostMemory.unsafe();
    if (fromPitch == rowBytes && toPitch == rowBytes) {
      unsafe.copyMemory(
          from.base(),
          from.offset() + fromStart,
          to.base(),
          to.offset() + toStart,
          rows * rowBytes);
      return;
    }
    for (long row = 0; row < rows; row++) {
      unsafe.copyMemory(
          from.base(),
          from.offset() + fromStart + row * fromPitch,
          to.base(),
          to.offset() + toStart + row * toPitch,
          rowBytes);
    }
  }
}

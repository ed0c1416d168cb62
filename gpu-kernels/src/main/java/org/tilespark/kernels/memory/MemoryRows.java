package org.tilespark.kernels.memory;

import java.util.Objects;

/**
 * Rows of bytes in host memory, with gaps between them; the memory is borrowed.
 *
 * @param start the first row's first byte in the memory
 * @param pitch bytes from one row's start to the next one's
 * @param rowBytes length of each row, at most {@code pitch}
 * @param rows number of rows, 0 or more
 */
public record MemoryRows(HostMemory memory, long start, long pitch, long rowBytes, long rows) {
  /** Bytes of all rows, without the gaps. */
  public long bytes() {
    return rows * rowBytes;
  }

  /** True if there are no gaps between the rows. */
  public boolean isDense() {
    return rows <= 1 || pitch == rowBytes;
  }

  /**
   * The memory from the first row's first byte to the last row's last byte.
   *
   * @throws IndexOutOfBoundsException if a row is not inside the memory
   */
  public HostMemory span() {
    long bytes = bytes() == 0 ? 0 : (rows - 1) * pitch + rowBytes;
    return memory.slice(Objects.checkFromIndexSize(start, bytes, memory.bytes()), bytes);
  }

  /**
   * Copies the rows.
   *
   * @param to target memory; the first row goes to byte {@code toStart}
   * @param toPitch bytes from one row's start to the next one's in {@code to}
   * @throws IndexOutOfBoundsException if a row is not inside its memory
   */
  public void copyTo(HostMemory to, long toStart, long toPitch) {
    HostMemory from = span();
    MemoryRows target = new MemoryRows(to, toStart, toPitch, rowBytes, rows);
    HostMemory into = target.span();
    boolean together = isDense() && target.isDense();
    long runs = together ? Math.min(rows, 1) : rows;
    long runBytes = together ? bytes() : rowBytes;
    for (long run = 0; run < runs; run++) {
      HostMemory.unsafe()
          .copyMemory(
              from.base(),
              from.offset() + run * pitch,
              into.base(),
              into.offset() + run * toPitch,
              runBytes);
    }
  }
}

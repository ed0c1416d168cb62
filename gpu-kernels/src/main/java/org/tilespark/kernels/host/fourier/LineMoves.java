package org.tilespark.kernels.host.fourier;

import org.tilespark.kernels.host.fourier.LaneTiles.Stage;
import org.tilespark.kernels.host.fourier.LaneTiles.Target;
import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Copies a group of neighbouring lines between memory and rows, which hold one number of each line.
 * If lines are interleaved, a row is one piece of memory. Contiguous lines are copied one by one
 * and transposed in the cache.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class LineMoves<A> {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /** The longest pieces, in bytes, that are copied word by word: for them a call is slower. */
  private static final int SHORT_BYTES = 128;

  private final FourierKernels<A> kernels;
  private final Workspace<A> work;

  LineMoves(FourierKernels<A> kernels, Workspace<A> work) {
    this.kernels = kernels;
    this.work = work;
  }

  /**
   * Lines of an array in memory.
   *
   * @param re real parts of the whole array
   * @param im imaginary parts, or {@code re} again for real lines
   * @param length how many numbers a line has
   * @param inner number of interleaved lines, which is also the distance between a line's numbers
   * @param first index of the first line, in the order of memory
   * @param lanes how many lines the group has
   */
  record Group(HostMemory re, HostMemory im, long length, long inner, long first, int lanes) {}

  /** Reads the lines of a plane into rows of {@code array}, laid out as {@code rows} says. */
  void read(Group lines, HostMemory plane, A array, Rows<A> rows) {
    move(true, lines, plane, array, rows);
  }

  /** Writes rows of {@code array}, laid out as {@code rows} says, to the lines of a plane. */
  void write(Group lines, HostMemory plane, A array, Rows<A> rows) {
    move(false, lines, plane, array, rows);
  }

  private void move(boolean read, Group lines, HostMemory plane, A array, Rows<A> rows) {
    int count = (int) lines.length;
    Stage<A> stage =
        lines.inner == 1 ? work.stage(count, lines.lanes, rows.chunk() % 2 == 1) : null;
    if (stage != null && read) {
      copyLines(true, lines, plane, stage);
    }
    for (int row = 0; row < count; row += rows.chunk()) {
      int together = Math.min(rows.chunk(), count - row);
      int at = rows.at(row, kernels.pad());
      if (stage == null) {
        copyRows(read, lines, plane, row, 1, new Target<>(array, at, together));
        continue;
      }
      // With an odd row count the last pair spills into the gap after the rows, or after a line.
      Target<A> firsts = new Target<>(array, at, 2 * lines.lanes);
      Target<A> seconds = new Target<>(array, at + lines.lanes, 2 * lines.lanes);
      if (read) {
        LaneTiles.gather(stage, row, (together + 1) / 2, firsts, seconds);
      } else {
        LaneTiles.scatter(firsts, seconds, stage, row, (together + 1) / 2);
      }
    }
    if (stage != null && !read) {
      copyLines(false, lines, plane, stage);
    }
  }

  /**
   * Moves real lines from or to rows: numbers of even index are stored as real parts, those of odd
   * index as imaginary parts.
   */
  void movePairs(boolean read, Group lines, Rows<A> rows) {
    int count = (int) (lines.length / 2);
    Stage<A> stage =
        lines.inner == 1 ? work.stage(2 * count, lines.lanes, lines.length % 2 == 1) : null;
    if (stage != null && read) {
      copyLines(true, lines, lines.re, stage);
    }
    for (int row = 0; row < count; row += rows.chunk()) {
      int together = Math.min(rows.chunk(), count - row);
      int at = rows.at(row, kernels.pad());
      if (stage == null) {
        copyRows(read, lines, lines.re, 2L * row, 2, new Target<>(rows.re(), at, together));
        copyRows(read, lines, lines.re, 2L * row + 1, 2, new Target<>(rows.im(), at, together));
        continue;
      }
      Target<A> even = new Target<>(rows.re(), at, lines.lanes);
      Target<A> odd = new Target<>(rows.im(), at, lines.lanes);
      if (read) {
        LaneTiles.gather(stage, 2 * row, together, even, odd);
      } else {
        LaneTiles.scatter(even, odd, stage, 2 * row, together);
      }
    }
    if (stage != null && !read) {
      copyLines(false, lines, lines.re, stage);
    }
  }

  /** Copies contiguous lines between memory and the stage. */
  private void copyLines(boolean read, Group lines, HostMemory plane, Stage<A> stage) {
    // Copies one piece if the stage has the layout of memory.
    long piece = lines.length == stage.pitch() ? lines.length * lines.lanes : lines.length;
    long bytes = piece * kernels.bytes();
    long start = lines.first * lines.length * kernels.bytes();
    HostMemory own = HostMemory.ofArray(stage.array());
    for (long i = 0; i * piece < lines.length * lines.lanes; i++) {
      HostMemory line = plane.slice(start + i * bytes, bytes);
      HostMemory staged = own.slice(i * stage.pitch() * kernels.bytes(), bytes);
      if (read) {
        line.copyTo(staged);
      } else {
        staged.copyTo(line);
      }
    }
  }

  /**
   * Copies pieces of neighbouring lines between memory and rows.
   *
   * @param row index in their lines of the first numbers that are copied
   * @param every step from one copied index to the next
   * @param rows the rows in an array, one after another; {@code step} is their number
   */
  private void copyRows(
      boolean read, Group lines, HostMemory plane, long row, int every, Target<A> rows) {
    int bytes = kernels.bytes();
    HostMemory own = HostMemory.ofArray(rows.array());
    int together;
    for (int lane = 0; lane < lines.lanes; lane += together) {
      long line = lines.first + lane;
      long column = line % lines.inner;
      together = (int) Math.min(lines.lanes - lane, lines.inner - column);
      long start = (line / lines.inner * lines.length + row) * lines.inner + column;
      Run memory =
          new Run(plane.base(), plane.offset() + start * bytes, every * lines.inner * bytes);
      Run staged =
          new Run(
              own.base(),
              own.offset() + (rows.at() + (long) lane) * bytes,
              (long) lines.lanes * bytes);
      copy(read ? memory : staged, read ? staged : memory, rows.step(), together * bytes);
    }
  }

  /**
   * Places at equal distances: the first one, in {@link HostMemory}'s terms, and the bytes from one
   * to the next.
   */
  private record Run(Object base, long at, long step) {}

  /**
   * Copies {@code count} pieces of {@code bytes} bytes each, a multiple of four, from places to
   * places.
   */
  private static void copy(Run from, Run to, int count, int bytes) {
    if (bytes == Long.BYTES * 8) { // a cache line, the usual length
      copyCacheLines(from, to, count);
      return;
    }
    Object base = from.base;
    Object target = to.base;
    for (int i = 0; i < count; i++) {
      long a = from.at + i * from.step;
      long o = to.at + i * to.step;
      if (bytes > SHORT_BYTES) {
        UNSAFE.copyMemory(base, a, target, o, bytes);
        continue;
      }
      int b = 0;
      for (; b + Long.BYTES <= bytes; b += Long.BYTES) {
        UNSAFE.putLong(target, o + b, UNSAFE.getLong(base, a + b));
      }
      if (b < bytes) {
        UNSAFE.putInt(target, o + b, UNSAFE.getInt(base, a + b));
      }
    }
  }

  private static void copyCacheLines(Run from, Run to, int count) {
    Object base = from.base;
    Object target = to.base;
    for (int i = 0; i < count; i++) {
      long a = from.at + i * from.step;
      long o = to.at + i * to.step;
      UNSAFE.putLong(target, o, UNSAFE.getLong(base, a));
      UNSAFE.putLong(target, o + 8, UNSAFE.getLong(base, a + 8));
      UNSAFE.putLong(target, o + 16, UNSAFE.getLong(base, a + 16));
      UNSAFE.putLong(target, o + 24, UNSAFE.getLong(base, a + 24));
      UNSAFE.putLong(target, o + 32, UNSAFE.getLong(base, a + 32));
      UNSAFE.putLong(target, o + 40, UNSAFE.getLong(base, a + 40));
      UNSAFE.putLong(target, o + 48, UNSAFE.getLong(base, a + 48));
      UNSAFE.putLong(target, o + 56, UNSAFE.getLong(base, a + 56));
    }
  }
}

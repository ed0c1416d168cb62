package org.tilespark.spark.source.codec;

import java.nio.ByteBuffer;
import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Decodes BloscLZ, c-blosc's own codec.
 *
 * <p>The stream is a sequence of literals and matches, distinguished by a control byte c:
 *
 * <pre>
 * c below 32:  c + 1 literal bytes follow; of the first control byte only the lower 5 bits count
 * otherwise:   a match, which repeats decoded bytes:
 *   length     (c >> 5) + 2; if c >> 5 is 7, plus the sum of the next bytes up to the first one
 *              that is not 255, inclusive
 *   distance   how many bytes back it starts: 1 plus a number of 13 bits, the upper 5 in c, the
 *              lower 8 in the next byte; if all 13 are set, plus the number in the next two bytes,
 *              the high one first
 * </pre>
 *
 * <p>Stateless.
 */
final class BloscLz {
  private static final Unsafe MEMORY = HostMemory.unsafe();
  private static final int FAR = 8191; // the largest distance in 13 bits

  private BloscLz() {}

  /**
   * Decodes all of {@code encoded} into {@code decoded}, which it must fill; moves no position.
   *
   * @throws IllegalArgumentException if it does not fill {@code decoded}, or is damaged otherwise
   */
  static void decode(ByteBuffer encoded, ByteBuffer decoded) {
    long in = HostMemory.ofDirectBuffer(encoded).offset() + encoded.position();
    long inEnd = in + encoded.remaining();
    long start = HostMemory.ofDirectBuffer(decoded).offset() + decoded.position();
    long out = start;
    long outEnd = out + decoded.remaining();
    boolean first = true;
    while (in < inEnd) {
      int control = MEMORY.getByte(in++) & 0xff;
      if (first) {
        control &= 31;
        first = false;
      }
      if (control < 32) {
        int length = control + 1;
        require(length <= inEnd - in && length <= outEnd - out);
        MEMORY.copyMemory(in, out, length);
        in += length;
        out += length;
        continue;
      }
      long length = (control >> 5) + 2L;
      if (length == 9) {
        int more;
        do {
          require(in < inEnd);
          more = MEMORY.getByte(in++) & 0xff;
          length += more;
        } while (more == 255);
      }
      require(in < inEnd);
      int distance = (control & 31) << 8 | MEMORY.getByte(in++) & 0xff;
      if (distance == FAR) {
        require(inEnd - in >= 2);
        distance += (MEMORY.getByte(in) & 0xff) << 8 | MEMORY.getByte(in + 1) & 0xff;
        in += 2;
      }
      distance++;
      require(distance <= out - start && length <= outEnd - out);
      repeat(out, distance, length);
      out += length;
    }
    require(out == outEnd);
  }

  /** Copies from {@code distance} bytes back, which may overlap the bytes that this copy writes. */
  private static void repeat(long out, int distance, long length) {
    if (distance == 1) {
      MEMORY.setMemory(out, length, MEMORY.getByte(out - 1));
      return;
    }
    long done = 0;
    if (distance >= 8) {
      for (; done + 8 <= length; done += 8) {
        MEMORY.putLong(out + done, MEMORY.getLong(out + done - distance));
      }
    }
    for (; done < length; done++) {
      MEMORY.putByte(out + done, MEMORY.getByte(out + done - distance));
    }
  }

  private static void require(boolean holds) {
    if (!holds) {
      throw new IllegalArgumentException("a block of blosclz is damaged");
    }
  }
}

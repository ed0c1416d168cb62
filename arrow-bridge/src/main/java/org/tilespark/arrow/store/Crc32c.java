package org.tilespark.arrow.store;

import java.util.zip.CRC32C;
import org.tilespark.arrow.store.MapOutput.RangeSink;
import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Computes CRC32C of memory outside the heap, and combines the checksums of two adjacent ranges.
 */
public final class Crc32c implements RangeSink<RuntimeException> {
  /** The polynomial of CRC32C, bits reversed: bit 31 is the coefficient of x^0. */
  private static final int POLYNOMIAL = 0x82F63B78;

  private static final int ONE = 1 << 31; // x^0
  private static final int X8 = 1 << 23; // x^8, one zero byte
  private static final int MOST_BYTES = 1 << 30; // of one buffer

  private final CRC32C sum = new CRC32C();

  /** A checksum of no bytes, to which bytes are added. */
  public Crc32c() {}

  /** The checksum of a part of an array. */
  public static int of(byte[] bytes, int offset, int length) {
    CRC32C sum = new CRC32C();
    sum.update(bytes, offset, length);
    return (int) sum.getValue();
  }

  /** The checksum of {@code bytes} bytes at an address outside the heap. */
  public static int of(long address, long bytes) {
    Crc32c sum = new Crc32c();
    sum.update(address, bytes);
    return sum.value();
  }

  /** Adds bytes outside the heap. */
  public void update(long address, long bytes) {
    for (long at = 0; at < bytes; at += MOST_BYTES) {
      sum.update(RowImage.view(address + at, (int) Math.min(MOST_BYTES, bytes - at)));
    }
  }

  /** Adds bytes of an array. */
  public void update(byte[] bytes, int offset, int length) {
    sum.update(bytes, offset, length);
  }

  /** Adds bytes outside the heap or in an array of bytes. */
  public void update(HostMemory bytes) {
    if (bytes.isOffHeap()) {
      update(bytes.offset(), bytes.bytes());
    } else {
      long first = bytes.offset() - Unsafe.ARRAY_BYTE_BASE_OFFSET;
      update((byte[]) bytes.base(), (int) first, (int) bytes.bytes());
    }
  }

  @Override
  public void accept(long address, int bytes) {
    update(address, bytes);
  }

  /** The checksum of all bytes that were added. */
  public int value() {
    return (int) sum.getValue();
  }

  /**
   * The checksum of bytes A followed by bytes B. The checksum of A followed by {@code bytes} zeros
   * is A's checksum times x^(8 {@code bytes}) modulo the polynomial (Mark Adler's crc32_combine of
   * zlib).
   *
   * @param a checksum of A; 0 if A is empty
   * @param b checksum of B
   * @param bytes length of B in bytes
   */
  public static int combine(int a, int b, long bytes) {
    int shift = ONE;
    int power = X8;
    for (long left = bytes; left != 0; left >>>= 1) {
      if ((left & 1) != 0) {
        shift = multiply(shift, power);
      }
      power = multiply(power, power);
    }
    return multiply(shift, a) ^ b;
  }

  /** The product of two polynomials modulo {@link #POLYNOMIAL}. */
  private static int multiply(int a, int b) {
    int product = 0;
    int shifted = b; // b x^i
    for (int coefficient = ONE; coefficient != 0; coefficient >>>= 1) {
      if ((a & coefficient) != 0) {
        product ^= shifted;
      }
      shifted = (shifted >>> 1) ^ ((shifted & 1) != 0 ? POLYNOMIAL : 0);
    }
    return product;
  }
}

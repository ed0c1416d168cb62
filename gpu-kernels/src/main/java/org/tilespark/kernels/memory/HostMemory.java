package org.tilespark.kernels.memory;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import sun.misc.Unsafe;

/**
 * A range of host memory, on the Java heap or off it, addressed as Spark and Arrow address their
 * memory, so that neither must be copied to be read.
 *
 * <p>A range does not own its bytes: whoever made the array or buffer keeps it alive while the
 * range is used. Values are in the machine's byte order (little-endian on every supported machine).
 *
 * @param base the array that holds the bytes, or null for memory outside the heap
 * @param offset if {@code base} is null the address, else the offset in {@link #unsafe()}'s terms
 * @param bytes length of the range
 */
public record HostMemory(Object base, long offset, long bytes) {
  private static final Unsafe UNSAFE = findUnsafe();

  /**
   * Bytes of the page of address 0, where no process has memory: a smaller address is an offset
   * whose base was forgotten.
   */
  private static final long FIRST_PAGE_BYTES = 4096;

  static {
    if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
      throw new ExceptionInInitializerError("tilespark needs a little-endian machine");
    }
  }

  /** Checks that the length is not negative. */
  public HostMemory {
    if (bytes < 0) {
      throw new IllegalArgumentException("Host memory of " + bytes + " bytes; expected 0 or more");
    }
    assert isAddressable(base, offset, bytes)
        : bytes + " bytes at " + offset + " of " + (base == null ? "no array" : base.getClass());
  }

  /**
   * False if the base is null and the address is in the page of address 0, if the base is no array
   * of numbers, or if the range leaves its array.
   */
  private static boolean isAddressable(Object base, long offset, long bytes) {
    if (bytes == 0) {
      return true;
    }
    if (base == null) {
      return Long.compareUnsigned(offset, FIRST_PAGE_BYTES) >= 0;
    }
    Class<?> type = base.getClass();
    if (!type.isArray() || !type.getComponentType().isPrimitive()) {
      return false;
    }
    long length = (long) Array.getLength(base) * UNSAFE.arrayIndexScale(type);
    long start = offset - UNSAFE.arrayBaseOffset(type);
    return start >= 0 && start <= length - bytes;
  }

  /** Memory outside the heap: {@code bytes} bytes from {@code address}. */
  public static HostMemory ofAddress(long address, long bytes) {
    return new HostMemory(null, address, bytes);
  }

  /**
   * The memory of a primitive array.
   *
   * @throws IllegalArgumentException if {@code array} is no array of numbers
   */
  public static HostMemory ofArray(Object array) {
    Class<?> type = array.getClass().getComponentType();
    if (type == null || !type.isPrimitive() || type == boolean.class) {
      throw new IllegalArgumentException(
          "Expected an array of numbers, found " + array.getClass().getTypeName());
    }
    long scale = UNSAFE.arrayIndexScale(array.getClass());
    return new HostMemory(
        array, UNSAFE.arrayBaseOffset(array.getClass()), Array.getLength(array) * scale);
  }

  /** The memory of a direct buffer, whatever its position. The buffer must stay reachable. */
  public static HostMemory ofDirectBuffer(ByteBuffer buffer) {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException("Expected a direct buffer, found " + buffer);
    }
    return ofAddress(directAddress(buffer), buffer.capacity());
  }

  /**
   * The range of {@code length} bytes that begins {@code start} bytes after the start of this
   * range.
   */
  public HostMemory slice(long start, long length) {
    Objects.checkFromIndexSize(start, length, bytes);
    return new HostMemory(base, offset + start, length);
  }

  /** True if the range is outside the heap, so that {@link #offset()} is its address. */
  public boolean isOffHeap() {
    return base == null;
  }

  /**
   * Copies this whole range to the start of {@code target}; the ranges may overlap.
   *
   * @throws IndexOutOfBoundsException if {@code target} is shorter than this range
   */
  public void copyTo(HostMemory target) {
    Objects.checkFromIndexSize(0, bytes, target.bytes);
    UNSAFE.copyMemory(base, offset, target.base, target.offset, bytes);
  }

  /** Sets every byte to {@code value}. */
  public void fill(byte value) {
    UNSAFE.setMemory(base, offset, bytes, value);
  }

  /**
   * The accessor through which this project reads and writes raw memory. It checks nothing: callers
   * check ranges once, before their loops.
   */
  public static Unsafe unsafe() {
    return UNSAFE;
  }

  private static long directAddress(ByteBuffer buffer) {
    try {
      Field address = java.nio.Buffer.class.getDeclaredField("address");
      @SuppressWarnings("deprecation") // as other off-heap libraries do: JDK 17 has no other way
      long where = UNSAFE.objectFieldOffset(address);
      return UNSAFE.getLong(buffer, where);
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException("java.nio.Buffer has no field 'address' on this JDK", e);
    }
  }

  private static Unsafe findUnsafe() {
    try {
      Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return (Unsafe) field.get(null);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}

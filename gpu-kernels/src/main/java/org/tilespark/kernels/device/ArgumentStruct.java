package org.tilespark.kernels.device;

import org.tilespark.kernels.device.driver.LibCudaTensor;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyStep;
import org.tilespark.kernels.multiply.MultiplyStep.Place;
import org.tilespark.kernels.multiply.MultiplyStep.Side;
import sun.misc.Unsafe;

/**
 * The argument struct of one launch, laid out once: tensor maps, pointers, words. Only the
 * addresses of the operands are added for each launch. Safe for several threads.
 */
final class ArgumentStruct {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final int SIDES = Side.values().length;

  private final EncodedMaps[] maps;
  private final Place[] pointers;
  private final long[] words;

  /**
   * The argument struct of {@code run}.
   *
   * @throws IllegalArgumentException if the struct is longer than {@link
   *     KernelLaunch#MOST_STRUCT_BYTES}
   */
  ArgumentStruct(MultiplyStep run, EncodedMaps.Encoder encoder) {
    maps =
        run.maps().stream().map(map -> new EncodedMaps(map, encoder)).toArray(EncodedMaps[]::new);
    pointers = run.pointers().toArray(Place[]::new);
    words = run.launch().words();
    if (bytes() > KernelLaunch.MOST_STRUCT_BYTES) {
      throw new IllegalArgumentException("Argument struct too long: " + run.launch());
    }
  }

  /**
   * The device addresses of A, B, C and the workspace for one product, as {@link #fill} takes them.
   */
  static long[] sides(long a, long b, long c, long workspace) {
    long[] sides = new long[SIDES]; // by ordinal of Side; NOWHERE is 0
    sides[Side.A.ordinal()] = a;
    sides[Side.B.ordinal()] = b;
    sides[Side.C.ordinal()] = c;
    sides[Side.WORKSPACE.ordinal()] = workspace;
    return sides;
  }

  /** The device address of a place, given the addresses of all sides. */
  static long address(Place place, long[] sides) {
    return sides[place.side().ordinal()] + place.bytes();
  }

  /** Length of the struct in bytes. */
  long bytes() {
    return (long) LibCudaTensor.MAP_BYTES * maps.length
        + (long) Long.BYTES * (pointers.length + words.length);
  }

  /**
   * Writes the struct to native memory.
   *
   * @param to address of {@link #bytes} bytes
   * @param sides device addresses as {@link #sides} gives them
   */
  void fill(long to, long[] sides) {
    long field = to;
    for (EncodedMaps map : maps) {
      field = put(map.at(address(map.map().from(), sides)), field);
    }
    for (Place pointer : pointers) {
      UNSAFE.putLong(field, address(pointer, sides));
      field += Long.BYTES;
    }
    put(words, field);
  }

  /** Writes longs to native memory; returns the address after the last one. */
  private static long put(long[] values, long to) {
    long bytes = (long) values.length * Long.BYTES;
    UNSAFE.copyMemory(values, Unsafe.ARRAY_LONG_BASE_OFFSET, null, to, bytes);
    return to + bytes;
  }
}

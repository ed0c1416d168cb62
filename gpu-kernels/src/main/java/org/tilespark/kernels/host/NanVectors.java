package org.tilespark.kernels.host;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * The search for NaN by vector instructions; linked only where the Vector API's module is there.
 */
final class NanVectors {
  private static final VectorSpecies<Byte> SPECIES = ByteVector.SPECIES_PREFERRED;

  private NanVectors() {}

  /** The number of bytes, out of {@code size}, that fill whole vectors. */
  static long bound(long size) {
    return size - size % SPECIES.length();
  }

  /** True if one of the floats at byte index {@code start} to {@code end} is NaN. */
  static boolean hasNanFloat(byte[] bytes, int start, int end) {
    IntVector found = ByteVector.zero(SPECIES).reinterpretAsInts();
    for (int i = start; i < end; i += SPECIES.length()) {
      found =
          ByteVector.fromArray(SPECIES, bytes, i)
              .reinterpretAsInts()
              .and(Integer.MAX_VALUE)
              .add(NanSearch.FLOAT_CARRY)
              .or(found);
    }
    return found.compare(VectorOperators.LT, 0).anyTrue();
  }

  /**
   * Copies {@code size} bytes of floats, which are whole vectors; true if one of the floats is NaN.
   */
  static boolean copyHasNanFloat(byte[] from, int start, byte[] to, int toStart, int size) {
    IntVector found = ByteVector.zero(SPECIES).reinterpretAsInts();
    for (int i = 0; i < size; i += SPECIES.length()) {
      ByteVector floats = ByteVector.fromArray(SPECIES, from, start + i);
      floats.intoArray(to, toStart + i);
      found =
          floats.reinterpretAsInts().and(Integer.MAX_VALUE).add(NanSearch.FLOAT_CARRY).or(found);
    }
    return found.compare(VectorOperators.LT, 0).anyTrue();
  }

  /**
   * Copies {@code size} bytes of DOUBLE, which are whole vectors; true if one of the doubles is
   * NaN.
   */
  static boolean copyHasNanDouble(byte[] from, int start, byte[] to, int toStart, int size) {
    LongVector found = ByteVector.zero(SPECIES).reinterpretAsLongs();
    for (int i = 0; i < size; i += SPECIES.length()) {
      ByteVector doubles = ByteVector.fromArray(SPECIES, from, start + i);
      doubles.intoArray(to, toStart + i);
      found =
          doubles.reinterpretAsLongs().and(Long.MAX_VALUE).add(NanSearch.DOUBLE_CARRY).or(found);
    }
    return found.compare(VectorOperators.LT, 0).anyTrue();
  }

  /** True if one of the doubles at byte index {@code start} to {@code end} is NaN. */
  static boolean hasNanDouble(byte[] bytes, int start, int end) {
    LongVector found = ByteVector.zero(SPECIES).reinterpretAsLongs();
    for (int i = start; i < end; i += SPECIES.length()) {
      found =
          ByteVector.fromArray(SPECIES, bytes, i)
              .reinterpretAsLongs()
              .and(Long.MAX_VALUE)
              .add(NanSearch.DOUBLE_CARRY)
              .or(found);
    }
    return found.compare(VectorOperators.LT, 0).anyTrue();
  }
}

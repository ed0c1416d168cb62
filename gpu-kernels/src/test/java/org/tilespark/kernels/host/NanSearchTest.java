package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

class NanSearchTest {
  private static final int[] FLOATS = {
    0x7fc00000, 0x7f800001, 0x7fffffff, 0xffc00000, 0xff800001, 0xffffffff
  };
  private static final int[] NO_FLOATS = {
    0x7f800000, 0xff800000, 0x7f7fffff, 0x80000000, 1, -1 << 31
  };
  private static final long[] DOUBLES = {
    0x7ff8000000000000L, 0x7ff0000000000001L, Long.MAX_VALUE, 0xfff0000000000001L, -1L
  };
  private static final long[] NO_DOUBLES = {
    0x7ff0000000000000L, 0xfff0000000000000L, 0x7fefffffffffffffL, Long.MIN_VALUE, 1
  };

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void eachNanAtEachPlaceOfEachLength(boolean isVectorized) {
    NanSearch search = new NanSearch(isVectorized);
    for (int count = 0; count < 70; count++) {
      // Bytes around the values are those of NaN.
      byte[] bytes = new byte[8 * count + 80];
      HostMemory.ofArray(bytes).fill((byte) -1);
      HostMemory floats = values(bytes, 4L * count);
      HostMemory doubles = values(bytes, 8L * count);
      doubles.fill((byte) 0);
      assertEquals(false, hasNan(search, floats, ElementType.FLOAT32));
      assertEquals(false, hasNan(search, doubles, ElementType.FLOAT64));
      for (int at = 0; at < count; at++) {
        for (int bits : FLOATS) {
          assertEquals(true, withFloat(search, floats, at, bits));
        }
        for (int bits : NO_FLOATS) {
          assertEquals(false, withFloat(search, floats, at, bits));
        }
        for (long bits : DOUBLES) {
          assertEquals(true, withDouble(search, doubles, at, bits));
        }
        for (long bits : NO_DOUBLES) {
          assertEquals(false, withDouble(search, doubles, at, bits));
        }
      }
    }
  }

  private static HostMemory values(byte[] bytes, long size) {
    return new HostMemory(bytes, Unsafe.ARRAY_BYTE_BASE_OFFSET + 40L, size);
  }

  /** The result of the search, also while it copies. */
  private static boolean hasNan(NanSearch search, HostMemory values, ElementType type) {
    boolean found = search.hasNan(values, type);
    int size = (int) values.bytes();
    byte[] copy = new byte[size + 80];
    assertEquals(found, search.copyHasNan(values, values(copy, size), type));
    byte[] all = (byte[]) values.base();
    assertTrue(Arrays.equals(all, 40, 40 + size, copy, 40, 40 + size));
    for (int i = 0; i < 80; i++) {
      assertEquals(0, copy[i < 40 ? i : size + i], "beside the values");
    }
    return found;
  }

  private static boolean withFloat(NanSearch search, HostMemory values, int at, int bits) {
    HostMemory.unsafe().putInt(values.base(), values.offset() + 4L * at, bits);
    boolean found = hasNan(search, values, ElementType.FLOAT32);
    HostMemory.unsafe().putInt(values.base(), values.offset() + 4L * at, 0);
    return found;
  }

  private static boolean withDouble(NanSearch search, HostMemory values, int at, long bits) {
    HostMemory.unsafe().putLong(values.base(), values.offset() + 8L * at, bits);
    boolean found = hasNan(search, values, ElementType.FLOAT64);
    HostMemory.unsafe().putLong(values.base(), values.offset() + 8L * at, 0);
    return found;
  }
}

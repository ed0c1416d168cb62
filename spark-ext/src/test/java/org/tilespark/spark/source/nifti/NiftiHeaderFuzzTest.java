package org.tilespark.spark.source.nifti;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.spark.source.contiguous.StoredFile;

/** Any bytes as a header: an array whose bytes can be counted, or our error. */
class NiftiHeaderFuzzTest {
  static Stream<Arguments> seeds() {
    return Stream.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN)
        .flatMap(order -> Stream.of(seed(order, 1), seed(order, 2)))
        .map(bytes -> Arguments.of((Object) bytes));
  }

  private static byte[] seed(ByteOrder order, int version) {
    ByteBuffer header = ByteBuffer.allocate(600).order(order).putInt(0, version == 1 ? 348 : 540);
    for (int i = 0; i < 4; i++) {
      header.putShort(40 + 2 * i, (short) 3);
    }
    byte[] magic = ("n+" + version).getBytes(StandardCharsets.US_ASCII);
    if (version == 1) {
      header.putShort(70, (short) 16).putFloat(108, 352).put(344, magic);
    } else {
      header.putLong(16, 1).putLong(24, 9).putShort(12, (short) 4).putLong(168, 544).put(4, magic);
    }
    return header.array();
  }

  @MethodSource("seeds")
  @FuzzTest
  void anyBytesAreAHeaderOrRefused(byte[] input) throws java.io.IOException {
    StoredFile file = new StoredFile("any.nii", 0, input.length, false, 0, 0);
    try {
      NiftiHeader.read(file, count -> Arrays.copyOf(input, Math.min(count, input.length)));
    } catch (IllegalArgumentException e) {
      if (e.getMessage().isBlank()) {
        throw new AssertionError("a refusal without a reason", e);
      }
    }
  }
}

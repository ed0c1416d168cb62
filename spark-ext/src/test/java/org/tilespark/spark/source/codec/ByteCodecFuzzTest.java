package org.tilespark.spark.source.codec;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Any bytes as a chunk of any codec: our error, or bytes inside the room. */
class ByteCodecFuzzTest {
  private static final int ROOM = 4096;

  static Stream<Arguments> seeds() {
    return Arrays.stream(ByteCodec.values())
        .flatMap(codec -> Stream.of(100, 3000, 9000).map(bytes -> seed(codec, bytes)));
  }

  private static Arguments seed(ByteCodec codec, int bytes) {
    try {
      byte[] encoded = ByteCodecTest.encode(codec, ByteCodecTest.data(bytes));
      byte[] input = new byte[encoded.length + 1];
      input[0] = (byte) codec.ordinal();
      System.arraycopy(encoded, 0, input, 1, encoded.length);
      return Arguments.of((Object) input);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @MethodSource("seeds")
  @FuzzTest
  void anyBytesAreAChunkOrRefused(byte[] input) {
    if (input.length == 0) {
      return;
    }
    ByteCodec codec = ByteCodec.values()[(input[0] & 0xff) % ByteCodec.values().length];
    try {
      ByteCodecTest.decode(codec, Arrays.copyOfRange(input, 1, input.length), ROOM);
    } catch (IllegalArgumentException e) {
      assertTrue(e.getMessage().startsWith(codec.id() + ": "), e.getMessage());
    }
  }
}

package org.tilespark.spark.source.codec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.arrow.memory.RootAllocator;
import org.junit.jupiter.api.Test;

/** Bytes that were encoded are decoded to themselves, fit their room, and are always the same. */
class ByteEncoderTest {
  private static List<ByteEncoder> encoders() {
    List<ByteEncoder> encoders = new ArrayList<>(List.of(ByteEncoder.CHECKSUM));
    for (int level : new int[] {0, 1, 5, 9}) {
      encoders.add(new ByteEncoder(ByteCodec.ZSTD, level, null));
      encoders.add(new ByteEncoder(ByteCodec.GZIP, level, null));
      for (String inner : List.of("lz4", "zstd")) {
        for (int width : new int[] {1, 2, 4, 8, 16}) {
          var settings = new ByteEncoder.BloscSettings(inner, width);
          encoders.add(new ByteEncoder(ByteCodec.BLOSC, level, settings));
        }
      }
    }
    return encoders;
  }

  /** Noise, or numbers that grow, or both in turn. */
  private static byte[] bytes(int length, int kind) {
    byte[] bytes = new byte[length];
    new Random(length).nextBytes(bytes);
    for (int i = 0; i < length; i++) {
      boolean isNoise = kind == 0 || (kind == 2 && i / 5000 % 2 == 0);
      bytes[i] = isNoise ? bytes[i] : (byte) (i % 4 == 0 ? i / 400 : i % 4);
    }
    return bytes;
  }

  private static ByteBuffer direct(byte[] bytes) {
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  @Test
  void allLengthsComeBack() {
    try (RootAllocator allocator = new RootAllocator();
        CodecMemory memory = new CodecMemory(allocator)) {
      for (int length : new int[] {0, 1, 15, 16, 127, 128, 1001, (256 << 10) + 7, 600_000}) {
        for (int kind = 0; kind < 3; kind++) {
          byte[] bytes = bytes(length, kind);
          for (ByteEncoder encoder : encoders()) {
            String what = encoder + " of " + length + " bytes of kind " + kind;
            byte[] encoded = encode(encoder, bytes, memory);
            assertArrayEquals(encoded, encode(encoder, bytes, memory), what);
            ByteBuffer decoded = ByteBuffer.allocateDirect(length);
            encoder.codec().decode(direct(encoded), decoded, memory);
            assertEquals(length, decoded.position(), what);
            byte[] back = new byte[length];
            decoded.flip().get(back);
            assertArrayEquals(bytes, back, what);
            if (kind == 1 && length > 10_000 && encoder.level() > 0) {
              assertTrue(encoded.length < length / 2, what + " has " + encoded.length);
            }
          }
        }
      }
    }
  }

  private static byte[] encode(ByteEncoder encoder, byte[] bytes, CodecMemory memory) {
    ByteBuffer in = direct(bytes);
    ByteBuffer out =
        ByteBuffer.allocateDirect(3 + Math.toIntExact(encoder.mostEncoded(bytes.length)));
    out.position(3); // as after other chunks
    encoder.encode(in, out, memory);
    assertEquals(0, in.remaining());
    byte[] encoded = new byte[out.position() - 3];
    out.flip().position(3).get(encoded);
    return encoded;
  }

  @Test
  void levelsThatAreNoneAreRefused() {
    String message =
        assertThrows(
                IllegalArgumentException.class, () -> new ByteEncoder(ByteCodec.GZIP, 10, null))
            .getMessage();
    assertTrue(message.contains("level 10 of gzip; expected 0 to 9"), message);
    assertThrows(IllegalArgumentException.class, () -> new ByteEncoder(ByteCodec.LZ4, 0, null));
  }
}

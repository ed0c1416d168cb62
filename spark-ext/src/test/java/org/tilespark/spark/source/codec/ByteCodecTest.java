package org.tilespark.spark.source.codec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.luben.zstd.Zstd;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.CRC32C;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import net.jpountz.lz4.LZ4Factory;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.xerial.snappy.Snappy;

/** Chunks that are encoded here by plain definitions and by the libraries' encoders. */
public class ByteCodecTest {
  private static final int ROOM = 1 << 16;

  static byte[] data(int bytes) {
    byte[] data = new byte[bytes];
    new Random(bytes).nextBytes(data);
    Arrays.fill(data, bytes / 3, bytes / 2, (byte) 7);
    return data;
  }

  public static byte[] encode(ByteCodec codec, byte[] data) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    switch (codec) {
      case GZIP -> {
        int half = data.length / 2; // two members
        for (byte[] part :
            new byte[][] {Arrays.copyOf(data, half), Arrays.copyOfRange(data, half, data.length)}) {
          try (GZIPOutputStream member = new GZIPOutputStream(out)) {
            member.write(part);
          }
        }
      }
      case ZLIB -> {
        try (DeflaterOutputStream stream = new DeflaterOutputStream(out)) {
          stream.write(data);
        }
      }
      case ZSTD -> out.write(Zstd.compress(data));
      case LZ4 -> {
        out.write(ints(data.length));
        out.write(LZ4Factory.safeInstance().fastCompressor().compress(data));
      }
      case CRC32C -> {
        CRC32C sum = new CRC32C();
        sum.update(data);
        out.write(data);
        out.write(ints((int) sum.getValue()));
      }
      case BLOSC -> out.write(blosc(data, 4, 1 << 10, 1, 1));
    }
    return out.toByteArray();
  }

  private static byte[] ints(int... numbers) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
    Arrays.stream(numbers).forEach(bytes::putInt);
    return bytes.array();
  }

  /** A buffer of c-blosc 1: header, places, and blocks whose planes of bytes are split. */
  private static byte[] blosc(byte[] data, int width, int most, int filter, int codec)
      throws IOException {
    int blockBytes = Math.min(most, data.length); // as c-blosc
    ByteArrayOutputStream blocks = new ByteArrayOutputStream();
    int count = (data.length + blockBytes - 1) / blockBytes;
    int[] places = new int[count];
    for (int i = 0; i < count; i++) {
      places[i] = 16 + 4 * count + blocks.size();
      byte[] block =
          Arrays.copyOfRange(data, i * blockBytes, Math.min(data.length, (i + 1) * blockBytes));
      byte[] shuffled =
          filter == 1 ? shuffled(block, width) : filter == 4 ? bits(block, width) : block;
      boolean splits = width <= 16 && blockBytes / width >= 128 && block.length == blockBytes;
      int streams = splits ? width : 1;
      for (int stream = 0; stream < streams; stream++) {
        int length = block.length / streams;
        byte[] part = Arrays.copyOfRange(shuffled, stream * length, (stream + 1) * length);
        byte[] encoded =
            switch (codec) {
              case 1 -> LZ4Factory.safeInstance().fastCompressor().compress(part);
              case 2 -> Snappy.compress(part);
              case 3 -> encode(ByteCodec.ZLIB, part);
              case 4 -> Zstd.compress(part);
              default -> literals(part);
            };
        byte[] stored = encoded.length < part.length ? encoded : part;
        blocks.write(ints(stored.length));
        blocks.write(stored);
      }
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(new byte[] {2, 1, (byte) (filter | codec << 5), (byte) width});
    out.write(ints(data.length, blockBytes, 16 + 4 * count + blocks.size()));
    out.write(ints(places));
    out.write(blocks.toByteArray());
    return out.toByteArray();
  }

  /** BloscLZ: runs of one byte as a literal and a match, all else as literals. */
  private static byte[] literals(byte[] data) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    int at = 0;
    while (at < data.length) {
      int run = 1;
      while (at + run < data.length && data[at + run] == data[at]) {
        run++;
      }
      out.write(0); // one literal
      out.write(data[at]);
      int match = Math.min(run - 1, 300);
      if (match >= 9 && at + 1 + match < data.length) {
        out.write(7 << 5);
        int rest = match - 9;
        for (; rest >= 255; rest -= 255) {
          out.write(255);
        }
        out.write(rest);
        out.write(0); // distance 1
        at += match;
      }
      at++;
    }
    return out.toByteArray();
  }

  private static byte[] shuffled(byte[] block, int width) {
    byte[] out = block.clone();
    int count = block.length / width;
    for (int i = 0; i < count; i++) {
      for (int b = 0; b < width; b++) {
        out[b * count + i] = block[i * width + b];
      }
    }
    return out;
  }

  private static byte[] bits(byte[] block, int width) {
    int count = block.length / width;
    if (count % 8 != 0) {
      return block;
    }
    byte[] out = block.clone();
    Arrays.fill(out, 0, count * width, (byte) 0);
    for (int i = 0; i < count; i++) {
      for (int bit = 0; bit < 8 * width; bit++) {
        int value = block[i * width + bit / 8] >> bit % 8 & 1;
        out[bit * (count / 8) + i / 8] |= (byte) (value << i % 8);
      }
    }
    return out;
  }

  /** Decodes into a room between guards, and returns what was written. */
  static byte[] decode(ByteCodec codec, byte[] encoded, int room) {
    ByteBuffer in = ByteBuffer.allocateDirect(encoded.length).put(encoded).flip();
    ByteBuffer out = ByteBuffer.allocateDirect(room + 16);
    for (int i = 0; i < out.capacity(); i++) {
      out.put(i, (byte) 0x5a);
    }
    out.position(8).limit(8 + room);
    int end;
    try (NativeMemorySource source = new NativeMemorySource(0)) {
      ArrowMemory memory = new ArrowMemory(source);
      try (BufferAllocator allocator = memory.newChild("codec");
          CodecMemory scratch = new CodecMemory(allocator)) {
        codec.decode(in, out, scratch);
        end = out.position();
      } finally {
        for (int i = 0; i < 8; i++) {
          assertEquals(0x5a, out.get(i), "before the room");
          assertEquals(0x5a, out.clear().get(8 + room + i), "after the room");
        }
        memory.close(); // throws if a buffer is alive
      }
      byte[] written = new byte[end - 8];
      out.get(8, written);
      return written;
    }
  }

  @ParameterizedTest
  @EnumSource(ByteCodec.class)
  void theBytesComeBack(ByteCodec codec) throws IOException {
    for (int bytes : new int[] {1, 2, 1000, 4096, 50_000}) {
      byte[] data = data(bytes);
      assertArrayEquals(data, decode(codec, encode(codec, data), bytes), codec + " " + bytes);
    }
  }

  @ParameterizedTest
  @CsvSource({"0", "1", "2", "3", "4"})
  void eachInnerCodecOfBlosc(int codec) throws IOException {
    for (int filter : new int[] {0, 1, 4}) {
      for (int width : new int[] {1, 2, 3, 4, 8, 16, 24}) {
        byte[] data = data(10_007);
        byte[] encoded = blosc(data, width, 3 * 8 * 16 * 16, filter, codec);
        assertArrayEquals(
            data,
            decode(ByteCodec.BLOSC, encoded, data.length),
            "filter %s, width %s".formatted(filter, width));
      }
    }
  }

  /** A chunk that decodes to more than there is room for ends in our error; nothing is written. */
  @ParameterizedTest
  @EnumSource(ByteCodec.class)
  void bombsAreRefused(ByteCodec codec) throws IOException {
    byte[] encoded = encode(codec, new byte[1 << 20]);
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> decode(codec, encoded, ROOM));
    assertTrue(e.getMessage().startsWith(codec.id() + ": "), e.getMessage());
  }

  /** Each prefix, and each byte changed: our error, or some bytes inside the room. */
  @ParameterizedTest
  @EnumSource(ByteCodec.class)
  void damagedBytesStayInTheRoom(ByteCodec codec) throws IOException {
    byte[] encoded = encode(codec, data(700));
    int refused = 0;
    for (int i = 0; i < encoded.length; i++) {
      refused += isRefused(codec, Arrays.copyOf(encoded, i)) ? 1 : 0;
      byte[] changed = encoded.clone();
      changed[i] ^= (byte) (1 << i % 8);
      isRefused(codec, changed);
    }
    assertTrue(refused > encoded.length / 2, "refused " + refused + " prefixes");
  }

  private static boolean isRefused(ByteCodec codec, byte[] encoded) {
    try {
      decode(codec, encoded, 700);
      return false;
    } catch (IllegalArgumentException e) {
      assertTrue(e.getMessage().startsWith(codec.id() + ": "), e.getMessage());
      return true;
    }
  }

  @Test
  void anotherChecksumIsNamed() throws IOException {
    byte[] encoded = encode(ByteCodec.CRC32C, data(100));
    encoded[50]++;
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> decode(ByteCodec.CRC32C, encoded, 100));
    assertTrue(e.getMessage().contains("they were damaged"), e.getMessage());
  }
}

package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.DictionaryEntries;
import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.spark.numpy.NpyType;

/**
 * Any bytes as the beginning of a .npy file: they are a header, or refused in a message of ours of
 * bearable length.
 */
class NpyHeaderFuzzTest {
  private static final int LONGEST_MESSAGE = 1000;

  static Stream<Arguments> seeds() {
    Stream<byte[]> good =
        Arrays.stream(NpyType.values())
            .map(type -> new NpyFixture(type.descr().substring(1), 2, 3))
            .flatMap(
                fixture ->
                    Stream.of(
                        fixture.canonical(),
                        fixture.file('>', true, 2),
                        fixture.file('<', true, 3)));
    Stream<byte[]> odd =
        Stream.of(
                "",
                "{}",
                "{,}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L,), }",
                "{\"shape\": (), 'fortran_order': True, 'descr': '|i1'}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 2)}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807)}",
                "{'descr': '<c16', 'fortran_order': False, 'shape': (576460752303423487,)}",
                "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
                "{'descr': '>', 'fortran_order': False, 'shape': (1,)}",
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
                "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
                "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (1,)}",
                "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (1,)}",
                "{'descr': '<U4', 'fortran_order': False, 'shape': (1,)}",
                "{'descr': '<f4")
            .map(dict -> NpyFixture.header(dict, 1));
    Stream<byte[]> broken =
        Stream.of(
            new byte[0],
            new byte[] {(byte) 0x93},
            "\u0093NUMPY".getBytes(StandardCharsets.ISO_8859_1),
            "\u0093NUMPY\1\0\0\0".getBytes(StandardCharsets.ISO_8859_1),
            "\u0093NUMPY\1\0\u00ff\u00ff{".getBytes(StandardCharsets.ISO_8859_1),
            "\u0093NUMPY\2\0\u00ff\u00ff\u00ff\u00ff{".getBytes(StandardCharsets.ISO_8859_1),
            "\u0093NUMPY\2\0\0\0\u0010\0{".getBytes(StandardCharsets.ISO_8859_1),
            "\u0093NUMPY\3\0\4\0\0\0\u00ff\u00fe{'".getBytes(StandardCharsets.ISO_8859_1),
            "\u0093NUMPY\u0081\0\0\0".getBytes(StandardCharsets.ISO_8859_1));
    return Stream.of(good, odd, broken).flatMap(bytes -> bytes).map(b -> Arguments.of((Object) b));
  }

  @DictionaryEntries({
    "'descr': '<f4'",
    "'fortran_order': False",
    "'shape': (",
    "True",
    "'|u1'",
    "'>c16'",
    "L,",
    "), }"
  })
  @MethodSource("seeds")
  @FuzzTest
  void anyBytesAreAHeaderOrRefused(byte[] file) {
    NpyHeader header;
    int bytes;
    try {
      bytes =
          NpyHeader.headerBytes(Arrays.copyOf(file, Math.min(file.length, NpyHeader.PREFIX_BYTES)));
      assertTrue(bytes >= 10 && bytes <= NpyHeader.MAX_HEADER_BYTES + NpyHeader.PREFIX_BYTES);
      if (bytes > file.length) {
        return; // NpyFile calls it truncated
      }
      header = NpyHeader.parse(Arrays.copyOf(file, bytes));
    } catch (IllegalArgumentException e) {
      assertTrue(
          e.getMessage().length() < LONGEST_MESSAGE,
          () -> "a message of " + e.getMessage().length() + " characters");
      return;
    }
    assertEquals(bytes, header.dataOffset());
    assertTrue(header.dataBytes() >= 0 && header.fileBytes() >= header.dataBytes());
    for (long extent : header.shape().toArray()) {
      assertTrue(extent >= 0);
    }
    NpyHeader again = NpyHeader.forWriting(header.type(), header.shape());
    assertEquals(again, NpyHeader.parse(again.encode()), "what is written reads as something else");
  }
}

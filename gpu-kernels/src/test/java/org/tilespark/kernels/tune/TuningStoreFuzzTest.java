package org.tilespark.kernels.tune;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.transpose.ProblemClass;
import org.tilespark.kernels.transpose.Tiling;

/**
 * Any bytes in a file of tilings: they are a table, or nothing. The text is tried as it is, and
 * with the right header and checksum around it, so that the search gets past both.
 */
class TuningStoreFuzzTest {
  private static final String HEADER = "tilespark tilings 1\ndevice a device\nkernels abc\n\n";

  private static Path directory;

  static Stream<Arguments> seeds() {
    return Stream.of(
            "",
            "vector w4 16384 x 512- of 2^28 = transpose_vector_w4_32x8 rows-first\n",
            "shifted w16 48 x 99999 of 2^99 = k cols-first\n# a comment\n\n",
            "vector w4 1 x 1 of 2^1 = k rows-first\nvector w4 1 x 1 of 2^1 = other cols-first",
            "vector w3 1 x 1 of 2^1 = k rows-first",
            "vector w4 999999 x 1 of 2^1 = k rows-first",
            "vector w4 1 x 1 of 2^1 =  rows-first",
            "vector w4 1 x 1 of 2^1 = k diagonal",
            "\u0661 = \ud800 rows-first")
        .map(text -> Arguments.of((Object) text.getBytes(StandardCharsets.UTF_8)));
  }

  @MethodSource("seeds")
  @FuzzTest
  void anyBytesAreATableOrNothing(byte[] bytes) throws IOException {
    TuningStore<ProblemClass, Tiling> store = TuningStore.ofTilings(directory(), "a device", "abc");
    Files.write(store.file(), bytes);
    assertTrue(store.load().entries().size() <= bytes.length);

    String text = new String(bytes, StandardCharsets.UTF_8);
    Files.writeString(store.file(), sealed(HEADER + text + "\n"));
    TuningTable<ProblemClass, Tiling> loaded = store.load();
    TuningTable<ProblemClass, Tiling> expected;
    try {
      expected = Tiling.FORMAT.parse(text);
    } catch (IllegalArgumentException e) {
      assertTrue(e.getMessage().contains("'"), "the message quotes no line: " + e.getMessage());
      expected = TuningTable.empty();
    }
    assertEquals(expected, loaded);
    assertEquals(loaded, Tiling.FORMAT.parse(loaded.toText()));
  }

  private static String sealed(String body) {
    CRC32 crc = new CRC32();
    crc.update(body.getBytes(StandardCharsets.UTF_8));
    return body + "# crc32 " + Long.toHexString(crc.getValue()) + "\n";
  }

  private static Path directory() throws IOException {
    if (directory == null) {
      directory =
          Files.createTempDirectory(
              "tilings-fuzz",
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      directory.toFile().deleteOnExit();
    }
    return directory;
  }
}

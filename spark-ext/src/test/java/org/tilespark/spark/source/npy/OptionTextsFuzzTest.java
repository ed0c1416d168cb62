package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.DictionaryEntries;
import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.source.BlockGrid;

/**
 * Any texts as options of the source and sink, of a multiply, and as shapes: understood, or refused
 * with the text in the message. The input is lines of {@code name=value}.
 */
class OptionTextsFuzzTest {
  static Stream<Arguments> seeds() {
    return Stream.of(
            "",
            "=",
            "path=/tmp/a.npy\nblockShape=2048,2048\nas=float\ndtype=<f4\nextents=10,20",
            "path=a\npaths=[\"a\"]",
            "PATH= \nDType=|u1",
            "path=a\nblockShape=99999999999,1\nextents=-1,2",
            "path=a\nblockShape=0,1\nextents=9223372036854775807,9223372036854775807",
            "path=a\nextents=\u0661,\u0662\nas=D\u00d6UBLE",
            "path=a\ndtype=>c16\nextents=+1,+2",
            "transposeA=true\nTRANSPOSEB= False \nprecision=tf32\nstrategy=auto\nmissing=zero",
            "strategy=cuboid(4,4,1)\nblockShape=1024,1024\nmissing=error",
            "strategy=cuboid(999999999,999999999,999999999)\nprecision=float16",
            "strategy= CUBOID ( \u0661 , 2,3)\nprecision=full",
            "blockShape=2147483647,2",
            "blockShape=46340,46341",
            "blockShape=,",
            "color=red",
            "axes=yzx\naxes= ZXY ",
            "TRANSPOSEB= Falseecision=tf04",
            "path=a\nblockShape=999999,1\nextents=9236854775806,37",
            "axes=xx\u0131",
            "transposeA\nprecision\nstrategy\nmissing\nblockShape")
        .map(text -> Arguments.of((Object) text.getBytes(StandardCharsets.UTF_8)));
  }

  @DictionaryEntries({
    "path=a",
    "blockShape=",
    "extents=",
    "as=",
    "dtype=",
    "strategy=",
    "cuboid(",
    "precision=",
    "missing=",
    "transposeA=",
    "axes=",
    "2147483647",
    "9223372036854775807"
  })
  @MethodSource("seeds")
  @FuzzTest
  void anyTextsAreUnderstoodOrQuoted(byte[] bytes) {
    Map<String, String> texts = new HashMap<>();
    for (String line : new String(bytes, StandardCharsets.UTF_8).split("\n", -1)) {
      int equals = line.indexOf('=');
      String name = equals < 0 ? line : line.substring(0, equals);
      texts.put(name, equals < 0 ? null : line.substring(equals + 1)); // a map may hold null
    }
    npy(texts);
    texts.forEach(OptionTextsFuzzTest::multiply);
    texts.values().forEach(OptionTextsFuzzTest::shapes);
  }

  private static void npy(Map<String, String> texts) {
    NpyOptions options = orRefused(() -> NpyOptions.of(new CaseInsensitiveStringMap(texts)), "");
    if (options == null) {
      return;
    }
    assertTrue(!options.path().isBlank());
    for (int rank = 2; rank <= 3; rank++) {
      int axes = rank;
      Shape shape =
          orRefused(() -> options.extents(axes).orElse(null), options.extents().orElse(null));
      if (shape != null) {
        assertEquals(rank, shape.rank());
        long[] array = new long[rank];
        Arrays.fill(array, 1000);
        for (Shape whole : new Shape[] {shape, Shape.of(array)}) {
          BlockGrid grid =
              orRefused(
                  () -> BlockGrid.of(options.blockShape(), whole, ElementType.FLOAT32, 1, false),
                  options.blockShape().orElse(null));
          if (grid != null) {
            assertTrue(grid.count() >= 0 && grid.count() <= 100_000_000, "" + grid);
          }
        }
      }
    }
  }

  private static void multiply(String name, String text) {
    Map<String, String> one = new HashMap<>();
    one.put(name, text);
    MultiplyOptions options =
        orRefused(
            () -> MultiplyOptions.of(one),
            MultiplyOptions.NAMES.stream().anyMatch(name::equalsIgnoreCase) ? text : name);
    if (options != null) {
      assertEquals(options, MultiplyOptions.of(options.toMap()));
      options
          .blockShape()
          .ifPresent(shape -> assertTrue(shape.elements() > 0 && shape.elements() < 1L << 31));
    }
  }

  private static void shapes(String text) {
    if (text == null) {
      return;
    }
    for (int rank = 1; rank <= 3; rank++) {
      int axes = rank;
      Shape shape = orRefused(() -> Shape.parse("a text", text, axes), text);
      if (shape != null) {
        String written = Arrays.toString(shape.toArray()).replaceAll("[\\[\\] ]", "");
        assertEquals(shape, Shape.parse("a text", written, axes));
      }
    }
    Permutation axes = orRefused(() -> Permutation.parse(text), text);
    if (axes != null) {
      assertTrue(axes.inverse().inverse().equals(axes));
    }
    orRefused(() -> Missing.parse("a text", text), text);
  }

  /** The result; or null if it refuses, in words that hold the text. */
  private static <T> T orRefused(Supplier<T> parser, String text) {
    try {
      return parser.get();
    } catch (IllegalArgumentException e) {
      String quoted = text == null ? "" : text;
      assertTrue(
          e.getMessage().contains(quoted)
              || e.getMessage().contains("Shape (") // read as numbers, and too large
              || e.getMessage().contains("into ") // blocks of it cut an array into too many
              || e.getMessage().contains("cuboid("),
          () -> "'" + quoted + "' is not in: " + e.getMessage());
      return null;
    }
  }
}

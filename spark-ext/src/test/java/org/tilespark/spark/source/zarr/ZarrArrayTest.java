package org.tilespark.spark.source.zarr;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;

/** Metadata of both versions: what they mean, and what is refused by its name. */
class ZarrArrayTest {
  private static final String VERSION_3 =
      """
      {'zarr_format': 3, 'node_type': 'array', 'shape': [20, 30], 'data_type': 'float32',
       'chunk_grid': {'name': 'regular', 'configuration': {'chunk_shape': [10, 6]}},
       'chunk_key_encoding': {'name': 'default'}, 'fill_value': 'NaN',
       'codecs': [{'name': 'bytes', 'configuration': {'endian': 'little'}}],
       'dimension_names': ['y', null], 'attributes': {'a': NaN}}
      """;
  private static final String VERSION_2 =
      """
      {'zarr_format': 2, 'shape': [20, 30], 'dtype': '>i4', 'chunks': [10, 6], 'order': 'F',
       'fill_value': null, 'compressor': {'id': 'zlib', 'level': 1}, 'filters': null}
      """;

  private static JsonNode json(String text) {
    return Json.parse(text.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
  }

  private static String refusal(String version, String from, String to) {
    assertTrue(version.contains(from), from);
    JsonNode json = json(version.replace(from, to));
    return assertThrows(
            IllegalArgumentException.class,
            () -> {
              if (version.equals(VERSION_3)) {
                ZarrArray.ofVersion3(json);
              } else {
                ZarrArray.ofVersion2(json, json("{}"));
              }
            })
        .getMessage();
  }

  @Test
  void version3() {
    ZarrArray array = ZarrArray.ofVersion3(json(VERSION_3));
    assertEquals(Shape.of(20, 30), array.shape());
    assertEquals(Shape.of(10, 6), array.layout().shape());
    assertEquals(NpyType.FLOAT32, array.type());
    assertEquals(0x7fc00000L, array.fill().real());
    assertEquals(List.of("y", ""), array.names());
    assertEquals("c/1/4", array.keys().of(new long[] {1, 4}));
  }

  @Test
  void version2() {
    ZarrArray array =
        ZarrArray.ofVersion2(json(VERSION_2), json("{'_ARRAY_DIMENSIONS': ['y', 'x']}"));
    ChunkLayout.Leaf leaf = (ChunkLayout.Leaf) array.layout();
    assertTrue(leaf.bigEndian());
    assertEquals(1, leaf.order().axis(0));
    assertEquals(FillValue.NONE, array.fill());
    assertEquals(List.of("y", "x"), array.names());
    assertEquals("1.4", array.keys().of(new long[] {1, 4}));
  }

  @Test
  void refusalsNameTheCause() {
    assertTrue(refusal(VERSION_3, "'attributes'", "'ext'").contains("the field 'ext'"));
    ZarrArray.ofVersion3(
        json(VERSION_3.replace("'attributes': {'a': NaN}", "'ext': {'must_understand': false}")));
    assertTrue(refusal(VERSION_3, "'bytes'", "'vlen-utf8'").contains("codec 'vlen-utf8'"));
    assertTrue(refusal(VERSION_3, "regular", "rectilinear").contains("grid 'rectilinear'"));
    assertTrue(refusal(VERSION_3, "'float32'", "'uint64'").contains("wider than BIGINT"));
    assertTrue(refusal(VERSION_3, "[10, 6]", "[10, 0]").contains("'chunk_shape' is [10,0]"));
    assertTrue(refusal(VERSION_3, "[10, 6]", "[10]").contains("chunks of"));
    assertTrue(refusal(VERSION_3, "'little'", "'middle'").contains("endian 'middle'"));
    assertTrue(refusal(VERSION_3, "[20, 30]", "[9000000000, 9000000000]").contains("2^63"));
    assertTrue(refusal(VERSION_3, "[10, 6]", "[100000, 60000]").contains("below 2 GiB"));
    assertTrue(
        refusal(VERSION_2, "'filters': null", "'filters': [{'id': 'delta'}]").contains("delta"));
    assertTrue(refusal(VERSION_2, "zlib", "lzma").contains("codec 'lzma'"));
    assertTrue(refusal(VERSION_2, ">i4", "|S4").contains("strings"));
  }

  @Test
  void shardsInShardsHaveAnEnd() {
    String codecs = "[{'name': 'bytes', 'configuration': {'endian': 'little'}}]";
    for (int depth = 0; depth < 9; depth++) {
      codecs =
          "[{'name': 'sharding_indexed', 'configuration': {'chunk_shape': [10, 6], 'codecs': "
              + codecs
              + ", 'index_codecs': [{'name': 'bytes', 'configuration': {'endian': 'little'}}]}}]";
    }
    String bytes = "[{'name': 'bytes', 'configuration': {'endian': 'little'}}]";
    assertTrue(refusal(VERSION_3, bytes, codecs).contains("shards in shards"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "FLOAT32; 1.5; 3fc00000; 0",
        "FLOAT32; '-Infinity'; ff800000; 0",
        "FLOAT32; '0x7fc00001'; 7fc00001; 0",
        "FLOAT64; 'NaN'; 7ff8000000000000; 0",
        "FLOAT16; 'Infinity'; 7c00; 0",
        "FLOAT16; 1; 3c00; 0",
        "INT8; -1; ffffffffffffffff; 0",
        "UINT8; 255; ff; 0",
        "UINT32; 4294967295; ffffffff; 0",
        "INT64; -9223372036854775808; 8000000000000000; 0",
        "BOOL; true; 1; 0",
        "INT32; 3.0; 3; 0",
        "COMPLEX64; [1.0, 'NaN']; 3f800000; 7fc00000",
      })
  void fillValues(NpyType type, String text, String real, String imag) {
    String quoted =
        text.matches("[-\\w]*[a-zA-Z]\\w*") && !text.equals("true") ? "'" + text + "'" : text;
    FillValue found = FillValue.of(json("{'f': " + quoted + "}").get("f"), type);
    assertEquals(
        new FillValue(Long.parseUnsignedLong(real, 16), Long.parseUnsignedLong(imag, 16), true),
        found);
  }

  @ParameterizedTest
  @CsvSource({"INT8, 128", "UINT8, -1", "INT32, 1.5", "BOOL, 2", "FLOAT32, true", "FLOAT32, null"})
  void otherFillValuesAreRefused(NpyType type, String text) {
    JsonNode node = json("{'f': " + text + "}").get("f");
    assertThrows(IllegalArgumentException.class, () -> FillValue.of(node, type));
  }
}

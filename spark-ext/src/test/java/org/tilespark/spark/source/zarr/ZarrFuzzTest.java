package org.tilespark.spark.source.zarr;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.DictionaryEntries;
import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.spark.source.BlockReader;
import org.tilespark.spark.source.codec.ByteCodec;
import org.tilespark.spark.source.codec.ByteCodecTest;

/**
 * Any bytes as metadata or as a shard: an array, or our error, within the memory of some chunks.
 */
class ZarrFuzzTest {
  private static final Configuration CONF = conf();

  /**
   * Far more than the chunks of these arrays need, far less than what damaged bytes may ask for.
   */
  private static final long MEMORY = 4 << 20;

  private static final String BYTES =
      "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}";
  private static final String SHARDS =
      "{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [2, 3], \"codecs\":"
          + " [%s, {\"name\": \"gzip\", \"configuration\": {\"level\": 1}}], \"index_codecs\": [%s]}}";

  private static Path directory;

  private static String version3(String codecs) {
    return ("{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4, 6], \"data_type\":"
            + " \"int16\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\":"
            + " {\"chunk_shape\": [4, 6]}}, \"chunk_key_encoding\": {\"name\": \"v2\"},"
            + " \"fill_value\": 7, \"codecs\": [%s], \"dimension_names\": [\"y\", null]}")
        .formatted(codecs);
  }

  static Stream<Arguments> documents() {
    String version2 =
        "{\"zarr_format\": 2, \"shape\": [2, 3, 4, 6], \"dtype\": \">i2\", \"chunks\": [1, 2, 4, 3],"
            + " \"order\": \"F\", \"fill_value\": \"NaN\", \"compressor\": {\"id\": \"blosc\"},"
            + " \"filters\": null}";
    return Stream.of(
            "3" + version3(BYTES), "3" + version3(SHARDS.formatted(BYTES, BYTES)), "2" + version2)
        .map(text -> Arguments.of((Object) text.getBytes(StandardCharsets.UTF_8)));
  }

  @DictionaryEntries({
    "\"shape\"",
    "[1, 2]",
    "\"fill_value\"",
    "\"0x7fc0\"",
    "-9223372036854775808"
  })
  @MethodSource("documents")
  @FuzzTest
  void anyBytesAreMetadataOrRefused(byte[] input) throws IOException {
    if (input.length == 0) {
      return;
    }
    Path store = store();
    Files.deleteIfExists(store.resolve("zarr.json"));
    Files.deleteIfExists(store.resolve(".zarray"));
    String name = input[0] % 2 == 1 ? "zarr.json" : ".zarray";
    Files.write(store.resolve(name), Arrays.copyOfRange(input, 1, input.length));
    try {
      source(store);
    } catch (IllegalArgumentException e) {
      boolean isNamed =
          e.getMessage().contains(name) || e.getMessage().startsWith("Option blockShape");
      assertTrue(isNamed, e.getMessage());
    }
  }

  static Stream<Arguments> shards() throws IOException {
    byte[] numbers = new byte[12];
    Arrays.fill(numbers, (byte) 3);
    byte[] chunk = ByteCodecTest.encode(ByteCodec.GZIP, numbers);
    ByteBuffer shard = ByteBuffer.allocate(4 * chunk.length + 64).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 4; i++) {
      shard.put(chunk);
    }
    for (long i = 0; i < 4; i++) {
      shard.putLong(i * chunk.length).putLong(chunk.length);
    }
    ByteBuffer holed = ByteBuffer.allocate(chunk.length + 64).order(ByteOrder.LITTLE_ENDIAN);
    holed.put(chunk).putLong(0).putLong(chunk.length);
    for (int i = 0; i < 6; i++) {
      holed.putLong(-1);
    }
    return Stream.of(shard.array(), holed.array()).map(bytes -> Arguments.of((Object) bytes));
  }

  @MethodSource("shards")
  @FuzzTest
  void anyBytesAreAShardOrRefused(byte[] input) throws IOException {
    Path store = store();
    Files.deleteIfExists(store.resolve(".zarray"));
    Files.writeString(store.resolve("zarr.json"), version3(SHARDS.formatted(BYTES, BYTES)));
    Files.write(store.resolve("0.0"), input);
    ZarrSource source = source(store);
    try (BufferAllocator allocator = new RootAllocator(MEMORY);
        ArrowBuf values = allocator.buffer(4 * 6 * 2);
        BlockReader reader = source.open(CONF, allocator, new HostTransposer())) {
      reader.read(new long[2], new long[] {4, 6}, values, 0, null, 0);
    } catch (IllegalArgumentException | IOException e) {
      assertTrue(e.getMessage().contains("0.0"), e.getMessage());
    } finally {
      Files.delete(store.resolve("0.0"));
    }
  }

  private static ZarrSource source(Path store) {
    ZarrNode node = ZarrNode.find(store.toString(), "", CONF).orElseThrow();
    ZarrOptions options =
        ZarrOptions.of(new CaseInsensitiveStringMap(Map.of("path", store.toString())));
    return node.array().map(array -> ZarrSource.of(node, array, List.of(), options)).orElse(null);
  }

  private static Configuration conf() {
    Configuration conf = new Configuration(false);
    conf.set("fs.file.impl", org.apache.hadoop.fs.RawLocalFileSystem.class.getName());
    return conf;
  }

  private static Path store() throws IOException {
    if (directory == null) {
      directory = Files.createTempDirectory("fuzz");
      directory.toFile().deleteOnExit();
    }
    return directory;
  }
}

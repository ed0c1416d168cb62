package org.tilespark.spark.source.zarr;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.testing.SparkTest;

/** Arrays of 4 x 6 DOUBLE, written here as the specification has them. */
class ZarrFormatTest extends SparkTest {
  private static final String BYTES =
      "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}";
  @TempDir Path dir;

  private Path store(String codecs) throws IOException {
    String json =
        ("{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4, 6], \"data_type\":"
                + " \"float64\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\":"
                + " {\"chunk_shape\": [2, 4]}}, \"chunk_key_encoding\": {\"name\": \"v2\"},"
                + " \"fill_value\": -1, \"codecs\": [%s]}")
            .formatted(codecs);
    Files.writeString(dir.resolve("zarr.json"), json);
    return dir;
  }

  /** The chunk with the elements 6 * row + col, or of a part of it. */
  private static byte[] chunk(int row, int col, int rows, int cols) {
    ByteBuffer bytes = ByteBuffer.allocate(rows * cols * 8).order(ByteOrder.LITTLE_ENDIAN);
    for (int r = row; r < row + rows; r++) {
      for (int c = col; c < col + cols; c++) {
        bytes.putDouble(6 * r + c);
      }
    }
    return bytes.array();
  }

  private Dataset<Row> load(String... options) {
    var reader = spark.read().format("zarr");
    for (int i = 0; i < options.length; i += 2) {
      reader = reader.option(options[i], options[i + 1]);
    }
    return reader.load(dir.toString());
  }

  private static List<Double> values(Dataset<Row> block) {
    return block.head().getList(4);
  }

  @Test
  void chunksAreBlocksAndMissingOnesAreFill() throws IOException {
    store(BYTES);
    Files.write(dir.resolve("0.0"), chunk(0, 0, 2, 4));
    Files.write(dir.resolve("1.1"), chunk(2, 4, 2, 4));
    String[] blocks = {"blockShape", "2,4"};
    assertEquals(4, load(blocks).count());
    assertEquals(
        List.of(0., 1., 2., 3., 6., 7., 8., 9.), values(load(blocks).where("row = 0 and col = 0")));
    assertEquals(List.of(16., 17., 22., 23.), values(load(blocks).where("row = 2 and col = 4")));
    assertEquals(List.of(-1., -1., -1., -1.), values(load(blocks).where("row = 0 and col = 4")));
    String reason = reasonOf(() -> load("missing", "error").collectAsList());
    assertTrue(reason.contains("is not stored"), reason);
  }

  @Test
  void rangesOfShardsAreRead() throws IOException {
    store(
        ("{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [1, 2], \"codecs\":"
                + " [%s], \"index_codecs\": [%s, {\"name\": \"crc32c\"}], \"index_location\":"
                + " \"start\"}}")
            .formatted(BYTES, BYTES));
    ByteBuffer shard = ByteBuffer.allocate(68 + 3 * 16).order(ByteOrder.LITTLE_ENDIAN);
    shard.putLong(84).putLong(16).putLong(68).putLong(16).putLong(-1).putLong(-1);
    shard.putLong(100).putLong(16);
    CRC32C sum = new CRC32C();
    sum.update(shard.array(), 0, 64);
    shard.putInt((int) sum.getValue());
    shard.put(chunk(0, 2, 1, 2)).put(chunk(0, 0, 1, 2)).put(chunk(1, 2, 1, 2));
    Files.write(dir.resolve("0.0"), shard.array());
    String[] blocks = {"blockShape", "2,4"};
    Dataset<Row> first = load(blocks).where("row = 0 and col = 0");
    assertEquals(List.of(0., 1., 2., 3., -1., -1., 8., 9.), values(first));
    Files.write(dir.resolve("0.0"), Arrays.copyOf(shard.array(), 100));
    String reason = reasonOf(first::collectAsList);
    assertTrue(reason.contains("0.0: the index of a shard of 100 bytes has inner chunk 3"), reason);
  }

  @Test
  void wrongOptionsAndFilesAreNamed() throws IOException {
    String none = reasonOf(this::load);
    assertTrue(none.contains("no Zarr array or group"), none);
    store(BYTES);
    Files.write(dir.resolve("0.0"), new byte[63]);
    String length = reasonOf(() -> load().collectAsList());
    assertTrue(length.contains("0.0: 63 bytes of a chunk of 64 bytes"), length);
    String level = reasonOf(() -> load("level", "1"));
    assertTrue(level.contains("is an array"), level);
    String unknown = reasonOf(() -> load("selct", "y:0"));
    assertTrue(unknown.contains("did you mean 'select'"), unknown);
    String scalar = reasonOf(() -> load("select", "0:1,1:1"));
    assertTrue(scalar.contains("leaves no axis"), scalar);
  }
}

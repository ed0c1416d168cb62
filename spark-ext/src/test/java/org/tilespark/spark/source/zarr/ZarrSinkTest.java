package org.tilespark.spark.source.zarr;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.arrow.memory.RootAllocator;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.error.TileSparkException;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.HiddenFiles;
import org.tilespark.spark.source.WrittenBlocks;
import org.tilespark.spark.source.npy.NpyFixture;
import org.tilespark.spark.testing.SparkTest;

/** Arrays of Zarr are written as they can be read again, and are there whole or not at all. */
class ZarrSinkTest extends SparkTest {
  private static final List<String> TYPES =
      List.of("b1 i1 i2 i4 i8 u1 u2 u4 f2 f4 f8 c8 c16".split(" "));

  @TempDir Path dir;

  @BeforeEach
  void objectsAreInMemory() {
    ObjectStoreTestFileSystem.reset();
    spark
        .sparkContext()
        .hadoopConfiguration()
        .set("fs.objects.impl", ObjectStoreTestFileSystem.class.getName());
  }

  private Dataset<Row> npy(String name, String type, String blockShape, long... shape)
      throws IOException {
    Path file = Files.write(dir.resolve(name), new NpyFixture(type, shape).canonical());
    return spark.read().format("npy").option("blockShape", blockShape).load(file.toString());
  }

  private static void save(Dataset<Row> df, Object path, String... options) {
    var writer = df.write().format("zarr").mode("overwrite");
    for (int i = 0; i < options.length; i += 2) {
      writer = writer.option(options[i], options[i + 1]);
    }
    writer.save(path.toString());
  }

  private static Dataset<Row> load(Object path) {
    return spark.read().format("zarr").load(path.toString());
  }

  private static Dataset<Row> inPairs(String path) {
    return spark.read().format("zarr").option("blockShape", "2,2").load(path);
  }

  /** The array as numpy stores it. */
  private byte[] bytes(Dataset<Row> df) throws IOException {
    Path file = dir.resolve("back.npy");
    df.write().format("npy").mode("overwrite").save(file.toString());
    return Files.readAllBytes(file);
  }

  /** xarray would take zeros for missing values if they were the fill value of version 2. */
  @Test
  void arraysOfVersion2WithNamesHaveNoFillValue() throws IOException {
    Dataset<Row> zeros =
        spark.sql(
            "SELECT 0L AS row, 0L AS col, 8 AS rows, 8 AS cols, array_repeat(0, 64) AS values");
    for (String[] options :
        new String[][] {{}, {"dimension_names", "y,x"}, {"fill_value", "null"}}) {
      Path target = dir.resolve("v2" + options.length + (options.length == 0 ? "" : options[1]));
      String[] all = {"version", "2", "chunks", "4,4"};
      String[] both = Arrays.copyOf(all, all.length + options.length);
      System.arraycopy(options, 0, both, all.length, options.length);
      save(zeros, target, both);
      String metadata = Files.readString(target.resolve(".zarray"));
      boolean isNull = options.length > 0;
      assertEquals(isNull, metadata.contains("\"fill_value\" : null"), metadata);
      assertEquals(isNull, Files.exists(target.resolve("1.1")));
      assertEquals(0, load(target).filter("exists(values, v -> v != 0)").count());
    }
  }

  private static final List<String[]> LAYOUTS =
      List.of(
          new String[] {},
          new String[] {"chunks", "3,4", "compressor", "none"},
          new String[] {"chunks", "3,4", "compressor", "gzip", "compressionLevel", "9"},
          new String[] {"chunks", "5,64", "compressor", "blosc-lz4", "checksum", "true"},
          new String[] {"chunks", "5,2", "compressor", "blosc-zstd", "order", "F"},
          new String[] {"chunks", "3,4", "shards", "6,8", "order", "F"},
          new String[] {"chunks", "2,2", "shards", "100,100", "checksum", "true"},
          new String[] {"chunks", "3,4", "version", "2", "compressionLevel", "7"},
          new String[] {"chunks", "3,4", "version", "2", "compressor", "gzip", "order", "F"},
          new String[] {"chunks", "7,9", "version", "2", "compressor", "blosc-zstd"},
          new String[] {"chunks", "13,11", "version", "2", "compressor", "none"});

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 5})
  void allTypesComeBackByteByByte(int rank) throws IOException {
    for (String type : TYPES) {
      long[] all = rank < 4 ? new long[] {5, 13, 11} : new long[] {2, 3, 5, 7, 6};
      long[] shape = Arrays.copyOfRange(all, all.length - rank, all.length);
      Dataset<Row> df = npy("in.npy", type, rank == 2 ? "4,5" : "2,4,5", shape);
      byte[] expected = Files.readAllBytes(dir.resolve("in.npy"));
      for (int i = TYPES.indexOf(type) % 3; i < LAYOUTS.size(); i += type.equals("f4") ? 1 : 3) {
        String[] options = LAYOUTS.get(i).clone();
        for (int at = 1; at < options.length && rank > 2; at += 2) {
          options[at] = options[at - 1].matches("chunks|shards") ? "2," + options[at] : options[at];
        }
        Path store = dir.resolve("array");
        save(df, store, options);
        assertArrayEquals(
            expected, bytes(load(store)), () -> type + " " + Arrays.toString(options));
      }
    }
  }

  @Test
  void extentsOfOneOfPrimesAndOfNothingAreWritten() throws IOException {
    for (long[] shape : new long[][] {{1, 1}, {1, 7}, {97, 1}, {0, 5}, {3, 0, 2}, {1, 1, 1}}) {
      String name = "in" + Arrays.toString(shape) + ".npy";
      Dataset<Row> df = npy(name, "i2", shape.length == 2 ? "5,3" : "2,2,2", shape);
      save(df, dir.resolve("array"), "chunks", shape.length == 2 ? "4,4" : "2,2,2");
      assertArrayEquals(
          Files.readAllBytes(dir.resolve(name)), bytes(load(dir.resolve("array"))), name);
    }
  }

  @Test
  void leadingAxesAreColumns() throws IOException {
    Dataset<Row> df = npy("in.npy", "i4", "2,2,2", 2, 3, 4, 5, 6);
    Path store = dir.resolve("array");
    save(
        df.withColumnRenamed("axis0", "t").withColumnRenamed("axis1", "c"),
        store,
        "chunks",
        "1,1,4,3,6",
        "attributes",
        "{\"a\": 1}");
    assertTrue(Files.exists(store.resolve("c/1/2/0/1/0")), () -> "no chunk of t 1, c 2");
    Dataset<Row> back = load(store);
    assertArrayEquals(
        new String[] {"t", "c", "x", "y", "z", "nx", "ny", "nz", "values"}, back.columns());
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(back));
    Dataset<Row> one = back.where("t = 1 AND c IN (0, 2) AND y < 3");
    assertEquals(2, one.count());
    String plan = plan(one).executedPlan().toString();
    assertTrue(plan.contains("EqualTo(t,1)") && plan.contains("In(c, [0,2])"), plan);
    assertEquals(
        rows(back.where("t = 1 AND c = 2").drop("t", "c")),
        rows(spark.read().format("zarr").option("select", "t:1,c:2").load(store.toString())));
    save(VolumeBlocks.permute(back, "zxy"), dir.resolve("turned"));
    assertArrayEquals(
        Files.readAllBytes(dir.resolve("in.npy")),
        bytes(VolumeBlocks.permute(load(dir.resolve("turned")), "yzx")));
    for (String[] options :
        new String[][] {
          {}, {"chunks", "2,2,3,4,2"}, {"chunks", "1,2,3,4,2", "shards", "2,4,3,8,4"}
        }) {
      Path long4 = dir.resolve("long");
      save(back, long4, options);
      assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(long4)));
      String holed = reasonOf(() -> save(back.where("c <> 1"), dir.resolve("no"), options));
      assertTrue(holed.contains(options.length == 0 ? "no block at t 0, c 1, x 0" : "hold"), holed);
      String twice =
          reasonOf(() -> save(back.union(back.where("c = 1")), dir.resolve("no"), options));
      assertTrue(twice.contains(options.length == 0 ? "overlap" : "hold"), twice);
      assertFalse(Files.exists(dir.resolve("no/zarr.json")));
    }
  }

  private static List<String> names(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      return files
          .filter(Files::isRegularFile)
          .map(file -> directory.relativize(file).toString())
          .sorted()
          .toList();
    }
  }

  @Test
  void chunksOfNothingButFillAreLeftOut() throws IOException {
    Dataset<Row> zeros =
        spark.sql(
            "SELECT 2L * id AS row, 0L AS col, 2 AS rows, 3 AS cols, if(id = 1, array(0, 0, 0, 5,"
                + " 0, 0), array_repeat(0, 6)) AS values FROM range(3)");
    Path store = dir.resolve("array");
    save(zeros, store, "chunks", "2,3");
    assertEquals(List.of("c/1/0", "zarr.json"), names(store));
    save(zeros, store, "chunks", "1,1", "shards", "2,3", "fill_value", "5");
    assertEquals(List.of("c/0/0", "c/1/0", "c/2/0", "zarr.json"), names(store));
    assertEquals(6 * 4 + 4, shardIndex(store.resolve("c/0/0")));
    assertEquals(5 * 4 + 4, shardIndex(store.resolve("c/1/0")));
    assertEquals(
        rows(zeros),
        rows(spark.read().format("zarr").option("blockShape", "2,3").load(store.toString())));
  }

  /** Sum of the lengths in the index of a shard of six chunks without a codec's own fields. */
  private static long shardIndex(Path shard) throws IOException {
    byte[] bytes = Files.readAllBytes(shard);
    var index =
        java.nio.ByteBuffer.wrap(bytes, bytes.length - 100, 100)
            .slice()
            .order(java.nio.ByteOrder.LITTLE_ENDIAN);
    long stored = 0;
    for (int i = 0; i < 6; i++) {
      stored += index.getLong(16 * i) == -1 ? 0 : 4;
    }
    return stored + 4;
  }

  @Test
  void blocksInChunksAreWrittenWithoutAnExchangeAndOthersAreReblocked() throws IOException {
    Dataset<Row> df = npy("in.npy", "f8", "6,8", 20, 30);
    byte[] expected = Files.readAllBytes(dir.resolve("in.npy"));
    int before = shuffles();
    save(df, dir.resolve("a"), "chunks", "3,4");
    assertEquals(before + 1, shuffles());
    save(MatrixBlocks.transpose(df), dir.resolve("b"), "chunks", "4,6");
    assertEquals(before + 2, shuffles());
    save(
        MatrixBlocks.transpose(MatrixBlocks.transpose(df)).where("true"),
        dir.resolve("c"),
        "chunks",
        "5,7");
    assertArrayEquals(expected, bytes(load(dir.resolve("a"))));
    assertArrayEquals(expected, bytes(MatrixBlocks.transpose(load(dir.resolve("b")))));
    assertArrayEquals(expected, bytes(load(dir.resolve("c"))));
  }

  private static int shuffles() {
    return spark.sparkContext().newShuffleId(); // one more each time
  }

  @Test
  void metadataHaveNamesDistancesAndAttributes() throws IOException {
    Dataset<Row> df = npy("in.npy", "f4", "4,4,4", 4, 6, 8);
    Path store = dir.resolve("array");
    save(
        df,
        store,
        "dimension_names",
        "z,y,x",
        "spacing",
        "2,0.5,0.25",
        "attributes",
        "{\"unit\": \"mm\"}",
        "fill_value",
        "NaN");
    JsonNode json = Json.parse(Files.readAllBytes(store.resolve("zarr.json")));
    assertEquals("[\"z\",\"y\",\"x\"]", json.get("dimension_names").toString());
    assertEquals("{\"spacing\":[2.0,0.5,0.25],\"unit\":\"mm\"}", json.get("attributes").toString());
    assertEquals("\"NaN\"", json.get("fill_value").toString());
    save(VolumeBlocks.permute(load(store), "yzx"), dir.resolve("turned"));
    var turned = load(dir.resolve("turned")).schema().apply("values").metadata();
    assertArrayEquals(
        new String[] {"y", "x", "z"},
        sorted(turned.getStringArray(AxisLabels.NAMES), "y", "x", "z"));
    assertArrayEquals(new double[] {0.5, 0.25, 2}, turned.getDoubleArray(AxisLabels.SPACING));
    save(VolumeBlocks.slice(load(store), ":, 1:, :"), dir.resolve("part"));
    assertFalse(
        load(dir.resolve("part")).schema().apply("values").metadata().contains(AxisLabels.SPACING));
  }

  private static String[] sorted(String[] found, String... expected) {
    assertArrayEquals(expected, found);
    return found;
  }

  @Test
  void modesAreKept() throws IOException {
    Dataset<Row> df = npy("in.npy", "i4", "2,2", 4, 4);
    Dataset<Row> other = npy("other.npy", "i4", "2,2", 3, 5);
    Path store = dir.resolve("array");
    df.write().format("zarr").save(store.toString());
    String again =
        assertThrows(
                AnalysisException.class, () -> df.write().format("zarr").save(store.toString()))
            .getMessage();
    assertTrue(again.contains("ALREADY_EXISTS"), again);
    other.write().format("zarr").mode("ignore").save(store.toString());
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(store)));
    save(other, store);
    assertArrayEquals(Files.readAllBytes(dir.resolve("other.npy")), bytes(load(store)));
    String append =
        reasonOf(() -> other.write().format("zarr").mode("append").save(store.toString()));
    assertTrue(append.contains("cannot append"), append);
    String own = reasonOf(() -> save(MatrixBlocks.transpose(load(store)), store));
    assertTrue(own.contains("the query reads it"), own);
    assertArrayEquals(Files.readAllBytes(dir.resolve("other.npy")), bytes(load(store)));
    String file = reasonOf(() -> save(df, dir.resolve("in.npy")));
    assertTrue(file.contains("is a file"), file);
    Files.createDirectories(dir.resolve("group"));
    Files.writeString(
        dir.resolve("group/zarr.json"), "{\"zarr_format\": 3, \"node_type\": \"group\"}");
    String group = reasonOf(() -> save(df, dir.resolve("group")));
    assertTrue(group.contains("is a group"), group);
    save(df, dir.resolve("group"), "component", "a/b");
    assertArrayEquals(
        Files.readAllBytes(dir.resolve("in.npy")), bytes(load(dir.resolve("group/a/b"))));
    Path foreign = Files.createDirectories(dir.resolve("foreign"));
    Files.writeString(foreign.resolve("mine.txt"), "kept");
    save(df, foreign);
    assertTrue(Files.exists(foreign.resolve("mine.txt")));
  }

  @Test
  void wrongBlocksRemoveNothing() throws IOException {
    Dataset<Row> df = npy("in.npy", "i4", "2,2", 4, 4);
    Path store = dir.resolve("array");
    save(df, store);
    String hole = reasonOf(() -> save(df.where("row + col > 0"), store));
    assertTrue(hole.contains("Nothing was written"), hole);
    assertFalse(hole.contains("is gone"), hole);
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(store)));
    String fresh = reasonOf(() -> save(df.where("row + col > 0"), dir.resolve("new")));
    assertTrue(fresh.contains("Nothing was written"), fresh);
    assertFalse(Files.exists(dir.resolve("new")));
    String values =
        reasonOf(
            () ->
                save(
                    df.selectExpr(
                        "row",
                        "col",
                        "rows",
                        "cols",
                        "slice(values, 1, size(values) - 1) AS values"),
                    store));
    assertTrue(values.contains("has 3 elements"), values);
    assertTrue(values.contains("is gone"), values);
    assertFalse(Files.exists(store.resolve("zarr.json")));
  }

  @Test
  void wrongOptionsAreNamed() throws IOException {
    Dataset<Row> df = npy("in.npy", "f4", "2,2", 4, 4);
    Map<String, String> wrong =
        new TreeMap<>(
            Map.of(
                "chunks=0,2", "1 or more",
                "chunks=2", "2 whole numbers",
                "shards=3,3&chunks=2,2", "shards of whole chunks",
                "compressor=lz4", "expected zstd or gzip",
                "compressionLevel=99", "level 99 of zstd; expected 0 to 22",
                "version=2&shards=2,2", "no shards",
                "version=2&checksum=true", "crc32c",
                "fill_value=x", "an element of float32",
                "attributes=[1]", "JSON object",
                "dimension_names=a", "2 names"));
    wrong.put("spacing=0,1", "finite numbers above 0");
    wrong.put("shape=2,2", "no option shape");
    wrong.put("chunks=100000,100000", "2 GiB");
    wrong.forEach(
        (text, expected) -> {
          String[] options = text.split("[=&]");
          String reason = reasonOf(() -> save(df, dir.resolve("array"), options));
          assertTrue(reason.contains(expected), text + ": " + reason);
        });
    assertFalse(Files.exists(dir.resolve("array")));
  }

  @Test
  void aTableIsWrittenInSql() throws IOException {
    npy("in.npy", "u2", "3,3", 7, 5);
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW zarr_in USING npy OPTIONS (path '%s', blockShape '3,3')"
            .formatted(dir.resolve("in.npy")));
    spark.sql(
        "CREATE TABLE zarr_out USING zarr OPTIONS (chunks '2,2', shards '4,4') LOCATION '%s' AS SELECT * FROM zarr_in"
            .formatted(dir.resolve("out")));
    try {
      spark.sql("INSERT OVERWRITE zarr_out SELECT * FROM zarr_in");
      assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(spark.table("zarr_out")));
      assertTrue(Files.readString(dir.resolve("out/zarr.json")).contains("sharding_indexed"));
    } finally {
      spark.sql("DROP TABLE zarr_out");
    }
  }

  // ---- attempts that come late, and processes that are killed

  private static List<Row> rows(Dataset<Row> df) {
    return df.orderBy(df.columns()[0], df.columns()[1]).collectAsList();
  }

  /** The attempt writes all of its blocks again after the array was read. */
  @ParameterizedTest
  @ValueSource(strings = {"local", "objects"})
  void aLateAttemptChangesNothing(String where) throws IOException {
    Dataset<Row> df =
        npy("in.npy", "f8", "2,2", 4, 4)
            .selectExpr(
                "row", "col", "rows", "cols", "if(row = 2, array(0D,0D,0D,0D), values) AS values");
    String path =
        where.equals("local") ? dir.resolve("array").toString() : "objects://bucket/array";
    var options = Map.of("path", path, "chunks", "2,2");
    var sink =
        ZarrOptions.of(new CaseInsensitiveStringMap(options))
            .sink(plan(df).sparkSession().sessionState().newHadoopConf());
    WrittenBlocks found = WrittenBlocks.of(df.schema(), sink.format());
    WrittenBlocks blocks =
        new WrittenBlocks(
            found.schema(),
            found.axes(),
            found.leading(),
            found.metadata().withFileType("<f8"),
            found.extents());
    var rows = new ArrayList<>(plan(df).toRdd().toJavaRDD().map(row -> row.copy()).collect());
    BlockSink.Target target;
    List<Row> before;
    try (RootAllocator allocator = new RootAllocator();
        BlockSink.Pending pending =
            sink.begin(blocks, new BlockSink.Extents(Shape.of(4, 4), "test"), true)) {
      target = pending.target();
      write(target, rows, allocator);
      try (BlockSink.Writer late = target.open(allocator)) {
        pending.commit(true);
        before = rows(inPairs(path));
        BlockCursor again = BlockCursor.overRows(rows.iterator());
        while (again.advance()) {
          late.write(again, new long[4], 0);
          assertEquals(before, rows(inPairs(path)));
        }
        late.finish();
      }
    }
    assertEquals(rows(df), before);
    assertEquals(before, rows(inPairs(path)));
  }

  private static void write(
      BlockSink.Target target,
      List<org.apache.spark.sql.catalyst.InternalRow> rows,
      RootAllocator allocator)
      throws IOException {
    try (BlockSink.Writer writer = target.open(allocator)) {
      BlockCursor blocks = BlockCursor.overRows(rows.iterator());
      while (blocks.advance()) {
        writer.write(blocks, new long[4], 0);
      }
      writer.finish();
    }
  }

  /** Kills the process before each of the changes that a write makes, one after the other. */
  @ParameterizedTest
  @ValueSource(strings = {"3", "2"})
  void aKilledWriteLeavesTheNewArrayOrNone(String version) throws IOException {
    String path = "objects://bucket/a/killed";
    // Of the new array one chunk is left out, where the old one has one.
    Dataset<Row> old = npy("old.npy", "i4", "2,2", 6, 4);
    Dataset<Row> made =
        npy("new.npy", "i4", "2,2", 4, 4)
            .selectExpr(
                "row",
                "col",
                "rows",
                "cols",
                "if(row = 2 and col = 0, array(0,0,0,0), values) AS values");
    String[] options = {"chunks", "2,2", "version", version};
    save(old, path, options);
    List<Row> whole = rows(old);
    ObjectStoreTestFileSystem.revive();
    save(made, path, options);
    int changes = ObjectStoreTestFileSystem.CHANGES.size();
    assertTrue(changes > 10, ObjectStoreTestFileSystem.CHANGES::toString);
    List<Row> right = rows(made);
    assertEquals(right, rows(inPairs(path)));
    List<String> objects = List.copyOf(ObjectStoreTestFileSystem.OBJECTS.keySet());
    boolean wasGone = false;
    for (int k = 0; k < changes - 1; k++) { // the last one removes the sign of the write
      ObjectStoreTestFileSystem.reset();
      save(old, path, options);
      ObjectStoreTestFileSystem.revive();
      ObjectStoreTestFileSystem.LEFT.set(k);
      String reason =
          assertThrows(TileSparkException.class, () -> save(made, path, options)).getMessage();
      ObjectStoreTestFileSystem.revive();
      boolean isThere = k <= 1; // only the sign was made
      if (isThere) {
        assertEquals(whole, rows(inPairs(path)));
      } else {
        String found = assertThrows(TileSparkException.class, () -> load(path)).getMessage();
        assertTrue(found.matches("(?s).*(no Zarr array|does not exist|is a group).*"), found);
        assertTrue(reason.contains("is gone") || reason.contains("metadata are"), reason);
        wasGone = true;
      }
      ObjectStoreTestFileSystem.LISTS.set(1);
      made.write()
          .format("zarr")
          .option("chunks", "2,2")
          .option("version", version)
          .mode(isThere ? "overwrite" : "errorifexists")
          .save(path);
      assertEquals(right, rows(inPairs(path)), "after a write that was killed at " + k);
      assertEquals(objects, List.copyOf(ObjectStoreTestFileSystem.OBJECTS.keySet()));
    }
    assertTrue(wasGone);
  }

  /** Likewise an image over an image with more scales, and an array over an image. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aKilledWriteOverAnImageLeavesWholeArraysOrNone(boolean isImage) throws IOException {
    String path = "objects://bucket/a/killed";
    Dataset<Row> old = npy("old.npy", "i4", "2,2", 6, 4);
    Dataset<Row> made = npy("new.npy", "i4", "2,2", 4, 4);
    String[] image = {"chunks", "2,2", "downsample", "2,2"};
    String[] options = isImage ? image : new String[] {"chunks", "2,2"};
    save(old, path, image);
    List<Row> whole = rows(old);
    ObjectStoreTestFileSystem.revive();
    save(made, path, options);
    int changes = ObjectStoreTestFileSystem.CHANGES.size();
    List<String> objects = List.copyOf(ObjectStoreTestFileSystem.OBJECTS.keySet());
    boolean wasGone = false;
    for (int k = 0; k < changes - 1; k++) {
      ObjectStoreTestFileSystem.reset();
      save(old, path, image);
      ObjectStoreTestFileSystem.revive();
      ObjectStoreTestFileSystem.LEFT.set(k);
      assertThrows(TileSparkException.class, () -> save(made, path, options));
      ObjectStoreTestFileSystem.revive();
      Map<String, byte[]> left = ObjectStoreTestFileSystem.OBJECTS;
      if (left.containsKey("/a/killed/zarr.json") && left.containsKey("/a/killed/0/zarr.json")) {
        assertEquals(whole, rows(inPairs(path)), "killed at " + k);
      } else {
        assertThrows(TileSparkException.class, () -> load(path), "killed at " + k);
        wasGone = true;
      }
      for (int level = 0; level < 3; level++) {
        String array = path + "/" + level;
        if (left.containsKey("/a/killed/" + level + "/zarr.json")) {
          spark.read().format("zarr").option("missing", "error").load(array).collect();
        }
      }
      ObjectStoreTestFileSystem.LISTS.set(1);
      if (isImage && k == changes - 2) { // the arrays are there, but not their group
        assertTrue(left.containsKey("/a/killed/1/zarr.json"), () -> left.keySet().toString());
        ObjectStoreTestFileSystem.LEFT.set(6);
        assertThrows(TileSparkException.class, () -> save(old, path, options));
        ObjectStoreTestFileSystem.revive();
        assertFalse(
            left.keySet().stream().anyMatch(key -> key.endsWith("/zarr.json")),
            () -> "metadata of arrays whose chunks are replaced: " + left.keySet());
      }
      save(made, path, options);
      assertEquals(objects, List.copyOf(left.keySet()), "after a write that was killed at " + k);
      assertEquals(rows(made), rows(inPairs(path)));
    }
    assertTrue(wasGone);
  }

  /** Only chunks are removed that no array or group has. */
  @ParameterizedTest
  @ValueSource(strings = {"3", "2"})
  void aWriteRemovesChunksOfNoArray(String version) throws IOException {
    Dataset<Row> df = npy("in.npy", "i4", "2,2", 4, 4);
    Path store = dir.resolve("array");
    for (String name :
        List.of(
            "c/0/0", "c/9/0", "c/1/1/0", "0.0", "7.1", "0/c/1/1", "0/1.0", "a/c/9/9", "1.txt")) {
      Path file = store.resolve(name);
      Files.createDirectories(file.getParent());
      Files.write(file, new byte[] {1});
    }
    save(df, store.resolve("1"), "chunks", "4,4");
    save(df, store.resolve("2/c"), "chunks", "4,4");
    Path killed = Files.createDirectory(store.resolve(HiddenFiles.newScratch()));
    String gone = "elsewhere " + ProcessHandle.current().pid();
    Files.writeString(HiddenFiles.beat(killed), " " + gone);
    requireRefused(df, store);
    FileTime before = FileTime.from(Instant.now().minus(Duration.ofMinutes(5)));
    Files.setLastModifiedTime(HiddenFiles.beat(killed), before);
    save(df, store, "chunks", "2,2", "version", version);
    List<String> expected =
        new ArrayList<>(List.of("1.txt", "1/c/0/0", "1/zarr.json", "2/c/c/0/0", "2/c/zarr.json"));
    expected.addAll(
        version.equals("3")
            ? List.of("a/c/9/9", "c/0/0", "c/0/1", "c/1/0", "c/1/1", "zarr.json")
            : List.of("a/c/9/9", ".zarray", ".zattrs", "0.0", "0.1", "1.0", "1.1"));
    List<String> found =
        names(store).stream()
            .filter(name -> !name.equals(".zattrs") || expected.contains(name))
            .toList();
    assertEquals(expected.stream().sorted().toList(), found);
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(store)));
  }

  @Test
  void filesOfTheUserStay() throws IOException {
    Dataset<Row> df = npy("in.npy", "i4", "2,2", 4, 4);
    Path store = dir.resolve("array");
    List<String> own = List.of("2026.11.30", "7.1", "c/7", "notes.txt");
    for (String name : own) {
      Files.createDirectories(store.resolve(name).getParent());
      Files.write(store.resolve(name), new byte[] {1});
    }
    save(df, store, "chunks", "2,2");
    assertTrue(names(store).containsAll(own), "a file of the user is gone");
    Path image = dir.resolve("image");
    save(df, image.resolve("0"), "chunks", "2,2");
    String refused = reasonOf(() -> save(df, image, "chunks", "2,2", "downsample", "2,2"));
    assertTrue(refused.contains("is an array or a group, and its directory is no image"), refused);
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(image.resolve("0"))));
    Path labelled = dir.resolve("labelled");
    save(df, labelled, "chunks", "2,2", "downsample", "2,2");
    save(df, labelled.resolve("labels/cells"), "chunks", "2,2");
    Files.writeString(
        labelled.resolve("labels/zarr.json"), "{\"zarr_format\": 3, \"node_type\": \"group\"}");
    String lost = reasonOf(() -> save(df, labelled, "chunks", "2,2"));
    assertTrue(lost.contains("holds labels too"), lost);
  }

  /** Two writers of one path: the second is refused, whatever becomes of the first. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void oneWritesAtATime(boolean succeeds) throws Exception {
    Path store = dir.resolve("array");
    Dataset<Row> quick = npy("in.npy", "i4", "2,2", 4, 4);
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch others = new CountDownLatch(1);
    WAITING.set(new Waiting(store, begun, others, succeeds));
    spark.udf().register("held", (Integer x) -> WAITING.get().pass(x), DataTypes.IntegerType);
    Dataset<Row> slow =
        quick.selectExpr(
            "row", "col", "rows", "cols", "transform(values, v -> v) AS values", "held(rows) AS h");
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      Future<?> first =
          thread.submit(() -> save(slow.where("h > 0").drop("h"), store, "extents", "4,4"));
      assertTrue(begun.await(60, TimeUnit.SECONDS));
      requireRefused(quick, store);
      requireRefused(quick, store.resolve("below"));
      others.countDown();
      if (succeeds) {
        first.get();
        assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(store)));
      } else {
        assertThrows(ExecutionException.class, first::get);
        assertFalse(Files.exists(store));
      }
    } finally {
      others.countDown();
      thread.shutdownNow();
    }
    save(quick, store, "chunks", "4,4");
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(store)));
  }

  private static void requireRefused(Dataset<Row> df, Path target) {
    var refused =
        assertThrows(
            TileSparkException.class, () -> df.write().format("zarr").save(target.toString()));
    String reason = refused.getMessage();
    assertTrue(reason.contains("another write to it is under way"), reason);
  }

  /** A task of the first write, which waits until the others were refused. */
  private record Waiting(
      Path store, CountDownLatch begun, CountDownLatch others, boolean succeeds) {
    int pass(int x) throws InterruptedException, IOException {
      if (!Files.exists(store) || names(store).stream().noneMatch(name -> name.contains("beat"))) {
        return x; // a job before the write
      }
      begun.countDown();
      assertTrue(others.await(60, TimeUnit.SECONDS));
      if (!succeeds) {
        throw new IllegalStateException("the first write fails");
      }
      return x;
    }
  }

  private static final AtomicReference<Waiting> WAITING = new AtomicReference<>();

  @Test
  void anImageIsWrittenInScales() throws IOException {
    Dataset<Row> df = npy("in.npy", "i2", "4,4,4", 9, 8, 5);
    String path = "objects://bucket/image";
    save(df, path, "chunks", "4,4,4", "downsample", "2,2,1", "spacing", "3,1,1");
    Dataset<Row> level =
        spark.read().format("zarr").option("level", "1").option("blockShape", "9,9,9").load(path);
    assertEquals("5,4,5", level.schema().apply("values").metadata().getString("tilespark.extents"));
    List<Short> fine =
        spark.read().format("zarr").option("blockShape", "9,9,9").load(path).head().getList(6);
    List<Short> coarse = level.head().getList(6);
    for (int i = 0; i < coarse.size(); i++) {
      int x = i / 20;
      int y = i / 5 % 4;
      double sum = 0;
      int count = 0;
      for (int u = 2 * x; u < Math.min(9, 2 * x + 2); u++, count += 2) {
        for (int v = 2 * y; v < 2 * y + 2; v++) {
          sum += fine.get((u * 8 + v) * 5 + i % 5);
        }
      }
      assertEquals(Math.rint(sum / count), coarse.get(i).doubleValue(), "element " + i);
    }
    double[] spacing = level.schema().apply("values").metadata().getDoubleArray(AxisLabels.SPACING);
    assertArrayEquals(new double[] {6, 2, 1}, spacing);
    save(df, path);
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(path)));
    assertFalse(ObjectStoreTestFileSystem.OBJECTS.containsKey("/image/0/zarr.json"));
  }

  @Test
  void storesWithoutRenameAndListsAreReadAndWritten() throws IOException {
    Dataset<Row> df = npy("in.npy", "c8", "3,4", 10, 11);
    String path = "objects://bucket/array";
    save(df, path, "chunks", "2,2", "shards", "4,4");
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(path)));
    save(MatrixBlocks.transpose(load(path)), "objects://bucket/turned");
    save(df, path, "chunks", "3,3");
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(load(path)));
    assertArrayEquals(
        Files.readAllBytes(dir.resolve("in.npy")),
        bytes(MatrixBlocks.transpose(load("objects://bucket/turned"))));
    String npy = reasonOf(() -> df.write().format("npy").save("objects://bucket/a.npy"));
    assertTrue(npy.contains("Write format zarr there"), npy);
  }
}

package org.tilespark.spark.source.zarr;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.cluster.S3Server;
import org.tilespark.spark.source.npy.NpyFixture;
import org.tilespark.spark.testing.SparkTest;

/** Arrays of Zarr in a bucket of S3, through Hadoop's S3A: its requests go to a server. */
@Tag("full")
class S3aTest extends SparkTest {
  private static final String ROOT = "s3a://" + S3Server.BUCKET;

  @TempDir static Path objects;

  private static S3Server server;
  private static FileSystem store;

  @TempDir Path dir;

  @BeforeAll
  static void start() throws Exception {
    assumeTrue(
        System.getProperty("tilespark.test.s3Server") != null,
        "S3A and a server are there with -Pfull only");
    server = S3Server.start(objects);
    Configuration conf = spark.sparkContext().hadoopConfiguration();
    server.conf().forEach(conf::set);
    store = FileSystem.get(URI.create(ROOT), conf);
  }

  @AfterAll
  static void stop() throws IOException {
    if (server == null) {
      return;
    }
    store.close(); // else Hadoop keeps it
    server.conf().keySet().forEach(spark.sparkContext().hadoopConfiguration()::unset);
    server.close();
  }

  private Dataset<Row> npy(String type, String blockShape, long... shape) throws IOException {
    Path file = Files.write(dir.resolve("in.npy"), new NpyFixture(type, shape).canonical());
    return spark.read().format("npy").option("blockShape", blockShape).load(file.toString());
  }

  private byte[] input() throws IOException {
    return Files.readAllBytes(dir.resolve("in.npy"));
  }

  private byte[] bytes(Dataset<Row> df) throws IOException {
    Path file = dir.resolve("back.npy");
    df.write().format("npy").mode("overwrite").save(file.toString());
    return Files.readAllBytes(file);
  }

  private static void save(Dataset<Row> df, String path, String... options) {
    var writer = df.write().format("zarr").mode("overwrite");
    for (int i = 0; i < options.length; i += 2) {
      writer = writer.option(options[i], options[i + 1]);
    }
    writer.save(ROOT + path);
  }

  private static Dataset<Row> load(String path) {
    return spark.read().format("zarr").option("missing", "error").load(ROOT + path);
  }

  private static List<String> rows(Dataset<Row> df) {
    return df.toJSON().collectAsList().stream().sorted().toList();
  }

  /** Names of all objects whose names begin with this, in the bucket's order. */
  private static List<String> names(String path) throws IOException {
    TreeSet<String> names = new TreeSet<>();
    var directory = new org.apache.hadoop.fs.Path(ROOT + path);
    RemoteIterator<LocatedFileStatus> files = store.listFiles(directory, true);
    while (files.hasNext()) {
      String name = files.next().getPath().toString();
      assertTrue(name.startsWith(ROOT + path + "/"), name);
      names.add(name.substring((ROOT + path + "/").length()));
    }
    return List.copyOf(names);
  }

  /** Those of the chunks of a grid, and the metadata. */
  private static List<String> expected(String prefix, int... grid) {
    TreeSet<String> names = new TreeSet<>(List.of(prefix + "zarr.json"));
    List<String> chunks = List.of(prefix + "c");
    for (int count : grid) {
      List<String> longer = new ArrayList<>();
      for (String chunk : chunks) {
        for (int i = 0; i < count; i++) {
          longer.add(chunk + "/" + i);
        }
      }
      chunks = longer;
    }
    names.addAll(chunks);
    return List.copyOf(names);
  }

  @Test
  void arraysAreWrittenReadAndReplaced() throws IOException {
    Dataset<Row> df = npy("f4", "16,16", 70, 50);
    save(df, "/array", "chunks", "16,16");
    assertArrayEquals(input(), bytes(load("/array")));
    assertEquals(expected("", 5, 4), names("/array"));

    save(df, "/array", "chunks", "8,8", "shards", "32,32");
    assertArrayEquals(input(), bytes(load("/array")));
    assertEquals(expected("", 3, 2), names("/array"), "a chunk of the first");

    Dataset<Row> stripes = npy("i2", "70,9", 70, 50);
    save(stripes, "/array", "chunks", "70,9", "compressor", "none");
    assertArrayEquals(input(), bytes(load("/array")));
    assertEquals(expected("", 1, 6), names("/array"));
    assertThrows(
        Exception.class,
        () -> stripes.write().format("zarr").mode("error").save(ROOT + "/array"),
        "it is there");
  }

  @Test
  void filtersReadTheirObjectsOnly() throws IOException {
    Dataset<Row> df = npy("f8", "8,8", 40, 24);
    save(df, "/filtered", "chunks", "8,8");
    String where = "row >= 16 AND row < 32 AND col = 8";
    Dataset<Row> part =
        spark
            .read()
            .format("zarr")
            .options(Map.of("blockShape", "8,8", "missing", "error"))
            .load(ROOT + "/filtered")
            .where(where);
    assertEquals(rows(df.where(where)), rows(part));
    assertEquals(2, part.count());

    store.delete(new org.apache.hadoop.fs.Path(ROOT + "/filtered/c/0/0"), false);
    assertEquals(2, part.count());
    String missing = reasonOf(() -> bytes(load("/filtered")));
    assertTrue(missing.contains("c/0/0"), missing);
  }

  @Test
  void anImageHasItsScales() throws IOException {
    Dataset<Row> df = npy("f4", "2,16,16", 4, 48, 32);
    save(df, "/image", "chunks", "2,8,8", "downsample", "1,2,2");
    List<String> all = new ArrayList<>(List.of("zarr.json"));
    all.addAll(expected("0/", 2, 6, 4));
    all.addAll(expected("1/", 2, 3, 2));
    all.addAll(expected("2/", 2, 2, 1));
    all.addAll(expected("3/", 2, 1, 1));
    assertEquals(all.stream().sorted().toList(), names("/image"));
    assertArrayEquals(input(), bytes(load("/image/0")));

    Path local = dir.resolve("image");
    df.write()
        .format("zarr")
        .option("chunks", "2,8,8")
        .option("downsample", "1,2,2")
        .save(local.toString());
    for (String level : List.of("1", "2", "3")) {
      Dataset<Row> here = spark.read().format("zarr").load(local.resolve(level).toString());
      assertArrayEquals(bytes(here), bytes(load("/image/" + level)), level);
    }

    save(df, "/image", "chunks", "4,48,32");
    assertEquals(expected("", 1, 1, 1), names("/image"), "a scale of the image");
    assertArrayEquals(input(), bytes(load("/image")));
  }

  @Test
  void groupsHoldArrays() throws IOException {
    Dataset<Row> df = npy("i4", "5,5", 10, 15);
    save(df, "/group", "component", "deep/first", "chunks", "5,5");
    save(df, "/group", "component", "second", "chunks", "10,15");
    List<String> all = new ArrayList<>(List.of("zarr.json", "deep/zarr.json"));
    all.addAll(expected("deep/first/", 2, 3));
    all.addAll(expected("second/", 1, 1));
    assertEquals(all.stream().sorted().toList(), names("/group"));
    for (String component : List.of("deep/first", "second")) {
      Dataset<Row> back =
          spark.read().format("zarr").option("component", component).load(ROOT + "/group");
      assertArrayEquals(input(), bytes(back), component);
    }
  }

  @Test
  void aWriteThatFailsLeavesNothing() throws IOException {
    Dataset<Row> df = npy("f4", "2,16,16", 4, 48, 32);
    String holed = reasonOf(() -> save(df.where("x < 2"), "/no", "extents", "4,48,32"));
    assertTrue(holed.contains("block at x 2, y 0, z 0: no block"), holed);
    assertThrows(FileNotFoundException.class, () -> names("/no"));
    save(VolumeBlocks.permute(df, "zxy"), "/no");
    assertArrayEquals(input(), bytes(VolumeBlocks.permute(load("/no"), "yzx")));
  }

  @Test
  void npyNamesZarr() throws IOException {
    Dataset<Row> df = npy("f4", "8,8", 8, 8);
    String refusal = reasonOf(() -> df.write().format("npy").save(ROOT + "/out.npy"));
    assertTrue(refusal.contains("Write format zarr there"), refusal);
    try (var input = Files.newInputStream(dir.resolve("in.npy"));
        var output = store.create(new org.apache.hadoop.fs.Path(ROOT + "/in.npy"))) {
      input.transferTo(output);
    }
    Dataset<Row> back =
        spark.read().format("npy").option("blockShape", "3,8").load(ROOT + "/in.npy");
    assertArrayEquals(input(), bytes(back));
  }
}

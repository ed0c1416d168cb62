package org.tilespark.spark.source.zarr;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.source.npy.NpyFixture;
import org.tilespark.spark.testing.SparkTest;

/** A file system that is none of this machine's: Hadoop's own, with its servers in this process. */
class HdfsTest extends SparkTest {
  @TempDir static Path disks;

  private static MiniDFSCluster cluster;

  @TempDir Path dir;

  @BeforeAll
  static void start() throws IOException {
    Configuration conf = new HdfsConfiguration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, disks.toString());
    cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
  }

  @AfterAll
  static void stop() {
    cluster.shutdown();
  }

  private static String uri(String path) {
    return cluster.getURI() + path;
  }

  private Dataset<Row> npy(String type, long... shape) throws IOException {
    Path file = Files.write(dir.resolve("in.npy"), new NpyFixture(type, shape).canonical());
    return spark.read().format("npy").option("blockShape", "16,16").load(file.toString());
  }

  private byte[] bytes(Dataset<Row> df) throws IOException {
    Path file = dir.resolve("back.npy");
    df.write().format("npy").mode("overwrite").save(file.toString());
    return Files.readAllBytes(file);
  }

  @Test
  void arraysAreWrittenReadAndReplaced() throws IOException {
    Dataset<Row> df = npy("f4", 70, 50);
    byte[] expected = Files.readAllBytes(dir.resolve("in.npy"));
    for (String[] options :
        new String[][] {{"chunks", "16,16"}, {"chunks", "8,8", "shards", "32,32"}}) {
      var writer = df.write().format("zarr").mode("overwrite");
      for (int i = 0; i < options.length; i += 2) {
        writer = writer.option(options[i], options[i + 1]);
      }
      writer.save(uri("/array"));
      Dataset<Row> back = spark.read().format("zarr").load(uri("/array"));
      assertArrayEquals(expected, bytes(back));
      MatrixBlocks.transpose(back).write().format("zarr").mode("overwrite").save(uri("/turned"));
      Dataset<Row> turned = spark.read().format("zarr").load(uri("/turned"));
      assertArrayEquals(expected, bytes(MatrixBlocks.transpose(turned)));
    }
    FileSystem store = cluster.getFileSystem();
    assertTrue(store.exists(new org.apache.hadoop.fs.Path("/array/zarr.json")));
    assertFalse(
        store.exists(new org.apache.hadoop.fs.Path("/array/c/4/3")), "a chunk of the first");
    List<String> names =
        Arrays.stream(store.listStatus(new org.apache.hadoop.fs.Path("/array")))
            .map(status -> status.getPath().getName())
            .toList();
    assertEquals(List.of("c", "zarr.json"), names);
  }

  @Test
  void filesAreReadAndHostsAreAsked() throws IOException {
    npy("i2", 40, 30);
    FileSystem store = cluster.getFileSystem();
    store.copyFromLocalFile(
        new org.apache.hadoop.fs.Path(dir.resolve("in.npy").toString()),
        new org.apache.hadoop.fs.Path("/in.npy"));
    Dataset<Row> df = spark.read().format("npy").option("blockShape", "9,30").load(uri("/in.npy"));
    assertArrayEquals(Files.readAllBytes(dir.resolve("in.npy")), bytes(df));
    var partitions = plan(df).toRdd().partitions();
    assertTrue(partitions.length > 0);
    String refusal = reasonOf(() -> df.write().format("npy").save(uri("/out.npy")));
    assertTrue(refusal.contains("Write format zarr there"), refusal);
    try (Stream<Path> files = Files.list(dir)) {
      assertEquals(2, files.count());
    }
  }
}

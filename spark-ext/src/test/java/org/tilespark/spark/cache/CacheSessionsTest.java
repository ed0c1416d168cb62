package org.tilespark.spark.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.columnar.DefaultCachedBatchSerializer;
import org.apache.spark.storage.RDDInfo;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.testing.TestArray;

/** Applications of other settings, one after the other in this process, as in a notebook. */
class CacheSessionsTest {
  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT64, 512, 512, 64, 64);
  private static final long VALUE_BYTES = 512 * 512 * 8;
  private static final Permutation IDENTITY = Permutation.of(0, 1);

  @TempDir Path folder;
  private SparkSession spark;

  /** The application of other test classes, which start it anew. */
  @BeforeAll
  static void endOthers() {
    if (SparkSession.getDefaultSession().isDefined()) {
      SparkSession.getDefaultSession().get().stop();
    }
  }

  @AfterEach
  void end() {
    if (spark != null) {
      spark.stop();
    }
  }

  private void start(Map<String, String> settings) {
    SparkSession.Builder builder =
        SparkSession.builder()
            .master("local[2]")
            .appName("cache")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.sql.warehouse.dir", folder.resolve("warehouse").toUri().toString())
            .config("spark.sql.extensions", TileSparkExtensions.class.getName());
    settings.forEach(builder::config);
    spark = builder.getOrCreate();
  }

  private void startWithPlugin(Map<String, String> settings) {
    Map<String, String> all = new HashMap<>(settings);
    all.put("spark.plugins", TileSparkPlugin.class.getName());
    start(all);
  }

  private static long usedBytes() {
    return CacheStore.current().budget().usedBytes();
  }

  private long stored(ToLongFunction<RDDInfo> size) {
    return Arrays.stream(spark.sparkContext().getRDDStorageInfo()).mapToLong(size).sum();
  }

  private Dataset<Row> cached(StorageLevel level) {
    Dataset<Row> frame = ARRAY.toDataFrame(spark, 8).persist(level);
    assertEquals(64, frame.count());
    return frame;
  }

  private static void assertRight(Dataset<Row> frame) {
    assertEquals(64, Set.copyOf(frame.select("row", "col").collectAsList()).size());
    ARRAY.assertPermuted(IDENTITY, frame);
    ARRAY.assertPermuted(Permutation.of(1, 0), MatrixBlocks.transpose(frame));
  }

  private static void await(String what, LongSupplier bytes) throws InterruptedException {
    for (int i = 0; i < 600 && bytes.getAsLong() > 0; i++) {
      System.gc();
      Thread.sleep(50);
    }
    assertEquals(0, bytes.getAsLong(), what);
  }

  /** Spark's storage memory holds a part of the blocks: it evicts, and reads evicted ones. */
  @Test
  void sparkEvictsAndReadsAgain() throws InterruptedException {
    long heap = Runtime.getRuntime().maxMemory() - (300L << 20);
    double fraction = 2.0 * VALUE_BYTES / heap; // counted bytes are half of it
    startWithPlugin(
        Map.of(
            "spark.memory.fraction",
            String.format("%.6f", fraction),
            // A sort of Spark's own would need more memory than this leaves.
            "spark.sql.execution.sortBeforeRepartition",
            "false"));
    List<Dataset<Row>> frames = new ArrayList<>();
    frames.add(cached(StorageLevel.MEMORY_AND_DISK()));
    assertTrue(usedBytes() >= VALUE_BYTES);
    for (int partitions = 2; partitions <= 5; partitions++) {
      StorageLevel level =
          partitions % 2 == 0 ? StorageLevel.MEMORY_AND_DISK_SER() : StorageLevel.MEMORY_AND_DISK();
      frames.add(ARRAY.toDataFrame(spark, partitions).persist(level));
    }
    for (int i = 0; i < 2; i++) {
      frames.forEach(CacheSessionsTest::assertRight);
    }
    assertTrue(stored(RDDInfo::diskSize) > 0, "nothing was evicted");
    frames.forEach(frame -> frame.unpersist(true));
    await("after unpersist", CacheSessionsTest::usedBytes);
    assertEquals(0, stored(RDDInfo::memSize));
  }

  /** Tasks share out partitions by all their bytes, of which Spark counts a part. */
  @Test
  void bytesThatSparkDoesNotCount() {
    long heap = Runtime.getRuntime().maxMemory() - (300L << 20);
    startWithPlugin(
        Map.of(
            "spark.memory.fraction",
            String.format("%.6f", 3.0 * VALUE_BYTES / heap),
            "spark.sql.execution.sortBeforeRepartition",
            "false"));
    Dataset<Row> frame = null;
    for (int partitions = 6; partitions <= 8; partitions++) { // the last one is not counted
      frame = ARRAY.toDataFrame(spark, partitions).persist(StorageLevel.MEMORY_ONLY());
      assertEquals(64, frame.count());
    }
    assertTrue(stored(RDDInfo::memSize) < 2 * VALUE_BYTES, "Spark counts all of it");
    long[] bytes = CachedFrames.bytes(frame.queryExecution().toRdd()).orElseThrow();
    assertEquals(8, bytes.length);
    assertTrue(Arrays.stream(bytes).min().orElseThrow() >= VALUE_BYTES / 16);
  }

  /** Rows that do not fit the stores are on the heap, and exchanges have their half. */
  @Test
  void theStoresAreSmall() throws InterruptedException {
    startWithPlugin(Map.of(TileSparkConf.STORE_SIZE.name(), VALUE_BYTES + "b"));
    Dataset<Row> frame = cached(StorageLevel.MEMORY_ONLY());
    assertTrue(usedBytes() > 0 && usedBytes() <= VALUE_BYTES / 2, () -> usedBytes() + " bytes");
    assertTrue(stored(RDDInfo::memSize) >= VALUE_BYTES);
    assertEquals(0, stored(RDDInfo::diskSize));
    assertRight(frame);
    Dataset<Row> pieces = MatrixBlocks.reblock(frame.drop("tag"), 100, 90);
    TestArray.matrix(ElementType.FLOAT64, 512, 512, 100, 90)
        .assertPermuted(IDENTITY, pieces.selectExpr("*", "CAST(null AS STRING) AS tag"));
    frame.unpersist(true);
    await("after unpersist", CacheSessionsTest::usedBytes);
  }

  @Test
  void noStores() {
    startWithPlugin(Map.of(TileSparkConf.STORE_SIZE.name(), "0"));
    assertRight(cached(StorageLevel.MEMORY_ONLY()));
    assertEquals(0, usedBytes());
  }

  @Test
  void refusedMemory() throws InterruptedException {
    startWithPlugin(Map.of(TileSparkConf.FAIL_EVERY_NTH_HOST_ALLOCATION.name(), "2"));
    Dataset<Row> frame = cached(StorageLevel.MEMORY_ONLY());
    ARRAY.assertPermuted(IDENTITY, frame);
    frame.unpersist(true);
    await("after unpersist", CacheSessionsTest::usedBytes);
  }

  /** Text in a further column is found in Spark's files, unless they are encrypted. */
  @Test
  void encryptedFilesShowNothing() throws IOException {
    startWithPlugin(Map.of("spark.io.encryption.enabled", "false"));
    assertRight(marked());
    assertTrue(isOnDisk("tagged by a secret"));
    spark.stop();
    startWithPlugin(Map.of("spark.io.encryption.enabled", "true"));
    Dataset<Row> frame = marked();
    assertTrue(stored(RDDInfo::diskSize) > 0);
    assertRight(frame);
    assertFalse(isOnDisk("tagged by a secret"));
  }

  private Dataset<Row> marked() {
    Dataset<Row> frame =
        ARRAY
            .toDataFrame(spark, 8)
            .selectExpr("*", "repeat('tagged by a secret', 2) AS secret")
            .persist(StorageLevel.DISK_ONLY());
    assertEquals(64, frame.count());
    return frame;
  }

  /** Spark's directories may be elsewhere than spark.local.dir says: SPARK_LOCAL_DIRS wins. */
  private static boolean isOnDisk(String text) throws IOException {
    for (File directory : SparkEnv.get().blockManager().diskBlockManager().localDirs()) {
      try (Stream<Path> files = Files.walk(directory.toPath())) {
        for (Path file : files.filter(Files::isRegularFile).toList()) {
          if (new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1).contains(text)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  @Test
  void kryoWritesBatches() {
    Map<String, String> kryo =
        Map.of("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
    startWithPlugin(kryo);
    assertRight(cached(StorageLevel.DISK_ONLY()));
    assertRight(cached(StorageLevel.MEMORY_ONLY_SER()));
    spark.stop();
    Map<String, String> strict = new HashMap<>(kryo);
    strict.put("spark.kryo.registrationRequired", "true");
    startWithPlugin(strict);
    assertFalse(isOurs());
  }

  private boolean isOurs() {
    return spark
        .sparkContext()
        .conf()
        .get("spark.sql.cache.serializer", "")
        .equals(BlockCacheSerializer.class.getName());
  }

  /** Spark 4.3 has one of its own for Arrow, which keeps columns of any type. */
  @Tag("versions")
  @Test
  void sparksArrowSerializerIsLeft() {
    String arrow = "org.apache.spark.sql.execution.columnar.ArrowCachedBatchSerializer";
    assumeTrue(
        getClass().getResource("/" + arrow.replace('.', '/') + ".class") != null,
        "this Spark has no " + arrow);
    startWithPlugin(Map.of("spark.sql.cache.serializer", arrow));
    for (StorageLevel level : List.of(StorageLevel.MEMORY_ONLY(), StorageLevel.DISK_ONLY())) {
      Dataset<Row> frame = cached(level);
      assertRight(frame);
      assertEquals(32, frame.where("row < 200 AND col < 500").select("values").count());
      Dataset<Row> pieces = MatrixBlocks.reblock(frame.drop("tag"), 100, 90);
      TestArray.matrix(ElementType.FLOAT64, 512, 512, 100, 90)
          .assertPermuted(IDENTITY, pieces.selectExpr("*", "CAST(null AS STRING) AS tag"));
      frame.unpersist(true);
    }
    assertEquals(0, usedBytes());
    assertFalse(isOurs());
  }

  /** Each application has the serializer that it names, whatever the one before had. */
  @Tag("versions")
  @Test
  void applicationsOfOneProcessAreTheirOwn() {
    startWithPlugin(Map.of());
    assertTrue(isOurs());
    assertRight(cached(StorageLevel.MEMORY_ONLY()));
    assertTrue(usedBytes() > 0);
    spark.stop();
    start(Map.of());
    assertRight(cached(StorageLevel.MEMORY_ONLY()));
    assertEquals(0, usedBytes(), "without the plugin");
    spark.stop();
    startWithPlugin(Map.of());
    assertEquals(0, usedBytes(), "of an application that has ended");
    assertRight(cached(StorageLevel.MEMORY_ONLY()));
    assertTrue(usedBytes() > 0, "with the plugin again");
    spark.stop();
    startWithPlugin(Map.of(TileSparkConf.CACHE_MODE.name(), "spark"));
    assertRight(cached(StorageLevel.MEMORY_ONLY()));
    assertEquals(0, usedBytes(), "cache.mode=spark");
    spark.stop();
    startWithPlugin(
        Map.of("spark.sql.cache.serializer", DefaultCachedBatchSerializer.class.getName()));
    assertRight(cached(StorageLevel.MEMORY_ONLY()));
    assertEquals(0, usedBytes(), "a serializer of the user's");
  }
}

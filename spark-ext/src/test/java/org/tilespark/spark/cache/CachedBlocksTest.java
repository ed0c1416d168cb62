package org.tilespark.spark.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.storage.RDDInfo;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;

/** Cached frames of blocks give the rows of uncached ones, and release every byte. */
class CachedBlocksTest extends SparkTest {
  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15);
  private static final Permutation IDENTITY = Permutation.of(0, 1);
  private static final Permutation TRANSPOSED = Permutation.of(1, 0);

  private static long usedBytes() {
    return CacheStore.current().budget().usedBytes();
  }

  @AfterEach
  void nothingIsLeft() throws InterruptedException {
    spark.catalog().clearCache();
    awaitNoTasks();
    for (int i = 0; i < 600 && usedBytes() > 0; i++) { // unpersisting does not wait
      System.gc(); // batches that Spark drops without closing them
      Thread.sleep(50);
    }
    assertEquals(0, usedBytes());
  }

  private static Dataset<Row> cached(TestArray array, StorageLevel level) {
    Dataset<Row> frame = array.toDataFrame(spark, 6).persist(level);
    assertEquals(array.blockCount(), frame.count());
    String first = array.kind().offsetColumns().get(0);
    String[] others = array.kind().offsetColumns().stream().skip(1).toArray(String[]::new);
    assertEquals(array.blockCount(), frame.select(first, others).distinct().count());
    return frame;
  }

  private static InMemoryTableScanExec scan(Dataset<Row> frame) {
    AtomicReference<SparkPlan> plan = new AtomicReference<>();
    with(
        Map.of("spark.sql.adaptive.enabled", "false"),
        () -> plan.set(plan(frame.selectExpr("*")).executedPlan()));
    return assertInstanceOf(InMemoryTableScanExec.class, plan.get());
  }

  private static RDDInfo storage() {
    return Arrays.stream(spark.sparkContext().getRDDStorageInfo())
        .max(Comparator.comparingInt(RDDInfo::id)) // other tests may have left some
        .orElseThrow();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "MEMORY_ONLY",
        "MEMORY_AND_DISK",
        "MEMORY_ONLY_SER",
        "MEMORY_AND_DISK_SER",
        "DISK_ONLY",
        "OFF_HEAP",
        "MEMORY_AND_DISK_2"
      })
  void allLevelsGiveTheSame(String name) {
    StorageLevel level = StorageLevel.fromString(name);
    Dataset<Row> frame = cached(ARRAY, level);
    ARRAY.assertPermuted(IDENTITY, frame);
    ARRAY.assertPermuted(TRANSPOSED, MatrixBlocks.transpose(frame));
    assertEquals(6, storage().numCachedPartitions());
    assertEquals(level.deserialized(), usedBytes() > 0);
    frame.unpersist(true);
    assertEquals(0, usedBytes());
  }

  @ParameterizedTest
  @EnumSource(ElementType.class)
  void allTypesGiveTheSame(ElementType type) {
    TestArray matrix = TestArray.matrix(type, 37, 53, 8, 11);
    matrix.assertPermuted(IDENTITY, cached(matrix, StorageLevel.MEMORY_ONLY()));
    TestArray volume = TestArray.volume(type, 9, 10, 11, 4, 5, 6).withImag();
    Dataset<Row> frame = cached(volume, StorageLevel.MEMORY_ONLY());
    volume.assertPermuted(Permutation.of(0, 1, 2), frame);
    volume.assertPermuted(Permutation.of(2, 0, 1), VolumeBlocks.permute(frame, "zxy"));
  }

  @Tag("versions")
  @Test
  void sparkReadsItInAllItsWays() {
    Dataset<Row> frame = cached(ARRAY, StorageLevel.MEMORY_AND_DISK());
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            assertEquals(ARRAY.blockCount(), frame.count());
            assertEquals(6, frame.where("row = 40").count());
            assertEquals(0, frame.where("row > 1000").count());
            assertEquals(6, frame.groupBy("row").count().count());
            assertEquals(36, frame.select("col", "row").distinct().count());
            assertEquals(
                List.of(RowFactory.create(300, 20, 15)),
                frame.selectExpr("size(values)", "rows", "cols").distinct().collectAsList());
            assertEquals(
                36, frame.as("a").join(frame.as("b").hint("merge"), "row", "inner").count() / 6);
            assertEquals(
                (120 * 90 - 1) * (120L * 90) / 2,
                frame
                    .selectExpr("explode(values) AS v")
                    .selectExpr("CAST(sum(v) AS BIGINT)")
                    .first()
                    .getLong(0));
            ARRAY.assertPermuted(IDENTITY, frame.orderBy("col", "row"));
            ARRAY.assertPermuted(
                IDENTITY, frame.select("tag", "cols", "rows", "values", "col", "row"));
            assertEquals(5, frame.limit(5).collectAsList().size());
          });
    }
  }

  @Tag("versions")
  @Test
  void ourOperatorsReadIt() {
    Dataset<Row> frame = cached(ARRAY, StorageLevel.MEMORY_ONLY());
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            TestArray.matrix(ElementType.FLOAT32, 120, 90, 13, 17)
                .assertPermuted(
                    IDENTITY,
                    MatrixBlocks.reblock(frame.drop("tag"), 13, 17)
                        .selectExpr("*", "CAST(null AS STRING) AS tag"));
            ARRAY.assertPermuted(TRANSPOSED, MatrixBlocks.transpose(frame));
            ARRAY.assertPermuted(
                IDENTITY, MatrixBlocks.transpose(MatrixBlocks.transpose(frame).cache()));
          });
    }
  }

  @Test
  void productsOfCachedBlocks() {
    TestArray small = TestArray.matrix(ElementType.FLOAT64, 24, 18, 7, 5);
    Dataset<Row> plain = small.toDataFrame(spark, 4).drop("tag");
    Dataset<Row> frame = plain.cache();
    for (String strategy : new String[] {"500m", "0"}) {
      with(
          Map.of("spark.tilespark.memory.multiplyBroadcastSize", strategy),
          () ->
              assertEquals(
                  sorted(
                      MatrixBlocks.multiply(
                          MatrixBlocks.transpose(uncached(small)), uncached(small))),
                  sorted(MatrixBlocks.multiply(MatrixBlocks.transpose(frame), frame))));
    }
    assertEquals(sorted(MatrixBlocks.gram(uncached(small))), sorted(MatrixBlocks.gram(frame)));
  }

  /** Of another plan, so that Spark does not find it in the cache. */
  private static Dataset<Row> uncached(TestArray array) {
    return array.toDataFrame(spark, 3).drop("tag");
  }

  private static List<String> sorted(Dataset<Row> frame) {
    return frame.collectAsList().stream().map(Row::toString).sorted().toList();
  }

  @Test
  void transformsOfCachedBlocks() {
    TestField field = TestField.random(1, true, 12, 10, 8);
    Dataset<Row> frame = field.blocks(spark, ElementType.FLOAT64, true, 5, 4, 3).cache();
    FftOptions natural = FftOptions.defaults().withOutput("natural");
    for (String taskSize : new String[] {"0", "256m"}) {
      with(
          Map.of("spark.tilespark.fourier.taskSize", taskSize),
          () ->
              TestField.of(VolumeBlocks.fft(frame, natural), 12, 10, 8)
                  .assertNear(field.fft("xyz"), ElementType.FLOAT64, "fft"));
    }
  }

  /** Rows are views of the cache, the same ones in each reading; and so are batches. */
  @Test
  void readingCopiesNothing() {
    Dataset<Row> frame = cached(ARRAY, StorageLevel.MEMORY_ONLY());
    InMemoryTableScanExec scan = scan(frame);
    assertTrue(scan.supportsColumnar());
    List<Long> addresses = addresses(scan);
    assertEquals(36, addresses.stream().distinct().count());
    assertFalse(addresses.contains(0L));
    assertEquals(addresses, addresses(scan(frame)));
    assertTrue(explained(MatrixBlocks.transpose(frame)).contains("InMemoryTableScan"));
    assertFalse(explained(MatrixBlocks.transpose(frame)).contains("ColumnarToRow"));
  }

  /** Addresses of rows outside the heap; 0 for those on it. */
  private static List<Long> addresses(SparkPlan scan) {
    return scan.execute()
        .toJavaRDD()
        .map(
            (InternalRow row) ->
                ((UnsafeRow) row).getBaseObject() == null ? ((UnsafeRow) row).getBaseOffset() : 0)
        .collect();
  }

  @Test
  void storageShowsItsSize() {
    cached(ARRAY, StorageLevel.MEMORY_ONLY());
    long values = 120 * 90 * 4;
    long shown = storage().memSize();
    assertTrue(shown > values && shown < 2 * values, () -> shown + " bytes are shown");
  }

  @Test
  void nullsStayNulls() {
    Dataset<Row> frame =
        ARRAY
            .toDataFrame(spark, 6)
            .selectExpr(
                "IF(row = 20, null, row) AS row",
                "col",
                "rows",
                "IF(col = 30, null, cols) AS cols",
                "CASE WHEN row = 0 THEN null WHEN row = 40 THEN transform(values, v -> IF(v % 3 ="
                    + " 0, null, v)) ELSE values END AS values",
                "tag");
    List<String> expected = sorted(frame);
    Dataset<Row> cached = frame.cache().selectExpr("*"); // planned anew
    assertEquals(expected, sorted(cached));
    assertTrue(explained(cached).contains("InMemoryTableScan"));
    assertEquals(6, cached.where("values IS NULL").count());
    assertEquals(6, cached.where("row IS NULL").count());
    assertTrue(reasonOf(() -> MatrixBlocks.transpose(cached).collectAsList()).contains("null"));
  }

  @Test
  void partitionsWithoutBlocks() {
    Dataset<Row> frame = ARRAY.toDataFrame(spark, 6).where("row = 0 AND col = 0").cache();
    assertEquals(1, frame.count());
    assertEquals(1, MatrixBlocks.transpose(frame).count());
    Dataset<Row> none = ARRAY.toDataFrame(spark, 6).where("row < 0").cache();
    assertEquals(0, none.count());
    assertEquals(0, MatrixBlocks.transpose(none).count());
    assertNull(none.selectExpr("max(row)").first().get(0));
  }

  @Tag("versions")
  @Test
  void otherFramesAreSparks() {
    Dataset<Row> numbers =
        spark.range(0, 1000, 1, 4).selectExpr("id", "id * 2 AS twice", "array(id) AS list").cache();
    assertEquals(1000, numbers.count());
    assertEquals(0, usedBytes());
    assertEquals(10, numbers.where("id >= 990").count());
    assertEquals(999_000, numbers.selectExpr("sum(twice)").first().getLong(0));
    assertEquals(999, numbers.selectExpr("max(list[0])").first().getLong(0));
    Dataset<Row> primitive = spark.range(0, 1000, 1, 4).selectExpr("id", "id * 2 AS twice").cache();
    assertEquals(10, primitive.where("id >= 990").count());
    assertEquals(0, usedBytes());
  }

  /** Spark gives a query the cache of another one that differs in names alone. */
  @Tag("versions")
  @Test
  void cachedUnderOtherNames() {
    Dataset<Row> source = ARRAY.toDataFrame(spark, 6);
    Dataset<Row> blocks = renamed(source, "row", "col", "rows", "cols", "values").cache();
    assertEquals(36, blocks.count());
    Dataset<Row> plain = renamed(source, "a", "b", "c", "d", "e");
    assertTrue(explained(plain).contains("InMemoryTableScan"));
    assertEquals(6, plain.where("a = 40").count());
    assertEquals(sorted(blocks), sorted(plain));
    blocks.unpersist(true);

    plain = renamed(source, "a", "b", "c", "d", "e").cache();
    assertEquals(36, plain.count());
    assertEquals(0, usedBytes());
    blocks = renamed(source, "row", "col", "rows", "cols", "values");
    assertTrue(explained(blocks).contains("InMemoryTableScan"));
    assertEquals(6, blocks.where("row = 40").count());
    ARRAY.assertPermuted(
        TRANSPOSED, MatrixBlocks.transpose(blocks).selectExpr("*", "CAST(null AS STRING) AS tag"));
  }

  private static Dataset<Row> renamed(Dataset<Row> source, String... names) {
    return source.selectExpr(
        "row + 0 AS " + names[0],
        "col + 0 AS " + names[1],
        "rows AS " + names[2],
        "cols AS " + names[3],
        "values AS " + names[4]);
  }

  private static CountDownLatch read;
  private static CountDownLatch freed;

  /** A task sees what it has read although the frame is unpersisted meanwhile. */
  @Test
  void viewsStayUntilTheTaskEnds() throws Exception {
    Dataset<Row> frame = ARRAY.toDataFrame(spark, 6).coalesce(1).cache();
    assertEquals(36, frame.count());
    read = new CountDownLatch(1);
    freed = new CountDownLatch(1);
    JavaRDD<Boolean> same =
        scan(frame).execute().toJavaRDD().mapPartitions(CachedBlocksTest::readTwice);
    CompletableFuture<List<Boolean>> task = CompletableFuture.supplyAsync(same::collect);
    assertTrue(read.await(60, TimeUnit.SECONDS));
    frame.unpersist(true);
    assertTrue(usedBytes() > 0, "freed under a task that reads it");
    freed.countDown();
    assertEquals(Collections.nCopies(36, true), task.get(60, TimeUnit.SECONDS));
    assertEquals(0, usedBytes());
  }

  private static Iterator<Boolean> readTwice(Iterator<InternalRow> rows)
      throws InterruptedException {
    List<UnsafeRow> views = new ArrayList<>();
    List<UnsafeRow> copies = new ArrayList<>();
    while (rows.hasNext()) {
      UnsafeRow row = (UnsafeRow) rows.next();
      UnsafeRow view = new UnsafeRow(row.numFields());
      view.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
      views.add(view);
      copies.add(row.copy());
    }
    read.countDown();
    freed.await();
    return IntStream.range(0, views.size())
        .mapToObj(i -> views.get(i).equals(copies.get(i)))
        .toList()
        .iterator();
  }
}

package org.tilespark.spark.block;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;
import org.tilespark.spark.testing.SparkTest;

/**
 * The jobs that each operator runs while its query is made: where the extents are stated, none;
 * else the queries that the tables say, over places only, with descriptions of their purpose. No
 * value is read before the query runs.
 */
class ExtentQueriesTest extends SparkTest {
  private static final AtomicLong READS = new AtomicLong(); // of values, in all tasks

  /** Queries for blocks without metadata, by operator; those that are not listed run none. */
  private static final Map<String, Integer> OF_MATRICES =
      Map.ofEntries(
          entry("slice", 1),
          entry("flip", 1),
          entry("crop", 1),
          entry("withOrigin", 1),
          entry("concat", 2), // one for each operand
          entry("stack", 2),
          entry("multiply", 1), // both operands are one frame
          entry("knn", 1),
          entry("pairsAbove", 1),
          entry("rowArgmax", 1),
          entry("gram", 1),
          entry("add", 1), // compares the cuts of both
          entry("zip", 3), // extents of both, which may be 1, and the cuts
          entry("pad", 1),
          entry("roll", 1),
          entry("reshape", 1),
          entry("halo", 1),
          entry("toRows", 1),
          entry("sum", 1),
          entry("mean", 1),
          entry("min", 1),
          entry("max", 1),
          entry("ptp", 1),
          entry("argmin", 1),
          entry("argmax", 1),
          entry("var", 1),
          entry("std", 1),
          entry("norm", 1),
          entry("countNonzero", 1),
          entry("any", 1),
          entry("all", 1),
          entry("nansum", 1),
          entry("nanmean", 1),
          entry("trace", 1),
          entry("diag", 1),
          entry("standardize", 1),
          entry("cov", 1),
          entry("corrcoef", 1),
          entry("cholesky", 1),
          entry("eigh", 1),
          entry("eigvalsh", 1),
          entry("qr", 1),
          entry("svd", 1),
          entry("svdvals", 1),
          entry("svd of some", 1),
          entry("pca", 1),
          entry("solve", 2), // one for each operand
          entry("lstsq", 2),
          entry("pinv", 1),
          entry("slogdet", 1),
          entry("rank", 1));

  private static final Map<String, UnaryOperator<Dataset<Row>>> MATRIX = matrixOperators();
  private static final Map<String, UnaryOperator<Dataset<Row>>> VOLUME = volumeOperators();

  private static final Set<String> OTHERS = // take no blocks, or say what is not known
      Set.of(
          "fromRows",
          "fromCells",
          "rowIds",
          "trim",
          "factor",
          "withExtents",
          "withoutExtents",
          "validate");

  /** Operators of volumes that matrices lack, or that run other queries. */
  private static final Map<String, Integer> OF_VOLUMES =
      Map.ofEntries(entry("slabs", 1), entry("pencils", 1), entry("fft", 1));

  @BeforeAll
  static void register() {
    spark
        .udf()
        .register(
            "counted",
            (UDF1<Object, Object>)
                values -> {
                  READS.incrementAndGet();
                  return values;
                },
            DataTypes.createArrayType(DataTypes.DoubleType));
  }

  private static Map<String, UnaryOperator<Dataset<Row>>> matrixOperators() {
    Map<String, UnaryOperator<Dataset<Row>>> all = new TreeMap<>();
    all.put("transpose", MatrixBlocks::transpose);
    all.put("slice", df -> MatrixBlocks.slice(df, "1:4, :"));
    all.put("flip", MatrixBlocks::flip);
    all.put("crop", df -> MatrixBlocks.crop(df, "1"));
    all.put("withOrigin", MatrixBlocks::withOrigin);
    all.put("concat", df -> MatrixBlocks.concat("0", df, df));
    all.put("stack", df -> MatrixBlocks.stack(df, df));
    all.put("multiply", df -> MatrixBlocks.multiply(df, df));
    all.put("gram", MatrixBlocks::gram);
    all.put("knn", df -> MatrixBlocks.knn(df, df, 2, Metric.COSINE));
    all.put("pairsAbove", df -> MatrixBlocks.pairsAbove(df, df, 1, Metric.INNER));
    all.put("rowArgmax", df -> MatrixBlocks.rowArgmax(df, df));
    all.put("scale", df -> MatrixBlocks.scale(df, 2));
    all.put("add", df -> MatrixBlocks.add(df, df));
    all.put("map", df -> MatrixBlocks.map(df, "v + 1"));
    all.put("zip", df -> MatrixBlocks.zip(df, df, "a * b"));
    all.put("center", MatrixBlocks::center);
    all.put("reblock", df -> MatrixBlocks.reblock(df, 3, 3));
    all.put("pad", df -> MatrixBlocks.pad(df, "1"));
    all.put("roll", df -> MatrixBlocks.roll(df, "1, 2"));
    all.put("reshape", df -> MatrixBlocks.reshape(df, "3, 12"));
    all.put("halo", df -> MatrixBlocks.halo(df, "1"));
    all.put("toRows", df -> MatrixBlocks.toRows(df, "features"));
    all.put("toCells", MatrixBlocks::toCells);
    all.put("sum", df -> MatrixBlocks.sum(df, "0"));
    all.put("mean", df -> MatrixBlocks.mean(df, "1"));
    all.put("min", MatrixBlocks::min);
    all.put("max", MatrixBlocks::max);
    all.put("ptp", MatrixBlocks::ptp);
    all.put("argmin", MatrixBlocks::argmin);
    all.put("argmax", df -> MatrixBlocks.argmax(df, "0"));
    all.put("var", df -> MatrixBlocks.var(df, "0"));
    all.put("std", df -> MatrixBlocks.std(df, "0"));
    all.put("norm", df -> MatrixBlocks.norm(df, "0, 1", "1")); // of a matrix: two reductions
    all.put("countNonzero", MatrixBlocks::countNonzero);
    all.put("any", MatrixBlocks::any);
    all.put("all", MatrixBlocks::all);
    all.put("nansum", MatrixBlocks::nansum);
    all.put("nanmean", MatrixBlocks::nanmean);
    all.put("trace", MatrixBlocks::trace);
    all.put("diag", MatrixBlocks::diag);
    all.put("standardize", MatrixBlocks::standardize);
    all.put("cov", MatrixBlocks::cov);
    all.put("corrcoef", MatrixBlocks::corrcoef);
    all.put("cholesky", MatrixBlocks::cholesky);
    all.put("eigh", df -> MatrixBlocks.eigh(df).vectors());
    all.put("eigvalsh", MatrixBlocks::eigvalsh);
    all.put("qr", df -> MatrixBlocks.qr(df).q());
    all.put("svd", df -> MatrixBlocks.svd(df).u());
    all.put("svdvals", MatrixBlocks::svdvals);
    all.put("svd of some", df -> MatrixBlocks.svd(df, 1).u());
    all.put("pca", df -> MatrixBlocks.pca(df, 1).scores());
    all.put("solve", df -> MatrixBlocks.solve(df, df));
    all.put("lstsq", df -> MatrixBlocks.lstsq(df, df).x());
    all.put("pinv", MatrixBlocks::pinv);
    all.put("slogdet", MatrixBlocks::slogdet);
    all.put("rank", MatrixBlocks::rank);
    return all;
  }

  private static Map<String, UnaryOperator<Dataset<Row>>> volumeOperators() {
    Map<String, UnaryOperator<Dataset<Row>>> all = new TreeMap<>();
    all.put("permute", df -> VolumeBlocks.permute(df, "yzx"));
    all.put("reblock", df -> VolumeBlocks.reblock(df, 3, 3, 3));
    all.put("slabs", df -> VolumeBlocks.slabs(df, "x"));
    all.put("pencils", df -> VolumeBlocks.pencils(df, "x"));
    all.put("fft", VolumeBlocks::fft);
    all.put("slice", df -> VolumeBlocks.slice(df, "1:3"));
    all.put("concat", df -> VolumeBlocks.concat("0", df, df));
    all.put("crop", df -> VolumeBlocks.crop(df, "1"));
    all.put("add", df -> VolumeBlocks.add(df, df));
    all.put("map", df -> VolumeBlocks.map(df, "v + 1"));
    all.put("zip", df -> VolumeBlocks.zip(df, df, "a * b"));
    all.put("pad", df -> VolumeBlocks.pad(df, "1"));
    all.put("roll", df -> VolumeBlocks.roll(df, "1, 2, 3"));
    all.put("reshape", df -> VolumeBlocks.reshape(df, "4, 16"));
    all.put("halo", df -> VolumeBlocks.halo(df, "1"));
    all.put("sum", df -> VolumeBlocks.sum(df, "0"));
    return all;
  }

  /** 6 x 6 in blocks of 2 x 3; each read of values is counted, and no metadata says anything. */
  private static Dataset<Row> matrix() {
    return spark
        .range(6)
        .selectExpr(
            "id div 2 * 2 AS row",
            "id % 2 * 3 AS col",
            "2 AS rows",
            "3 AS cols",
            "counted(array_repeat(CAST(id AS DOUBLE), 6)) AS values");
  }

  /** 4 x 4 x 4 in blocks of 2 x 4 x 4. */
  private static Dataset<Row> volume() {
    return spark
        .range(2)
        .selectExpr(
            "id * 2 AS x",
            "0L AS y",
            "0L AS z",
            "2 AS nx",
            "4 AS ny",
            "4 AS nz",
            "counted(array_repeat(CAST(id AS DOUBLE), 32)) AS values");
  }

  @Test
  void operatorsOfMatricesLookAtPlacesOnce() {
    Map<String, Integer> found = new TreeMap<>();
    MATRIX.forEach((name, operator) -> found.put(name, queries(name, matrix(), operator)));
    assertTable(OF_MATRICES, found);
  }

  @Test
  void operatorsOfVolumesLookAtPlacesOnce() {
    Map<String, Integer> found = new TreeMap<>();
    VOLUME.forEach((name, operator) -> found.put(name, queries(name, volume(), operator)));
    Map<String, Integer> expected = new TreeMap<>(OF_MATRICES);
    expected.putAll(OF_VOLUMES);
    expected.keySet().retainAll(found.keySet());
    assertTable(expected, found);
  }

  /** With complete metadata no job runs. */
  @Test
  void nothingRunsWhereTheMetadataSaysAll() {
    Dataset<Row> matrix =
        MatrixBlocks.reblock(MatrixBlocks.withExtents(matrix(), 6, 6), 2, 3).select("*");
    Map<String, Integer> found = new TreeMap<>();
    MATRIX.forEach((name, operator) -> found.put(name, queries(name, matrix, operator)));
    assertTable(Map.of("withOrigin", 1), found);
    Dataset<Row> volume =
        VolumeBlocks.reblock(VolumeBlocks.withExtents(volume(), 4, 4, 4), 2, 4, 4);
    found.clear();
    VOLUME.forEach((name, operator) -> found.put(name, queries(name, volume, operator)));
    assertTable(Map.of(), found);
  }

  /** A new operator gets a line. */
  @Test
  void allOperatorsAreInTheTables() {
    Set<String> names = new TreeSet<>();
    for (Class<?> facade : Set.of(MatrixBlocks.class, VolumeBlocks.class)) {
      Arrays.stream(facade.getDeclaredMethods())
          .filter(method -> Modifier.isPublic(method.getModifiers()))
          .filter(method -> Dataset.class.isAssignableFrom(method.getReturnType()))
          .map(Method::getName)
          .forEach(names::add);
    }
    names.removeAll(MATRIX.keySet());
    names.removeAll(VOLUME.keySet());
    names.removeAll(OTHERS);
    names.removeAll( // take what fft gives, which states its extents
        Set.of(
            "ifft",
            "lowPass",
            "bandPass",
            "powerSpectrum",
            "radialAverage",
            "frequencies",
            "multiplyPointwise"));
    assertEquals(Set.of(), names);
  }

  /** Cached frames are read from the cache, also where they would have to be computed else. */
  @Test
  void cachedBlocksAreReadFromTheCache() {
    Dataset<Row> cached =
        spark
            .range(6)
            .selectExpr(
                "CAST(counted(array(CAST(id AS DOUBLE)))[0] AS BIGINT) AS row",
                "0L AS col",
                "1 AS rows",
                "4 AS cols",
                "array_repeat(CAST(id AS DOUBLE), 4) AS values");
    Dataset<Row> reblocked = MatrixBlocks.reblock(cached, 2, 2).persist();
    try {
      reblocked.count();
      assertEquals(1, queries("gram", reblocked, MatrixBlocks::gram));
      assertEquals(1, queries("withOrigin", reblocked, MatrixBlocks::withOrigin));
    } finally {
      reblocked.unpersist(true);
    }
  }

  private static Dataset<Row> table() {
    return spark
        .range(0, 40, 1, 3)
        .selectExpr("id", "counted(array_repeat(CAST(id AS DOUBLE), 5)) AS features");
  }

  /** Rows of a join have to be computed to be counted, but not their vectors. */
  @Test
  void rowsAreCountedWithoutVectors() {
    Dataset<Row> joined = table().join(spark.range(10, 30), "id");
    Dataset<Row> rows = MatrixBlocks.fromRows(joined, "features", ordered());
    for (String name : Set.of("gram", "cov", "sum", "multiply", "slice", "roll", "norm")) {
      UnaryOperator<Dataset<Row>> operator =
          name.equals("multiply")
              ? df -> MatrixBlocks.multiply(MatrixBlocks.transpose(df), df)
              : MATRIX.get(name);
      queries(name, rows, operator);
    }
    queries("of a map", rows, df -> MatrixBlocks.gram(MatrixBlocks.map(df, "v * 2")));
    Dataset<Row> gram = MatrixBlocks.gram(rows);
    double expected = 0;
    for (int id = 10; id < 30; id++) {
      expected += id * id;
    }
    assertEquals(expected, gram.first().<Double>getList(4).get(0));
    assertEquals("20,5", extents(MatrixBlocks.roll(rows, "1, 1")));
  }

  /** Only the vectors tell which rows the policies leave out. */
  @Test
  void rowsThatAreSkippedAreNotCountedWithoutVectors() {
    Dataset<Row> rows =
        MatrixBlocks.fromRows(
            table().selectExpr("id", "IF(id = 7, NULL, features) AS features"),
            "features",
            ordered().withNulls(RowPolicy.SKIP));
    assertEquals("39,5", extents(MatrixBlocks.roll(rows, "1, 1")));
  }

  private static RowOptions ordered() {
    return RowOptions.defaults().withOrderBy("id").withCols(5);
  }

  /** An array that is re-blocked ends where its blocks did before. */
  @Test
  void reblockedArraysAreNotPutTogetherToBeMeasured() {
    Dataset<Row> reblocked = MatrixBlocks.reblock(matrix(), 4, 4);
    for (String name : Set.of("gram", "sum", "slice", "pad", "concat", "toRows", "standardize")) {
      queries(name, reblocked, MATRIX.get(name));
    }
    queries("of a map", reblocked, df -> MatrixBlocks.gram(MatrixBlocks.map(df, "v * 2")));
    assertEquals("6,6", extents(MatrixBlocks.roll(reblocked, "1, 1")));
    Dataset<Row> cells =
        MatrixBlocks.fromCells(
            spark.range(12).selectExpr("id div 4 AS row", "id % 4 AS col", "1.0D AS value"),
            2,
            2,
            Missing.ZERO);
    assertEquals("3,4", extents(MatrixBlocks.roll(cells, "1, 1")));
    assertEquals(
        "12.0", MatrixBlocks.sum(cells).first().get(0).toString(), "the sum of all elements");
  }

  private static String extents(Dataset<Row> df) {
    return df.schema().apply("values").metadata().getString(ArrayMetadata.EXTENTS);
  }

  // ---- counting

  private static void assertTable(Map<String, Integer> expected, Map<String, Integer> found) {
    found.values().removeIf(count -> count == 0);
    assertEquals(new TreeMap<>(expected).toString(), new TreeMap<>(found).toString());
  }

  /** Queries that run while an operator's query is made; fails if one of them reads values. */
  private static int queries(
      String name, Dataset<Row> input, UnaryOperator<Dataset<Row>> operator) {
    long before = READS.get();
    int count = count(() -> operator.apply(input));
    assertEquals(0, READS.get() - before, name + ": reads of values while the query is made");
    return count;
  }

  private static int count(Supplier<?> body) {
    Set<String> queries = ConcurrentHashMap.newKeySet();
    Set<String> purposes = ConcurrentHashMap.newKeySet();
    SparkListener listener =
        new SparkListener() {
          @Override
          public void onJobStart(SparkListenerJobStart job) {
            String query = job.properties().getProperty("spark.sql.execution.id");
            queries.add(query == null ? "job " + job.jobId() : query);
            purposes.add(job.properties().getProperty("spark.job.description", "none"));
          }
        };
    await();
    spark.sparkContext().addSparkListener(listener);
    spark.sparkContext().setJobDescription("nightly");
    try {
      assertNotNull(body.get());
      assertEquals("nightly", spark.sparkContext().getLocalProperty("spark.job.description"));
      await();
    } finally {
      spark.sparkContext().removeSparkListener(listener);
      spark.sparkContext().setJobDescription(null);
    }
    assertTrue(
        purposes.stream().allMatch(text -> text.matches("nightly: .*(finds|counts|compares) .*")),
        () -> queries + " " + purposes);
    return queries.size();
  }

  private static void await() {
    try {
      spark.sparkContext().listenerBus().waitUntilEmpty(60_000);
    } catch (TimeoutException e) {
      throw new IllegalStateException(e);
    }
  }
}

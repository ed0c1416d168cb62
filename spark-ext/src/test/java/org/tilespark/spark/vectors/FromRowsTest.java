package org.tilespark.spark.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.cache.CachedRows;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;

/** Rows that become blocks, against what a list of the rows says. */
class FromRowsTest extends VectorTestBase {
  private static final RowOptions SMALL = RowOptions.defaults().withBlockRows(3);

  @TempDir static Path dir;

  static List<Map<String, String>> modes() {
    return sampledModes();
  }

  @ParameterizedTest
  @ValueSource(strings = {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"})
  void rowsOfEachTypeKeepTheirOrder(String type) {
    for (int partitions : new int[] {1, 3, 40}) { // with 40 some are empty
      Dataset<Row> blocks = MatrixBlocks.fromRows(table(20, partitions, type), "features", SMALL);
      assertPlanned(blocks);
      assertEquals(expected(IntStream.range(0, 20), type), rows(blocks), type + partitions);
      assertEquals(
          "20,5", blocks.schema().apply("values").metadata().getString(ArrayMetadata.EXTENTS));
    }
  }

  @ParameterizedTest
  @MethodSource("modes")
  void sourcesWithAFixedOrder(Map<String, String> mode) {
    with(
        mode,
        () -> {
          Dataset<Row> made = table(50, 4, "FLOAT");
          String file = dir.resolve("f" + mode.hashCode()).toString();
          made.write().parquet(file);
          Dataset<Row> read = spark.read().parquet(file);
          assertEquals(
              sorted(expected(IntStream.range(0, 50), "FLOAT")),
              sorted(rows(MatrixBlocks.fromRows(read, "features", SMALL))));
          List<String> even = expected(IntStream.range(0, 50).filter(i -> i % 2 == 0), "FLOAT");
          assertEquals(
              sorted(even),
              sorted(rows(MatrixBlocks.fromRows(read.where("id % 2 = 0"), "features"))));
          Dataset<Row> cached = made.repartition(3).persist();
          try {
            Dataset<Row> blocks = MatrixBlocks.fromRows(cached, "features", SMALL.withId("id"));
            List<String> ids = ids(blocks);
            assertEquals(
                ids.stream()
                    .flatMap(id -> expected(IntStream.of(Integer.parseInt(id)), "FLOAT").stream())
                    .toList(),
                rows(blocks));
          } finally {
            cached.unpersist();
          }
          assertEquals(
              100, rows(MatrixBlocks.fromRows(made.union(made), "features", SMALL)).size());
        });
  }

  @ParameterizedTest
  @MethodSource("modes")
  void tablesInSparksCacheAreReadInPlace(Map<String, String> mode) {
    with(
        mode,
        () -> {
          for (String type : List.of("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")) {
            Dataset<Row> table =
                table(25, 4, type)
                    .selectExpr(
                        "name",
                        "IF(id % 5 = 3, NULL, features) AS features",
                        "id",
                        "IF(id % 3 = 0, NULL, struct(name, array(id))) AS label");
            spark.conf().set("spark.sql.inMemoryColumnarStorage.batchSize", 7);
            Dataset<Row> cached = table.persist();
            try {
              assertEquals(25, cached.count());
              assertTrue(CachedRows.of(scan(cached.select("features", "id"))).isPresent());
              for (String id : List.of("id", "name", "label")) {
                RowOptions options = SMALL.withNulls(RowPolicy.SKIP).withCols(5).withId(id);
                Dataset<Row> blocks = MatrixBlocks.fromRows(cached, "features", options);
                assertEquals(
                    expected(IntStream.range(0, 25).filter(i -> i % 5 != 3), type), rows(blocks));
                assertEquals(
                    table.where("id % 5 <> 3").sort("id").select(id).collectAsList().stream()
                        .map(row -> String.valueOf(row.get(0)))
                        .toList(),
                    ids(blocks));
                assertEquals(
                    rows(blocks),
                    rows(
                        MatrixBlocks.fromRows(
                            cached.where("features IS NOT NULL"), "features", SMALL)));
              }
            } finally {
              cached.unpersist();
              spark.conf().unset("spark.sql.inMemoryColumnarStorage.batchSize");
            }
          }
        });
  }

  private static SparkPlan scan(Dataset<Row> of) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) of).queryExecution().sparkPlan();
  }

  private static List<String> sorted(List<String> rows) {
    return rows.stream().sorted().toList();
  }

  @ParameterizedTest
  @MethodSource("modes")
  void rowsThatAreSorted(Map<String, String> mode) {
    with(
        mode,
        () -> {
          Dataset<Row> shuffled = table(50, 4, "DOUBLE").repartition(5);
          List<String> expected = expected(IntStream.range(0, 50), "DOUBLE");
          for (RowOptions options :
              List.of(
                  SMALL.withOrderBy("id"), SMALL.withId("id"), SMALL.withOrderBy("name", "id"))) {
            Dataset<Row> blocks = MatrixBlocks.fromRows(shuffled, "features", options);
            assertTrue(explained(blocks).contains("rangepartitioning"), () -> explained(blocks));
            assertEquals(sorted(expected), sorted(rows(blocks)));
            if (!options.orderBy().contains("name")) {
              assertEquals(expected, rows(blocks));
            }
          }
          assertEquals(
              expected, rows(MatrixBlocks.fromRows(shuffled.sort("id"), "features", SMALL)));
          assertEquals(
              expected.subList(0, 7),
              rows(MatrixBlocks.fromRows(shuffled.sort("id").limit(7), "features", SMALL)));
        });
  }

  @Test
  void rowsInNoFixedOrderAreRefused() {
    Dataset<Row> table = table(50, 4, "DOUBLE");
    for (Dataset<Row> loose :
        List.of(
            table.repartition(5),
            table.withColumn("x", new Column("id").plus(functions.rand())),
            table.distinct(),
            table.limit(10),
            table.join(table.select("id"), "id"),
            table.sample(0.5),
            table.coalesce(2))) {
      String reason = reasonOf(() -> MatrixBlocks.fromRows(loose, "features"));
      assertTrue(
          reason.contains("orderBy") && reason.contains("persist()") && reason.contains("id"),
          reason);
    }
  }

  @Test
  void aTableThatIsNoLongerCachedIsRefused() {
    Dataset<Row> cached = table(50, 4, "DOUBLE").repartition(5).persist();
    Dataset<Row> blocks = MatrixBlocks.fromRows(cached, "features");
    assertEquals(50, rows(blocks).size());
    cached.unpersist();
    Dataset<Row> again = blocks.select("*");
    assertFails(again::collectAsList, "no fixed order", "persist()");
    Dataset<Row> few = table(50, 4, "DOUBLE").limit(9).persist();
    Dataset<Row> withIds = MatrixBlocks.fromRows(few, "features", SMALL.withOrderBy("id"));
    assertEquals(9, rows(withIds).size());
    few.unpersist();
    assertFails(withIds.select("*")::collectAsList, "takes any rows", "persist()");
  }

  /** Places and their ids are found in runs of their own: each must see the same rows. */
  @Test
  void rowsThatAreOthersInEachRunAreRefused() {
    UserDefinedFunction drawn =
        functions
            .udf((Long id) -> ThreadLocalRandom.current().nextLong(id + 1), DataTypes.LongType)
            .asNondeterministic();
    Dataset<Row> table = table(50, 4, "DOUBLE");
    Dataset<Row> random = table.withColumn("x", drawn.apply(new Column("id")));
    for (Dataset<Row> loose :
        List.of(
            random.where("x > 10"),
            random.withColumn("id", new Column("x")),
            random
                .groupBy("x")
                .agg(functions.max("id").as("id"), functions.max("features").as("features")),
            table.dropDuplicates("features"),
            table.limit(10),
            table.offset(10),
            table.sort("name").limit(10).union(table.limit(10)),
            table.repartition(5).sample(0.5),
            table.repartition(5).where("rand() > 0.5"),
            table.repartition(5).withColumn("id", functions.monotonically_increasing_id()),
            spark.createDataFrame(
                table.toJavaRDD().repartition(5).sample(false, 0.5), table.schema()))) {
      for (RowOptions options : List.of(SMALL.withId("id"), SMALL.withOrderBy("id"))) {
        String reason = reasonOf(() -> MatrixBlocks.fromRows(loose, "features", options));
        assertTrue(
            reason.contains("other rows when it is read again")
                && reason.contains("persist() the table first"),
            reason);
      }
    }
  }

  @Test
  void rowsThatAreTheSameInEachRunInAnyOrder() {
    Dataset<Row> table = table(50, 4, "DOUBLE");
    List<String> expected = expected(IntStream.range(0, 50), "DOUBLE");
    for (Dataset<Row> fixed :
        List.of(
            table.repartition(5).groupBy("id").agg(functions.first("features").as("features")),
            table.union(table).dropDuplicates("id"),
            table.repartition(5).withColumn("x", functions.rand()),
            table.where("rand(3) < 2"),
            table.drop("id").withColumn("id", functions.monotonically_increasing_id()))) {
      assertEquals(expected, rows(MatrixBlocks.fromRows(fixed, "features", SMALL.withId("id"))));
    }
    Dataset<Row> best = table.sort(new Column("id").desc()).limit(7);
    assertEquals(
        expected.subList(43, 50),
        rows(MatrixBlocks.fromRows(best, "features", SMALL.withOrderBy("id"))));
    Dataset<Row> sample = table.sample(0.5, 7);
    assertEquals(
        ids(MatrixBlocks.fromRows(sample, "features", SMALL.withId("id"))),
        sample.sort("id").selectExpr("string(id)").as(Encoders.STRING()).collectAsList());
  }

  @Test
  void equalRowsOfAnOrderAreRefused() {
    Dataset<Row> table = table(50, 4, "DOUBLE").withColumn("tens", new Column("id").mod(10));
    assertFails(
        MatrixBlocks.fromRows(table, "features", SMALL.withOrderBy("tens"))::collectAsList,
        "two rows have tens ",
        "tell all rows apart");
    assertEquals(
        50, rows(MatrixBlocks.fromRows(table, "features", SMALL.withOrderBy("tens", "id"))).size());
  }

  @Test
  void aTablesOwnSortMustTellAllRowsApart() {
    Dataset<Row> table =
        table(50, 4, "DOUBLE").withColumn("tens", new Column("id").mod(10)).repartition(5);
    List<String> expected = expected(IntStream.range(0, 50).map(i -> 49 - i), "DOUBLE");
    for (Dataset<Row> sorted :
        List.of(
            table.sort(new Column("id").desc()),
            table.sort(new Column("id").desc()).select("features", "id"),
            table.sort(new Column("id").desc(), new Column("tens")).where("tens >= 0"))) {
      assertEquals(expected, rows(MatrixBlocks.fromRows(sorted, "features", SMALL)));
      assertEquals(
          expected, rows(MatrixBlocks.fromRows(sorted, "features", SMALL.withId("features"))));
    }
    assertFails(
        MatrixBlocks.fromRows(table.sort("tens"), "features", SMALL)::collectAsList,
        "two rows have tens ");
    for (Dataset<Row> hidden :
        List.of(
            table.sort("id").select("features", "tens"),
            table.sort(functions.expr("id + 1")),
            table.sort("id").select("features").union(table.sort("id").select("features")))) {
      String reason = reasonOf(() -> MatrixBlocks.fromRows(hidden, "features"));
      assertTrue(reason.contains("orderBy"), reason);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "id",
        "name",
        "CAST(id AS INT)",
        "CAST(id AS DECIMAL(30, 2))",
        "CAST(name AS BINARY)",
        "struct(id, name)",
        "DATE '2020-01-01' + CAST(id AS INT)",
        "IF(id % 3 = 0, NULL, name)",
        "array(name, 'x')"
      })
  void idsOfEachKindRideAlong(String id) {
    Dataset<Row> table = table(20, 3, "FLOAT").selectExpr("features", id + " AS label", "id");
    Dataset<Row> blocks = MatrixBlocks.fromRows(table, "features", SMALL.withId("label"));
    assertEquals(expected(IntStream.range(0, 20), "FLOAT"), rows(blocks));
    List<String> ids =
        table.sort("id").select("label").collectAsList().stream()
            .map(row -> String.valueOf(row.get(0)))
            .toList();
    if (!id.contains("BINARY")) {
      assertEquals(ids, ids(blocks));
    }
  }

  @Test
  void operatorsReadBlocksWithoutIds() {
    Dataset<Row> table = table(20, 3, "DOUBLE");
    Dataset<Row> with = MatrixBlocks.fromRows(table, "features", SMALL.withId("id"));
    Dataset<Row> without = MatrixBlocks.fromRows(table, "features", SMALL);
    assertEquals(rows(MatrixBlocks.gram(without)), rows(MatrixBlocks.gram(with)));
    assertEquals(rows(MatrixBlocks.center(without)), rows(MatrixBlocks.center(with)));
    assertFalse(List.of(MatrixBlocks.scale(with, 2).columns()).contains("ids"));
    assertEquals("[]", MatrixBlocks.validate(with).collectAsList().toString());
    assertEquals("[]", MatrixBlocks.validate(without).collectAsList().toString());
    assertEquals(rows(without), rows(MatrixBlocks.reblock(with, 7, 2)));
  }

  @Test
  void tablesOfSql() {
    table(20, 3, "FLOAT").createOrReplaceTempView("vectors");
    List<String> expected = expected(IntStream.range(0, 20), "FLOAT");
    for (String call :
        List.of(
            "SELECT * FROM matrix_from_rows(TABLE(vectors), 'features')",
            "SELECT * FROM matrix_from_rows(TABLE(SELECT * FROM vectors), array('features'), id"
                + " => 'name', blockRows => 4)",
            "WITH t AS (SELECT features AS f, id FROM vectors) SELECT * FROM"
                + " matrix_from_rows(TABLE(t), columns => 'f', orderBy => 'id', cols => '5')",
            "SELECT * FROM matrix_from_rows(TABLE(SELECT * FROM matrix_to_rows(TABLE(SELECT * FROM"
                + " matrix_from_rows(TABLE(vectors), 'features')), 'w')), 'w', orderBy =>"
                + " 'row')")) {
      assertEquals(expected, rows(spark.sql(call)), call);
    }
    assertTrue(
        reasonOf(() -> spark.sql("SELECT * FROM matrix_from_rows(TABLE(vectors), 'x, features')"))
            .contains("no column x"));
    assertTrue(
        reasonOf(
                () ->
                    spark.sql(
                        "SELECT * FROM matrix_from_rows(TABLE(vectors), 'features', cols => 0)"))
            .contains("a whole number from 1"));
  }

  @ParameterizedTest
  @MethodSource("modes")
  void blocksWithIdsInACacheAndInASortedSum(Map<String, String> mode) {
    with(
        mode,
        () -> {
          Dataset<Row> table = table(20, 3, "DOUBLE");
          Dataset<Row> blocks =
              MatrixBlocks.fromRows(table, "features", SMALL.withId("name")).persist();
          try {
            assertEquals(expected(IntStream.range(0, 20), "DOUBLE"), rows(blocks));
            assertEquals(rows(MatrixBlocks.scale(blocks, 1)), rows(blocks));
            assertEquals(IntStream.range(0, 20).mapToObj(i -> "r" + i).toList(), ids(blocks));
          } finally {
            blocks.unpersist();
          }
          Dataset<Row> sorted =
              MatrixBlocks.fromRows(table.repartition(3), "features", SMALL.withOrderBy("id"));
          assertEquals(
              rows(MatrixBlocks.scale(MatrixBlocks.fromRows(table, "features"), 2)),
              rows(MatrixBlocks.add(sorted, sorted)));
          Dataset<Row> again =
              MatrixBlocks.fromRows(table.repartition(4), "features", SMALL.withOrderBy("id"));
          assertEquals(
              rows(MatrixBlocks.multiply(sorted, MatrixBlocks.transpose(sorted))),
              rows(MatrixBlocks.multiply(sorted, MatrixBlocks.transpose(again))));
        });
  }

  /** A block of short vectors has millions of them; their ids need not fit one row. */
  @Test
  void longIdsEndABlock() {
    Dataset<Row> table =
        spark.range(0, 100, 1, 1).selectExpr("array(id) AS v", "repeat(id % 10, 1 << 20) AS name");
    List<Row> blocks =
        MatrixBlocks.fromRows(table, "v", RowOptions.defaults().withId("name"))
            .selectExpr("row", "rows", "transform(ids, id -> length(id) || left(id, 1))")
            .collectAsList();
    assertEquals(List.of(0L, 64L), blocks.stream().map(row -> row.getLong(0)).toList());
    assertEquals(List.of(64, 36), blocks.stream().map(row -> row.getInt(1)).toList());
    assertEquals(
        IntStream.range(64, 100).mapToObj(i -> "1048576" + i % 10).toList(),
        blocks.get(1).getList(2));
  }

  @Test
  void aGramOfRows() {
    double[][] gram = new double[5][5];
    for (int i = 0; i < 20; i++) {
      for (int j = 0; j < 25; j++) {
        gram[j / 5][j % 5] += (i * 5 + j / 5) * (i * 5 + j % 5);
      }
    }
    List<String> expected = Arrays.stream(gram).map(Arrays::toString).toList();
    assertEquals(
        expected,
        rows(MatrixBlocks.gram(MatrixBlocks.fromRows(table(20, 3, "DOUBLE"), "features", SMALL))));
  }

  @Test
  void numbersInSeveralColumns() {
    Dataset<Row> table =
        spark
            .range(0, 10, 1, 3)
            .selectExpr(
                "CAST(id AS INT) AS a", "CAST(id * 2 AS TINYINT) AS b", "id / 2 AS c", "id");
    assertEquals(
        IntStream.range(0, 10).mapToObj(i -> List.of(i, 2 * i).toString()).toList(),
        rows(MatrixBlocks.fromRows(table, List.of("a", "b"), SMALL)));
    assertEquals(
        IntStream.range(0, 10).mapToObj(i -> List.of(i / 2.0, 1.0 * i).toString()).toList(),
        rows(MatrixBlocks.fromRows(table, List.of("c", "a"), SMALL)));
    assertEquals(
        IntStream.range(0, 10).mapToObj(i -> List.of(i).toString()).toList(),
        rows(MatrixBlocks.fromRows(table, "a", SMALL)));
    assertTrue(
        reasonOf(() -> MatrixBlocks.fromRows(table.selectExpr("'x' AS a"), "a"))
            .contains("column a is STRING"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.fromRows(table, "z")).contains("no column z; found (a, b"));
    Dataset<Row> comma = table.withColumnRenamed("a", "x,y");
    assertTrue(
        reasonOf(() -> MatrixBlocks.fromRows(comma, List.of("x,y")))
            .contains("a comma ends a name"));
  }

  /** More than 100 columns are no batches in Spark's cache. */
  @ParameterizedTest
  @MethodSource("modes")
  void numbersInColumnsOfEachSource(Map<String, String> mode) {
    with(
        mode,
        () -> {
          for (String type : List.of("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")) {
            for (int extent : type.equals("FLOAT") ? new int[] {3, 110} : new int[] {3}) {
              List<String> names = IntStream.range(0, extent).mapToObj(j -> "c" + j).toList();
              List<String> columns =
                  new ArrayList<>(List.of("concat('r', id) AS name", "7 AS beside"));
              names.forEach(
                  name ->
                      columns.add(
                          1 + columns.size() / 2,
                          "CAST(id * 2 + %s AS %s) AS %s"
                              .formatted(name.substring(1), type, name)));
              Dataset<Row> made =
                  spark.range(0, 9, 1, 2).selectExpr(columns.toArray(String[]::new));
              String file = dir.resolve(type + extent + mode.hashCode()).toString();
              made.coalesce(1).write().parquet(file);
              List<String> expected =
                  IntStream.range(0, 9)
                      .mapToObj(
                          i ->
                              IntStream.range(0, extent)
                                  .mapToObj(j -> String.valueOf(number(i * 2 + j, type)))
                                  .toList()
                                  .toString())
                      .toList();
              Dataset<Row> cached = made.persist();
              Dataset<Row> numbers = made.drop("name").persist();
              try {
                assertEquals(9, cached.count());
                assertEquals(9, numbers.count());
                assertEquals(expected, rows(MatrixBlocks.fromRows(numbers, names, SMALL)));
                for (Dataset<Row> table : List.of(made, cached, spark.read().parquet(file))) {
                  Dataset<Row> blocks = MatrixBlocks.fromRows(table, names, SMALL.withId("name"));
                  assertEquals(expected, rows(blocks), type + extent);
                  Dataset<Row> sorted =
                      MatrixBlocks.fromRows(
                          table.repartition(3), names, SMALL.withOrderBy("beside", "name"));
                  assertEquals(expected, rows(sorted));
                  assertTrue(explained(sorted).contains("array("), () -> explained(sorted));
                  assertEquals(IntStream.range(0, 9).mapToObj(i -> "r" + i).toList(), ids(blocks));
                }
              } finally {
                cached.unpersist();
                numbers.unpersist();
              }
            }
          }
        });
  }

  @Test
  void policiesForNumbersInColumns() {
    Dataset<Row> table =
        spark
            .sql(
                "SELECT * FROM VALUES (0, 1F, 2F), (1, NULL, 4F), (2, 5F, FLOAT('NaN')), (3, 7F,"
                    + " 8F) AS t(id, a, b)")
            .coalesce(1);
    for (Dataset<Row> each : List.of(table, table.persist())) {
      List<String> names = List.of("a", "b");
      assertFails(
          MatrixBlocks.fromRows(each, names, SMALL.withId("id"))::collectAsList,
          "row 1 of partition 0 (id 1): column a,b has a NULL at element 0",
          "nulls => 'skip'");
      RowOptions zeros = SMALL.withNulls(RowPolicy.ZERO);
      assertFails(
          MatrixBlocks.fromRows(each, names, zeros)::collectAsList,
          "row 2 of partition 0: column a,b has NaN at element 1");
      assertEquals(
          List.of("[1.0, 2.0]", "[0.0, 4.0]", "[5.0, 0.0]", "[7.0, 8.0]"),
          rows(MatrixBlocks.fromRows(each, names, zeros.withNan(RowPolicy.ZERO))));
      assertEquals(
          List.of("[1.0, 2.0]", "[7.0, 8.0]"),
          rows(
              MatrixBlocks.fromRows(
                  each, names, SMALL.withNulls(RowPolicy.SKIP).withNan(RowPolicy.SKIP))));
      assertEquals(
          List.of("[1.0, 2.0, 0.0]", "[0.0, 4.0, 0.0]", "[5.0, NaN, 0.0]", "[7.0, 8.0, 0.0]"),
          rows(
              MatrixBlocks.fromRows(
                  each,
                  names,
                  zeros.withNan(RowPolicy.KEEP).withRagged(RowPolicy.ZERO).withCols(3))));
      assertFails(
          MatrixBlocks.fromRows(each, names, SMALL.withCols(3))::collectAsList,
          "has 2 elements; expected 3");
    }
    table.unpersist();
  }

  // ---- policies

  private static Dataset<Row> sql(String rows) {
    return spark.sql("SELECT * FROM VALUES " + rows + " AS t(id, features)").coalesce(1).persist();
  }

  @Test
  void policiesForNull() {
    Dataset<Row> table =
        sql("(0, array(1D, 2D)), (1, NULL), (2, array(3D, NULL)), (3, array(5D, 6D))");
    assertFails(
        MatrixBlocks.fromRows(table, "features", SMALL.withId("id"))::collectAsList,
        "row 1 of partition 0 (id 1): column features is NULL",
        "nulls => 'skip'");
    assertFails(
        MatrixBlocks.fromRows(table.where("id <> 1"), "features", SMALL)::collectAsList,
        "row 1 of partition 0: column features has a NULL at element 1");
    RowOptions skip = SMALL.withNulls(RowPolicy.SKIP).withId("id");
    assertEquals(
        List.of("[1.0, 2.0]", "[5.0, 6.0]"), rows(MatrixBlocks.fromRows(table, "features", skip)));
    assertEquals(List.of("0", "3"), ids(MatrixBlocks.fromRows(table, "features", skip)));
    assertEquals(
        List.of("[1.0, 2.0]", "[0.0, 0.0]", "[3.0, 0.0]", "[5.0, 6.0]"),
        rows(MatrixBlocks.fromRows(table, "features", SMALL.withNulls(RowPolicy.ZERO))));
  }

  @Test
  void policiesForOtherLengths() {
    Dataset<Row> table = sql("(0, array(1D, 2D)), (1, array(3D)), (2, array(4D, 5D, 6D))");
    assertFails(
        MatrixBlocks.fromRows(table, "features", SMALL)::collectAsList,
        "row 1 of partition 0: column features has 1 elements; expected 2");
    assertTrue(
        reasonOf(() -> MatrixBlocks.fromRows(table, "features", SMALL.withRagged(RowPolicy.SKIP)))
            .contains("state cols"));
    assertEquals(
        List.of("[1.0, 2.0]"),
        rows(
            MatrixBlocks.fromRows(
                table, "features", SMALL.withRagged(RowPolicy.SKIP).withCols(2))));
    RowOptions zero = SMALL.withRagged(RowPolicy.ZERO);
    assertEquals(
        List.of("[1.0, 2.0, 0.0]", "[3.0, 0.0, 0.0]", "[4.0, 5.0, 6.0]"),
        rows(MatrixBlocks.fromRows(table, "features", zero)));
    assertFails(
        MatrixBlocks.fromRows(table, "features", zero.withCols(2))::collectAsList,
        "has 3 elements; expected 2 or fewer");
  }

  @ParameterizedTest
  @ValueSource(strings = {"FLOAT", "DOUBLE"})
  void policiesForNan(String type) {
    Dataset<Row> table =
        sql(("(0, array(1D, -0D, 3D)), (1, array(double('inf'), double('-inf'), 3D)),"
                + " (2, array(1D, 2D, double('NaN')))"))
            .selectExpr("CAST(features AS ARRAY<" + type + ">) AS features");
    assertFails(
        MatrixBlocks.fromRows(table, "features", SMALL)::collectAsList,
        "row 2 of partition 0: column features has NaN at element 2");
    List<String> first = List.of("[1.0, -0.0, 3.0]", "[Infinity, -Infinity, 3.0]");
    assertEquals(
        first, rows(MatrixBlocks.fromRows(table, "features", SMALL.withNan(RowPolicy.SKIP))));
    assertEquals(
        "[1.0, 2.0, 0.0]",
        rows(MatrixBlocks.fromRows(table, "features", SMALL.withNan(RowPolicy.ZERO))).get(2));
    assertEquals(
        "[1.0, 2.0, NaN]",
        rows(MatrixBlocks.fromRows(table, "features", SMALL.withNan(RowPolicy.KEEP))).get(2));
  }

  @Test
  void placesFollowFromTheRowsThatAreKept() {
    Dataset<Row> table =
        table(40, 4, "DOUBLE").selectExpr("IF(id % 7 = 0, NULL, features) AS features", "id");
    Dataset<Row> blocks =
        MatrixBlocks.fromRows(
            table, "features", SMALL.withNulls(RowPolicy.SKIP).withCols(5).withId("id"));
    List<Integer> kept = IntStream.range(0, 40).filter(i -> i % 7 != 0).boxed().toList();
    assertEquals(expected(kept.stream().mapToInt(Integer::intValue), "DOUBLE"), rows(blocks));
    assertEquals(kept.stream().map(String::valueOf).toList(), ids(blocks));
  }

  @Test
  void tablesWithoutRowsAreRefused() {
    Dataset<Row> table = table(10, 3, "DOUBLE");
    for (Dataset<Row> empty : List.of(table.where("id < 0"), table.limit(0))) {
      assertTrue(reasonOf(() -> MatrixBlocks.fromRows(empty, "features")).contains("no row"));
      assertTrue(
          reasonOf(() -> MatrixBlocks.fromRows(empty, "features", SMALL.withCols(5)))
              .contains("no rows"));
    }
    RowOptions skip = SMALL.withCols(4).withRagged(RowPolicy.SKIP);
    for (int partitions : new int[] {1, 3}) {
      assertFails(
          MatrixBlocks.fromRows(table(10, partitions, "DOUBLE"), "features", skip)::collectAsList,
          "no rows that are not left out");
    }
    assertTrue(
        reasonOf(
                () ->
                    MatrixBlocks.fromRows(
                        spark.sql("SELECT array() AS x").selectExpr("CAST(x AS ARRAY<INT>) AS x"),
                        "x"))
            .contains("at least one column"));
  }
}

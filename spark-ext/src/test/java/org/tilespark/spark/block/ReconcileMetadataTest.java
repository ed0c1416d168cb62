package org.tilespark.spark.block;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;

/**
 * Column metadata after unions, views, tables and files: the facts that all rows agree on, or an
 * error.
 */
class ReconcileMetadataTest extends SparkTest {
  private static final ElementType DOUBLE = ElementType.FLOAT64;
  private static final TestField FIELD = TestField.random(91, true, 2, 3, 4);
  private static final FftOptions NATURAL = FftOptions.defaults().withOutput("natural");
  private static final String MIXED = "the rows come from different transforms, or some from none";

  @TempDir Path directory;

  private Dataset<Row> volume;
  private Dataset<Row> backward;
  private Dataset<Row> ortho;

  @BeforeEach
  void frames() {
    volume = VolumeBlocks.withExtents(FIELD.blocks(spark, DOUBLE, true, 2, 3, 4), 2, 3, 4);
    backward = VolumeBlocks.fft(volume, NATURAL);
    ortho = VolumeBlocks.fft(volume, NATURAL.withNorm("ortho"));
    volume.createOrReplaceTempView("volume");
    backward.createOrReplaceTempView("backward");
    ortho.createOrReplaceTempView("ortho");
  }

  @AfterEach
  void dropTables() {
    for (String view :
        List.of("stored_view", "text_view", "volume", "backward", "ortho", "large", "small")) {
      spark.sql("DROP VIEW IF EXISTS " + view);
    }
    spark.sql("DROP TABLE IF EXISTS stored");
  }

  // ---- unions

  @Test
  void aUnionSaysWhatAllBranchesSay() {
    Dataset<Row> one = volume.where("x = 0");
    assertSame(volume, one.union(volume.where("x > 0")));
    // Rows beyond the first branch's extents: those are unknown, and found.
    Dataset<Row> upper =
        VolumeBlocks.withExtents(
            volume.selectExpr("x + 2 AS x", "y", "z", "nx", "ny", "nz", "values", "imag"), 4, 3, 4);
    Dataset<Row> both = volume.union(upper);
    assertEquals(Optional.empty(), known(both).extents(3));
    assertEquals(
        "unknown", both.schema().apply("values").metadata().getString(ArrayMetadata.EXTENTS));
    assertEquals(Optional.of(Shape.of(4, 3, 4)), known(VolumeBlocks.fft(both, NATURAL)).extents(3));
    assertEquals(2, VolumeBlocks.permute(both, "zyx").count());
    // What stands above the union in the same query says the same.
    Dataset<Row> above =
        spark.sql(
            "SELECT x, values AS v FROM (SELECT * FROM (SELECT * FROM volume UNION ALL"
                + " SELECT x, y, z, nx, ny, nz, reverse(values), imag FROM volume) ORDER BY x)");
    assertEquals("unknown", above.schema().apply("v").metadata().getString(ArrayMetadata.EXTENTS));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT * FROM ortho UNION ALL SELECT * FROM backward",
        "SELECT * FROM ortho UNION SELECT * FROM backward",
        "SELECT * FROM ortho UNION ALL SELECT * FROM volume",
        "SELECT * FROM volume UNION ALL SELECT * FROM ortho",
        "SELECT * FROM ortho UNION ALL SELECT * FROM volume_permute(TABLE(ortho), 'zyx')",
        "SELECT * FROM (SELECT * FROM ortho UNION ALL SELECT * FROM ortho) UNION ALL"
            + " SELECT * FROM backward",
      })
  void aUnionOfDifferentSpectraIsNone(String union) {
    assertMixed("TABLE(" + union + ")", "");
    assertMixed("TABLE(c)", "WITH c AS (" + union + ") ");
    spark.sql("CREATE OR REPLACE TEMP VIEW text_view AS " + union);
    assertMixed("TABLE(text_view)", "");
    // A copy of the rows does not say more.
    Dataset<Row> copied = spark.sql(union).localCheckpoint();
    assertFails(() -> VolumeBlocks.ifft(copied), MIXED);
    assertFails(() -> VolumeBlocks.add(copied, copied), MIXED);
    assertFails(() -> VolumeBlocks.multiplyPointwise(ortho, copied), MIXED);
  }

  private static void assertMixed(String table, String with) {
    for (String call :
        List.of(
            "volume_ifft(" + table + ")",
            "volume_low_pass(" + table + ", 1)",
            "volume_frequencies(" + table + ")",
            "volume_radial_average(" + table + ")")) {
      assertFails(() -> spark.sql(with + "SELECT * FROM " + call), call.split("\\(")[0], MIXED);
    }
  }

  @Test
  void branchesOfOneSpectrumAreOne() {
    Dataset<Row> slabs = VolumeBlocks.reblock(ortho, 1, 3, 4);
    assertBack(
        slabs
            .where("x = 1")
            .unionByName(
                slabs.where("x = 0").select("imag", "x", "y", "z", "nx", "ny", "nz", "values")));
    // A user who knows better says so.
    Dataset<Row> unsaid =
        slabs
            .where("x = 1")
            .selectExpr("x", "y", "z", "nx", "ny", "nz", "concat(values) AS values", "imag");
    Dataset<Row> union = slabs.where("x = 0").union(unsaid);
    assertFails(() -> VolumeBlocks.ifft(union), MIXED);
    TestField.of(
            VolumeBlocks.ifft(union, FftOptions.defaults().withAxes("xyz").withNorm("ortho")),
            new int[] {2, 3, 4})
        .assertNear(FIELD, DOUBLE, "axes and norm stated");
    // Of a transform of mixed rows the inverse is known.
    Dataset<Row> mixed =
        ortho.withColumn("s", functions.lit(0)).union(backward.withColumn("s", functions.lit(1)));
    Dataset<Row> twice = VolumeBlocks.ifft(VolumeBlocks.fft(mixed, NATURAL));
    TestField.of(
            VolumeBlocks.ifft(twice.where("s = 1").drop("s"), NATURAL_BACK), new int[] {2, 3, 4})
        .assertNear(FIELD, DOUBLE, "undone");
    assertFails(() -> VolumeBlocks.ifft(twice), MIXED);
  }

  private static final FftOptions NATURAL_BACK = FftOptions.defaults().withAxes("xyz");

  // ---- tables

  @ParameterizedTest
  @ValueSource(strings = {"parquet", "orc"})
  void aTableKeepsTheSpectrumThatItWasMadeOf(String format) {
    spark.sql("CREATE TABLE stored USING " + format + " AS SELECT * FROM ortho");
    assertSame(ortho, spark.table("stored"));
    spark.sql("INSERT OVERWRITE stored SELECT * FROM ortho");
    String refused =
        "INSERT INTO spark_catalog.default.stored: the table holds the spectrum 'axes=xyz;";
    for (String other : List.of("backward", "volume", "volume_permute(TABLE(ortho), 'zyx')")) {
      for (String insert : List.of("INSERT OVERWRITE", "INSERT INTO")) {
        assertFails(
            () -> spark.sql(insert + " stored SELECT * FROM " + other),
            refused,
            other.equals("volume") ? "the rows are none" : "",
            "SET TBLPROPERTIES ('tilespark.spectrum' = 'unknown')");
      }
    }
    assertFails(() -> backward.write().insertInto("stored"), refused);
    assertFails(
        () -> backward.write().format(format).mode(SaveMode.Append).saveAsTable("stored"), refused);
    ortho.write().format(format).mode(SaveMode.Append).saveAsTable("stored");
    assertEquals(2, spark.table("stored").count());
    // What the message says helps.
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.spectrum' = 'unknown')");
    spark.sql("INSERT OVERWRITE stored SELECT * FROM backward");
    assertEquals(Optional.empty(), known(spark.table("stored")).spectrum());
    assertFails(
        () -> spark.sql("SELECT * FROM volume_ifft(TABLE(stored))"),
        "does not tell which transform made the spectrum");
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.spectrum' = 'ortho')");
    assertFails(
        () -> spark.table("stored"),
        "Table property tilespark.spectrum is 'ortho'; expected 'unknown'");
  }

  /**
   * Parquet tables take no MERGE; it is refused for what it would bring before that is found out.
   */
  @Test
  void mergesAreCheckedLikeInserts() {
    spark.sql("CREATE TABLE stored USING parquet AS SELECT * FROM ortho");
    for (String clause :
        List.of(
            "WHEN MATCHED THEN UPDATE SET *",
            "WHEN MATCHED THEN UPDATE SET values = s.values",
            "WHEN NOT MATCHED THEN INSERT *")) {
      String merge = "MERGE INTO stored t USING %s s ON t.x = s.x " + clause;
      assertFails(
          () -> spark.sql(merge.formatted("backward")),
          "MERGE INTO spark_catalog.default.stored: the table holds the spectrum 'axes=xyz;");
      assertFails(() -> spark.sql(merge.formatted("ortho")), "MERGE INTO TABLE");
    }
  }

  @Test
  void aSpectrumComesBackFromATable() {
    spark.sql(
        "CREATE TABLE stored USING parquet AS SELECT * FROM volume_reblock(TABLE(ortho), 1, 3, 4)");
    assertBack(spark.sql("SELECT * FROM stored"));
    // Views say what the table says now.
    spark.sql("CREATE VIEW stored_view AS SELECT * FROM stored");
    spark.sql("CREATE TEMP VIEW text_view AS SELECT * FROM stored");
    spark.sql("DROP TABLE stored");
    spark.sql("CREATE TABLE stored USING parquet AS SELECT * FROM backward");
    for (String view : List.of("stored_view", "text_view")) {
      assertSame(backward, spark.table(view));
      assertBack(spark.table(view));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"parquet", "orc"})
  void staleExtentsOfATableAreMendedByOneStatement(String format) {
    spark.sql("CREATE TABLE stored USING " + format + " AS SELECT * FROM volume");
    spark.sql(
        "INSERT OVERWRITE stored SELECT x + 2, y, z, nx, ny, nz, values, imag FROM volume"
            + " UNION ALL SELECT * FROM volume");
    String fft = "SELECT * FROM volume_scale(TABLE(SELECT * FROM stored ORDER BY x), 1)";
    assertFails(
        () -> spark.sql(fft).collectAsList(),
        "block at x 2, y 0, z 0: it ends at x 4, the column metadata tilespark.extents says [2, 3,"
            + " 4]",
        "extents => 'unknown'",
        "ALTER TABLE t SET TBLPROPERTIES ('tilespark.extents' = 'unknown')");
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.extents' = 'unknown')");
    assertEquals(Optional.empty(), known(spark.table("stored")).extents(3));
    assertEquals(2, spark.sql(fft).collectAsList().size());
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.extents' = '4, 3,4')");
    assertEquals(Optional.of(Shape.of(4, 3, 4)), known(spark.table("stored")).extents(3));
    assertEquals(2, spark.sql(fft).collectAsList().size());
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.extents' = 'many')");
    assertFails(
        () -> spark.table("stored"),
        "Table property tilespark.extents is 'many'; expected 3 whole numbers");
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.extents' = '4,3')");
    assertFails(
        () -> spark.table("stored"),
        "Table property tilespark.extents is '4,3'; expected 3 whole numbers");
  }

  /** Each operator that finds a hole says that the metadata may be stale, and what then helps. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "matrix_reblock(TABLE(stored), 2, 2)",
        "matrix_multiply(TABLE(stored), TABLE(stored), transposeB => true)",
        "matrix_multiply(TABLE(stored), TABLE(stored), transposeB => true, strategy =>"
            + " 'broadcast')",
        "matrix_gram(TABLE(stored))",
        "matrix_center(TABLE(stored))",
        "matrix_add(TABLE(stored), TABLE(large))",
        "matrix_add(TABLE(stored), TABLE(small))",
      })
  void holesOfAnArrayThatBecameSmallerNameTheWaysOut(String call) {
    Dataset<Row> large = matrix(6, 8);
    Dataset<Row> small = matrix(4, 5);
    large.createOrReplaceTempView("large");
    small.createOrReplaceTempView("small");
    spark.sql("CREATE TABLE stored USING parquet AS SELECT * FROM large");
    spark.sql("INSERT OVERWRITE stored SELECT * FROM small");
    String query = "SELECT * FROM " + call;
    assertFails(
        () -> spark.sql(query).collectAsList(),
        "if the metadata is stale (after an INSERT or a UNION, say)",
        "matrix_with_extents(TABLE(t), 'unknown')",
        "withoutExtents(df)",
        "from_dataframe(df, shape=...)",
        "ALTER TABLE t SET TBLPROPERTIES ('tilespark.extents' = 'unknown')");
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.extents' = 'banana')");
    assertFails(
        () -> spark.sql(query),
        "Table property tilespark.extents is 'banana'; expected 2 whole numbers");
  }

  private static Dataset<Row> matrix(int rows, int cols) {
    return MatrixBlocks.withExtents(
        TestArray.matrix(DOUBLE, rows, cols, 3, 3).toDataFrame(spark, 2).drop("tag"), rows, cols);
  }

  // ---- files

  @Test
  void filesOfDifferentSpectraAreMixed() {
    String path = directory.resolve("spectrum").toString();
    VolumeBlocks.reblock(ortho, 1, 3, 4).write().parquet(path);
    assertBack(spark.read().parquet(path));
    String other = directory.resolve("other").toString();
    backward.write().parquet(other);
    for (Dataset<Row> both :
        List.of(spark.read().parquet(path, other), spark.read().parquet(other, path))) {
      assertFails(() -> VolumeBlocks.ifft(both), MIXED);
    }
    backward.write().mode(SaveMode.Append).parquet(path);
    assertFails(() -> VolumeBlocks.ifft(spark.read().parquet(path)), MIXED);
    assertFails(
        () -> VolumeBlocks.ifft(spark.read().option("mergeSchema", "true").parquet(path)), MIXED);
    spark.sql("CREATE TABLE stored USING parquet LOCATION '" + path + "'");
    assertFails(() -> spark.sql("SELECT * FROM volume_ifft(TABLE(stored))"), MIXED);
    // Parquet of others, which says nothing.
    volume
        .drop("s")
        .selectExpr("x", "y", "z", "nx", "ny", "nz", "concat(values) AS values", "imag")
        .write()
        .mode(SaveMode.Append)
        .parquet(other);
    assertFails(() -> VolumeBlocks.lowPass(spark.read().parquet(other), 1), ArrayMetadata.SPECTRUM);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSchemaThatSaysAnotherSpectrumThanTheFilesIsMixed(boolean one) {
    String path = directory.resolve("ortho").toString();
    written(one).write().parquet(path);
    Dataset<Row> other = spark.read().schema(backward.schema()).parquet(path);
    assertFails(() -> VolumeBlocks.ifft(other), MIXED);
    assertFails(
        () -> VolumeBlocks.ifft(spark.read().schema(volume.schema()).parquet(path)),
        "does not tell which transform made the spectrum");
    assertBack(spark.read().schema(ortho.schema()).parquet(path));
    TestField.of(
            VolumeBlocks.ifft(other, FftOptions.defaults().withAxes("xyz").withNorm("ortho")),
            new int[] {2, 3, 4})
        .assertNear(FIELD, DOUBLE, "axes and norm stated");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSchemaThatSaysNothingBelievesTheFiles(boolean one) {
    String path = directory.resolve("ortho").toString();
    written(one).write().parquet(path);
    String columns =
        "x BIGINT, y BIGINT, z BIGINT, nx INT, ny INT, nz INT, values ARRAY<DOUBLE>,"
            + " imag ARRAY<DOUBLE>";
    assertBack(spark.read().schema(columns).parquet(path));
    spark.sql("CREATE TABLE stored (" + columns + ") USING parquet LOCATION '" + path + "'");
    assertBack(spark.table("stored"));
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.spectrum' = 'unknown')");
    assertEquals(Optional.empty(), known(spark.table("stored")).spectrum());
    backward.write().mode(SaveMode.Append).parquet(path);
    assertFails(() -> VolumeBlocks.ifft(spark.read().schema(columns).parquet(path)), MIXED);
    volume.write().mode(SaveMode.Overwrite).parquet(path);
    Dataset<Row> none = spark.read().schema(columns).parquet(path);
    assertEquals(ArrayMetadata.empty().toMetadata(), known(none).toMetadata());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void filesOfATableThatWereReplacedByPathAreMixed(boolean managed) {
    String path = directory.resolve("table").toString();
    if (managed) {
      spark.sql("CREATE TABLE stored USING parquet AS SELECT * FROM backward");
      path = Path.of(URI.create(spark.table("stored").inputFiles()[0])).getParent().toString();
    } else {
      backward.write().parquet(path);
      spark.sql("CREATE TABLE stored USING parquet LOCATION '" + path + "'");
    }
    assertBack(spark.table("stored"));
    ortho.write().mode(SaveMode.Overwrite).parquet(path);
    spark.sql("REFRESH TABLE stored");
    assertFails(() -> spark.sql("SELECT * FROM volume_ifft(TABLE(stored))"), MIXED);
    assertFails(() -> VolumeBlocks.ifft(spark.table("stored")), MIXED);
    // What the message says helps, and so does the first transform.
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.spectrum' = 'unknown')");
    assertEquals(Optional.empty(), known(spark.table("stored")).spectrum());
    spark.sql("ALTER TABLE stored UNSET TBLPROPERTIES ('tilespark.spectrum')");
    backward.write().mode(SaveMode.Overwrite).parquet(path);
    spark.sql("REFRESH TABLE stored");
    assertBack(spark.table("stored"));
  }

  @Test
  void extentsOfAPropertyHoldForASpectrumWhoseFilesSayOthers() {
    spark.sql("CREATE TABLE stored USING parquet AS SELECT * FROM ortho");
    spark.sql("ALTER TABLE stored SET TBLPROPERTIES ('tilespark.extents' = '4,3,4')");
    assertEquals(Optional.of(Shape.of(4, 3, 4)), known(spark.table("stored")).extents(3));
    assertEquals(known(ortho).spectrum(), known(spark.table("stored")).spectrum());
  }

  @Test
  void aDamagedFileOfASpectrumIsNamedByWhoReadsItsRows() throws IOException {
    String path = directory.resolve("damaged").toString();
    ortho.coalesce(1).write().parquet(path);
    spark.sql("CREATE TABLE stored USING parquet LOCATION '" + path + "'");
    try (Stream<Path> files = Files.list(Path.of(path))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".parquet")).toList()) {
        Files.write(file, new byte[100]);
        Files.deleteIfExists(file.resolveSibling("." + file.getFileName() + ".crc"));
      }
    }
    Dataset<Row> back = VolumeBlocks.ifft(spark.table("stored"));
    assertFails(back::count, "is not a Parquet file");
  }

  /** The spectrum {@code ortho} in one block and file, or in several of them. */
  private Dataset<Row> written(boolean one) {
    return one ? ortho.coalesce(1) : VolumeBlocks.reblock(ortho, 1, 3, 4).repartition(2);
  }

  private static void assertBack(Dataset<Row> spectrum) {
    TestField.of(VolumeBlocks.ifft(spectrum), new int[] {2, 3, 4})
        .assertNear(FIELD, DOUBLE, "back");
  }

  private static void assertSame(Dataset<Row> expected, Dataset<Row> found) {
    assertEquals(known(expected).toMetadata(), known(found).toMetadata());
  }

  private static ArrayMetadata known(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }
}

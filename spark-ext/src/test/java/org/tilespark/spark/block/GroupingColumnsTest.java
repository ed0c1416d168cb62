package org.tilespark.spark.block;

import static org.apache.spark.sql.functions.lit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.SparkTest;

/** Further columns of one name: no operator that combines blocks could distinguish them. */
class GroupingColumnsTest extends SparkTest {
  private static final Map<String, UnaryOperator<Dataset<Row>>> MATRIX = new LinkedHashMap<>();
  private static final Map<String, UnaryOperator<Dataset<Row>>> VOLUME = new LinkedHashMap<>();

  static {
    MATRIX.put("MatrixBlocks.reblock", m -> MatrixBlocks.reblock(m, 1, 2));
    MATRIX.put("MatrixBlocks.add", m -> MatrixBlocks.add(m, m, Missing.ZERO));
    MATRIX.put("MatrixBlocks.center", MatrixBlocks::center);
    MATRIX.put("MatrixBlocks.multiply", m -> MatrixBlocks.multiply(m, m, zeros()));
    MATRIX.put("MatrixBlocks.gram", m -> MatrixBlocks.gram(m, zeros()));
    VOLUME.put("VolumeBlocks.reblock", v -> VolumeBlocks.reblock(v, 1, 2, 2));
    VOLUME.put("VolumeBlocks.slabs", v -> VolumeBlocks.slabs(v, "y"));
    VOLUME.put("VolumeBlocks.pencils", v -> VolumeBlocks.pencils(v, "y"));
    VOLUME.put("VolumeBlocks.multiplyPointwise", v -> VolumeBlocks.multiplyPointwise(v, v));
    VOLUME.put(
        "VolumeBlocks.fft",
        v -> VolumeBlocks.fft(v, FftOptions.of(Map.of("detrend", "mean", "missing", "zero"))));
  }

  private static MultiplyOptions zeros() {
    return MultiplyOptions.of(Map.of("missing", "zero"));
  }

  private static Dataset<Row> matrix() {
    return spark
        .range(0, 4, 1, 2)
        .selectExpr(
            "id DIV 2 * 2 AS row",
            "id % 2 * 2 AS col",
            "2 AS rows",
            "2 AS cols",
            "array(1D, 2D, 3D, CAST(id AS DOUBLE)) AS values");
  }

  private static Dataset<Row> volume() {
    return spark
        .range(0, 2, 1, 2)
        .selectExpr(
            "id AS x",
            "0L AS y",
            "0L AS z",
            "1 AS nx",
            "2 AS ny",
            "2 AS nz",
            "array(1D, 2D, 3D, CAST(id AS DOUBLE)) AS values");
  }

  private static Dataset<Row> with(Dataset<Row> df, String one, String other) {
    return df.select(org.apache.spark.sql.functions.col("*"), lit(1).as(one), lit("two").as(other));
  }

  @Test
  void twoColumnsOfOneNameAreRefusedBeforeTheJob() {
    for (List<String> names : List.of(List.of("g", "g"), List.of("g", "G"))) {
      refused(MATRIX, with(matrix(), names.get(0), names.get(1)), names);
      refused(VOLUME, with(volume(), names.get(0), names.get(1)), names);
    }
  }

  private static void refused(
      Map<String, UnaryOperator<Dataset<Row>>> operators, Dataset<Row> df, List<String> names) {
    operators.forEach(
        (name, operator) -> {
          String reason = reasonOf(() -> operator.apply(df));
          assertTrue(reason.startsWith(name), reason);
          assertTrue(reason.contains(names.get(0) + " INT, " + names.get(1) + " STRING"), reason);
        });
  }

  @Test
  void validateNamesThem() {
    for (List<String> names : List.of(List.of("g", "g"), List.of("g", "G"))) {
      List<Row> defects =
          MatrixBlocks.validate(with(matrix(), names.get(0), names.get(1))).collectAsList();
      assertEquals(1, defects.size(), defects::toString);
      assertEquals("doubledColumn", defects.get(0).getString(0));
      assertTrue(
          defects.get(0).getString(2).contains(names.get(0) + " INT, " + names.get(1) + " STRING"),
          defects::toString);
    }
  }

  /** If Spark distinguishes names by case, so do we. */
  @Test
  void columnsThatDifferInCaseTellArraysApartWhereSparkSaysSo() {
    with(
        Map.of("spark.sql.caseSensitive", "true"),
        () -> {
          Dataset<Row> two =
              with(matrix(), "g", "G")
                  .union(with(matrix(), "g", "G").withColumn("G", lit("three")))
                  .cache();
          MATRIX.forEach(
              (name, operator) ->
                  assertEquals(
                      name.endsWith("reblock") ? 16 : 8,
                      operator.apply(two).distinct().collectAsList().size(),
                      name));
          Dataset<Row> volumes =
              with(volume(), "g", "G").union(with(volume(), "g", "G").withColumn("g", lit(3)));
          VOLUME.forEach(
              (name, operator) ->
                  assertEquals(
                      2,
                      operator.apply(volumes).select("g", "G").distinct().collectAsList().size(),
                      name));
          assertThrows(
              IllegalArgumentException.class,
              () -> MatrixBlocks.add(with(matrix(), "g", "G"), with(matrix(), "g", "H")));
          two.unpersist(true);
        });
  }
}

package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.tilespark.spark.linalg.Matrices.blocks;
import static org.tilespark.spark.linalg.Matrices.dense;
import static org.tilespark.spark.linalg.Matrices.less;
import static org.tilespark.spark.linalg.Matrices.norm;
import static org.tilespark.spark.linalg.Matrices.product;
import static org.tilespark.spark.linalg.Matrices.random;
import static org.tilespark.spark.linalg.Matrices.strips;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.testing.SparkTest;

/**
 * An application that has kept triangles of a matrix's strips on two executors when one of them
 * dies: what it computes afterwards is right. Its argument is a directory that all processes share.
 */
public final class KeptClusterJob {
  private static final int PARTITIONS = 8;

  private KeptClusterJob() {}

  /** Throws where something is wrong. */
  public static void main(String[] arguments) {
    SparkSession spark = SparkSession.builder().getOrCreate();
    try {
      executorDies(spark, Path.of(arguments[0]).resolve("died"));
    } finally {
      spark.stop();
    }
  }

  private static void executorDies(SparkSession spark, Path died) {
    double[][] a = random(120, 3);
    Dataset<Row> given =
        blocks(spark, a, ElementType.FLOAT64, strips(120, 3, 15)).repartition(PARTITIONS);
    LogicalPlan qr =
        new FactorPlans(
                SparkTest.plan(given).analyzed(),
                new StripSizes(1, 1, 1 << 20),
                plan -> frame(spark, plan),
                "test")
            .qr();
    double[][] r = factor(spark, qr, "r", 3);
    String path = died.toString();
    new JavaSparkContext(spark.sparkContext())
        .parallelize(Collections.nCopies(PARTITIONS, path), PARTITIONS)
        .foreach(KeptClusterJob::dieOnce);
    assertTrue(Files.exists(died));
    double[][] q = factor(spark, qr, "q", 120);
    assertEquals(0, norm(less(a, product(q, r))), 1e-12);
  }

  private static double[][] factor(SparkSession spark, LogicalPlan table, String name, int rows) {
    return dense(frame(spark, FactorTable.factor(table, name, "test")), rows, 3);
  }

  private static Dataset<Row> frame(SparkSession spark, LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) spark, plan);
  }

  private static void dieOnce(String path) {
    try {
      Files.createFile(Path.of(path));
    } catch (FileAlreadyExistsException e) {
      return;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Runtime.getRuntime().halt(1);
  }
}

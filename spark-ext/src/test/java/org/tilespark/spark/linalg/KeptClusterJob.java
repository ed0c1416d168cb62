package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.tilespark.spark.linalg.Matrices.blocks;
import static org.tilespark.spark.linalg.Matrices.column;
import static org.tilespark.spark.linalg.Matrices.dense;
import static org.tilespark.spark.linalg.Matrices.identity;
import static org.tilespark.spark.linalg.Matrices.less;
import static org.tilespark.spark.linalg.Matrices.norm;
import static org.tilespark.spark.linalg.Matrices.product;
import static org.tilespark.spark.linalg.Matrices.random;
import static org.tilespark.spark.linalg.Matrices.scaled;
import static org.tilespark.spark.linalg.Matrices.strips;
import static org.tilespark.spark.linalg.Matrices.transposed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.testing.SparkTest;

/**
 * An application that factorizes tall matrices on two executors, one of which dies while it reads
 * the matrix; what it had kept is lost. The results are right. The argument is a directory that all
 * processes share.
 */
public final class KeptClusterJob {
  private static final int PARTITIONS = 4;
  private static final int ROWS = 120;
  private static final int COLS = 3;
  private static final double ERROR = 1e-11;
  private static final StripSizes SMALL = new StripSizes(1, 1, 1 << 20, 1 << 20);

  private final SparkSession spark;
  private final Path directory;

  private KeptClusterJob(SparkSession spark, Path directory) {
    this.spark = spark;
    this.directory = directory;
  }

  /** Throws where something is wrong. */
  public static void main(String[] arguments) throws IOException {
    SparkSession spark = SparkSession.builder().getOrCreate();
    try {
      KeptClusterJob job = new KeptClusterJob(spark, Path.of(arguments[0]));
      job.qr();
      job.svd();
      job.leastSquares();
      job.principalComponents();
    } finally {
      spark.stop();
    }
  }

  /** R is known and kept, and an executor dies while Q is made. */
  private void qr() throws IOException {
    double[][] a = random(ROWS, COLS);
    LogicalPlan qr = new FactorPlans(mortal("qr", a), SMALL, this::frame, "test").qr();
    double[][] r = factor(qr, "r", COLS, COLS);
    arm("qr");
    double[][] q = factor(qr, "q", ROWS, COLS);
    assertDied("qr");
    assertEquals(0, norm(less(a, product(q, r))), ERROR);
    assertEquals(0, norm(less(product(transposed(q), q), identity(COLS))), ERROR);
  }

  /** Singular values are known, and an executor dies while a product of the matrix is made. */
  private void svd() throws IOException {
    double[][] a = product(random(ROWS, COLS), random(COLS, 40));
    LogicalPlan svd =
        new RandomizedSvd(
                BlockFrame.of(mortal("svd", a), BlockKind.MATRIX, "test"),
                new RangeOptions(1, 2, 5),
                StripSizes.of(2),
                this::frame)
            .svd(COLS);
    arm("svd");
    double[] s = column(factor(svd, "s", COLS, 1));
    assertDied("svd");
    double[][] u = factor(svd, "u", ROWS, COLS);
    double[][] vt = factor(svd, "vt", COLS, 40);
    assertEquals(0, norm(less(a, product(scaled(u, s), vt))), ERROR * s[0]);
    assertEquals(0, norm(less(product(transposed(u), u), identity(COLS))), ERROR);
  }

  private void leastSquares() throws IOException {
    double[][] a = random(ROWS, COLS);
    double[][] b = random(ROWS, 2);
    Dataset<Row> right = blocks(spark, b, ElementType.FLOAT64, strips(ROWS, 2, 50));
    LogicalPlan lstsq =
        new FactorPlans(mortal("lstsq", a), SMALL, this::frame, "test")
            .lstsq(SparkTest.plan(right).analyzed(), Optional.empty());
    arm("lstsq");
    double[][] x = factor(lstsq, "x", COLS, 2);
    assertDied("lstsq");
    double[][] left = less(b, product(a, x));
    assertEquals(0, norm(product(transposed(a), left)), ERROR);
  }

  /** Components are known and kept, and an executor dies while scores are made. */
  private void principalComponents() throws IOException {
    double[][] a = random(ROWS, COLS);
    LogicalPlan pca =
        PrincipalPlans.components(
            mortal("pca", a),
            new PrincipalPlans.Request(2, false, false, 2),
            SMALL,
            this::frame,
            "test");
    double[][] components = factor(pca, "components", 2, COLS);
    double[][] mean = factor(pca, "mean", 1, COLS);
    arm("pca");
    double[][] scores = factor(pca, "scores", ROWS, 2);
    assertDied("pca");
    double[][] centered = new double[ROWS][];
    for (int i = 0; i < ROWS; i++) {
      centered[i] = less(new double[][] {a[i]}, mean)[0];
    }
    assertEquals(0, norm(less(scores, product(centered, transposed(components)))), ERROR);
    double[][] squares = product(transposed(scores), scores);
    assertEquals(0, squares[0][1], ERROR * squares[0][0]);
  }

  /** Blocks of a matrix, one of which kills the executor that reads it first after {@link #arm}. */
  private LogicalPlan mortal(String kind, double[][] a) {
    String armed = directory.resolve("armed-" + kind).toString();
    UserDefinedFunction lives =
        functions.udf(
            (UDF1<Long, Boolean>) row -> row < ROWS / 2 || lives(Path.of(armed)),
            DataTypes.BooleanType);
    Dataset<Row> blocks =
        blocks(spark, a, ElementType.FLOAT64, strips(ROWS, a[0].length, 15))
            .repartition(PARTITIONS)
            .where(lives.asNondeterministic().apply(new Column("row")));
    return SparkTest.plan(blocks).analyzed();
  }

  private void arm(String kind) throws IOException {
    Files.createFile(directory.resolve("armed-" + kind));
  }

  private void assertDied(String kind) {
    assertFalse(Files.exists(directory.resolve("armed-" + kind)), kind);
  }

  /** True, but for the one executor that finds and removes the file. */
  private static boolean lives(Path armed) throws IOException {
    if (Files.deleteIfExists(armed)) {
      Runtime.getRuntime().halt(1);
    }
    return true;
  }

  private double[][] factor(LogicalPlan table, String name, int rows, int cols) {
    return dense(frame(FactorTable.factor(table, name, "test")), rows, cols);
  }

  private Dataset<Row> frame(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) spark, plan);
  }
}

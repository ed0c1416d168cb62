package org.tilespark.bench.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;

/**
 * A matrix whose elements are computed from a seed and their positions, so that it needs no
 * storage. Tasks generate blocks when they read them, always with the same values, and a check can
 * recompute any element.
 *
 * @param rows rows of the whole matrix
 * @param cols columns of the whole matrix
 * @param blockRows rows of a block that does not end at the edge
 * @param blockCols columns of a block that does not end at the edge
 * @param type FLOAT32 or FLOAT64
 * @param content kind of elements
 * @param seed seed of this matrix; other seeds give other elements
 */
public record GeneratedMatrix(
    long rows,
    long cols,
    int blockRows,
    int blockCols,
    ElementType type,
    Content content,
    long seed)
    implements Serializable {

  /** Kinds of elements. FLOAT represents all of them exactly. */
  public enum Content {
    /** Uniform in [-1, 1): sums of products stay small, as with signed measurements. */
    FRACTIONS,
    /** Uniform in [0, 1). */
    POSITIVE,
    /**
     * Integers from -4 to 3: sums of their products are exact below 2^24, so that any order of
     * summation gives the same bits.
     */
    WHOLE
  }

  /** Checks sizes and type. */
  public GeneratedMatrix {
    if (rows < 1 || cols < 1 || blockRows < 1 || blockCols < 1) {
      throw new IllegalArgumentException(
          "A matrix of "
              + rows
              + " x "
              + cols
              + " in blocks of "
              + blockRows
              + " x "
              + blockCols
              + "; expected 1 or more of each");
    }
    if (type != ElementType.FLOAT32 && type != ElementType.FLOAT64) {
      throw new IllegalArgumentException("Elements of " + type + "; expected FLOAT32 or FLOAT64");
    }
    Math.multiplyExact(blockRows, blockCols);
  }

  /** The number of blocks. */
  public long blocks() {
    return Math.multiplyExact(-Math.floorDiv(-rows, (long) blockRows), blocksAcross());
  }

  /** Bytes of all values. */
  public long bytes() {
    return Math.multiplyExact(Math.multiplyExact(rows, cols), (long) type.bytes());
  }

  /** The element in row {@code i} and column {@code j}. */
  public double value(long i, long j) {
    return element(rowKey(seed, i), j, content);
  }

  /**
   * Returns the blocks as a DataFrame, in row-major order, evenly spread over the partitions. The
   * column metadata states the extents.
   */
  public Dataset<Row> read(SparkSession spark, int partitions) {
    String across = "(id % " + blocksAcross() + "L)";
    String down = "(id div " + blocksAcross() + "L)";
    Dataset<Row> places =
        spark
            .range(0, blocks(), 1, partitions)
            .selectExpr(
                down + " * " + blockRows + "L AS row", across + " * " + blockCols + "L AS col")
            .selectExpr(
                "row",
                "col",
                "CAST(least(" + blockRows + "L, " + rows + "L - row) AS INT) AS rows",
                "CAST(least(" + blockCols + "L, " + cols + "L - col) AS INT) AS cols");
    var classic = (org.apache.spark.sql.classic.Dataset<Row>) places;
    LogicalPlan plan = classic.logicalPlan();
    List<Attribute> columns = ScalaInterop.list(plan.output());
    Expression values =
        new GeneratedValues(type, content, seed, ScalaInterop.<Expression>seq(columns));
    List<NamedExpression> list = new ArrayList<>(columns);
    list.add(
        new Alias(
            values,
            "values",
            NamedExpression$.MODULE$.newExprId(),
            ScalaInterop.emptySeq(),
            Option.apply(
                ArrayMetadata.empty()
                    .withExtents(Shape.of(rows, cols))
                    .withBlockShape(Shape.of(blockRows, blockCols))
                    .toMetadata()),
            ScalaInterop.emptySeq()));
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        classic.sparkSession(), new Project(ScalaInterop.seq(list), plan));
  }

  private long blocksAcross() {
    return -Math.floorDiv(-cols, (long) blockCols);
  }

  /** The key of all elements of row {@code i}. */
  static long rowKey(long seed, long i) {
    return mix(seed + i * 0x9E3779B97F4A7C15L);
  }

  /** The element in column {@code j} of the row with a key. */
  static double element(long rowKey, long j, Content content) {
    long bits = mix(rowKey + j * 0xD1342543DE82EF95L);
    return switch (content) {
      case FRACTIONS -> (bits >> 40) * 0x1p-23;
      case POSITIVE -> (bits >>> 40) * 0x1p-24;
      case WHOLE -> bits >> 61;
    };
  }

  /** The finalizer of SplitMix64 (Steele, Lea and Flood 2014), a bijection that mixes all bits. */
  private static long mix(long z) {
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}

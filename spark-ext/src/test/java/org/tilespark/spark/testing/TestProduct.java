package org.tilespark.spark.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.options.MultiplyOptions;

/**
 * A dense matrix of numbers that a test knows, cut into blocks at given places; and the product of
 * two, computed with sums that carry their rounding errors along.
 *
 * @param values rows x cols, row-major; numbers that the type can hold
 */
public record TestProduct(ElementType type, int rows, int cols, double[] values) {
  /** Numbers of both signs around 1. */
  public static TestProduct random(ElementType type, int rows, int cols, long seed) {
    Random random = new Random(seed);
    double[] values = new double[rows * cols];
    for (int i = 0; i < values.length; i++) {
      double value = random.nextGaussian();
      values[i] = type == ElementType.FLOAT32 ? (float) value : value;
    }
    return new TestProduct(type, rows, cols, values);
  }

  public static TestProduct identity(ElementType type, int extent) {
    TestProduct identity = new TestProduct(type, extent, extent, new double[extent * extent]);
    for (int i = 0; i < extent; i++) {
      identity = identity.with(i, i, 1);
    }
    return identity;
  }

  /** Options that ask for cuboids. */
  public static MultiplyOptions cuboid(int p, int q, int r) {
    return MultiplyOptions.defaults().withStrategy(new MultiplyOptions.Strategy.Cuboid(p, q, r));
  }

  public double at(int row, int col) {
    return values[row * cols + col];
  }

  public TestProduct with(int row, int col, double value) {
    double[] changed = values.clone();
    changed[row * cols + col] = value;
    return new TestProduct(type, rows, cols, changed);
  }

  public TestProduct transposed() {
    double[] turned = new double[values.length];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        turned[j * rows + i] = at(i, j);
      }
    }
    return new TestProduct(type, cols, rows, turned);
  }

  /** In blocks of one shape, by a re-block. */
  public Dataset<Row> onGrid(SparkSession spark, int blockRows, int blockCols) {
    return MatrixBlocks.reblock(
        MatrixBlocks.withExtents(frame(spark, blockRows, blockCols), rows, cols),
        blockRows,
        blockCols);
  }

  /** The numbers that a multiply of lower precision takes for these. */
  public TestProduct rounded(Precision precision) {
    double[] rounded = new double[values.length];
    for (int i = 0; i < values.length; i++) {
      rounded[i] = precision.round((float) values[i]);
    }
    return new TestProduct(type, rows, cols, rounded);
  }

  /** Zeros in a rectangle. */
  public TestProduct without(int row, int col, int height, int width) {
    TestProduct changed = this;
    for (int i = row; i < row + height; i++) {
      for (int j = col; j < col + width; j++) {
        changed = changed.with(i, j, 0);
      }
    }
    return changed;
  }

  static StructType schema(ElementType type) {
    return new StructType()
        .add("row", DataTypes.LongType)
        .add("col", DataTypes.LongType)
        .add("rows", DataTypes.IntegerType)
        .add("cols", DataTypes.IntegerType)
        .add("values", DataTypes.createArrayType(BlockSchema.sparkType(type)));
  }

  /** Rows of blocks of one size, the last ones smaller. */
  public List<Row> blocks(int blockRows, int blockCols) {
    List<Row> blocks = new ArrayList<>();
    for (int r = 0; r < rows; r += blockRows) {
      for (int c = 0; c < cols; c += blockCols) {
        blocks.add(block(r, c, Math.min(blockRows, rows - r), Math.min(blockCols, cols - c)));
      }
    }
    return blocks;
  }

  /** Rows of blocks of all sizes: cut in two along one axis and then the other until small. */
  public List<Row> raggedBlocks(int most, long seed) {
    List<Row> blocks = new ArrayList<>();
    split(0, 0, rows, cols, most, new Random(seed), blocks);
    return blocks;
  }

  private void split(int r, int c, int h, int w, int most, Random random, List<Row> blocks) {
    if (h <= most && w <= most) {
      blocks.add(block(r, c, h, w));
    } else if (h >= w) {
      int cut = 1 + random.nextInt(h - 1);
      split(r, c, cut, w, most, random, blocks);
      split(r + cut, c, h - cut, w, most, random, blocks);
    } else {
      int cut = 1 + random.nextInt(w - 1);
      split(r, c, h, cut, most, random, blocks);
      split(r, c + cut, h, w - cut, most, random, blocks);
    }
  }

  private Row block(int r, int c, int h, int w) {
    List<Object> cells = new ArrayList<>();
    for (int i = r; i < r + h; i++) {
      for (int j = c; j < c + w; j++) {
        cells.add(type == ElementType.FLOAT32 ? (Object) (float) at(i, j) : (Object) at(i, j));
      }
    }
    return RowFactory.create((long) r, (long) c, h, w, cells);
  }

  public Dataset<Row> frame(SparkSession spark, List<Row> blocks, int partitions) {
    return SpreadRows.of(spark, blocks, schema(type), partitions);
  }

  public Dataset<Row> frame(SparkSession spark, int blockRows, int blockCols) {
    return frame(spark, blocks(blockRows, blockCols), 3);
  }

  /** The frame with extents and block shape stated, as sources do. */
  public Dataset<Row> stated(Dataset<Row> frame, int blockRows, int blockCols) {
    return frame.withMetadata(
        "values",
        ArrayMetadata.empty()
            .withExtents(Shape.of(rows, cols))
            .withBlockShape(Shape.of(blockRows, blockCols))
            .toMetadata());
  }

  /** Puts the blocks of a result together; fails where they overlap or leave holes. */
  public static TestProduct collect(List<Row> blocks, ElementType type, int rows, int cols) {
    double[] values = new double[rows * cols];
    boolean[] seen = new boolean[rows * cols];
    for (Row block : blocks) {
      long r = block.<Long>getAs("row");
      long c = block.<Long>getAs("col");
      int h = block.<Integer>getAs("rows");
      int w = block.<Integer>getAs("cols");
      List<? extends Number> cells = block.getList(block.fieldIndex("values"));
      assertEquals(h * w, cells.size());
      for (int i = 0; i < h; i++) {
        for (int j = 0; j < w; j++) {
          int at = Math.toIntExact((r + i) * cols + c + j);
          assertTrue(!seen[at], () -> "element twice at " + at);
          seen[at] = true;
          values[at] = cells.get(i * w + j).doubleValue();
        }
      }
    }
    for (int i = 0; i < seen.length; i++) {
      assertTrue(seen[i], "no element at row " + i / Math.max(1, cols) + " of " + rows);
    }
    return new TestProduct(type, rows, cols, values);
  }

  /** Asserts that {@code df} holds {@code a b} as exactly as the project promises. */
  public static void assertProduct(TestProduct a, TestProduct b, Dataset<Row> df) {
    TestProduct c = collect(df.collectAsList(), a.type, a.rows, b.cols);
    double u = a.type == ElementType.FLOAT32 ? 0x1p-24 : 0x1p-53;
    double bar = 2 * u * Math.sqrt(a.cols);
    for (int i = 0; i < a.rows; i++) {
      for (int j = 0; j < b.cols; j++) {
        double sum = 0;
        double lost = 0;
        double magnitude = 0;
        for (int k = 0; k < a.cols; k++) {
          double x = a.at(i, k);
          double y = b.at(k, j);
          double product = x * y;
          double next = sum + product;
          double part = next - sum;
          lost += (sum - (next - part)) + (product - part) + Math.fma(x, y, -product);
          sum = next;
          magnitude += Math.abs(product);
        }
        double expected = Double.isFinite(sum) ? sum + lost : sum;
        double found = c.at(i, j);
        if (Double.isFinite(expected)) {
          assertTrue(
              Math.abs(found - expected) <= bar * magnitude,
              "at " + i + ", " + j + ": " + found + ", expected " + expected);
        } else {
          assertEquals(expected, found, "at " + i + ", " + j);
        }
      }
    }
  }

  /** The blocks of a result by place, as bits. */
  public static Map<String, List<?>> bits(Dataset<Row> df) {
    Map<String, List<?>> bits = new TreeMap<>();
    for (Row row : df.collectAsList()) {
      Object before =
          bits.put(
              row.<Long>getAs("row") + "," + row.<Long>getAs("col"),
              row.getList(row.fieldIndex("values")));
      assertTrue(before == null, "a block twice");
    }
    assertNotNull(bits);
    return bits;
  }
}

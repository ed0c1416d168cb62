package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.testing.SpreadRows;

/**
 * A matrix of DOUBLE, and the blocks it is cut into: at given rows and columns, or anywhere.
 *
 * @param values rows of the matrix
 * @param boxes row, col, rows, cols of each block
 */
record TestMatrix(double[][] values, List<int[]> boxes) {
  /** Cut at every {@code blockRows}-th row and {@code blockCols}-th column. */
  static TestMatrix cut(double[][] values, int blockRows, int blockCols) {
    List<int[]> boxes = new ArrayList<>();
    for (int row = 0; row < values.length; row += blockRows) {
      for (int col = 0; col < values[0].length; col += blockCols) {
        boxes.add(
            new int[] {
              row,
              col,
              Math.min(blockRows, values.length - row),
              Math.min(blockCols, values[0].length - col)
            });
      }
    }
    return new TestMatrix(values, boxes);
  }

  /** Rows that are each cut at other columns, of at most {@code blockCols}. */
  static TestMatrix cutAnywhere(double[][] values, int blockRows, int blockCols, Random random) {
    List<int[]> boxes = new ArrayList<>();
    for (int row = 0; row < values.length; row += blockRows) {
      int rows = Math.min(blockRows, values.length - row);
      for (int col = 0; col < values[0].length; ) {
        int cols = Math.min(1 + random.nextInt(blockCols), values[0].length - col);
        boxes.add(new int[] {row, col, rows, cols});
        col += cols;
      }
    }
    return new TestMatrix(values, boxes);
  }

  /** The values of {@link #random}, rounded to float. */
  static double[][] randomFloats(int rows, int cols, double offset, Random random) {
    double[][] values = random(rows, cols, offset, random);
    for (double[] row : values) {
      for (int i = 0; i < cols; i++) {
        row[i] = (float) row[i];
      }
    }
    return values;
  }

  /** Normally distributed numbers about {@code offset}. */
  static double[][] random(int rows, int cols, double offset, Random random) {
    double[][] values = new double[rows][cols];
    for (double[] row : values) {
      for (int i = 0; i < cols; i++) {
        row[i] = offset + random.nextGaussian();
      }
    }
    return values;
  }

  static StructType schema(DataType type) {
    return new StructType()
        .add("row", DataTypes.LongType)
        .add("col", DataTypes.LongType)
        .add("rows", DataTypes.IntegerType)
        .add("cols", DataTypes.IntegerType)
        .add("values", DataTypes.createArrayType(type));
  }

  Dataset<Row> toDataFrame(SparkSession spark, DataType type, int partitions) {
    return SpreadRows.of(spark, rows(type), schema(type), partitions);
  }

  /** The blocks with a further column, which has the same value in all. */
  Dataset<Row> toDataFrame(SparkSession spark, DataType type, int partitions, String sample) {
    return toDataFrame(spark, type, partitions)
        .withColumn("sample", org.apache.spark.sql.functions.lit(sample).cast("string"));
  }

  List<Row> rows(DataType type) {
    List<Row> rows = new ArrayList<>();
    for (int[] box : boxes) {
      List<Object> block = new ArrayList<>();
      for (int i = 0; i < box[2]; i++) {
        for (int j = 0; j < box[3]; j++) {
          double value = values[box[0] + i][box[1] + j];
          block.add(type.equals(DataTypes.FloatType) ? (Object) (float) value : (Object) value);
        }
      }
      rows.add(RowFactory.create((long) box[0], (long) box[1], box[2], box[3], block));
    }
    return rows;
  }

  /** The whole matrix that blocks hold; each element in exactly one of them. */
  static double[][] collect(Dataset<Row> df, int rows, int cols) {
    double[][] whole = new double[rows][cols];
    boolean[][] filled = new boolean[rows][cols];
    int count = 0;
    for (Row block : df.select("row", "col", "rows", "cols", "values").collectAsList()) {
      List<? extends Number> values = block.getList(4);
      assertEquals(block.getInt(2) * block.getInt(3), values.size());
      for (int i = 0; i < values.size(); i++) {
        int row = (int) block.getLong(0) + i / block.getInt(3);
        int col = (int) block.getLong(1) + i % block.getInt(3);
        assertFalse(filled[row][col], () -> "twice: " + row + ", " + col);
        filled[row][col] = true;
        whole[row][col] = values.get(i).doubleValue();
        count++;
      }
    }
    assertEquals(rows * cols, count, "elements");
    return whole;
  }
}

package org.tilespark.spark.linalg;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.DenseArray;

/** Plain definitions on arrays of rows, and blocks of them. */
final class Matrices {
  private Matrices() {}

  static Dataset<Row> blocks(SparkSession spark, double[][] a, ElementType type, List<Box> tiling) {
    List<Row> rows = new ArrayList<>();
    for (Box box : tiling) {
      Number[] values = new Number[(int) (box.size(0) * box.size(1))];
      for (int i = 0; i < values.length; i++) {
        int col = (int) (box.offset()[1] + i % box.size(1));
        double value = a[(int) (box.offset()[0] + i / box.size(1))][col];
        values[i] = type == ElementType.FLOAT32 ? (Number) (float) value : (Number) value;
      }
      rows.add(
          RowFactory.create(
              box.offset()[0], box.offset()[1], (int) box.size(0), (int) box.size(1), values));
    }
    StructType schema =
        new StructType()
            .add("row", DataTypes.LongType)
            .add("col", DataTypes.LongType)
            .add("rows", DataTypes.IntegerType)
            .add("cols", DataTypes.IntegerType)
            .add(
                "values",
                DataTypes.createArrayType(
                    type == ElementType.FLOAT32 ? DataTypes.FloatType : DataTypes.DoubleType));
    return MatrixBlocks.withExtents(spark.createDataFrame(rows, schema), a.length, a[0].length);
  }

  static double[][] dense(Dataset<Row> df, int rows, int cols) {
    Object[] values = DenseArray.of(df, rows, cols).values();
    double[][] dense = new double[rows][cols];
    for (int i = 0; i < values.length; i++) {
      dense[i / cols][i % cols] = ((Number) values[i]).doubleValue();
    }
    return dense;
  }

  static List<Box> strips(int rows, int cols, int height) {
    List<Box> boxes = new ArrayList<>();
    for (int row = 0; row < rows; row += height) {
      boxes.add(Box.between(new long[] {row, 0}, new long[] {Math.min(rows, row + height), cols}));
    }
    return boxes;
  }

  static double[][] random(int rows, int cols) {
    Random random = new Random(rows * 31L + cols);
    double[][] a = new double[rows][cols];
    for (double[] row : a) {
      Arrays.setAll(row, i -> random.nextGaussian());
    }
    return a;
  }

  /** The rounded elements where the type is FLOAT. */
  static double[][] as(ElementType type, double[][] a) {
    if (type == ElementType.FLOAT64) {
      return a;
    }
    double[][] rounded = new double[a.length][];
    for (int i = 0; i < a.length; i++) {
      rounded[i] = Arrays.stream(a[i]).map(each -> (float) each).toArray();
    }
    return rounded;
  }

  static double[][] product(double[][] a, double[][] b) {
    double[][] c = new double[a.length][b[0].length];
    for (int i = 0; i < a.length; i++) {
      for (int k = 0; k < b.length; k++) {
        for (int j = 0; j < b[0].length; j++) {
          c[i][j] += a[i][k] * b[k][j];
        }
      }
    }
    return c;
  }

  static double[][] transposed(double[][] a) {
    double[][] t = new double[a[0].length][a.length];
    for (int i = 0; i < a.length; i++) {
      for (int j = 0; j < t.length; j++) {
        t[j][i] = a[i][j];
      }
    }
    return t;
  }

  /** The columns, each times a number. */
  static double[][] scaled(double[][] a, double[] columns) {
    double[][] c = new double[a.length][];
    for (int i = 0; i < a.length; i++) {
      double[] row = a[i];
      c[i] = new double[row.length];
      Arrays.setAll(c[i], j -> row[j] * columns[j]);
    }
    return c;
  }

  static double norm(double[][] a) {
    double largest = 0;
    for (double[] row : a) {
      for (double each : row) {
        largest = Double.isNaN(each) ? each : Math.max(largest, Math.abs(each));
      }
    }
    return largest;
  }

  static double[][] less(double[][] a, double[][] b) {
    double[][] d = new double[a.length][a[0].length];
    for (int i = 0; i < d.length; i++) {
      for (int j = 0; j < d[0].length; j++) {
        d[i][j] = a[i][j] - b[i][j];
      }
    }
    return d;
  }

  static double[][] identity(int n) {
    double[][] one = new double[n][n];
    for (int i = 0; i < n; i++) {
      one[i][i] = 1;
    }
    return one;
  }

  static double[] column(double[][] a) {
    return Arrays.stream(a).mapToDouble(row -> row[0]).toArray();
  }
}

package quickstart;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.MatrixBlocks;

/** Makes a matrix of two blocks, transposes it, and checks an element. */
public final class Quickstart {
  private Quickstart() {}

  public static void main(String[] args) {
    SparkSession spark = SparkSession.builder().appName("quickstart").getOrCreate();
    Dataset<Row> matrix =
        spark.sql(
            """
            SELECT 0L AS row, 3L * id AS col, 2 AS rows, 3 AS cols,
                   transform(sequence(0, 5), i -> CAST(10 * id + i AS DOUBLE)) AS values
            FROM range(2)
            """);
    Dataset<Row> transposed = MatrixBlocks.transpose(matrix);
    transposed.show(false);
    Row second = transposed.where("row = 3").first();
    if (second.<Double>getList(second.fieldIndex("values")).get(1) != 13.0) {
      throw new IllegalStateException("a wrong transpose: " + second);
    }
    System.out.println("quickstart: right");
    spark.stop();
  }
}

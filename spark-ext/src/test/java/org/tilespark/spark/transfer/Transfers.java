package org.tilespark.spark.transfer;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.block.BlockKind;

/** Packing and unpacking for tests: the SQL functions as calls. */
public final class Transfers {
  private Transfers() {}

  /**
   * Packs blocks.
   *
   * @param arguments further ones, in SQL
   */
  public static Dataset<Row> pack(BlockKind kind, Dataset<Row> blocks, String... arguments) {
    return call(kind.label() + "_pack", blocks, arguments);
  }

  /**
   * Makes blocks of packed ones.
   *
   * @param arguments further ones, in SQL
   */
  public static Dataset<Row> unpack(BlockKind kind, Dataset<Row> packed, String... arguments) {
    return call(kind.label() + "_unpack", packed, arguments);
  }

  private static Dataset<Row> call(String function, Dataset<Row> df, String... arguments) {
    String view = function + "_input";
    df.createOrReplaceTempView(view);
    StringBuilder text = new StringBuilder("SELECT * FROM " + function + "(TABLE(" + view + ")");
    for (String argument : arguments) {
      text.append(", ").append(argument);
    }
    return df.sparkSession().sql(text.append(")").toString());
  }
}

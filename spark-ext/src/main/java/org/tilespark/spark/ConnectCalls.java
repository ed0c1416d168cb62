package org.tilespark.spark;

import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;
import org.tilespark.spark.error.UnsupportedRequestException;

/**
 * The operators on DataFrames of a Spark Connect session. Its plans are made by the server, so they
 * are calls of the SQL functions there, over temporary views of the DataFrames. A view holds no
 * data; it stays until the session ends, as the result is planned anew at each use.
 *
 * <p>A client has Spark's API but not its classes for plans. So whoever calls from a public method
 * does so before anything that needs those.
 */
final class ConnectCalls {
  private static final String CONNECT = "org.apache.spark.sql.connect.";

  private ConnectCalls() {}

  /** True if a DataFrame belongs to a Spark Connect session. */
  static boolean isFor(Dataset<Row> df) {
    return df.getClass().getName().startsWith(CONNECT);
  }

  /**
   * The result of a SQL function.
   *
   * @param tables DataFrames by parameter; all of one session
   * @param arguments SQL literals by parameter, see {@link #text}
   * @throws IllegalArgumentException if the DataFrames belong to different sessions
   */
  static Dataset<Row> call(
      String function, Map<String, Dataset<Row>> tables, Map<String, String> arguments) {
    Dataset<Row> first = tables.values().iterator().next();
    StringJoiner list = new StringJoiner(", ");
    tables.forEach(
        (parameter, df) -> {
          if (df.sparkSession() != first.sparkSession()) {
            throw new InvalidInputException(
                ErrorCondition.INVALID_ARGUMENT,
                "The two DataFrames belong to different Spark sessions; expected one");
          }
          String view = "tilespark_" + UUID.randomUUID().toString().replace('-', '_');
          df.createOrReplaceTempView(view);
          list.add(parameter + " => TABLE(" + view + ")");
        });
    arguments.forEach((parameter, literal) -> list.add(parameter + " => " + literal));
    return first.sparkSession().sql("SELECT * FROM " + function + "(" + list + ")");
  }

  /** A text as a SQL literal. */
  static String text(String text) {
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  /** The options that were set, as SQL literals by parameter. */
  static Map<String, String> texts(FftOptions options) {
    Map<String, String> literals = new TreeMap<>();
    options.toMap().forEach((name, text) -> literals.put(name, text(text)));
    return literals;
  }

  /** The DataFrame with the extents of the whole array stated on its values. */
  static Dataset<Row> withExtents(Dataset<Row> df, BlockKind kind, String extents) {
    for (StructField field : df.schema().fields()) {
      if (field.name().equalsIgnoreCase(BlockKind.VALUES)) {
        ArrayMetadata stated = ArrayMetadata.of(field.metadata()).withoutUnreadable();
        Metadata metadata =
            (extents.equals(ArrayMetadata.UNKNOWN)
                    ? stated.withoutExtents()
                    : stated.withExtents(ArrayMetadata.parseShape("extents", extents, kind.rank())))
                .toMetadata();
        return df.withMetadata(field.name(), metadata);
      }
    }
    throw new InvalidInputException(
        ErrorCondition.INVALID_ARGUMENT,
        "withExtents: the input has no column " + BlockKind.VALUES + "; found " + df.schema());
  }

  /**
   * Refuses what no SQL function does.
   *
   * @throws UnsupportedOperationException if one of the DataFrames belongs to a Connect session
   */
  static void refuse(String operator, List<Dataset<Row>> frames) {
    if (frames.stream().anyMatch(ConnectCalls::isFor)) {
      throw new UnsupportedRequestException(
          operator
              + " has no SQL function, so it cannot be called over Spark Connect; call it in a job"
              + " that runs on the server, or write it in SQL");
    }
  }
}

package org.tilespark.examples;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;

/** The element type, FLOAT or DOUBLE, to which a job converts its input. Stateless. */
final class ReadAs {
  /** {@code --as float|double}. */
  static final Option OPTION = Option.checked("as", ReadAs::check);

  private ReadAs() {}

  /**
   * True for FLOAT: if the option says so or, without it, if FLOAT holds every number of the files'
   * types.
   */
  static boolean isFloat(
      SparkSession spark, JobArguments arguments, BlockKind kind, Path... files) {
    return arguments
        .option(OPTION.name())
        .map(word -> word.equals("float"))
        .orElseGet(() -> Arrays.stream(files).allMatch(file -> holdsFloat(spark, kind, file)));
  }

  private static boolean holdsFloat(SparkSession spark, BlockKind kind, Path file) {
    Dataset<Row> read = spark.read().format("npy").load(JobArguments.uri(file));
    ElementType type = BlockSchema.find(read.schema(), kind, "read").elementType();
    return switch (type) {
      case INT8, INT16, FLOAT32 -> true;
      case INT32, INT64, FLOAT64 -> false;
    };
  }

  private static void check(String text) {
    if (!List.of("float", "double").contains(text)) {
      throw new IllegalArgumentException("expected float or double");
    }
  }
}

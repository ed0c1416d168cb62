package org.tilespark.spark.rows;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Lets Spark's vectorized reader take few blocks of a Parquet file at once. By default it takes up
 * to 4096 rows of a row group, which may hold gigabytes of compressed blocks. Spark 4.0 has no way
 * to set this for one table, so there this rule has no effect.
 */
public final class ParquetBatches extends Rule<LogicalPlan> {
  private static final String BATCH_ROWS = "spark.sql.parquet.columnarReaderBatchSize";

  /** An option that makes the relation different from others; nothing reads it. */
  private static final String OPTION = "tilespark.batchRows";

  /** Most bytes of the values of a batch, unless a single block has more. */
  private static final long BATCH_BYTES = 32L << 20;

  /** Rows of a batch if the size of a block is unknown. */
  private static final int UNKNOWN_ROWS = 4;

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node ->
                node instanceof LogicalRelation relation
                        && relation.relation() instanceof HadoopFsRelation files
                        && files.fileFormat().getClass() == ParquetFileFormat.class
                    ? batchRows(files.dataSchema()).map(rows -> withBatches(relation, files, rows))
                    : Optional.empty()));
  }

  private static LogicalPlan withBatches(
      LogicalRelation relation, HadoopFsRelation files, int batchRows) {
    Object[] arguments = ScalaInterop.list(relation.productIterator().toSeq()).toArray();
    arguments[0] =
        new HadoopFsRelation(
            files.location(),
            files.partitionSchema(),
            files.dataSchema(),
            files.bucketSpec(),
            new Format(batchRows),
            // All Parquet format objects are equal; the option distinguishes this relation.
            files.options().updated(OPTION, Integer.toString(batchRows)),
            files.sparkSession());
    return relation.makeCopy(arguments);
  }

  /** Rows of a batch; empty if the schema has no blocks. */
  private static Optional<Integer> batchRows(StructType schema) {
    List<String> names = List.of(schema.fieldNames());
    return Arrays.stream(BlockKind.values())
        .filter(
            kind ->
                Stream.of(kind.offsetColumns(), kind.sizeColumns(), List.of(BlockKind.VALUES))
                    .allMatch(names::containsAll))
        .findFirst()
        .flatMap(kind -> batchRows(kind, schema.apply(BlockKind.VALUES)));
  }

  private static Optional<Integer> batchRows(BlockKind kind, StructField values) {
    Optional<ElementType> type =
        values.dataType() instanceof ArrayType array
            ? BlockSchema.elementType(array.elementType())
            : Optional.empty();
    return type.map(
        element ->
            ArrayMetadata.of(values.metadata())
                .blockShape(kind.rank())
                .map(shape -> BATCH_BYTES / Math.max(1, shape.elements() * element.bytes()))
                .map(rows -> (int) Math.max(1, rows))
                .orElse(UNKNOWN_ROWS));
  }

  /** Spark's format with batches of fewer rows. */
  private static final class Format extends ParquetFileFormat {
    private static final long serialVersionUID = 1;

    private final int batchRows;

    private Format(int batchRows) {
      this.batchRows = batchRows;
    }

    /** The settings for the reader; Spark calls this from 4.1 on. */
    @Override
    public SQLConf getSqlConf(SparkSession session) {
      SQLConf conf =
          ((org.apache.spark.sql.classic.SparkSession) session).sessionState().conf().clone();
      int rows = Math.min(batchRows, conf.parquetVectorizedReaderBatchSize());
      conf.setConfString(BATCH_ROWS, Integer.toString(rows));
      return conf;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Format format && format.batchRows == batchRows;
    }

    @Override
    public int hashCode() {
      return batchRows;
    }
  }
}

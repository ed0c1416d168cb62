package org.tilespark.spark.cache;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.rows.RowsVector;
import scala.runtime.AbstractFunction1;

/**
 * Rows of Spark's own cache as batches of one row: for blocks that were cached under names other
 * than those under which they are read.
 */
final class RowBatches
    extends AbstractFunction1<
        scala.collection.Iterator<InternalRow>, scala.collection.Iterator<ColumnarBatch>>
    implements Serializable {
  private final StructType schema;

  /** Makes batches of rows of {@code schema}. */
  RowBatches(StructType schema) {
    this.schema = schema;
  }

  @Override
  public scala.collection.Iterator<ColumnarBatch> apply(
      scala.collection.Iterator<InternalRow> rows) {
    return PartitionBoundary.over(
        rows,
        (Iterator<InternalRow> each) ->
            new Iterator<ColumnarBatch>() {
              @Override
              public boolean hasNext() {
                return each.hasNext();
              }

              @Override
              public ColumnarBatch next() {
                return batch(List.of(each.next()));
              }
            });
  }

  /** A batch of one row, valid as long as the row. */
  private ColumnarBatch batch(List<InternalRow> row) {
    ColumnVector[] columns =
        IntStream.range(0, schema.length())
            .mapToObj(i -> RowsVector.of(schema.fields()[i].dataType(), row, i))
            .toArray(ColumnVector[]::new);
    return new ColumnarBatch(columns, 1);
  }
}

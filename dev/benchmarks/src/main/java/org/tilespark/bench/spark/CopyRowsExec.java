package org.tilespark.bench.spark;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.tilespark.spark.catalyst.SameRowsExec;
import org.tilespark.spark.catalyst.ScalaInterop;

/** Executes {@link CopyRows}: one bulk copy of the bytes of each row, including its array. */
public final class CopyRowsExec extends SameRowsExec {
  private static final long serialVersionUID = 1;

  private final boolean reuse;

  /** Creates the physical node; {@link CopyRows} describes {@code reuse}. */
  public CopyRowsExec(boolean reuse, SparkPlan child) {
    super(child);
    this.reuse = reuse;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    StructType schema = child.schema();
    boolean intoOne = reuse;
    return child
        .execute()
        .mapPartitions(
            ScalaInterop.function(
                rows ->
                    ScalaInterop.iterator(
                        new Copies(ScalaInterop.iterator(rows), schema, intoOne))),
            true,
            ScalaInterop.classTag(InternalRow.class));
  }

  /** Copies the rows of a partition one by one, on demand. */
  private static final class Copies implements Iterator<InternalRow> {
    private static final int WORD_BYTES = 8;

    private final Iterator<InternalRow> rows;
    private final UnsafeProjection unsafe; // converts rows that are not UnsafeRows
    private final boolean reuse;
    private final UnsafeRow copy;
    private byte[] bytes = new byte[0];

    private Copies(Iterator<InternalRow> rows, StructType schema, boolean reuse) {
      this.rows = rows;
      this.unsafe = UnsafeProjection.create(schema);
      this.reuse = reuse;
      this.copy = new UnsafeRow(schema.length());
    }

    @Override
    public boolean hasNext() {
      return rows.hasNext();
    }

    @Override
    public InternalRow next() {
      InternalRow next = rows.next();
      UnsafeRow row = next instanceof UnsafeRow is ? is : unsafe.apply(next);
      if (!reuse) {
        return row.copy();
      }
      int size = row.getSizeInBytes();
      if (bytes.length < size) {
        bytes = new byte[Math.multiplyExact((size + WORD_BYTES - 1) / WORD_BYTES, WORD_BYTES)];
      }
      Platform.copyMemory(
          row.getBaseObject(), row.getBaseOffset(), bytes, Platform.BYTE_ARRAY_OFFSET, size);
      copy.pointTo(bytes, size);
      return copy;
    }
  }

  @Override
  public String nodeName() {
    return "CopyRows";
  }

  @Override
  protected List<Object> fields() {
    return List.of(reuse, child);
  }
}

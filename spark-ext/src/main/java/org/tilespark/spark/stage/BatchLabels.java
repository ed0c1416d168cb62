package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.CarriedColumns;

/** Everything of a batch but its values: places and sizes of its blocks, and further columns. */
final class BatchLabels implements StageResults.Labels {
  private static final int FIRST_CAPACITY = 64;

  private final StageSpec spec;
  private final Permutation permutation;
  private final CarriedColumns carried;
  private final OnHeapColumnVector[] offsets; // per output axis
  private final OnHeapColumnVector[] sizes; // per output axis
  private final List<UnsafeRow> further = new ArrayList<>(); // carried columns of each block
  private int[] lengths = new int[FIRST_CAPACITY]; // elements of each block
  private int rows;

  BatchLabels(StageSpec spec, CarriedColumns carried) {
    this.spec = spec;
    this.permutation = StageSpec.permutation(spec.operators());
    this.carried = carried;
    int rank = spec.blocks().kind().rank();
    this.offsets =
        OnHeapColumnVector.allocateColumns(FIRST_CAPACITY, axes(rank, DataTypes.LongType));
    this.sizes =
        OnHeapColumnVector.allocateColumns(FIRST_CAPACITY, axes(rank, DataTypes.IntegerType));
  }

  @Override
  public int rows() {
    return rows;
  }

  @Override
  public Rooms rooms() {
    return Rooms.NONE;
  }

  @Override
  public void add(InternalRow row, BlockCheck block) {
    for (int axis = 0; axis < offsets.length; axis++) {
      int from = permutation.axis(axis);
      offsets[axis].appendLong(block.offset()[from]);
      sizes[axis].appendInt(Math.toIntExact(block.size()[from]));
    }
    further.add(carried.kept(row));
    if (rows == lengths.length) {
      lengths = Arrays.copyOf(lengths, Math.multiplyExact(rows, 2));
    }
    lengths[rows++] = Math.toIntExact(Shape.of(block.size()).elements());
  }

  /**
   * The batch with these values; it owns its columns, this is not used after.
   *
   * @param planes values, and imaginary parts if there are any; borrowed
   */
  ColumnarBatch batch(List<ArrowBuf> planes, BufferAllocator allocator) {
    ColumnVector[] columns = new ColumnVector[spec.columns()];
    for (int axis = 0; axis < offsets.length; axis++) {
      columns[spec.blocks().offsets().get(axis)] = offsets[axis];
      columns[spec.blocks().sizes().get(axis)] = sizes[axis];
    }
    ColumnVector[] carriedColumns = carried.vectors(further);
    for (int i = 0; i < carriedColumns.length; i++) {
      columns[spec.carried().get(i)] = carriedColumns[i];
    }
    try {
      for (int p = 0; p < planes.size(); p++) {
        columns[spec.blocks().planes().get(p)] =
            new ArrowColumnVector(
                BlockVectors.list(
                    BlockKind.VALUES,
                    spec.blocks().elementType(),
                    Arrays.copyOf(lengths, rows),
                    planes.get(p),
                    allocator));
      }
    } catch (Throwable t) {
      Arrays.stream(columns).filter(Objects::nonNull).forEach(ColumnVector::close);
      throw t;
    }
    return new ColumnarBatch(columns, rows);
  }

  /** Frees the columns of a batch that is not handed out. */
  @Override
  public void close() {
    Arrays.stream(offsets).forEach(ColumnVector::close);
    Arrays.stream(sizes).forEach(ColumnVector::close);
  }

  private static StructField[] axes(int rank, DataType type) {
    StructField[] fields = new StructField[rank];
    Arrays.fill(fields, DataTypes.createStructField("axis", type, false));
    return fields;
  }
}

package org.tilespark.spark.plans;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.Shape;
import org.tilespark.spark.ArrayMetadata;
import org.tilespark.spark.BlockKind;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * True for a block that is a whole cell of a tiling. For any other the query fails with a message
 * that names it: the column metadata says that all blocks are, and it is stale.
 */
public final class OnGrid extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1;

  private final BlockKind kind;
  private final Shape blockShape;
  private final Shape extents;
  private final Seq<Expression> places;

  /**
   * The check.
   *
   * @param blockShape of a cell
   * @param extents of the whole array
   * @param places the block's offsets, BIGINT, then its sizes, INT
   */
  public OnGrid(BlockKind kind, Shape blockShape, Shape extents, Seq<Expression> places) {
    this.kind = kind;
    this.blockShape = blockShape;
    this.extents = extents;
    this.places = places;
  }

  @Override
  public Object eval(InternalRow input) {
    int rank = kind.rank();
    long[] offset = new long[rank];
    long[] size = new long[rank];
    boolean good = true;
    for (int axis = 0; axis < rank; axis++) {
      Object from = places.apply(axis).eval(input);
      Object count = places.apply(rank + axis).eval(input);
      if (from == null || count == null) {
        throw new IllegalArgumentException(
            "A "
                + kind.label()
                + " block has a null "
                + (from == null ? kind.offsetColumns() : kind.sizeColumns()).get(axis)
                + "; expected the place and the sizes of its elements (in "
                + prettyName()
                + ")");
      }
      offset[axis] = (Long) from;
      size[axis] = (Integer) count;
      long left = extents.extent(axis) - offset[axis];
      good &=
          offset[axis] >= 0
              && offset[axis] % blockShape.extent(axis) == 0
              && size[axis] == Math.min(blockShape.extent(axis), left);
    }
    if (!good) {
      throw new IllegalArgumentException(
          kind.describe(offset)
              + ": it has the sizes "
              + Arrays.toString(size)
              + "; the column metadata says blocks of "
              + blockShape
              + " ("
              + ArrayMetadata.BLOCK_SHAPE
              + ") of an array of "
              + extents
              + " ("
              + ArrayMetadata.EXTENTS
              + "), so that nothing would have to be cut; if it is stale (after a union, say), drop"
              + " it with withoutExtents(df) or the option extents='unknown' (in "
              + prettyName()
              + ")");
    }
    return true;
  }

  /** Of several inherited forms: the one that calls {@link #eval}. */
  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  @Override
  public Seq<Expression> children() {
    return places;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new OnGrid(kind, blockShape, extents, newChildren);
  }

  @Override
  public String prettyName() {
    return kind.label() + "_reblock";
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> kind;
      case 1 -> blockShape;
      case 2 -> extents;
      case 3 -> places;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof OnGrid;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof OnGrid that
        && kind.equals(that.kind)
        && blockShape.equals(that.blockShape)
        && extents.equals(that.extents)
        && places.equals(that.places);
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, blockShape, extents, places);
  }
}

package org.tilespark.spark.catalyst;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * An aggregate over blocks that never gives null. Product methods, equality and copies follow from
 * the list of its fields.
 *
 * <p>A subclass is public and has one public constructor, which takes the fields in their order,
 * the children, and the two offsets: Catalyst copies by reflection.
 *
 * @param <B> type of the aggregation buffer
 */
public abstract class BlockAggregate<B> extends TypedImperativeAggregate<B>
    implements Serializable {
  private final Seq<Expression> children;
  private final int mutableAggBufferOffset;
  private final int inputAggBufferOffset;
  private transient List<Expression> list; // the children as a Java list, made at need

  protected BlockAggregate(
      Seq<Expression> children, int mutableAggBufferOffset, int inputAggBufferOffset) {
    this.children = children;
    this.mutableAggBufferOffset = mutableAggBufferOffset;
    this.inputAggBufferOffset = inputAggBufferOffset;
  }

  /** The aggregate's fields other than its children and offsets; none of them is null. */
  protected abstract List<Object> fields();

  /** The aggregate's children, in order. */
  protected final List<Expression> childList() {
    if (list == null) {
      list = ScalaInterop.list(children);
    }
    return list;
  }

  /** The arguments of the subclass's constructor. */
  private List<Object> arguments(Seq<Expression> of, int mutableOffset, int inputOffset) {
    List<Object> all = new ArrayList<>(fields());
    all.addAll(List.of(of, mutableOffset, inputOffset));
    return all;
  }

  private List<Object> arguments() {
    return arguments(children, mutableAggBufferOffset, inputAggBufferOffset);
  }

  private BlockAggregate<?> copy(Seq<Expression> of, int mutableOffset, int inputOffset) {
    return (BlockAggregate<?>) makeCopy(arguments(of, mutableOffset, inputOffset).toArray());
  }

  @Override
  public final Seq<Expression> children() {
    return children;
  }

  @Override
  public final Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return copy(newChildren, mutableAggBufferOffset, inputAggBufferOffset);
  }

  @Override
  public final int mutableAggBufferOffset() {
    return mutableAggBufferOffset;
  }

  @Override
  public final int inputAggBufferOffset() {
    return inputAggBufferOffset;
  }

  @Override
  public final ImperativeAggregate withNewMutableAggBufferOffset(int offset) {
    return copy(children, offset, inputAggBufferOffset);
  }

  @Override
  public final ImperativeAggregate withNewInputAggBufferOffset(int offset) {
    return copy(children, mutableAggBufferOffset, offset);
  }

  @Override
  public final boolean nullable() {
    return false;
  }

  /** The class's name in words: {@code add_blocks} for {@code AddBlocks}. */
  @Override
  public String prettyName() {
    return NodeFields.inWords(getClass());
  }

  @Override
  public final int productArity() {
    return fields().size() + 3;
  }

  @Override
  public final Object productElement(int n) {
    return arguments().get(n);
  }

  @Override
  public final boolean canEqual(Object that) {
    return that != null && that.getClass() == getClass();
  }

  @Override
  public final boolean equals(Object o) {
    return canEqual(o) && arguments().equals(((BlockAggregate<?>) o).arguments());
  }

  @Override
  public final int hashCode() {
    return Objects.hash(getClass().getName(), arguments());
  }
}

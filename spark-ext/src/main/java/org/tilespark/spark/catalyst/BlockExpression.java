package org.tilespark.spark.catalyst;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * An expression that works on a whole block and mostly never gives null. Product methods, equality
 * and copies follow from the list of its fields.
 *
 * <p>A subclass is public and has one public constructor, which takes the fields in their order and
 * the children last: Catalyst copies by reflection. Whole-stage code generation ends at this
 * expression, so that it sees the row of the operator below: a block is found there in place.
 */
public abstract class BlockExpression extends Expression implements CodegenFallback, Serializable {
  private final Seq<Expression> children;
  private transient List<Expression> list; // the children as a Java list, made at need

  protected BlockExpression(Seq<Expression> children) {
    this.children = children;
  }

  /** The expression's fields other than its children; none of them is null. */
  protected abstract List<Object> fields();

  /** The expression's children, in order. */
  protected final List<Expression> childList() {
    if (list == null) {
      list = ScalaInterop.list(children);
    }
    return list;
  }

  @Override
  public final Seq<Expression> children() {
    return children;
  }

  @Override
  public final Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    List<Object> all = new ArrayList<>(fields());
    all.add(newChildren);
    return makeCopy(all.toArray());
  }

  @Override
  public boolean nullable() {
    return false;
  }

  /**
   * True, since evaluating a bad block throws. Spark then does not move a condition on the result
   * below a join that might remove the bad block.
   */
  @Override
  public boolean throwable() {
    return true;
  }

  /** Resolves several inherited implementations to the one that calls {@link #eval}. */
  @Override
  public final ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  /** The class's name in words: {@code add_blocks} for {@code AddBlocks}. */
  @Override
  public String prettyName() {
    return NodeFields.inWords(getClass());
  }

  @Override
  public final int productArity() {
    return fields().size() + 1;
  }

  @Override
  public final Object productElement(int n) {
    Objects.checkIndex(n, productArity());
    return n < fields().size() ? fields().get(n) : children;
  }

  @Override
  public final boolean canEqual(Object that) {
    return that != null && that.getClass() == getClass();
  }

  @Override
  public final boolean equals(Object o) {
    return o instanceof BlockExpression that
        && canEqual(that)
        && fields().equals(that.fields())
        && children.equals(that.children);
  }

  @Override
  public final int hashCode() {
    return Objects.hash(getClass().getName(), fields(), children);
  }
}

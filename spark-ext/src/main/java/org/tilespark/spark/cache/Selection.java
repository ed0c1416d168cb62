package org.tilespark.spark.cache;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * The columns of a cached frame that a query reads, in the query's order.
 *
 * @param cached the frame's columns
 * @param ordinals ordinals of the read columns in the frame
 */
record Selection(StructType cached, int[] ordinals) implements Serializable {
  /** The selection of the columns {@code selected} of {@code cached}, which has them. */
  static Selection of(Seq<Attribute> cached, Seq<Attribute> selected) {
    List<Attribute> columns = ScalaInterop.list(cached);
    int[] ordinals =
        ScalaInterop.<Attribute>list(selected).stream()
            .mapToInt(
                wanted ->
                    IntStream.range(0, columns.size())
                        .filter(i -> columns.get(i).exprId().equals(wanted.exprId()))
                        .findFirst()
                        .orElseThrow(
                            () ->
                                new IllegalArgumentException(
                                    "The cached columns " + columns + " lack " + wanted)))
            .toArray();
    return new Selection(Attributes.schema(columns), ordinals);
  }

  /** Rows of these columns: the cached rows themselves if all columns are read in their order. */
  Iterator<InternalRow> rows(Iterator<InternalRow> whole) {
    boolean isAll =
        ordinals.length == cached.length()
            && IntStream.range(0, ordinals.length).allMatch(i -> ordinals[i] == i);
    if (isAll) {
      return whole;
    }
    List<Expression> references = new ArrayList<>();
    for (int ordinal : ordinals) {
      references.add(new BoundReference(ordinal, cached.fields()[ordinal].dataType(), true));
    }
    UnsafeProjection projection = UnsafeProjection.create(ScalaInterop.<Expression>seq(references));
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return whole.hasNext();
      }

      @Override
      public InternalRow next() {
        return projection.apply(whole.next());
      }
    };
  }
}

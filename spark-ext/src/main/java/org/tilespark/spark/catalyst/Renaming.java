package org.tilespark.spark.catalyst;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import scala.Option;

/** One column's content under another column's name, id and metadata. */
public final class Renaming {
  private Renaming() {}

  public static NamedExpression as(Attribute content, Attribute target) {
    return new Alias(
        content,
        target.name(),
        target.exprId(),
        target.qualifier(),
        Option.apply(target.metadata()),
        ScalaInterop.emptySeq());
  }
}

package org.tilespark.spark.catalyst;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;

/** Projections of the small columns of blocks, which are all but the values. */
public final class RowProjections {
  private RowProjections() {}

  /**
   * A projection that interprets its expressions. Generating code would take 1 to 2 ms in each
   * task; in that time this projects thousands of rows, and there are few rows of blocks.
   *
   * @param expressions expressions bound to the rows that are projected
   */
  public static UnsafeProjection of(List<? extends Expression> expressions) {
    return InterpretedUnsafeProjection.createProjection(ScalaInterop.<Expression>seq(expressions));
  }
}

package org.tilespark.spark.functions;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;

/** Parameters that are tables of blocks, and stated facts of their arrays. */
final class Tables {
  private static final Type<LogicalPlan> TABLE =
      new Type<>(
          "TABLE",
          "a table, as TABLE(name) or TABLE(SELECT ...)",
          false,
          (what, plan) -> Optional.of((LogicalPlan) plan));

  private Tables() {}

  static boolean isTable(Parameter<?> parameter) {
    return parameter.type() == (Type<?>) TABLE;
  }

  /** The parameter for a table of blocks of a kind. */
  static Parameter<LogicalPlan> blocks(String name, BlockKind kind) {
    return table(name, "blocks of a " + kind.label() + ": " + kind.columnsText());
  }

  static Parameter<LogicalPlan> table(String name, String doc) {
    return Parameter.required(name, TABLE, doc);
  }

  /** The parameter for the extents of the array of a call's only table. */
  static Parameter<StatedExtents> extents(BlockKind kind) {
    return extents("extents", kind, "the whole array");
  }

  /** The parameter for the extents of the array that {@code of} describes. */
  static Parameter<StatedExtents> extents(String name, BlockKind kind, String of) {
    return Parameter.found(
        name,
        Type.list((what, text) -> StatedExtents.parse(what, text, kind.rank())),
        Parameter.STATED,
        "extents of "
            + of
            + ", '1000,800' or array(1000, 800); 'unknown' forgets those that the metadata states");
  }
}

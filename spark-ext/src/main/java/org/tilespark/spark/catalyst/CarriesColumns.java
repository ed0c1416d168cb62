package org.tilespark.spark.catalyst;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A logical node that may turn each row of a child into one row and pass on some columns. */
public interface CarriesColumns {
  /** True if this node turns each row of the child into one row and passes on some columns. */
  boolean carriesColumns();

  /** The child whose rows the node turns into its own. */
  LogicalPlan child();

  /**
   * The child's column with exactly the content of an output column; empty for computed columns.
   */
  Optional<Attribute> source(Attribute output);

  /** The output columns that the node computes. */
  List<Attribute> computed();

  /** This node without further columns that are not {@code used}; empty if all are used. */
  Optional<LogicalPlan> reading(AttributeSet used);
}

package org.tilespark.spark.catalyst;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A logical node that may turn each row of a child into one row and pass on some columns. */
public interface CarriesColumns {
  /** True if it does. */
  boolean carriesColumns();

  /** The child whose rows they are. */
  LogicalPlan child();

  /** The child's column with exactly the content of an output column; empty for computed ones. */
  Optional<Attribute> source(Attribute output);

  /** The output columns that are computed. */
  List<Attribute> computed();

  /** This node without unused further columns; empty if all are used. */
  Optional<LogicalPlan> reading(AttributeSet used);
}

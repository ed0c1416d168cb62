package org.tilespark.spark.block;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Refuses streaming inputs of operators that need all blocks of an array. */
public final class Streaming {
  private Streaming() {}

  /**
   * Refuses a plan that reads a stream.
   *
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if {@code plan} is streaming
   */
  public static void refuse(String operator, LogicalPlan plan) {
    if (plan.isStreaming()) {
      throw new IllegalArgumentException(
          operator
              + " of a streaming DataFrame: it needs all blocks of the array at once; write the"
              + " stream's blocks to a table and read that");
    }
  }
}

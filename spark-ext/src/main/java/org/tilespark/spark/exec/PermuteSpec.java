package org.tilespark.spark.exec;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.BlockSchema;

/**
 * What a task must know to permute blocks; travels to the executors.
 *
 * @param blocks where the block columns lie, in input and output alike
 * @param permutation output axis {@code i} is input axis {@code permutation.axis(i)}
 * @param extents of the whole input array, or null if they are not stated
 * @param inputSchema the child's schema
 * @param carried ordinals of the further columns
 * @param batchBytes bytes of values that make a full batch
 * @param operator who runs, for messages
 */
record PermuteSpec(
    BlockSchema blocks,
    Permutation permutation,
    Shape extents,
    StructType inputSchema,
    List<Integer> carried,
    long batchBytes,
    String operator)
    implements Serializable {

  /** Count of columns, of the input and of the output. */
  int columns() {
    return inputSchema.length();
  }
}

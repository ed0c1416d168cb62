package org.tilespark.spark.exec;

import java.io.Serializable;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.BlockSchema;

/**
 * What a task must know to permute blocks; travels to the executors. Columns have a position, their
 * place in the output, and an ordinal, their place in the child's rows.
 *
 * @param blocks positions of the block columns
 * @param inputOrdinals ordinal of the input column of each position
 * @param inputSchema the input columns, by position
 * @param permutation output axis {@code i} is input axis {@code permutation.axis(i)}
 * @param extents of the whole input array, or null if they are not stated
 * @param batchBytes bytes of values that make a full batch
 * @param operator who runs, for messages
 */
record PermuteSpec(
    BlockSchema blocks,
    List<Integer> inputOrdinals,
    StructType inputSchema,
    Permutation permutation,
    Shape extents,
    long batchBytes,
    String operator)
    implements Serializable {

  /** Count of columns of the output. */
  int columns() {
    return inputOrdinals.size();
  }

  /** Positions of the columns that are only carried through. */
  int[] carried() {
    return IntStream.range(0, columns())
        .filter(position -> !blocks.blockColumns().contains(position))
        .toArray();
  }

  /** The block columns by ordinal, for reading the child's rows. */
  BlockSchema inputBlocks() {
    return blocks.mapped(position -> inputOrdinals.get(position));
  }
}

package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.permute.BlockPermutation;
import org.tilespark.spark.rows.BlockCheck;

/**
 * What a task must know to run a stage; travels to the executors. Columns have a position, their
 * place in the output, and an ordinal, their place in the child's rows.
 *
 * @param blocks positions of the block columns
 * @param inputOrdinals ordinal of the input column of each position
 * @param inputSchema the input columns, by position
 * @param operators what happens to each block, first to last
 * @param batchBytes bytes of values that make a full batch
 */
public record StageSpec(
    BlockSchema blocks,
    List<Integer> inputOrdinals,
    StructType inputSchema,
    List<BlockPermutation> operators,
    long batchBytes)
    implements Serializable {

  /** The one permutation with the effect of all operators. */
  static Permutation permutation(List<BlockPermutation> operators) {
    return operators.stream()
        .map(BlockPermutation::permutation)
        .reduce(Permutation::then)
        .orElseThrow();
  }

  /** Each operator's check of the blocks that it takes, first to last. */
  List<BlockCheck> checks() {
    List<BlockCheck> checks = new ArrayList<>();
    for (int i = 0; i < operators.size(); i++) {
      BlockPermutation operator = operators.get(i);
      checks.add(
          new BlockCheck(
              inputBlocks(),
              operators.size() == 1
                  ? operator.function()
                  : operator.function() + ", operator " + (i + 1) + " of " + operators.size(),
              operator.extents().getOrElse(() -> null)));
    }
    return checks;
  }

  /** Count of columns of the output. */
  int columns() {
    return inputOrdinals.size();
  }

  /** Positions of the columns that are only carried through. */
  public List<Integer> carried() {
    return blocks.further(IntStream.range(0, columns()).boxed().toList());
  }

  /** The block columns by ordinal, for reading the child's rows. */
  BlockSchema inputBlocks() {
    return blocks.mapped(position -> inputOrdinals.get(position));
  }
}

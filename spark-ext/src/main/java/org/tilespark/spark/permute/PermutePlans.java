package org.tilespark.spark.permute;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.layout.Extents;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.stage.ProgramBlocks;
import org.tilespark.spark.stage.StageBranch;

/** Makes the logical plans of permutations: programs of one step ({@link ProgramBlocks}). */
public final class PermutePlans {
  private PermutePlans() {}

  /**
   * Reorders the axes of every block: places and sizes change columns, values move inside each
   * block. Row by row, no shuffle; further columns pass through.
   *
   * @param operator operator's name, for messages about the plan
   * @throws IllegalArgumentException if {@code plan} has no blocks of this kind
   */
  public static LogicalPlan permute(
      LogicalPlan plan, BlockKind kind, Permutation permutation, String operator) {
    BlockFrame frame = BlockFrame.of(plan, kind, operator);
    String function = kind == BlockKind.MATRIX ? "matrix_transpose" : "volume_permute";
    return ProgramBlocks.of(
        List.of(StageBranch.of(frame, frame.further(), Missing.ERROR, function)),
        ArrayProgram.reordering(
            Extents.of(frame.extents(), kind.rank()),
            frame.blocks().elementType(),
            frame.blocks().isComplex(),
            permutation),
        frame.metadata().permuted(permutation).toMetadata(),
        Optional.empty());
  }
}

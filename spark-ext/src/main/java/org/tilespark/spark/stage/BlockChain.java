package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.LinkedList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.permute.BlockPermutation;
import org.tilespark.spark.permute.PermuteBlocks;
import org.tilespark.spark.permute.PermutedColumns;

/**
 * Operators that work block by block and follow each other directly, so that one physical stage can
 * run them all. Projections between them that only choose, reorder or rename columns do not part
 * them, as long as each operator takes its blocks from the columns in which the one below left
 * them.
 *
 * @param operators first to last, one or more; all of one kind
 * @param inputs columns of {@code child} that are read: block columns in the part they play for the
 *     first operator, position by position with {@code produced}
 * @param produced output of the last operator
 * @param child what the first operator reads
 */
public record BlockChain(
    List<BlockPermutation> operators,
    List<Attribute> inputs,
    List<Attribute> produced,
    LogicalPlan child) {

  /** The longest chain that ends in {@code last}. */
  public static BlockChain endingIn(PermuteBlocks last) {
    PermutedColumns columns = last.columns();
    LinkedList<BlockPermutation> operators = new LinkedList<>(List.of(last.spec()));
    List<Attribute> inputs = columns.inputs();
    LogicalPlan child = last.child();
    while (true) {
      Optional<Attributes.Source> read = Attributes.belowProjections(child, inputs);
      if (read.isEmpty()
          || !(read.get().plan() instanceof PermuteBlocks inner)
          || inner.spec().kind() != last.spec().kind()) {
        break;
      }
      Optional<List<Attribute>> further =
          below(inner.columns(), read.get().columns(), columns.blocks());
      if (further.isEmpty()) {
        break;
      }
      operators.addFirst(inner.spec());
      inputs = further.get();
      child = inner.child();
    }
    return new BlockChain(List.copyOf(operators), inputs, columns.produced(), child);
  }

  /**
   * Maps the outer operator's inputs to the inner's; empty if the outer's block is not the inner's
   * output.
   *
   * @param read what the outer reads
   * @param blocks the outer's block columns among them
   */
  private static Optional<List<Attribute>> below(
      PermutedColumns inner, List<Attribute> read, BlockSchema blocks) {
    if (blocks.isComplex() != inner.blocks().isComplex()) {
      return Optional.empty(); // one plane would be an imaginary part here, a further column there
    }
    List<Integer> parts = blocks.blockColumns();
    List<Attribute> sources = new ArrayList<>();
    for (int i = 0; i < read.size(); i++) {
      int part = parts.indexOf(i);
      int position = Attributes.indexOf(inner.produced(), read.get(i));
      if (part >= 0) {
        if (position < 0 || position != inner.blocks().blockColumns().get(part)) {
          return Optional.empty();
        }
        sources.add(inner.inputs().get(position));
      } else {
        Optional<Attribute> source = inner.source(read.get(i));
        if (source.isEmpty()) {
          return Optional.empty(); // it carries values that the inner operator makes
        }
        sources.add(source.get());
      }
    }
    return Optional.of(sources);
  }
}

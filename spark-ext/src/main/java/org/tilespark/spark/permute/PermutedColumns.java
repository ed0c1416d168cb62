package org.tilespark.spark.permute;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * How the columns of a permuted block follow from those of its input: output offset and size of
 * axis {@code i} are the input's of axis {@code permutation.axis(i)}, value columns are computed,
 * further columns stay.
 *
 * @param inputs columns of the input, block columns among them
 * @param produced columns of the output, position by position
 * @param blocks positions of the block columns in both lists
 */
public record PermutedColumns(
    Permutation permutation, List<Attribute> inputs, List<Attribute> produced, BlockSchema blocks) {
  /** The columns of blocks of a kind, which are found by the names of the output. */
  public static PermutedColumns of(
      BlockKind kind, Permutation permutation, Seq<Attribute> inputs, Seq<Attribute> produced) {
    // Inputs may have other names, where columns were renamed on their way to here.
    List<Attribute> output = ScalaInterop.list(produced);
    return new PermutedColumns(
        permutation,
        ScalaInterop.list(inputs),
        output,
        BlockSchema.find(Attributes.schema(output), kind, "permutation"));
  }

  /**
   * The output column at position {@code i}: the name of the input column there, a fresh id, and
   * for block columns never null. The metadata of value columns is permuted too.
   */
  static Attribute produce(BlockFrame input, int i, Permutation permutation) {
    Attribute column = input.produce(i);
    Metadata permuted = ArrayMetadata.of(column.metadata()).permuted(permutation).toMetadata();
    return input.blocks().planes().contains(i) ? (Attribute) column.withMetadata(permuted) : column;
  }

  /**
   * The input column with exactly the content of an output column: another axis's for an offset or
   * a size, the one in the same place for a further column, none for value columns.
   */
  public Optional<Attribute> source(Attribute output) {
    return sourcePosition(Attributes.indexOf(produced, output)).map(inputs::get);
  }

  /** The output column with exactly the content of an input column, as {@link #source} inverted. */
  public Optional<Attribute> target(Attribute input) {
    for (int i = 0; i < produced.size(); i++) {
      Optional<Integer> source = sourcePosition(i);
      if (source.isPresent() && inputs.get(source.get()).exprId().equals(input.exprId())) {
        return Optional.of(produced.get(i));
      }
    }
    return Optional.empty();
  }

  private Optional<Integer> sourcePosition(int position) {
    if (position < 0 || blocks.planes().contains(position)) {
      return Optional.empty();
    }
    for (List<Integer> axes : List.of(blocks.offsets(), blocks.sizes())) {
      int axis = axes.indexOf(position);
      if (axis >= 0) {
        return Optional.of(axes.get(permutation.axis(axis)));
      }
    }
    return Optional.of(position);
  }
}

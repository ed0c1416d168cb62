package org.tilespark.spark.permute;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;

/**
 * How the columns of a permuted block follow from those of its input: output offset and size of
 * axis {@code i} are the input's of axis {@code permutation.axis(i)}, value columns are computed,
 * further columns stay.
 */
public final class PermutedColumns {
  private final Permutation permutation;
  private final List<Attribute> inputs;
  private final List<Attribute> produced;
  private final BlockSchema blocks; // positions in both lists

  /**
   * @param inputs columns of the input, block columns among them
   * @param produced columns of the output, position by position
   */
  public PermutedColumns(
      BlockKind kind, Permutation permutation, List<Attribute> inputs, List<Attribute> produced) {
    this.permutation = permutation;
    this.inputs = inputs;
    this.produced = produced;
    // Inputs may have other names, where columns were renamed on their way to here.
    this.blocks = BlockSchema.find(Attributes.schema(produced), kind, "permutation");
  }

  /**
   * The output column at position {@code i}: the name of the input column there, a fresh id, and
   * for block columns never null. The metadata of value columns is permuted too.
   */
  static Attribute produce(Attribute input, int i, BlockSchema blocks, Permutation permutation) {
    DataType type = input.dataType();
    Metadata metadata = input.metadata();
    if (blocks.planes().contains(i)) {
      type = DataTypes.createArrayType(BlockSchema.sparkType(blocks.elementType()), false);
      metadata = ArrayMetadata.of(metadata).permuted(permutation).toMetadata();
    }
    return new AttributeReference(
        input.name(),
        type,
        input.nullable() && !blocks.blockColumns().contains(i),
        metadata,
        NamedExpression$.MODULE$.newExprId(),
        input.qualifier());
  }

  /** Where the block's columns stand, in input and output alike. */
  public BlockSchema blocks() {
    return blocks;
  }

  /** Columns of the input. */
  public List<Attribute> inputs() {
    return inputs;
  }

  /** Columns of the output. */
  public List<Attribute> produced() {
    return produced;
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

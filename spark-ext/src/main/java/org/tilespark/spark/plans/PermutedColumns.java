package org.tilespark.spark.plans;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.ArrayMetadata;
import org.tilespark.spark.BlockKind;
import org.tilespark.spark.BlockSchema;
import org.tilespark.spark.interop.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * How the columns of a permuted block follow from those of its input: output offset and size of
 * axis {@code i} are the input's of axis {@code permutation.axis(i)}, value columns are computed.
 *
 * @param inputs block columns of the input, in the order of {@link BlockSchema#blockColumns()}
 * @param produced block columns of the output, in the same order and at the same positions
 */
public record PermutedColumns(
    BlockKind kind, Permutation permutation, List<Attribute> inputs, List<Attribute> produced) {

  /**
   * The output column that takes the place of {@code input}: same name, fresh id, never null. The
   * metadata of value columns is permuted too.
   */
  static Attribute produce(
      Attribute input, boolean isValues, Permutation permutation, ElementType elementType) {
    DataType type =
        isValues
            ? DataTypes.createArrayType(BlockSchema.sparkType(elementType), false)
            : input.dataType();
    Metadata metadata =
        isValues
            ? ArrayMetadata.of(input.metadata()).permuted(permutation).toMetadata()
            : input.metadata();
    return new AttributeReference(
        input.name(),
        type,
        false,
        metadata,
        NamedExpression$.MODULE$.newExprId(),
        input.qualifier());
  }

  /** The node's output: the child's with the block columns replaced, in place. */
  public Seq<Attribute> output(Seq<Attribute> childOutput) {
    List<Attribute> output = new ArrayList<>();
    for (Attribute attribute : ScalaInterop.list(childOutput)) {
      int column = indexOf(inputs, attribute);
      output.add(column < 0 ? attribute : produced.get(column));
    }
    return ScalaInterop.seq(output);
  }

  /** The column {@code values} of the input. */
  public Attribute inputValues() {
    return inputs.get(2 * kind.rank());
  }

  /** True if {@code attribute} is a value column of the output: its content is computed. */
  public boolean isComputed(Attribute attribute) {
    return indexOf(produced, attribute) >= 2 * kind.rank();
  }

  /**
   * The input column with exactly the content of an output column: the relabelled one for an offset
   * or a size, the same one for a further column, none for value columns.
   */
  public Optional<Attribute> source(Attribute output) {
    int column = indexOf(produced, output);
    if (column < 0) {
      return Optional.of(output);
    }
    int rank = kind.rank();
    if (column >= 2 * rank) {
      return Optional.empty();
    }
    int first = column < rank ? 0 : rank;
    return Optional.of(inputs.get(first + permutation.axis(column - first)));
  }

  /** The output column with exactly the content of an input column, as {@link #source} inverted. */
  public Optional<Attribute> target(Attribute input) {
    int column = indexOf(inputs, input);
    if (column < 0) {
      return Optional.of(input);
    }
    int rank = kind.rank();
    if (column >= 2 * rank) {
      return Optional.empty();
    }
    int first = column < rank ? 0 : rank;
    return Optional.of(produced.get(first + permutation.inverse().axis(column - first)));
  }

  private static int indexOf(List<Attribute> attributes, Attribute attribute) {
    for (int i = 0; i < attributes.size(); i++) {
      if (attributes.get(i).exprId().equals(attribute.exprId())) {
        return i;
      }
    }
    return -1;
  }
}

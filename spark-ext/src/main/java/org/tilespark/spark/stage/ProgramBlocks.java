package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.MadeAnewNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import scala.collection.immutable.Seq;

/**
 * Puts every block through a {@link ArrayProgram}, which does not look at other blocks: each is
 * whole along the axes that are transformed. Or, if the spec says that volumes are gathered, puts
 * each volume through it as a whole.
 */
public final class ProgramBlocks extends MadeAnewNode<StageSpec> {
  /** The column of what a detrending step takes off. */
  public static final String TREND = "tilespark_trend";

  /** For Catalyst, which copies nodes through this constructor; others call {@link #of}. */
  public ProgramBlocks(
      StageSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, LogicalPlan child) {
    super(spec, inputs, produced, child);
  }

  /**
   * The node over {@code child}, all of whose columns it takes. A column {@value #TREND} is what is
   * taken off, and ends here.
   *
   * @param metadata of the values in the result
   * @param gathered shape of the result's blocks, where volumes are gathered
   */
  public static ProgramBlocks of(
      LogicalPlan child,
      ArrayProgram program,
      Metadata metadata,
      Optional<Shape> gathered,
      Missing missing,
      String operator) {
    BlockFrame frame = BlockFrame.of(child, BlockKind.VOLUME, operator);
    BlockSchema in = frame.blocks();
    List<Attribute> inputs = frame.columns();
    if (gathered.isPresent()) {
      GroupingColumns.of(in, inputs, operator);
    }
    int trend = -1;
    List<Attribute> produced = new ArrayList<>();
    DataType values = DataTypes.createArrayType(BlockSchema.sparkType(in.elementType()), false);
    boolean isComplex = program.output().isComplex();
    for (int position = 0; position < inputs.size(); position++) {
      Attribute input = inputs.get(position);
      if (position == in.values()) {
        produced.add(Attributes.column(BlockKind.VALUES, values, metadata));
        if (isComplex && !in.isComplex()) {
          produced.add(Attributes.column(BlockKind.IMAG, values, metadata));
        }
      } else if (in.isImag(position)) {
        if (isComplex) {
          produced.add(Attributes.column(BlockKind.IMAG, values, metadata));
        }
      } else if (input.name().equals(TREND) && input.dataType() instanceof ArrayType) {
        trend = position;
      } else {
        produced.add(frame.produce(position));
      }
    }
    BlockSchema out = BlockSchema.find(Attributes.schema(produced), BlockKind.VOLUME, operator);
    return new ProgramBlocks(
        new StageSpec(program, in, out, trend, ScalaInterop.option(gathered), missing, operator),
        ScalaInterop.seq(inputs),
        ScalaInterop.seq(produced),
        child);
  }

  @Override
  public Statistics stats() {
    return BlockStatistics.of(
        ScalaInterop.list(produced()),
        spec().out(),
        new BlockStatistics.Input(child(), spec().in(), spec().program().extents().known()),
        spec().gathered().isDefined());
  }
}

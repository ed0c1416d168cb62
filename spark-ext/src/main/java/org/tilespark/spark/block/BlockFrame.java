package org.tilespark.spark.block;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.WithoutValues;

/**
 * An operand of an operator: a plan of blocks, with the ordinals of its block columns.
 *
 * @param operator name of the operator that reads the plan, for messages
 * @param columns the output columns of the plan
 */
public record BlockFrame(
    String operator, LogicalPlan plan, List<Attribute> columns, BlockSchema blocks) {
  /**
   * The blocks of a plan.
   *
   * @throws IllegalArgumentException if the plan has no blocks of this kind, or blocks with a halo
   */
  public static BlockFrame of(LogicalPlan plan, BlockKind kind, String operator) {
    BlockFrame frame = maybeHaloed(plan, kind, operator);
    frame.blocks().requireNoHalo(operator);
    return frame;
  }

  /**
   * The blocks of a plan, which may have a halo, for operators that process each block separately
   * and keep its place.
   *
   * @throws IllegalArgumentException if the plan has no blocks of this kind
   */
  public static BlockFrame maybeHaloed(LogicalPlan plan, BlockKind kind, String operator) {
    BlockSchema blocks = BlockSchema.find(plan.schema(), kind, operator);
    return new BlockFrame(operator, plan, ScalaInterop.list(plan.output()), blocks);
  }

  /**
   * The blocks of a plan, for operators that combine blocks.
   *
   * @param which the operand's name, as {@code ", first volume"}, for messages
   * @throws IllegalArgumentException if the plan is streaming, has no blocks of this kind, or has
   *     further columns that cannot distinguish arrays
   */
  public static BlockFrame combined(
      LogicalPlan plan, BlockKind kind, String operator, String which) {
    Streaming.refuse(operator, plan);
    BlockFrame frame = of(plan, kind, operator + which);
    GroupingColumns.of(frame.blocks, frame.columns, frame.operator);
    return frame;
  }

  /**
   * The input with new column metadata on its values, which states the extents of the whole array.
   *
   * @param extents extents to state, of the kind's rank; empty to keep the stated ones
   * @throws IllegalArgumentException if the input has no blocks of this kind
   */
  public static LogicalPlan withExtents(
      LogicalPlan input, BlockKind kind, Optional<StatedExtents> extents, String operator) {
    if (extents.isEmpty()) {
      return input;
    }
    BlockFrame frame = of(input, kind, operator);
    return frame.stating(frame.metadata().stating(extents.get())).plan();
  }

  /** These blocks with other metadata on the values' column. */
  public BlockFrame stating(ArrayMetadata metadata) {
    Attribute values = values();
    List<NamedExpression> list = new ArrayList<>(columns);
    list.set(
        blocks.values(),
        Attributes.as(
            values, (Attribute) values.newInstance().withMetadata(metadata.toMetadata())));
    return maybeHaloed(new Project(ScalaInterop.seq(list), plan), kind(), operator);
  }

  /**
   * A copy of the column at {@code position} for newly made blocks: it has a fresh id, and block
   * columns are not nullable.
   */
  public Attribute produce(int position) {
    Attribute fresh = columns.get(position).newInstance();
    if (blocks.planes().contains(position)) {
      DataType type = BlockSchema.sparkType(blocks.elementType());
      fresh = fresh.withDataType(DataTypes.createArrayType(type, false));
    }
    return blocks.blockColumns().contains(position) ? fresh.withNullability(false) : fresh;
  }

  /**
   * Checks the type of the values.
   *
   * @throws IllegalArgumentException if the type is neither FLOAT nor DOUBLE
   */
  public BlockFrame requireNumbers() {
    ElementType type = blocks.elementType();
    if (type != ElementType.FLOAT32 && type != ElementType.FLOAT64) {
      throw new IllegalArgumentException(
          "%s: column values is %s; expected ARRAY<FLOAT> or ARRAY<DOUBLE> (CAST it)"
              .formatted(operator, values().dataType().sql()));
    }
    return this;
  }

  public BlockKind kind() {
    return blocks.kind();
  }

  public Attribute values() {
    return columns.get(blocks.values());
  }

  public Attribute offset(int axis) {
    return columns.get(blocks.offsets().get(axis));
  }

  public Attribute size(int axis) {
    return columns.get(blocks.sizes().get(axis));
  }

  /** The columns of a block itself, in their usual order. */
  public List<Attribute> block() {
    return blocks.blockColumns().stream().map(columns::get).toList();
  }

  /**
   * A plan of the blocks' places, sizes and further columns, with the same column ids, which
   * computes no values unless these columns need them.
   *
   * @param asDataset turns a plan into a DataFrame
   */
  public LogicalPlan places(Function<LogicalPlan, Dataset<Row>> asDataset) {
    List<Attribute> read = new ArrayList<>(columns);
    blocks.planes().forEach(plane -> read.remove(columns.get(plane)));
    return WithoutValues.of(asDataset.apply(plan), read);
  }

  /** The further columns: all that are not the block's own. */
  public List<Attribute> further() {
    return blocks.further(columns);
  }

  public ArrayMetadata metadata() {
    return ArrayMetadata.of(values().metadata());
  }

  public Optional<Shape> extents() {
    return metadata().extents(kind().rank());
  }

  public Optional<Shape> blockShape() {
    return metadata().blockShape(kind().rank());
  }
}

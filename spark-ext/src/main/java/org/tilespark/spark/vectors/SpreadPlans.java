package org.tilespark.spark.vectors;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateArray;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PosExplode;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.IdColumn;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;
import scala.collection.immutable.Seq;

/** The logical plans for turning blocks into rows or elements, and elements into blocks. */
public final class SpreadPlans {
  private static final BlockKind KIND = BlockKind.MATRIX;
  private static final String ROW = "row";
  private static final String COL = "col";
  private static final String VALUE = "value";

  private SpreadPlans() {}

  /**
   * One row for each row of a matrix: its place {@code row}, the further columns, its id if there
   * are ids, and its elements as an array. Blocks that are not whole along the columns are
   * re-blocked first.
   *
   * @param name name of the column of arrays
   * @param asDataset turns a plan into a DataFrame; a query over the places of the blocks runs now
   *     if metadata does not state their tiling
   * @throws IllegalArgumentException if the blocks are complex, or columns would have the same name
   */
  public static LogicalPlan toRows(
      LogicalPlan matrix,
      String name,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    BlockFrame frame = BlockFrame.of(wholeRows(matrix, asDataset, operator), KIND, operator);
    OptionalInt ids = IdColumn.position(frame.columns());
    Optional<Shape> extents = frame.extents();
    Metadata metadata =
        extents.isEmpty()
            ? Metadata.empty()
            : new MetadataBuilder().putLong(VectorPlans.LENGTH, extents.get().extent(1)).build();
    DataType vector =
        DataTypes.createArrayType(BlockSchema.sparkType(frame.blocks().elementType()), false);
    List<Attribute> produced = new ArrayList<>();
    produced.add(Attributes.column(ROW, DataTypes.LongType, Metadata.empty()));
    further(frame).forEach(position -> produced.add(frame.columns().get(position).newInstance()));
    ids.ifPresent(position -> produced.add(id(frame.columns().get(position))));
    produced.add(Attributes.column(name, vector, metadata));
    return spread(frame, ids, false, produced, operator);
  }

  /**
   * One row for each element of a matrix: {@code row, col}, the further columns, and {@code value}.
   *
   * @throws IllegalArgumentException if the blocks are complex, or columns would have the same name
   */
  public static LogicalPlan toCells(LogicalPlan matrix, String operator) {
    BlockFrame frame = BlockFrame.of(matrix, KIND, operator);
    List<Attribute> produced = new ArrayList<>();
    produced.add(Attributes.column(ROW, DataTypes.LongType, Metadata.empty()));
    produced.add(Attributes.column(COL, DataTypes.LongType, Metadata.empty()));
    further(frame).forEach(position -> produced.add(frame.columns().get(position).newInstance()));
    produced.add(
        Attributes.column(
            VALUE, BlockSchema.sparkType(frame.blocks().elementType()), Metadata.empty()));
    return spread(frame, OptionalInt.empty(), true, produced, operator);
  }

  private static LogicalPlan spread(
      BlockFrame frame,
      OptionalInt ids,
      boolean isCells,
      List<Attribute> produced,
      String operator) {
    if (frame.blocks().isComplex()) {
      throw new IllegalArgumentException(
          operator + ": the blocks are complex; expected real ones: drop or rename column imag");
    }
    GroupingColumns.requireNames(produced, operator);
    SpreadSpec spec =
        new SpreadSpec(
            frame.blocks(),
            further(frame),
            ids.orElse(-1),
            isCells,
            ScalaInterop.option(frame.extents()),
            operator);
    return new SpreadBlocks(
        spec, ScalaInterop.seq(frame.columns()), ScalaInterop.seq(produced), frame.plan());
  }

  private static List<Integer> further(BlockFrame frame) {
    OptionalInt ids = IdColumn.position(frame.columns());
    return Stream.iterate(0, i -> i + 1)
        .limit(frame.columns().size())
        .filter(i -> !frame.blocks().blockColumns().contains(i) && i != ids.orElse(-1))
        .toList();
  }

  private static Attribute id(Attribute ids) {
    boolean mayBeNull = ((ArrayType) ids.dataType()).containsNull();
    return Attributes.column(IdColumn.source(ids), IdColumn.type(ids), Metadata.empty())
        .withNullability(mayBeNull);
  }

  // ---- whole rows

  /** The matrix in blocks that are whole along its columns, as far as is known now. */
  private static LogicalPlan wholeRows(
      LogicalPlan matrix, Function<LogicalPlan, Dataset<Row>> asDataset, String operator) {
    BlockFrame frame = BlockFrame.of(matrix, KIND, operator);
    if (IdColumn.position(frame.columns()).isPresent()) {
      return matrix; // blocks that were made of rows
    }
    if (frame.extents().isPresent()) {
      long cols = frame.extents().get().extent(1);
      return isWhole(frame, cols, asDataset) ? matrix : reblocked(matrix, frame, cols, operator);
    }
    KnownArray known = KnownArray.of(matrix, frame.blocks(), Missing.ERROR, asDataset, operator);
    long cols = known.extents().extent(1);
    LogicalPlan stated =
        known.alike()
            ? BlockFrame.withExtents(
                matrix, KIND, Optional.of(StatedExtents.of(known.extents())), operator)
            : matrix;
    return known.whole().get(1) ? stated : reblocked(stated, frame, cols, operator);
  }

  /**
   * True if all blocks are whole along the columns; also true if finding out would require
   * computing them, since tasks check each block.
   */
  private static boolean isWhole(
      BlockFrame frame, long cols, Function<LogicalPlan, Dataset<Row>> asDataset) {
    if (frame.blockShape().isPresent()) {
      return frame.blockShape().get().extent(1) >= cols;
    }
    Dataset<Row> blocks = asDataset.apply(frame.plan());
    LogicalPlan optimized =
        ((org.apache.spark.sql.classic.Dataset<Row>) blocks).queryExecution().optimizedPlan();
    if (!LogicalBlockNode.coordinatesAreCheap(optimized)) {
      return true;
    }
    Dataset<Row> places =
        asDataset.apply(
            new Project(
                ScalaInterop.<NamedExpression>seq(
                    Attributes.alias(frame.offset(1), COL),
                    Attributes.alias(frame.size(1), "cols")),
                frame.plan()));
    return places.where("col <> 0 OR cols <> " + cols).isEmpty();
  }

  private static LogicalPlan reblocked(
      LogicalPlan matrix, BlockFrame frame, long cols, String operator) {
    long[] shape = {
      Math.min(
          Integer.MAX_VALUE, VectorPlans.usualRows(cols, frame.blocks().elementType().bytes())),
      cols
    };
    return ReblockPlans.reblock(matrix, KIND, shape, Missing.ERROR, operator);
  }

  // ---- ids

  /**
   * The ids of a matrix that was made of rows: {@code row} and the id, under the name of the column
   * that it came from.
   *
   * @throws IllegalArgumentException if the blocks have no ids, or if the ids came from a column
   *     named {@code row}
   */
  public static LogicalPlan rowIds(LogicalPlan matrix, String operator) {
    LogicalPlan ids = rowIds(matrix, false, operator);
    GroupingColumns.requireNames(ScalaInterop.list(ids.output()), operator);
    return ids;
  }

  /**
   * The row numbers and ids; if {@code withFurther}, also the further columns, with new expression
   * ids.
   */
  static LogicalPlan rowIds(LogicalPlan matrix, boolean withFurther, String operator) {
    BlockFrame frame = BlockFrame.of(matrix, KIND, operator);
    Attribute ids =
        IdColumn.find(frame.columns())
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        ("%s: the blocks have no ids; expected what matrix_from_rows gives with id,"
                                + " before other operators")
                            .formatted(operator)));
    Attribute position = Attributes.column("position", DataTypes.IntegerType, Metadata.empty());
    Attribute id = id(ids);
    List<Attribute> further =
        withFurther ? further(frame).stream().map(frame.columns()::get).toList() : List.of();
    List<NamedExpression> read = new ArrayList<>(List.of(frame.offset(0), ids));
    read.addAll(further);
    Generate all =
        new Generate(
            new PosExplode(ids),
            ScalaInterop.<Object>emptySeq(),
            false,
            ScalaInterop.none(),
            ScalaInterop.<Attribute>seq(position, id),
            new Project(ScalaInterop.seq(read), matrix));
    Expression place = new Add(frame.offset(0), widened(position));
    List<NamedExpression> list = new ArrayList<>(List.of(Attributes.alias(place, ROW), id));
    further.forEach(column -> list.add(Attributes.alias(column, column.name())));
    return new Project(ScalaInterop.seq(list), all);
  }

  private static Expression widened(Attribute number) {
    return number.dataType().equals(DataTypes.LongType)
        ? number
        : new Cast(number, DataTypes.LongType, ScalaInterop.none());
  }

  // ---- elements

  /**
   * Blocks of the matrix whose elements are the rows {@code row, col, value} of a table.
   *
   * @param blockShape rows and columns of a full block
   * @param missing treatment of elements that no row has
   * @param extents extents of the matrix, if they are known; otherwise it ends with its last
   *     elements
   * @throws IllegalArgumentException if a column is missing or of another type, or a further column
   *     has no order
   */
  public static LogicalPlan fromCells(
      LogicalPlan cells,
      long[] blockShape,
      Missing missing,
      Optional<StatedExtents> extents,
      String operator) {
    List<Attribute> columns = ScalaInterop.list(cells.output());
    Attribute row = place(cells, columns, ROW, operator);
    Attribute col = place(cells, columns, COL, operator);
    Attribute value = column(cells, columns, VALUE, operator);
    if (BlockSchema.elementType(value.dataType()).isEmpty()) {
      throw new IllegalArgumentException(
          "%s: column value is %s; expected %s"
              .formatted(operator, value.dataType().sql(), VectorPlans.NUMBERS));
    }
    Seq<Expression> values = ScalaInterop.<Expression>seq(value);
    Expression one = Literal.create(1, DataTypes.IntegerType);
    List<NamedExpression> list = new ArrayList<>();
    list.add(Attributes.alias(widened(row), ROW));
    list.add(Attributes.alias(widened(col), COL));
    list.add(Attributes.alias(one, "rows"));
    list.add(Attributes.alias(one, "cols"));
    list.add(Attributes.alias(new CreateArray(values), BlockKind.VALUES));
    columns.stream().filter(each -> !List.of(row, col, value).contains(each)).forEach(list::add);
    LogicalPlan blocks =
        BlockFrame.withExtents(new Project(ScalaInterop.seq(list), cells), KIND, extents, operator);
    return ReblockPlans.reblock(blocks, KIND, blockShape, missing, operator);
  }

  private static Attribute place(
      LogicalPlan cells, List<Attribute> columns, String name, String operator) {
    Attribute column = column(cells, columns, name, operator);
    if (!(column.dataType() instanceof IntegralType)) {
      throw new IllegalArgumentException(
          "%s: column %s is %s; expected a place, BIGINT or INT (CAST it)"
              .formatted(operator, name, column.dataType().sql()));
    }
    return column;
  }

  private static Attribute column(
      LogicalPlan cells, List<Attribute> columns, String name, String operator) {
    return VectorPlans.column(cells, columns, name, operator);
  }
}

package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.multiply.cost.Extents;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import scala.Option;

/**
 * Makes the logical plans of products: checks the operands, finds the extents, and gives the result
 * its columns.
 */
public final class MultiplyPlans {
  /** Rows and columns of blocks about which nothing is known. */
  private static final long UNKNOWN_BLOCK = 1024;

  private MultiplyPlans() {}

  /**
   * {@code op(A) op(B)}.
   *
   * @param asDataset makes a DataFrame of a plan; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @param operator who asks, for messages
   * @throws IllegalArgumentException if an operand has no blocks of FLOAT or DOUBLE, or the two do
   *     not fit each other; says what was found
   */
  public static LogicalPlan multiply(
      LogicalPlan a,
      LogicalPlan b,
      MultiplyOptions options,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    Operand left = Operand.of(a, "A", operator);
    Operand right = Operand.of(distinctFrom(a, b), "B", operator);
    requireSameGroups(left, right, operator);
    if (left.type() != right.type()) {
      throw new IllegalArgumentException(
          operator
              + ": values of A are "
              + left.typeText()
              + ", of B "
              + right.typeText()
              + "; expected one type, so CAST one of them");
    }
    Known knownA = left.known(options.missing(), asDataset).op(options.transposeA());
    Known knownB = right.known(options.missing(), asDataset).op(options.transposeB());
    if (knownA.cols() != knownB.rows()) {
      throw new IllegalArgumentException(
          operator
              + ": the inner extents differ: A"
              + (options.transposeA() ? " transposed" : "")
              + " is "
              + knownA.extentsText()
              + ", B"
              + (options.transposeB() ? " transposed" : "")
              + " is "
              + knownB.extentsText()
              + "; expected as many columns of A as rows of B. If the metadata of one is stale,"
              + " state its extents with withExtents(df, rows, cols)");
    }
    requireCountable(knownA.rows(), knownA.cols(), "A", operator);
    requireCountable(knownB.rows(), knownB.cols(), "B", operator);
    return product(List.of(left, right), knownA, knownB, options);
  }

  /**
   * {@code A^T A}.
   *
   * @param options those of a multiply but for the transposes, which must not be set
   * @throws IllegalArgumentException as {@link #multiply}
   */
  public static LogicalPlan gram(
      LogicalPlan a,
      MultiplyOptions options,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    if (options.transposeA() || options.transposeB()) {
      throw new IllegalArgumentException(
          operator
              + ": transposeA and transposeB have no meaning here; the gram of a transposed matrix"
              + " is that of transpose(a)");
    }
    Operand operand = Operand.of(a, "A", operator);
    Known known = operand.known(options.missing(), asDataset);
    requireCountable(known.rows(), known.cols(), "A", operator);
    return product(List.of(operand), known.op(true), known, options);
  }

  /** The product of two operands, or the gram of one. */
  private static MultiplyBlocks product(
      List<Operand> operands, Known a, Known b, MultiplyOptions options) {
    Operand left = operands.get(0);
    boolean gram = operands.size() == 1;
    requireCountable(a.rows(), b.cols(), "C", left.operator());
    Shape blocks = options.blockShape().orElse(blockShape(a.blockRows(), b.blockCols()));
    MultiplySpec spec =
        new MultiplySpec(
            left.operator(),
            gram,
            new MultiplySpec.Side(
                gram || options.transposeA(),
                a.blockRows(),
                a.blockCols(),
                a.fullRows(),
                a.stated()),
            new MultiplySpec.Side(
                options.transposeB(), b.blockCols(), b.blockRows(), b.fullCols(), b.stated()),
            new Extents(a.rows(), a.cols(), b.cols()),
            new MultiplySpec.Result(
                left.type(),
                precision(options, left.type(), left.operator()),
                Math.toIntExact(blocks.extent(0)),
                Math.toIntExact(blocks.extent(1)),
                options.missing()),
            options.strategy(),
            left.groups().size());
    List<Attribute> inputs = new ArrayList<>(left.columns());
    operands.stream().skip(1).forEach(right -> inputs.addAll(right.columnsLike(left)));
    return new MultiplyBlocks(
        spec,
        ScalaInterop.seq(inputs),
        ScalaInterop.seq(produced(left, spec)),
        ScalaInterop.seq(operands.stream().map(Operand::plan).toList()));
  }

  private static void requireCountable(long rows, long cols, String matrix, String operator) {
    if (Bytes.product(rows, cols) >= KnownArray.TOO_MANY_ELEMENTS) {
      throw new IllegalArgumentException(
          operator
              + ": "
              + matrix
              + " is "
              + rows
              + " x "
              + cols
              + "; expected fewer than 2^58 elements");
    }
  }

  private static Precision precision(MultiplyOptions options, ElementType type, String operator) {
    try {
      return options.precision(type);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(operator + ": " + e.getMessage(), e);
    }
  }

  /** Blocks of C of the given extents, as long as they stay well below what one row may hold. */
  private static Shape blockShape(long rows, long cols) {
    long most = 1 << 26; // 512 MiB of DOUBLE
    while (rows * cols > most) {
      if (rows >= cols) {
        rows = (rows + 1) / 2;
      } else {
        cols = (cols + 1) / 2;
      }
    }
    return Shape.of(rows, cols);
  }

  /** The right operand, under fresh ids where it shares some with the left one. */
  public static LogicalPlan distinctFrom(LogicalPlan left, LogicalPlan right) {
    if (left.outputSet().intersect(right.outputSet()).isEmpty()) {
      return right;
    }
    List<NamedExpression> fresh = new ArrayList<>();
    for (Attribute attribute : ScalaInterop.<Attribute>list(right.output())) {
      fresh.add(
          new Alias(
              attribute,
              attribute.name(),
              NamedExpression$.MODULE$.newExprId(),
              attribute.qualifier(),
              Option.apply(attribute.metadata()),
              ScalaInterop.emptySeq()));
    }
    return new Project(ScalaInterop.seq(fresh), right);
  }

  private static void requireSameGroups(Operand left, Operand right, String operator) {
    if (!left.hasGroupsOf(right) || !right.hasGroupsOf(left)) {
      throw new IllegalArgumentException(
          operator
              + ": further columns tell several matrices apart and must be the same on both sides;"
              + " A has ("
              + left.groupsText()
              + "), B has ("
              + right.groupsText()
              + "). Drop those that are no part of the key");
    }
  }

  private static List<Attribute> produced(Operand like, MultiplySpec spec) {
    Metadata metadata =
        ArrayMetadata.empty()
            .withExtents(Shape.of(spec.m(), spec.n()))
            .withBlockShape(Shape.of(spec.blockRows(), spec.blockCols()))
            .toMetadata();
    return PieceColumns.withGroups(
        like.groups(),
        Attributes.column("row", DataTypes.LongType, Metadata.empty()),
        Attributes.column("col", DataTypes.LongType, Metadata.empty()),
        Attributes.column("rows", DataTypes.IntegerType, Metadata.empty()),
        Attributes.column("cols", DataTypes.IntegerType, Metadata.empty()),
        Attributes.column(
            BlockKind.VALUES,
            DataTypes.createArrayType(BlockSchema.sparkType(spec.type()), false),
            metadata));
  }

  /**
   * Extents of a matrix and of its blocks.
   *
   * @param fullRows true if metadata state that every block has all columns
   * @param fullCols the same of rows
   * @param stated true if metadata state the extents of blocks
   */
  private record Known(
      long rows,
      long cols,
      long blockRows,
      long blockCols,
      boolean fullRows,
      boolean fullCols,
      boolean stated) {
    Known op(boolean transposed) {
      return transposed
          ? new Known(cols, rows, blockCols, blockRows, fullCols, fullRows, stated)
          : this;
    }

    String extentsText() {
      return rows + " x " + cols;
    }
  }

  /** One side: its plan, and where its columns are. */
  private record Operand(
      LogicalPlan plan,
      BlockSchema schema,
      String operator,
      List<Attribute> block,
      List<Attribute> groups,
      ElementType type) {

    static Operand of(LogicalPlan plan, String side, String operator) {
      Streaming.refuse(operator, plan);
      List<Attribute> output = ScalaInterop.list(plan.output());
      String who = operator + ", matrix " + side;
      BlockSchema blocks = BlockSchema.find(plan.schema(), BlockKind.MATRIX, who);
      ElementType type = blocks.elementType();
      if (blocks.isComplex()) {
        throw new IllegalArgumentException(
            who
                + ": the blocks are complex (column imag); expected real ones of FLOAT or DOUBLE."
                + " Multiply real and imaginary parts apart");
      }
      if (type != ElementType.FLOAT32 && type != ElementType.FLOAT64) {
        throw new IllegalArgumentException(
            who
                + ": column values is "
                + plan.schema().fields()[blocks.values()].dataType().sql()
                + "; expected ARRAY<FLOAT> or ARRAY<DOUBLE> (CAST it)");
      }
      List<Attribute> block = OperandSource.parts(blocks).stream().map(output::get).toList();
      List<Attribute> groups =
          GroupingColumns.of(blocks, output, who).stream()
              .map(group -> requireKey(group, who))
              .toList();
      return new Operand(plan, blocks, operator, block, groups, type);
    }

    /** A grouping column's equal values must be equal bytes, since tasks compare bytes. */
    private static Attribute requireKey(Attribute group, String who) {
      DataType type = group.dataType();
      if (holdsFloats(type) || !UnsafeRowUtils.isBinaryStable(type)) {
        throw new IllegalArgumentException(
            who
                + ": further column "
                + group.name()
                + " is "
                + type.sql()
                + ", which cannot tell matrices apart; drop it, or CAST it to a type whose equal"
                + " values are the same bytes");
      }
      return group;
    }

    private static boolean holdsFloats(DataType type) {
      if (type instanceof ArrayType array) {
        return holdsFloats(array.elementType());
      } else if (type instanceof StructType struct) {
        for (StructField field : struct.fields()) {
          if (holdsFloats(field.dataType())) {
            return true;
          }
        }
        return false;
      }
      return type instanceof MapType || type instanceof FloatType || type instanceof DoubleType;
    }

    List<Attribute> columns() {
      List<Attribute> columns = new ArrayList<>(block);
      columns.addAll(groups);
      return columns;
    }

    /** The columns with grouping columns in the order in which {@code other} has them. */
    List<Attribute> columnsLike(Operand other) {
      List<Attribute> columns = new ArrayList<>(block);
      for (Attribute group : other.groups) {
        columns.add(GroupingColumns.named(groups, group).orElseThrow());
      }
      return columns;
    }

    /** True if every grouping column of {@code other} has one of its name and type here. */
    boolean hasGroupsOf(Operand other) {
      return other.groups.stream()
          .allMatch(
              group ->
                  GroupingColumns.named(groups, group)
                      .filter(own -> own.dataType().sql().equals(group.dataType().sql()))
                      .isPresent());
    }

    String groupsText() {
      return GroupingColumns.text(List.of(Attributes.schema(groups).fields()));
    }

    String typeText() {
      return "ARRAY<" + (type == ElementType.FLOAT32 ? "FLOAT" : "DOUBLE") + ">";
    }

    /** As stated by metadata, else as the blocks' coordinates say. */
    Known known(Missing missing, Function<LogicalPlan, Dataset<Row>> asDataset) {
      ArrayMetadata metadata = ArrayMetadata.of(block.get(Column.VALUES.ordinal()).metadata());
      Optional<Shape> extents = metadata.extents(2);
      Optional<Shape> blockShape = metadata.blockShape(2);
      if (extents.isPresent()) {
        Shape shape = extents.get();
        Optional<Shape> stated = blockShape.filter(b -> b.extent(0) > 0 && b.extent(1) > 0);
        Shape blocks = stated.orElse(Shape.of(UNKNOWN_BLOCK, UNKNOWN_BLOCK));
        return new Known(
            shape.extent(0),
            shape.extent(1),
            atMost(blocks.extent(0), shape.extent(0)),
            atMost(blocks.extent(1), shape.extent(1)),
            stated.isPresent() && blocks.extent(1) >= shape.extent(1),
            stated.isPresent() && blocks.extent(0) >= shape.extent(0),
            stated.isPresent());
      }
      KnownArray found = KnownArray.of(plan, schema, missing, asDataset, operator);
      long height = found.extents().extent(0);
      long width = found.extents().extent(1);
      return new Known(
          height,
          width,
          atMost(found.largest().extent(0), height),
          atMost(found.largest().extent(1), width),
          false,
          false,
          false);
    }

    private static long atMost(long block, long extent) {
      return Math.max(1, Math.min(block, extent));
    }
  }
}

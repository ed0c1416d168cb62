package org.tilespark.spark.multiply;

import static org.tilespark.spark.block.UsualShape.LARGE_BYTES;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.ComplexOfParts;
import org.tilespark.arrow.blocks.ComplexOfParts.Operand;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.multiply.neighbours.NeighbourRows;
import org.tilespark.spark.multiply.numbers.ProductOperands;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Makes the logical plans of products: checks the operands, finds the extents, and gives the result
 * its columns.
 */
public final class MultiplyPlans {
  /** Assumed rows and columns of blocks whose shape is not known. */
  private static final long UNKNOWN_BLOCK = 1024;

  private MultiplyPlans() {}

  /**
   * {@code op(A) op(B)}. The operands may be of any types, real or complex; {@link
   * ProductOperands#type} gives the type of C. A complex product is computed from one real product
   * of the real and imaginary parts, see {@link ComplexOfParts}.
   *
   * @param asDataset turns a plan into a DataFrame; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if an operand has no matrix blocks, or the two do not fit each
   *     other; the message says what was found
   */
  public static LogicalPlan multiply(
      LogicalPlan a,
      LogicalPlan b,
      MultiplyOptions options,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    return plan(a, b, options, Optional.empty(), asDataset, operator);
  }

  /**
   * A reduction of {@code A B^T}: the rows of both are vectors of the same length.
   *
   * @throws IllegalArgumentException as {@link #multiply}, and if an operand is complex
   */
  public static LogicalPlan reduced(
      LogicalPlan a,
      LogicalPlan b,
      Reduction reduction,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    MultiplyOptions options = MultiplyOptions.defaults().withTransposeB(true);
    return plan(a, b, options, Optional.of(reduction), asDataset, operator);
  }

  private static LogicalPlan plan(
      LogicalPlan a,
      LogicalPlan b,
      MultiplyOptions options,
      Optional<Reduction> reduction,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    BlockFrame left = operand(a, "A", operator);
    BlockFrame right = operand(Attributes.distinctFrom(a, b), "B", operator);
    if (reduction.isPresent()) {
      requireReal(left);
      requireReal(right);
      requireSameGroups(left, right, "", operator);
    } else if (left.further().isEmpty() == right.further().isEmpty()) {
      requireSameGroups(left, right, ", or on one side alone", operator);
    } // otherwise one matrix serves all matrices of the other side
    MatrixShape shapeA = MatrixShape.of(left, options.missing(), asDataset, operator);
    MatrixShape shapeB =
        areSame(left, right)
            ? shapeA // so that its coordinates are aggregated once
            : MatrixShape.of(right, options.missing(), asDataset, operator);
    MatrixShape knownA = shapeA.op(options.transposeA());
    MatrixShape knownB = shapeB.op(options.transposeB());
    if (knownA.cols() != knownB.rows()) {
      throw new IllegalArgumentException(
          ("%s: the inner extents differ: A%s is %s, B%s is %s; expected as many"
                  + " columns of A as rows of B; %s")
              .formatted(
                  operator,
                  options.transposeA() ? " transposed" : "",
                  knownA.extentsText(),
                  options.transposeB() ? " transposed" : "",
                  knownB.extentsText(),
                  StaleMetadata.HELP));
    }
    requireCountable(knownA.rows(), knownA.cols(), "A", operator);
    requireCountable(knownB.rows(), knownB.cols(), "B", operator);
    return plan(List.of(left, right), knownA, knownB, options, reduction, operator);
  }

  /**
   * {@code A^H A}, which is {@code A^T A} if A is real.
   *
   * @param options options of a multiply; transposes and conjugates must not be set
   * @throws IllegalArgumentException as {@link #multiply}
   */
  public static LogicalPlan gram(
      LogicalPlan a,
      MultiplyOptions options,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    if (options.transposeA()
        || options.transposeB()
        || options.conjugateA()
        || options.conjugateB()) {
      throw new IllegalArgumentException(
          operator
              + ": transposeA, transposeB, conjugateA and conjugateB have no meaning here; the gram"
              + " of a transposed matrix is that of transpose(a)");
    }
    BlockFrame operand = operand(a, "A", operator);
    MatrixShape known = MatrixShape.of(operand, options.missing(), asDataset, operator);
    requireCountable(known.rows(), known.cols(), "A", operator);
    return plan(List.of(operand), known.op(true), known, options, Optional.empty(), operator);
  }

  /** True if two operands read the same blocks, with the same metadata. */
  private static boolean areSame(BlockFrame left, BlockFrame right) {
    Attributes.Source a = source(left);
    Attributes.Source b = source(right);
    return a.plan().deterministic()
        && a.plan().sameResult(b.plan())
        && positions(a).equals(positions(b))
        && names(left).equals(names(right))
        && left.blocks().equals(right.blocks())
        && left.metadata().saysTheSame(right.metadata());
  }

  /** The plan below all projections that only rename an operand's columns. */
  private static Attributes.Source source(BlockFrame operand) {
    return Attributes.belowProjections(operand.plan(), operand.columns())
        .orElseGet(() -> new Attributes.Source(operand.plan(), operand.columns()));
  }

  private static List<String> names(BlockFrame operand) {
    return operand.columns().stream().map(Attribute::name).toList();
  }

  private static List<Integer> positions(Attributes.Source source) {
    List<Attribute> output = ScalaInterop.list(source.plan().output());
    return source.columns().stream().map(column -> Attributes.indexOf(output, column)).toList();
  }

  /**
   * The product of two operands, or the gram of one.
   *
   * @param a shape of op(A)
   * @param b shape of op(B)
   */
  private static LogicalPlan plan(
      List<BlockFrame> operands,
      MatrixShape a,
      MatrixShape b,
      MultiplyOptions options,
      Optional<Reduction> reduction,
      String operator) {
    boolean gram = operands.size() == 1;
    BlockFrame left = operands.get(0);
    BlockFrame right = operands.get(operands.size() - 1);
    ElementType ofA = left.blocks().elementType();
    ElementType ofB = right.blocks().elementType();
    ElementType type =
        reduction.isPresent()
            ? ProductOperands.scoreType(ofA, ofB)
            : ProductOperands.type(ofA, ofB);
    Operand numbersA = numbers(left, gram || options.conjugateA());
    Operand numbersB = numbers(right, options.conjugateB());
    MatrixShape partsA = a.times(numbersA.parts(), 1);
    MatrixShape partsB = b.times(1, numbersB.parts());
    if (reduction.isEmpty()) {
      requireCountable(partsA.rows(), partsB.cols(), "C", operator);
    }
    Shape extents = Shape.of(a.rows(), b.cols());
    Shape blocks = options.blockShape().orElseGet(() -> blockShape(extents, a, b, type));
    boolean transposeA = gram || options.transposeA();
    List<BlockFrame> real = new ArrayList<>();
    real.add(ProductOperands.real(left, a.stored(transposeA), type, transposeA ? 1 : 0));
    if (!gram) {
      boolean transposeB = options.transposeB();
      // Use one plan for both operands, so that a rule recognises a gram.
      boolean once = real.get(0) != left && transposeA != transposeB && areSame(left, right);
      real.add(
          once
              ? BlockFrame.of(
                  Attributes.distinctFrom(real.get(0).plan(), real.get(0).plan()),
                  BlockKind.MATRIX,
                  right.operator())
              : ProductOperands.real(right, b.stored(transposeB), type, transposeB ? 0 : 1));
    }
    if (reduction.isEmpty()) {
      UsualShape.requireFew(operator, "blockShape", extents, blocks, type.bytes());
    }
    int parts = numbersA.parts() * numbersB.parts();
    if (parts > 1 && blocks.elements() > Integer.MAX_VALUE / parts) {
      throw new IllegalArgumentException(
          "%s: blockShape is %s; expected at most %s elements in a block of a complex product"
              .formatted(operator, blocks, Integer.MAX_VALUE / parts));
    }
    Form form = new Form(transposeA, numbersA.parts(), numbersB.parts(), blocks, type);
    MultiplyBlocks product = product(real, partsA, partsB, form, options, reduction, operator);
    if (parts == 1) {
      return product;
    }
    return ProgramBlocks.of(
        product,
        BlockKind.MATRIX,
        new ArrayProgram(
            Shape.of(partsA.rows(), partsB.cols()),
            type,
            false,
            List.of(new ComplexOfParts(numbersA, numbersB))),
        ArrayMetadata.empty().withExtents(extents).withBlockShape(blocks).toMetadata(),
        Optional.empty(),
        Missing.ERROR,
        operator);
  }

  private static Operand numbers(BlockFrame operand, boolean conjugated) {
    return !operand.blocks().isComplex()
        ? Operand.REAL
        : conjugated ? Operand.CONJUGATED : Operand.COMPLEX;
  }

  /**
   * The form of a product of real matrices.
   *
   * @param partsA rows of the real op(A) for each row of the user's: 2 if real and imaginary parts
   *     alternate, otherwise 1
   * @param partsB columns of the real op(B) for each column of the user's, likewise
   * @param blocks shape of a block of C, in elements of the user's matrix
   */
  private record Form(boolean transposeA, int partsA, int partsB, Shape blocks, ElementType type) {}

  /** The product of real operands. */
  private static MultiplyBlocks product(
      List<BlockFrame> operands,
      MatrixShape a,
      MatrixShape b,
      Form form,
      MultiplyOptions options,
      Optional<Reduction> reduction,
      String operator) {
    BlockFrame grouped =
        operands.stream()
            .filter(each -> !each.further().isEmpty())
            .findFirst()
            .orElse(operands.get(0));
    boolean hasGroups = !grouped.further().isEmpty();
    MultiplySpec spec =
        new MultiplySpec(
            operator,
            operands.size() == 1,
            new MultiplySpec.Side(
                form.transposeA,
                a.blockRows(),
                a.blockCols(),
                a.wholeRows(),
                a.stated(),
                hasGroups && operands.get(0).further().isEmpty(),
                form.partsA),
            new MultiplySpec.Side(
                options.transposeB(),
                b.blockCols(),
                b.blockRows(),
                b.wholeCols(),
                b.stated(),
                hasGroups && operands.get(operands.size() - 1).further().isEmpty(),
                form.partsB),
            new Extents(a.rows(), a.cols(), b.cols()),
            new MultiplySpec.Result(
                form.type,
                precision(options, form.type, operator),
                Math.toIntExact(form.blocks.extent(0) * form.partsA),
                Math.toIntExact(form.blocks.extent(1) * form.partsB),
                options.missing(),
                ScalaInterop.option(reduction.map(each -> each.of(b.cols()))),
                MultiplySpec.Epilogue.NONE),
            options.strategy(),
            grouped.further().size());
    List<Attribute> inputs = new ArrayList<>();
    for (BlockFrame operand : operands) {
      inputs.addAll(operand.block());
      if (!operand.further().isEmpty()) {
        grouped.further().forEach(group -> inputs.add(named(operand, group).orElseThrow()));
      }
    }
    List<Attribute> produced =
        reduction
            .map(each -> NeighbourRows.neighbours(each, grouped.further()))
            .orElseGet(() -> produced(grouped, spec));
    GroupingColumns.requireNames(produced, operator);
    return new MultiplyBlocks(
        spec,
        ScalaInterop.seq(inputs),
        ScalaInterop.seq(produced),
        ScalaInterop.seq(operands.stream().map(BlockFrame::plan).toList()));
  }

  private static void requireCountable(long rows, long cols, String matrix, String operator) {
    if (Bytes.product(rows, cols) >= KnownArray.TOO_MANY_ELEMENTS) {
      throw new IllegalArgumentException(
          "%s: %s is %s x %s; expected fewer than 2^58 elements"
              .formatted(operator, matrix, rows, cols));
    }
  }

  private static Precision precision(MultiplyOptions options, ElementType type, String operator) {
    try {
      return options.precision(type);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(operator + ": " + e.getMessage(), e);
    }
  }

  /**
   * The shape of C's blocks: the rows of A's blocks and the columns of B's, changed by {@link
   * UsualShape} if these blocks would be larger than the operands' blocks and the usual size, or
   * many and small. Square blocks of a square matrix stay square, for grams.
   */
  private static Shape blockShape(Shape extents, MatrixShape a, MatrixShape b, ElementType type) {
    long largest = Math.max(a.blockBytes(type), b.blockBytes(type));
    long most = Math.min(LARGE_BYTES, Math.max(UsualShape.BYTES, largest));
    Shape like = Shape.of(a.blockRows(), b.blockCols());
    Shape shape = UsualShape.of(extents, like, type.bytes(), most);
    boolean isSquare = extents.extent(0) == extents.extent(1) && like.extent(0) == like.extent(1);
    long side = Math.min(shape.extent(0), shape.extent(1));
    return isSquare ? Shape.of(side, side) : shape;
  }

  private static void requireSameGroups(
      BlockFrame left, BlockFrame right, String alternative, String operator) {
    if (!hasGroupsOf(left, right) || !hasGroupsOf(right, left)) {
      throw new IllegalArgumentException(
          ("%s: further columns tell several matrices apart and must be the same on"
                  + " both sides%s; A has (%s), B has (%s). Drop those that are no part of the"
                  + " key")
              .formatted(operator, alternative, groupsText(left), groupsText(right)));
    }
  }

  private static List<Attribute> produced(BlockFrame like, MultiplySpec spec) {
    Metadata metadata =
        ArrayMetadata.empty()
            .withExtents(Shape.of(spec.m(), spec.n()))
            .withBlockShape(Shape.of(spec.blockRows(), spec.blockCols()))
            .toMetadata();
    return PieceColumns.withGroups(
        like.further(),
        Attributes.column("row", DataTypes.LongType, Metadata.empty()),
        Attributes.column("col", DataTypes.LongType, Metadata.empty()),
        Attributes.column("rows", DataTypes.IntegerType, Metadata.empty()),
        Attributes.column("cols", DataTypes.IntegerType, Metadata.empty()),
        Attributes.column(
            BlockKind.VALUES,
            DataTypes.createArrayType(BlockSchema.sparkType(spec.type()), false),
            metadata));
  }

  /** The frame of one operand, whose further columns distinguish several matrices. */
  private static BlockFrame operand(LogicalPlan plan, String side, String operator) {
    BlockFrame frame = BlockFrame.combined(plan, BlockKind.MATRIX, operator, ", matrix " + side);
    frame.further().forEach(group -> requireKey(group, frame.operator()));
    return frame;
  }

  private static void requireReal(BlockFrame operand) {
    if (operand.blocks().isComplex()) {
      throw new IllegalArgumentException(
          operand.operator()
              + ": the blocks are complex (column imag); expected real ones, since scores are"
              + " compared");
    }
  }

  /** Checks that equal values of a grouping column have equal bytes, since tasks compare bytes. */
  private static void requireKey(Attribute group, String who) {
    DataType type = group.dataType();
    if (holdsFloats(type) || !UnsafeRowUtils.isBinaryStable(type)) {
      throw new IllegalArgumentException(
          ("%s: further column %s is %s, which cannot tell matrices apart; drop it, or"
                  + " CAST it to a type whose equal values are the same bytes")
              .formatted(who, group.name(), type.sql()));
    }
  }

  private static boolean holdsFloats(DataType type) {
    if (type instanceof ArrayType array) {
      return holdsFloats(array.elementType());
    } else if (type instanceof StructType struct) {
      return Arrays.stream(struct.fields()).anyMatch(field -> holdsFloats(field.dataType()));
    }
    return type instanceof MapType || type instanceof FloatType || type instanceof DoubleType;
  }

  /** The grouping column of an operand that has the name of {@code group}. */
  private static Optional<Attribute> named(BlockFrame operand, Attribute group) {
    return GroupingColumns.named(operand.further(), group);
  }

  /**
   * True if every grouping column of {@code other} has a counterpart of the same name and type in
   * {@code operand}.
   */
  private static boolean hasGroupsOf(BlockFrame operand, BlockFrame other) {
    return other.further().stream()
        .allMatch(
            group ->
                named(operand, group)
                    .filter(own -> own.dataType().sql().equals(group.dataType().sql()))
                    .isPresent());
  }

  private static String groupsText(BlockFrame operand) {
    return GroupingColumns.text(List.of(Attributes.schema(operand.further()).fields()));
  }

  /**
   * Extents of a matrix and of its blocks.
   *
   * @param stated true if metadata states the extents of blocks, or each matrix is known to be one
   *     block
   * @param wholeRows true if each block is known to have whole rows
   * @param wholeCols true if each block is known to have whole columns
   */
  private record MatrixShape(
      long rows,
      long cols,
      long blockRows,
      long blockCols,
      boolean stated,
      boolean wholeRows,
      boolean wholeCols) {
    private static MatrixShape of(
        Shape extents, Shape blocks, boolean stated, ArrayMetadata said, List<Boolean> whole) {
      long rows = extents.extent(0);
      long cols = extents.extent(1);
      return new MatrixShape(
          rows,
          cols,
          Math.max(1, Math.min(blocks.extent(0), rows)),
          Math.max(1, Math.min(blocks.extent(1), cols)),
          stated,
          said.isWhole(1) || whole.get(1) || stated && blocks.extent(1) >= cols,
          said.isWhole(0) || whole.get(0) || stated && blocks.extent(0) >= rows);
    }

    /** The shape as stated by metadata, else as the blocks' coordinates say. */
    static MatrixShape of(
        BlockFrame frame,
        Missing missing,
        Function<LogicalPlan, Dataset<Row>> asDataset,
        String operator) {
      Optional<Shape> extents = frame.extents();
      if (extents.isEmpty()) {
        KnownArray found =
            KnownArray.of(frame.plan(), frame.blocks(), missing, asDataset, operator);
        return of(
            found.extents(),
            found.largest(),
            found.alike() && found.isOneBlock(),
            frame.metadata(),
            found.whole());
      }
      Optional<Shape> stated = frame.blockShape().filter(b -> b.extent(0) > 0 && b.extent(1) > 0);
      Shape blocks = stated.orElse(Shape.of(UNKNOWN_BLOCK, UNKNOWN_BLOCK));
      return of(extents.get(), blocks, stated.isPresent(), frame.metadata(), List.of(false, false));
    }

    MatrixShape op(boolean transposed) {
      return transposed
          ? new MatrixShape(cols, rows, blockCols, blockRows, stated, wholeCols, wholeRows)
          : this;
    }

    /** The extents of the matrix as stored: its own, or its transpose's if {@code transposed}. */
    Shape stored(boolean transposed) {
      return transposed ? Shape.of(cols, rows) : Shape.of(rows, cols);
    }

    /**
     * The shape of a matrix with {@code ofRows} rows and {@code ofCols} columns for each of this
     * one's.
     */
    MatrixShape times(int ofRows, int ofCols) {
      return new MatrixShape(
          Bytes.product(rows, ofRows),
          Bytes.product(cols, ofCols),
          Bytes.product(blockRows, ofRows),
          Bytes.product(blockCols, ofCols),
          stated,
          wholeRows,
          wholeCols);
    }

    long blockBytes(ElementType type) {
      return Bytes.product(type.bytes(), blockRows, blockCols);
    }

    String extentsText() {
      return rows + " x " + cols;
    }
  }
}

package org.tilespark.spark.reduce;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GetArrayItem;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.ArrayStep;
import org.tilespark.arrow.blocks.Merge;
import org.tilespark.arrow.blocks.Reduce;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.KnownOperand;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.pointwise.ElementExpression;
import org.tilespark.spark.pointwise.ElementExpression.Operand;
import org.tilespark.spark.pointwise.ElementExpression.Translation;
import org.tilespark.spark.pointwise.ValueType;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.reduce.Formula.Base;
import org.tilespark.spark.reduce.Formula.Complex;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Makes the logical plans of reductions:
 *
 * <pre>
 *   ProgramBlocks, Merge      states (partial results) along the axes are merged into the result
 *     exchange                blocks of states that are whole along the axes
 *       ProgramBlocks, Reduce each block becomes states, in the task of the preceding program
 *         the blocks
 * </pre>
 *
 * <p>If blocks are whole along the axes, there is no exchange, and both are one program. If the
 * metadata states no tiling, an exchange first makes one.
 */
public final class ReductionPlans {
  /** The column of the result of a reduction of all elements. */
  static final String VALUE = "value";

  private final LogicalPlan input;
  private final BlockFrame frame;
  private final KnownArray known;
  private final List<Integer> axes; // numbers of the reduced axes, ascending
  private final Call call;

  /**
   * The request of a reduction.
   *
   * @param axes numbers of the reduced axes; empty for all; the result is then a row for each array
   * @param scalars further names in the formula in addition to {@code n}
   * @param asDataset turns a plan into a DataFrame; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @param operator operator's name, for messages
   */
  public record Call(
      BlockKind kind,
      Optional<List<Integer>> axes,
      Map<String, Double> scalars,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {}

  private ReductionPlans(LogicalPlan given, Call call) {
    this.call = call;
    Streaming.refuse(call.operator, given);
    KnownOperand operand =
        KnownOperand.of(given, call.kind, Missing.ERROR, call.asDataset, call.operator)
            .requireElements();
    this.known = operand.known();
    this.input = operand.plan();
    this.frame = operand.frame();
    GroupingColumns.of(frame.blocks(), frame.columns(), call.operator);
    this.axes =
        call.axes
            .map(some -> some.stream().sorted().toList())
            .orElseGet(() -> IntStream.range(0, call.kind.rank()).boxed().toList());
  }

  /**
   * A reduction of an array.
   *
   * @throws IllegalArgumentException if {@code input} has no blocks of the kind, or a type that the
   *     reduction does not accept, or arrays of several sizes
   */
  public static LogicalPlan reduce(LogicalPlan input, ArrayReduction reduction, Call call) {
    return new ReductionPlans(input, call).plan(reduction.formula());
  }

  /** Reduces by a formula. */
  static LogicalPlan reduce(LogicalPlan input, Formula formula, Call call) {
    return new ReductionPlans(input, call).plan(formula);
  }

  /**
   * A norm. Along several axes the norms 1 and inf are those of matrices, as numpy's are: the
   * greatest sum along the first axis, or along the second. {@code linalg.FactorPlans} computes the
   * norms that need singular values.
   *
   * @throws IllegalArgumentException as {@link #reduce}, or if the norm is not defined for this
   *     number of axes
   */
  public static LogicalPlan norm(LogicalPlan input, Optional<Norm> norm, Call call) {
    ReductionPlans plans = new ReductionPlans(input, call);
    boolean isComplex = plans.frame.blocks().isComplex();
    int count = plans.axes.size();
    Norm asked = norm.orElse(count == 1 ? Norm.TWO : Norm.FROBENIUS);
    boolean isOfMatrix = asked == Norm.ONE || asked == Norm.INFINITY;
    if (asked == Norm.NUCLEAR
        || (count == 1 ? asked == Norm.FROBENIUS : asked == Norm.TWO || isOfMatrix && count > 2)) {
      throw new IllegalArgumentException(
          ("%s: ord is '%s' along %s axes; expected 1, 2 or inf along one axis, fro, 1 or inf along"
                  + " two, of a matrix also 2 or nuc, or fro along three")
              .formatted(call.operator, asked, count));
    }
    if (count == 1 || !isOfMatrix) {
      return plans.plan(asked.formula(isComplex));
    }
    // As in numpy, the order of the given axes counts: the first of two is that of the rows.
    List<Integer> two = call.axes.orElse(plans.axes);
    int summed = asked == Norm.ONE ? 0 : 1;
    LogicalPlan sums =
        new ReductionPlans(plans.input, plans.along(two.get(summed)))
            .plan(Norm.ONE.formula(isComplex));
    Call greatest = call.axes.isEmpty() ? call : plans.along(two.get(1 - summed));
    return new ReductionPlans(sums, greatest).plan(ArrayReduction.MAX.formula());
  }

  private Call along(int axis) {
    return new Call(
        call.kind, Optional.of(List.of(axis)), call.scalars, call.asDataset, call.operator);
  }

  private IllegalArgumentException bad(String message, Object... arguments) {
    return new IllegalArgumentException(call.operator + ": " + message.formatted(arguments));
  }

  // ---- programs of formulas

  private LogicalPlan plan(Formula formula) {
    ValueType elements = elements();
    if (elements.isComplex() && formula.complex() == Complex.REFUSED) {
      throw bad("the blocks are complex; expected real ones (which have no column imag)");
    }
    if (elements.isBool() && !formula.takesTruth()) {
      throw bad(
          "the elements are truth values; expected numbers (map them by 'CAST(v AS TINYINT)')");
    }
    boolean ofParts = elements.isComplex() && formula.complex() != Complex.TAKEN;
    List<Base> bases = new ArrayList<>();
    for (String part : ofParts ? List.of("real(v)", "imag(v)") : List.of("v")) {
      formula.bases().forEach(base -> bases.add(new Base(base.reduction(), base.of(part))));
    }
    List<Reduce.Base> programs = new ArrayList<>();
    ElementType states = ElementType.INT64;
    for (Base base : bases) {
      ElementwiseProgram of =
          ElementExpression.parse(base.of())
              .translate(call.kind, List.of(Operand.of("v", elements)), Map.of())
              .program();
      programs.add(new Reduce.Base(base.reduction(), of));
      ElementType needed = base.reduction().state(of.types().get(of.outputs().get(0).real()));
      states = needed == ElementType.FLOAT64 ? needed : states;
    }
    return plan(programs, states, finish(formula, bases, states), keepsType(formula));
  }

  /** The type of the elements. */
  private ValueType elements() {
    ElementType type = frame.blocks().elementType();
    if (frame.blocks().isComplex()) {
      return ValueType.complex(type);
    }
    boolean isBool =
        type == ElementType.INT8
            && frame.metadata().fileType().equals(Optional.of(ArrayMetadata.BOOL));
    return isBool ? ValueType.BOOL : ValueType.real(type);
  }

  private Translation finish(Formula formula, List<Base> bases, ElementType states) {
    ValueType elements = elements();
    ValueType result = formula.result().of(elements);
    List<Operand> operands = new ArrayList<>();
    int numbers = bases.stream().mapToInt(base -> base.reduction().numbers()).sum();
    for (int i = 0; i < numbers; i++) {
      operands.add(Operand.of("r" + i, ValueType.real(states)));
    }
    Map<String, Number> scalars = new HashMap<>(call.scalars);
    scalars.put(
        "n",
        axes.stream().mapToLong(axis -> known.extents().extent(axis)).reduce(1, (a, b) -> a * b));
    Complex complex = elements.isComplex() ? formula.complex() : Complex.TAKEN;
    String text = typed(formula.finish(), result);
    text =
        switch (complex) {
          case REFUSED, TAKEN -> text;
          case BY_PARTS -> "complex(%s, %s)".formatted(text, ofImag(text, numbers / 2, "r%d"));
          case ADDED -> ofImag(text, numbers / 2, "(r%2$d + r%1$d)");
        };
    return ElementExpression.parse(text).translate(call.kind, operands, scalars);
  }

  /**
   * The expression {@code text} on the results r0, r1, ... of real parts, with other names for
   * these.
   *
   * @param count count of the results of real parts, and also of those of imaginary parts, which
   *     follow
   * @param form format of the name in place of a result; its arguments are the number of the
   *     corresponding result of imaginary parts, and its own
   */
  private static String ofImag(String text, int count, String form) {
    return Pattern.compile("\\br(\\d+)\\b")
        .matcher(text)
        .replaceAll(
            found -> {
              int real = Integer.parseInt(found.group(1));
              return form.formatted(real + count, real);
            });
  }

  private static String typed(String text, ValueType result) {
    return result.isBool()
        ? "(" + text + ") <> 0"
        : "CAST(%s AS %s)".formatted(text, BlockSchema.sparkType(result.element()).sql());
  }

  // ---- plans of programs

  /**
   * True if the result may keep the file type of the elements: a sum of unsigned integers, for
   * example, has another type.
   */
  private boolean keepsType(Formula formula) {
    boolean isInteger =
        frame.blocks().elementType() != ElementType.FLOAT32
            && frame.blocks().elementType() != ElementType.FLOAT64;
    return formula.result() == Formula.Result.SAME || !isInteger;
  }

  private LogicalPlan plan(
      List<Reduce.Base> bases, ElementType states, Translation finish, boolean keepsType) {
    boolean isWhole = axes.stream().allMatch(known.whole()::get);
    boolean isTiled = frame.blockShape().isPresent() && frame.extents().isPresent();
    Shape grid = isWhole ? cells(known.largest()) : isTiled ? known.largest() : tiling();
    LogicalPlan blocks =
        isWhole || isTiled
            ? input
            : ReblockPlans.reblock(input, call.kind, grid.toArray(), Missing.ERROR, call.operator);
    Reduce reduce = new Reduce(axes, grid, bases, states);
    ArrayProgram first =
        new ArrayProgram(
            known.extents(),
            frame.blocks().elementType(),
            frame.blocks().isComplex(),
            List.<ArrayStep>of(reduce));
    Shape ofStates = first.output().shape();
    boolean isRegular = isTiled || !isWhole;
    ArrayMetadata stated = ArrayMetadata.empty().withExtents(ofStates);
    LogicalPlan at =
        program(blocks, first, isRegular ? stated.withBlockShape(reduce.cell()) : stated);
    Shape meeting = reduce.cell();
    if (!isWhole) {
      long[] shape = meeting.toArray();
      axes.forEach(axis -> shape[axis] = ofStates.extent(axis));
      List<Integer> kept =
          IntStream.range(0, shape.length).filter(axis -> !axes.contains(axis)).boxed().toList();
      meeting = UsualShape.halved(Shape.of(shape), kept, states.bytes(), UsualShape.LARGE_BYTES);
      at =
          ReblockPlans.reblock(
              at,
              call.kind,
              meeting.toArray(),
              Missing.ERROR,
              input,
              "%s, where places count the blocks of a tiling in blocks of %s"
                  .formatted(call.operator, grid));
    }
    List<BaseReduction> merged = bases.stream().map(Reduce.Base::reduction).toList();
    ArrayProgram second =
        new ArrayProgram(
            ofStates, states, false, List.of(new Merge(axes, merged, finish.program())));
    LogicalPlan result =
        program(at, second, described(second, meeting, finish.type(), isRegular, keepsType));
    return call.axes.isPresent() ? result : asRows(result);
  }

  /** The shape of blocks that are whole along the reduced axes. */
  private Shape cells(Shape largest) {
    long[] shape = largest.toArray();
    axes.forEach(axis -> shape[axis] = known.extents().extent(axis));
    return Shape.of(shape);
  }

  /** The block shape of the tiling that an exchange makes: about that of the existing blocks. */
  private Shape tiling() {
    int width = frame.blocks().elementType().bytes() * frame.blocks().planes().size();
    return UsualShape.of(known.extents(), known.largest(), width, UsualShape.LARGE_BYTES);
  }

  private LogicalPlan program(LogicalPlan plan, ArrayProgram program, ArrayMetadata metadata) {
    return ProgramBlocks.of(
        plan,
        call.kind,
        program,
        metadata.toMetadata(),
        Optional.empty(),
        Missing.ERROR,
        call.operator);
  }

  /**
   * The metadata of the result.
   *
   * @param meeting shape of the blocks of states
   * @param isRegular true if the result's blocks are the cells of a regular tiling
   * @param keepsType true if the elements' file type may be that of the result
   */
  private ArrayMetadata described(
      ArrayProgram program, Shape meeting, ValueType type, boolean isRegular, boolean keepsType) {
    long[] shape = meeting.toArray();
    axes.forEach(axis -> shape[axis] = 1);
    ArrayMetadata metadata =
        frame.metadata().withSpectrum(Optional.empty()).withExtents(program.output().shape());
    metadata = isRegular ? metadata.withBlockShape(Shape.of(shape)) : metadata.withoutBlockShape();
    if (type.isBool()) {
      return metadata.withFileType(ArrayMetadata.BOOL);
    }
    boolean isSame = keepsType && type.equals(elements());
    return isSame || metadata.fileType().isEmpty()
        ? metadata
        : type.element() == ElementType.INT64
            ? metadata.withFileType("<i8")
            : metadata.ofComputed(type.element(), type.isComplex());
  }

  /** A row for each array: its further columns, and the only element of its block. */
  private LogicalPlan asRows(LogicalPlan result) {
    BlockFrame blocks = BlockFrame.of(result, call.kind, call.operator);
    for (Attribute column : blocks.further()) {
      if (column.name().equalsIgnoreCase(VALUE)) {
        throw bad("further column %s has the name of the result; rename it", column.name());
      }
    }
    List<NamedExpression> columns = new ArrayList<>(blocks.further());
    for (int plane = 0; plane < blocks.blocks().planes().size(); plane++) {
      Attribute values = blocks.columns().get(blocks.blocks().planes().get(plane));
      columns.add(
          Attributes.alias(
              new GetArrayItem(values, Literal.create(0, DataTypes.IntegerType), false),
              plane == 0 ? VALUE : values.name(),
              values.metadata()));
    }
    return new Project(ScalaInterop.seq(columns), result);
  }
}

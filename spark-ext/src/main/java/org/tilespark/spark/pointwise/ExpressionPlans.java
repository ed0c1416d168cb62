package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.Elementwise;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Extents;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.pointwise.ElementExpression.Operand;
import org.tilespark.spark.pointwise.ElementExpression.Translation;
import org.tilespark.spark.reblock.CommonCut;
import org.tilespark.spark.reblock.SameArrays;
import org.tilespark.spark.stage.StageBranch;

/** The logical plans of the operators that take an expression of elements, as a user writes it. */
public final class ExpressionPlans {
  private final BlockKind kind;
  private final String operator;
  private final ElementExpression expression;
  private final Map<String, Number> scalars;

  /**
   * The request of a user.
   *
   * @param text text of an {@link ElementExpression}
   * @param scalars numbers by the names that the text has for them; it must use each
   */
  public record Asked(String text, Map<String, Number> scalars) {
    /** Copies the numbers. */
    public Asked {
      scalars = Map.copyOf(scalars);
    }
  }

  private ExpressionPlans(BlockKind kind, String operator, Asked asked) {
    this.kind = kind;
    this.operator = operator;
    this.scalars = asked.scalars;
    String text = asked.text;
    this.expression = asked(() -> ElementExpression.parse(text));
    Set<String> used = expression.names();
    for (String name : scalars.keySet()) {
      if (!used.contains(name.toLowerCase(Locale.ROOT))) {
        throw new IllegalArgumentException(
            "%s: the expression '%s' names no %s, and there is no parameter of that name"
                .formatted(operator, text, name));
      }
    }
  }

  /**
   * Each element computed from itself.
   *
   * @param asked an expression of {@code v}
   * @throws IllegalArgumentException if {@code a} has no blocks of this kind, or the expression
   *     does not fit their type
   */
  public static LogicalPlan map(LogicalPlan a, BlockKind kind, Asked asked, String operator) {
    ExpressionPlans plans = new ExpressionPlans(kind, operator, asked);
    BlockFrame frame = BlockFrame.maybeHaloed(a, kind, operator);
    Translation translation = plans.translated(List.of(plans.operand("v", frame, Set.of())));
    return PointwisePlans.of(
        List.of(plans.branch(frame, frame.further())),
        frame,
        new Elementwise(translation.program(), plans.label()),
        described(frame.metadata(), translation.type()));
  }

  /**
   * Each element computed from the elements of two arrays at the same place. Along an axis where an
   * array has extent 1 and the other has more, the array is broadcast.
   *
   * @param asked an expression of {@code a} and {@code b}
   * @param missing treatment of elements that are in no block of an array
   * @param asDataset turns a plan into a DataFrame
   * @throws IllegalArgumentException if one has no blocks of this kind, the expression does not fit
   *     their types, or they differ in extents or further columns, or are spectra that do not fit
   *     each other
   */
  public static LogicalPlan zip(
      LogicalPlan a,
      LogicalPlan b,
      BlockKind kind,
      Asked asked,
      Missing missing,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    ExpressionPlans plans = new ExpressionPlans(kind, operator, asked);
    Agreement agreement = Agreement.of(a, b, kind, operator);
    agreement.partners();
    agreement.requireSpectraThatFit();
    Optional<RepeatedBlocks> repeated = RepeatedBlocks.of(agreement, missing, asDataset);
    if (repeated.isEmpty()) {
      return plans.aligned(CommonCut.of(agreement.first(), agreement.second(), missing, asDataset));
    }
    LogicalPlan result = plans.repeating(repeated.get());
    return missing == Missing.ZERO
        ? result
        : SameArrays.required(result, agreement.first(), agreement.second(), operator);
  }

  // ---- the expression

  private Operand operand(String name, BlockFrame frame, Set<Integer> repeated) {
    ElementType type = frame.blocks().elementType();
    boolean isComplex = frame.blocks().isComplex();
    boolean isBool =
        type == ElementType.INT8
            && !isComplex
            && frame.metadata().fileType().equals(Optional.of(ArrayMetadata.BOOL));
    return asked(() -> new Operand(name, new ValueType(type, isComplex, isBool), repeated));
  }

  private Translation translated(List<Operand> operands) {
    return asked(() -> expression.translate(kind, operands, scalars));
  }

  /** The text that plans show for the expression. */
  private String label() {
    return scalars.isEmpty() ? expression.text() : expression.text() + " with " + scalars;
  }

  /** Runs {@code body}, and adds the operator's name to its errors about the expression. */
  private <T> T asked(Supplier<T> body) {
    try {
      return body.get();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(operator + ": " + e.getMessage(), e);
    }
  }

  /** The result's metadata: floating-point results from a spectrum are still a spectrum. */
  private static ArrayMetadata described(ArrayMetadata known, ValueType type) {
    ArrayMetadata kept = type.isFloating() ? known : known.withSpectrum(Optional.empty());
    return type.isBool()
        ? kept.withFileType(ArrayMetadata.BOOL)
        : kept.ofComputed(type.element(), type.isComplex());
  }

  // ---- two arrays of the same extents

  private LogicalPlan aligned(CommonCut cut) {
    BlockFrame a = cut.first();
    BlockFrame b = PointwisePlans.distinct(a, cut.second());
    Agreement agreement = new Agreement(a, b, operator);
    Translation translation =
        translated(List.of(operand("a", a, Set.of()), operand("b", b, Set.of())));
    return PointwisePlans.of(
        List.of(branch(a, a.further()), branch(b, agreement.partners())),
        a,
        new Elementwise(
            translation.program(),
            List.of(),
            List.of(PointwisePlans.program(b, extents(a), List.of())),
            label()),
        described(agreement.combined(), translation.type()));
  }

  private StageBranch branch(BlockFrame frame, List<Attribute> further) {
    return StageBranch.of(frame, further, Missing.ERROR, operator);
  }

  private static Extents extents(BlockFrame frame) {
    return Extents.of(frame.extents(), frame.kind().rank());
  }

  // ---- an array that repeats its elements

  private LogicalPlan repeating(RepeatedBlocks blocks) {
    List<Operand> operands = new ArrayList<>();
    for (RepeatedBlocks.Array array : blocks.arrays()) {
      operands.add(operand(array.name(), array.frame(), array.repeated()));
    }
    Translation translation = translated(operands);
    List<ArrayProgram> others =
        blocks.beside().stream()
            .map(array -> PointwisePlans.program(array.frame(), extents(array.frame()), List.of()))
            .toList();
    return PointwisePlans.of(
        List.of(blocks.branch()),
        blocks.main(),
        new Elementwise(blocks.reading(translation.program()), List.of(), others, label()),
        described(blocks.metadata(), translation.type()));
  }
}

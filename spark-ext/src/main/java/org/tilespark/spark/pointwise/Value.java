package org.tilespark.spark.pointwise;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.kernels.pointwise.Instruction.Constant;
import org.tilespark.kernels.pointwise.UnaryFunction;
import org.tilespark.layout.ElementType;

/**
 * A value of a program under construction: an instruction and its operand values. Values form an
 * acyclic graph; {@link ProgramWriter} turns the used ones into code.
 */
abstract class Value {
  private final ElementType type;
  private final List<Value> operands;

  private Value(ElementType type, List<Value> operands) {
    this.type = type;
    this.operands = List.copyOf(operands);
  }

  /** The type of the number. */
  final ElementType type() {
    return type;
  }

  /** The values that the instruction takes, in its order. */
  final List<Value> operands() {
    return operands;
  }

  /** The instruction, where {@code at} are the numbers of the operands. */
  abstract Instruction instruction(List<Integer> at);

  /** The number, if it is the same for all elements. */
  Optional<Constant> constant() {
    return Optional.empty();
  }

  /**
   * Applies a function at compile time to a constant, or to each constant of a choice; empty for
   * other values, and if the function has no result.
   */
  Optional<Value> folded(Function<Constant, Optional<Constant>> function) {
    return Optional.empty();
  }

  /** True if the value is a constant or a choice among constants. */
  final boolean isLiteral() {
    return folded(Optional::of).isPresent();
  }

  /** True if the value is a constant integer in the type's range, or a choice among those. */
  final boolean fits(ElementType integers) {
    return folded(x -> Folding.fits(integers, x.bits()) ? Optional.of(x) : Optional.empty())
        .isPresent();
  }

  /** The value in another type, as {@link Instruction.Cast} makes it. */
  final Value in(ElementType other) {
    if (other == type) {
      return this;
    }
    return folded(x -> Folding.cast(other, x))
        .orElseGet(() -> derived(List.of(this), at -> new Instruction.Cast(other, at.get(0))));
  }

  /** An element of an input; if it is complex, its real (0) or imaginary part (1). */
  static Value load(ElementType type, int input, int part) {
    return given(type, new Instruction.Load(input, part));
  }

  /** The element's index along an axis of the whole array. */
  static Value place(int axis) {
    return given(ElementType.INT64, new Instruction.Place(axis));
  }

  /** An integer constant of a type that holds it. */
  static Value integer(ElementType type, long value) {
    return new Same(new Constant(type, value));
  }

  /** A constant of a floating-point type; rounded if that is FLOAT32. */
  static Value floating(ElementType type, double value) {
    return new Same(type == ElementType.FLOAT32 ? Constant.of((float) value) : Constant.of(value));
  }

  /** A constant of a type that holds it. */
  static Value number(ElementType type, int value) {
    return ValueType.isFloating(type) ? floating(type, value) : integer(type, value);
  }

  /** A function of one value. */
  static Value of(UnaryFunction function, Value operand) {
    return operand
        .folded(x -> Folding.of(function, x))
        .orElseGet(
            () -> derived(List.of(operand), at -> new Instruction.Unary(function, at.get(0))));
  }

  /** A function of two values of one type. */
  static Value of(BinaryFunction function, Value left, Value right) {
    Optional<Value> folded =
        right
            .constant()
            .flatMap(y -> left.folded(x -> Folding.of(function, x, y)))
            .or(() -> left.constant().flatMap(x -> right.folded(y -> Folding.of(function, x, y))));
    return folded.orElseGet(
        () ->
            derived(
                List.of(left, right),
                at -> new Instruction.Binary(function, at.get(0), at.get(1))));
  }

  /**
   * The value {@code yes} where {@code condition} is 1, otherwise {@code no}; both have one type.
   */
  static Value select(Value condition, Value yes, Value no) {
    return condition
        .constant()
        .map(truth -> truth.bits() == 0 ? no : yes)
        .orElseGet(() -> new Choice(condition, yes, no));
  }

  /** Makes the instruction of a value from the numbers of its operands. */
  private interface Maker {
    Instruction instruction(List<Integer> at);
  }

  private static Value given(ElementType type, Instruction instruction) {
    return new Value(type, List.of()) {
      @Override
      Instruction instruction(List<Integer> at) {
        return instruction;
      }
    };
  }

  private static Value derived(List<Value> operands, Maker maker) {
    List<ElementType> types = operands.stream().map(Value::type).toList();
    List<Integer> first = IntStream.range(0, types.size()).boxed().toList();
    // The instruction determines its result type from the operands' types.
    ElementType type =
        maker.instruction(first).type(new ElementwiseProgram.Scope(1, List.of(), List.of(), types));
    return new Value(type, operands) {
      @Override
      Instruction instruction(List<Integer> at) {
        return maker.instruction(at);
      }
    };
  }

  /** A constant: the same number for all elements. */
  private static final class Same extends Value {
    private final Constant constant;

    Same(Constant constant) {
      super(constant.type(), List.of());
      this.constant = constant;
    }

    @Override
    Instruction instruction(List<Integer> at) {
      return constant;
    }

    @Override
    Optional<Constant> constant() {
      return Optional.of(constant);
    }

    @Override
    Optional<Value> folded(Function<Constant, Optional<Constant>> function) {
      return function.apply(constant).map(Same::new);
    }
  }

  /** A choice of one of two values by a condition. */
  private static final class Choice extends Value {
    Choice(Value condition, Value yes, Value no) {
      super(yes.type(), List.of(condition, yes, no));
    }

    @Override
    Instruction instruction(List<Integer> at) {
      return new Instruction.Select(at.get(0), at.get(1), at.get(2));
    }

    @Override
    Optional<Value> folded(Function<Constant, Optional<Constant>> function) {
      return operands()
          .get(1)
          .folded(function)
          .flatMap(
              yes ->
                  operands()
                      .get(2)
                      .folded(function)
                      .map(no -> new Choice(operands().get(0), yes, no)));
    }
  }
}

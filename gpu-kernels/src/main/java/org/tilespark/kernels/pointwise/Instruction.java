package org.tilespark.kernels.pointwise;

import java.io.Serializable;
import java.util.List;
import java.util.OptionalLong;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Scope;
import org.tilespark.layout.ElementType;

/**
 * An instruction of an {@link ElementwiseProgram}, which gives one value. Operands are given by the
 * numbers of earlier values.
 */
public sealed interface Instruction extends Serializable {
  /**
   * The type of the value that the instruction gives.
   *
   * @throws IllegalArgumentException if an operand does not exist or has a type that the
   *     instruction does not take; the message says what was found
   */
  ElementType type(Scope scope);

  /** Calls the visitor's method for this instruction. */
  <R> R accept(Visitor<R> visitor);

  /** The numbers of the values that the instruction takes. */
  default List<Integer> operands() {
    return List.of();
  }

  /** The bits of the constant, if the instruction is one; otherwise empty. */
  default OptionalLong constantBits() {
    return OptionalLong.empty();
  }

  /** True if the instruction depends on the element's place in the whole array. */
  default boolean readsPlace() {
    return false;
  }

  /** This instruction for arrays with one more leading axis. */
  default Instruction behindOneMoreAxis() {
    return this;
  }

  /** This instruction with 0 in place of a constant. */
  default Instruction withoutConstant() {
    return this;
  }

  /**
   * A method for each kind of instruction, so that code which translates programs must handle all
   * kinds to compile.
   *
   * @param <R> type of the results
   */
  interface Visitor<R> {
    R load(Load load);

    R constant(Constant constant);

    R place(Place place);

    R axisValue(AxisValue value);

    R unary(Unary unary);

    R binary(Binary binary);

    R select(Select select);

    R cast(Cast cast);
  }

  /**
   * The instruction that gives an element of an input, or one part of it.
   *
   * @param part 0 for the element or its real part, 1 for the imaginary part
   */
  record Load(int input, int part) implements Instruction {
    @Override
    public ElementType type(Scope scope) {
      if (input < 0 || input >= scope.inputs().size()) {
        throw new IllegalArgumentException("there are " + scope.inputs().size() + " inputs");
      }
      ElementwiseProgram.Input from = scope.inputs().get(input);
      if (part < 0 || part > (from.isComplex() ? 1 : 0)) {
        throw new IllegalArgumentException("input " + input + " is " + from);
      }
      return from.type();
    }

    @Override
    public <R> R accept(Visitor<R> visitor) {
      return visitor.load(this);
    }
  }

  /**
   * The instruction that gives a constant.
   *
   * @param bits bits of a floating-point number of its type, or the value of an integer
   */
  record Constant(ElementType type, long bits) implements Instruction {
    /** A FLOAT32 constant. */
    public static Constant of(float value) {
      return new Constant(ElementType.FLOAT32, Float.floatToRawIntBits(value));
    }

    /** A FLOAT64 constant. */
    public static Constant of(double value) {
      return new Constant(ElementType.FLOAT64, Double.doubleToRawLongBits(value));
    }

    @Override
    public ElementType type(Scope scope) {
      return type;
    }

    @Override
    public <R> R accept(Visitor<R> visitor) {
      return visitor.constant(this);
    }

    @Override
    public OptionalLong constantBits() {
      return OptionalLong.of(bits);
    }

    @Override
    public Instruction withoutConstant() {
      return new Constant(type, 0);
    }
  }

  /** The instruction that gives the element's index along an axis of the whole array, an INT64. */
  record Place(int axis) implements Instruction {
    @Override
    public ElementType type(Scope scope) {
      if (axis < 0 || axis >= scope.rank()) {
        throw new IllegalArgumentException("the arrays have rank " + scope.rank());
      }
      return ElementType.INT64;
    }

    @Override
    public boolean readsPlace() {
      return true;
    }

    @Override
    public Instruction behindOneMoreAxis() {
      return new Place(axis + 1);
    }

    @Override
    public <R> R accept(Visitor<R> visitor) {
      return visitor.place(this);
    }
  }

  /**
   * The instruction that gives the number of a vector at the element's index along the vector's
   * axis, a FLOAT64.
   */
  record AxisValue(int vector) implements Instruction {
    @Override
    public ElementType type(Scope scope) {
      if (vector < 0 || vector >= scope.vectors().size()) {
        throw new IllegalArgumentException("there are " + scope.vectors().size() + " vectors");
      }
      return ElementType.FLOAT64;
    }

    @Override
    public <R> R accept(Visitor<R> visitor) {
      return visitor.axisValue(this);
    }
  }

  /** The instruction that gives a function of one value. */
  record Unary(UnaryFunction function, int operand) implements Instruction {
    @Override
    public ElementType type(Scope scope) {
      return function.type(scope.typeOf(operand));
    }

    @Override
    public <R> R accept(Visitor<R> visitor) {
      return visitor.unary(this);
    }

    @Override
    public List<Integer> operands() {
      return List.of(operand);
    }
  }

  /** The instruction that gives a function of two values of one type. */
  record Binary(BinaryFunction function, int left, int right) implements Instruction {
    @Override
    public ElementType type(Scope scope) {
      ElementType type = scope.typeOf(left);
      if (scope.typeOf(right) != type) {
        throw new IllegalArgumentException(
            "it takes values of one type; found " + type + " and " + scope.typeOf(right));
      }
      return function.type(type);
    }

    @Override
    public <R> R accept(Visitor<R> visitor) {
      return visitor.binary(this);
    }

    @Override
    public List<Integer> operands() {
      return List.of(left, right);
    }
  }

  /**
   * The instruction that gives one of two values of the same type: the first if an INT8 condition
   * is not 0, otherwise the second.
   */
  record Select(int condition, int yes, int no) implements Instruction {
    @Override
    public ElementType type(Scope scope) {
      ElementType type = scope.typeOf(yes);
      if (scope.typeOf(condition) != ElementType.INT8 || scope.typeOf(no) != type) {
        throw new IllegalArgumentException(
            "it takes an INT8 and two values of one type; found %s, %s and %s"
                .formatted(scope.typeOf(condition), type, scope.typeOf(no)));
      }
      return type;
    }

    @Override
    public <R> R accept(Visitor<R> visitor) {
      return visitor.select(this);
    }

    @Override
    public List<Integer> operands() {
      return List.of(condition, yes, no);
    }
  }

  /**
   * The instruction that converts a value to another type, as numpy's {@code astype}:
   * floating-point numbers are truncated to integers; NaN and values outside the range become the
   * least INT32 or INT64, of which narrower types take the low bytes.
   */
  record Cast(ElementType type, int operand) implements Instruction {
    @Override
    public ElementType type(Scope scope) {
      scope.typeOf(operand);
      return type;
    }

    @Override
    public <R> R accept(Visitor<R> visitor) {
      return visitor.cast(this);
    }

    @Override
    public List<Integer> operands() {
      return List.of(operand);
    }
  }
}

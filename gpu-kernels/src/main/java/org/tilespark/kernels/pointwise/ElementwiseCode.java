package org.tilespark.kernels.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.layout.ElementType;

/**
 * Builds an {@link ElementwiseProgram} instruction by instruction. Each method returns the number
 * of the value that it adds.
 */
public final class ElementwiseCode {
  private final List<Input> inputs = new ArrayList<>();
  private final List<Instruction> code = new ArrayList<>();

  private int add(Instruction instruction) {
    code.add(instruction);
    return code.size() - 1;
  }

  /** The elements of another real input. */
  public int input(Input input) {
    inputs.add(input);
    return add(new Instruction.Load(inputs.size() - 1, 0));
  }

  /** Adds a real input with the extents of the result; the value is its element. */
  public int input(ElementType type) {
    return input(Input.of(type, false));
  }

  /** A FLOAT64. */
  public int constant(double value) {
    return add(Instruction.Constant.of(value));
  }

  /** An INT64. */
  public int constant(long value) {
    return add(new Instruction.Constant(ElementType.INT64, value));
  }

  /** A function of one value. */
  public int apply(UnaryFunction function, int x) {
    return add(new Instruction.Unary(function, x));
  }

  /** A function of two values. */
  public int apply(BinaryFunction function, int x, int y) {
    return add(new Instruction.Binary(function, x, y));
  }

  /** One of two values. */
  public int select(int condition, int yes, int no) {
    return add(new Instruction.Select(condition, yes, no));
  }

  /** A value in another type. */
  public int cast(ElementType type, int x) {
    return add(new Instruction.Cast(type, x));
  }

  /**
   * The finished program, for arrays of a rank.
   *
   * @param outputs values of the real outputs
   */
  public ElementwiseProgram program(int rank, int... outputs) {
    return new ElementwiseProgram(
        rank, inputs, List.of(), code, IntStream.of(outputs).mapToObj(Output::real).toList());
  }
}

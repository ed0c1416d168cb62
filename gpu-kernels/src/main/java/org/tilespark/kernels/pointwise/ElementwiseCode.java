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

  /** Adds a real input; the value is the input's element. */
  public int input(Input input) {
    inputs.add(input);
    return add(new Instruction.Load(inputs.size() - 1, 0));
  }

  /** Adds a real input with the extents of the result; the value is the input's element. */
  public int input(ElementType type) {
    return input(Input.of(type, false));
  }

  /** Adds a FLOAT64 constant. */
  public int constant(double value) {
    return add(Instruction.Constant.of(value));
  }

  /** Adds an INT64 constant. */
  public int constant(long value) {
    return add(new Instruction.Constant(ElementType.INT64, value));
  }

  /** Adds a function of value {@code x}. */
  public int apply(UnaryFunction function, int x) {
    return add(new Instruction.Unary(function, x));
  }

  /** Adds a function of the values {@code x} and {@code y}. */
  public int apply(BinaryFunction function, int x, int y) {
    return add(new Instruction.Binary(function, x, y));
  }

  /** Adds a choice: value {@code yes} if {@code condition} is not 0, otherwise {@code no}. */
  public int select(int condition, int yes, int no) {
    return add(new Instruction.Select(condition, yes, no));
  }

  /** Adds value {@code x} converted to a type. */
  public int cast(ElementType type, int x) {
    return add(new Instruction.Cast(type, x));
  }

  /**
   * The finished program, for arrays of {@code rank} axes.
   *
   * @param outputs numbers of the values that are the real outputs
   */
  public ElementwiseProgram program(int rank, int... outputs) {
    return new ElementwiseProgram(
        rank, inputs, List.of(), code, IntStream.of(outputs).mapToObj(Output::real).toList());
  }
}

package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;

/** The programs of elementwise operators with fixed expressions, for FLOAT or DOUBLE. */
final class PointwisePrograms {
  private static final ElementType WIDE = ElementType.FLOAT64;

  private PointwisePrograms() {}

  /** Each number times {@code alpha}, computed in double and rounded once. */
  static ElementwiseProgram scale(BlockSchema v, double alpha) {
    Value factor = Value.floating(WIDE, alpha);
    return program(
        v.kind(),
        List.of(input(v)),
        planes(v, plane -> product(wide(v, 0, plane), factor).in(v.elementType())));
  }

  /** Sums of two elements, in the type of the values. */
  static ElementwiseProgram add(BlockSchema a, BlockSchema b) {
    ElementType type = a.elementType();
    return program(
        a.kind(),
        List.of(input(a), input(b)),
        planes(a, plane -> sum(Value.load(type, 0, plane), Value.load(type, 1, plane))));
  }

  /**
   * Products of two elements, computed in double and rounded once. The imaginary part of a real
   * operand is 0.
   */
  static ElementwiseProgram multiply(BlockSchema a, BlockSchema b) {
    List<Value> values = new ArrayList<>();
    if (!a.isComplex() && !b.isComplex()) {
      values.add(product(wide(a, 0, 0), wide(b, 1, 0)));
    } else {
      values.add(
          difference(product(wide(a, 0, 0), wide(b, 1, 0)), product(wide(a, 0, 1), wide(b, 1, 1))));
      values.add(sum(product(wide(a, 0, 0), wide(b, 1, 1)), product(wide(a, 0, 1), wide(b, 1, 0))));
    }
    return program(
        a.kind(),
        List.of(input(a), input(b)),
        values.stream().map(value -> value.in(a.elementType())).toList());
  }

  /**
   * Subtracts the means of their columns from a matrix's values: the inputs are row vectors of the
   * means and of their rounding errors, so that large means cost little accuracy.
   */
  static ElementwiseProgram center(BlockSchema v) {
    Input row = new Input(WIDE, v.isComplex(), Set.of(0));
    return program(
        v.kind(),
        List.of(input(v), row, row),
        planes(
            v,
            plane ->
                difference(
                        difference(wide(v, 0, plane), Value.load(WIDE, 1, plane)),
                        Value.load(WIDE, 2, plane))
                    .in(v.elementType())));
  }

  private static ElementwiseProgram program(BlockKind kind, List<Input> inputs, List<Value> parts) {
    ProgramWriter writer = new ProgramWriter();
    List<Integer> numbers = parts.stream().map(writer::write).toList();
    Output output = new Output(numbers.get(0), numbers.size() > 1 ? numbers.get(1) : -1);
    return new ElementwiseProgram(kind.rank(), inputs, List.of(), writer.code(), List.of(output));
  }

  private static List<Value> planes(BlockSchema blocks, IntFunction<Value> value) {
    return IntStream.range(0, blocks.planes().size()).mapToObj(value).toList();
  }

  private static Input input(BlockSchema blocks) {
    return Input.of(blocks.elementType(), blocks.isComplex());
  }

  /**
   * The real (plane 0) or imaginary part (plane 1) of an input's element, in double; 0 for the
   * imaginary part of real blocks.
   */
  private static Value wide(BlockSchema blocks, int input, int plane) {
    return plane < blocks.planes().size()
        ? Value.load(blocks.elementType(), input, plane).in(WIDE)
        : Value.floating(WIDE, 0);
  }

  private static Value sum(Value x, Value y) {
    return Value.of(BinaryFunction.ADD, x, y);
  }

  private static Value difference(Value x, Value y) {
    return Value.of(BinaryFunction.SUBTRACT, x, y);
  }

  private static Value product(Value x, Value y) {
    return Value.of(BinaryFunction.MULTIPLY, x, y);
  }
}

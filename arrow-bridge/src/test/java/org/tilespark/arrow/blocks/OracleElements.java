package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** An elementwise program, computed in double precision one element after the other. */
final class OracleElements implements Instruction.Visitor<Double> {
  private final ElementwiseBlock step;
  private final List<OracleArray> inputs;
  private final List<ElementType> types;
  private final List<Double> values = new ArrayList<>();
  private long[] index;

  private OracleElements(ElementwiseBlock step, List<OracleArray> inputs) {
    this.step = step;
    this.inputs = inputs;
    this.types = step.program().types();
  }

  /** The result of a step on its block and its other blocks. */
  static OracleArray of(ElementwiseBlock step, List<OracleArray> inputs) {
    return new OracleElements(step, inputs).result();
  }

  private OracleArray result() {
    Shape shape = inputs.get(0).shape();
    ElementwiseProgram.Output output = step.program().outputs().get(0);
    int count = (int) shape.elements();
    double[] re = new double[count];
    double[] im = output.isComplex() ? new double[count] : null;
    inputs
        .get(0)
        .forEach(
            at -> {
              index = at;
              values.clear();
              for (int i = 0; i < types.size(); i++) {
                double value = step.program().code().get(i).accept(this);
                values.add(types.get(i) == ElementType.FLOAT32 ? (float) value : value);
              }
              re[OracleArray.at(shape, at)] = values.get(output.real());
              if (im != null) {
                im[OracleArray.at(shape, at)] = values.get(output.imag());
              }
            });
    return new OracleArray(shape, re, im);
  }

  @Override
  public Double load(Instruction.Load load) {
    OracleArray input = inputs.get(load.input());
    long[] at = index.clone();
    step.program().inputs().get(load.input()).broadcast().forEach(axis -> at[axis] = 0);
    return (load.part() == 0 ? input.re() : input.im())[OracleArray.at(input.shape(), at)];
  }

  @Override
  public Double constant(Instruction.Constant constant) {
    return switch (constant.type()) {
      case FLOAT32 -> (double) Float.intBitsToFloat((int) constant.bits());
      case FLOAT64 -> Double.longBitsToDouble(constant.bits());
      default -> (double) constant.bits();
    };
  }

  @Override
  public Double place(Instruction.Place place) {
    return (double) (step.origin().get(place.axis()) + index[place.axis()]);
  }

  @Override
  public Double axisValue(Instruction.AxisValue value) {
    int axis = step.program().vectors().get(value.vector());
    return step.vectors().get(value.vector())[(int) index[axis]];
  }

  @Override
  public Double unary(Instruction.Unary unary) {
    double x = values.get(unary.operand());
    return switch (unary.function()) {
      case NEGATE -> -x;
      case ABS -> Math.abs(x);
      case SQRT -> Math.sqrt(x);
      default -> throw new AssertionError(unary);
    };
  }

  @Override
  public Double binary(Instruction.Binary binary) {
    double x = values.get(binary.left());
    double y = values.get(binary.right());
    return switch (binary.function()) {
      case ADD -> x + y;
      case SUBTRACT -> x - y;
      case MULTIPLY -> x * y;
      case MAXIMUM -> Math.max(x, y);
      case LESS -> x < y ? 1.0 : 0.0;
      default -> throw new AssertionError(binary);
    };
  }

  @Override
  public Double select(Instruction.Select select) {
    return values.get(values.get(select.condition()) != 0 ? select.yes() : select.no());
  }

  @Override
  public Double cast(Instruction.Cast cast) {
    double value = values.get(cast.operand());
    boolean isFloat = cast.type() == ElementType.FLOAT32 || cast.type() == ElementType.FLOAT64;
    return isFloat ? value : (double) (long) value;
  }
}

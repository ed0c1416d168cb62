package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Calculation.At;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.kernels.pointwise.UnaryFunction;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Computes the complex product C of two matrices A and B from the real product S of their real and
 * imaginary parts. The rows of S alternate between the parts of A, its columns between the parts of
 * B, as {@link Interleave} orders them:
 *
 * <pre>
 *   S[2i, 2j] = Re A Re B      S[2i, 2j+1] = Re A Im B
 *   S[2i+1, 2j] = Im A Re B    S[2i+1, 2j+1] = Im A Im B
 *
 *   Re C[i, j] = S[2i, 2j] - S[2i+1, 2j+1]     Im C[i, j] = S[2i, 2j+1] + S[2i+1, 2j]
 * </pre>
 *
 * <p>For a conjugated operand, terms with its imaginary part change their sign. For a real operand,
 * S has one row or column for each row or column of C. If S is exactly symmetric, as for {@code A^H
 * A}, then C is exactly Hermitian.
 *
 * @param a whether A is real, complex or conjugated
 * @param b whether B is real, complex or conjugated
 */
public record ComplexOfParts(Operand a, Operand b) implements BlockStep {
  /** The kind of numbers in an operand. */
  public enum Operand {
    /** Real numbers. */
    REAL(1),
    /** Complex numbers. */
    COMPLEX(2),
    /** Complex numbers, whose conjugates are multiplied. */
    CONJUGATED(2);

    private final int parts;

    Operand(int parts) {
      this.parts = parts;
    }

    /** Count of the parts of each number: 1, or 2 if it is complex. */
    public int parts() {
      return parts;
    }
  }

  /**
   * Checks that the product is complex.
   *
   * @throws IllegalArgumentException if both operands are real
   */
  public ComplexOfParts {
    if (a == Operand.REAL && b == Operand.REAL) {
      throw new IllegalArgumentException("A product of real matrices has no imaginary part");
    }
  }

  /** Number of elements of S along an axis for each element of C. */
  private int parts(int axis, int rank) {
    return axis == rank - 1 ? b.parts : axis == rank - 2 ? a.parts : 1;
  }

  /** Converts counts of elements of S along each axis to counts of elements of C. */
  private long[] divided(long[] ofParts) {
    long[] whole = ofParts.clone();
    for (int axis = 0; axis < whole.length; axis++) {
      int parts = parts(axis, whole.length);
      if (whole[axis] % parts != 0) {
        throw new IllegalArgumentException(
            "%s elements along axis %s are no multiple of %s parts"
                .formatted(whole[axis], axis, parts));
      }
      whole[axis] /= parts;
    }
    return whole;
  }

  @Override
  public State after(State before) {
    if (before.isComplex() || before.shape().rank() < 2) {
      throw new IllegalArgumentException("it takes a real product of matrices");
    }
    return new State(Shape.of(divided(before.shape().toArray())), before.type(), true);
  }

  @Override
  public Set<Integer> sliced(State before) {
    Set<Integer> sliced = new TreeSet<>();
    int rank = before.shape().rank();
    for (int axis = 0; axis < rank; axis++) {
      if (parts(axis, rank) > 1) {
        sliced.add(axis);
      }
    }
    return sliced;
  }

  @Override
  public Optional<AxisRange> needed(State before, int axis, AxisRange after) {
    int parts = parts(axis, before.shape().rank());
    long count = (after.high() - after.low() + 1) * parts;
    return Optional.of(parts == 1 ? after : new AxisRange(after.low() * parts, 1, count));
  }

  @Override
  public Shape blockShape(State before, Shape blocks) {
    return Shape.of(divided(blocks.toArray()));
  }

  @Override
  public Box place(State before, Box part) {
    return Box.at(divided(part.offset()), divided(part.sizes()));
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    return Optional.of(this);
  }

  @Override
  public HostStep onHost(State before) {
    return new HostCalculation(calculation(before), after(before));
  }

  @Override
  public void lower(DeviceSteps device) {
    device.calculate(calculation(device.state()), after(device.state()));
  }

  /** Separates the real products, from (rows, parts, cols, parts) to (parts, parts, rows, cols). */
  private Calculation calculation(State before) {
    Calculation.Builder code = new Calculation.Builder(before);
    ElementType type = before.type();
    State after = after(before);
    long elements = after.shape().elements();
    long cols = after.shape().extent(after.shape().rank() - 1);
    int products = code.array(Shape.of((long) a.parts * b.parts, elements), type);
    code.move(
        new TransposeProblem(
            Shape.of(elements / cols, a.parts, cols, b.parts),
            Permutation.of(1, 3, 0, 2),
            type.bytes()),
        At.start(0),
        At.start(products));
    List<At> inputs = new ArrayList<>();
    for (int product = 0; product < a.parts * b.parts; product++) {
      inputs.add(new At(products, product * elements));
    }
    int result = code.array(after);
    code.map(complex(type), Shape.of(elements), inputs, List.of(At.start(result)));
    return code.giving(result);
  }

  /** The program from the real products, in the order of S, to complex numbers. */
  private ElementwiseProgram complex(ElementType type) {
    int products = a.parts * b.parts;
    List<Input> inputs = new ArrayList<>();
    List<Instruction> code = new ArrayList<>();
    for (int product = 0; product < products; product++) {
      inputs.add(Input.of(type, false));
      code.add(new Instruction.Load(product, 0));
    }
    boolean minusA = a == Operand.CONJUGATED;
    boolean minusB = b == Operand.CONJUGATED;
    int real = 0;
    int imag = 1;
    if (products == 4) {
      code.add(
          new Instruction.Binary(
              minusA == minusB ? BinaryFunction.SUBTRACT : BinaryFunction.ADD, 0, 3));
      real = 4;
      code.add(
          minusA == minusB
              ? new Instruction.Binary(BinaryFunction.ADD, 1, 2)
              : new Instruction.Binary(BinaryFunction.SUBTRACT, minusA ? 1 : 2, minusA ? 2 : 1));
      imag = 5;
    }
    boolean isNegative = products == 4 ? minusA && minusB : minusA || minusB;
    if (isNegative) {
      code.add(new Instruction.Unary(UnaryFunction.NEGATE, imag));
      imag = code.size() - 1;
    }
    return new ElementwiseProgram(1, inputs, List.of(), code, List.of(new Output(real, imag)));
  }

  /** The text in EXPLAIN. */
  @Override
  public String toString() {
    return "complex product of its parts" + text(", A", a) + text(", B", b);
  }

  private static String text(String name, Operand operand) {
    return operand == Operand.CONJUGATED ? name + " conjugated" : "";
  }
}

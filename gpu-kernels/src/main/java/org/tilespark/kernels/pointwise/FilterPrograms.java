package org.tilespark.kernels.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.layout.ElementType;

/**
 * Elementwise programs to run before, between and after Fourier transforms. They compute in double
 * precision and round once. A program that reads vectors reads one for each axis, in the order of
 * axes.
 */
public final class FilterPrograms {
  private static final int MOST_AXES = 3;

  private FilterPrograms() {}

  /**
   * Rank and type of the array that a program takes.
   *
   * @param rank number of axes, 1 to 3
   * @param type type of real numbers and of the parts of complex ones: FLOAT32 or FLOAT64
   */
  public record Taken(int rank, ElementType type, boolean isComplex) {
    /** Checks the type. */
    public Taken {
      if (type != ElementType.FLOAT32 && type != ElementType.FLOAT64) {
        throw new IllegalArgumentException("A filter of " + type + "; it takes FLOAT32 or FLOAT64");
      }
    }
  }

  /** A program that multiplies each element by the product of one factor per axis. */
  public static ElementwiseProgram window(Taken taken) {
    Code code = new Code(taken);
    int product = code.joined(BinaryFunction.MULTIPLY, 0);
    return code.eachPart(taken.rank, part -> code.times(code.load(part), product));
  }

  /**
   * A program that subtracts from each element the sum of one number per axis. For complex elements
   * it reads the vectors for the real parts, then those for the imaginary parts.
   */
  public static ElementwiseProgram trend(Taken taken) {
    Code code = new Code(taken);
    return code.eachPart(
        taken.rank * (taken.isComplex ? 2 : 1),
        part -> {
          int sum = code.joined(BinaryFunction.ADD, part * taken.rank);
          return code.add(new Instruction.Binary(BinaryFunction.SUBTRACT, code.load(part), sum));
        });
  }

  /**
   * A program that sets each element to zero for which the sum of one number per axis is below
   * {@code least} or above {@code most}.
   *
   * @param least the lower limit; 0 for none
   */
  public static ElementwiseProgram bandPass(Taken taken, double least, double most) {
    Code code = new Code(taken);
    int sum = code.joined(BinaryFunction.ADD, 0);
    int high = code.add(Instruction.Constant.of(most));
    int isAbove = code.add(new Instruction.Binary(BinaryFunction.LESS, high, sum));
    int zero = code.add(Instruction.Constant.of(0.0));
    IntUnaryOperator above = value -> code.add(new Instruction.Select(isAbove, zero, value));
    if (least == 0) {
      return code.eachPart(taken.rank, part -> above.applyAsInt(code.load(part)));
    }
    int low = code.add(Instruction.Constant.of(least));
    int isBelow = code.add(new Instruction.Binary(BinaryFunction.LESS, sum, low));
    return code.eachPart(
        taken.rank,
        part -> above.applyAsInt(code.add(new Instruction.Select(isBelow, zero, code.load(part)))));
  }

  /** A program that multiplies each element by {@code factor}. */
  public static ElementwiseProgram factor(Taken taken, double factor) {
    Code code = new Code(taken);
    int constant = code.add(Instruction.Constant.of(factor));
    return code.eachPart(0, part -> code.times(code.load(part), constant));
  }

  /** A program that gives the squares of the absolute values of complex numbers. */
  public static ElementwiseProgram power(int rank, ElementType type) {
    Code code = new Code(new Taken(rank, type, true));
    int re = code.load(0);
    int im = code.load(1);
    int sum =
        code.add(
            new Instruction.Binary(BinaryFunction.ADD, code.times(re, re), code.times(im, im)));
    return code.program(0, Output.real(code.rounded(sum)));
  }

  /** A program that gives the real parts of complex numbers. */
  public static ElementwiseProgram realPart(int rank, ElementType type) {
    Code code = new Code(new Taken(rank, type, true));
    return code.program(0, Output.real(code.add(new Instruction.Load(0, 0))));
  }

  /** A program that makes real numbers complex, with imaginary parts of zero. */
  public static ElementwiseProgram complex(int rank, ElementType type) {
    Code code = new Code(new Taken(rank, type, false));
    int re = code.add(new Instruction.Load(0, 0));
    int zero = code.rounded(code.add(Instruction.Constant.of(0.0)));
    return code.program(0, new Output(re, zero));
  }

  /**
   * Adds the instructions that compute one part, real or imaginary, of a result; returns the number
   * of the resulting FLOAT64 value.
   */
  private interface OfPart {
    int value(int part);
  }

  /** Instructions of a program that takes one array. */
  private static final class Code {
    private final Taken taken;
    private final List<Instruction> instructions = new ArrayList<>();

    Code(Taken taken) {
      this.taken = taken;
    }

    int add(Instruction instruction) {
      instructions.add(instruction);
      return instructions.size() - 1;
    }

    /** Adds the load of a part of the element, as FLOAT64. */
    int load(int part) {
      int value = add(new Instruction.Load(0, part));
      return taken.type == ElementType.FLOAT64
          ? value
          : add(new Instruction.Cast(ElementType.FLOAT64, value));
    }

    /** Adds the conversion of a FLOAT64 to the array's type. */
    int rounded(int value) {
      return taken.type == ElementType.FLOAT64
          ? value
          : add(new Instruction.Cast(taken.type, value));
    }

    int times(int left, int right) {
      return add(new Instruction.Binary(BinaryFunction.MULTIPLY, left, right));
    }

    /**
     * Adds the numbers of one vector per axis, joined by {@code function} from the outermost axis
     * on. A sum over fewer than 3 axes begins with zero, so that it gives the same bits as for a
     * volume with further extents of 1.
     */
    int joined(BinaryFunction function, int firstVector) {
      int all = -1;
      if (function == BinaryFunction.ADD && taken.rank < MOST_AXES) {
        all = add(Instruction.Constant.of(0.0));
      }
      for (int axis = 0; axis < taken.rank; axis++) {
        int value = add(new Instruction.AxisValue(firstVector + axis));
        all = all < 0 ? value : add(new Instruction.Binary(function, all, value));
      }
      return all;
    }

    /**
     * The program whose result has both parts of complex numbers computed alike; it reads {@code
     * vectors} vectors.
     */
    ElementwiseProgram eachPart(int vectors, OfPart ofPart) {
      int real = rounded(ofPart.value(0));
      int imag = taken.isComplex ? rounded(ofPart.value(1)) : -1;
      return program(vectors, new Output(real, imag));
    }

    ElementwiseProgram program(int vectors, Output output) {
      return new ElementwiseProgram(
          taken.rank,
          List.of(Input.of(taken.type, taken.isComplex)),
          IntStream.range(0, vectors).mapToObj(v -> v % taken.rank).toList(),
          instructions,
          List.of(output));
    }
  }
}

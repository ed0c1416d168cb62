package org.tilespark.kernels.pointwise;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Computes each element of an array from the elements of the inputs at the same place:
 * straight-line code on typed values, each assigned once. A program knows the rank and the types,
 * not the extents, so that one compiled kernel serves every block. It is a value: equal programs
 * have equal code.
 *
 * <p>Values are real. A complex element is a pair of values: {@link Instruction.Load} states which
 * of the two parts it loads. Booleans are INT8, 1 or 0.
 *
 * @param rank number of axes of the arrays, 1 to {@link #MOST_AXES}
 * @param inputs the arrays that are read
 * @param vectors for each vector of DOUBLE that is read, the axis along which it is read
 * @param code instruction {@code i} makes value {@code i}
 * @param outputs the arrays that are written
 */
public record ElementwiseProgram(
    int rank,
    List<Input> inputs,
    List<Integer> vectors,
    List<Instruction> code,
    List<Output> outputs)
    implements Serializable {
  /**
   * The largest number of axes of an array: three of a volume, and one for a batch of equal blocks.
   */
  public static final int MOST_AXES = 4;

  /** The largest number of instructions of a program that is composed of shorter ones. */
  private static final int MOST_COMPOSED = 256;

  /**
   * An array that is read.
   *
   * @param type type of the elements, or of the parts of complex elements
   * @param isComplex true if each element has a real and an imaginary part
   * @param broadcast axes along which the array has extent 1 and the result may have a larger
   *     extent
   */
  public record Input(ElementType type, boolean isComplex, Set<Integer> broadcast)
      implements Serializable {
    /** Copies the set. */
    public Input {
      broadcast = Set.copyOf(broadcast);
    }

    /** The shape of this input, if the result has shape {@code result}. */
    public Shape shape(Shape result) {
      long[] extents = result.toArray();
      broadcast.forEach(axis -> extents[axis] = 1);
      return Shape.of(extents);
    }

    /** An array that has the extents of the result. */
    public static Input of(ElementType type, boolean isComplex) {
      return new Input(type, isComplex, Set.of());
    }
  }

  /**
   * An array that is written.
   *
   * @param real number of the value that is written to the elements, or to their real parts
   * @param imag number of the value that is written to the imaginary parts; -1 if the array is real
   */
  public record Output(int real, int imag) implements Serializable {
    /** An output that is a real array, whose elements are value {@code value}. */
    public static Output real(int value) {
      return new Output(value, -1);
    }

    /** True if the array has imaginary parts. */
    public boolean isComplex() {
      return imag >= 0;
    }
  }

  /**
   * Copies the lists and checks that the operands of every instruction exist and have the right
   * types.
   *
   * @throws IllegalArgumentException if one does not; the message names the instruction and what it
   *     found
   */
  public ElementwiseProgram {
    inputs = List.copyOf(inputs);
    vectors = List.copyOf(vectors);
    code = List.copyOf(code);
    outputs = List.copyOf(outputs);
    if (rank < 1 || rank > MOST_AXES) {
      throw new IllegalArgumentException(
          "A program on arrays of rank " + rank + "; expected 1 to " + MOST_AXES);
    }
    for (int axis : vectors) {
      requireAxis(axis, rank);
    }
    for (Input input : inputs) {
      for (int axis : input.broadcast()) {
        requireAxis(axis, rank);
      }
    }
    List<ElementType> types = new ArrayList<>();
    Scope scope = new Scope(rank, inputs, vectors, types);
    for (int i = 0; i < code.size(); i++) {
      try {
        types.add(code.get(i).type(scope));
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(
            "Instruction " + i + " (" + code.get(i) + "): " + e.getMessage(), e);
      }
    }
    if (outputs.isEmpty()) {
      throw new IllegalArgumentException("A program without outputs");
    }
    for (Output output : outputs) {
      ElementType real = scope.typeOf(output.real());
      if (output.isComplex() && scope.typeOf(output.imag()) != real) {
        throw new IllegalArgumentException(
            "An output has real parts of " + real + " and other imaginary parts");
      }
    }
  }

  /**
   * This program with the result of {@code first} in place of one of its inputs. The inputs of
   * {@code first} take the place of that input; the vectors of {@code first} come before this
   * program's.
   *
   * @param input number of an input of this program
   * @param first a program with one output, of the input's type; if the input is broadcast, {@code
   *     first} reads neither places nor vectors
   * @throws IllegalArgumentException if the output of {@code first} does not match the input
   */
  public ElementwiseProgram behind(int input, ElementwiseProgram first) {
    return Composition.of(first, this, input);
  }

  /**
   * True if {@link #behind} gives a program that is short enough to run on a device as efficiently
   * as the two programs.
   */
  public boolean isShortBehind(ElementwiseProgram first) {
    return code.size() + first.code.size() <= MOST_COMPOSED
        && arguments() + first.arguments() <= MOST_COMPOSED / 2;
  }

  private long arguments() {
    long constants = code.stream().filter(each -> each.constantBits().isPresent()).count();
    return constants + vectors.size() + inputs.size();
  }

  /**
   * This program for several arrays of equal extents, joined along a new leading axis. Places are
   * read along the other axes only.
   *
   * @throws IllegalArgumentException if the program reads vectors
   */
  public ElementwiseProgram repeated() {
    if (!vectors.isEmpty()) {
      throw new IllegalArgumentException("Arrays behind each other have vectors of their own");
    }
    List<Input> shifted = new ArrayList<>();
    for (Input input : inputs) {
      Set<Integer> broadcast =
          input.broadcast().stream().map(axis -> axis + 1).collect(Collectors.toSet());
      shifted.add(new Input(input.type(), input.isComplex(), broadcast));
    }
    List<Instruction> behind = code.stream().map(Instruction::behindOneMoreAxis).toList();
    return new ElementwiseProgram(rank + 1, shifted, vectors, behind, outputs);
  }

  private static void requireAxis(int axis, int rank) {
    if (axis < 0 || axis >= rank) {
      throw new IllegalArgumentException("Axis " + axis + " of arrays of rank " + rank);
    }
  }

  /** True if a value depends on the element's place in the whole array. */
  public boolean readsPlaces() {
    return code.stream().anyMatch(Instruction::readsPlace);
  }

  /** The type of each value, in the order of the code. */
  public List<ElementType> types() {
    List<ElementType> types = new ArrayList<>();
    Scope scope = new Scope(rank, inputs, vectors, types);
    code.forEach(instruction -> types.add(instruction.type(scope)));
    return List.copyOf(types);
  }

  /**
   * The inputs, vectors and earlier values to which an instruction may refer.
   *
   * @param types types of the values before the instruction
   */
  public record Scope(
      int rank, List<Input> inputs, List<Integer> vectors, List<ElementType> types) {
    /**
     * The type of a value.
     *
     * @throws IllegalArgumentException if no earlier instruction gives this value
     */
    public ElementType typeOf(int value) {
      if (value < 0 || value >= types.size()) {
        throw new IllegalArgumentException(
            "it takes value " + value + "; there are " + types.size());
      }
      return types.get(value);
    }
  }
}

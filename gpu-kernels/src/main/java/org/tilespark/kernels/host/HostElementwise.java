package org.tilespark.kernels.host;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.kernels.launch.PlanCache;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Elementwise programs on the CPU, on the calling thread: the oracle of tests and the fallback for
 * {@code DeviceElementwise}. Complex arrays are two planes, real and imaginary parts; all planes
 * are dense and row-major.
 *
 * <p>The array is taken in chunks that stay in the first-level cache; each instruction is one loop
 * over a chunk ({@link HostCode}). An element's result does not depend on its neighbours.
 *
 * <p>For one thread at a time; it keeps buffers for the programs that it has run.
 */
public final class HostElementwise {
  private static final int PROGRAMS = 16;

  private final PlanCache<ElementwiseProgram, HostCode> codes = new PlanCache<>(PROGRAMS);
  private final Map<ElementwiseProgram, HostCode> met = new IdentityHashMap<>(); // avoids hashing

  /**
   * Runs a program on one block.
   *
   * @param shape shape of the outputs, and of inputs but for the axes along which these are
   *     broadcast
   * @param origin index of the block's first element in the whole array, from which {@code Place}
   *     counts
   * @param vectors one for each vector of the program, with as many numbers as the block has
   *     elements along the vector's axis
   * @param inputs the planes of each input: one plane if it is real, two if it is complex
   * @param outputs the planes of each output; a plane may be that of an input that is not
   *     broadcast; otherwise it must not overlap any other plane
   * @throws IllegalArgumentException if an array is missing, superfluous, or of another length
   */
  public void run(
      ElementwiseProgram program,
      Shape shape,
      long[] origin,
      List<double[]> vectors,
      List<List<HostMemory>> inputs,
      List<List<HostMemory>> outputs) {
    requireCount("axes", program.rank(), shape.rank());
    requireCount("places of the first element", program.rank(), origin.length);
    requireCount("vectors", program.vectors().size(), vectors.size());
    requireCount("inputs", program.inputs().size(), inputs.size());
    requireCount("outputs", program.outputs().size(), outputs.size());
    for (int v = 0; v < vectors.size(); v++) {
      requireCount(
          "numbers of vector " + v, shape.extent(program.vectors().get(v)), vectors.get(v).length);
    }
    HostCode code = code(program);
    for (int i = 0; i < inputs.size(); i++) {
      ElementwiseProgram.Input input = program.inputs().get(i);
      long elements =
          input.broadcast().isEmpty() ? shape.elements() : input.shape(shape).elements();
      requirePlanes("input", i, inputs.get(i), input.isComplex(), elements, input.type());
    }
    for (int i = 0; i < outputs.size(); i++) {
      boolean isComplex = program.outputs().get(i).isComplex();
      requirePlanes("output", i, outputs.get(i), isComplex, shape.elements(), code.outputType(i));
    }
    if (shape.elements() > 0) {
      code.run(shape, origin, vectors, inputs, outputs);
    }
  }

  private HostCode code(ElementwiseProgram program) {
    HostCode code = met.get(program);
    if (code == null) {
      if (met.size() == PROGRAMS) {
        met.clear();
      }
      code = codes.get(program, HostCode::new);
      met.put(program, code);
    }
    return code;
  }

  /**
   * Runs programs of one input and one output, without vectors and places, one after the other;
   * each replaces the block's elements by its results.
   *
   * @param block real elements of the type that all programs take and give
   */
  public void run(List<ElementwiseProgram> programs, Shape shape, HostMemory block) {
    List<List<HostMemory>> planes = List.of(List.of(block));
    for (ElementwiseProgram program : programs) {
      run(program, shape, new long[shape.rank()], List.of(), planes, planes);
    }
  }

  private static void requireCount(String what, long expected, long found) {
    if (expected != found) {
      throw new IllegalArgumentException(
          "An elementwise program with %s %s; expected %s".formatted(found, what, expected));
    }
  }

  private static void requirePlanes(
      String side,
      int number,
      List<HostMemory> planes,
      boolean isComplex,
      long elements,
      ElementType type) {
    long bytes = Math.multiplyExact(elements, (long) type.bytes());
    int count = isComplex ? 2 : 1;
    boolean fits = planes.size() == count;
    for (HostMemory plane : planes) {
      fits &= plane.bytes() == bytes;
    }
    if (!fits) {
      throw new IllegalArgumentException(
          "Planes of %s %s have %s bytes; expected %s of %s"
              .formatted(
                  side, number, planes.stream().map(HostMemory::bytes).toList(), count, bytes));
    }
  }
}

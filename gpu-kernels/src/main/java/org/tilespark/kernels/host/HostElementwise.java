package org.tilespark.kernels.host;

import java.util.List;
import org.tilespark.kernels.launch.PlanCache;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Elementwise programs on the CPU, on the calling thread: the oracle and the fallback of the
 * device's. Complex arrays are two planes, real and imaginary parts; all planes are dense and
 * row-major.
 *
 * <p>The array is taken in chunks that stay in the first-level cache; each instruction is one loop
 * over a chunk ({@link HostCode}). An element's result does not depend on those beside it.
 *
 * <p>For one thread at a time; it keeps buffers for the programs that it has met.
 */
public final class HostElementwise {
  private static final int PROGRAMS = 16;

  private final PlanCache<ElementwiseProgram, HostCode> codes = new PlanCache<>(PROGRAMS);

  /**
   * Runs a program on one block.
   *
   * @param shape of the outputs, and of inputs but for the axes along which these are broadcast
   * @param origin of the block's first element in the whole array: what {@code Place} counts from
   * @param vectors one for each of the program's, as long as the block along its axis
   * @param inputs the planes of each input: one, or two of a complex one
   * @param outputs the planes of each output; a plane may be that of an input that is not
   *     broadcast, or must lie apart from all others
   * @throws IllegalArgumentException if something is missing, too much, or of another length
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
    for (int i = 0; i < inputs.size(); i++) {
      ElementwiseProgram.Input input = program.inputs().get(i);
      long elements = input.shape(shape).elements();
      requirePlanes("input " + i, inputs.get(i), input.isComplex(), elements, input.type());
    }
    List<ElementType> types = program.types();
    for (int i = 0; i < outputs.size(); i++) {
      ElementwiseProgram.Output output = program.outputs().get(i);
      requirePlanes(
          "output " + i,
          outputs.get(i),
          output.isComplex(),
          shape.elements(),
          types.get(output.real()));
    }
    if (shape.elements() > 0) {
      codes.get(program, HostCode::new).run(shape, origin, vectors, inputs, outputs);
    }
  }

  /**
   * Runs programs of one input and one output, without vectors and places, one after the other
   * where a block is.
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
      String what, List<HostMemory> planes, boolean isComplex, long elements, ElementType type) {
    long bytes = Math.multiplyExact(elements, (long) type.bytes());
    int count = isComplex ? 2 : 1;
    if (planes.size() != count || planes.stream().anyMatch(plane -> plane.bytes() != bytes)) {
      throw new IllegalArgumentException(
          "Planes of %s have %s bytes; expected %s of %s"
              .formatted(what, planes.stream().map(HostMemory::bytes).toList(), count, bytes));
    }
  }
}

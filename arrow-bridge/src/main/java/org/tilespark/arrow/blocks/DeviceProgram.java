package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.ToLongFunction;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.DeviceOperation.Transform;
import org.tilespark.kernels.memory.HostMemory;

/**
 * A device's plan for the arrays of a {@link BlockProgram}: its operations, and the buffers of
 * their operands and results. A pure value.
 *
 * <ul>
 *   <li>The factors of transforms are applied by the next elementwise step, or when the result is
 *       taken.
 *   <li>Consecutive permutations are composed; an identity is dropped.
 *   <li>Transforms between real values and half a spectrum have the halved axis last; so it is
 *       permuted there before and back afterwards.
 *   <li>The same is done for a transform over the middle one of three axes if cuFFT would be called
 *       for many small slices, since two further passes over the array are faster than the calls.
 * </ul>
 *
 * <p>Each input has a buffer of its own from the start, those of the first input first. An
 * operation in place overwrites an operand's buffer; any other one takes the first buffer that is
 * free again, or a new one. A work area, too, takes the first free buffer or a new one.
 *
 * @param program the planned program
 * @param steps the steps, first to last
 * @param factor factor of the result, still to be applied
 * @param result the number of the buffer that holds the result
 * @param buffers bytes of each buffer
 */
record DeviceProgram(
    BlockProgram program, List<Step> steps, double factor, int result, List<Long> buffers) {
  /**
   * An operation, and the numbers of its buffers.
   *
   * @param from buffers of its operands
   * @param to buffer of its result
   * @param area buffer of its work area; {@code to} if it needs none
   */
  record Step(DeviceOperation operation, List<Integer> from, int to, int area) {
    /** Copies the list. */
    Step {
      from = List.copyOf(from);
    }
  }

  /** Copies the lists. */
  DeviceProgram {
    steps = List.copyOf(steps);
    buffers = List.copyOf(buffers);
  }

  /**
   * The plan of a program, with the work areas that cuFFT needs.
   *
   * @param workShare divisor of the array's bytes that gives the most bytes a work area should have
   * @param workBytes bytes of the work area that a transform needs
   */
  static DeviceProgram of(
      BlockProgram program, long workShare, ToLongFunction<Transform> workBytes) {
    return of(program, program.inputs(), program.steps(), workShare, workBytes);
  }

  /**
   * The plan of a planewise program for consecutive planes: those of several arrays, or the two of
   * complex numbers.
   *
   * @param count number of planes
   */
  static DeviceProgram ofPlanes(BlockProgram program, long count) {
    BlockProgram plane = new BlockProgram(program.shape(), program.type(), false, program.steps());
    return of(count == 1 ? plane : plane.repeated(count).orElseThrow(), 1, Transform::workLimit);
  }

  private static DeviceProgram of(
      BlockProgram program,
      List<State> inputs,
      List<BlockStep> all,
      long workShare,
      ToLongFunction<Transform> workBytes) {
    DeviceSteps.Operations operations = new DeviceSteps.Operations(inputs);
    DeviceSteps steps = new DeviceSteps(operations, workShare);
    all.forEach(step -> step.lower(steps));
    int result = steps.end();
    Buffers buffers = new Buffers(inputs, workBytes);
    operations.all().forEach(buffers::place);
    return new DeviceProgram(
        program, buffers.steps, steps.factor(), buffers.of(result), buffers.bytes);
  }

  /** Assigns a buffer to each value, which is an input or the result of an operation. */
  private static final class Buffers {
    private final ToLongFunction<Transform> workBytes;
    private final List<Long> bytes = new ArrayList<>(); // of each buffer
    private final List<Integer> places = new ArrayList<>(); // the buffer of each value
    private final BitSet held = new BitSet(); // buffers that hold what is still needed
    private final List<Step> steps = new ArrayList<>();

    Buffers(List<State> inputs, ToLongFunction<Transform> workBytes) {
      this.workBytes = workBytes;
      inputs.forEach(input -> places.add(taken(input.bytes())));
    }

    int of(int value) {
      return places.get(value);
    }

    /** Takes the first free buffer, and enlarges it as needed. */
    private int taken(long needed) {
      int first = held.nextClearBit(0);
      held.set(first);
      grow(first, needed);
      return first;
    }

    private void grow(int buffer, long needed) {
      if (buffer == bytes.size()) {
        bytes.add(needed);
      } else {
        bytes.set(buffer, Math.max(bytes.get(buffer), needed));
      }
    }

    /**
     * Assigns buffers to an operation, which gives the value with the next number; its operands are
     * not needed later.
     */
    void place(DeviceSteps.Operation next) {
      DeviceOperation operation = next.operation();
      List<Integer> from = next.operands().stream().map(places::get).toList();
      long needed = operation.after().bytes();
      OptionalInt inPlace = operation.inPlace();
      int to = inPlace.isPresent() ? from.get(inPlace.getAsInt()) : taken(needed);
      grow(to, needed);
      long work = operation.workBytes(workBytes);
      int area = work == 0 ? to : taken(work);
      steps.add(new Step(operation, from, to, area));
      places.add(to);
      from.forEach(held::clear);
      held.clear(area);
      held.set(to);
    }
  }

  /** Bytes of device memory that arrays, vectors and staging buffers need together. */
  long deviceBytes() {
    long bytes = DeviceStaging.LANES * DeviceStaging.stagingBytes(program) + vectorBytes();
    for (long buffer : buffers) {
      bytes = Math.addExact(bytes, buffer);
    }
    return bytes;
  }

  /** Bytes of the vectors of all operations. */
  long vectorBytes() {
    long elements = 0;
    for (Step step : steps) {
      for (double[] vector : step.operation().vectors()) {
        elements += vector.length;
      }
    }
    return elements * Double.BYTES;
  }

  /**
   * Copies the vectors of all operations, one after the other, to {@code target}, which has {@link
   * #vectorBytes} bytes.
   */
  void copyVectors(HostMemory target) {
    long offset = 0;
    for (Step step : steps) {
      for (double[] vector : step.operation().vectors()) {
        HostMemory source = HostMemory.ofArray(vector);
        source.copyTo(target.slice(offset, source.bytes()));
        offset += source.bytes();
      }
    }
  }
}

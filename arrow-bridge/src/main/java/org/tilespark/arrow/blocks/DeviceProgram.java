package org.tilespark.arrow.blocks;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.DeviceOperation.Transform;
import org.tilespark.kernels.memory.HostMemory;

/**
 * What a device does with one array of a {@link BlockProgram}, decided before it begins: the
 * program in the terms of a device, and where the array lies after each operation. A pure value.
 *
 * <ul>
 *   <li>Steps that treat each element by itself are one pass where they follow each other.
 *   <li>The factors of transforms wait for such a pass, or for the result to be taken.
 *   <li>Permutations that follow each other are one, or none.
 *   <li>Transforms between real values and half a spectrum have the halved axis last; so it is
 *       brought there before and taken back after.
 *   <li>The same is done for a transform over the middle one of three axes where cuFFT would be
 *       called for many small slices: two more passes over the array cost less than the calls.
 * </ul>
 *
 * <p>There are two buffers, and a third where a transform has none for its work area. Operations in
 * place leave the array where it is, the others take it to the other buffer.
 *
 * @param program what it is of
 * @param operations first to last
 * @param factor of the result, still to be applied
 * @param buffers bytes of each buffer
 */
record DeviceProgram(
    BlockProgram program, List<DeviceOperation> operations, double factor, List<Long> buffers) {
  private static final int WORK = 2;

  /** Copies the lists. */
  DeviceProgram {
    operations = List.copyOf(operations);
    buffers = List.copyOf(buffers);
  }

  /**
   * The plan of a program, with the work areas that transforms really need.
   *
   * @param workShare work areas should be no larger than the array divided by this
   * @param workBytes bytes of work area of a transform
   */
  static DeviceProgram of(
      BlockProgram program, long workShare, ToLongFunction<Transform> workBytes) {
    return of(program, program.input(), program.steps(), workShare, workBytes);
  }

  /**
   * The plan of a program that only moves elements, for planes that lie behind each other: those of
   * complex numbers, or of several arrays.
   *
   * @param count of planes
   */
  static DeviceProgram ofPlanes(BlockProgram program, long count) {
    State plane = new State(program.shape(), program.type(), false);
    if (count == 1) {
      return of(program, plane, program.steps(), 1, Transform::workLimit);
    }
    State planes = new State(StepChecks.behindEachOther(count, plane.shape()), plane.type(), false);
    List<BlockStep> steps =
        program.steps().stream().map(step -> step.repeated(count).orElseThrow()).toList();
    return of(program, planes, steps, 1, Transform::workLimit);
  }

  private static DeviceProgram of(
      BlockProgram program,
      State input,
      List<BlockStep> all,
      long workShare,
      ToLongFunction<Transform> workBytes) {
    DeviceSteps steps = new DeviceSteps(input, workShare);
    all.forEach(step -> step.lower(steps));
    List<DeviceOperation> operations = steps.end();
    long[] buffers = new long[WORK + 1];
    int at = 0;
    buffers[at] = input.bytes();
    for (DeviceOperation operation : operations) {
      int area = area(operation, at);
      buffers[area] = Math.max(buffers[area], operation.workBytes(workBytes));
      at = operation.isInPlace() ? at : 1 - at;
      buffers[at] = Math.max(buffers[at], operation.after().bytes());
    }
    return new DeviceProgram(
        program, operations, steps.factor(), Arrays.stream(buffers).boxed().toList());
  }

  /** The buffer for work of an operation on the array in buffer {@code at}. */
  static int area(DeviceOperation operation, int at) {
    return operation.isInPlace() ? 1 - at : WORK;
  }

  /** Device memory of the array, all of it. */
  long deviceBytes() {
    long bytes = DeviceStaging.LANES * DeviceStaging.stagingBytes(program) + vectorBytes();
    for (long buffer : buffers) {
      bytes = Math.addExact(bytes, buffer);
    }
    return bytes;
  }

  /** Bytes of the vectors of all passes. */
  long vectorBytes() {
    long elements = 0;
    for (DeviceOperation operation : operations) {
      for (double[] vector : operation.vectors()) {
        elements += vector.length;
      }
    }
    return elements * Double.BYTES;
  }

  /** Copies the vectors of all passes, one after the other, to memory of {@link #vectorBytes}. */
  void copyVectors(HostMemory target) {
    long offset = 0;
    for (DeviceOperation operation : operations) {
      for (double[] vector : operation.vectors()) {
        HostMemory source = HostMemory.ofArray(vector);
        source.copyTo(target.slice(offset, source.bytes()));
        offset += source.bytes();
      }
    }
  }
}

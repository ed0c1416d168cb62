package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Calculation.At;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.memory.HostMemory;

/**
 * A {@link Calculation} made ready for the CPU. Intermediate arrays have memory from the first to
 * the last pass that mentions them.
 */
final class HostCalculation implements HostStep, Calculation.Twin {
  private final Calculation calculation;
  private final State after;
  private final List<Consumer<Run>> work = new ArrayList<>(); // passes and releases of memory

  /** A range of bytes in each plane of an array. */
  private record Range(int array, long start, long bytes) {}

  /**
   * Prepares a calculation.
   *
   * @param after an array's state after the calculation
   */
  HostCalculation(Calculation calculation, State after) {
    this.calculation = calculation;
    this.after = after;
    int[] lastUse = new int[calculation.arrays().size()];
    List<Calculation.Pass> passes = calculation.passes();
    for (int i = 0; i < passes.size(); i++) {
      for (At place : passes.get(i).places()) {
        lastUse[place.array()] = i;
      }
    }
    for (int i = 0; i < passes.size(); i++) {
      int now = i;
      passes.get(i).on(this);
      IntStream.range(0, lastUse.length)
          .filter(array -> lastUse[array] == now)
          .forEach(array -> work.add(run -> run.free(array)));
    }
  }

  @Override
  public void on(HostArray array) {
    array.into(
        after,
        (from, to) -> {
          try (Run run = new Run(array.machine(), from, to)) {
            work.forEach(each -> each.accept(run));
          }
        });
  }

  @Override
  public void map(Calculation.Map map) {
    long[] origin = new long[map.shape().rank()];
    List<Range> inputs = new ArrayList<>();
    for (int i = 0; i < map.inputs().size(); i++) {
      long elements = map.program().inputs().get(i).shape(map.shape()).elements();
      inputs.add(range(map.inputs().get(i), elements));
    }
    List<Range> outputs =
        map.outputs().stream().map(at -> range(at, map.shape().elements())).toList();
    work.add(
        run ->
            run.machine
                .elementwise()
                .run(
                    map.program(),
                    map.shape(),
                    origin,
                    List.of(),
                    run.memory(inputs),
                    run.memory(outputs)));
  }

  @Override
  public void fold(Calculation.Fold fold) {
    Range in = range(fold.in(), fold.problem().shape().elements());
    Range out = range(fold.out(), fold.problem().outputShape().elements());
    work.add(
        run ->
            run.machine
                .reducer()
                .reduce(fold.problem(), run.memory(in).get(0), run.memory(out).get(0)));
  }

  @Override
  public void move(Calculation.Move move) {
    long elements = move.problem().shape().elements();
    Range in = range(move.in(), elements);
    Range out = range(move.out(), elements);
    HostTransposer.Ready transpose = HostTransposer.ready(move.problem());
    work.add(
        run ->
            run.machine
                .transposer()
                .transpose(transpose, run.memory(in).get(0), run.memory(out).get(0)));
  }

  private Range range(At at, long elements) {
    int width = calculation.arrays().get(at.array()).type().bytes();
    return new Range(at.array(), at.element() * width, elements * width);
  }

  /** The memory of one run. */
  private final class Run implements AutoCloseable {
    final HostArray.Machine machine;
    private final List<List<HostMemory>> planes; // of each array; empty while it has no memory
    private final List<List<ArrowBuf>> buffers; // of each array; likewise

    /**
     * A run with memory for only input and result.
     *
     * @param from the planes of the input
     * @param to the planes of the result, which do not overlap the input
     */
    Run(HostArray.Machine machine, List<HostMemory> from, List<HostMemory> to) {
      this.machine = machine;
      int arrays = calculation.arrays().size();
      planes = new ArrayList<>(Collections.nCopies(arrays, List.of()));
      buffers = new ArrayList<>(Collections.nCopies(arrays, List.of()));
      planes.set(calculation.result(), to);
      planes.set(0, from);
    }

    List<List<HostMemory>> memory(List<Range> ranges) {
      List<List<HostMemory>> all = new ArrayList<>();
      for (Range range : ranges) {
        all.add(memory(range));
      }
      return all;
    }

    List<HostMemory> memory(Range range) {
      if (planes.get(range.array).isEmpty()) {
        allocate(range.array);
      }
      List<HostMemory> parts = new ArrayList<>();
      for (HostMemory plane : planes.get(range.array)) {
        parts.add(plane.slice(range.start, range.bytes));
      }
      return parts;
    }

    private void allocate(int array) {
      State state = calculation.arrays().get(array);
      List<ArrowBuf> all =
          Buffers.allocate(machine.allocator(), state.planes(), state.planeBytes());
      buffers.set(array, all);
      planes.set(
          array, all.stream().map(each -> Buffers.memory(each, 0, state.planeBytes())).toList());
    }

    void free(int array) {
      Closing.all(buffers.set(array, List.of()));
    }

    @Override
    public void close() {
      buffers.forEach(Closing::all);
    }
  }
}

package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Calculation.At;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Runs a {@link Calculation} on the CPU. Arrays between the first and the result have memory from
 * the first pass that mentions them to the last.
 */
final class HostCalculation implements Calculation.Twin, AutoCloseable {
  private final HostArray.Machine machine;
  private final Calculation calculation;
  private final List<List<HostMemory>> planes = new ArrayList<>(); // empty without memory
  private final List<List<ArrowBuf>> buffers = new ArrayList<>(); // likewise

  private HostCalculation(HostArray.Machine machine, Calculation calculation) {
    this.machine = machine;
    this.calculation = calculation;
  }

  /**
   * Runs one.
   *
   * @param from the planes that are taken
   * @param to the planes of the result, apart from those
   */
  static void run(
      Calculation calculation,
      HostArray.Machine machine,
      List<HostMemory> from,
      List<HostMemory> to) {
    try (HostCalculation run = new HostCalculation(machine, calculation)) {
      for (int array = 0; array < calculation.arrays().size(); array++) {
        run.planes.add(array == 0 ? from : array == calculation.result() ? to : List.of());
        run.buffers.add(List.of());
      }
      run.all();
    }
  }

  private void all() {
    int[] lastUse = new int[planes.size()];
    List<Calculation.Pass> passes = calculation.passes();
    for (int i = 0; i < passes.size(); i++) {
      for (At place : passes.get(i).places()) {
        lastUse[place.array()] = i;
      }
    }
    for (int i = 0; i < passes.size(); i++) {
      int now = i;
      passes.get(i).places().forEach(place -> allocate(place.array()));
      passes.get(i).on(this);
      passes.get(i).places().stream()
          .map(At::array)
          .filter(array -> lastUse[array] == now)
          .forEach(this::free);
    }
  }

  private void allocate(int array) {
    if (planes.get(array).isEmpty()) {
      State state = calculation.arrays().get(array);
      buffers.set(array, Buffers.allocate(machine.allocator(), state.planes(), state.planeBytes()));
      planes.set(
          array,
          buffers.get(array).stream()
              .map(buffer -> Buffers.memory(buffer, 0, state.planeBytes()))
              .toList());
    }
  }

  private void free(int array) {
    Closing.all(buffers.set(array, List.of()));
  }

  @Override
  public void map(Calculation.Map map) {
    machine
        .elementwise()
        .run(
            map.program(),
            map.shape(),
            new long[map.shape().rank()],
            List.of(),
            IntStream.range(0, map.inputs().size())
                .mapToObj(
                    i ->
                        memory(
                            map.inputs().get(i),
                            map.program().inputs().get(i).shape(map.shape()).elements()))
                .toList(),
            map.outputs().stream().map(at -> memory(at, map.shape().elements())).toList());
  }

  @Override
  public void fold(Calculation.Fold fold) {
    machine
        .reducer()
        .reduce(
            fold.problem(),
            memory(fold.in(), fold.problem().shape().elements()).get(0),
            memory(fold.out(), fold.problem().outputShape().elements()).get(0));
  }

  @Override
  public void move(Calculation.Move move) {
    long elements = move.problem().shape().elements();
    machine
        .transposer()
        .transpose(
            move.problem(),
            memory(move.in(), elements).get(0),
            memory(move.out(), elements).get(0));
  }

  /** Elements of each plane of an array. */
  private List<HostMemory> memory(At at, long elements) {
    int width = calculation.arrays().get(at.array()).type().bytes();
    return planes.get(at.array()).stream()
        .map(plane -> plane.slice(at.element() * width, elements * width))
        .toList();
  }

  @Override
  public void close() {
    buffers.forEach(Closing::all);
  }
}

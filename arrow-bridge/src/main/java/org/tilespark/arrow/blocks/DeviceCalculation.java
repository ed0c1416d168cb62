package org.tilespark.arrow.blocks;

import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Calculation.At;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.reduce.ReductionPlanner;

/**
 * A {@link Calculation} on a device. Intermediate arrays follow each other in the work area, and
 * the reductions' work area follows them.
 */
final class DeviceCalculation {
  /** Alignment of arrays, at which all kernels run at full speed. */
  private static final long ALIGNMENT = 256;

  private final Calculation calculation;
  // Offset of each array in the work area; unused for arrays outside it
  private final long[] starts;
  private final long foldStart;
  private final long workBytes;

  DeviceCalculation(Calculation calculation) {
    this.calculation = calculation;
    this.starts = new long[calculation.arrays().size()];
    long end = 0;
    for (int array = 1; array < starts.length; array++) {
      if (array != calculation.result()) {
        starts[array] = end;
        long bytes = calculation.arrays().get(array).bytes();
        end = Math.addExact(end, Ceil.to(bytes, ALIGNMENT));
      }
    }
    foldStart = end;
    Folds folds = new Folds();
    calculation.passes().forEach(pass -> pass.on(folds));
    workBytes = Math.addExact(foldStart, folds.bytes);
  }

  /** Finds the largest work area of the reductions. */
  private static final class Folds implements Calculation.Twin {
    private long bytes; // work area of the reduction that needs most

    @Override
    public void map(Calculation.Map map) {}

    @Override
    public void fold(Calculation.Fold fold) {
      bytes = Math.max(bytes, ReductionPlanner.workspaceBytes(fold.problem()));
    }

    @Override
    public void move(Calculation.Move move) {}
  }

  /** Bytes of the whole work area. */
  long workBytes() {
    return workBytes;
  }

  /** Queues all passes. */
  void enqueue(DeviceOperation.Work work) {
    Queue queue = new Queue(work);
    calculation.passes().forEach(pass -> pass.on(queue));
  }

  /** Queues the kernels of passes. */
  private final class Queue implements Calculation.Twin {
    private final DeviceOperation.Work work;

    Queue(DeviceOperation.Work work) {
      this.work = work;
    }

    private DeviceBuffer buffer(At at) {
      return at.array() == 0
          ? work.first()
          : at.array() == calculation.result() ? work.to() : work.area();
    }

    private long offset(At at) {
      State state = calculation.arrays().get(at.array());
      return starts[at.array()] + at.element() * state.type().bytes() * state.planes();
    }

    private DeviceElementwise.At place(At at) {
      return new DeviceElementwise.At(buffer(at), offset(at));
    }

    private List<DeviceElementwise.At> places(List<At> all) {
      return all.stream().map(this::place).toList();
    }

    @Override
    public void map(Calculation.Map map) {
      work.machine()
          .elementwise()
          .run(
              map.program(),
              map.shape(),
              new long[map.shape().rank()],
              List.of(),
              places(map.inputs()),
              places(map.outputs()),
              work.stream());
    }

    @Override
    public void fold(Calculation.Fold fold) {
      work.machine()
          .reducer()
          .reduce(
              fold.problem(),
              place(fold.in()),
              place(fold.out()),
              new DeviceElementwise.At(work.area(), foldStart),
              work.stream());
    }

    @Override
    public void move(Calculation.Move move) {
      work.machine()
          .transposer()
          .enqueue(
              move.problem(),
              buffer(move.in()),
              offset(move.in()),
              buffer(move.out()),
              offset(move.out()),
              work.stream());
    }
  }
}

package org.tilespark.bench.kernels;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.MatrixBatch;
import org.tilespark.kernels.transpose.Move;
import org.tilespark.kernels.transpose.TransposePlan;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** Every rung of the ladder of transposes does what it is measured for. */
@RequiresGpu
class TransposeRungIT {
  private static final long[][] SHAPES = {{64, 128}, {67, 129}, {5, 33, 66}, {31, 13, 40}};

  @Test
  void everyRung() {
    int met = 0;
    try (CudaDevice device = LadderKernels.openDevice();
        DeviceTransposer transposer = new DeviceTransposer(device)) {
      for (KernelIndex.Kernel kernel : LadderKernels.index().kernels()) {
        if (!kernel.source().equals(TransposeRung.SOURCE)) {
          continue;
        }
        for (long[] extents : SHAPES) {
          if (kernel.family().equals(TransposeRung.SLICES) && extents.length == 2) {
            continue;
          }
          climb(device, transposer, kernel, extents);
          met++;
        }
      }
    }
    assertTrue(met > 0, "no rung in the index");
  }

  private static void climb(
      CudaDevice device, DeviceTransposer transposer, KernelIndex.Kernel kernel, long[] extents) {
    Permutation order = extents.length == 2 ? Permutation.of(1, 0) : Permutation.of(2, 1, 0);
    TransposeProblem problem =
        new TransposeProblem(Shape.of(extents), order, kernel.elementBytes());
    Move move = Move.of(problem);
    TransposeRung rung =
        new TransposeRung(
            MatrixBatch.of(move, move.outInnermost().getAsInt(), move.inInnermost().getAsInt()),
            kernel);
    TransposePlan plan = new TransposePlan(problem, rung, rung.launch(device.limits()));
    int bytes = Math.toIntExact(problem.bytes());
    byte[] in = new byte[bytes];
    new SplittableRandom(bytes).nextBytes(in);
    byte[] expected = new byte[bytes];
    try (HostTransposer host = new HostTransposer()) {
      host.transpose(problem, HostMemory.ofArray(in), HostMemory.ofArray(expected));
    }
    byte[] actual = new byte[bytes];
    try (PinnedBuffer pinned = device.allocatePinned(bytes);
        CudaStream stream = device.newStream();
        DeviceBuffer source = device.allocate(bytes, stream);
        DeviceBuffer target = device.allocate(bytes, stream)) {
      HostMemory.ofArray(in).copyTo(pinned.memory());
      stream.upload(pinned.memory(), source, 0);
      stream.fill(target, (byte) 0x5A);
      transposer.enqueue(plan, source, 0, target, 0, stream);
      stream.download(target, 0, pinned.memory());
      stream.synchronize();
      pinned.memory().copyTo(HostMemory.ofArray(actual));
    }
    assertArrayEquals(expected, actual, () -> problem + " by " + kernel.name());
  }
}

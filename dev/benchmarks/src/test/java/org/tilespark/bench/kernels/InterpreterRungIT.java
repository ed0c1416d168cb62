package org.tilespark.bench.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposePlan;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** The interpreter computes what it is measured for. */
@RequiresGpu
class InterpreterRungIT {
  private static final int COUNT = 4099;

  @Test
  void bothTypes() {
    int met = 0;
    try (CudaDevice device = LadderKernels.openDevice();
        DeviceTransposer transposer = new DeviceTransposer(device)) {
      for (KernelIndex.Kernel kernel : LadderKernels.index().kernels()) {
        if (kernel.family().equals(InterpreterRung.FAMILY)) {
          interpret(device, transposer, kernel, 3);
          interpret(device, transposer, kernel, 10);
          met++;
        }
      }
    }
    assertTrue(met > 0, "no interpreter in the index");
  }

  private static void interpret(
      CudaDevice device, DeviceTransposer transposer, KernelIndex.Kernel kernel, int operations) {
    boolean isFloat = kernel.elementBytes() == Float.BYTES;
    double[] x = new SplittableRandom(operations).doubles(COUNT).toArray();
    float[] y = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      y[i] = (float) x[i];
    }
    HostMemory values = HostMemory.ofArray(isFloat ? y : x);
    InterpreterRung rung = new InterpreterRung(COUNT, operations, kernel);
    TransposePlan plan =
        new TransposePlan(
            new TransposeProblem(Shape.of(COUNT), Permutation.of(0), kernel.elementBytes()),
            rung,
            rung.launch(device.limits()));
    try (PinnedBuffer pinned = device.allocatePinned(values.bytes());
        CudaStream stream = device.newStream();
        DeviceBuffer in = device.allocate(values.bytes(), stream);
        DeviceBuffer out = device.allocate(values.bytes(), stream)) {
      values.copyTo(pinned.memory());
      stream.upload(pinned.memory(), in, 0);
      transposer.enqueue(plan, in, 0, out, 0, stream);
      stream.download(out, 0, pinned.memory());
      stream.synchronize();
      for (int i = 0; i < COUNT; i++) {
        long at = pinned.memory().offset() + (long) i * kernel.elementBytes();
        if (isFloat) {
          float expected = y[i];
          for (int k = 0; k < operations; k++) {
            expected =
                k % 2 == 0
                    ? expected * (float) ElementwiseBenchmark.FACTOR
                    : expected + (float) ElementwiseBenchmark.TERM;
          }
          assertEquals(expected, HostMemory.unsafe().getFloat(at), "element " + i);
        } else {
          double expected = x[i];
          for (int k = 0; k < operations; k++) {
            expected =
                k % 2 == 0
                    ? expected * ElementwiseBenchmark.FACTOR
                    : expected + ElementwiseBenchmark.TERM;
          }
          assertEquals(expected, HostMemory.unsafe().getDouble(at), "element " + i);
        }
      }
    }
  }
}

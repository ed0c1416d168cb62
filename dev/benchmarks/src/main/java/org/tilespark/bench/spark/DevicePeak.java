package org.tilespark.bench.spark;

import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceMultiplier;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;

/** Measures the rate of one large matrix product on a device, with operands in device memory. */
final class DevicePeak {
  private static final long EXTENT = 8192;
  private static final int ROUNDS = 3;

  private DevicePeak() {}

  /** The best rate of a few rounds in GFLOP/s, with the strategy that the planner chooses. */
  static double gigaflops(CudaDevice device, DeviceMultiplier multiplier, ElementType type) {
    MultiplyProblem problem = MultiplyProblem.dense(EXTENT, EXTENT, EXTENT, type, false, false);
    double best = 0;
    try (CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(problem.bytesA(), stream);
        DeviceBuffer b = device.allocate(problem.bytesB(), stream);
        DeviceBuffer c = device.allocate(problem.bytesC(), stream)) {
      // Zeros would need less power and give higher clocks: 0x3B3B3B3B is 0.0029 as a float.
      stream.fill(a, (byte) 0x3B);
      stream.fill(b, (byte) 0x3B);
      for (int round = 0; round <= ROUNDS; round++) {
        try (CudaEvent before = stream.record()) {
          multiplier.enqueue(problem, new DeviceMultiplier.Operands(a, 0, b, 0, c, 0), stream);
          try (CudaEvent after = stream.record()) {
            after.synchronize();
            double operations = 2.0 * EXTENT * EXTENT * EXTENT;
            best = round == 0 ? 0 : Math.max(best, operations / after.millisSince(before) / 1e6);
          }
        }
      }
    }
    return best;
  }
}

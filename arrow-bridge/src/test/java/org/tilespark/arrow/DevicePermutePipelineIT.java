package org.tilespark.arrow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.RequiresGpu;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedPool;

@RequiresGpu
class DevicePermutePipelineIT extends PermutePipelineContract {
  private static CudaDevice device;
  private static DeviceTransposer transposer;
  private static PinnedPool pool;
  private static ArrowMemory memory;

  @BeforeAll
  static void openDevice() {
    device = CudaDevice.open(0);
    transposer = new DeviceTransposer(device);
    pool = device.newPinnedPool(1 << 28);
    memory = new ArrowMemory(new PinnedMemorySource(pool));
  }

  @AfterAll
  static void closeDevice() {
    if (device != null) {
      memory.close();
      transposer.close();
      assertEquals(0, pool.liveBytes());
      pool.close();
      assertEquals(0, device.liveDeviceBytes());
      assertEquals(0, device.livePinnedBytes());
      device.close();
    }
  }

  @Override
  ArrowMemory memory() {
    return memory;
  }

  @Override
  PermutePipeline open(BufferAllocator allocator, PipelineListener listener) {
    return new DevicePermutePipeline(
        device, transposer, memory, governor(), allocator, () -> {}, listener);
  }

  /** Plenty of memory, one request in five refused. */
  MemoryGovernor governor() {
    return new MemoryGovernor(1L << 30, new AllocationFaults(5, 1), "none");
  }

  @Test
  void plainMemoryIsRefused() {
    try (ArrowMemory plain = new ArrowMemory(new NativeMemorySource(0))) {
      assertThrows(
          IllegalArgumentException.class,
          () ->
              new DevicePermutePipeline(
                  device,
                  transposer,
                  plain,
                  governor(),
                  allocator,
                  () -> {},
                  PipelineListener.NONE));
    }
  }
}

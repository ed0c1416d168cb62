package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.PinnedMemorySource;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DevicePasses;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedPool;
import org.tilespark.kernels.launch.Availability;

/** A device with cuFFT. */
final class DeviceTwin implements Twin {
  static final long BATCH_BYTES = 64 << 10;

  private final CudaDevice device;
  private final DeviceFourier fourier;
  private final DeviceTransposer transposer;
  private final DeviceElementwise elementwise;
  private final PinnedPool pool;
  private final ArrowMemory memory;
  private final MemoryGovernor governor;
  private final long aheadBytes;

  private DeviceTwin(MemoryGovernor governor, long aheadBytes) {
    this.governor = governor;
    this.aheadBytes = aheadBytes;
    device = CudaDevice.open(0);
    Availability<DeviceFourier> found = DeviceFourier.find(device, List.of());
    if (!found.isPresent()) {
      device.close();
    }
    assumeTrue(found.isPresent(), found.whyNot());
    fourier = found.get();
    transposer = new DeviceTransposer(device);
    elementwise = new DeviceElementwise(device);
    pool = device.newPinnedPool(1 << 28);
    memory = new ArrowMemory(new PinnedMemorySource(pool));
  }

  /** Plenty of memory, one request in five refused. */
  static DeviceTwin plentiful() {
    return new DeviceTwin(
        new MemoryGovernor(4L << 30, new AllocationFaults(5, 1), "none"), 1L << 30);
  }

  /** One request in two is refused, and no part comes down before it is asked for. */
  static DeviceTwin scarce() {
    return new DeviceTwin(new MemoryGovernor(2L << 30, new AllocationFaults(2, 3), "none"), 0);
  }

  @Override
  public ArrowMemory memory() {
    return memory;
  }

  MemoryGovernor governor() {
    return governor;
  }

  @Override
  public BlockPipeline open(BufferAllocator allocator, PipelineListener listener) {
    return open(allocator, listener, governor, new DeviceTask(() -> {}));
  }

  BlockPipeline open(
      BufferAllocator allocator,
      PipelineListener listener,
      MemoryGovernor governorOfIt,
      DeviceTask task) {
    DevicePlace place = new DevicePlace(device, memory, governorOfIt, allocator, task, listener);
    return open(place, true, BATCH_BYTES);
  }

  BlockPipeline open(DevicePlace place, boolean transforms, long batchBytes) {
    return new DeviceBlockPipeline(
        place,
        new DevicePasses(device),
        transposer,
        elementwise,
        transforms ? Optional.of(fourier) : Optional.empty(),
        aheadBytes,
        batchBytes);
  }

  DevicePlace place(ArrowMemory of, BufferAllocator allocator, PipelineListener listener) {
    return new DevicePlace(device, of, governor, allocator, new DeviceTask(() -> {}), listener);
  }

  @Override
  public void requireNothingHeld() {
    assertEquals(0, governor.usedBytes(), "device memory held");
  }

  @Override
  public void close() {
    memory.close();
    elementwise.close();
    transposer.close();
    fourier.close();
    assertEquals(0, pool.liveBytes());
    pool.close();
    assertEquals(0, device.livePinnedBytes());
    assertEquals(0, device.liveDeviceBytes());
    device.close();
  }
}

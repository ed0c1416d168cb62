package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.memory.PinnedMemorySource;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedPool;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;

@RequiresGpu
class DevicePermutePipelineIT extends PermutePipelineContract {
  private static final long BATCH_BYTES = 64 << 10;

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
        new DevicePlace(device, memory, governor(), allocator, new DeviceTask(() -> {}), listener),
        transposer,
        BATCH_BYTES);
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
                  new DevicePlace(
                      device,
                      plain,
                      governor(),
                      allocator,
                      new DeviceTask(() -> {}),
                      PipelineListener.NONE),
                  transposer,
                  BATCH_BYTES));
    }
  }

  @Test
  void tellsBytesAndTheTimeOfEachPhase() {
    TransposeProblem problem = problem(4, Permutation.of(1, 0), 90, 80);
    pipeline.begin(2, problem.bytes());
    Plane zeros = new Plane(HostMemory.ofArray(new byte[(int) problem.bytes()]));
    pipeline.add(problem, List.of(zeros, zeros));
    pipeline.submit();
    assertTrue(counts.deviceBytes >= 2 * problem.bytes(), "device bytes " + counts.deviceBytes);
    assertTrue(counts.pinnedBytes >= 4 * problem.bytes(), "pinned bytes " + counts.pinnedBytes);
    byte[] expected = new byte[(int) problem.bytes()];
    assertTaken(pipeline, List.of(expected, expected), "zeros");
    assertEquals(2 * problem.bytes(), counts.bytesUp);
    assertEquals(2 * problem.bytes(), counts.bytesDown);
    assertTrue(counts.upNanos > 0, "time copying up");
    assertTrue(counts.computedNanos > 0, "time in kernels");
    assertTrue(counts.downNanos > 0, "time copying down");
  }

  @Test
  void pipelinesOfOneTaskMakeRoomForEachOther() {
    TransposeProblem problem = problem(4, Permutation.of(1, 0), 128, 128);
    assertEquals(BATCH_BYTES, problem.bytes());
    byte[] zeros = new byte[(int) problem.bytes()];
    MemoryGovernor scarce =
        new MemoryGovernor(4 * BATCH_BYTES, AllocationFaults.NONE, "none"); // two batches
    DeviceTask task = new DeviceTask(() -> {});
    int[] retries = new int[1];
    PipelineListener heard =
        new PipelineListener() {
          @Override
          public void retried() {
            retries[0]++;
          }

          @Override
          public void split() {
            throw new AssertionError("nothing needs to be split");
          }
        };
    try (PermutePipeline first = open(scarce, task, heard);
        PermutePipeline second = open(scarce, task, heard)) {
      for (PermutePipeline each : List.of(first, first, second, second)) {
        each.begin(1, problem.bytes());
        each.add(problem, List.of(new Plane(HostMemory.ofArray(zeros))));
        each.submit();
      }
      assertEquals(1, retries[0], "the first's batches are settled when the second needs memory");
      for (PermutePipeline each : List.of(second, first, first, second)) {
        assertTaken(each, List.of(zeros), "zeros");
      }
    }
    assertEquals(0, scarce.usedBytes());
  }

  private PermutePipeline open(
      MemoryGovernor governor, DeviceTask task, PipelineListener listener) {
    return new DevicePermutePipeline(
        new DevicePlace(device, memory, governor, allocator, task, listener),
        transposer,
        BATCH_BYTES);
  }
}

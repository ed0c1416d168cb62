package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.memory.PinnedMemorySource;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DevicePasses;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedPool;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

@RequiresGpu
class DeviceBlockPipelineIT extends BlockPipelineContract {
  private static CudaDevice device;
  private static DeviceFourier fourier;
  private static DeviceTransposer transposer;
  private static PinnedPool pool;
  private static ArrowMemory memory;

  private final MemoryGovernor governor = governor();

  @BeforeAll
  static void openDevice() {
    device = CudaDevice.open(0);
    Availability<DeviceFourier> found = DeviceFourier.find(device, List.of());
    assumeTrue(found.isPresent(), found.whyNot());
    fourier = found.get();
    transposer = new DeviceTransposer(device);
    pool = device.newPinnedPool(1 << 28);
    memory = new ArrowMemory(new PinnedMemorySource(pool));
  }

  @AfterAll
  static void closeDevice() {
    if (memory != null) {
      memory.close();
      transposer.close();
      fourier.close();
      assertEquals(0, pool.liveBytes());
      pool.close();
      assertEquals(0, device.livePinnedBytes());
    }
    if (device != null) {
      assertEquals(0, device.liveDeviceBytes());
      device.close();
    }
  }

  @AfterEach
  void noDeviceMemoryIsHeld() {
    assertEquals(0, governor.usedBytes());
  }

  @Override
  ArrowMemory memory() {
    return memory;
  }

  @Override
  BlockPipeline open(BufferAllocator allocator, PipelineListener listener) {
    return open(allocator, listener, governor, new DeviceTask(() -> {}));
  }

  private BlockPipeline open(
      BufferAllocator allocator,
      PipelineListener listener,
      MemoryGovernor governor,
      DeviceTask task) {
    return new DeviceBlockPipeline(
        new DevicePlace(device, memory, governor, allocator, task, listener),
        new DevicePasses(device),
        transposer,
        Optional.of(fourier),
        aheadBytes());
  }

  /** Plenty of memory, one request in five refused. */
  MemoryGovernor governor() {
    return new MemoryGovernor(4L << 30, new AllocationFaults(5, 1), "none");
  }

  /** Memory for parts that nobody asked for yet. */
  long aheadBytes() {
    return 1L << 30;
  }

  @Test
  void plainMemoryIsRefused() {
    try (ArrowMemory plain = new ArrowMemory(new NativeMemorySource(0))) {
      assertThrows(
          IllegalArgumentException.class,
          () ->
              new DeviceBlockPipeline(
                  new DevicePlace(
                      device,
                      plain,
                      governor,
                      allocator,
                      new DeviceTask(() -> {}),
                      PipelineListener.NONE),
                  new DevicePasses(device),
                  transposer,
                  Optional.of(fourier),
                  0));
    }
  }

  @Test
  void tellsBytesAndTheTimeOfEachPhase() {
    Shape shape = Shape.of(40, 50, 60);
    long bytes = shape.elements() * 4;
    long[] heard = new long[7];
    PipelineListener listener =
        new PipelineListener() {
          @Override
          public void moved(long up, long down) {
            heard[0] += up;
            heard[1] += down;
          }

          @Override
          public void copiedUp(long nanos) {
            heard[2] += nanos;
          }

          @Override
          public void computed(long nanos) {
            heard[3] += nanos;
          }

          @Override
          public void copiedDown(long nanos) {
            heard[4] += nanos;
          }

          @Override
          public void held(long deviceBytes, long pinnedBytes) {
            heard[5] = deviceBytes;
            heard[6] = pinnedBytes;
          }
        };
    try (BlockPipeline heardPipeline =
        open(allocator, listener, governor, new DeviceTask(() -> heard[2]++))) {
      BlockProgram program =
          new BlockProgram(
              shape,
              ElementType.FLOAT32,
              true,
              List.of(
                  new Scale(List.of(new double[40], new double[50], new double[60])),
                  new Fourier(List.of(0, 1, 2), Form.COMPLEX, Direction.FORWARD, 0, 1)));
      heardPipeline.begin(program);
      Plane zeros = new Plane(HostMemory.ofArray(new float[(int) shape.elements()]));
      heardPipeline.put(Part.whole(shape), List.of(zeros, zeros));
      assertEquals(0, heard[2], "no turn before anything goes up");
      heardPipeline.run(List.of(Part.whole(shape)));
      assertEquals(1, heard[2], "one turn");
      long foreseen = deviceBytes(program, 1);
      assertTrue(
          heard[5] <= foreseen && heard[5] >= foreseen - bytes * 2,
          () -> heard[5] + " bytes of device memory, foreseen were " + foreseen);
      heardPipeline.take().forEach(ArrowBuf::close);
    }
    assertEquals(2 * bytes + 150 * 8, heard[0]);
    assertTrue(heard[1] >= 2 * bytes, "bytes down " + heard[1]);
    for (int i = 2; i < 7; i++) {
      assertTrue(heard[i] > 1, "what was heard " + i);
    }
  }

  /** What an array needs, with work areas as plans of cuFFT should have them. */
  private static long deviceBytes(BlockProgram program, long workShare) {
    return DeviceProgram.of(program, workShare, DeviceOperation.Transform::workLimit)
        .deviceBytes();
  }

  @Test
  void anArrayThatIsTooLarge() {
    MemoryGovernor scarce = new MemoryGovernor(1 << 20, AllocationFaults.NONE, "advice");
    try (BlockPipeline refused =
        open(allocator, PipelineListener.NONE, scarce, new DeviceTask(() -> {}))) {
      refused.begin(new BlockProgram(Shape.of(1 << 18), ElementType.FLOAT32, true, List.of()));
      ResourceException failure =
          assertThrows(
              ResourceException.class, () -> refused.run(List.of(Part.whole(Shape.of(1 << 18)))));
      assertTrue(failure.getMessage().contains("advice"), failure.getMessage());
    }
    assertEquals(0, scarce.usedBytes());
  }

  /** Room for the array and an eighth of it: transforms go in smaller parts. */
  @Test
  void anArrayThatFillsTheDevice() {
    Shape shape = Shape.of(64, 64, 128);
    ElementType type = ElementType.FLOAT32;
    OracleArray array = OracleArray.random(shape, true, type, 50);
    Fourier transform = new Fourier(List.of(0, 1, 2), Form.COMPLEX, Direction.FORWARD, 0, 1);
    BlockProgram program = new BlockProgram(shape, type, true, List.of(transform));
    MemoryGovernor scarce =
        new MemoryGovernor(
            deviceBytes(program, DeviceStaging.SCARCE_SHARE), AllocationFaults.NONE, "none");
    assertTrue(scarce.limitBytes() < deviceBytes(program, 1), "less than is best");
    BlockPipeline before = pipeline;
    try (BlockPipeline tight =
        open(allocator, PipelineListener.NONE, scarce, new DeviceTask(() -> {}))) {
      pipeline = tight;
      assertSteps(array, type, transform);
      assertSteps(array, type, transform);
    } finally {
      pipeline = before;
    }
    assertEquals(0, scarce.usedBytes());
  }

  @Test
  void pipelinesOfOneTaskMakeRoomForEachOther() {
    Shape shape = Shape.of(64, 64, 64);
    BlockProgram program =
        new BlockProgram(
            shape,
            ElementType.FLOAT32,
            true,
            List.of(new Fourier(List.of(0, 1, 2), Form.COMPLEX, Direction.FORWARD, 0, 1)));
    MemoryGovernor scarce =
        new MemoryGovernor(deviceBytes(program, 1) * 5 / 2, AllocationFaults.NONE, "none");
    DeviceTask task = new DeviceTask(() -> {});
    Plane zeros = new Plane(HostMemory.ofArray(new float[(int) shape.elements()]));
    try (BlockPipeline first = open(allocator, PipelineListener.NONE, scarce, task);
        BlockPipeline second = open(allocator, PipelineListener.NONE, scarce, task)) {
      for (BlockPipeline each : List.of(first, first, second, second)) {
        each.begin(program);
        each.put(Part.whole(shape), List.of(zeros, zeros));
        each.run(List.of(Part.whole(shape)));
      }
      for (BlockPipeline each : List.of(second, first, first, second)) {
        each.take().forEach(ArrowBuf::close);
      }
    }
    assertEquals(0, scarce.usedBytes());
  }
}

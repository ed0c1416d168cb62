package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

@RequiresGpu
class DeviceBlockPipelineIT extends BlockPipelineContract {
  private static final long BATCH_BYTES = DeviceTwin.BATCH_BYTES;

  @Override
  Twin openTwin() {
    return DeviceTwin.plentiful();
  }

  private DeviceTwin device() {
    return (DeviceTwin) twin();
  }

  private BlockPipeline open(
      BufferAllocator allocator,
      PipelineListener listener,
      MemoryGovernor governor,
      DeviceTask task) {
    return device().open(allocator, listener, governor, task);
  }

  @Test
  void plainMemoryIsRefused() {
    try (ArrowMemory plain = new ArrowMemory(new NativeMemorySource(0))) {
      assertThrows(
          IllegalArgumentException.class,
          () -> {
            DevicePlace place = device().place(plain, allocator, PipelineListener.NONE);
            device().open(place, true, BATCH_BYTES);
          });
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
        open(allocator, listener, device().governor(), new DeviceTask(() -> heard[2]++))) {
      BlockProgram program =
          new BlockProgram(
              shape,
              ElementType.FLOAT32,
              true,
              List.of(
                  FilterSteps.window(
                      ElementType.FLOAT32,
                      true,
                      List.of(new double[40], new double[50], new double[60])),
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

  /** Device bytes that an array needs, with work areas as plans of cuFFT should have them. */
  private static long deviceBytes(BlockProgram program, long workShare) {
    return DeviceProgram.of(program, workShare, DeviceOperation.Transform::workLimit).deviceBytes();
  }

  /** It cannot be cut: each step needs an axis whole. */
  @Test
  void anArrayThatIsTooLarge() {
    MemoryGovernor scarce = new MemoryGovernor(1 << 20, AllocationFaults.NONE, "advice");
    Shape shape = Shape.of(1 << 18);
    for (BlockStep step :
        List.of(
            new Roll(List.of(1L)),
            new Fourier(List.of(0), Form.COMPLEX, Direction.FORWARD, 0, 1))) {
      try (BlockPipeline refused =
          open(allocator, PipelineListener.NONE, scarce, new DeviceTask(() -> {}))) {
        refused.begin(new BlockProgram(shape, ElementType.FLOAT32, true, List.of(step)));
        Plane zeros = new Plane(HostMemory.ofArray(new float[1 << 18]));
        ResourceException failure =
            assertThrows(
                ResourceException.class,
                () -> {
                  refused.put(Part.whole(shape), List.of(zeros, zeros));
                  refused.run(List.of(Part.whole(shape)));
                });
        assertTrue(failure.getMessage().contains("advice"), failure.getMessage());
      }
      assertEquals(0, scarce.usedBytes());
    }
  }

  /** Device memory for a sixteenth of a plane: slices, pinned or not, go into rooms and buffers. */
  @Test
  void arraysThatGoInSlices() {
    Shape shape = Shape.of(128, 64, 65);
    BlockProgram program =
        new BlockProgram(
            shape, ElementType.INT16, true, List.of(new Permute(Permutation.parse("zxy"))));
    long bytes = program.input().planeBytes();
    MemoryGovernor scarce = new MemoryGovernor(bytes / 8, AllocationFaults.NONE, "none");
    long[] held = new long[3];
    PipelineListener heard =
        new PipelineListener() {
          @Override
          public void held(long deviceBytes, long pinnedBytes) {
            held[0] = Math.max(held[0], deviceBytes);
          }

          @Override
          public void moved(long up, long down) {
            held[1] += up;
            held[2] += down;
          }
        };
    byte[] values = new byte[(int) bytes];
    new Random(22).nextBytes(values);
    byte[] expected = OracleArray.moved(program, values);
    Part result = Part.whole(program.output().shape());
    try (BlockPipeline sliced = open(allocator, heard, scarce, new DeviceTask(() -> {}));
        ArrowBuf pinned = allocator.buffer(2 * bytes);
        ArrowBuf room = allocator.buffer(2 * bytes)) {
      pinned.setBytes(0, values);
      pinned.setBytes(bytes, values);
      for (boolean inPlace : new boolean[] {true, false}) {
        List<Plane> planes = new ArrayList<>();
        for (int p = 0; p < 2; p++) {
          planes.add(
              inPlace
                  ? new Plane(
                      HostMemory.ofAddress(pinned.memoryAddress() + p * bytes, bytes),
                      Optional.of(pinned))
                  : new Plane(HostMemory.ofArray(values.clone())));
        }
        room.setZero(0, 2 * bytes);
        sliced.begin(program);
        sliced.putWhole(planes);
        sliced.run(
            List.of(result),
            output ->
                List.of(
                    HostMemory.ofAddress(room.memoryAddress() + bytes, bytes),
                    HostMemory.ofAddress(room.memoryAddress(), bytes)));
        sliced.begin(program);
        sliced.putWhole(planes);
        sliced.run(List.of(result));
        assertEquals(List.of(), sliced.take());
        byte[] found = new byte[(int) bytes];
        for (int p = 0; p < 2; p++) {
          room.getBytes(p * bytes, found);
          assertArrayEquals(expected, found, "room " + p + ", in place " + inPlace);
        }
        List<ArrowBuf> taken = sliced.take();
        for (ArrowBuf plane : taken) {
          plane.getBytes(0, found);
          assertArrayEquals(expected, found, "buffer, in place " + inPlace);
          plane.close();
        }
      }
    }
    assertTrue(held[0] > 0 && held[0] <= bytes / 8, "device bytes " + held[0]);
    assertEquals(8 * bytes, held[1]);
    assertEquals(8 * bytes, held[2]);
    assertEquals(0, scarce.usedBytes());
  }

  /** Parts that are contiguous in an array of one plane are read and written in place. */
  @Test
  void largePartsWithoutStaging() {
    Shape shape = Shape.of(50, 500, 1001);
    byte[] values = new byte[(int) shape.elements()];
    new Random(23).nextBytes(values);
    for (ElementType type : List.of(ElementType.INT8, ElementType.INT16)) {
      Shape whole = Shape.of(50, 500, 1001 / type.bytes());
      int bytes = (int) whole.elements() * type.bytes();
      int slab = bytes / 50;
      try (ArrowBuf pinned = allocator.buffer(bytes)) {
        pinned.setBytes(0, values, 0, bytes);
        pipeline.begin(new BlockProgram(whole, type, false, List.of()));
        for (int low : new int[] {20, 0}) { // in two parts, the second one first
          int size = low == 0 ? 20 : 30;
          pipeline.put(
              slabs(whole, low, size),
              List.of(
                  new Plane(
                      HostMemory.ofAddress(
                          pinned.memoryAddress() + (long) low * slab, (long) size * slab),
                      Optional.of(pinned))));
        }
        int[][] parts = {{0, 50}, {1, 49}, {0, 19}, {49, 1}};
        List<Part> outputs = new ArrayList<>();
        for (int[] part : parts) {
          outputs.add(slabs(whole, part[0], part[1]));
        }
        pipeline.run(outputs);
        for (int[] part : parts) {
          List<ArrowBuf> taken = pipeline.take();
          byte[] found = new byte[part[1] * slab];
          taken.get(0).getBytes(0, found);
          taken.get(0).close();
          assertArrayEquals(
              Arrays.copyOfRange(values, part[0] * slab, (part[0] + part[1]) * slab), found);
        }
      }
    }
  }

  /**
   * Large arrays of several threads, in pinned memory, go up in turns; two of the threads give up,
   * one while its parts are kept and one that is interrupted before they are sent.
   */
  @Test
  void largeArraysOfSeveralThreads() throws Exception {
    Shape shape = Shape.of(20, 1024, 1024); // INT8: more than goes up without a turn
    int slab = 1 << 20;
    int bytes = 20 * slab;
    AtomicInteger turns = new AtomicInteger();
    PipelineListener heard =
        new PipelineListener() {
          @Override
          public void waitedForTurn(long nanos) {
            turns.incrementAndGet();
          }
        };
    ExecutorService threads = Executors.newFixedThreadPool(6);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        int number = i;
        all.add(
            threads.submit(
                () -> {
                  byte[] values = new byte[bytes];
                  new Random(number).nextBytes(values);
                  try (BufferAllocator own = device().memory().newChild("thread " + number);
                      ArrowBuf pinned = own.buffer(bytes);
                      BlockPipeline large =
                          open(own, heard, device().governor(), new DeviceTask(() -> {}))) {
                    pinned.setBytes(0, values);
                    for (int array = 0; array < 3; array++) {
                      large.begin(new BlockProgram(shape, ElementType.INT8, false, List.of()));
                      for (int low : new int[] {12, 0}) {
                        int size = low == 0 ? 12 : 8;
                        HostMemory from =
                            HostMemory.ofAddress(
                                pinned.memoryAddress() + (long) low * slab, (long) size * slab);
                        large.put(
                            slabs(shape, low, size), List.of(new Plane(from, Optional.of(pinned))));
                      }
                      if (number == 1) {
                        return;
                      }
                      if (number == 2) {
                        Thread.currentThread().interrupt();
                      }
                      try {
                        large.run(List.of(Part.whole(shape)));
                      } catch (ResourceException e) { // it would have waited for memory
                        assertEquals(2, number, e::toString);
                        return;
                      }
                      byte[] found = new byte[bytes];
                      List<ArrowBuf> taken = large.take();
                      taken.get(0).getBytes(0, found);
                      taken.get(0).close();
                      assertArrayEquals(values, found, "thread " + number);
                    }
                  }
                }));
      }
      for (Future<?> each : all) {
        each.get(60, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
    int least = 4 * 3 * 2; // of the task, and up
    assertTrue(turns.get() >= least, turns + " turns of " + least);
  }

  private static Part slabs(Shape shape, long low, long size) {
    return new Part(List.of(low, 0L, 0L), List.of(size, shape.extent(1), shape.extent(2)));
  }

  /** They share uploads, launches and downloads: three batches, the first small and early. */
  @Test
  void aHundredThousandSmallArrays() {
    int count = 100_000;
    BlockProgram program =
        new BlockProgram(
            Shape.of(8, 8), ElementType.FLOAT32, false, List.of(new Permute(Permutation.of(1, 0))));
    long[] moved = new long[3];
    PipelineListener heard =
        new PipelineListener() {
          @Override
          public void moved(long up, long down) {
            moved[0]++;
            moved[1] += up;
            moved[2] += down;
          }
        };
    Part whole = Part.whole(Shape.of(8, 8));
    try (BlockPipeline batched =
            device().open(device().place(device().memory(), allocator, heard), true, 64 << 20);
        ArrowBuf rooms = allocator.buffer(256L * count)) {
      int taken = 0;
      for (int i = 0; i < count; i++) {
        while (batched.isFull()) {
          assertEquals(List.of(), batched.take());
          taken++;
        }
        float[] values = new float[64];
        for (int at = 0; at < 64; at++) {
          values[at] = (float) (i * 64 + at);
        }
        long room = rooms.memoryAddress() + 256L * i;
        batched.begin(program);
        batched.putWhole(List.of(new Plane(HostMemory.ofArray(values))));
        batched.run(List.of(whole), output -> List.of(HostMemory.ofAddress(room, 256)));
      }
      assertEquals(count - taken, batched.inFlight());
      while (batched.inFlight() > 0) {
        assertEquals(List.of(), batched.take());
        taken++;
      }
      assertEquals(count, taken);
      for (int i = 0; i < count; i++) {
        for (int at = 0; at < 64; at++) {
          float expected = (float) (i * 64 + at % 8 * 8 + at / 8);
          assertEquals(expected, rooms.getFloat(256L * i + 4L * at), "array " + i + ", " + at);
        }
      }
    }
    assertEquals(3, moved[0], "batches");
    assertEquals(256L * count, moved[1]);
    assertEquals(256L * count, moved[2]);
  }

  /** Programs that move elements need no cuFFT; those that transform say that there is none. */
  @Test
  void withoutTransforms() {
    BlockPipeline before = pipeline;
    try (BlockPipeline alone =
        device()
            .open(
                device().place(device().memory(), allocator, PipelineListener.NONE),
                false,
                BATCH_BYTES)) {
      pipeline = alone;
      everyTypeMoves();
      largePartsOfEveryType();
      alone.begin(
          new BlockProgram(
              Shape.of(8),
              ElementType.FLOAT32,
              true,
              List.of(new Fourier(List.of(0), Form.COMPLEX, Direction.FORWARD, 0, 1))));
      IllegalStateException refused =
          assertThrows(
              IllegalStateException.class, () -> alone.run(List.of(Part.whole(Shape.of(8)))));
      assertEquals("There is no cuFFT", refused.getMessage());
    } finally {
      pipeline = before;
    }
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

  @Test
  void batchesOfOneTaskMakeRoomForEachOther() {
    Shape shape = Shape.of(128, 128);
    BlockProgram program =
        new BlockProgram(
            shape, ElementType.FLOAT32, false, List.of(new Permute(Permutation.of(1, 0))));
    assertEquals(BATCH_BYTES, program.input().bytes());
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
    Plane zeros = new Plane(HostMemory.ofArray(new float[128 * 128]));
    try (BlockPipeline first = open(allocator, heard, scarce, task);
        BlockPipeline second = open(allocator, heard, scarce, task)) {
      for (BlockPipeline each : List.of(first, first, second, second)) {
        each.begin(program);
        each.putWhole(List.of(zeros));
        each.run(List.of(Part.whole(shape)));
      }
      assertEquals(1, retries[0], "the first's batches are settled when the second needs memory");
      for (BlockPipeline each : List.of(second, first, first, second)) {
        each.take().forEach(ArrowBuf::close);
      }
    }
    assertEquals(0, scarce.usedBytes());
  }
}

package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.DeviceFourier.Transform;
import org.tilespark.kernels.fourier.FourierBoxes.Direction;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.fourier.FourierBoxes.Transfer;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.host.fourier.HostFourier;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * cuFFT and the kernels around it; the contract of the pipelines runs them in every combination.
 */
@RequiresGpu
class DeviceFourierIT {
  private static CudaDevice device;
  private static DeviceFourier fourier;
  private static DevicePasses passes;

  @BeforeAll
  static void openDevice() {
    device = CudaDevice.open(0);
    Availability<DeviceFourier> found = DeviceFourier.find(device, List.of());
    assumeTrue(found.isPresent(), found.whyNot());
    fourier = found.get();
    passes = new DevicePasses(device);
  }

  @AfterAll
  static void closeDevice() {
    if (fourier != null) {
      fourier.close();
    }
    if (device != null) {
      device.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, device.liveDeviceBytes());
    assertEquals(0, device.livePinnedBytes());
  }

  @Test
  void hasAVersion() {
    assertTrue(fourier.version().matches("1[1-9]\\.\\d+\\.\\d+"), fourier.version());
  }

  /** One plan used by several threads, and more plans than are kept. */
  @Test
  void threadsAndManyPlans() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Callable<Void>> tasks = new ArrayList<>();
      for (int task = 0; task < 4; task++) {
        int seed = task;
        tasks.add(
            () -> {
              for (int n = 2; n < 90; n++) {
                assertTransforms(Shape.of(9, n), Kind.FORWARD, seed);
              }
              return null;
            });
      }
      for (Future<Void> done : threads.invokeAll(tasks)) {
        done.get();
      }
    } finally {
      threads.shutdown();
    }
  }

  private static void assertTransforms(Shape shape, Kind kind, long seed) {
    int count = (int) shape.elements();
    double[] re = new Random(seed).doubles(count).toArray();
    double[] im = new Random(seed + 9).doubles(count).toArray();
    FourierProblem problem = new FourierProblem(shape, ElementType.FLOAT64, List.of(0, 1), kind, 0);
    Transform transform = fourier.plan(problem, Long.MAX_VALUE);
    double[] found = new double[2 * count];
    try (CudaStream stream = device.newStream();
        PinnedBuffer host = device.allocatePinned(16L * count);
        DeviceBuffer array = device.allocate(16L * count, stream);
        DeviceBuffer work = device.allocate(transform.workBytes(), stream)) {
      double[] both = new double[2 * count];
      for (int i = 0; i < count; i++) {
        both[2 * i] = re[i];
        both[2 * i + 1] = im[i];
      }
      HostMemory.ofArray(both).copyTo(host.memory());
      stream.upload(host.memory(), array, 0);
      fourier.transform(transform, array, array, work, stream);
      stream.download(array, 0, host.memory());
      stream.synchronize();
      host.memory().copyTo(HostMemory.ofArray(found));
    }
    List<HostMemory> planes = List.of(HostMemory.ofArray(re), HostMemory.ofArray(im));
    new HostFourier().transform(problem, 1, planes, planes);
    for (int i = 0; i < count; i++) {
      assertEquals(re[i], found[2 * i], 1e-12 * count, shape + " re " + i);
      assertEquals(im[i], found[2 * i + 1], 1e-12 * count, shape + " im " + i);
    }
  }

  /** Large prime factors make cuFFT's work areas many times the array; batches are cut then. */
  @Test
  void workAreasStayWithinTheArray() {
    for (Shape shape : List.of(Shape.of(512, 512, 512), Shape.of(181, 217, 181))) {
      for (Kind kind : List.of(Kind.FORWARD, Kind.REAL_TO_HALF)) {
        FourierProblem problem =
            new FourierProblem(shape, ElementType.FLOAT32, List.of(0, 1, 2), kind, 0);
        long limit = problem.outputShape().elements() * 8;
        Transform transform = fourier.plan(problem, limit);
        assertTrue(
            transform.workBytes() <= limit,
            problem + " needs " + transform.workBytes() + ", the array is " + limit);
      }
    }
  }

  @Test
  void mistakes() {
    Shape shape = Shape.of(8);
    Piece piece = new Piece(shape, List.of(0L), shape, 0, 8, 0, 32);
    try (CudaStream stream = device.newStream();
        DeviceBuffer planes = device.allocate(63, stream);
        DeviceBuffer array = device.allocate(64, stream)) {
      assertThrows(
          IndexOutOfBoundsException.class,
          () ->
              passes.move(
                  new Transfer(Direction.PUT, ElementType.FLOAT32, true, 1),
                  List.of(piece),
                  planes,
                  array,
                  stream));
    }
  }

  /**
   * An array of more than 2^31 elements: one number at its far end has a spectrum that is known
   * everywhere. Put, transformed over the last axis, over the first, and taken at places beyond 32
   * bits.
   */
  @Test
  void moreElementsThanAnIntCounts() {
    Shape shape = Shape.of(2050, 1024, 1024);
    FourierProblem problem =
        new FourierProblem(shape, ElementType.FLOAT32, List.of(0, 1, 2), Kind.FORWARD, 0);
    long bytes = shape.elements() * 8;
    Transform transform = fourier.plan(problem, bytes);
    long needed = bytes + transform.workBytes() + (1L << 20);
    assumeTrue(device.memoryInfo().freeBytes() > needed + (1L << 30), "needs " + needed + " bytes");
    long[] at = {2049, 1001, 999};
    int line = 1024;
    try (CudaStream stream = device.newStream();
        PinnedBuffer host = device.allocatePinned(8L * line);
        DeviceBuffer planes = device.allocate(8L * line, stream);
        DeviceBuffer array = device.allocate(bytes, stream);
        DeviceBuffer work = device.allocate(transform.workBytes(), stream)) {
      stream.fill(array, (byte) 0);
      host.memory().fill((byte) 0);
      HostMemory.unsafe().putFloat(host.memory().offset() + 4 * at[2], 1);
      stream.upload(host.memory(), planes, 0);
      move(Direction.PUT, shape, at[0], at[1], planes, array, stream);
      fourier.transform(transform, array, array, work, stream);
      for (long[] frequency : new long[][] {{0, 0}, {1, 1}, {2049, 1023}, {2047, 3}, {1025, 512}}) {
        move(Direction.TAKE, shape, frequency[0], frequency[1], planes, array, stream);
        stream.download(planes, 0, host.memory());
        stream.synchronize();
        for (int k = 0; k < line; k++) {
          double turn =
              (double) (frequency[0] * at[0] % 2050) / 2050
                  + (double) (frequency[1] * at[1] % 1024) / 1024
                  + (double) (k * at[2] % 1024) / 1024;
          long re = host.memory().offset() + 4L * k;
          String where = frequency[0] + ", " + frequency[1] + ", " + k;
          assertEquals(Math.cos(2 * Math.PI * turn), HostMemory.unsafe().getFloat(re), 1e-5, where);
          assertEquals(
              -Math.sin(2 * Math.PI * turn),
              HostMemory.unsafe().getFloat(re + 4L * line),
              1e-5,
              where);
        }
      }
    }
  }

  /** One line along the last axis. */
  private static void move(
      Direction direction,
      Shape shape,
      long i,
      long j,
      DeviceBuffer planes,
      DeviceBuffer array,
      CudaStream stream) {
    long cols = shape.extent(2);
    Piece line = new Piece(shape, List.of(i, j, 0L), Shape.of(1, 1, cols), 0, cols, 0, 4 * cols);
    passes.move(
        new Transfer(direction, ElementType.FLOAT32, true, 1),
        List.of(line),
        planes,
        array,
        stream);
  }
}

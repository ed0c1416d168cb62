package org.tilespark.bench.arrow;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.arrow.blocks.DeviceBlockPipeline;
import org.tilespark.arrow.blocks.HostBlockPipeline;
import org.tilespark.arrow.blocks.Plane;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.memory.PinnedMemorySource;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DevicePasses;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedPool;
import org.tilespark.kernels.fourier.FourierBoxes.Direction;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.fourier.FourierBoxes.Transfer;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.kernels.pointwise.FilterPrograms.Taken;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Fourier transforms with an executor's settings, and the single parts of a transform. Times are in
 * milliseconds; arrays hold complex FLOATs.
 */
interface DeviceMachine extends AutoCloseable {
  /** Kernels that run before or after a transform; each reads and writes a whole array. */
  enum Kernel {
    PUT("planes into the array, by a kernel"),
    TAKE("the array into planes, by a kernel"),
    TAKE_SCALED("the same, times a factor"),
    WINDOW("a trend and a window, in one pass");

    private final String description;

    Kernel(String description) {
      this.description = description;
    }

    String description() {
      return description;
    }
  }

  String description();

  boolean isDevice();

  ArrowMemory memory();

  /** Opens a task's pipeline; the task closes it. */
  BlockPipeline open(BufferAllocator allocator, PipelineListener listener);

  /** Time of an upload of the planes alone. */
  default double copyUp(List<Plane> planes) {
    throw new UnsupportedOperationException("without a device");
  }

  /**
   * Time of a download of as many bytes. The download overwrites the planes with the values they
   * hold.
   */
  default double copyDown(List<Plane> planes) {
    throw new UnsupportedOperationException("without a device");
  }

  /** Time of a forward transform in place by cuFFT. */
  default double transform(Shape shape, List<Integer> axes) {
    throw new UnsupportedOperationException("without a device");
  }

  /** Time of a device-to-device copy of {@code bytes} bytes. */
  default double copyOnDevice(long bytes) {
    throw new UnsupportedOperationException("without a device");
  }

  /** Time of a kernel on an array. */
  default double kernel(Kernel kernel, Shape shape) {
    throw new UnsupportedOperationException("without a device");
  }

  @Override
  void close();

  /** Opens the Java implementation, with one thread. */
  static DeviceMachine ofHost() {
    return new OfHost();
  }

  /** Opens a device, if cuFFT is available. */
  static Availability<DeviceMachine> ofDevice(List<Path> libraryPath) {
    CudaDevice device = CudaDevice.open(0);
    Availability<DeviceFourier> found = DeviceFourier.find(device, libraryPath);
    if (!found.isPresent()) {
      device.close();
    }
    return found.map(fourier -> new OfDevice(device, fourier));
  }

  final class OfHost implements DeviceMachine {
    private final NativeMemorySource source = new NativeMemorySource(0);
    private final ArrowMemory memory = new ArrowMemory(source);
    private final HostTransposer transposer = new HostTransposer();

    @Override
    public String description() {
      return System.getProperty("java.vm.name")
          + " "
          + System.getProperty("java.version")
          + ", one thread";
    }

    @Override
    public boolean isDevice() {
      return false;
    }

    @Override
    public ArrowMemory memory() {
      return memory;
    }

    @Override
    public BlockPipeline open(BufferAllocator allocator, PipelineListener listener) {
      return new HostBlockPipeline(transposer, allocator, listener);
    }

    @Override
    public void close() {
      memory.close();
      source.close();
      transposer.close();
    }
  }

  final class OfDevice implements DeviceMachine {
    /** The pool keeps all pinned memory, so that runs after the warm-up allocate nothing. */
    private static final long POOL_BYTES = 64L << 30;

    private static final long AHEAD_BYTES = 4L << 30;
    private static final long BATCH_BYTES = 64L << 20;

    private final CudaDevice device;
    private final DeviceFourier fourier;
    private final DevicePasses passes;
    private final DeviceTransposer transposer;
    private final DeviceElementwise elementwise;
    private final PinnedPool pool;
    private final ArrowMemory memory;
    private final MemoryGovernor governor;

    private OfDevice(CudaDevice device, DeviceFourier fourier) {
      this.device = device;
      this.fourier = fourier;
      this.passes = new DevicePasses(device);
      this.transposer = new DeviceTransposer(device);
      this.elementwise = new DeviceElementwise(device);
      this.pool = device.newPinnedPool(POOL_BYTES);
      this.memory = new ArrowMemory(new PinnedMemorySource(pool));
      this.governor =
          new MemoryGovernor(
              device.memoryInfo().totalBytes() / 10 * 9,
              AllocationFaults.NONE,
              "Use a smaller --extent, --slabs or --thickness");
    }

    @Override
    public String description() {
      return device.description() + ", cuFFT " + fourier.version();
    }

    @Override
    public boolean isDevice() {
      return true;
    }

    @Override
    public ArrowMemory memory() {
      return memory;
    }

    @Override
    public BlockPipeline open(BufferAllocator allocator, PipelineListener listener) {
      return new DeviceBlockPipeline(
          new DevicePlace(device, memory, governor, allocator, new DeviceTask(() -> {}), listener),
          passes,
          transposer,
          elementwise,
          Optional.of(fourier),
          AHEAD_BYTES,
          BATCH_BYTES);
    }

    @Override
    public double copyUp(List<Plane> planes) {
      return withBuffers(
          stream -> List.of(device.allocate(bytes(planes), stream)),
          (stream, buffers) -> {
            long at = 0;
            for (Plane plane : planes) {
              stream.upload(plane.values(), buffers.get(0), at);
              at += plane.values().bytes();
            }
          });
    }

    @Override
    public double copyDown(List<Plane> planes) {
      try (CudaStream stream = device.newStream();
          DeviceBuffer buffer = device.allocate(bytes(planes), stream)) {
        long at = 0;
        for (Plane plane : planes) {
          stream.upload(plane.values(), buffer, at);
          at += plane.values().bytes();
        }
        return timed(
            stream,
            () -> {
              long from = 0;
              for (Plane plane : planes) {
                stream.download(buffer, from, plane.values());
                from += plane.values().bytes();
              }
            });
      }
    }

    private static long bytes(List<Plane> planes) {
      return planes.stream().mapToLong(plane -> plane.values().bytes()).sum();
    }

    @Override
    public double transform(Shape shape, List<Integer> axes) {
      FourierProblem problem =
          new FourierProblem(shape, ElementType.FLOAT32, axes, FourierProblem.Kind.FORWARD, 0);
      long bytes = 2 * shape.elements() * Float.BYTES;
      DeviceFourier.Transform transform = fourier.plan(problem, bytes);
      return withBuffers(
          stream ->
              List.of(
                  device.allocate(bytes, stream), device.allocate(transform.workBytes(), stream)),
          (stream, buffers) ->
              fourier.transform(transform, buffers.get(0), buffers.get(0), buffers.get(1), stream));
    }

    @Override
    public double copyOnDevice(long bytes) {
      return withBuffers(
          stream -> List.of(device.allocate(bytes, stream), device.allocate(bytes, stream)),
          (stream, buffers) -> stream.copy(buffers.get(0), 0, buffers.get(1), 0, bytes));
    }

    @Override
    public double kernel(Kernel kernel, Shape shape) {
      long elements = shape.elements();
      long planeBytes = elements * Float.BYTES;
      List<Long> low = new ArrayList<>();
      for (int axis = 0; axis < shape.rank(); axis++) {
        low.add(0L);
      }
      Piece all = new Piece(shape, low, shape, 0, elements, 0, planeBytes);
      Taken taken = new Taken(shape.rank(), ElementType.FLOAT32, true);
      ElementwiseProgram program =
          FilterPrograms.window(taken).behind(0, FilterPrograms.trend(taken));
      long longest = Arrays.stream(shape.toArray()).max().orElseThrow();
      return withBuffers(
          stream ->
              List.of(
                  device.allocate(2 * planeBytes, stream),
                  device.allocate(2 * planeBytes, stream),
                  device.allocate(longest * Double.BYTES, stream)),
          (stream, buffers) -> {
            switch (kernel) {
              case PUT -> move(Direction.PUT, all, 1, buffers, stream);
              case TAKE -> move(Direction.TAKE, all, 1, buffers, stream);
              case TAKE_SCALED -> move(Direction.TAKE, all, 0.5, buffers, stream);
              case WINDOW ->
                  elementwise.run(
                      program,
                      shape,
                      new long[shape.rank()],
                      Collections.nCopies(program.vectors().size(), new At(buffers.get(2), 0)),
                      List.of(new At(buffers.get(1), 0)),
                      List.of(new At(buffers.get(1), 0)),
                      stream);
            }
          });
    }

    private void move(
        Direction direction,
        Piece piece,
        double factor,
        List<DeviceBuffer> buffers,
        CudaStream stream) {
      passes.move(
          new Transfer(direction, ElementType.FLOAT32, true, factor),
          List.of(piece),
          buffers.get(0),
          buffers.get(1),
          stream);
    }

    private interface Allocation {
      List<DeviceBuffer> on(CudaStream stream);
    }

    private interface Work {
      void queue(CudaStream stream, List<DeviceBuffer> buffers);
    }

    /** Device time of work on buffers that are filled with zeros. */
    private double withBuffers(Allocation allocation, Work work) {
      List<DeviceBuffer> buffers = List.of();
      try (CudaStream stream = device.newStream()) {
        try {
          buffers = allocation.on(stream);
          buffers.forEach(buffer -> stream.fill(buffer, (byte) 0));
          List<DeviceBuffer> made = buffers;
          work.queue(stream, made); // warm-up: modules load at first use
          return timed(stream, () -> work.queue(stream, made));
        } finally {
          buffers.forEach(DeviceBuffer::close);
        }
      }
    }

    private static double timed(CudaStream stream, Runnable work) {
      try (CudaEvent before = stream.record()) {
        work.run();
        try (CudaEvent after = stream.record()) {
          after.synchronize();
          return after.millisSince(before);
        }
      }
    }

    @Override
    public void close() {
      memory.close();
      pool.close();
      elementwise.close();
      transposer.close();
      fourier.close();
      device.close();
    }
  }
}

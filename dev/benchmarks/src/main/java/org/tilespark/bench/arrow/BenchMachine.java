package org.tilespark.bench.arrow;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.arrow.blocks.DeviceBlockPipeline;
import org.tilespark.arrow.blocks.HostBlockPipeline;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.memory.PinnedMemorySource;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DevicePasses;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedPool;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.memory.HostMemory;

/**
 * A transposer with an executor's settings, and the plain copies with which its rate is compared.
 */
interface BenchMachine extends AutoCloseable {
  /** A description of the device and its driver, or of the JVM. */
  String description();

  /** The name of the plain copies, for the head of the table. */
  String copies();

  /** The memory in which batches are allocated. */
  ArrowMemory memory();

  /** Opens a task's pipeline; the task closes it. */
  BlockPipeline open(BufferAllocator allocator, long batchBytes);

  /** Nanoseconds of plain copies of {@code bytes} bytes; on a device, as many bytes up and down. */
  long copyNanos(long bytes, ExecutorService threads, int tasks) throws Exception;

  /** Bytes that the machine has allocated, in use or kept for reuse; constant after the warm-up. */
  long heldBytes();

  @Override
  void close();

  /** Opens a device, with pinned memory of which {@code poolBytes} bytes are kept for reuse. */
  static BenchMachine ofDevice(long poolBytes) {
    CudaDevice device = CudaDevice.open(0);
    return new OfDevice(
        device, new DeviceTransposer(device), device.newPinnedPool(poolBytes), poolBytes);
  }

  /**
   * Opens the Java implementation, with plain memory of which {@code poolBytes} bytes are kept for
   * reuse.
   */
  static BenchMachine ofHost(long poolBytes) {
    return new OfHost(new NativeMemorySource(poolBytes));
  }

  final class OfDevice implements BenchMachine {
    private final CudaDevice device;
    private final DeviceTransposer transposer;
    private final DeviceElementwise elementwise;
    private final PinnedPool pool;
    private final ArrowMemory memory;
    private final MemoryGovernor governor;
    private final PinnedCopies copies;

    private OfDevice(
        CudaDevice device, DeviceTransposer transposer, PinnedPool pool, long poolBytes) {
      this.device = device;
      this.transposer = transposer;
      this.elementwise = new DeviceElementwise(device);
      this.pool = pool;
      this.memory = new ArrowMemory(new PinnedMemorySource(pool));
      this.governor =
          new MemoryGovernor(
              device.memoryInfo().totalBytes() / 10 * 8,
              AllocationFaults.NONE,
              "Use fewer --tasks or a smaller --batch-mib than with --pool-mib "
                  + (poolBytes >> 20));
      this.copies = new PinnedCopies(device, memory);
    }

    @Override
    public String description() {
      return device.description();
    }

    @Override
    public String copies() {
      return "pinned copies up and down at once";
    }

    @Override
    public ArrowMemory memory() {
      return memory;
    }

    @Override
    public BlockPipeline open(BufferAllocator allocator, long batchBytes) {
      return new DeviceBlockPipeline(
          new DevicePlace(
              device, memory, governor, allocator, new DeviceTask(() -> {}), PipelineListener.NONE),
          new DevicePasses(device),
          transposer,
          elementwise,
          Optional.empty(),
          2 * batchBytes,
          batchBytes);
    }

    @Override
    public long copyNanos(long bytes, ExecutorService threads, int tasks) {
      return copies.nanos(bytes);
    }

    @Override
    public long heldBytes() {
      return device.livePinnedBytes();
    }

    @Override
    public void close() {
      copies.close();
      memory.close();
      pool.close();
      elementwise.close();
      transposer.close();
      device.close();
    }
  }

  final class OfHost implements BenchMachine {
    private static final long COPY_BYTES = 64L << 20;

    private final NativeMemorySource source;
    private final ArrowMemory memory;
    private final HostTransposer transposer = new HostTransposer();

    private OfHost(NativeMemorySource source) {
      this.source = source;
      this.memory = new ArrowMemory(source);
    }

    @Override
    public String description() {
      return String.format(
          "%s %s, %s, %d cores",
          System.getProperty("java.vm.name"),
          System.getProperty("java.version"),
          System.getProperty("os.arch"),
          Runtime.getRuntime().availableProcessors());
    }

    @Override
    public String copies() {
      return "copies from memory to memory by as many threads";
    }

    @Override
    public ArrowMemory memory() {
      return memory;
    }

    @Override
    public BlockPipeline open(BufferAllocator allocator, long batchBytes) {
      return new HostBlockPipeline(transposer, allocator, PipelineListener.NONE);
    }

    @Override
    public long copyNanos(long bytes, ExecutorService threads, int tasks) throws Exception {
      long share = bytes / tasks;
      List<Callable<Void>> copies = new ArrayList<>();
      for (int task = 0; task < tasks; task++) {
        copies.add(
            () -> {
              copy(share);
              return null;
            });
      }
      long start = System.nanoTime();
      ArrowTransposeBenchmark.all(threads, copies);
      return System.nanoTime() - start;
    }

    /** Copies one thread's share of the bytes, between two large buffers. */
    private void copy(long bytes) {
      long each = Math.min(COPY_BYTES, bytes);
      try (BufferAllocator allocator = memory.newChild("copies");
          ArrowBuf from = allocator.buffer(each);
          ArrowBuf to = allocator.buffer(each)) {
        for (long done = 0; done < bytes; done += each) {
          long part = Math.min(each, bytes - done);
          HostMemory.ofAddress(from.memoryAddress(), part)
              .copyTo(HostMemory.ofAddress(to.memoryAddress(), part));
        }
      }
    }

    @Override
    public long heldBytes() {
      return memory.allocatedBytes() + source.keptBytes();
    }

    @Override
    public void close() {
      memory.close();
      source.close();
      transposer.close();
    }
  }
}

package org.tilespark.arrow;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ReferenceManager;
import org.tilespark.kernels.HostMemory;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.plan.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * The pipeline of an executor with a GPU: blocks are gathered in pinned memory (or read from where
 * they lie, if that is pinned already), uploaded, reordered by one launch per run of equal blocks,
 * and downloaded into pinned memory. Two batches are under way, each on a stream of its own, so
 * that one uploads while the other computes and downloads, and the task fills a third.
 */
public final class DevicePermutePipeline implements PermutePipeline {
  private static final int STREAMS = 2;

  private final CudaDevice device;
  private final DeviceTransposer transposer;
  private final ArrowMemory memory;
  private final BufferAllocator allocator;
  private final Runnable deviceTurn;
  private final PipelineListener listener;
  private final List<CudaStream> streams = new ArrayList<>();
  private final Deque<Batch> underWay = new ArrayDeque<>();
  private Batch filling;
  private int nextStream;

  /**
   * A pipeline on one device; borrows everything.
   *
   * @param memory pinned memory
   * @param allocator of {@code memory}, for this task's buffers
   * @param deviceTurn called before the first upload of every batch; returns when this task may use
   *     the device
   */
  public DevicePermutePipeline(
      CudaDevice device,
      DeviceTransposer transposer,
      ArrowMemory memory,
      BufferAllocator allocator,
      Runnable deviceTurn,
      PipelineListener listener) {
    if (!memory.isPinned()) {
      throw new IllegalArgumentException("A device pipeline needs pinned memory");
    }
    this.device = device;
    this.transposer = transposer;
    this.memory = memory;
    this.allocator = allocator;
    this.deviceTurn = deviceTurn;
    this.listener = listener;
  }

  @Override
  public int capacity() {
    return STREAMS;
  }

  @Override
  public int inFlight() {
    return underWay.size();
  }

  @Override
  public void begin(int planes, long planeBytes) {
    filling = new Batch(planes, planeBytes);
  }

  @Override
  public boolean fits(long bytes) {
    return filling != null && bytes <= filling.capacityBytes - filling.usedBytes;
  }

  @Override
  public void add(TransposeProblem problem, List<Plane> planes) {
    filling.add(problem, planes);
  }

  @Override
  public void submit() {
    if (streams.isEmpty()) {
      for (int i = 0; i < STREAMS; i++) {
        streams.add(device.newStream());
      }
    }
    long start = System.nanoTime();
    deviceTurn.run();
    listener.waited(System.nanoTime() - start);
    Batch batch = filling;
    filling = null;
    underWay.add(batch); // from here on close() waits for it
    batch.launch(streams.get(nextStream));
    nextStream = (nextStream + 1) % STREAMS;
  }

  @Override
  public List<ArrowBuf> take() {
    Batch batch = underWay.element();
    List<ArrowBuf> outputs = batch.finish();
    underWay.remove();
    batch.close();
    return outputs;
  }

  @Override
  public void close() {
    // The streams first: closing one waits for its work, which reads and writes our buffers.
    streams.forEach(CudaStream::close);
    streams.clear();
    if (filling != null) {
      filling.close();
      filling = null;
    }
    underWay.forEach(Batch::close);
    underWay.clear();
  }

  /** Consecutive blocks of one problem, back to back: one launch. */
  private static final class Run {
    private final TransposeProblem problem;
    private final long startBytes;
    private long count = 1;

    private Run(TransposeProblem problem, long startBytes) {
      this.problem = problem;
      this.startBytes = startBytes;
    }

    /** The run as one problem, with the blocks along a leading batch axis. */
    private TransposeProblem batched() {
      if (count == 1) {
        return problem;
      }
      int rank = problem.shape().rank();
      long[] extents = new long[rank + 1];
      int[] axes = new int[rank + 1];
      extents[0] = count;
      for (int axis = 0; axis < rank; axis++) {
        extents[axis + 1] = problem.shape().extent(axis);
        axes[axis + 1] = problem.permutation().axis(axis) + 1;
      }
      return new TransposeProblem(Shape.of(extents), Permutation.of(axes), problem.elementBytes());
    }
  }

  /** Pinned bytes that go to one place of a plane's device buffer. */
  private static final class Upload implements AutoCloseable {
    private final ReferenceManager source;
    private final ArrowBuf held;
    private final long address;
    private final long toBytes;
    private long bytes;

    /**
     * Shares {@code owner} with {@code allocator}, so that it outlives the allocator it came from:
     * an upstream operator may be closed before this batch is done.
     */
    private Upload(
        ArrowBuf owner, BufferAllocator allocator, long address, long toBytes, long bytes) {
      this.source = owner.getReferenceManager();
      this.held = source.retain(owner, allocator);
      this.address = address;
      this.toBytes = toBytes;
      this.bytes = bytes;
    }

    /** True if {@code more} bytes at {@code at} in {@code owner} lie right behind these. */
    private boolean extend(ArrowBuf owner, long at, long more) {
      boolean follows = source == owner.getReferenceManager() && address + bytes == at;
      bytes += follows ? more : 0;
      return follows;
    }

    @Override
    public void close() {
      held.close();
    }
  }

  private final class Batch {
    private final long capacityBytes;
    private final ArrowBuf[] staging; // per plane; null until a block needs it
    private final List<List<Upload>> uploads = new ArrayList<>(); // per plane
    private final List<Run> runs = new ArrayList<>();
    private final List<AutoCloseable> onDevice = new ArrayList<>();
    private List<ArrowBuf> outputs = List.of();
    private CudaEvent started;
    private CudaEvent finished;
    private long usedBytes;

    private Batch(int planes, long capacityBytes) {
      this.capacityBytes = capacityBytes;
      this.staging = new ArrowBuf[planes];
      for (int p = 0; p < planes; p++) {
        uploads.add(new ArrayList<>());
      }
    }

    void add(TransposeProblem problem, List<Plane> planes) {
      for (int p = 0; p < planes.size(); p++) {
        HostMemory values = planes.get(p).values();
        ArrowBuf owner = planes.get(p).owner();
        if (owner != null && memory.owns(owner)) {
          send(p, owner, values.offset(), values.bytes());
        } else {
          ArrowBuf buffer = stagingOf(p);
          HostMemory target =
              HostMemory.ofAddress(buffer.memoryAddress() + usedBytes, values.bytes());
          values.copyTo(target);
          send(p, buffer, target.offset(), target.bytes());
        }
      }
      Run last = runs.isEmpty() ? null : runs.get(runs.size() - 1);
      if (last != null && last.problem.equals(problem)) {
        last.count++;
      } else {
        runs.add(new Run(problem, usedBytes));
      }
      usedBytes += problem.bytes();
    }

    private ArrowBuf stagingOf(int plane) {
      if (staging[plane] == null) {
        staging[plane] = allocator.buffer(capacityBytes);
      }
      return staging[plane];
    }

    private void send(int plane, ArrowBuf owner, long address, long bytes) {
      List<Upload> list = uploads.get(plane);
      Upload last = list.isEmpty() ? null : list.get(list.size() - 1);
      if (last == null || !last.extend(owner, address, bytes)) {
        list.add(new Upload(owner, allocator, address, usedBytes, bytes));
      }
    }

    void launch(CudaStream stream) {
      int planes = staging.length;
      outputs = Buffers.allocate(allocator, planes, usedBytes);
      started = kept(stream.record());
      for (int p = 0; p < planes; p++) {
        DeviceBuffer in = kept(device.allocate(usedBytes, stream));
        DeviceBuffer out = kept(device.allocate(usedBytes, stream));
        for (Upload upload : uploads.get(p)) {
          stream.upload(HostMemory.ofAddress(upload.address, upload.bytes), in, upload.toBytes);
        }
        for (Run run : runs) {
          transposer.enqueue(run.batched(), in, run.startBytes, out, run.startBytes, stream);
        }
        stream.download(out, 0, HostMemory.ofAddress(outputs.get(p).memoryAddress(), usedBytes));
      }
      finished = kept(stream.record());
      listener.moved(planes * usedBytes, planes * usedBytes);
    }

    private <T extends AutoCloseable> T kept(T owned) {
      onDevice.add(owned);
      return owned;
    }

    List<ArrowBuf> finish() {
      long start = System.nanoTime();
      finished.synchronize();
      listener.waited(System.nanoTime() - start);
      listener.worked((long) (finished.millisSince(started) * 1e6));
      List<ArrowBuf> done = outputs;
      outputs = List.of();
      return done;
    }

    /** Frees everything; the device must be done with it. */
    void close() {
      for (AutoCloseable owned : onDevice) {
        try {
          owned.close();
        } catch (RuntimeException e) {
          throw e;
        } catch (Exception e) {
          throw new IllegalStateException(e); // none of ours declares a checked exception
        }
      }
      onDevice.clear();
      Buffers.close(outputs);
      outputs = List.of();
      for (List<Upload> list : uploads) {
        list.forEach(Upload::close);
        list.clear();
      }
      for (int p = 0; p < staging.length; p++) {
        if (staging[p] != null) {
          staging[p].close();
          staging[p] = null;
        }
      }
    }
  }
}

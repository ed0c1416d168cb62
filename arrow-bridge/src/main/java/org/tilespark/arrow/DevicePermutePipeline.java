package org.tilespark.arrow;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
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
  private final MemoryGovernor governor;
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
   * @param governor of the device's memory
   * @param allocator of {@code memory}, for this task's buffers
   * @param deviceTurn called before the first upload of every batch; returns when this task may use
   *     the device
   */
  public DevicePermutePipeline(
      CudaDevice device,
      DeviceTransposer transposer,
      ArrowMemory memory,
      MemoryGovernor governor,
      BufferAllocator allocator,
      Runnable deviceTurn,
      PipelineListener listener) {
    if (!memory.isPinned()) {
      throw new IllegalArgumentException("A device pipeline needs pinned memory");
    }
    this.device = device;
    this.transposer = transposer;
    this.memory = memory;
    this.governor = governor;
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
    try {
      batch.launch(streams.get(nextStream), this::settleUnderWay);
    } finally {
      underWay.add(batch); // also after a failure: close() waits for what was queued
    }
    nextStream = (nextStream + 1) % STREAMS;
  }

  /** Waits for the batches under way, and frees their device memory; they can still be taken. */
  private void settleUnderWay() {
    underWay.forEach(Batch::settle);
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
    List<AutoCloseable> owned = new ArrayList<>(streams);
    if (filling != null) {
      owned.add(filling);
    }
    owned.addAll(underWay);
    streams.clear();
    filling = null;
    underWay.clear();
    Closing.all(owned);
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

  /** The device's memory of one batch: input and output of its largest piece. */
  private record InAndOut(DeviceBuffer in, DeviceBuffer out) implements AutoCloseable {
    static InAndOut allocate(CudaDevice device, long bytes, CudaStream stream) {
      DeviceBuffer in = device.allocate(bytes, stream);
      try {
        return new InAndOut(in, device.allocate(bytes, stream));
      } catch (Throwable t) {
        in.close();
        throw t;
      }
    }

    @Override
    public void close() {
      in.close();
      out.close();
    }
  }

  /** Consecutive blocks that go through the device together. */
  private record Piece(long startBytes, long bytes, List<Run> runs) {
    long endBytes() {
      return startBytes + bytes;
    }

    /** Cuts a batch, at the borders of blocks, into pieces of at most {@code mostBytes} bytes. */
    static List<Piece> cut(List<Run> runs, long mostBytes) {
      List<Piece> pieces = new ArrayList<>();
      List<Run> open = new ArrayList<>();
      long start = 0;
      long end = 0;
      for (Run run : runs) {
        long blockBytes = run.problem.bytes();
        long left = run.count;
        while (left > 0) {
          long fit = Math.min(left, (mostBytes - (end - start)) / blockBytes);
          if (fit == 0) {
            pieces.add(new Piece(start, end - start, List.copyOf(open)));
            open.clear();
            start = end;
          } else {
            Run part = new Run(run.problem, end);
            part.count = fit;
            open.add(part);
            end += fit * blockBytes;
            left -= fit;
          }
        }
      }
      pieces.add(new Piece(start, end - start, List.copyOf(open)));
      return pieces;
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

  private final class Batch implements AutoCloseable {
    private final long capacityBytes;
    private final ArrowBuf[] staging; // per plane; null until a block needs it
    private final List<List<Upload>> uploads = new ArrayList<>(); // per plane
    private final List<Run> runs = new ArrayList<>();
    private final List<AutoCloseable> onDevice = new ArrayList<>();
    private List<ArrowBuf> outputs = List.of();
    private MemoryGovernor.Grant<InAndOut> granted;
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

    void launch(CudaStream stream, Runnable settleOthers) {
      int planes = staging.length;
      outputs = Buffers.allocate(allocator, planes, usedBytes);
      started = kept(stream.record());
      // The planes follow each other on one stream, so they can share the device's memory.
      long leastBytes = runs.stream().mapToLong(run -> run.problem.bytes()).max().orElseThrow();
      granted =
          governor.acquire(
              2 * usedBytes,
              2 * leastBytes,
              bytes -> InAndOut.allocate(device, bytes / 2, stream),
              settleOthers,
              listener);
      List<Piece> pieces = Piece.cut(runs, granted.bytes() / 2);
      for (int p = 0; p < planes; p++) {
        for (Piece piece : pieces) {
          launch(piece, uploads.get(p), outputs.get(p), stream);
        }
      }
      finished = kept(stream.record());
      listener.moved(planes * usedBytes, planes * usedBytes);
    }

    /** Queues one piece of one plane. */
    private void launch(Piece piece, List<Upload> from, ArrowBuf to, CudaStream stream) {
      DeviceBuffer in = granted.resource().in();
      DeviceBuffer out = granted.resource().out();
      for (Upload upload : from) {
        long start = Math.max(upload.toBytes, piece.startBytes());
        long end = Math.min(upload.toBytes + upload.bytes, piece.endBytes());
        if (start < end) {
          stream.upload(
              HostMemory.ofAddress(upload.address + (start - upload.toBytes), end - start),
              in,
              start - piece.startBytes());
        }
      }
      for (Run run : piece.runs()) {
        long offset = run.startBytes - piece.startBytes();
        transposer.enqueue(run.batched(), in, offset, out, offset, stream);
      }
      stream.download(
          out, 0, HostMemory.ofAddress(to.memoryAddress() + piece.startBytes(), piece.bytes()));
    }

    private <T extends AutoCloseable> T kept(T owned) {
      onDevice.add(owned);
      return owned;
    }

    /** Waits until the device is done, and frees its memory. */
    void settle() {
      finished.synchronize();
      granted.close();
    }

    List<ArrowBuf> finish() {
      long start = System.nanoTime();
      settle();
      listener.waited(System.nanoTime() - start);
      listener.worked((long) (finished.millisSince(started) * 1e6));
      List<ArrowBuf> done = outputs;
      outputs = List.of();
      return done;
    }

    /** Frees everything; the device must be done with it. */
    @Override
    public void close() {
      List<AutoCloseable> owned = new ArrayList<>(onDevice);
      if (granted != null) {
        owned.add(granted);
      }
      owned.addAll(outputs);
      uploads.forEach(owned::addAll);
      for (ArrowBuf buffer : staging) {
        if (buffer != null) {
          owned.add(buffer);
        }
      }
      onDevice.clear();
      granted = null;
      outputs = List.of();
      uploads.forEach(List::clear);
      Arrays.fill(staging, null);
      Closing.all(owned);
    }
  }
}

package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.blocks.Piece.Layout;
import org.tilespark.arrow.blocks.Piece.Run;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.memory.HostMemory;

/**
 * The pipeline of an executor with a GPU: blocks are gathered in pinned memory (or read from where
 * they lie, if that is pinned already), uploaded, put through all steps of their chain in device
 * memory, and downloaded into pinned memory. A step is one launch for equal blocks, and one for
 * blocks of several sizes where the kernels allow it. Two batches are under way, each on a stream
 * of its own, so that one uploads while the other computes and downloads, and the task fills a
 * third.
 *
 * <p>A batch that does not fit the device memory it was granted, and a block larger than a batch
 * that is not pinned or takes much of the device, go in pieces ({@link Piece}), in turn on both
 * streams, so that the copies of one overlap those of the next. Such a block is not gathered first:
 * its pieces go through two small pinned buffers.
 */
public final class DevicePermutePipeline implements PermutePipeline, DeviceTask.Pipeline {
  private static final int STREAMS = 2;

  private final DevicePlace place;
  private final DeviceTransposer transposer;
  private final long batchBytes;
  private final List<CudaStream> streams = new ArrayList<>();
  private final Deque<Batch> underWay = new ArrayDeque<>();
  private Batch filling;
  private int nextStream;
  private volatile Thread user; // the one that began the last batch

  /**
   * A pipeline on one device; borrows everything.
   *
   * @param place where it works
   * @param batchBytes bytes of a usual batch in each plane; what is larger goes in pieces
   * @throws IllegalArgumentException if {@code batchBytes} is less than 1
   */
  public DevicePermutePipeline(DevicePlace place, DeviceTransposer transposer, long batchBytes) {
    if (batchBytes < 1) {
      throw new IllegalArgumentException("Batches of " + batchBytes + " bytes; expected 1 or more");
    }
    this.place = place;
    this.transposer = transposer;
    this.batchBytes = batchBytes;
    place.task().joins(this);
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
  public void begin(int planes, long planeBytes, Rooms rooms) {
    user = Thread.currentThread();
    filling = new Batch(planes, planeBytes, rooms);
  }

  @Override
  public boolean fits(long bytes) {
    return filling != null && bytes <= filling.capacityBytes - filling.usedBytes;
  }

  @Override
  public void add(TransposeChain chain, List<Plane> planes) {
    filling.add(chain, planes);
  }

  @Override
  public void submit() {
    Batch batch = filling;
    filling = null;
    try {
      batch.launch();
    } finally {
      underWay.add(batch); // also after a failure: close() waits for what was queued
    }
  }

  @Override
  public void settleUnderWay() {
    underWay.forEach(Batch::settle);
  }

  @Override
  public Thread user() {
    return user;
  }

  /** The stream of a batch's lane. */
  private CudaStream stream(int lane) {
    while (streams.size() < STREAMS) {
      streams.add(place.device().newStream());
    }
    return streams.get((nextStream + lane) % STREAMS);
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
    place.task().leaves(this);
    if (filling != null) {
      underWay.add(filling);
      filling = null;
    }
    // The streams first: closing one waits for its work, which reads and writes our buffers.
    Closing.all(List.of(() -> Closing.emptied(streams), () -> Closing.emptied(underWay)));
  }

  private final class Batch implements AutoCloseable {
    /** Smaller pieces cost more than waiting for other tasks to give back memory. */
    private static final long LEAST_PIECE_BYTES = 1 << 20;

    /**
     * A block larger than a batch that lies in pinned memory goes in one piece where so many fit
     * the device: two of each of sixteen tasks. Copies of whole blocks run at the full rate of the
     * bus, those of slices, which take short rows from all over the block, at three quarters.
     */
    private static final int WHOLE_BLOCKS = 32;

    /** Smaller rooms are filled by the CPU: that costs less than a copy of its own. */
    private static final long LEAST_DIRECT_BYTES = 32 << 10;

    private final long capacityBytes;
    private final ArrowBuf[] staging; // per plane; null until a block needs it
    private final TaskScope scope = new TaskScope();
    private final List<List<PinnedUpload>> uploads = new ArrayList<>(); // per plane
    private final List<Run> runs = new ArrayList<>();
    private final Rooms rooms;
    private final List<List<HostMemory>> given = new ArrayList<>(); // rooms of blocks
    private final List<PlaneResults> results = new ArrayList<>(); // per plane
    private List<ArrowBuf> outputs = List.of(); // per plane; none if the device writes to rooms
    private MemoryGovernor.Grant<PermuteLanes> granted;
    private DeviceClock.Times times = new DeviceClock.Times(0, 0, 0);
    private long usedBytes;
    private int launched; // pieces
    private boolean settled;

    private Batch(int planes, long capacityBytes, Rooms rooms) {
      this.rooms = rooms;
      this.capacityBytes = capacityBytes;
      this.staging = new ArrowBuf[planes];
      for (int p = 0; p < planes; p++) {
        List<PinnedUpload> list = new ArrayList<>();
        uploads.add(list);
        scope.own(() -> Closing.all(list));
      }
    }

    void add(TransposeChain chain, List<Plane> planes) {
      boolean passes =
          chain.bytes() > batchBytes
              && usedBytes == 0
              && chain.bytes() == capacityBytes
              && !planes.stream().allMatch(this::isPinned);
      if (passes) {
        runs.add(new Run(chain, 0, 1));
        usedBytes = chain.bytes();
        passThrough(planes);
        return;
      }
      for (int p = 0; p < planes.size(); p++) {
        HostMemory values = planes.get(p).values();
        if (isPinned(planes.get(p))) {
          send(p, planes.get(p).owner().get(), values.offset(), values.bytes());
        } else {
          ArrowBuf buffer = stagingOf(p);
          HostMemory target = Buffers.memory(buffer, usedBytes, values.bytes());
          values.copyTo(target);
          place.listener().staged(values.bytes());
          send(p, buffer, target.offset(), target.bytes());
        }
      }
      Run last = runs.isEmpty() ? null : runs.get(runs.size() - 1);
      if (last != null && last.chain().equals(chain)) {
        runs.set(runs.size() - 1, new Run(chain, last.startBytes(), last.count() + 1));
      } else {
        runs.add(new Run(chain, usedBytes, 1));
      }
      usedBytes += chain.bytes();
    }

    private boolean isPinned(Plane plane) {
      return plane.owner().filter(place.memory()::owns).isPresent();
    }

    private ArrowBuf stagingOf(int plane) {
      if (staging[plane] == null) {
        staging[plane] = scope.own(place.allocator().buffer(capacityBytes));
      }
      return staging[plane];
    }

    private void send(int plane, ArrowBuf owner, long address, long bytes) {
      List<PinnedUpload> list = uploads.get(plane);
      PinnedUpload last = list.isEmpty() ? null : list.get(list.size() - 1);
      if (last == null || !last.extend(owner, address, bytes)) {
        list.add(new PinnedUpload(owner, place.allocator(), address, usedBytes, bytes));
      }
    }

    /** Queues everything that was gathered; nothing is left to do for a block that passed. */
    void launch() {
      if (granted != null) {
        return;
      }
      List<Piece> pieces = prepare(false);
      for (int p = 0; p < staging.length; p++) {
        for (Piece piece : pieces) {
          PermuteLanes.Lane lane = granted.resource().lane(launched++);
          for (PinnedUpload upload : uploads.get(p)) {
            lane.copy(upload, piece.from());
          }
          lane.finish(piece, results.get(p));
        }
      }
      launchedAll();
    }

    /** Queues one large block piece by piece; its planes have been read when this returns. */
    private void passThrough(List<Plane> planes) {
      List<Piece> pieces = prepare(true);
      place.listener().staged(staging.length * usedBytes);
      for (int p = 0; p < staging.length; p++) {
        for (Piece piece : pieces) {
          PermuteLanes.Lane lane = granted.resource().lane(launched++);
          lane.stage(planes.get(p).values(), piece.from());
          lane.finish(piece, results.get(p));
        }
      }
      launchedAll();
    }

    /**
     * Gets a turn and memory; the pieces in which the batch goes through it.
     *
     * @param passes true for a block that goes through small pinned buffers
     */
    private List<Piece> prepare(boolean passes) {
      place.takeTurn();
      makeRoom();
      long largest = 0;
      long thinnest = 0;
      for (Run run : runs) {
        largest = Math.max(largest, run.chain().bytes());
        thinnest = Math.max(thinnest, BlockSlices.thinnestBytes(run.chain()));
      }
      long thinnestBytes = thinnest;
      boolean whole = !passes && 2 * usedBytes <= place.governor().limitBytes() / WHOLE_BLOCKS;
      long wanted = 2 * (whole ? usedBytes : Math.min(usedBytes, batchBytes));
      long worthwhile =
          Math.min(Math.min(2 * LEAST_PIECE_BYTES, wanted), place.governor().limitBytes() / 2);
      granted =
          scope.own(
              place.acquire(
                  wanted,
                  Math.max(2 * thinnestBytes, Math.min(2 * largest, worthwhile)),
                  bytes -> lanes(Layout.of(usedBytes, thinnestBytes, bytes))));
      return Piece.cut(runs, granted.resource().layout().pieceBytes());
    }

    /** The results' rooms, and buffers if there are none or the device cannot write there. */
    private void makeRoom() {
      if (rooms != Rooms.NONE) {
        long blocks = runs.stream().mapToLong(Run::count).sum();
        for (int block = 0; block < blocks; block++) {
          given.add(rooms.of(block));
        }
        if (given.stream().flatMap(List::stream).allMatch(this::isDirect)) {
          for (int p = 0; p < staging.length; p++) {
            results.add(PlaneResults.in(given, p));
          }
          return;
        }
      }
      outputs = Buffers.allocate(place.allocator(), staging.length, usedBytes);
      scope.own(() -> Closing.all(outputs)); // unless they are taken
      outputs.forEach(plane -> results.add(PlaneResults.in(Buffers.memory(plane, 0, usedBytes))));
    }

    private boolean isDirect(HostMemory room) {
      return room.bytes() >= LEAST_DIRECT_BYTES && place.memory().pins(room);
    }

    private PermuteLanes lanes(Layout layout) {
      List<CudaStream> used = IntStream.range(0, layout.lanes()).mapToObj(i -> stream(i)).toList();
      return TaskScope.opening(scope -> new PermuteLanes(scope, layout, used, place, transposer));
    }

    private void launchedAll() {
      place.listener().moved(staging.length * usedBytes, staging.length * usedBytes);
      // Planes of a batch in one lane follow each other on its stream; the next takes the other.
      nextStream = (nextStream + (granted.resource().count() == 1 ? 1 : launched)) % STREAMS;
    }

    /** Waits until the device is done, and frees its memory. */
    void settle() {
      if (settled || granted == null) {
        return;
      }
      times = granted.resource().await();
      settled = true;
      granted.close();
    }

    List<ArrowBuf> finish() {
      place.awaitResults(this::settle);
      times.tell(place.listener());
      if (!given.isEmpty()) {
        intoRooms();
        return List.of();
      }
      List<ArrowBuf> done = outputs;
      outputs = List.of();
      return done;
    }

    /** Copies results to rooms that the device cannot write to. */
    private void intoRooms() {
      for (int p = 0; p < outputs.size(); p++) {
        long start = 0;
        for (List<HostMemory> room : given) {
          HostMemory to = room.get(p);
          Buffers.memory(outputs.get(p), start, to.bytes()).copyTo(to);
          place.listener().staged(to.bytes());
          start += to.bytes();
        }
      }
    }

    /** Frees everything; the device must be done with it. */
    @Override
    public void close() {
      scope.close();
    }
  }
}

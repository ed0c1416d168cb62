package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.blocks.BatchPiece.Layout;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Whole arrays with a {@link BlockProgram#isPlanewise planewise} program in a {@link
 * DeviceBlockPipeline}: several small ones of equal programs together, or one large array. The
 * planes are processed one after the other on one stream: upload, one launch per step for all
 * arrays, download. A batch that does not fit the device's memory, or a large array that is not
 * pinned, is processed in {@link BatchPiece pieces} alternately on two streams, so that the copies
 * of one piece overlap those of the next. A large array that is not pinned is copied piece by piece
 * through two small pinned buffers.
 */
final class DeviceBatch implements DeviceWork {
  /** Most arrays of a batch. */
  private static final int MOST_ARRAYS = 1 << 16;

  /**
   * Least bytes of a piece: smaller ones cost more than waiting until other tasks give back memory.
   */
  private static final long LEAST_PIECE_BYTES = 1 << 20;

  /**
   * A large array in pinned memory is processed in one piece if this number of arrays fits the
   * device: two for each of sixteen tasks. Copies of whole arrays run at the full rate of the bus;
   * copies of slices, which consist of short rows, at three quarters of it.
   */
  private static final int WHOLE_ARRAYS = 32;

  private final TaskScope scope = new TaskScope();
  private final DeviceMachine machine;
  private final DeviceLanes lanes;
  private final DevicePlace place;
  private final BlockProgram program;
  private final BlockProgram plane; // the same steps on one plane
  private final State output;
  private final long usualBytes;
  private final long arrayBytes; // of one plane, where the program makes it largest
  private final List<PlaneSource> sources = new ArrayList<>(); // of each plane
  private final List<Rooms> rooms = new ArrayList<>(); // of each array
  private final Deque<FetchedParts.Fetched> results = new ArrayDeque<>(); // that are not taken
  private final List<HostRanges> targets = new ArrayList<>(); // of each plane, for the device
  private MemoryGovernor.Grant<BatchLanes> granted; // null before the first copy
  private long resultBytes;
  private boolean settled;

  /**
   * A batch without arrays.
   *
   * @param program the steps on each array of the batch
   * @param usualBytes usual bytes of one plane of a batch
   */
  DeviceBatch(BlockProgram program, DeviceMachine machine, DeviceLanes lanes, long usualBytes) {
    this.program = program;
    this.machine = machine;
    this.lanes = lanes;
    this.place = machine.place();
    this.usualBytes = usualBytes;
    this.output = program.output();
    this.plane = new BlockProgram(program.shape(), program.type(), false, program.steps());
    this.arrayBytes = ProgramSlices.planeBytes(plane);
    for (int p = 0; p < output.planes(); p++) {
      sources.add(scope.own(new PlaneSource(place, fullBytes())));
    }
    scope.own(
        () -> {
          List<ArrowBuf> untaken = new ArrayList<>();
          results.forEach(result -> untaken.addAll(result.planes()));
          results.clear();
          Closing.all(untaken);
        });
  }

  /** Bytes of one plane of a full batch of small arrays. */
  private long fullBytes() {
    return Math.min(usualBytes, DeviceStaging.STAGING_BYTES);
  }

  /** True if arrays of this program are small enough to share a batch. */
  boolean isOfSmall() {
    return arrayBytes <= fullBytes();
  }

  /** True if an array of a program may join this batch. */
  boolean takes(BlockProgram other) {
    return program.equals(other) && !isFull();
  }

  /** True if no further array may join this batch. */
  boolean isFull() {
    return rooms.size() == MOST_ARRAYS || bytes() + arrayBytes > fullBytes();
  }

  /** Bytes of one plane, where the program makes it largest, summed over all arrays. */
  long bytes() {
    return rooms.size() * arrayBytes;
  }

  /**
   * Adds an array, which has been read when this returns unless it is pinned.
   *
   * @param room destination of the array's result
   */
  void add(List<Plane> planes, Rooms room) {
    for (int p = 0; p < planes.size(); p++) {
      sources.get(p).add(planes.get(p));
    }
    rooms.add(room);
  }

  /** Queues all arrays that were added. */
  void launch() {
    BatchLanes memory = prepare(false);
    int launched = 0;
    for (int p = 0; p < sources.size(); p++) {
      HostRanges source = sources.get(p).end();
      for (BatchPiece piece : memory.pieces()) {
        BatchLanes.Lane lane = memory.lane(launched++);
        lane.upload(source.copies(piece.from()));
        lane.finish(piece, targets.get(p).copies(piece.to()));
      }
    }
    launched(launched);
  }

  /**
   * Queues the only array, which is large; it has been read when this returns, unless it is pinned.
   */
  void launchLarge(List<Plane> planes, Rooms room) {
    if (planes.stream().allMatch(each -> each.owner().filter(place.memory()::owns).isPresent())) {
      add(planes, room);
      launch();
      return;
    }
    rooms.add(room);
    BatchLanes memory = prepare(true);
    place.listener().staged(program.input().bytes());
    int launched = 0;
    for (int p = 0; p < planes.size(); p++) {
      for (BatchPiece piece : memory.pieces()) {
        BatchLanes.Lane lane = memory.lane(launched++);
        lane.stage(planes.get(p).values(), piece.from());
        lane.finish(piece, targets.get(p).copies(piece.to()));
      }
    }
    launched(launched);
  }

  /**
   * Waits for the task's turn, and allocates memory on host and device.
   *
   * @param passes true for an array that is copied through small pinned buffers
   */
  private BatchLanes prepare(boolean passes) {
    place.takeTurn();
    makeRoom();
    long limit = place.governor().limitBytes();
    long thinnest = ProgramSlices.thinnestBytes(plane);
    boolean whole = !passes && 2 * bytes() <= limit / WHOLE_ARRAYS;
    long wanted = 2 * (whole ? bytes() : Math.min(bytes(), usualBytes));
    long worthwhile = Math.min(Math.min(2 * LEAST_PIECE_BYTES, wanted), limit / 2);
    granted =
        scope.own(
            place.acquire(
                wanted,
                Math.max(2 * thinnest, Math.min(2 * arrayBytes, worthwhile)),
                all -> allocate(Layout.of(bytes(), thinnest, all))));
    return granted.resource();
  }

  private BatchLanes allocate(Layout layout) {
    List<BatchPiece> pieces = BatchPiece.cut(plane, rooms.size(), layout.pieceBytes());
    List<CudaStream> streams = IntStream.range(0, layout.lanes()).mapToObj(lanes::through).toList();
    return BatchLanes.allocate(pieces, streams, machine);
  }

  private void launched(int pieces) {
    place.listener().moved(rooms.size() * program.input().bytes(), resultBytes);
    // With one lane, all planes follow each other on its stream and the next batch uses the other
    // stream.
    lanes.turnThrough(granted.resource().count() == 1 ? 1 : pieces);
  }

  // Results

  /**
   * Finds the destination of each result, and allocates buffers where the device cannot write to it
   * directly.
   */
  private void makeRoom() {
    Part whole = Part.whole(output.shape());
    List<List<HostMemory>> given = new ArrayList<>();
    for (Rooms each : rooms) {
      given.add(whole.requireRoom(each.of(0), output));
    }
    boolean[] direct = direct(given, output.planes(), this::isDirect);
    resultBytes = rooms.size() * output.bytes();
    long bytes = output.planeBytes();
    int buffered = given.size();
    for (boolean each : direct) {
      buffered -= each ? 1 : 0;
    }
    List<ArrowBuf> buffers = List.of();
    try {
      buffers =
          buffered == 0
              ? List.of()
              : Buffers.allocate(place.allocator(), output.planes(), buffered * bytes);
      for (int p = 0; p < output.planes(); p++) {
        targets.add(new HostRanges());
      }
      long used = 0;
      for (int i = 0; i < direct.length; i++) {
        List<ArrowBuf> planes = new ArrayList<>();
        for (int p = 0; p < output.planes(); p++) {
          if (direct[i]) {
            targets.get(p).add(given.get(i).get(p), Rooms.NONE);
          } else {
            ArrowBuf slice = buffers.get(p).slice(used, bytes);
            slice.getReferenceManager().retain();
            planes.add(slice);
            targets.get(p).add(Buffers.memory(slice, 0, bytes), buffers.get(p));
          }
        }
        results.add(new FetchedParts.Fetched(planes, given.get(i)));
        used += direct[i] ? 0 : bytes;
      }
    } finally {
      Closing.all(buffers); // their slices keep the memory
    }
  }

  /** True if the device should write directly to a range of rooms. */
  private boolean isDirect(HostMemory range) {
    return range.bytes() >= DeviceRun.LEAST_COPY_BYTES && place.memory().pins(range);
  }

  /**
   * For each array, true if the device can copy directly to its room. The room of each plane,
   * joined with the adjacent rooms of neighbouring arrays, must pass a test.
   */
  static boolean[] direct(List<List<HostMemory>> rooms, int planes, Predicate<HostMemory> test) {
    boolean[] direct = new boolean[rooms.size()];
    Arrays.fill(direct, true);
    for (int p = 0; p < planes; p++) {
      int first = 0;
      while (first < direct.length) {
        int end = first + 1;
        if (rooms.get(first).isEmpty()) {
          direct[first] = false;
        } else {
          HostMemory range = rooms.get(first).get(p);
          while (end < direct.length && follows(range, rooms.get(end), p)) {
            range =
                HostMemory.ofAddress(range.offset(), range.bytes() + rooms.get(end).get(p).bytes());
            end++;
          }
          if (!test.test(range)) {
            Arrays.fill(direct, first, end, false);
          }
        }
        first = end;
      }
    }
    return direct;
  }

  private static boolean follows(HostMemory range, List<HostMemory> room, int plane) {
    return !room.isEmpty() && range.offset() + range.bytes() == room.get(plane).offset();
  }

  @Override
  public int arrays() {
    return granted == null ? rooms.size() : results.size();
  }

  @Override
  public boolean hasMore() {
    return false; // all results are downloaded at once
  }

  @Override
  public long nextBytes() {
    return 0;
  }

  @Override
  public long fetch() {
    return 0;
  }

  @Override
  public long fetchedBytes() {
    return results.size() * output.bytes();
  }

  @Override
  public List<ArrowBuf> take() {
    if (!settled) {
      place.awaitResults(this::settle);
    }
    return results.remove().arrived(place.listener());
  }

  @Override
  public void settle() {
    if (settled || granted == null) {
      return;
    }
    DeviceClock.Times times = granted.resource().await();
    settled = true;
    times.tell(place.listener());
    granted.close();
    Closing.all(sources);
  }

  @Override
  public void close() {
    scope.close();
  }
}

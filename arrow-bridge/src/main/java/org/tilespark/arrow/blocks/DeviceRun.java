package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ReferenceManager;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.DeviceOperation.Transform;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.arrow.pipeline.DeviceClock.Phase;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CopyBatch;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.UploadTurns;
import org.tilespark.kernels.fourier.FourierBoxes.Direction;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.fourier.FourierBoxes.Transfer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;

/**
 * One array in a {@link DeviceBlockPipeline}, with the further arrays that its program takes: their
 * parts are uploaded, the plan's operations run, and the parts of the result are downloaded. The
 * turn and the device memory are taken at the first upload, and the memory is given back after the
 * last download. Parts in pinned memory are uploaded in turns with other tasks ({@link
 * UploadTurns}).
 *
 * <p>Small arrays of equal programs are joined along a leading axis. Its extent is fixed and unused
 * places are zero: one plan serves any number of arrays, and no bit of a result depends on how many
 * arrays cuFFT transforms at once.
 *
 * <p>Complex numbers are interleaved on the device.
 */
final class DeviceRun implements DeviceWork {
  /**
   * Least bytes of a pinned plane that the device reads or writes in place; smaller ones are copied
   * by the CPU, which is faster than a call of the driver.
   */
  static final long LEAST_COPY_BYTES = 32 << 10;

  /**
   * Most bytes of arrays that are joined: at this size their copies take as long as their launches.
   */
  private static final long MOST_BYTES = 4 << 20;

  /** Most planes of arrays that are joined: staging buffers have room for as many gaps. */
  private static final long MOST_PLANES = 4096;

  /** Least bytes of an element for kernels that move pieces; narrower ones are moved as boxes. */
  private static final int LEAST_PART_BYTES = 4;

  /**
   * Number of groups of joined arrays, with work areas, that must fit in device memory together.
   */
  private static final long SHARES = 64;

  /**
   * A part of a result that the caller will take.
   *
   * @param part the part's box in the joined arrays
   * @param rooms the rooms of its array's parts
   * @param number the part's number among the parts of its array
   * @param isLast true for the last part of its array
   */
  private record Output(Part part, Rooms rooms, int number, boolean isLast) {
    List<HostMemory> room() {
      return rooms.of(number);
    }
  }

  private final TaskScope scope = new TaskScope();
  private final DeviceMachine machine;
  private final DeviceLanes lanes;
  private final BlockProgram program; // of each array
  private final int most; // number of arrays that can be joined
  private final DeviceProgram plan;
  private final List<State> inputs;
  private final State output;
  private final long stagingBytes;
  private final List<ArrowBuf> held = new ArrayList<>(); // pinned memory that copies read
  private final Map<CudaStream, DeviceClock> clocks = new LinkedHashMap<>();
  private final DeviceDownload download;
  private final List<Output> outputs = new ArrayList<>(); // of all arrays
  private int ended; // count of arrays whose parts were all put
  private int arrays; // count of arrays whose results are not taken as a whole
  private int taken; // count of outputs that were taken
  private MemoryGovernor.Grant<DeviceArrays> granted; // null before the first copy
  private final List<DeviceLoad> kept = new ArrayList<>(); // of pinned memory, for an upload turn
  private long keptBytes;
  private DeviceLoad load;
  private long bytesUp;
  private boolean settled;

  /**
   * A run without arrays.
   *
   * @param program the steps on each array; elements that are not put are zero
   * @param most most arrays that are joined, as {@link #together} gives it
   */
  DeviceRun(BlockProgram program, int most, DeviceMachine machine, DeviceLanes lanes) {
    BlockProgram all = most == 1 ? program : program.repeated(most).orElseThrow();
    this.machine = machine;
    this.lanes = lanes;
    this.program = program;
    this.most = most;
    this.inputs = all.inputs();
    this.output = all.output();
    this.plan = plan(all);
    this.stagingBytes = DeviceStaging.stagingBytes(all);
    this.load = newLoad();
    // Closed in the reverse order; acquire() adds device memory, which is closed first.
    scope.own(() -> Closing.emptied(clocks.values()));
    scope.own(this::letGo);
    this.download =
        scope.own(new DeviceDownload(machine.place(), output, stagingBytes, new Down()));
  }

  /**
   * The number of arrays of a program that are joined: 1 if they are large, or if a step cannot run
   * on joined arrays.
   *
   * @param usualBytes usual bytes of a batch
   * @param limitBytes most bytes of device memory
   */
  static int together(BlockProgram program, long usualBytes, long limitBytes) {
    List<State> inputs = program.inputs();
    long bytes =
        Math.max(
            inputs.stream().mapToLong(State::bytes).sum(),
            program.states().stream().mapToLong(State::bytes).max().orElseThrow());
    int planes = Math.max(inputs.stream().mapToInt(State::planes).sum(), program.output().planes());
    long most = Math.min(Math.min(MOST_BYTES, usualBytes), limitBytes / SHARES);
    long count = Math.min(most / bytes, MOST_PLANES / planes);
    return count > 1 && program.repeated(count).isPresent() ? (int) count : 1;
  }

  /** True if the next array, of program {@code next}, can join the arrays of this run. */
  boolean takes(BlockProgram next) {
    return ended < most && program.equals(next);
  }

  /**
   * True if it is time to {@link #launch}: no further array can join, or there are enough bytes.
   */
  boolean isReady(long enoughBytes) {
    return ended == most || ended * program.input().bytes() >= enoughBytes;
  }

  private DeviceProgram plan(BlockProgram all) {
    DeviceProgram fastest = DeviceProgram.of(all, 1, this::workBytes);
    return fastest.deviceBytes() <= machine.place().governor().limitBytes()
        ? fastest
        : DeviceProgram.of(all, DeviceStaging.SCARCE_SHARE, this::workBytes);
  }

  private long workBytes(Transform transform) {
    return machine.fourier().plan(transform.problem(), transform.workLimit()).workBytes();
  }

  // Up

  /** A part of the next array as a part of the joined arrays. */
  private Part inAll(Part part) {
    return most == 1 ? part : part.behind(ended);
  }

  /** Puts a part of the next array, as {@link BlockPipeline#put}. */
  void put(int array, Part ofArray, List<Plane> planes) {
    State input = inputs.get(array);
    Part part = inAll(ofArray);
    part.requirePlanes(planes, input);
    boolean[] pinned = new boolean[planes.size()];
    for (int p = 0; p < planes.size(); p++) {
      Optional<ArrowBuf> owner = planes.get(p).owner().filter(machine.place().memory()::owns);
      pinned[p] = owner.isPresent() && planes.get(p).values().bytes() >= LEAST_COPY_BYTES;
      if (pinned[p]) {
        // Retained by our allocator, so that the buffer outlives the allocator that it came from.
        ReferenceManager source = owner.get().getReferenceManager();
        held.add(source.retain(owner.get(), machine.place().allocator()));
      }
    }
    for (int p = 0; p < pinned.length; p++) {
      machine.place().listener().staged(pinned[p] ? 0 : planes.get(p).values().bytes());
    }
    int width = input.type().bytes();
    OptionalLong at = BoxMoves.contiguous(part, input.shape());
    boolean allPinned = IntStream.range(0, pinned.length).allMatch(p -> pinned[p]);
    if (allPinned && at.isPresent() && !input.isComplex()) {
      load.straight(array, planes.get(0).values(), at.getAsLong() * width);
      if (load.straightBytes() >= stagingBytes) {
        flush();
      }
      return;
    }
    long elements = part.elements();
    long done = 0;
    while (done < elements) {
      long count = load.fitting(elements - done, planes.size(), width);
      if (count == 0) {
        flush();
        continue;
      }
      long[] to = new long[2];
      for (int p = 0; p < planes.size(); p++) {
        HostMemory values = planes.get(p).values().slice(done * width, count * width);
        to[p] = pinned[p] ? load.upload(values) : load.gather(values);
      }
      load.add(array, new Piece(input.shape(), part.low(), shape(part), done, count, to[0], to[1]));
      done += count;
    }
  }

  private DeviceLoad newLoad() {
    return new DeviceLoad(
        stagingBytes,
        () -> {
          lanes.open();
          return lanes.up().gathered(stagingBytes);
        });
  }

  /**
   * Sends the last load if it was gathered, since the next parts need that memory. Loads that are
   * read in place are kept until there is enough for an upload turn, so that no task holds an
   * upload turn while it waits for parts.
   */
  private void flush() {
    if (load.isEmpty()) {
      return;
    }
    DeviceLoad full = load;
    load = newLoad();
    if (full.isGathered()) {
      acquire();
      send(full, stream -> {});
      return;
    }
    kept.add(full);
    keptBytes += full.bytes();
    if (keptBytes >= DeviceStaging.TURN_BYTES) {
      sendKept();
    }
  }

  private void sendKept() {
    if (kept.isEmpty()) {
      return;
    }
    acquire(); // before the upload turn: it may wait for other tasks
    if (keptBytes < DeviceStaging.LEAST_TURN_BYTES) {
      kept.forEach(each -> send(each, stream -> {}));
    } else {
      try (UploadTurns.Turn turn = machine.place().device().uploadTurns().begin()) {
        kept.forEach(each -> send(each, turn::copiesOn));
        machine.place().listener().waitedForTurn(turn.waitedNanos());
      }
    }
    kept.clear();
    keptBytes = 0;
  }

  /**
   * Queues copies to the device, then the moves of the parts to their places there.
   *
   * @param behindCopies called with the stream after the copies are queued on it
   */
  private void send(DeviceLoad sent, Consumer<CudaStream> behindCopies) {
    DeviceLanes.UpLane lane = lanes.up();
    CudaStream stream = lane.stream();
    DeviceBuffer target = granted.resource().staging[lanes.upIndex()];
    DeviceClock clock = clock(stream);
    CopyBatch copies = new CopyBatch(stream);
    sent.uploads().forEach(upload -> add(copies, upload, target));
    List<DeviceBuffer> arrays = granted.resource().buffers;
    sent.straight()
        .forEach(
            (array, uploads) -> uploads.forEach(upload -> add(copies, upload, arrays.get(array))));
    copies.queue();
    CudaEvent copied = clock.ended(Phase.COPY_UP);
    behindCopies.accept(stream);
    if (sent.isGathered()) {
      lane.reads(this, copied);
    }
    if (!sent.pieces().isEmpty()) {
      sent.pieces()
          .forEach(
              (array, pieces) ->
                  move(
                      Direction.PUT, inputs.get(array), pieces, target, arrays.get(array), stream));
      clock.ended(Phase.KERNELS);
    }
    lanes.turnUp();
  }

  private void add(CopyBatch copies, DeviceLoad.Upload upload, DeviceBuffer to) {
    HostMemory from = upload.from();
    copies.upload(from, to, upload.toBytes());
    bytesUp += from.bytes();
  }

  /** Queues moves of pieces between a staging buffer and an array. */
  private void move(
      Direction direction,
      State state,
      List<Piece> pieces,
      DeviceBuffer staging,
      DeviceBuffer array,
      CudaStream stream) {
    if (state.type().bytes() < LEAST_PART_BYTES) {
      machine
          .transposer()
          .enqueueAll(
              PlaneBoxes.of(direction, state, pieces),
              direction == Direction.PUT ? staging : array,
              direction == Direction.PUT ? array : staging,
              stream);
      return;
    }
    double taken = direction == Direction.PUT ? 1 : plan.factor();
    Transfer transfer = new Transfer(direction, state.type(), state.isComplex(), taken);
    machine.passes().move(transfer, pieces, staging, array, stream);
  }

  /** The clock of this run on a stream, which now measures. */
  private DeviceClock clock(CudaStream stream) {
    DeviceClock clock = clocks.get(stream);
    if (clock == null) {
      clock = new DeviceClock(stream);
      clocks.put(stream, clock);
    } else {
      clock.resumed();
    }
    return clock;
  }

  /**
   * Waits for the task's turn and takes device memory, with zeros in the buffers of arrays; does
   * nothing if this run has its memory.
   */
  private void acquire() {
    if (granted != null) {
      return;
    }
    machine.place().takeTurn();
    lanes.open();
    long bytes = plan.deviceBytes();
    granted =
        scope.own(
            machine
                .place()
                .acquire(
                    bytes,
                    bytes,
                    all -> DeviceArrays.allocate(plan, stagingBytes, machine, lanes)));
    for (int array = 0; array < inputs.size(); array++) {
      lanes.allocations().fill(granted.resource().buffers.get(array), (byte) 0);
    }
    uploadVectors();
    try (CudaEvent ready = lanes.allocations().record()) {
      lanes.allUp().forEach(lane -> lane.stream().waitFor(ready));
      lanes.compute().waitFor(ready);
    }
  }

  private void uploadVectors() {
    long bytes = plan.vectorBytes();
    if (bytes == 0) {
      return;
    }
    ArrowBuf buffer = machine.place().allocator().buffer(bytes);
    held.add(buffer);
    HostMemory target = Buffers.memory(buffer, 0, bytes);
    plan.copyVectors(target);
    lanes.allocations().upload(target, granted.resource().vectors, 0);
    bytesUp += bytes;
  }

  // On the device

  /** Ends an array whose parts were put, as in {@link BlockPipeline#run}. */
  void end(List<Part> parts, Rooms rooms) {
    for (int i = 0; i < parts.size(); i++) {
      outputs.add(new Output(inAll(parts.get(i)), rooms, i, i == parts.size() - 1));
    }
    ended++;
    arrays += parts.isEmpty() ? 0 : 1;
  }

  /** Uploads and computes all arrays; starts no download yet. */
  void launch() {
    flush();
    sendKept();
    acquire();
    CudaStream compute = lanes.compute();
    for (DeviceLanes.UpLane lane : lanes.allUp()) {
      try (CudaEvent put = lane.stream().record()) {
        compute.waitFor(put);
      }
    }
    DeviceClock clock = clock(compute);
    granted.resource().run(plan, machine, compute);
    CudaEvent done = clock.ended(Phase.KERNELS);
    for (CudaStream stream : lanes.allDown()) {
      stream.waitFor(done);
    }
    download.begin(
        outputs.stream().map(Output::part).toList(), number -> outputs.get(number).room());
  }

  // Down

  /** The source of the parts to download, once the result is computed. */
  private final class Down implements DeviceDownload.Device {
    @Override
    public DeviceBuffer stage(List<Piece> pieces) {
      DeviceBuffer staging = granted.resource().staging[lanes.downIndex()];
      DeviceClock clock = clock(lanes.down());
      move(Direction.TAKE, output, pieces, staging, result(), lanes.down());
      clock.ended(Phase.KERNELS);
      return staging;
    }

    @Override
    public boolean isReadStraight() {
      return !output.isComplex() && plan.factor() == 1;
    }

    @Override
    public DeviceBuffer array() {
      clock(lanes.down());
      return result();
    }

    private DeviceBuffer result() {
      return granted.resource().buffers.get(plan.result());
    }

    @Override
    public CudaStream stream() {
      return lanes.down();
    }

    @Override
    public void copied(FetchedParts group) {
      int lane = lanes.downIndex();
      group.arrived[lane] = clocks.get(lanes.down()).ended(Phase.COPY_DOWN);
      lanes.turnDown();
    }
  }

  @Override
  public int arrays() {
    return arrays;
  }

  @Override
  public boolean hasMore() {
    return download.hasMore();
  }

  @Override
  public long nextBytes() {
    return download.nextBytes();
  }

  @Override
  public long fetch() {
    return download.fetch();
  }

  @Override
  public long fetchedBytes() {
    return download.fetchedBytes();
  }

  /** As {@link BlockPipeline#take}; the last downloaded part also settles the run. */
  @Override
  public List<ArrowBuf> take() {
    FetchedParts group = download.next();
    if (!settled) {
      machine.place().awaitResults(group::await);
      letGo(); // all uploads ended before this download did
      if (download.isLast()) {
        settle(); // these are the last parts: others may have the memory
      }
    }
    arrays -= outputs.get(taken++).isLast() ? 1 : 0;
    return download.take();
  }

  @Override
  public void settle() {
    if (settled || granted == null) {
      return;
    }
    while (download.hasMore()) {
      download.fetch();
    }
    DeviceClock.Times times = DeviceClock.await(clocks.values());
    settled = true;
    times.tell(machine.place().listener());
    machine.place().listener().moved(bytesUp, download.movedBytes());
    granted.close();
    letGo();
  }

  /** Releases the pinned memory that the uploads read, since they are done. */
  private void letGo() {
    Closing.emptied(held);
  }

  /** Frees all memory of this run; the device must have finished its work. */
  @Override
  public void close() {
    lanes.forget(this);
    scope.close();
  }

  private static Shape shape(Part part) {
    return Shape.of(part.size().stream().mapToLong(Long::longValue).toArray());
  }
}

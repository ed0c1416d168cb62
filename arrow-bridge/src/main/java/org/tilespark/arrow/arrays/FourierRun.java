package org.tilespark.arrow.arrays;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ReferenceManager;
import org.tilespark.arrow.arrays.FourierChain.State;
import org.tilespark.arrow.arrays.FourierDevicePlan.Transform;
import org.tilespark.arrow.arrays.FourierPipeline.Part;
import org.tilespark.arrow.blocks.PermutePipeline.Plane;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.arrow.pipeline.DeviceClock.Phase;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.fourier.FourierBoxes.Direction;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.fourier.FourierBoxes.Transfer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;

/**
 * One array on its way through a {@link DeviceFourierPipeline}: its parts go up, what the plan says
 * happens to it, and its parts come down. The turn and the device's memory are taken when the first
 * copy goes up, and the memory is given back when the last part has come down.
 */
final class FourierRun implements AutoCloseable {
  /** Pinned planes of fewer bytes are gathered too: a copy by the CPU costs less than a call. */
  private static final long LEAST_COPY_BYTES = 32 << 10;

  private final TaskScope scope = new TaskScope();
  private final FourierMachine machine;
  private final FourierLanes lanes;
  private final FourierDevicePlan plan;
  private final State input;
  private final State output;
  private final long stagingBytes;
  private final List<ArrowBuf> held = new ArrayList<>(); // pinned memory that copies read
  private final Map<CudaStream, DeviceClock> clocks = new LinkedHashMap<>();
  private final Deque<Part> parts = new ArrayDeque<>(); // not taken
  private final Deque<Part> unfetched = new ArrayDeque<>();
  private final Deque<FetchedParts> fetched = new ArrayDeque<>();
  private MemoryGovernor.Grant<FourierBuffers> granted; // null before the first copy
  private FourierLoad load;
  private int at; // the buffer that holds the array
  private long bytesUp;
  private long bytesDown;
  private long fetchedBytes; // not taken
  private boolean settled;

  /** An array to be put through {@code chain}; zero until parts are put. */
  FourierRun(FourierChain chain, FourierMachine machine, FourierLanes lanes) {
    this.machine = machine;
    this.lanes = lanes;
    FourierDevicePlan fastest = FourierDevicePlan.of(chain, 1, this::workBytes);
    this.plan =
        fastest.deviceBytes() <= machine.place().governor().limitBytes()
            ? fastest
            : FourierDevicePlan.of(chain, FourierMemory.SCARCE_SHARE, this::workBytes);
    this.input = chain.input();
    this.output = chain.output();
    this.stagingBytes = FourierMemory.stagingBytes(chain);
    this.load = newLoad();
    // Closed in the reverse order; acquire() adds device memory, which is closed first.
    scope.own(() -> Closing.emptied(clocks.values()));
    scope.own(this::letGo);
    scope.own(() -> Closing.emptied(fetched));
  }

  private long workBytes(Transform transform) {
    return machine.fourier().plan(transform.problem(), transform.workLimit()).workBytes();
  }

  /** The shape of the result. */
  Shape outputShape() {
    return output.shape();
  }

  // Up

  /** As {@link FourierPipeline#put}. */
  void put(Part part, List<Plane> planes) {
    part.requirePlanes(planes, input);
    boolean[] pinned = new boolean[planes.size()];
    for (int p = 0; p < planes.size(); p++) {
      ArrowBuf owner = planes.get(p).owner();
      pinned[p] =
          owner != null
              && machine.place().memory().owns(owner)
              && planes.get(p).values().bytes() >= LEAST_COPY_BYTES;
      if (pinned[p]) {
        // Shared with our allocator, so that it outlives the one it came from.
        ReferenceManager source = owner.getReferenceManager();
        held.add(source.retain(owner, machine.place().allocator()));
      }
    }
    int width = input.type().bytes();
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
      load.add(new Piece(input.shape(), part.low(), shape(part), done, count, to[0], to[1]));
      done += count;
    }
  }

  private FourierLoad newLoad() {
    return new FourierLoad(
        stagingBytes,
        () -> {
          lanes.open();
          return lanes.up().gathered(stagingBytes);
        });
  }

  /** Sends what was put and is not on its way yet. */
  private void flush() {
    if (load.isEmpty()) {
      return;
    }
    FourierLoad sent = load;
    load = newLoad();
    acquire();
    FourierLanes.UpLane lane = lanes.up();
    CudaStream stream = lane.stream();
    DeviceBuffer target = granted.resource().staging[lanes.upIndex()];
    DeviceClock clock = clock(stream);
    for (FourierLoad.Upload upload : sent.uploads()) {
      HostMemory from = upload.from();
      stream.upload(from, target, upload.toBytes());
      bytesUp += from.bytes();
    }
    CudaEvent copied = clock.ended(Phase.COPY_UP);
    if (sent.isGathered()) {
      lane.reads(this, copied);
    }
    machine
        .fourier()
        .move(
            new Transfer(Direction.PUT, input.type(), input.isComplex(), 1),
            sent.pieces(),
            target,
            granted.resource().buffers[0],
            stream);
    clock.ended(Phase.KERNELS);
    lanes.turnUp();
  }

  /** This array's clock on a stream, running. */
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

  /** A turn and memory, all zero where the array goes, if this array has none yet. */
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
                    all -> FourierBuffers.allocate(plan, stagingBytes, machine, lanes)));
    lanes.allocations().fill(granted.resource().buffers[0], (byte) 0);
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

  /** As {@link FourierPipeline#run}; nothing comes down yet. */
  void run(List<Part> outputs) {
    flush();
    acquire();
    CudaStream compute = lanes.compute();
    for (FourierLanes.UpLane lane : lanes.allUp()) {
      try (CudaEvent put = lane.stream().record()) {
        compute.waitFor(put);
      }
    }
    DeviceClock clock = clock(compute);
    at = granted.resource().run(plan, machine, compute);
    CudaEvent done = clock.ended(Phase.KERNELS);
    for (CudaStream stream : lanes.allDown()) {
      stream.waitFor(done);
    }
    parts.addAll(outputs);
    unfetched.addAll(outputs);
  }

  // Down

  /** True if there are parts of the result whose way down is not queued. */
  boolean hasMore() {
    return !unfetched.isEmpty();
  }

  private long planeBytes(Part part) {
    return part.elements() * output.type().bytes();
  }

  /** Room of a part among others in one buffer. */
  private long roomOf(Part part) {
    return output.planes() * FourierLoad.aligned(planeBytes(part));
  }

  /** Bytes that have come down, or are on their way, and are not taken. */
  long fetchedBytes() {
    return fetchedBytes;
  }

  /** True if all parts of the result are taken. */
  boolean isTaken() {
    return parts.isEmpty();
  }

  /** Bytes that the next {@link #fetch} brings. */
  long nextBytes() {
    long bytes = 0;
    for (Part part : unfetched) {
      if (bytes + roomOf(part) > stagingBytes) {
        break;
      }
      bytes += roomOf(part);
    }
    return bytes == 0 ? output.planes() * planeBytes(unfetched.element()) : bytes;
  }

  /** Queues the way down of the next parts; their bytes. */
  long fetch() {
    long bytes = nextBytes();
    FetchedParts group = new FetchedParts(bytes);
    fetched.add(group);
    fetchedBytes += bytes;
    if (roomOf(unfetched.element()) > stagingBytes) {
      fetchLarge(unfetched.remove(), group);
    } else {
      fetchSmall(group);
    }
    bytesDown += bytes;
    return bytes;
  }

  private void fetchSmall(FetchedParts group) {
    List<Piece> pieces = new ArrayList<>();
    long used = 0;
    try (ArrowBuf buffer = machine.place().allocator().buffer(group.bytes)) {
      while (used < group.bytes) {
        Part part = unfetched.remove();
        long[] to = new long[2];
        List<ArrowBuf> planes = new ArrayList<>();
        for (int p = 0; p < output.planes(); p++) {
          to[p] = used;
          ArrowBuf slice = buffer.slice(used, planeBytes(part));
          slice.getReferenceManager().retain();
          planes.add(slice);
          used += FourierLoad.aligned(planeBytes(part));
        }
        group.parts.add(planes);
        pieces.add(
            new Piece(output.shape(), part.low(), shape(part), 0, part.elements(), to[0], to[1]));
      }
      DeviceBuffer staging = stageDown(pieces);
      lanes.down().download(staging, 0, Buffers.memory(buffer, 0, group.bytes));
      endCopy(group);
    }
  }

  private void fetchLarge(Part part, FetchedParts group) {
    List<ArrowBuf> planes =
        Buffers.allocate(machine.place().allocator(), output.planes(), planeBytes(part));
    group.parts.add(planes);
    long width = output.type().bytes();
    long most =
        stagingBytes / output.planes() / FourierLoad.ALIGNMENT * FourierLoad.ALIGNMENT / width;
    for (long done = 0; done < part.elements(); done += most) {
      long count = Math.min(most, part.elements() - done);
      long[] from = {0, FourierLoad.aligned(count * width)};
      DeviceBuffer staging =
          stageDown(
              List.of(
                  new Piece(
                      output.shape(), part.low(), shape(part), done, count, from[0], from[1])));
      for (int p = 0; p < planes.size(); p++) {
        HostMemory to = Buffers.memory(planes.get(p), done * width, count * width);
        lanes.down().download(staging, from[p], to);
      }
      endCopy(group);
    }
  }

  /** Queues the move of pieces into the staging buffer of the next lane down. */
  private DeviceBuffer stageDown(List<Piece> pieces) {
    DeviceBuffer staging = granted.resource().staging[lanes.downIndex()];
    DeviceClock clock = clock(lanes.down());
    machine
        .fourier()
        .move(
            new Transfer(Direction.TAKE, output.type(), output.isComplex(), plan.factor()),
            pieces,
            staging,
            granted.resource().buffers[at],
            lanes.down());
    clock.ended(Phase.KERNELS);
    return staging;
  }

  /** What was queued last is a copy down. The other lane is next. */
  private void endCopy(FetchedParts group) {
    int lane = lanes.downIndex();
    group.arrived[lane] = clocks.get(lanes.down()).ended(Phase.COPY_DOWN);
    lanes.turnDown();
  }

  /** As {@link FourierPipeline#take}; the array is settled with the last part that comes down. */
  List<ArrowBuf> take() {
    if (fetched.isEmpty()) {
      fetch();
    }
    FetchedParts group = fetched.element();
    if (!settled) {
      machine.place().awaitResults(group::await);
      letGo(); // what has come down has gone up before
      if (unfetched.isEmpty() && fetched.size() == 1) {
        settle(); // it was the last: others may have the memory
      }
    }
    List<ArrowBuf> planes = group.parts.remove();
    parts.remove();
    if (group.parts.isEmpty()) {
      fetched.remove();
      fetchedBytes -= group.bytes;
    }
    return planes;
  }

  /** Waits until the device is done, all parts fetched, and frees its memory. */
  void settle() {
    if (settled || granted == null) {
      return;
    }
    while (hasMore()) {
      fetch();
    }
    DeviceClock.Times times = DeviceClock.await(clocks.values());
    settled = true;
    times.tell(machine.place().listener());
    machine.place().listener().moved(bytesUp, bytesDown);
    granted.close();
    letGo();
  }

  /** The copies up are done: others may have the pinned memory that they read. */
  private void letGo() {
    Closing.emptied(held);
  }

  /** Frees everything; the device must be done with it. */
  @Override
  public void close() {
    lanes.forget(this);
    scope.close();
  }

  private static Shape shape(Part part) {
    return Shape.of(part.size().stream().mapToLong(Long::longValue).toArray());
  }
}

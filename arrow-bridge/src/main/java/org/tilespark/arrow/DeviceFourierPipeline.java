package org.tilespark.arrow;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ReferenceManager;
import org.tilespark.arrow.DeviceClock.Phase;
import org.tilespark.arrow.FourierChain.State;
import org.tilespark.arrow.FourierDevicePlan.Moves;
import org.tilespark.arrow.FourierDevicePlan.Operation;
import org.tilespark.arrow.FourierDevicePlan.Pointwise;
import org.tilespark.arrow.FourierDevicePlan.Reorder;
import org.tilespark.arrow.FourierDevicePlan.Transform;
import org.tilespark.arrow.FourierMoves.Move;
import org.tilespark.arrow.HostPanelMultiplier.GrowingBuffer;
import org.tilespark.arrow.PermutePipeline.Plane;
import org.tilespark.kernels.HostMemory;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.plan.FourierBoxes.Direction;
import org.tilespark.kernels.plan.FourierBoxes.Piece;
import org.tilespark.kernels.plan.TransposeProblem;
import org.tilespark.layout.Shape;

/**
 * The Fourier pipeline of an executor with a GPU and cuFFT. Parts go up through two small buffers
 * of the device in turn, from which a kernel puts them into the array; what a {@link
 * FourierDevicePlan} says happens to the array; and parts come down the same way. Copies are
 * contiguous and have streams of their own, so a copy up, a copy down and the work between overlap:
 * the parts of an array go up while the one before comes down.
 *
 * <pre>
 *   two streams up:    copy | put | copy | put ...        (of the next array)
 *   one to compute:                            steps
 *   two streams down:                                take | copy | take | copy ...
 * </pre>
 *
 * <p>Planes in pinned memory are read where they lie; others, and small ones, are gathered in two
 * pinned buffers first. Small parts share a copy and a launch, and the buffers that they come down
 * in.
 *
 * <p>The turn and the device's memory are taken when the first copy goes up, that is when about 16
 * MiB were put or the array is run, and the memory is given back when the last part has come down.
 * As many parts come down before they are asked for as pinned memory is allowed for them.
 */
public final class DeviceFourierPipeline implements FourierPipeline, DeviceTask.Pipeline {
  private static final int ARRAYS = 2;
  private static final int LANES = FourierMemory.LANES;

  /** Pinned planes of fewer bytes are gathered too: a copy by the CPU costs less than a call. */
  private static final long LEAST_COPY_BYTES = 32 << 10;

  /** Planes begin in staging buffers at multiples of this, which suits every access. */
  private static final long ALIGNMENT = 16;

  private final CudaDevice device;
  private final DeviceFourier fourier;
  private final DeviceTransposer transposer;
  private final ArrowMemory memory;
  private final MemoryGovernor governor;
  private final BufferAllocator allocator;
  private final long aheadBytes;
  private final DeviceTask task;
  private final PipelineListener listener;
  private final Deque<Array> underWay = new ArrayDeque<>();
  private final UpLane[] up = new UpLane[LANES];
  private final CudaStream[] down = new CudaStream[LANES];
  private CudaStream compute; // null, as the lanes, until first used
  private CudaStream allocations; // where memory comes from and goes to; never waits for work
  private Array filling;
  private int nextUp;
  private int nextDown;
  private volatile Thread user; // the one that began the last array

  /**
   * A pipeline on one device; borrows everything.
   *
   * @param memory pinned memory
   * @param governor of the device's memory
   * @param allocator of {@code memory}, for this task's buffers
   * @param aheadBytes pinned memory for parts that come down before they are asked for; a larger
   *     part comes down alone
   * @param task whose pipeline this is
   * @throws IllegalArgumentException if {@code memory} is not pinned
   */
  public DeviceFourierPipeline(
      CudaDevice device,
      DeviceFourier fourier,
      DeviceTransposer transposer,
      ArrowMemory memory,
      MemoryGovernor governor,
      BufferAllocator allocator,
      long aheadBytes,
      DeviceTask task,
      PipelineListener listener) {
    if (!memory.isPinned()) {
      throw new IllegalArgumentException("A device pipeline needs pinned memory");
    }
    this.device = device;
    this.fourier = fourier;
    this.transposer = transposer;
    this.memory = memory;
    this.governor = governor;
    this.allocator = allocator;
    this.aheadBytes = aheadBytes;
    this.task = task;
    this.listener = listener;
    task.joins(this);
  }

  @Override
  public int capacity() {
    return ARRAYS;
  }

  @Override
  public int inFlight() {
    return underWay.size();
  }

  @Override
  public void begin(FourierChain chain) {
    if (filling != null) {
      throw new IllegalStateException("The array before was not run");
    }
    user = Thread.currentThread();
    filling = new Array(chain);
  }

  @Override
  public void put(Part part, List<Plane> planes) {
    filling.put(part, planes);
  }

  @Override
  public void run(List<Part> outputs) {
    Array array = filling;
    Shape shape = array.plan.chain().outputShape();
    outputs.forEach(part -> part.requireInside(shape));
    filling = null;
    boolean queued = false;
    try {
      array.run(outputs);
      queued = true;
    } finally {
      underWay.add(array); // also after a failure: close() waits for what was queued
    }
    if (queued && outputs.isEmpty()) {
      array.settle();
      underWay.remove(array);
      array.close();
    }
    fetchAhead();
  }

  @Override
  public List<ArrowBuf> take() {
    Array array = underWay.element();
    List<ArrowBuf> taken = array.take();
    if (array.parts.isEmpty()) {
      underWay.remove();
      array.close();
    }
    fetchAhead();
    return taken;
  }

  /** Queues the way down of what there is pinned memory for, the oldest array first. */
  private void fetchAhead() {
    long bytes = 0;
    for (Array array : underWay) {
      bytes += array.fetchedBytes;
    }
    for (Array array : underWay) {
      while (array.hasMore() && (bytes == 0 || bytes + array.nextBytes() <= aheadBytes)) {
        bytes += array.fetch();
      }
      if (array.hasMore()) {
        return;
      }
    }
  }

  @Override
  public void settleUnderWay() {
    underWay.forEach(Array::settle);
  }

  @Override
  public Thread user() {
    return user;
  }

  @Override
  public void close() {
    task.leaves(this);
    // The streams first: closing one waits for its work, which reads and writes our buffers.
    List<AutoCloseable> owned = new ArrayList<>();
    for (UpLane lane : up) {
      if (lane != null) {
        owned.add(lane.stream);
      }
    }
    for (CudaStream stream : down) {
      if (stream != null) {
        owned.add(stream);
      }
    }
    if (compute != null) {
      owned.add(compute);
    }
    if (filling != null) {
      owned.add(filling);
    }
    owned.addAll(underWay);
    if (allocations != null) { // memory goes back in its order
      owned.add(allocations);
    }
    for (UpLane lane : up) {
      if (lane != null) {
        owned.add(lane.staging);
      }
    }
    Arrays.fill(up, null);
    Arrays.fill(down, null);
    compute = null;
    allocations = null;
    filling = null;
    underWay.clear();
    Closing.all(owned);
  }

  private void openStreams() {
    if (allocations == null) {
      allocations = device.newStream();
    }
    if (compute == null) {
      compute = device.newStream();
    }
    for (int lane = 0; lane < LANES; lane++) {
      if (up[lane] == null) {
        up[lane] = new UpLane(device.newStream());
      }
      if (down[lane] == null) {
        down[lane] = device.newStream();
      }
    }
  }

  private static long aligned(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  /** A stream up, and the pinned memory in which parts are gathered for it. */
  private final class UpLane {
    private final CudaStream stream;
    private final GrowingBuffer staging = new GrowingBuffer(allocator);
    private CudaEvent staged; // behind the last copy from the staging memory, of a clock of:
    private Array stagedBy;

    private UpLane(CudaStream stream) {
      this.stream = stream;
    }

    /** Memory that the device does not read any more. */
    HostMemory staging(long bytes) {
      if (staged != null) {
        long start = System.nanoTime();
        staged.synchronize();
        listener.waitedForResults(System.nanoTime() - start);
        staged = null;
      }
      return staging.memory(bytes);
    }
  }

  /** Bytes that go from one place of pinned memory to one place of a staging buffer. */
  private static final class Upload {
    private final long address;
    private final long toBytes;
    private long bytes;

    private Upload(long address, long toBytes, long bytes) {
      this.address = address;
      this.toBytes = toBytes;
      this.bytes = bytes;
    }

    /** True if more bytes lie right behind these on both sides. */
    private boolean extend(long from, long to, long more) {
      boolean follows = address + bytes == from && toBytes + bytes == to;
      bytes += follows ? more : 0;
      return follows;
    }
  }

  /** What was put and is not on its way yet: pieces in one staging buffer. */
  private static final class Load {
    private final List<Upload> uploads = new ArrayList<>();
    private final List<Piece> pieces = new ArrayList<>();
    private HostMemory staging; // of the lane; null until a plane needs it
    private long usedBytes;

    void upload(long address, long toBytes, long bytes) {
      Upload last = uploads.isEmpty() ? null : uploads.get(uploads.size() - 1);
      if (last == null || !last.extend(address, toBytes, bytes)) {
        uploads.add(new Upload(address, toBytes, bytes));
      }
    }
  }

  /** Parts that come down together, in one buffer; or one large part, in a buffer per plane. */
  private static final class Fetched implements AutoCloseable {
    private final Deque<List<ArrowBuf>> parts = new ArrayDeque<>();
    private final long bytes;
    private final CudaEvent[] arrived = new CudaEvent[LANES]; // last copies, of an array's clocks

    private Fetched(long bytes) {
      this.bytes = bytes;
    }

    void await() {
      for (CudaEvent last : arrived) {
        if (last != null) {
          last.synchronize();
        }
      }
      Arrays.fill(arrived, null);
    }

    @Override
    public void close() {
      List<ArrowBuf> all = new ArrayList<>();
      parts.forEach(all::addAll);
      parts.clear();
      Closing.all(all);
    }
  }

  /** Device memory of one array. */
  private final class OnDevice implements AutoCloseable {
    private final List<DeviceBuffer> owned = new ArrayList<>();
    private final DeviceBuffer[] buffers = new DeviceBuffer[3];
    private final DeviceBuffer[] staging = new DeviceBuffer[LANES];
    private final DeviceBuffer vectors;

    private OnDevice(FourierDevicePlan plan, long stagingBytes) {
      try {
        for (int i = 0; i < buffers.length; i++) {
          buffers[i] = allocate(plan.buffers().get(i));
        }
        for (int lane = 0; lane < LANES; lane++) {
          staging[lane] = allocate(stagingBytes);
        }
        vectors = allocate(plan.vectorBytes());
      } catch (Throwable t) {
        Closing.all(owned);
        throw t;
      }
    }

    private DeviceBuffer allocate(long bytes) {
      DeviceBuffer buffer = device.allocate(bytes, allocations);
      owned.add(buffer);
      return buffer;
    }

    @Override
    public void close() {
      Closing.all(owned);
    }
  }

  private final class Array implements AutoCloseable {
    private final FourierDevicePlan plan;
    private final State input;
    private final State output;
    private final long stagingBytes;
    private final List<ArrowBuf> held = new ArrayList<>(); // pinned memory that copies read
    private final List<DeviceClock> clocks = new ArrayList<>();
    private final DeviceClock[] upClocks = new DeviceClock[LANES];
    private final DeviceClock[] downClocks = new DeviceClock[LANES];
    private final Deque<Part> parts = new ArrayDeque<>(); // not taken
    private final Deque<Part> unfetched = new ArrayDeque<>();
    private final Deque<Fetched> fetched = new ArrayDeque<>();
    private MemoryGovernor.Grant<OnDevice> granted; // null before the first copy
    private Load load = new Load();
    private int at; // the buffer that holds the array
    private long bytesUp;
    private long bytesDown;
    private long fetchedBytes; // not taken
    private boolean settled;

    private Array(FourierChain chain) {
      FourierDevicePlan fastest = FourierDevicePlan.of(chain, 1, this::workBytes);
      this.plan =
          fastest.deviceBytes() <= governor.limitBytes()
              ? fastest
              : FourierDevicePlan.of(chain, FourierMemory.SCARCE_SHARE, this::workBytes);
      this.input = chain.input();
      this.output = chain.output();
      this.stagingBytes = FourierMemory.stagingBytes(chain);
    }

    private long workBytes(Transform transform) {
      return fourier.plan(transform.problem(), transform.workLimit()).workBytes();
    }

    // Up

    void put(Part part, List<Plane> planes) {
      FourierPutCheck.check(part, planes, input);
      boolean[] pinned = new boolean[planes.size()];
      for (int p = 0; p < planes.size(); p++) {
        ArrowBuf owner = planes.get(p).owner();
        pinned[p] =
            owner != null
                && memory.owns(owner)
                && planes.get(p).values().bytes() >= LEAST_COPY_BYTES;
        if (pinned[p]) {
          // Shared with our allocator, so that it outlives the one it came from.
          ReferenceManager source = owner.getReferenceManager();
          held.add(source.retain(owner, allocator));
        }
      }
      long width = input.type().bytes();
      long elements = part.elements();
      long done = 0;
      while (done < elements) {
        long count = fitting(elements - done, planes.size());
        if (count == 0) {
          flush();
          continue;
        }
        long bytes = count * width;
        long[] to = new long[2];
        for (int p = 0; p < planes.size(); p++) {
          to[p] = load.usedBytes;
          HostMemory values = planes.get(p).values().slice(done * width, bytes);
          if (pinned[p]) {
            load.upload(values.offset(), to[p], bytes);
          } else {
            stage(values, to[p]);
          }
          load.usedBytes = aligned(load.usedBytes + bytes);
        }
        load.pieces.add(
            new Piece(input.shape(), part.low(), shape(part), done, count, to[0], to[1]));
        done += count;
      }
    }

    /** Elements of a part that go into the load; 0 if it is better sent first. */
    private long fitting(long elements, int planes) {
      long room = (stagingBytes - load.usedBytes) / planes;
      long most = room / ALIGNMENT * ALIGNMENT / input.type().bytes();
      if (elements <= most) {
        return elements;
      }
      return load.usedBytes > stagingBytes / 2 ? 0 : most;
    }

    private void stage(HostMemory values, long to) {
      if (load.staging == null) {
        load.staging = upLane().staging(stagingBytes);
      }
      HostMemory target = load.staging.slice(to, values.bytes());
      values.copyTo(target);
      // The gap before it too, so that what was gathered is one copy.
      Upload last = load.uploads.isEmpty() ? null : load.uploads.get(load.uploads.size() - 1);
      long end = last == null ? 0 : last.toBytes + last.bytes;
      if (last != null
          && last.address + last.bytes == load.staging.offset() + end
          && aligned(end) == to) {
        last.bytes += to - end + values.bytes();
      } else {
        load.uploads.add(new Upload(target.offset(), to, values.bytes()));
      }
    }

    private UpLane upLane() {
      openStreams();
      return up[nextUp];
    }

    /** Sends what was gathered. */
    private void flush() {
      if (load.pieces.isEmpty()) {
        return;
      }
      Load sent = load;
      load = new Load();
      acquire();
      UpLane lane = up[nextUp];
      DeviceBuffer target = granted.resource().staging[nextUp];
      DeviceClock clock = clock(upClocks, nextUp, lane.stream);
      for (Upload upload : sent.uploads) {
        lane.stream.upload(
            HostMemory.ofAddress(upload.address, upload.bytes), target, upload.toBytes);
        bytesUp += upload.bytes;
      }
      CudaEvent copied = clock.ended(Phase.COPY_UP);
      if (sent.staging != null) {
        lane.staged = copied;
        lane.stagedBy = this;
      }
      fourier.move(
          Direction.PUT,
          input.type(),
          input.isComplex(),
          sent.pieces,
          target,
          granted.resource().buffers[0],
          1,
          lane.stream);
      clock.ended(Phase.KERNELS);
      nextUp = (nextUp + 1) % LANES;
    }

    /** This array's clock on a stream, running. */
    private DeviceClock clock(DeviceClock[] ofLanes, int lane, CudaStream stream) {
      if (ofLanes[lane] == null) {
        ofLanes[lane] = newClock(stream);
      } else {
        ofLanes[lane].resumed();
      }
      return ofLanes[lane];
    }

    private DeviceClock newClock(CudaStream stream) {
      DeviceClock clock = new DeviceClock(stream);
      clocks.add(clock);
      return clock;
    }

    /** A turn and memory, all zero where the array goes, if this array has none yet. */
    private void acquire() {
      if (granted != null) {
        return;
      }
      long start = System.nanoTime();
      task.takeTurn();
      listener.waitedForTurn(System.nanoTime() - start);
      openStreams();
      long bytes = plan.deviceBytes();
      start = System.nanoTime();
      granted =
          governor.acquire(
              bytes, bytes, all -> new OnDevice(plan, stagingBytes), task::settle, listener);
      listener.waitedForMemory(System.nanoTime() - start);
      listener.held(governor.usedBytes(), memory.allocatedBytes());
      allocations.fill(granted.resource().buffers[0], (byte) 0);
      uploadVectors();
      try (CudaEvent ready = allocations.record()) {
        for (int lane = 0; lane < LANES; lane++) {
          up[lane].stream.waitFor(ready);
        }
        compute.waitFor(ready);
      }
    }

    private void uploadVectors() {
      long bytes = plan.vectorBytes();
      if (bytes == 0) {
        return;
      }
      ArrowBuf buffer = allocator.buffer(bytes);
      held.add(buffer);
      HostMemory target = HostMemory.ofAddress(buffer.memoryAddress(), bytes);
      long offset = 0;
      for (Operation operation : plan.operations()) {
        if (operation instanceof Pointwise pointwise) {
          for (double[] vector : pointwise.program().vectors()) {
            HostMemory source = HostMemory.ofArray(vector);
            source.copyTo(target.slice(offset, source.bytes()));
            offset += source.bytes();
          }
        }
      }
      allocations.upload(target, granted.resource().vectors, 0);
      bytesUp += bytes;
    }

    // On the device

    void run(List<Part> outputs) {
      flush();
      acquire();
      for (UpLane lane : up) {
        try (CudaEvent put = lane.stream.record()) {
          compute.waitFor(put);
        }
      }
      DeviceClock clock = newClock(compute);
      long vectorsOffset = 0;
      for (Operation operation : plan.operations()) {
        DeviceBuffer from = granted.resource().buffers[at];
        at = operation.isInPlace() ? at : 1 - at;
        DeviceBuffer to = granted.resource().buffers[at];
        if (operation instanceof Transform transform) {
          int area = transform.isInPlace() ? 1 - at : 2;
          fourier.transform(
              fourier.plan(transform.problem(), transform.workLimit()),
              from,
              to,
              granted.resource().buffers[area],
              compute);
        } else if (operation instanceof Reorder reorder) {
          transposer.enqueue(
              new TransposeProblem(
                  reorder.before().shape(), reorder.permutation(), width(reorder.before())),
              from,
              0,
              to,
              0,
              compute);
        } else if (operation instanceof Moves moves) {
          move(moves, from, to);
        } else if (operation instanceof Pointwise pointwise) {
          fourier.pointwise(
              pointwise.program(), granted.resource().vectors, vectorsOffset, from, to, compute);
          vectorsOffset += pointwise.program().vectorElements() * Double.BYTES;
        }
      }
      CudaEvent done = clock.ended(Phase.KERNELS);
      for (CudaStream stream : down) {
        stream.waitFor(done);
      }
      parts.addAll(outputs);
      unfetched.addAll(outputs);
    }

    /** Bytes of an element, complex or real. */
    private static int width(State state) {
      return state.type().bytes() * state.planes();
    }

    private void move(Moves moves, DeviceBuffer from, DeviceBuffer to) {
      int width = width(moves.before());
      if (moves.leavesGaps()) {
        compute.fill(to, (byte) 0);
      }
      List<DeviceTransposer.Part> boxes = new ArrayList<>();
      for (Move move : moves.moves()) {
        boxes.add(
            new DeviceTransposer.Part(
                move.problem(width), move.fromElement() * width, move.toElement() * width));
      }
      transposer.enqueueAll(boxes, from, to, compute);
    }

    // Down

    boolean hasMore() {
      return !unfetched.isEmpty();
    }

    private long planeBytes(Part part) {
      return part.elements() * output.type().bytes();
    }

    /** Room of a part among others in one buffer. */
    private long roomOf(Part part) {
      return output.planes() * aligned(planeBytes(part));
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
      Fetched group = new Fetched(bytes);
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

    private void fetchSmall(Fetched group) {
      List<Piece> pieces = new ArrayList<>();
      long used = 0;
      try (ArrowBuf buffer = allocator.buffer(group.bytes)) {
        while (used < group.bytes) {
          Part part = unfetched.remove();
          long[] to = new long[2];
          List<ArrowBuf> planes = new ArrayList<>();
          for (int p = 0; p < output.planes(); p++) {
            to[p] = used;
            ArrowBuf slice = buffer.slice(used, planeBytes(part));
            slice.getReferenceManager().retain();
            planes.add(slice);
            used += aligned(planeBytes(part));
          }
          group.parts.add(planes);
          pieces.add(
              new Piece(output.shape(), part.low(), shape(part), 0, part.elements(), to[0], to[1]));
        }
        DeviceBuffer staging = stageDown(pieces);
        down[nextDown].download(
            staging, 0, HostMemory.ofAddress(buffer.memoryAddress(), group.bytes));
        endCopy(group);
      }
    }

    private void fetchLarge(Part part, Fetched group) {
      List<ArrowBuf> planes = Buffers.allocate(allocator, output.planes(), planeBytes(part));
      group.parts.add(planes);
      long width = output.type().bytes();
      long most = stagingBytes / output.planes() / ALIGNMENT * ALIGNMENT / width;
      for (long done = 0; done < part.elements(); done += most) {
        long count = Math.min(most, part.elements() - done);
        long[] from = {0, aligned(count * width)};
        DeviceBuffer staging =
            stageDown(
                List.of(
                    new Piece(
                        output.shape(), part.low(), shape(part), done, count, from[0], from[1])));
        for (int p = 0; p < planes.size(); p++) {
          down[nextDown].download(
              staging,
              from[p],
              HostMemory.ofAddress(planes.get(p).memoryAddress() + done * width, count * width));
        }
        endCopy(group);
      }
    }

    /** Queues the move of pieces into the staging buffer of the next lane down. */
    private DeviceBuffer stageDown(List<Piece> pieces) {
      DeviceBuffer staging = granted.resource().staging[nextDown];
      DeviceClock clock = clock(downClocks, nextDown, down[nextDown]);
      fourier.move(
          Direction.TAKE,
          output.type(),
          output.isComplex(),
          pieces,
          staging,
          granted.resource().buffers[at],
          plan.factor(),
          down[nextDown]);
      clock.ended(Phase.KERNELS);
      return staging;
    }

    /** What was queued last is a copy down. The other lane is next. */
    private void endCopy(Fetched group) {
      group.arrived[nextDown] = downClocks[nextDown].ended(Phase.COPY_DOWN);
      nextDown = (nextDown + 1) % LANES;
    }

    List<ArrowBuf> take() {
      if (fetched.isEmpty()) {
        fetch();
      }
      Fetched group = fetched.element();
      if (!settled) {
        long start = System.nanoTime();
        group.await();
        listener.waitedForResults(System.nanoTime() - start);
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
      long[] nanos = new long[Phase.values().length];
      for (DeviceClock clock : clocks) {
        clock.synchronize();
        long[] ofClock = clock.nanos();
        Arrays.setAll(nanos, i -> nanos[i] + ofClock[i]);
      }
      settled = true;
      listener.copiedUp(nanos[Phase.COPY_UP.ordinal()]);
      listener.computed(nanos[Phase.KERNELS.ordinal()]);
      listener.copiedDown(nanos[Phase.COPY_DOWN.ordinal()]);
      listener.moved(bytesUp, bytesDown);
      granted.close();
      letGo();
    }

    /** The copies up are done: others may have the pinned memory that they read. */
    private void letGo() {
      List<ArrowBuf> done = List.copyOf(held);
      held.clear();
      Closing.all(done);
    }

    /** Frees everything; the device must be done with it. */
    @Override
    public void close() {
      for (UpLane lane : up) {
        if (lane != null && lane.stagedBy == this) {
          lane.staged = null; // long past, and closed now
          lane.stagedBy = null;
        }
      }
      List<AutoCloseable> owned = new ArrayList<>();
      if (granted != null) {
        owned.add(granted);
      }
      owned.addAll(fetched);
      owned.addAll(held);
      owned.addAll(clocks);
      fetched.clear();
      held.clear();
      clocks.clear();
      Closing.all(owned);
    }
  }

  private static Shape shape(Part part) {
    return Shape.of(part.size().stream().mapToLong(Long::longValue).toArray());
  }
}

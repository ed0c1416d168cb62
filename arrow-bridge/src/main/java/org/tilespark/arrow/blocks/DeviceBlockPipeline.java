package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DevicePasses;
import org.tilespark.kernels.device.DeviceReducer;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.layout.Shape;

/**
 * The pipeline of an executor with a GPU. Whole arrays form batches ({@link DeviceBatch}) if their
 * program only moves elements or computes each real number separately: small arrays of equal
 * programs share one upload, one launch per step and one download; large arrays are copied directly
 * from their memory, or slice by slice. With other programs ({@link DeviceRun}), small arrays of
 * equal programs are joined along a leading axis, and a large array is processed alone, with the
 * further arrays that its program takes. A program with transforms needs cuFFT. Parts are uploaded
 * through two small device buffers in turn, from which a kernel puts them into the array. Then the
 * operations of a {@link DeviceProgram} run on the array, and parts are downloaded in the same way.
 * Copies are contiguous and have streams of their own, so upload, computation and download overlap:
 * the parts of one array are uploaded while the previous array is downloaded.
 *
 * <pre>
 *   two streams up:    copy | put | copy | put ...        (of the next array)
 *   one to compute:                            steps
 *   two streams down:                                take | copy | take | copy ...
 * </pre>
 *
 * <p>Planes in pinned memory are read in place, and rooms in pinned memory are written in place;
 * other planes and rooms, and small ones, are copied through pinned buffers. Small parts share a
 * launch and a download buffer.
 *
 * <p>An array that is processed alone takes its turn and its device memory at the first upload:
 * when about 16 MiB were put, or 128 MiB of pinned memory, or the array is run. Small arrays take
 * theirs when all of them are sent. The memory is given back after the last part was downloaded.
 * Parts are downloaded ahead of {@link #take} as far as the allowed pinned memory suffices.
 *
 * <p>Small arrays wait for others with an equal program until there are enough for a batch, another
 * program comes, or one of their results is asked for.
 */
public final class DeviceBlockPipeline implements BlockPipeline, DeviceTask.Pipeline {
  private static final int UNDER_WAY = 2;

  /** Bytes of waiting small arrays at which they are sent to an idle device. */
  private static final long EARLY_BYTES = 1 << 20;

  private final DeviceMachine machine;
  private final DeviceLanes lanes;
  private final long aheadBytes;
  private final long batchBytes;
  private final Deque<DeviceWork> underWay = new ArrayDeque<>();
  // Small arrays that others may join, as a batch or as a run; newer than all work in progress.
  private DeviceBatch open;
  private DeviceRun joined; // small arrays, or a large one; null, as open, if there are none
  private Known known; // of the last array that began
  private boolean isFilling; // between begin and run
  private List<Plane> whole = List.of(); // planes of the array being started, if it was put whole
  private boolean isInParts; // the array being started is put in parts, into joined
  private volatile Thread user; // the thread that began the last array

  /** Facts that are determined once for arrays of equal programs. */
  private record Known(
      BlockProgram program,
      List<State> inputs,
      Shape result,
      Part allOut,
      boolean isPlanewise,
      int together) {
    static Known of(BlockProgram program, long usualBytes, long limitBytes) {
      State output = program.output();
      output.bytes(); // fails if there is no array of this size
      return new Known(
          program,
          program.inputs(),
          output.shape(),
          Part.whole(output.shape()),
          program.isPlanewise(),
          DeviceRun.together(program, usualBytes, limitBytes));
    }

    Part all(int input) {
      return Part.whole(inputs.get(input).shape());
    }
  }

  /**
   * A pipeline on one device; it borrows all arguments.
   *
   * @param place the device and the memory that it uses
   * @param transforms cuFFT's transforms; empty if there is no cuFFT; then programs must not need
   *     it
   * @param aheadBytes most pinned memory for parts that are downloaded ahead; a larger part is
   *     downloaded alone
   * @param batchBytes usual bytes of each plane of a batch of blocks; larger arrays that are not
   *     pinned are processed in slices
   * @throws IllegalArgumentException if {@code batchBytes} is less than 1
   */
  public DeviceBlockPipeline(
      DevicePlace place,
      DevicePasses passes,
      DeviceTransposer transposer,
      DeviceElementwise elementwise,
      Optional<DeviceFourier> transforms,
      long aheadBytes,
      long batchBytes) {
    if (batchBytes < 1) {
      throw new IllegalArgumentException("Batches of " + batchBytes + " bytes; expected 1 or more");
    }
    DeviceReducer reducer = new DeviceReducer(place.device());
    this.machine = new DeviceMachine(place, passes, transposer, elementwise, reducer, transforms);
    this.lanes = new DeviceLanes(place);
    this.aheadBytes = aheadBytes;
    this.batchBytes = batchBytes;
    place.task().joins(this);
  }

  @Override
  public boolean isFull() {
    return underWay.size() >= UNDER_WAY;
  }

  @Override
  public int inFlight() {
    int arrays = (open == null ? 0 : open.arrays()) + (joined == null ? 0 : joined.arrays());
    for (DeviceWork work : underWay) {
      arrays += work.arrays();
    }
    return arrays;
  }

  @Override
  public void begin(BlockProgram program) {
    if (isFilling) {
      throw new IllegalStateException("The array before was not run");
    }
    user = Thread.currentThread();
    if (known == null || !known.program().equals(program)) {
      known = Known.of(program, batchBytes, machine.place().governor().limitBytes());
    }
    isFilling = true;
  }

  @Override
  public void put(int input, Part part, List<Plane> planes) {
    part.requirePlanes(planes, known.inputs().get(input));
    boolean areOwned = planes.stream().allMatch(plane -> plane.owner().isPresent());
    if (areOwned && part.equals(known.all(input))) {
      putWhole(input, planes);
    } else {
      array().put(input, part, planes);
    }
  }

  @Override
  public void putWhole(int input, List<Plane> planes) {
    known.all(input).requirePlanes(planes, known.inputs().get(input));
    if (known.isPlanewise() && !isInParts && whole.isEmpty()) {
      for (Plane plane : planes) {
        plane.owner().ifPresent(owner -> owner.getReferenceManager().retain());
      }
      whole = List.copyOf(planes);
    } else {
      array().put(input, known.all(input), planes);
    }
  }

  /**
   * The run that takes the parts of the array being started, alone or with arrays of equal
   * programs.
   */
  private DeviceRun array() {
    if (!isInParts) {
      if (joined == null || !joined.takes(known.program())) {
        sendOpen();
        joined = new DeviceRun(known.program(), known.together(), machine, lanes);
      }
      isInParts = true;
    }
    return joined;
  }

  @Override
  public void run(List<Part> outputs, Rooms rooms) {
    outputs.forEach(part -> part.requireInside(known.result()));
    isFilling = false;
    try {
      if (!isInParts
          && !whole.isEmpty()
          && outputs.equals(List.of(known.allOut()))
          && joined == null
          && underWay.stream().noneMatch(DeviceWork::hasMore)) { // rooms are asked for in order
        runWhole(rooms);
      } else {
        runParts(outputs, rooms);
      }
    } finally {
      letGo();
    }
    fetchAhead();
  }

  /**
   * Releases the planes of the array being started: they have been read, or are retained by a later
   * reader.
   */
  private void letGo() {
    List<Plane> held = whole;
    whole = List.of();
    List<AutoCloseable> owners = new ArrayList<>();
    held.forEach(
        plane ->
            plane.owner().ifPresent(owner -> owners.add(owner.getReferenceManager()::release)));
    Closing.all(owners);
  }

  private void runParts(List<Part> outputs, Rooms rooms) {
    DeviceRun array = array();
    if (!whole.isEmpty()) {
      array.put(0, known.all(0), whole);
    }
    isInParts = false;
    array.end(outputs, rooms);
    if (array.isReady(underWay.isEmpty() ? EARLY_BYTES : Long.MAX_VALUE)) {
      sendOpen();
    }
  }

  private void runWhole(Rooms rooms) {
    if (open == null || !open.takes(known.program())) {
      sendOpen();
    }
    DeviceBatch batch =
        open == null ? new DeviceBatch(known.program(), machine, lanes, batchBytes) : open;
    if (!batch.isOfSmall()) {
      try {
        batch.launchLarge(whole, rooms);
      } finally {
        underWay.add(batch);
      }
      return;
    }
    open = batch;
    batch.add(whole, rooms);
    if (batch.isFull() || (underWay.isEmpty() && batch.bytes() >= EARLY_BYTES)) {
      sendOpen();
    }
  }

  /** Sends the small arrays that were waiting for others. */
  private void sendOpen() {
    DeviceBatch batch = open;
    DeviceRun run = joined;
    open = null;
    joined = null;
    if (batch != null) {
      try {
        batch.launch();
      } finally {
        underWay.add(batch); // also after a failure: close() waits for what was queued
      }
    }
    if (run != null) {
      boolean queued = false;
      try {
        run.launch();
        queued = true;
      } finally {
        underWay.add(run);
      }
      if (queued && run.arrays() == 0) { // no part of a result is asked for
        run.settle();
        underWay.remove(run);
        run.close();
      }
    }
  }

  @Override
  public List<ArrowBuf> take() {
    if (isFilling) {
      throw new IllegalStateException("The array being started was not run");
    }
    if (underWay.isEmpty()) {
      sendOpen();
    }
    DeviceWork work = underWay.element();
    List<ArrowBuf> taken = work.take();
    if (work.arrays() == 0) {
      underWay.remove();
      work.close();
    }
    fetchAhead();
    return taken;
  }

  /** Queues downloads as far as pinned memory suffices, the oldest array first. */
  private void fetchAhead() {
    long bytes = 0;
    for (DeviceWork work : underWay) {
      bytes += work.fetchedBytes();
    }
    for (DeviceWork work : underWay) {
      while (work.hasMore() && (bytes == 0 || bytes + work.nextBytes() <= aheadBytes)) {
        bytes += work.fetch();
      }
      if (work.hasMore()) {
        return;
      }
    }
  }

  @Override
  public void settleUnderWay() {
    underWay.forEach(DeviceWork::settle);
  }

  @Override
  public Thread user() {
    return user;
  }

  @Override
  public void close() {
    machine.place().task().leaves(this);
    List<AutoCloseable> all = new ArrayList<>();
    if (joined != null) {
      all.add(joined);
    }
    if (open != null) {
      all.add(open);
    }
    all.addAll(underWay);
    all.add(this::letGo);
    isFilling = false;
    isInParts = false;
    joined = null;
    open = null;
    underWay.clear();
    lanes.close(all);
  }
}

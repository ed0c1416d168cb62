package org.tilespark.arrow.panels;

import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.arrow.pipeline.DeviceClock.Phase;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.device.DeviceMultiplier;
import org.tilespark.kernels.device.DeviceSelector;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.host.HostSelection;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.kernels.multiply.MultiplyWay;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.kernels.select.SelectionPlan;

/**
 * Multiplies panels on a device. The tile stays on the device until it is finished. Panels use two
 * pairs of buffers in turn, each with a pinned and a device part: while the caller fills one pair,
 * the other is uploaded and multiplied. Uploads have one stream and kernels another, so that the
 * upload of one panel overlaps the kernels of the previous one.
 *
 * <p>The task's turn and the device's memory are taken when the first panels of a tile are
 * multiplied, and the memory is given back when the tile is finished. The way to multiply all
 * panels of the tile is chosen at the first panels, when the tile is still empty, since trials
 * overwrite it.
 *
 * <p>Panels that other tasks need too are uploaded by the first of them; the others copy them on
 * the device, from {@link DevicePanels} to their own buffers, at the place in their stream where
 * the upload would have been. So kernels always read the same bytes at the same places.
 *
 * <p>The finished tile is downloaded in rectangles to their destinations, or as a whole: into
 * pinned memory if it is small relative to the pool, otherwise in pieces into plain memory. If
 * columns are selected, only these are downloaded, unless there are too many.
 */
public final class DevicePanelMultiplier implements PanelMultiplier, DeviceTask.Pipeline {
  /** Most bytes of a piece in which a large tile is downloaded. */
  private static final long PIECE_BYTES = 16L << 20;

  private final DevicePlace place;
  private final DeviceMultiplier multiplier;
  private final DeviceElementwise elementwise;
  private final HostElementwise hostElementwise = new HostElementwise();
  private final DeviceSelector selector;
  private final DevicePanels.Stage stage;
  private final long mostPinnedBytes;
  private final PanelSlot[] slots;
  private final TaskScope streams = new TaskScope();
  private final TaskScope owned = new TaskScope(); // resources closed after the streams
  private final GrowingBuffer pinned;
  private final GrowingBuffer plain;
  private CudaStream uploads; // null until first used
  private CudaStream kernels;
  private MemoryGovernor.Grant<OnDevice> granted; // null before the first panels of a tile
  private Optional<MultiplyWay> way; // null before the first panels of a tile
  private int next; // number of the slot and buffers of the next panels
  private PanelSlot filling;
  private Tile tile;
  private TileSums sums;
  private Optional<PanelId> lastA = Optional.empty(); // last shared panel of A in this tile
  private Optional<PanelId> lastB = Optional.empty();
  private InParts parts; // null unless the tile is fetched in rectangles
  private volatile Thread user; // the thread that fetches the rectangles

  /**
   * Memory for finished tiles.
   *
   * @param plain allocator of memory of any kind, for large tiles
   * @param mostPinnedBytes most pinned bytes for a finished tile, or for a piece that is fetched at
   *     a time; pinning is slow, so this is at most the task's share of the pinned memory
   */
  public record Results(BufferAllocator plain, long mostPinnedBytes) {}

  /**
   * A multiplier on one device; it borrows all arguments.
   *
   * @param place the task's resources; its allocator is for panels and small tiles
   * @param stage the stage whose tasks share panels
   */
  public DevicePanelMultiplier(
      DevicePlace place,
      DeviceMultiplier multiplier,
      DeviceElementwise elementwise,
      Results results,
      DevicePanels.Stage stage) {
    this.place = place;
    this.multiplier = multiplier;
    this.elementwise = elementwise;
    this.selector = new DeviceSelector(place.device());
    this.stage = stage;
    this.mostPinnedBytes = results.mostPinnedBytes();
    this.plain = owned.own(new GrowingBuffer(results.plain()));
    this.pinned = owned.own(new GrowingBuffer(place.allocator()));
    this.slots = new PanelSlot[] {new PanelSlot(owned, place), new PanelSlot(owned, place)};
    owned.own(this::freeTile);
    for (PanelSlot slot : slots) {
      owned.own(slot);
    }
    place.task().joins(this);
  }

  /** Device memory for the tile, both pairs of panels, and the kernels' work area. */
  private final class OnDevice implements AutoCloseable {
    private final TaskScope scope;
    private final DeviceBuffer c;
    private final DeviceBuffer totals; // null if the sums need one tile only
    private final DeviceBuffer workspace;
    private final DeviceBuffer[] a = new DeviceBuffer[2];
    private final DeviceBuffer[] b = new DeviceBuffer[2];

    private OnDevice(TaskScope scope) {
      this.scope = scope;
      c = allocate(tile.bytes(), kernels);
      totals = sums.hasTotals() ? allocate(tile.bytes(), kernels) : null;
      workspace = allocate(workspaceBytes(), kernels);
      for (int i = 0; i < 2; i++) {
        a[i] = allocate(tile.mostA(), uploads);
        b[i] = tile.shared() ? a[i] : allocate(tile.mostB(), uploads);
      }
    }

    private DeviceBuffer allocate(long bytes, CudaStream stream) {
      return scope.own(place.device().allocate(bytes, stream));
    }

    @Override
    public void close() {
      scope.close();
    }
  }

  @Override
  public long batchBytes() {
    return Long.MAX_VALUE; // no limit of this multiplier: as much as the plan says
  }

  @Override
  public void begin(Tile newTile) {
    giveUp();
    parts = null;
    tile = newTile;
    sums = new TileSums(newTile);
    way = null;
    lastA = Optional.empty();
    lastB = Optional.empty();
  }

  /**
   * Shortens the tile: no byte of the batch is on the device before its only panels are multiplied.
   */
  @Override
  public void shorten(Tile shorter) {
    tile = shorter;
    filling.a.shorten(shorter.mostA());
    if (!filling.shared) {
      filling.b.shorten(shorter.mostB());
    }
  }

  @Override
  public Panels panels(Wanted a, Optional<Wanted> b) {
    filling = slots[next];
    filling.settle();
    filling.shared = b.isEmpty();
    begin(filling.a, a, granted == null ? null : granted.resource().a[next]);
    lastA = filling.a.id.or(() -> lastA);
    if (filling.shared) {
      return new Panels(filling.a.toFill(), filling.a.toFill());
    }
    begin(filling.b, b.get(), granted == null ? null : granted.resource().b[next]);
    lastB = filling.b.id.or(() -> lastB);
    return new Panels(filling.a.toFill(), filling.b.toFill());
  }

  /**
   * Begins one panel: copies it if it is on the device already, otherwise the caller must fill it.
   *
   * @param to the panel's device memory; null before the first panels of a tile
   */
  private void begin(PanelSlot.PinnedPanel panel, Wanted wanted, DeviceBuffer to) {
    long bytes = wanted.bytes();
    panel.begin(bytes, bytes == 0 ? Optional.empty() : wanted.id());
    panel.isFilled =
        panel.id.isEmpty()
            || to == null
            || !stage.member().find(panel.id.get(), bytes, found -> found.copyTo(to, uploads));
  }

  /** Uploads one panel unless it is on the device; returns the number of bytes uploaded. */
  private long bring(PanelSlot.PinnedPanel panel, DeviceBuffer to) {
    if (!panel.isFilled) {
      return 0;
    }
    Runnable upload = () -> panel.upload(uploads, to);
    if (panel.id.isPresent()) {
      return stage
              .member()
              .bring(
                  panel.id.get(),
                  panel.bytes,
                  found -> found.copyTo(to, uploads),
                  upload,
                  made -> made.fill(to, uploads))
          ? panel.bytes
          : 0;
    }
    upload.run();
    return panel.bytes;
  }

  @Override
  public void multiply(List<PanelProduct> products) {
    if (products.isEmpty()) {
      return; // and the panels can be filled again
    }
    acquire();
    PanelSlot slot = filling;
    OnDevice memories = granted.resource();
    DeviceBuffer a = memories.a[next];
    DeviceBuffer b = slot.shared ? a : memories.b[next];
    // Earlier work on these buffers is done: settle() waited for it.
    slot.upload = slot.clocks.own(new DeviceClock(uploads));
    long up = bring(slot.a, a) + (slot.shared ? 0 : bring(slot.b, b));
    CudaEvent uploaded = slot.upload.ended(Phase.COPY_UP);
    kernels.waitFor(uploaded);
    if (way == null) {
      way =
          isScarce()
              ? multiplier.planner().lowMemoryWay(tile.panel(), tile.terms())
              : multiplier.choose(
                  tile.panel(), tile.terms(), a, b, memories.c, memories.workspace, kernels);
      if (!tile.isOverwritten()) {
        kernels.fill(memories.c, (byte) 0);
      }
      if (memories.totals != null) {
        kernels.fill(memories.totals, (byte) 0);
      }
    }
    slot.compute = slot.clocks.own(new DeviceClock(kernels));
    if (sums.isFullFor(products)) {
      addPartials();
    }
    for (PanelProduct product : products) {
      multiplier.enqueue(
          multiplier
              .plan(product.problem(), tile.terms(), way)
              .orElseThrow(UnsupportedOperationException::new),
          new DeviceMultiplier.Operands(
              a, product.startA(), b, product.startB(), memories.c, product.startC()),
          memories.workspace,
          kernels);
    }
    slot.compute.ended(Phase.KERNELS);
    place.listener().moved(up, 0);
    place.listener().reused(slot.a.bytes + (slot.shared ? 0 : slot.b.bytes) - up);
    next = 1 - next;
  }

  /** Adds the partial sums to the totals, and clears the partial sums. */
  private void addPartials() {
    OnDevice memories = granted.resource();
    multiplier.enqueueAddition(
        tile.panel().type(), memories.c, memories.totals, tile.bytes(), kernels);
  }

  @Override
  public HostMemory finish(List<ElementwiseProgram> epilogue) {
    if (granted == null) { // no panel was multiplied
      HostMemory zeros = result();
      zeros.fill((byte) 0);
      tellPassed();
      return onHost(epilogue, zeros);
    }
    boolean onDevice = runsOnDevice(epilogue);
    HostMemory result;
    try (DeviceClock clock = new DeviceClock(kernels)) {
      result = fetched(finished(clock, onDevice ? epilogue : List.of()), clock);
    }
    return onDevice ? result : onHost(epilogue, result);
  }

  private boolean runsOnDevice(List<ElementwiseProgram> epilogue) {
    return epilogue.stream().allMatch(each -> elementwise.check(each).isPresent());
  }

  @Override
  public Optional<FinishedTile> finishInParts(List<ElementwiseProgram> epilogue) {
    if (granted == null || !runsOnDevice(epilogue)) {
      return Optional.empty();
    }
    user = Thread.currentThread();
    parts = new InParts(epilogue);
    return Optional.of(parts);
  }

  /**
   * The finished tile, which stays on the device until its last rectangle is fetched or another
   * operator needs the memory.
   */
  private final class InParts implements FinishedTile {
    private final List<ElementwiseProgram> epilogue;
    private DeviceBuffer from; // the finished tile; null before the first fetch
    // The whole tile in host memory; null unless another operator needed the device memory.
    private HostMemory rest;

    private InParts(List<ElementwiseProgram> epilogue) {
      this.epilogue = epilogue;
    }

    @Override
    public long mostBytes() {
      return mostPinnedBytes;
    }

    private DeviceBuffer from(DeviceClock clock) {
      if (from == null) {
        from = finished(clock, epilogue);
      }
      return from;
    }

    @Override
    public void fetch(List<Rectangle> rectangles, boolean isLast) {
      long pitch = tile.panel().n() * tile.panel().type().bytes();
      if (rest != null) {
        for (Rectangle each : rectangles) {
          new MemoryRows(rest, each.start(), pitch, each.rowBytes(), each.rows())
              .copyTo(each.to(), 0, each.rowBytes());
        }
        return;
      }
      long bytes = 0;
      try (DeviceClock clock = new DeviceClock(kernels)) {
        DeviceBuffer finished = from(clock);
        for (Rectangle each : rectangles) {
          long rowBytes = each.rowBytes();
          kernels.downloadRows(
              finished, each.start(), pitch, each.to(), rowBytes, rowBytes, each.rows());
          bytes += each.to().bytes();
        }
        clock.ended(Phase.COPY_DOWN);
        place.awaitResults(clock::synchronize);
        clock.times().tell(place.listener());
      }
      place.listener().moved(0, bytes);
      tellPassed();
      if (isLast) {
        giveUp();
      }
    }

    /** Downloads the whole tile, and frees the device memory. */
    private void settle() {
      if (granted != null) {
        try (DeviceClock clock = new DeviceClock(kernels)) {
          rest = fetched(from(clock), clock);
        }
      }
    }
  }

  /**
   * Called if another operator of the task needs device memory while the tile of this one is
   * fetched.
   */
  @Override
  public void settleUnderWay() {
    if (parts != null) {
      parts.settle();
    }
  }

  @Override
  public Thread user() {
    return user;
  }

  private HostMemory onHost(List<ElementwiseProgram> epilogue, HostMemory result) {
    hostElementwise.run(epilogue, tile.shape(), result);
    return result;
  }

  @Override
  public SelectedColumns select(ColumnSelection selection) {
    if (granted == null || !selector.supports(tile.panel().type())) {
      return new HostSelection(selection, finish());
    }
    settle();
    SelectionPlan plan = plan(tile);
    HostMemory bounds = slots[0].a.gathered(plan.boundsBytes()); // no longer needed
    plan.putBounds(selection, bounds);
    At onDevice = new At(granted.resource().workspace, 0);
    At found = new At(granted.resource().workspace, plan.boundsBytes());
    HostMemory head = pinned.memory(plan.foundBytes()).slice(0, plan.headBytes());
    DeviceBuffer from;
    try (DeviceClock clock = new DeviceClock(kernels)) {
      from = finished(clock, List.of());
      kernels.upload(bounds, onDevice.buffer(), 0);
      clock.ended(Phase.COPY_UP);
      selector.select(selection, plan, new At(from, 0), onDevice, found, kernels);
      clock.ended(Phase.KERNELS);
      awaitDown(clock, found, head);
      place.listener().moved(plan.boundsBytes(), plan.headBytes());
    }
    long count = SelectionPlan.count(head);
    if (count > plan.capacity()) {
      try (DeviceClock clock = new DeviceClock(kernels)) {
        return new HostSelection(selection, fetched(from, clock));
      }
    }
    HostMemory all = pinned.memory(plan.headBytes() + count * Integer.BYTES);
    if (count > 0) {
      HostMemory columns = all.slice(plan.headBytes(), count * Integer.BYTES);
      try (DeviceClock clock = new DeviceClock(kernels)) {
        awaitDown(clock, new At(found.buffer(), found.offset() + plan.headBytes()), columns);
        place.listener().moved(0, columns.bytes());
      }
    }
    giveUp();
    tellPassed();
    return plan.columns(all);
  }

  private void awaitDown(DeviceClock clock, At from, HostMemory to) {
    kernels.download(from.buffer(), from.offset(), to);
    clock.ended(Phase.COPY_DOWN);
    place.awaitResults(clock::synchronize);
    clock.times().tell(place.listener());
  }

  private static SelectionPlan plan(Tile tile) {
    return SelectionPlan.of(Math.toIntExact(tile.panel().m()), Math.toIntExact(tile.panel().n()));
  }

  private boolean isPinned() {
    return tile.bytes() <= mostPinnedBytes;
  }

  /** Host memory for the finished tile. */
  private HostMemory result() {
    return (isPinned() ? pinned : plain).memory(tile.bytes());
  }

  /**
   * Queues the last addition of partial sums and the epilogue; returns the tile on the device,
   * complete once the queued kernels have run.
   */
  private DeviceBuffer finished(DeviceClock clock, List<ElementwiseProgram> epilogue) {
    OnDevice memories = granted.resource();
    boolean hasTotals = memories.totals != null;
    if (hasTotals) {
      addPartials();
    }
    DeviceBuffer finished = hasTotals ? memories.totals : memories.c;
    List<At> tiles = List.of(new At(finished, 0));
    for (ElementwiseProgram each : epilogue) {
      elementwise.run(each, tile.shape(), new long[2], List.of(), tiles, tiles, kernels);
    }
    if (hasTotals || !epilogue.isEmpty()) {
      clock.ended(Phase.KERNELS);
    }
    return finished;
  }

  /** Downloads the tile after the queued work, waits, and frees the device memory. */
  private HostMemory fetched(DeviceBuffer from, DeviceClock clock) {
    HostMemory result = result();
    if (isPinned()) {
      kernels.download(from, 0, result);
    } else {
      downloadInPieces(from, result);
    }
    clock.ended(Phase.COPY_DOWN);
    place.awaitResults(clock::synchronize);
    clock.times().tell(place.listener());
    place.listener().moved(0, tile.bytes());
    giveUp();
    tellPassed();
    return result;
  }

  /** Tells the shared panels that this tile needs none of them any more. */
  private void tellPassed() {
    lastA.ifPresent(stage.member()::passed);
    lastB.ifPresent(stage.member()::passed);
    lastA = Optional.empty();
    lastB = Optional.empty();
  }

  /**
   * Downloads a tile through the panels' pinned memory, once that is free: while one piece is
   * downloaded, the previous one is copied to its place.
   */
  private void downloadInPieces(DeviceBuffer from, HostMemory to) {
    settle();
    long most = Math.min(PIECE_BYTES, to.bytes());
    place.listener().staged(to.bytes());
    HostMemory[] staging = {slots[0].a.gathered(most), slots[1].a.gathered(most)};
    try (TaskScope events = new TaskScope()) {
      CudaEvent before = null;
      for (long at = 0, piece = 0; at < to.bytes() + most; at += most, piece++) {
        CudaEvent copied = null;
        if (at < to.bytes()) {
          long bytes = Math.min(most, to.bytes() - at);
          kernels.download(from, at, staging[(int) (piece % 2)].slice(0, bytes));
          copied = events.own(kernels.record());
        }
        if (before != null) {
          before.synchronize();
          long start = at - most;
          long bytes = Math.min(most, to.bytes() - start);
          staging[(int) ((piece + 1) % 2)].slice(0, bytes).copyTo(to.slice(start, bytes));
        }
        before = copied;
      }
    }
  }

  /**
   * True if the device's memory can never hold both this tile and the usual work area of its
   * products, and there is a way to multiply that needs a smaller one.
   */
  private boolean isScarce() {
    return tile.deviceBytes()
            > place.governor().limitBytes() - multiplier.planner().mostWorkspaceBytes(tile.panel())
        && multiplier.planner().lowMemoryWay(tile.panel(), tile.terms()).isPresent();
  }

  private long workspaceBytes() {
    long multiply =
        isScarce()
            ? multiplier.planner().mostWorkspaceBytes()
            : multiplier.planner().mostWorkspaceBytes(tile.panel());
    return tile.selects()
        ? Math.max(multiply, Math.addExact(plan(tile).boundsBytes(), plan(tile).foundBytes()))
        : multiply;
  }

  /**
   * Waits for the task's turn on the device, and takes memory for the tile, the panels and the work
   * area; does nothing if this tile has its memory.
   */
  private void acquire() {
    if (granted != null) {
      return;
    }
    place.takeTurn();
    uploads = uploads == null ? streams.own(place.device().newStream()) : uploads;
    kernels = kernels == null ? streams.own(place.device().newStream()) : kernels;
    long bytes = Math.addExact(tile.deviceBytes(), workspaceBytes());
    granted = place.acquireForLong(bytes, ignored -> TaskScope.opening(OnDevice::new));
  }

  /** Waits until the device has finished the queued work. */
  private void settle() {
    for (PanelSlot slot : slots) {
      slot.settle();
    }
  }

  /** Waits for queued work, and frees the device memory. */
  private void giveUp() {
    settle();
    freeTile();
  }

  private void freeTile() {
    if (granted != null) {
      MemoryGovernor.Grant<OnDevice> given = granted;
      granted = null;
      given.close();
    }
  }

  @Override
  public void close() {
    place.task().leaves(this);
    // The streams first: closing one waits for its work, which reads and writes our buffers.
    Closing.all(List.of(streams, owned));
  }
}

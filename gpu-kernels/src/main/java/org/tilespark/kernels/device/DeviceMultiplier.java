package org.tilespark.kernels.device;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.PlanCache;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyPlanner;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyStep;
import org.tilespark.kernels.multiply.MultiplyStrategy;
import org.tilespark.kernels.multiply.MultiplyWay;
import org.tilespark.layout.ElementType;

/**
 * The device twin of {@link org.tilespark.kernels.host.HostMultiplier}: runs plans on a {@link
 * CudaDevice}, which it borrows, with our own kernels, or with cuBLAS where it is installed. Safe
 * for several threads.
 */
public final class DeviceMultiplier implements Multiplier {
  /** The number of plans whose steps are kept ready; tasks use few plans at a time. */
  private static final int BOUND_PLANS = 128;

  /**
   * Bytes of each of the two pinned buffers through which heap arrays are copied: one is filled
   * while the other is copied.
   */
  private static final long STAGING_BYTES = 8L << 20;

  /** Bytes of unused staging buffers that are kept between calls. */
  private static final long KEPT_STAGING_BYTES = 8 * STAGING_BYTES;

  private static final int WORKSPACE_ALIGNMENT = 256;

  private final CudaDevice device;
  private final MultiplyEngine engine;
  private final DeviceMultiplyPlans plans;
  private final PinnedPool staging;
  private final PlanCache<IdentityKey, BoundPlan> bound = new PlanCache<>(BOUND_PLANS);

  /**
   * How the ways to multiply a class of problems are measured against each other.
   *
   * @param budget time for one class of products; zero to compare nothing
   * @param cacheDirectory directory in which the choices are kept; empty to keep them in the
   *     process only
   */
  public record Tuning(Duration budget, Optional<Path> cacheDirectory) {
    /** Tuning that compares no ways. */
    public static final Tuning OFF = new Tuning(Duration.ZERO, Optional.empty());
  }

  /**
   * Places of a product's matrices on the device.
   *
   * @param aOffset first byte of A in its buffer, a multiple of the element's width
   * @param bOffset first byte of B in its buffer, likewise
   * @param c the buffer of C; the gaps between C's rows stay as they are
   * @param cOffset first byte of C in its buffer, likewise
   */
  public record Operands(
      DeviceBuffer a, long aOffset, DeviceBuffer b, long bOffset, DeviceBuffer c, long cOffset) {}

  /**
   * A plan as a key that is compared by identity: comparing the contents of plans takes as long as
   * a launch.
   */
  private static final class IdentityKey {
    private final MultiplyPlan plan;

    IdentityKey(MultiplyPlan plan) {
      this.plan = plan;
    }

    @Override
    public boolean equals(Object o) {
      return o instanceof IdentityKey other && plan == other.plan;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(plan);
    }
  }

  /**
   * A multiplier on {@code device}, which is borrowed; it uses cuBLAS if the system's loader finds
   * it, and tunes nothing.
   */
  public DeviceMultiplier(CudaDevice device) {
    this(device, MultiplyEngine.AUTO, List.of(), Tuning.OFF);
  }

  /**
   * A multiplier on {@code device}, which is borrowed and must stay open longer than this object.
   * cuBLAS is loaded when it may first be needed.
   *
   * @param engine the engine whose kernels multiply; with {@link MultiplyEngine#OWN} cuBLAS is not
   *     even loaded
   * @param libraryPath directories where to look when the system's loader does not know cuBLAS
   * @param tuning how {@link #choose} compares
   */
  public DeviceMultiplier(
      CudaDevice device, MultiplyEngine engine, List<Path> libraryPath, Tuning tuning) {
    this.device = device;
    this.engine = engine;
    this.plans = new DeviceMultiplyPlans(device, engine, libraryPath, tuning);
    this.staging = device.newPinnedPool(KEPT_STAGING_BYTES);
  }

  /** The version of cuBLAS, such as 13.1.0, or why it cannot be used. */
  public Availability<String> cublas() {
    return plans.cublas().map(Cublas::version);
  }

  /** The planner, which decides by rule and keeps no plans. */
  public MultiplyPlanner planner() {
    return plans.planner();
  }

  /** How a problem would run by rule, or why it cannot run. */
  public Availability<MultiplyPlan> plan(MultiplyProblem problem) {
    return plan(problem, problem.k(), Optional.empty());
  }

  /**
   * How a problem would run, or why it cannot run. Up to a thousand plans are kept. The factors
   * alpha and beta are part of a plan, so each pair of factors has its own plans.
   *
   * @param terms number of products that each element of C sums up in the end, {@code problem.k()}
   *     or more
   * @param way the result of {@link #choose} for problems of its class; empty to use the planner's
   *     rule
   */
  public Availability<MultiplyPlan> plan(
      MultiplyProblem problem, long terms, Optional<MultiplyWay> way) {
    return plans.plan(problem, terms, way);
  }

  /**
   * The way to multiply problems like this one: if the class is to be tuned and was not yet, all
   * ways are timed; meanwhile this caller and others of the same class wait. The choice is kept in
   * this process and, if there is a cache directory, on this machine.
   *
   * @param problem a problem of the class
   * @param terms as in {@link #plan}
   * @param a buffer as long as the problem's A, of any content; borrowed
   * @param b buffer as long as the problem's B, likewise
   * @param c buffer as long as the problem's C, likewise; its content is lost
   * @param workspace buffer of at least {@link
   *     MultiplyPlanner#mostWorkspaceBytes(MultiplyProblem)}; borrowed
   * @param stream stream of the trials; they are done when this returns
   * @return empty where the planner's rule holds, as for batches, and where alpha or K is zero
   */
  public Optional<MultiplyWay> choose(
      MultiplyProblem problem,
      long terms,
      DeviceBuffer a,
      DeviceBuffer b,
      DeviceBuffer c,
      DeviceBuffer workspace,
      CudaStream stream) {
    Operands operands = new Operands(a, 0, b, 0, c, 0);
    return plans.choose(
        problem,
        terms,
        way -> {
          try (CudaEvent before = stream.record()) {
            enqueue(way, operands, workspace, stream);
            try (CudaEvent after = stream.record()) {
              after.synchronize();
              return after.millisSince(before);
            }
          }
        });
  }

  /**
   * Queues the addition of a tile of partial sums to one of totals; afterwards the partial sums are
   * zero. Returns before the work is done.
   *
   * @param type element type
   * @param partials the partial sums, borrowed until the work is done, as is {@code totals}
   * @param bytes bytes of either tile, from its buffer's beginning; a multiple of the element's
   *     width, at least one
   * @throws IndexOutOfBoundsException if a buffer is shorter
   * @throws UnsupportedOperationException if this jar has no kernel for the addition on the device
   */
  public void enqueueAddition(
      ElementType type, DeviceBuffer partials, DeviceBuffer totals, long bytes, CudaStream stream) {
    long from = partials.address(device, 0, bytes);
    long to = totals.address(device, 0, bytes);
    requireApart("the partial sums", from, bytes, to, bytes);
    device.enter();
    device
        .kernels()
        .launch(
            MultiplyPlanner.addition(type, bytes / type.bytes(), device.ownKernels()),
            from,
            to,
            stream);
  }

  /**
   * Queues the multiply of matrices on the device, by rule; returns before the multiply is done.
   * Until then the multiply also takes device memory, at most {@link
   * MultiplyPlan#workspaceBytes()}.
   *
   * @param problem the product
   * @param operands borrowed until the work is done; C must overlap neither A nor B
   * @param stream stream on which the multiply is queued
   * @throws IllegalArgumentException if an offset is no multiple of the width, or C overlaps an
   *     operand
   * @throws IndexOutOfBoundsException if a matrix does not fit its buffer
   * @throws UnsupportedOperationException if nothing here can multiply it, with the reason
   * @throws DeviceOutOfMemoryException if there is no memory for the workspace
   */
  public void enqueue(MultiplyProblem problem, Operands operands, CudaStream stream) {
    enqueue(plan(problem).orElseThrow(UnsupportedOperationException::new), operands, stream);
  }

  /**
   * Queues a plan of {@link #plan} or {@link #planner}; otherwise does what {@link
   * #enqueue(MultiplyProblem, Operands, CudaStream)} does.
   */
  public void enqueue(MultiplyPlan plan, Operands operands, CudaStream stream) {
    MultiplyProblem problem = plan.problem();
    long bytes =
        BoundPlan.workspaceBytes(
            plan,
            operands.a().address(device, operands.aOffset(), problem.bytesA()),
            operands.b().address(device, operands.bOffset(), problem.bytesB()));
    // The workspace is freed in the order of the stream, so after the work.
    try (DeviceBuffer workspace = device.allocate(bytes, stream)) {
      enqueue(plan, operands, workspace, stream);
    }
  }

  /**
   * Queues a multiply with a workspace of the caller, who may use the workspace for one plan after
   * the other.
   *
   * @param workspace buffer of at least {@link MultiplyPlan#workspaceBytes()}; borrowed until the
   *     work is done, which must be on this stream
   */
  public void enqueue(
      MultiplyPlan plan, Operands operands, DeviceBuffer workspace, CudaStream stream) {
    MultiplyProblem problem = plan.problem();
    long fromA = operands.a().address(device, operands.aOffset(), problem.bytesA());
    long fromB = operands.b().address(device, operands.bOffset(), problem.bytesB());
    long to = operands.c().address(device, operands.cOffset(), problem.bytesC());
    long aOffset = operands.aOffset();
    long bOffset = operands.bOffset();
    long cOffset = operands.cOffset();
    if ((aOffset | bOffset | cOffset) % problem.type().bytes() != 0) {
      throw new IllegalArgumentException(
          "Offsets %s, %s and %s; expected multiples of the width %s"
              .formatted(aOffset, bOffset, cOffset, problem.type().bytes()));
    }
    requireApart("A", fromA, problem.bytesA(), to, problem.bytesC());
    requireApart("B", fromB, problem.bytesB(), to, problem.bytesC());
    device.enter();
    if (plan.strategy() instanceof MultiplyStrategy.Cublas strategy) {
      plans
          .cublas()
          .orElseThrow(UnsupportedOperationException::new)
          .enqueue(problem, strategy, fromA, fromB, to, workspace, stream);
      return;
    }
    long scratch = workspace.address(device, 0, BoundPlan.workspaceBytes(plan, fromA, fromB));
    if (scratch % WORKSPACE_ALIGNMENT != 0) {
      throw new IllegalStateException("Workspace at " + scratch + "; expected whole 256 bytes");
    }
    BoundSteps steps =
        bound
            .get(new IdentityKey(plan), key -> new BoundPlan(key.plan, this::bind))
            .steps(fromA, fromB);
    if (plan.strategy() instanceof MultiplyStrategy.Skinny) {
      MultiplyProblem.Batch batch = problem.batch();
      for (long i = 0; i < batch.count(); i++) {
        long first = i * problem.type().bytes();
        steps.enqueue(
            ArgumentStruct.sides(
                fromA + first * batch.strideA(),
                fromB + first * batch.strideB(),
                to + first * batch.strideC(),
                scratch),
            stream);
      }
    } else {
      steps.enqueue(ArgumentStruct.sides(fromA, fromB, to, scratch), stream);
    }
  }

  private BoundSteps bind(List<MultiplyStep> steps) {
    return new BoundSteps(device, steps);
  }

  private static void requireApart(
      String matrix, long from, long fromBytes, long to, long toBytes) {
    if (from < to + toBytes && to < from + fromBytes) {
      throw new IllegalArgumentException(
          "C overlaps " + matrix + ": they begin " + (to - from) + " bytes apart in one buffer");
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>Memory outside the heap is copied as it is (pin it for full speed); heap arrays go through
   * small pinned buffers. Device memory for dense copies of the matrices is used for the length of
   * the call.
   *
   * @throws UnsupportedOperationException if nothing here can multiply it, with the reason
   * @throws DeviceOutOfMemoryException if there is no device memory for the copies
   */
  @Override
  public void multiply(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c) {
    problem.requireBytes(a.bytes(), b.bytes(), c.bytes());
    MultiplyProblem.Batch batch = problem.batch();
    MultiplyPlan plan = plan(problem.dense()).orElseThrow(UnsupportedOperationException::new);
    if (plan.strategy() instanceof MultiplyStrategy.Nothing) {
      return;
    }
    MultiplyProblem dense = plan.problem();
    BatchTransfer batchA =
        transfer(problem, problem.rowsA(), problem.colsA(), problem.a().lead(), batch.strideA());
    BatchTransfer batchB =
        transfer(problem, problem.rowsB(), problem.colsB(), problem.b().lead(), batch.strideB());
    BatchTransfer batchC =
        transfer(problem, problem.m(), problem.n(), problem.leadC(), batch.strideC());
    boolean staged = !a.isOffHeap() || !b.isOffHeap() || !c.isOffHeap();
    long most = Math.max(dense.bytesA(), Math.max(dense.bytesB(), dense.bytesC()));
    long stagingBytes = staged ? Math.min(STAGING_BYTES, most) : 0;
    // The stream is closed, which waits for its work, before the host memory that it copies from is
    // freed.
    try (PinnedBuffer first = staging.take(stagingBytes);
        PinnedBuffer second = staging.take(stagingBytes);
        CudaStream stream = device.newStream();
        DeviceBuffer left = device.allocate(dense.bytesA(), stream);
        DeviceBuffer right = device.allocate(dense.bytesB(), stream);
        DeviceBuffer result = device.allocate(dense.bytesC(), stream)) {
      PinnedBuffer[] buffers = {first, second};
      if (problem.readsOperands()) {
        batchA.upload(a, left, stream, buffers);
        batchB.upload(b, right, stream, buffers);
      }
      if (problem.factors().readsC()) {
        batchC.upload(c, result, stream, buffers);
      }
      enqueue(plan, new Operands(left, 0, right, 0, result, 0), stream);
      batchC.download(result, c, stream, buffers);
    }
  }

  private static BatchTransfer transfer(
      MultiplyProblem problem, long rows, long cols, long lead, long stride) {
    int width = problem.type().bytes();
    return BatchTransfer.of(
        rows, cols * width, lead * width, problem.batch().count(), stride * width);
  }

  /** Frees cuBLAS's handles and the staging buffers; the device belongs to whoever opened it. */
  @Override
  public void close() {
    plans.close();
    staging.close();
  }

  @Override
  public String toString() {
    return "device multiplier (" + engine + ") on " + device.description();
  }

  /**
   * Copies matrices of one shape between host memory of any kind and device memory, where the
   * matrices have no gaps.
   *
   * @param rows rows of one matrix
   * @param count number of matrices, at least one
   * @param strideBytes from one matrix's first byte to the next one's in host memory
   */
  private record BatchTransfer(RowTransfer rows, long count, long strideBytes) {
    /**
     * Transfer of the matrices of a batch.
     *
     * @param rows rows of one matrix
     * @param rowBytes length of each row
     * @param pitchBytes from one row's first byte to the next one's in host memory
     * @param count number of matrices
     * @param strideBytes from one matrix's first byte to the next one's; 0 if all are the same
     *     matrix
     */
    static BatchTransfer of(
        long rows, long rowBytes, long pitchBytes, long count, long strideBytes) {
      // Matrices that follow each other at the pitch of their rows are one matrix of more rows.
      boolean oneMatrix = strideBytes == 0 || strideBytes == rows * pitchBytes;
      return oneMatrix
          ? new BatchTransfer(
              new RowTransfer(strideBytes == 0 ? rows : count * rows, rowBytes, pitchBytes), 1, 0)
          : new BatchTransfer(new RowTransfer(rows, rowBytes, pitchBytes), count, strideBytes);
    }

    /**
     * Queues the copy of all matrices to the start of {@code to}; parameters as in {@link
     * RowTransfer}.
     */
    void upload(HostMemory in, DeviceBuffer to, CudaStream stream, PinnedBuffer[] buffers) {
      for (long i = 0; i < count && rows.bytes() > 0; i++) {
        rows.upload(matrix(in, i), to, i * rows.bytes(), stream, buffers);
      }
    }

    /** Copies all matrices from the start of {@code from}; the copy is done on return. */
    void download(DeviceBuffer from, HostMemory out, CudaStream stream, PinnedBuffer[] buffers) {
      for (long i = 0; i < count && rows.bytes() > 0; i++) {
        if (out.isOffHeap()) {
          rows.queueDownload(from, i * rows.bytes(), matrix(out, i), stream);
        } else {
          rows.download(from, i * rows.bytes(), matrix(out, i), stream, buffers);
        }
      }
      stream.synchronize();
    }

    /**
     * The range of host memory from the first byte of matrix {@code which} to the end of its last
     * row.
     */
    private HostMemory matrix(HostMemory all, long which) {
      long bytes = (rows.rows() - 1) * rows.pitchBytes() + rows.rowBytes();
      return all.slice(which * strideBytes, bytes);
    }
  }
}

package org.tilespark.spark.multiply.cost;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.multiply.cost.CuboidPlan.Candidate;
import org.tilespark.spark.multiply.cost.CuboidPlan.Cost;
import org.tilespark.spark.multiply.cost.CuboidPlan.Strategy;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.multiply.cost.MultiplyShape.Placed;

/**
 * Chooses how a multiply is spread over tasks: all cuboids (P,Q,R) of up to the useful count of
 * tasks, and a broadcast of either side, are costed; the cheapest that fits the memory of a task
 * wins. A pure function; equal arguments give equal plans.
 *
 * <p>A cuboid plan shuffles {@code |A| + |B| + (R > 1 ? R|C| : 0)} bytes, and reads Q times those
 * of A and P times those of B; and {@code |C|} where R is 1 but M or N are cut into more parts than
 * there are blocks of C along them. The estimated time is the sum of the times of
 *
 * <ul>
 *   <li>both shuffles, what is written at the rate of the cores that write and what is read at that
 *       of those that read, half each;
 *   <li>the copies to and from devices, {@code Q|A| + P|B| + R|C|}, at the rate of the devices in
 *       use; where all tasks share one device that holds both operands, {@code |A| + |B| + R|C|};
 *   <li>the arithmetic, as if every cuboid were as large as the largest, on as many cores or
 *       devices as the tasks keep busy: {@code tasks / ceil(tasks / cores)} on average;
 *   <li>starting tasks, one after the other.
 * </ul>
 */
public final class CuboidPlanner {
  /** Inner extent of the panels that must at least fit beside the tile of C, twice. */
  static final int PANEL_DEPTH = 256;

  private static final int REJECTED = 4;
  private static final int MOST_TASKS = 1 << 22;

  /** No task's memory holds what it would have to: smaller parts, or more memory, help. */
  public static final class NoRoomException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private NoRoomException(String message) {
      super(message);
    }
  }

  /** Cheaper first; among equals fewer tasks, fewer parts of K, of M, of N. */
  private static final Comparator<Candidate> ORDER =
      Comparator.<Candidate>comparingDouble(candidate -> candidate.cost().seconds())
          .thenComparingInt(candidate -> candidate.cost().tasks())
          .thenComparingInt(Candidate::r)
          .thenComparingInt(Candidate::p)
          .thenComparingInt(Candidate::q)
          .thenComparing(Candidate::strategy);

  private final MultiplyShape shape;
  private final ClusterLimits limits;
  private final List<Placed> placed;
  private final double leastArithmetic; // seconds with all cores or devices at work

  private CuboidPlanner(MultiplyShape shape, ClusterLimits limits, List<Placed> placed) {
    this.shape = shape;
    this.limits = limits;
    this.placed = List.copyOf(placed);
    this.leastArithmetic =
        flops() / (rate() * (limits.devices() > 0 ? limits.devices() : limits.cores()));
  }

  /**
   * The cheapest plan that fits.
   *
   * @throws NoRoomException if no task's memory holds any cuboid
   */
  public static CuboidPlan plan(MultiplyShape shape, ClusterLimits limits) {
    return plan(shape, limits, List.of());
  }

  /**
   * As {@link #plan(MultiplyShape, ClusterLimits)}, where operands need perhaps not be shuffled.
   *
   * @param placed partitions where blocks lie already, as far as the planner knows
   */
  public static CuboidPlan plan(MultiplyShape shape, ClusterLimits limits, List<Placed> placed) {
    return new CuboidPlanner(shape, limits, placed).plan();
  }

  /** What the cuboids of {@code where} cost; it may be refused. */
  public static Candidate inPlace(MultiplyShape shape, ClusterLimits limits, Placed where) {
    return new CuboidPlanner(shape, limits, List.of()).inPlace(where);
  }

  /**
   * The plan that a user asks for, with what it costs and what would have been chosen.
   *
   * @param strategy what is asked for; a broadcast may be larger than the limit of broadcasts
   * @param p parts of M for {@link Strategy#CUBOID}
   * @param q parts of N
   * @param r parts of K
   * @throws IllegalArgumentException if there are more parts than elements; a {@link
   *     NoRoomException} if a task's memory does not hold it
   */
  public static CuboidPlan forced(
      MultiplyShape shape, ClusterLimits limits, Strategy strategy, int p, int q, int r) {
    CuboidPlanner planner = new CuboidPlanner(shape, limits, List.of());
    Candidate asked =
        switch (strategy) {
          case CUBOID -> planner.askedCuboid(p, q, r);
          case BROADCAST_LEFT, BROADCAST_RIGHT -> planner.broadcast(strategy, Long.MAX_VALUE);
          case LEFT_IN_PLACE, RIGHT_IN_PLACE, BOTH_IN_PLACE ->
              throw new IllegalArgumentException(strategy + " cannot be asked for");
        };
    if (!asked.isAllowed()) {
      throw new NoRoomException(
          "Strategy " + asked.name() + " was asked for, but " + asked.refusal());
    }
    List<Candidate> others = planner.candidates();
    others.removeIf(other -> other.name().equals(asked.name()));
    return new CuboidPlan(shape, asked, others);
  }

  private CuboidPlan plan() {
    List<Candidate> ranked = candidates();
    if (!ranked.get(0).isAllowed()) {
      throw new NoRoomException(
          "Multiply of "
              + shape.m()
              + " x "
              + shape.k()
              + " x "
              + shape.n()
              + ": no cut fits the memory of a task; "
              + ranked.get(0));
    }
    return new CuboidPlan(shape, ranked.get(0), ranked.subList(1, ranked.size()));
  }

  /** The best of the allowed, ascending, then what was refused. */
  private List<Candidate> candidates() {
    List<Candidate> allowed = new ArrayList<>();
    List<Candidate> refused = new ArrayList<>();
    for (int most = limits.usefulTasks(); allowed.isEmpty() && most <= MOST_TASKS; ) {
      allowed.addAll(bestCuboids(most));
      most = most < MOST_TASKS / 2 ? most * 2 : most == MOST_TASKS ? MOST_TASKS + 1 : MOST_TASKS;
    }
    for (Strategy side : List.of(Strategy.BROADCAST_LEFT, Strategy.BROADCAST_RIGHT)) {
      Candidate candidate = broadcast(side, limits.broadcastBytes());
      (candidate.isAllowed() ? allowed : refused).add(candidate);
    }
    for (Placed where : placed) {
      Candidate candidate = inPlace(where);
      (candidate.isAllowed() ? allowed : refused).add(candidate);
    }
    Candidate whole = cuboid(1, 1, 1);
    if (!whole.isAllowed()) {
      refused.add(whole);
    }
    allowed.sort(ORDER);
    refused.sort(ORDER);
    List<Candidate> ranked = new ArrayList<>();
    boolean broadcast = false;
    for (Candidate candidate : allowed) {
      // However dear, the better broadcast is told, so that a reader sees what it would cost; and
      // what could stay where it is.
      boolean first = candidate.strategy().isBroadcast() && !broadcast;
      if (ranked.size() <= REJECTED || first || candidate.strategy().isInPlace()) {
        ranked.add(candidate);
        broadcast |= first;
      }
    }
    ranked.addAll(refused);
    return ranked;
  }

  /**
   * The cheapest allowed cuboids of up to {@code most} tasks, unsorted. The least that a cuboid can
   * cost grows with each of P, Q and R, so each loop ends where that is more than what is kept.
   */
  private List<Candidate> bestCuboids(int most) {
    List<Candidate> best = new ArrayList<>();
    for (int p = 1; p <= Math.min(shape.m(), most) && !cannotBeat(best, p, 1, 1); p++) {
      int mostQ = (int) Math.min(shape.n(), most / p);
      int q = fewestParts(p, mostQ);
      for (; q <= mostQ && !cannotBeat(best, p, q, 1); q++) {
        int mostR = (int) Math.min(shape.k(), most / (p * q));
        for (int r = 1; r <= mostR && !cannotBeat(best, p, q, r); r++) {
          keepBest(best, p, q, r);
        }
      }
    }
    return best;
  }

  private void keepBest(List<Candidate> best, int p, int q, int r) {
    double seconds = seconds(p, q, r);
    if (best.size() > REJECTED) {
      Candidate worst = best.get(best.size() - 1);
      if (seconds > worst.cost().seconds()) {
        return;
      }
    }
    best.add(cuboid(p, q, r));
    best.sort(ORDER);
    if (best.size() > REJECTED + 1) {
      best.remove(best.size() - 1);
    }
  }

  /**
   * True if a cuboid costs more than all that is kept even if everything is at work all the time.
   */
  private boolean cannotBeat(List<Candidate> best, int p, int q, int r) {
    if (best.size() <= REJECTED) {
      return false;
    }
    ClusterLimits.Rates rates = limits.rates();
    double least =
        (0.5 * operandBytes() + 0.5 * readBytes(p, q) + partialBytes(r, true))
                / (rates.shuffle() * limits.cores())
            + rates.taskStart() * p * q * r
            + leastArithmetic;
    if (limits.devices() > 0) {
      least += ((double) uploadBytes(p, q) + resultBytes(r)) / (rates.pcie() * limits.devices());
    }
    // Rounding may make the least more than the true cost by a hair.
    return least * (1 - 1e-9) > best.get(best.size() - 1).cost().seconds();
  }

  /** The fewest parts of N with which a task's memory suffices; {@code most + 1} if none do. */
  private int fewestParts(int p, int most) {
    int low = 1;
    int high = most + 1;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (fits(p, middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  private Candidate askedCuboid(int p, int q, int r) {
    if (Math.min(Math.min(p, q), r) < 1 || p > shape.m() || q > shape.n() || r > shape.k()) {
      throw new IllegalArgumentException(
          "Strategy cuboid("
              + p
              + ","
              + q
              + ","
              + r
              + ") was asked for; expected 1 to "
              + shape.m()
              + " parts of M, 1 to "
              + shape.n()
              + " of N and 1 to "
              + shape.k()
              + " of K");
    }
    if ((long) p * q > MOST_TASKS || (long) p * q * r > MOST_TASKS) {
      throw new IllegalArgumentException(
          "Strategy cuboid("
              + p
              + ","
              + q
              + ","
              + r
              + ") was asked for; expected at most "
              + MOST_TASKS
              + " cuboids");
    }
    return cuboid(p, q, r);
  }

  private Candidate cuboid(int p, int q, int r) {
    Cost cost =
        new Cost(
            operandBytes(),
            readBytes(p, q),
            partialBytes(r, shape.onGrid(p, q)),
            0,
            limits.devices() == 0 ? 0 : uploadBytes(p, q),
            limits.devices() == 0 ? 0 : Bytes.sum(uploadBytes(p, q), resultBytes(r)),
            flops(),
            p * q * r,
            seconds(p, q, r));
    return new Candidate(Strategy.CUBOID, p, q, r, cost, refusal(p, q).orElse(""));
  }

  private double seconds(int p, int q, int r) {
    return seconds(
        p,
        q,
        r,
        new long[] {operandBytes(), readBytes(p, q)},
        partialBytes(r, shape.onGrid(p, q)),
        new long[] {shape.largestM(p), shape.largestN(q), part(shape.k(), r)});
  }

  /**
   * What cuboids take, the largest of which has the given extents.
   *
   * @param operands bytes that are written, and bytes that are read
   */
  private double seconds(int p, int q, int r, long[] operands, long partials, long[] extents) {
    int tasks = p * q * r;
    double largest = (double) tasks * 2 * extents[0] * extents[1] * extents[2];
    double seconds =
        shuffle(operands[0], operands[1], limits.cores(), busy(tasks)) + arithmetic(largest, tasks);
    if (limits.devices() > 0) {
      seconds += pcie((double) uploadBytes(p, q) + resultBytes(r), tasks);
    }
    if (partials > 0) {
      seconds += shuffle(partials, partials, busy(tasks), busy(p * q));
    }
    return seconds + limits.rates().taskStart() * (tasks + (partials > 0 ? p * q : 0));
  }

  /** Cuboids where blocks are already; what lies there is cut there. */
  private Candidate inPlace(Placed where) {
    int p = where.axis() == Axis.M ? where.parts() : 1;
    int q = where.axis() == Axis.N ? where.parts() : 1;
    int r = where.axis() == Axis.K ? where.parts() : 1;
    long m = where.axis() == Axis.M ? where.largest() : shape.m();
    long n = where.axis() == Axis.N ? where.largest() : shape.n();
    long k = where.axis() == Axis.K ? where.largest() : shape.k();
    long shuffled =
        Bytes.sum(
            where.left() ? 0 : Bytes.product(q, shape.bytesA()),
            where.right() ? 0 : Bytes.product(p, shape.bytesB()));
    long partials = partialBytes(r, where.onGrid());
    Strategy strategy =
        where.left() && where.right()
            ? Strategy.BOTH_IN_PLACE
            : where.left() ? Strategy.LEFT_IN_PLACE : Strategy.RIGHT_IN_PLACE;
    Cost cost =
        new Cost(
            shuffled,
            shuffled,
            partials,
            0,
            limits.devices() == 0 ? 0 : uploadBytes(p, q),
            limits.devices() == 0 ? 0 : Bytes.sum(uploadBytes(p, q), resultBytes(r)),
            flops(),
            where.parts(),
            seconds(p, q, r, new long[] {shuffled, shuffled}, partials, new long[] {m, n, k}));
    return new Candidate(strategy, p, q, r, cost, cuboidRefusal(m, n).orElse(""));
  }

  /**
   * One side goes to all machines, the other stays in its blocks. Unless these make whole blocks of
   * C, what each makes is a partial product; those are shuffled and added. Each block is multiplied
   * by itself, so a device gets the small side once for every block across, unless tasks share it.
   */
  private Candidate broadcast(Strategy strategy, long mostBytes) {
    boolean left = strategy == Strategy.BROADCAST_LEFT;
    String name = left ? "A" : "B";
    long small = left ? shape.bytesA() : shape.bytesB();
    long large = left ? shape.bytesB() : shape.bytesA();
    long blockK = left ? shape.blockKB() : shape.blockKA();
    long blocksAlongK = part(shape.k(), blockK);
    long blocksAcross = left ? part(shape.n(), shape.blockN()) : part(shape.m(), shape.blockM());
    int r = (int) Math.min(blocksAlongK, Integer.MAX_VALUE);
    boolean whole = r == 1 && (left ? shape.wholeB() : shape.wholeA());
    long partials = whole ? 0 : resultBytes(r);
    int tasks = (int) Math.min(limits.usefulTasks(), Bytes.product(blocksAlongK, blocksAcross));
    long sent = Bytes.product(small, limits.machines() + 1L);
    double up = (double) small * (small <= limits.sharedBytes() ? 1 : blocksAcross) + large;
    double pcie = up + resultBytes(r);
    double seconds =
        sent / limits.rates().broadcast()
            + arithmetic(flops(), tasks)
            + limits.rates().taskStart() * tasks;
    if (limits.devices() > 0) {
      seconds += pcie(pcie, tasks);
    }
    if (!whole) {
      seconds +=
          shuffle(partials, partials, busy(tasks), busy(tasks))
              + limits.rates().taskStart() * tasks;
    }
    Cost cost =
        new Cost(
            0,
            0,
            partials,
            sent,
            limits.devices() == 0 ? 0 : (long) up,
            limits.devices() == 0 ? 0 : (long) pcie,
            flops(),
            tasks,
            seconds);
    String refusal = "";
    if (small > mostBytes) {
      refusal =
          name
              + " of "
              + Bytes.text(small)
              + " is larger than the "
              + Bytes.text(mostBytes)
              + " that may be broadcast";
    } else {
      // A block with a tile larger than a task's is multiplied in slices.
      long other = left ? shape.m() : shape.n();
      long outer = left ? Math.min(shape.blockN(), shape.n()) : Math.min(shape.blockM(), shape.m());
      long sliced =
          Math.max(1, Math.min(outer, limits.tileBytes() / Bytes.product(other, width())));
      long panels =
          Bytes.product(2L * width() * Math.min(blockK, PANEL_DEPTH), Bytes.sum(sliced, other));
      refusal = refusal(Bytes.product(sliced, other, width()), panels).orElse("");
    }
    return new Candidate(strategy, 1, 1, r, cost, refusal);
  }

  /** Why a task's memory does not hold a cuboid; its extent along K plays no part. */
  private Optional<String> refusal(int p, int q) {
    return cuboidRefusal(shape.largestM(p), shape.largestN(q));
  }

  private Optional<String> cuboidRefusal(long m, long n) {
    return refusal(Bytes.product(m, n, width()), panelBytes(m, n));
  }

  /** True if there is no {@link #refusal(int, int)}; asked millions of times, so without words. */
  private boolean fits(int p, int q) {
    long m = shape.largestM(p);
    long n = shape.largestN(q);
    long tile = Bytes.product(m, n, width());
    if (tile > limits.tileBytes()) {
      return false;
    }
    long panels = panelBytes(m, n);
    long both = Bytes.sum(tile, panels);
    return limits.devices() > 0
        ? both <= limits.deviceBytes() && panels <= limits.hostBytes()
        : both <= limits.hostBytes();
  }

  private long panelBytes(long m, long n) {
    return Bytes.product(2L * width() * Math.min(shape.k(), PANEL_DEPTH), Bytes.sum(m, n));
  }

  private Optional<String> refusal(long tile, long operands) {
    if (tile > limits.tileBytes()) {
      return Optional.of(
          "its tile of C of "
              + Bytes.text(tile)
              + " is larger than the "
              + Bytes.text(limits.tileBytes())
              + " of a task");
    }
    long both = Bytes.sum(tile, operands);
    if (limits.devices() > 0 && both > limits.deviceBytes()) {
      return Optional.of(
          "a task needs "
              + Bytes.text(both)
              + " of device memory and has "
              + Bytes.text(limits.deviceBytes()));
    }
    long onHost = limits.devices() > 0 ? operands : both;
    if (onHost > limits.hostBytes()) {
      return Optional.of(
          "a task needs "
              + Bytes.text(onHost)
              + " of host memory and has "
              + Bytes.text(limits.hostBytes()));
    }
    return Optional.empty();
  }

  // ---- bytes and times

  /** Bytes of both operands. */
  private long operandBytes() {
    return Bytes.sum(shape.bytesA(), shape.bytesB());
  }

  /** Bytes of the operands that cuboids get, all together. */
  private long readBytes(int p, int q) {
    return Bytes.sum(Bytes.product(q, shape.bytesA()), Bytes.product(p, shape.bytesB()));
  }

  /** Bytes of panels that go up: of each once for every cuboid that has it, or once. */
  private long uploadBytes(int p, int q) {
    long once = operandBytes();
    return once <= limits.sharedBytes() ? once : readBytes(p, q);
  }

  /**
   * Bytes of what is put together by a shuffle: sums of several parts, or blocks of C cut apart.
   */
  private long partialBytes(int r, boolean onGrid) {
    return r > 1 || !onGrid ? resultBytes(r) : 0;
  }

  private long resultBytes(int r) {
    return Bytes.product(r, shape.bytesC());
  }

  private double flops() {
    return 2.0 * shape.m() * shape.k() * shape.n();
  }

  private double shuffle(long written, long read, double writers, double readers) {
    return 0.5 * (written / writers + read / readers) / limits.rates().shuffle();
  }

  private double pcie(double bytes, int tasks) {
    return bytes / (limits.rates().pcie() * Math.min(limits.devices(), busy(tasks)));
  }

  private double arithmetic(double flops, int tasks) {
    double busy = busy(tasks);
    return flops / (rate() * (limits.devices() > 0 ? Math.min(limits.devices(), busy) : busy));
  }

  /** Floating-point operations per second of one device, or of one core where there is none. */
  private double rate() {
    boolean single = shape.type() == ElementType.FLOAT32;
    ClusterLimits.Rates rates = limits.rates();
    return limits.devices() > 0
        ? single ? rates.deviceFloat() : rates.deviceDouble()
        : single ? rates.coreFloat() : rates.coreDouble();
  }

  /** Cores at work on average, while tasks run in waves. */
  private double busy(int tasks) {
    return (double) tasks / part(tasks, limits.cores());
  }

  private int width() {
    return shape.type().bytes();
  }

  /** The larger half of a division. */
  private static long part(long whole, long parts) {
    return whole / parts + (whole % parts == 0 ? 0 : 1);
  }
}

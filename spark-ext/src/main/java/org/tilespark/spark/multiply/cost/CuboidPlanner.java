package org.tilespark.spark.multiply.cost;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.tilespark.spark.multiply.cost.CuboidPlan.Candidate;
import org.tilespark.spark.multiply.cost.CuboidPlan.Strategy;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.multiply.cost.MultiplyShape.InPlaceOperands;

/**
 * Chooses how a multiply is distributed over tasks. A cuboid plan (P,Q,R) cuts M into P, N into Q
 * and K into R parts; each of the P Q R cuboids is a task. The planner computes the cost of all
 * cuboid plans with up to {@link ClusterResources#usefulTasks} tasks, and of a broadcast of either
 * side; the cheapest that fits the memory of a task wins. A pure function; equal arguments give
 * equal plans.
 *
 * <p>A cuboid plan shuffles {@code |A| + |B| + (R > 1 ? R|C| : 0)} bytes, and reads A's bytes Q
 * times and B's bytes P times. If R is 1 but M or N is cut into more parts than C has blocks, it
 * also shuffles {@code |C|}. The estimated time is the sum of the times of
 *
 * <ul>
 *   <li>both shuffles: half for writing, at the rate of the writing cores, and half for reading, at
 *       the rate of the reading cores;
 *   <li>the copies to and from devices, {@code Q|A| + P|B| + R|C|}, at the rate of the devices in
 *       use; if all tasks share one device that holds both operands, {@code |A| + |B| + R|C|};
 *   <li>the arithmetic, as if every cuboid were as large as the largest, on as many cores or
 *       devices as the tasks keep busy: {@code tasks / ceil(tasks / cores)} on average;
 *   <li>starting tasks, one after the other.
 * </ul>
 */
public final class CuboidPlanner {
  private static final int REJECTED = 4;
  private static final int MOST_TASKS = 1 << 22;

  /** Thrown if a task's memory is too small for its parts: smaller parts or more memory help. */
  public static final class NoRoomException extends IllegalArgumentException {
    NoRoomException(String message) {
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
  private final ClusterResources resources;
  private final List<InPlaceOperands> operandsInPlace;
  private final CostModel costs;
  private final TaskMemory memory;

  private CuboidPlanner(
      MultiplyShape shape, ClusterResources resources, List<InPlaceOperands> operandsInPlace) {
    this.shape = shape;
    this.resources = resources;
    this.operandsInPlace = List.copyOf(operandsInPlace);
    this.costs = new CostModel(shape, resources);
    this.memory = new TaskMemory(shape, resources);
  }

  /**
   * The cheapest plan that fits the memory of a task.
   *
   * @throws NoRoomException if no plan fits the memory of a task
   */
  public static CuboidPlan plan(MultiplyShape shape, ClusterResources resources) {
    return plan(shape, resources, List.of());
  }

  /**
   * As {@link #plan(MultiplyShape, ClusterResources)}, with operands that perhaps need no shuffle.
   *
   * @param operandsInPlace existing partitions of blocks, as far as the planner knows
   */
  public static CuboidPlan plan(
      MultiplyShape shape, ClusterResources resources, List<InPlaceOperands> operandsInPlace) {
    return new CuboidPlanner(shape, resources, operandsInPlace).plan();
  }

  /** The candidate for cuboids in the partitions of {@code where}; it may be refused. */
  public static Candidate inPlace(
      MultiplyShape shape, ClusterResources resources, InPlaceOperands where) {
    return new CuboidPlanner(shape, resources, List.of()).inPlace(where);
  }

  /**
   * The plan that a user requests, with its cost and the plan that would have been chosen.
   *
   * @param strategy requested strategy; a broadcast may be larger than the limit of broadcasts
   * @param p parts of M for {@link Strategy#CUBOID}
   * @param q parts of N
   * @param r parts of K
   * @throws IllegalArgumentException if there are more parts than elements, or too many cuboids; a
   *     {@link NoRoomException} if the plan does not fit the memory of a task
   */
  public static CuboidPlan forced(
      MultiplyShape shape, ClusterResources resources, Strategy strategy, int p, int q, int r) {
    CuboidPlanner planner = new CuboidPlanner(shape, resources, List.of());
    Candidate asked =
        switch (strategy) {
          case CUBOID -> planner.askedCuboid(p, q, r);
          case BROADCAST_LEFT, BROADCAST_RIGHT -> planner.broadcast(strategy, Long.MAX_VALUE);
          case LEFT_IN_PLACE, RIGHT_IN_PLACE, BOTH_IN_PLACE ->
              throw new IllegalArgumentException(strategy + " cannot be asked for");
        };
    if (asked.refusal().isPresent()) {
      throw new NoRoomException(
          "Strategy " + asked.name() + " was asked for, but " + asked.refusal().get());
    }
    List<Candidate> others = planner.candidates();
    others.removeIf(other -> other.name().equals(asked.name()));
    return new CuboidPlan(shape, asked, others);
  }

  private CuboidPlan plan() {
    List<Candidate> ranked = candidates();
    if (!ranked.get(0).isAllowed()) {
      throw new NoRoomException(
          "Multiply of %s x %s x %s: no cut fits the memory of a task; %s"
              .formatted(shape.m(), shape.k(), shape.n(), ranked.get(0)));
    }
    return new CuboidPlan(shape, ranked.get(0), ranked.subList(1, ranked.size()));
  }

  /** The best allowed candidates, ascending by cost, then those that cannot run. */
  private List<Candidate> candidates() {
    List<Candidate> allowed = new ArrayList<>();
    List<Candidate> refused = new ArrayList<>();
    for (int most = resources.usefulTasks(); allowed.isEmpty() && most <= MOST_TASKS; ) {
      allowed.addAll(bestCuboids(most));
      most = most < MOST_TASKS / 2 ? most * 2 : most == MOST_TASKS ? MOST_TASKS + 1 : MOST_TASKS;
    }
    for (Strategy side : List.of(Strategy.BROADCAST_LEFT, Strategy.BROADCAST_RIGHT)) {
      Candidate candidate = broadcast(side, resources.broadcastBytes());
      (candidate.isAllowed() ? allowed : refused).add(candidate);
    }
    for (InPlaceOperands where : operandsInPlace) {
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
      // EXPLAIN always lists the better broadcast and every plan in place, however
      // expensive.
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
   * The cheapest allowed cuboids of up to {@code most} tasks, unsorted. The lower bound of the cost
   * grows with P, Q and R, so each loop ends when it exceeds all kept candidates.
   */
  private List<Candidate> bestCuboids(int most) {
    List<Candidate> best = new ArrayList<>();
    for (int p = 1; p <= Math.min(shape.m(), most) && !cannotBeat(best, p, 1, 1); p++) {
      int mostQ = (int) Math.min(shape.n(), most / p);
      int q = fewestParts(p, mostQ);
      for (; q <= mostQ && !cannotBeat(best, p, q, 1); q++) {
        int mostR = (int) Math.min(shape.mostPartsOfK(), most / (p * q));
        for (int r = 1; r <= mostR && !cannotBeat(best, p, q, r); r++) {
          keepBest(best, p, q, r);
        }
      }
    }
    return best;
  }

  private void keepBest(List<Candidate> best, int p, int q, int r) {
    double seconds = costs.seconds(p, q, r);
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

  /** True if even the lower bound of a cuboid's cost exceeds all kept candidates. */
  private boolean cannotBeat(List<Candidate> best, int p, int q, int r) {
    if (best.size() <= REJECTED) {
      return false;
    }
    // By rounding, the lower bound may slightly exceed the true cost.
    return costs.leastSeconds(p, q, r) * (1 - 1e-9) > best.get(best.size() - 1).cost().seconds();
  }

  /** The fewest parts of N with which a task's memory suffices; {@code most + 1} if none do. */
  private int fewestParts(int p, int most) {
    int low = 1;
    int high = most + 1;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (memory.fits(shape.largestM(p), shape.largestN(middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  private Candidate askedCuboid(int p, int q, int r) {
    String asked = "Strategy cuboid(" + p + "," + q + "," + r + ") was asked for; expected ";
    if (Math.min(Math.min(p, q), r) < 1 || p > shape.m() || q > shape.n() || r > shape.k()) {
      throw new IllegalArgumentException(
          "%s1 to %s parts of M, 1 to %s of N and 1 to %s of K"
              .formatted(asked, shape.m(), shape.n(), shape.k()));
    }
    if ((long) p * q > MOST_TASKS || (long) p * q * r > MOST_TASKS) {
      throw new IllegalArgumentException(asked + "at most " + MOST_TASKS + " cuboids");
    }
    return cuboid(p, q, r);
  }

  private Candidate cuboid(int p, int q, int r) {
    return new Candidate(
        Strategy.CUBOID,
        p,
        q,
        r,
        costs.cuboid(p, q, r),
        memory.refusal(shape.largestM(p), shape.largestN(q)));
  }

  private Candidate inPlace(InPlaceOperands where) {
    Strategy strategy =
        where.left() && where.right()
            ? Strategy.BOTH_IN_PLACE
            : where.left() ? Strategy.LEFT_IN_PLACE : Strategy.RIGHT_IN_PLACE;
    return new Candidate(
        strategy,
        where.parts(Axis.M),
        where.parts(Axis.N),
        where.parts(Axis.K),
        costs.inPlace(where),
        memory.refusal(where.largest(Axis.M, shape.m()), where.largest(Axis.N, shape.n())));
  }

  private Candidate broadcast(Strategy strategy, long mostBytes) {
    boolean left = strategy == Strategy.BROADCAST_LEFT;
    return new Candidate(
        strategy,
        1,
        1,
        costs.broadcastParts(left),
        costs.broadcast(left),
        memory.refusalOfBroadcast(left, mostBytes));
  }
}

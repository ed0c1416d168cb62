package org.tilespark.spark.multiply.cost;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.tilespark.spark.multiply.cost.CuboidPlan.Candidate;
import org.tilespark.spark.multiply.cost.CuboidPlan.Strategy;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.multiply.cost.MultiplyShape.InPlaceOperands;

/**
 * Chooses the cuts of a gram, a product of a matrix with its own transpose: rows and columns of C
 * are cut into P parts at the same places, so that P (P + 1) / 2 tiles are computed and the others
 * mirrored; K is cut into R parts. A pure function.
 */
public final class GramPlanner {
  private static final int REJECTED = 4;

  private final MultiplyShape shape;
  private final ClusterResources resources;
  private final Optional<InPlaceOperands> operandsInPlace;

  /**
   * The planner of one gram.
   *
   * @param operandsInPlace partitions of the blocks of A, which is both operands; ignored unless
   *     they differ along K
   */
  public GramPlanner(
      MultiplyShape shape, ClusterResources resources, Optional<InPlaceOperands> operandsInPlace) {
    this.shape = shape;
    this.resources = resources;
    this.operandsInPlace = operandsInPlace.filter(where -> where.axis() == Axis.K);
  }

  /**
   * The plan that a user requests.
   *
   * @throws IllegalArgumentException if there are more parts than elements, or too many cuboids; a
   *     {@link CuboidPlanner.NoRoomException} if the plan does not fit the memory of a task
   */
  public CuboidPlan forced(int p, int r) {
    Candidate asked =
        inPlace().filter(c -> c.p() == p && c.r() == r).orElseGet(() -> candidate(p, r));
    return new CuboidPlan(shape, asked, List.of());
  }

  /**
   * The cheapest plan that fits the memory of a task.
   *
   * @throws CuboidPlanner.NoRoomException if a task's memory is too small however the gram is cut
   */
  public CuboidPlan plan() {
    List<Candidate> candidates = new ArrayList<>();
    IllegalArgumentException refusal = null;
    for (int p = 1;
        p <= shape.m()
            && tiles(p) <= Integer.MAX_VALUE // tasks that Spark can count
            && (tiles(p) <= resources.usefulTasks() || candidates.isEmpty()); ) {
      for (int r = 1;
          r <= shape.mostPartsOfK() && (r == 1 || tiles(p) * r <= resources.usefulTasks());
          r++) {
        try {
          candidates.add(candidate(p, r));
        } catch (IllegalArgumentException e) {
          refusal = e;
        }
      }
      if (tiles(p) > resources.usefulTasks()) {
        // P grows fast, since only memory requires so large a p
        p = (int) Math.max(p + 1, Math.min(2L * p, shape.m()));
      } else {
        p++;
      }
    }
    inPlace().ifPresent(candidates::add);
    if (candidates.isEmpty()) {
      throw refusal;
    }
    candidates.sort(
        Comparator.<Candidate>comparingDouble(c -> c.cost().seconds())
            .thenComparingInt(c -> c.cost().tasks()));
    return new CuboidPlan(
        shape, candidates.get(0), candidates.subList(1, Math.min(candidates.size(), 1 + REJECTED)));
  }

  private Candidate candidate(int p, int r) {
    Candidate full = CuboidPlanner.forced(shape, resources, Strategy.CUBOID, p, p, r).chosen();
    return new Candidate(
        full.strategy(), p, p, r, new CostModel(shape, resources).gram(p, r), full.refusal());
  }

  private Optional<Candidate> inPlace() {
    return operandsInPlace
        .filter(where -> CuboidPlanner.inPlace(shape, resources, where).isAllowed())
        .map(
            where ->
                new Candidate(
                    Strategy.LEFT_IN_PLACE,
                    1,
                    1,
                    where.parts(),
                    new CostModel(shape, resources).gramInPlace(where),
                    Optional.empty()));
  }

  static long tiles(int p) {
    return p * (p + 1L) / 2;
  }
}

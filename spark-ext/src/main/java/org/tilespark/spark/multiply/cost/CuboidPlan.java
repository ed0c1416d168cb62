package org.tilespark.spark.multiply.cost;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import org.tilespark.layout.AxisCuts;
import org.tilespark.spark.block.Bytes;

/**
 * The plan of how a multiply is distributed over tasks, with its predicted cost and rejected
 * alternatives. (P,Q,R) are the counts of parts into which M, N and K are cut.
 *
 * @param shape shape of the product
 * @param chosen the chosen candidate
 * @param rejected the best other candidates, ascending by cost, then those that cannot run
 */
public record CuboidPlan(MultiplyShape shape, Candidate chosen, List<Candidate> rejected) {
  /** Copies the list. */
  public CuboidPlan {
    Objects.requireNonNull(shape, "shape");
    Objects.requireNonNull(chosen, "chosen");
    rejected = List.copyOf(rejected);
  }

  /** The ways in which the operands reach the tasks. */
  public enum Strategy {
    /** A is broadcast to every task; blocks of B stay in place. */
    BROADCAST_LEFT,
    /** B is broadcast to every task; blocks of A stay in place. */
    BROADCAST_RIGHT,
    /** Both operands are cut and shuffled to P x Q x R cuboids. */
    CUBOID,
    /** Cuboids in the partitions of A's blocks: only B is shuffled. */
    LEFT_IN_PLACE,
    /** Cuboids in the partitions of B's blocks: only A is shuffled. */
    RIGHT_IN_PLACE,
    /** Cuboids in the partitions of both operands' blocks: neither operand is shuffled. */
    BOTH_IN_PLACE;

    /** True if one operand goes to every task whole. */
    public boolean isBroadcast() {
      return this == BROADCAST_LEFT || this == BROADCAST_RIGHT;
    }

    /** True if cuboids are in the partitions of an operand's blocks. */
    public boolean isInPlace() {
      return this == LEFT_IN_PLACE || this == RIGHT_IN_PLACE || this == BOTH_IN_PLACE;
    }
  }

  /**
   * One way to run a multiply.
   *
   * @param strategy how the operands reach the tasks
   * @param p parts of M; 1 for a broadcast
   * @param q parts of N; 1 for a broadcast
   * @param r parts of K; for a broadcast, blocks of the large side along K
   * @param cost predicted cost
   * @param refusal reason why it cannot run; empty if it can
   */
  public record Candidate(
      Strategy strategy, int p, int q, int r, Cost cost, Optional<String> refusal) {
    /** True if it can run: there is no refusal. */
    public boolean isAllowed() {
      return refusal.isEmpty();
    }

    /** The text in EXPLAIN and messages: {@code cuboid(4,4,1)}, {@code broadcast(right)}. */
    public String name() {
      return switch (strategy) {
        case BROADCAST_LEFT -> "broadcast(left)";
        case BROADCAST_RIGHT -> "broadcast(right)";
        case CUBOID -> cuboid();
        case LEFT_IN_PLACE -> cuboid() + " with A in place";
        case RIGHT_IN_PLACE -> cuboid() + " with B in place";
        case BOTH_IN_PLACE -> cuboid() + " with A and B in place";
      };
    }

    private String cuboid() {
      return "cuboid(" + p + "," + q + "," + r + ")";
    }

    @Override
    public String toString() {
      return name() + " " + refusal.map(why -> "refused: " + why).orElseGet(cost::toString);
    }
  }

  /**
   * Bytes that a candidate is predicted to move, all tasks together.
   *
   * @param operands bytes of operands that are shuffled: {@code |A| + |B|}, since tasks share the
   *     shuffled parts; if one operand stays in place, {@code P|B|} or {@code Q|A|} of the other
   * @param read bytes of shuffled operands that tasks read: {@code Q|A| + P|B|}, without operands
   *     in place
   * @param partial bytes of partial products that are shuffled: {@code R|C|}; 0 if R is 1 and the
   *     blocks of C are whole in the cuboids; in a reduction, bytes of candidates
   * @param broadcast bytes collected by the driver and sent to the machines
   * @param upload bytes of operands that are uploaded to devices
   * @param pcie all bytes to and from devices
   */
  public record Traffic(
      long operands, long read, long partial, long broadcast, long upload, long pcie) {
    @Override
    public String toString() {
      StringBuilder text = new StringBuilder("shuffle ").append(Bytes.text(operands));
      if (read != operands) {
        text.append(" read as ").append(Bytes.text(read));
      }
      if (partial > 0) {
        text.append(" + ").append(Bytes.text(partial));
      }
      if (broadcast > 0) {
        text.append(", broadcast ").append(Bytes.text(broadcast));
      }
      if (pcie > 0) {
        text.append(", PCIe ").append(Bytes.text(pcie));
        text.append(" with ").append(Bytes.text(upload)).append(" up");
      }
      return text.toString();
    }
  }

  /**
   * Predicted work of a candidate, all tasks together.
   *
   * @param traffic bytes moved
   * @param flops floating-point operations, 2 M K N
   * @param tasks number of tasks that multiply
   * @param seconds estimated time of the whole multiply, by {@link ClusterResources.Rates}
   */
  public record Cost(Traffic traffic, double flops, int tasks, double seconds) {
    @Override
    public String toString() {
      return String.format(
          Locale.ROOT, "%.3g s (%s, %.3g flops, %d tasks)", seconds, traffic, flops, tasks);
    }
  }

  /** The cuts of the axes of all three matrices. */
  public CuboidCuts cuts() {
    return new CuboidCuts(
        shape.cutsM(chosen.p()),
        AxisCuts.even(shape.k(), chosen.strategy().isBroadcast() ? 1 : chosen.r(), shape.blockK()),
        shape.cutsN(chosen.q()));
  }

  /**
   * The cuts of M, K and N.
   *
   * @param m cuts of M into P parts
   * @param k cuts of K into R parts
   * @param n cuts of N into Q parts
   */
  public record CuboidCuts(AxisCuts m, AxisCuts k, AxisCuts n) {}

  /** The text in EXPLAIN: the choice with its cost, and the best rejected candidates. */
  @Override
  public String toString() {
    return chosen
        + rejected.stream()
            .map(Candidate::toString)
            .collect(Collectors.joining("; ", rejected.isEmpty() ? "" : "; rejected: ", ""));
  }
}

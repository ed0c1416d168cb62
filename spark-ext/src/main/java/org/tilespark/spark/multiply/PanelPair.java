package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.arrow.panels.PanelId;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Panels;
import org.tilespark.arrow.panels.PanelMultiplier.Wanted;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.options.Missing;

/**
 * A panel of A and one of B over the same range of K: filled, checked, and their product added to
 * the multiplier's tile.
 */
final class PanelPair {
  private final PanelTask.Job job;
  private final MultiplySpec spec;
  private final PanelMultiplier multiplier;
  private final PanelTask.Listener listener;
  private final PanelSide sideA;
  private final PanelSide sideB;
  private final int bytes; // of an element
  private Tile tile;
  private boolean shared; // one panel serves as both
  private Optional<Stripe> stripeA = Optional.empty(); // so if no other tile has its panels
  private Optional<Stripe> stripeB = Optional.empty();

  /**
   * The panels of one side of a tile, where other tiles of the same stage have the same.
   *
   * @param identity what tells them from other panels of the stage
   * @param uses tiles that have them
   * @param user which of those this tile is
   * @param usedNext true if the others are computed next
   */
  record Stripe(Object identity, int uses, int user, boolean usedNext) {
    PanelId panel(long inner) {
      return new PanelId(identity, inner, uses, user, usedNext);
    }
  }

  /**
   * Panels of one task.
   *
   * @param cuboids whose ranks places are
   */
  PanelPair(
      PanelTask.Job job, Cuboids cuboids, PanelMultiplier multiplier, PanelTask.Listener listener) {
    this.job = job;
    this.spec = job.spec();
    this.multiplier = multiplier;
    this.listener = listener;
    this.sideA = new PanelSide(spec, cuboids, false);
    this.sideB = new PanelSide(spec, cuboids, true);
    this.bytes = spec.type().bytes();
  }

  /**
   * Begins a tile, all zero.
   *
   * @param steps of K that its panels have together
   * @param mostDepth of one panel
   * @param oneSide true if A's panels are B's too
   * @param newStripeA empty if no other tile has A's panels
   * @param newStripeB likewise B's
   */
  void beginTile(
      Tile newTile,
      long steps,
      long mostDepth,
      boolean oneSide,
      Optional<Stripe> newStripeA,
      Optional<Stripe> newStripeB) {
    tile = newTile;
    shared = oneSide;
    stripeA = newStripeA;
    stripeB = newStripeB;
    long depth = Math.min(mostDepth, steps);
    multiplier.begin(new PanelMultiplier.Tile(whole(depth), oneSide, additions(steps, depth)));
  }

  /** Products that are added to one element: one a panel, or one for each pair of blocks there. */
  private long additions(long steps, long depth) {
    if (steps == 0) {
      return 0;
    }
    long panels = (steps - 1) / depth + 1;
    if (spec.result().missing() == Missing.ERROR) {
      return panels;
    }
    long pairs =
        (depth - 1) / Math.max(1, spec.a().inner())
            + (depth - 1) / Math.max(1, spec.b().inner())
            + 1;
    return pairs >= steps / panels ? steps : panels * pairs;
  }

  /** Begins the panels of {@code depth} steps along K from {@code inner} on. */
  void begin(long inner, long depth) {
    MultiplyProblem whole = whole(depth);
    Panels panels =
        multiplier.panels(
            wanted(whole.bytesA(), stripeA, inner),
            shared ? Optional.empty() : Optional.of(wanted(whole.bytesB(), stripeB, inner)));
    sideA.begin(tile.row(), tile.rows(), inner, depth, panels.a());
    sideB.begin(tile.col(), tile.cols(), inner, depth, panels.b());
  }

  private Wanted wanted(long panelBytes, Optional<Stripe> stripe, long inner) {
    return new Wanted(panelBytes, stripe.map(named -> named.panel(inner)));
  }

  /** The panel of B if {@code right} is true, else of A. */
  PanelSide side(boolean right) {
    return right ? sideB : sideA;
  }

  /**
   * Adds the product of the panels to the tile.
   *
   * @param group the tile's grouping columns, for messages
   * @throws IllegalArgumentException if an element is missing, unless that is a zero
   */
  void multiply(UnsafeRow group) {
    boolean fullA = sideA.isFull();
    boolean fullB = shared ? fullA : sideB.isFull();
    List<PanelProduct> products = new ArrayList<>();
    if (fullA && fullB) {
      products.add(product(0, tile.rows(), 0, sideA.depth(), 0, tile.cols()));
    } else if (spec.result().missing() == Missing.ERROR) {
      throw (fullA ? sideB : sideA).hole(job.groupText(group));
    } else {
      // Zeros that stand for a missing block must not meet infinities: only what is there is
      // multiplied, pair by pair.
      for (PanelSide.Part a : sideA.parts()) {
        for (PanelSide.Part b : (shared ? sideA : sideB).parts()) {
          long from = Math.max(a.inner(), b.inner());
          long to = Math.min(a.innerEnd(), b.innerEnd());
          if (from < to) {
            products.add(
                product(a.outer(), a.outerExtent(), from, to - from, b.outer(), b.outerExtent()));
          }
        }
      }
    }
    double flops = 0;
    for (PanelProduct product : products) {
      MultiplyProblem problem = product.problem();
      flops += 2.0 * problem.m() * problem.k() * problem.n();
    }
    multiplier.multiply(products);
    listener.panel(flops);
  }

  private PanelProduct product(long m0, long m, long k0, long k, long n0, long n) {
    PanelSide right = shared ? sideA : sideB;
    return new PanelProduct(
        problem(m, k, n, sideA.lead(), right.lead()),
        sideA.start(m0, k0),
        right.start(n0, k0),
        (m0 * tile.cols() + n0) * bytes);
  }

  /** The product of whole panels of {@code depth} steps along K. */
  private MultiplyProblem whole(long depth) {
    return problem(
        tile.rows(),
        depth,
        tile.cols(),
        sideA.lead(tile.rows(), depth),
        sideB.lead(tile.cols(), depth));
  }

  private MultiplyProblem problem(long m, long k, long n, long leadA, long leadB) {
    return new MultiplyProblem(
        new Extents(m, k, n),
        spec.type(),
        spec.result().precision(),
        new Stored(spec.transposeA(), leadA),
        new Stored(spec.transposeB(), leadB),
        tile.cols(),
        Factors.ADD,
        Batch.ONE);
  }
}

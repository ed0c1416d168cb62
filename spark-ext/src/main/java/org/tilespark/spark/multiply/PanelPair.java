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
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.options.Missing;

/**
 * A panel of A and one of B over the same range of K: filled, checked, and their product added to
 * the multiplier's tile. Panels that hold all of K may hold several consecutive matrices, which are
 * multiplied at once.
 *
 * <p>For each pair of panels call {@link #begin}; then, for as many matrices as there is room for,
 * add the pieces and call {@link #endMatrix}; then {@link #multiply}.
 */
final class PanelPair {
  private final PanelTask.Job job;
  private final MultiplySpec spec;
  private final PanelMultiplier multiplier;
  private final PanelTask.Listener listener;
  private final PanelSide sideA;
  private final PanelSide sideB;
  private final int bytes; // of an element
  private final List<PanelProduct> products = new ArrayList<>();
  private Tile tile;
  private boolean shared; // true if A's panel is also B's
  private Optional<Stripe> stripeA = Optional.empty(); // empty if no other tile uses A's panels
  private Optional<Stripe> stripeB = Optional.empty();
  private long steps; // extent along K of all panels of the tile
  private long mostDepth;
  private long room; // number of matrices that the panels can hold
  private Panels panels;
  private long inner;
  private long depth;
  private long matrix; // number of the matrix whose pieces are added now
  private long run; // count of full matrices right before that one, multiplied as one batch
  private double flops;

  /**
   * The panels of one side of a tile, if other tiles of the same stage use the same panels.
   *
   * @param identity key that distinguishes them from other panels of the stage
   * @param uses number of tiles that use them
   * @param user number of this tile among the tiles that use them
   * @param usedNext true if the other tiles are computed right after this one
   */
  record Stripe(Object identity, int uses, int user, boolean usedNext) {
    PanelId panel(long inner) {
      return new PanelId(identity, inner, uses, user, usedNext);
    }
  }

  /**
   * Panels of one task.
   *
   * @param cuboids cuboids of the product; their ranks are the places of tiles and panels
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
   * Begins a tile of zeros, or the tiles of several matrices at the same place.
   *
   * @param allSteps extent along K of all panels of the tile together
   * @param depthOfPanels largest extent of a panel along K
   * @param oneSide true if A's panels are also B's
   * @param newStripeA the stripe of A's panels; empty if no other tile uses them
   * @param newStripeB the stripe of B's panels; empty if no other tile uses them
   * @param matrices most matrices that the panels hold at once; ignored unless one pair of panels
   *     holds all of K
   */
  void beginTile(
      Tile newTile,
      long allSteps,
      long depthOfPanels,
      boolean oneSide,
      Optional<Stripe> newStripeA,
      Optional<Stripe> newStripeB,
      long matrices) {
    tile = newTile;
    shared = oneSide;
    stripeA = newStripeA;
    stripeB = newStripeB;
    steps = allSteps;
    mostDepth = depthOfPanels;
    boolean several = steps > 0 && steps <= mostDepth && stripeA.isEmpty() && stripeB.isEmpty();
    room = several ? Math.max(1, Math.min(matrices, multiplier.batchBytes() / bytesOfOne())) : 1;
    multiplier.begin(tiles(room));
  }

  /** The tiles of {@code matrices} consecutive matrices. */
  private PanelMultiplier.Tile tiles(long matrices) {
    long most = Math.min(mostDepth, steps);
    return new PanelMultiplier.Tile(batch(whole(most), matrices), shared, additions(most));
  }

  /** Bytes of one more matrix: its parts of both panels, and its tile. */
  private long bytesOfOne() {
    MultiplyProblem one = whole(steps);
    long ofA = spec.a().common() ? 0 : one.bytesA();
    long ofB = shared || spec.b().common() ? 0 : one.bytesB();
    return Math.max(1, ofA + ofB + one.bytesC());
  }

  /**
   * Most products that are added to one element of the tile: one per panel, or one for each pair of
   * blocks in a panel.
   */
  private long additions(long most) {
    if (steps == 0) {
      return 0;
    }
    long count = (steps - 1) / most + 1;
    if (spec.result().missing() == Missing.ERROR) {
      return count;
    }
    long pairs =
        (most - 1) / Math.max(1, spec.a().inner()) + (most - 1) / Math.max(1, spec.b().inner()) + 1;
    return pairs >= steps / count ? steps : count * pairs;
  }

  /**
   * Begins the panels of {@code newDepth} steps along K from {@code newInner} on, with the first
   * matrix.
   */
  void begin(long newInner, long newDepth) {
    inner = newInner;
    depth = newDepth;
    MultiplyProblem all = batch(whole(depth), room);
    panels =
        multiplier.panels(
            wanted(all.bytesA(), stripeA),
            shared ? Optional.empty() : Optional.of(wanted(all.bytesB(), stripeB)));
    products.clear();
    flops = 0;
    run = 0;
    matrix = 0;
    beginMatrix();
  }

  private void beginMatrix() {
    if (isWanted(false)) {
      sideA.begin(tile.row(), tile.rows(), inner, depth, panels.a(), matrix * strideA());
    }
    if (isWanted(true)) {
      sideB.begin(tile.col(), tile.cols(), inner, depth, panels.b(), matrix * strideB());
    }
  }

  /**
   * True if pieces of a side are expected for the current matrix; those of a common matrix come
   * with the first one.
   */
  boolean isWanted(boolean right) {
    return matrix == 0 || !spec.side(right).common();
  }

  private Wanted wanted(long panelBytes, Optional<Stripe> stripe) {
    return new Wanted(panelBytes, stripe.map(named -> named.panel(inner)));
  }

  /** The panel of B if {@code right} is true, else of A. */
  PanelSide side(boolean right) {
    return right ? sideB : sideA;
  }

  /**
   * Ends the current matrix, and begins the next one if there is room.
   *
   * @param group the matrix's grouping columns, for messages
   * @throws IllegalArgumentException if an element is missing and missing elements are errors
   */
  void endMatrix(UnsafeRow group) {
    boolean fullA = sideA.isFull();
    boolean fullB = shared ? fullA : sideB.isFull();
    if (fullA && fullB) {
      run++;
      flops += 2.0 * tile.rows() * depth * tile.cols();
    } else if (spec.result().missing() == Missing.ERROR) {
      throw side(fullA).hole(job.ofSide(fullA).groupText(group));
    } else {
      endRun();
      addPairs();
    }
    matrix++;
    if (hasRoom()) {
      beginMatrix();
    }
  }

  /** True if the panels have room for a further matrix after those that have ended. */
  boolean hasRoom() {
    return matrix < room;
  }

  /** Adds the products of the matrices that have ended to their tiles. */
  void multiply() {
    endRun();
    if (hasRoom()) {
      multiplier.shorten(tiles(matrix));
    }
    multiplier.multiply(products);
    listener.panel(flops);
  }

  /** Bytes from the tile of one matrix to that of the next. */
  long tileBytes() {
    return tile.rows() * tile.cols() * bytes;
  }

  private void endRun() {
    if (run > 0) {
      long first = matrix - run;
      products.add(
          new PanelProduct(
              batch(whole(depth), run), first * strideA(), first * strideB(), first * tileBytes()));
      run = 0;
    }
  }

  /**
   * Multiplies only existing pieces, pair by pair, since the zeros of missing blocks must not be
   * multiplied with infinities.
   */
  private void addPairs() {
    for (PanelSide.Part a : sideA.parts()) {
      for (PanelSide.Part b : (shared ? sideA : sideB).parts()) {
        long from = Math.max(a.inner(), b.inner());
        long to = Math.min(a.innerEnd(), b.innerEnd());
        if (from < to) {
          products.add(
              product(a.outer(), a.outerExtent(), from, to - from, b.outer(), b.outerExtent()));
          flops += 2.0 * a.outerExtent() * (to - from) * b.outerExtent();
        }
      }
    }
  }

  private PanelProduct product(long m0, long m, long k0, long k, long n0, long n) {
    PanelSide right = shared ? sideA : sideB;
    return new PanelProduct(
        problem(m, k, n, sideA.lead(), right.lead()),
        sideA.start(m0, k0),
        right.start(n0, k0),
        matrix * tileBytes() + (m0 * tile.cols() + n0) * bytes);
  }

  /** The product of one matrix's panels, {@code k} steps along K deep. */
  private MultiplyProblem whole(long k) {
    return problem(
        tile.rows(), k, tile.cols(), sideA.lead(tile.rows(), k), sideB.lead(tile.cols(), k));
  }

  /** One problem for several matrices of the same shape. */
  private MultiplyProblem batch(MultiplyProblem one, long matrices) {
    if (matrices == 1) {
      return one;
    }
    return isStack()
        ? problem(matrices * one.m(), one.k(), one.n(), one.a().lead(), one.b().lead())
        : one.withBatch(
            new Batch(matrices, strideA() / bytes, strideB() / bytes, tile.rows() * tile.cols()));
  }

  /**
   * True if all matrices of A can be stacked into one, since all are multiplied with the same B.
   */
  private boolean isStack() {
    return spec.b().common() && !spec.innerIsRow(false);
  }

  /** Bytes from one matrix of A to the next in A's panel. */
  private long strideA() {
    long one = sideA.bytes(tile.rows(), steps);
    return spec.a().common() ? 0 : isStack() ? one : Ceil.to(one, PanelSide.ROW_ALIGNMENT);
  }

  private long strideB() {
    if (shared) {
      return strideA();
    }
    return spec.b().common()
        ? 0
        : Ceil.to(sideB.bytes(tile.cols(), steps), PanelSide.ROW_ALIGNMENT);
  }

  private MultiplyProblem problem(long m, long k, long n, long leadA, long leadB) {
    return new MultiplyProblem(
        new Extents(m, k, n),
        spec.type(),
        spec.result().precision(),
        new Stored(spec.transposeA(), leadA),
        new Stored(spec.transposeB(), leadB),
        tile.cols(),
        isOneProduct() ? Factors.OVERWRITE : Factors.ADD,
        Batch.ONE);
  }

  /** True if a single product computes each element of the tile. */
  private boolean isOneProduct() {
    return steps > 0 && steps <= mostDepth && spec.result().missing() == Missing.ERROR;
  }
}

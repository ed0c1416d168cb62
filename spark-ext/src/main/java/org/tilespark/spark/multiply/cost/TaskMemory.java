package org.tilespark.spark.multiply.cost;

import java.util.Optional;
import org.tilespark.spark.block.Bytes;

/** Checks that a task's memory holds a plan, and gives the reason if not. */
final class TaskMemory {
  /**
   * Extent along K of the smallest panels (parts of A and B that are multiplied at a time); two of
   * each operand must fit in addition to the tile of C.
   */
  static final int PANEL_DEPTH = 256;

  private final MultiplyShape shape;
  private final ClusterResources resources;

  TaskMemory(MultiplyShape shape, ClusterResources resources) {
    this.shape = shape;
    this.resources = resources;
  }

  /**
   * The reason why a task's memory does not hold a cuboid with a tile of m x n; empty if it does.
   * The cuboid's extent along K plays no part.
   */
  Optional<String> refusal(long m, long n) {
    if (shape.reduced().isPresent()) {
      return tooManyVectors(m, n);
    }
    return refusalOf(Bytes.product(m, n, width()), panelBytes(m, n));
  }

  /**
   * True if there is no {@link #refusal}; a separate method without text, since it is called
   * millions of times.
   */
  boolean fits(long m, long n) {
    if (shape.reduced().isPresent()) {
      return vectorBytes(m, n) <= resources.hostBytes();
    }
    long tile = Bytes.product(m, n, width());
    if (tile > resources.tileBytes()) {
      return false;
    }
    long panels = panelBytes(m, n);
    long both = Bytes.sum(tile, panels);
    return resources.cluster().devices() > 0
        ? both <= resources.deviceBytes() && panels <= resources.hostBytes()
        : both <= resources.hostBytes();
  }

  /**
   * The reason why an operand cannot be broadcast; empty if it can.
   *
   * @param left true for A, false for B
   * @param most most bytes that may be broadcast
   */
  Optional<String> refusalOfBroadcast(boolean left, long most) {
    long small = (left ? shape.a() : shape.b()).bytes();
    if (small > most) {
      return Optional.of(
          "%s of %s is larger than the %s that may be broadcast"
              .formatted(left ? "A" : "B", Bytes.text(small), Bytes.text(most)));
    }
    // A block whose tile would be too large is multiplied in slices.
    MultiplyShape.Operand large = left ? shape.b() : shape.a();
    long other = left ? shape.m() : shape.n();
    long outer = Math.min(large.outer(), left ? shape.n() : shape.m());
    if (shape.reduced().isPresent()) {
      return refusalOfReduced(
              left, large, Bytes.product(other, shape.reduced().get().candidateBytes()), most)
          .or(() -> tooManyVectors(other, outer));
    }
    long sliced =
        Math.max(1, Math.min(outer, resources.tileBytes() / Bytes.product(other, width())));
    long panels =
        Bytes.product(
            2L * width() * Math.min(large.inner(), PANEL_DEPTH), Bytes.sum(sliced, other));
    return refusalOf(Bytes.product(sliced, other, width()), panels);
  }

  private Optional<String> tooManyVectors(long m, long n) {
    return Optional.of(vectorBytes(m, n))
        .filter(vectors -> vectors > resources.hostBytes())
        .map(vectors -> needs(vectors, "host", resources.hostBytes()));
  }

  /**
   * The reason why products with blocks of {@code large}, which stay in place, cannot be reduced;
   * empty if they can.
   */
  private static Optional<String> refusalOfReduced(
      boolean left, MultiplyShape.Operand large, long candidates, long most) {
    if (!large.whole()) {
      return Optional.of(
          "nothing states that blocks of %s hold whole vectors, or their places cannot be read alone"
              .formatted(left ? "B" : "A"));
    }
    return left && candidates > most
        ? Optional.of(
            "candidates of %s are more than the %s that a task may keep"
                .formatted(Bytes.text(candidates), Bytes.text(most)))
        : Optional.empty();
  }

  private Optional<String> refusalOf(long tile, long operands) {
    if (tile > resources.tileBytes()) {
      return Optional.of(
          "its tile of C of %s is larger than the %s of a task"
              .formatted(Bytes.text(tile), Bytes.text(resources.tileBytes())));
    }
    boolean onDevice = resources.cluster().devices() > 0;
    long both = Bytes.sum(tile, operands);
    if (onDevice && both > resources.deviceBytes()) {
      return Optional.of(needs(both, "device", resources.deviceBytes()));
    }
    return Optional.of(onDevice ? operands : both)
        .filter(onHost -> onHost > resources.hostBytes())
        .map(onHost -> needs(onHost, "host", resources.hostBytes()));
  }

  private static String needs(long bytes, String where, long has) {
    return "a task needs %s of %s memory and has %s"
        .formatted(Bytes.text(bytes), where, Bytes.text(has));
  }

  /** Bytes of a task's parts of both operands, whole along K. */
  private long vectorBytes(long m, long n) {
    return Bytes.product(Bytes.sum(m, n), shape.k(), width());
  }

  private long panelBytes(long m, long n) {
    return Bytes.product(2L * width() * Math.min(shape.k(), PANEL_DEPTH), Bytes.sum(m, n));
  }

  private int width() {
    return shape.type().bytes();
  }
}

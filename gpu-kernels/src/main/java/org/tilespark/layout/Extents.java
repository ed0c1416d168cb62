package org.tilespark.layout;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Optional;

/**
 * The extents of a whole array, which may be unknown before it is read: all are known or none.
 * Immutable.
 */
public final class Extents implements Serializable {
  private static final long serialVersionUID = 1;

  private final Shape shape; // all extents are 1 if unknown
  private final boolean isKnown;

  private Extents(Shape shape, boolean isKnown) {
    this.shape = shape;
    this.isKnown = isKnown;
  }

  /** The extents of an array of a shape. */
  public static Extents of(Shape shape) {
    return new Extents(shape, true);
  }

  /** The unknown extents of an array with {@code rank} axes. */
  public static Extents unknown(int rank) {
    long[] ones = new long[rank];
    Arrays.fill(ones, 1);
    return new Extents(Shape.of(ones), false);
  }

  /** The extents of a shape, if there is one, otherwise {@code rank} unknown extents. */
  public static Extents of(Optional<Shape> shape, int rank) {
    return shape.map(Extents::of).orElseGet(() -> unknown(rank));
  }

  /** The number of axes. */
  public int rank() {
    return shape.rank();
  }

  /** The shape, if it is known. */
  public Optional<Shape> known() {
    return isKnown ? Optional.of(shape) : Optional.empty();
  }

  /**
   * The shape.
   *
   * @throws IllegalStateException if it is not known
   */
  public Shape require() {
    if (!isKnown) {
      throw new IllegalStateException("The extents of the array are not known");
    }
    return shape;
  }

  /** The shape; if it is not known, a shape whose extents are all 1. */
  public Shape orOnes() {
    return shape;
  }

  /** The extents of {@code other} if this object's are known, otherwise as many unknown extents. */
  public Extents with(Shape other) {
    return isKnown ? of(other) : unknown(other.rank());
  }

  /** True unless the extents of both are known and differ. */
  public boolean mayBe(Extents other) {
    return rank() == other.rank() && (!isKnown || !other.isKnown || shape.equals(other.shape));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Extents that && isKnown == that.isKnown && shape.equals(that.shape);
  }

  @Override
  public int hashCode() {
    return shape.hashCode() + (isKnown ? 1 : 0);
  }

  /** The text in EXPLAIN: {@code "(9, 11, 5)"}, or {@code "of 3 axes"}. */
  @Override
  public String toString() {
    return isKnown ? shape.toString() : "of " + rank() + " axes";
  }
}

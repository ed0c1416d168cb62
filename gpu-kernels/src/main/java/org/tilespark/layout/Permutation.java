package org.tilespark.layout;

import java.util.Arrays;
import java.util.Locale;

/**
 * A reordering of axes, in numpy's convention: output axis {@code i} is input axis {@code perm[i]}.
 *
 * <p>Worked case, to which other Javadoc refers: the shape {@code (2, 3, 5)} under {@code [2, 0,
 * 1]} becomes {@code (5, 2, 3)}, and {@code out[k][i][j] = in[i][j][k]}. In letters that is {@code
 * "zxy"}; {@code "yzx"} is {@code [1, 2, 0]}, the reorder of a 3-D FFT. Immutable.
 */
public final class Permutation implements java.io.Serializable {
  private static final String LETTERS = "xyz";

  private final int[] axes;

  private Permutation(int[] axes) {
    boolean[] seen = new boolean[axes.length];
    for (int axis : axes) {
      if (axis < 0 || axis >= axes.length) {
        throw new IllegalArgumentException(
            "Permutation %s names axis %s; expected each of 0..%s once"
                .formatted(Arrays.toString(axes), axis, axes.length - 1));
      }
      if (seen[axis]) {
        throw new IllegalArgumentException(
            "Permutation %s repeats axis %s; expected each of 0..%s once"
                .formatted(Arrays.toString(axes), axis, axes.length - 1));
      }
      seen[axis] = true;
    }
    this.axes = axes;
  }

  /**
   * The permutation with output axis {@code i} taken from input axis {@code axes[i]}.
   *
   * @throws IllegalArgumentException if an axis is missing, repeated or out of range
   */
  public static Permutation of(int... axes) {
    return new Permutation(axes.clone());
  }

  /** The permutation of {@code rank} axes that changes nothing. */
  public static Permutation identity(int rank) {
    int[] axes = new int[rank];
    Arrays.setAll(axes, i -> i);
    return new Permutation(axes);
  }

  /**
   * The permutation of three axes spelled by their letters, such as {@code "yzx"}; case is ignored.
   *
   * @throws IllegalArgumentException if the text is not a permutation of x, y and z
   */
  public static Permutation parse(String letters) {
    String text = letters.trim().toLowerCase(Locale.ROOT);
    int[] axes = text.chars().map(LETTERS::indexOf).toArray();
    boolean valid = axes.length == 3 && Arrays.stream(axes).distinct().count() == 3;
    if (!valid || Arrays.stream(axes).anyMatch(axis -> axis < 0)) {
      throw new IllegalArgumentException(
          ("Axes '%s' are no order of x, y and z; expected one of xyz, xzy, yxz, yzx,"
                  + " zxy, zyx")
              .formatted(letters));
    }
    return new Permutation(axes);
  }

  /** The number of axes. */
  public int rank() {
    return axes.length;
  }

  /** The input axis that becomes output axis {@code outputAxis}. */
  public int axis(int outputAxis) {
    return axes[outputAxis];
  }

  /** The input axis of each output axis; a copy. */
  public int[] toArray() {
    return axes.clone();
  }

  /** True if no axis moves. */
  public boolean isIdentity() {
    for (int i = 0; i < axes.length; i++) {
      if (axes[i] != i) {
        return false;
      }
    }
    return true;
  }

  /** The permutation that undoes this one. */
  public Permutation inverse() {
    int[] inverse = new int[axes.length];
    for (int i = 0; i < axes.length; i++) {
      inverse[axes[i]] = i;
    }
    return new Permutation(inverse);
  }

  /**
   * The permutation with the effect of this one followed by {@code next}: its output axis {@code i}
   * is input axis {@code axis(next.axis(i))} of this permutation.
   *
   * @throws IllegalArgumentException if the ranks differ
   */
  public Permutation then(Permutation next) {
    requireRank(next.rank());
    int[] composed = new int[axes.length];
    for (int i = 0; i < axes.length; i++) {
      composed[i] = axes[next.axes[i]];
    }
    return new Permutation(composed);
  }

  /**
   * The output shape for the given input shape.
   *
   * @throws IllegalArgumentException if the ranks differ
   */
  public Shape apply(Shape shape) {
    return Shape.of(apply(shape.toArray()));
  }

  /**
   * Per-axis numbers (extents, offsets, block shapes) reordered from input axes to output axes.
   *
   * @throws IllegalArgumentException if the ranks differ
   */
  public long[] apply(long[] perAxis) {
    requireRank(perAxis.length);
    long[] out = new long[axes.length];
    for (int i = 0; i < axes.length; i++) {
      out[i] = perAxis[axes[i]];
    }
    return out;
  }

  /**
   * The letters of a permutation of at most three axes, such as {@code "yzx"}.
   *
   * @throws IllegalStateException if there are more than three axes
   */
  public String letters() {
    if (axes.length > LETTERS.length()) {
      throw new IllegalStateException("Letters name at most three axes, this is " + this);
    }
    StringBuilder text = new StringBuilder();
    for (int axis : axes) {
      text.append(LETTERS.charAt(axis));
    }
    return text.toString();
  }

  private void requireRank(int rank) {
    if (rank != axes.length) {
      throw new IllegalArgumentException(
          "Permutation " + this + " has " + axes.length + " axes, found " + rank);
    }
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof Permutation other && Arrays.equals(axes, other.axes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(axes);
  }

  @Override
  public String toString() {
    return Arrays.toString(axes);
  }
}

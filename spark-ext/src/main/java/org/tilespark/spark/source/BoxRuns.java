package org.tilespark.spark.source;

/**
 * The contiguous runs of a box in a dense row-major array: inner axes that the box spans completely
 * are fused, so that runs are as long as possible. Places are in elements. Immutable.
 */
public final class BoxRuns {
  private final long[] strides; // strides in elements of the axes outside a run
  private final long[] size;
  private final int outer; // number of axes outside a run
  private final long first;
  private final long elements;
  private final long count;

  /**
   * The runs of a box inside the array.
   *
   * @param extents extents of the array
   * @param offset offset of the box
   * @param size extents of the box, none of them 0
   */
  public BoxRuns(long[] extents, long[] offset, long[] size) {
    int rank = extents.length;
    int split = rank - 1;
    while (split > 0 && size[split] == extents[split]) {
      split--;
    }
    long run = 1;
    for (int axis = split; axis < rank; axis++) {
      run *= size[axis];
    }
    long[] stride = new long[rank];
    long start = 0;
    long runs = 1;
    long next = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
      stride[axis] = next;
      next *= extents[axis];
      start += offset[axis] * stride[axis];
      runs *= axis < split ? size[axis] : 1;
    }
    this.strides = stride;
    this.size = size.clone();
    this.outer = split;
    this.first = start;
    this.elements = run;
    this.count = runs;
  }

  /** Count of runs. */
  public long count() {
    return count;
  }

  /** Elements of each run. */
  public long elements() {
    return elements;
  }

  /** The start of run {@code index} in the array; runs are in the box's row-major order. */
  public long start(long index) {
    long start = first;
    long rest = index;
    for (int axis = outer - 1; axis >= 0; axis--) {
      start += rest % size[axis] * strides[axis];
      rest /= size[axis];
    }
    return start;
  }
}

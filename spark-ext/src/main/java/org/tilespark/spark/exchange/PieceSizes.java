package org.tilespark.spark.exchange;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.AxisImages;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.Images;
import org.tilespark.spark.block.Bytes;

/**
 * Predicts the number and sizes of pieces when one tiling is cut along another, without reading
 * blocks.
 */
public final class PieceSizes {
  /**
   * Most cells of both tilings together, along an axis, for which pieces are examined one by one.
   */
  private static final long MOST_PARTS = 1 << 20;

  /** Most different sizes of pieces that are examined one by one. */
  private static final long MOST_KINDS = 1 << 20;

  private final Cuts source;
  private final Cuts target;
  private final Optional<Images> images;

  /**
   * The pieces of every cell of {@code source} in every cell of {@code target}; the axes of both
   * have ends.
   */
  public PieceSizes(Cuts source, Cuts target) {
    this(source, target, Optional.empty());
  }

  /**
   * The pieces of the images of every cell of {@code source} in every cell of {@code target}.
   *
   * @param images images that map the array of {@code source} to that of {@code target}; empty if
   *     it is the same array
   */
  public PieceSizes(Cuts source, Cuts target, Optional<Images> images) {
    this.source = source;
    this.target = target;
    this.images = images;
  }

  /** The total number of pieces. */
  public long count() {
    long count = 1;
    for (int axis = 0; axis < source.rank(); axis++) {
      count =
          Bytes.product(count, lengths(axis).values().stream().mapToLong(Long::longValue).sum());
    }
    return count;
  }

  /**
   * The sum of a measure over all pieces. If there are very many different sizes, all pieces count
   * as having the mean size.
   *
   * @param measure gives the measure of a piece from its count of elements
   */
  public long sum(LongUnaryOperator measure) {
    int rank = source.rank();
    long[][] lengths = new long[rank][];
    long[][] counts = new long[rank][];
    double kinds = 1;
    for (int axis = 0; axis < rank; axis++) {
      Map<Long, Long> along = lengths(axis);
      lengths[axis] = along.keySet().stream().mapToLong(Long::longValue).toArray();
      counts[axis] = along.values().stream().mapToLong(Long::longValue).toArray();
      kinds *= lengths[axis].length;
    }
    if (kinds > MOST_KINDS) {
      double elements = 1;
      for (int axis = 0; axis < rank; axis++) {
        elements *= target.axis(axis).extent();
      }
      long count = count();
      return (long) ((double) count * measure.applyAsLong((long) (elements / count)));
    }
    return sum(measure, lengths, counts, 0, 1, 1);
  }

  private static long sum(
      LongUnaryOperator measure,
      long[][] lengths,
      long[][] counts,
      int axis,
      long elements,
      long times) {
    if (axis == lengths.length) {
      return Bytes.product(times, measure.applyAsLong(elements));
    }
    long sum = 0;
    for (int i = 0; i < lengths[axis].length; i++) {
      sum =
          Bytes.sum(
              sum,
              sum(
                  measure,
                  lengths,
                  counts,
                  axis + 1,
                  Bytes.product(elements, lengths[axis][i]),
                  Bytes.product(times, counts[axis][i])));
    }
    return sum;
  }

  /** The number of pieces of each length along one axis. */
  private Map<Long, Long> lengths(int axis) {
    AxisCuts from = source.axis(axis);
    AxisCuts to = target.axis(axis);
    Map<Long, Long> lengths = new TreeMap<>();
    long extent = to.extent();
    if (from.parts() + to.parts() > MOST_PARTS) {
      long pieces = Math.max(1, Math.min(extent, from.parts() + to.parts() - 1));
      lengths.put(Math.max(1, extent / pieces), pieces);
      return lengths;
    }
    if (images.isPresent()) {
      for (long part = 0; part < from.parts(); part++) {
        for (AxisImages.Image image :
            images.get().axes().get(axis).of(from.low(part), from.high(part))) {
          lengths.merge(image.high() - image.low(), 1L, Long::sum);
        }
      }
      return lengths;
    }
    long at = 0;
    while (at < extent) {
      long end = Math.min(from.high(from.part(at)), to.high(to.part(at)));
      lengths.merge(end - at, 1L, Long::sum);
      at = end;
    }
    return lengths;
  }
}

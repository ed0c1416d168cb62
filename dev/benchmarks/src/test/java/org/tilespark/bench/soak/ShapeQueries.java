package org.tilespark.bench.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.Missing;

/** Operators that move elements. */
final class ShapeQueries {
  private static final String[] EDGES = {"constant", "edge", "reflect", "symmetric", "wrap"};

  private ShapeQueries() {}

  static Query permute(Draw draw) {
    String axes = draw.oneOf(Draw.AXES);
    draw.tell(" " + axes);
    return draw.exact(x -> VolumeBlocks.permute(x, axes), d -> d.permuted(Draw.places(axes)));
  }

  static Query reblock(Draw draw) {
    int rows = draw.size(draw.a().rows());
    int cols = draw.size(draw.a().cols());
    return draw.exact(x -> MatrixBlocks.reblock(x, rows, cols), d -> d);
  }

  static Query reblockWithHoles(Draw draw) {
    int rows = draw.size(draw.a().rows());
    int cols = draw.size(draw.a().cols());
    Dense holes = new Dense(draw.a().extents(), draw.a().values().clone(), Optional.empty());
    return new Query(
        List.of(holes),
        0.6,
        x -> MatrixBlocks.reblock(x.get(0), rows, cols, Missing.ZERO),
        d -> d.get(0),
        d -> 0);
  }

  static Query cutVolume(Draw draw) {
    return draw.exact(cut(draw), d -> d);
  }

  static Query roll(Draw draw) {
    long rows = draw.random().nextInt(400) - 200L;
    long cols = draw.random().nextInt(400) - 200L;
    return draw.exact(
        x -> MatrixBlocks.roll(x, rows + "," + cols),
        d ->
            d.gathered(
                d.extents(),
                at ->
                    new long[] {
                      Math.floorMod(at[0] - rows, d.rows()), Math.floorMod(at[1] - cols, d.cols())
                    },
                0));
  }

  /** Forwards or backwards along each axis, at least one element. */
  static Query slice(Draw draw) {
    long[] extents = draw.a().extents();
    long[] first = new long[extents.length];
    long[] step = new long[extents.length];
    long[] count = new long[extents.length];
    List<String> axes = new ArrayList<>();
    for (int axis = 0; axis < extents.length; axis++) {
      int extent = Math.toIntExact(extents[axis]);
      first[axis] = draw.random().nextInt(extent);
      step[axis] = (1L + draw.random().nextInt(3)) * (draw.random().nextBoolean() ? 1 : -1);
      long most = (step[axis] > 0 ? extent - 1 - first[axis] : first[axis]) / Math.abs(step[axis]);
      count[axis] = 1L + draw.random().nextInt(Math.toIntExact(most) + 1);
      long stop = first[axis] + count[axis] * step[axis];
      // Below 0 a bound counts from the end, so that before the first element it is left out.
      long from = draw.random().nextBoolean() ? first[axis] : first[axis] - extent;
      axes.add(from + ":" + (stop < 0 ? "" : Math.min(stop, extent)) + ":" + step[axis]);
    }
    String text = String.join(", ", axes);
    draw.tell(" " + text);
    return draw.exact(
        x -> draw.rank() == 2 ? MatrixBlocks.slice(x, text) : VolumeBlocks.slice(x, text),
        d ->
            d.gathered(
                count,
                at -> {
                  Arrays.setAll(at, axis -> first[axis] + at[axis] * step[axis]);
                  return at;
                },
                0));
  }

  static Query pad(Draw draw) {
    long[][] widths = draw.widths(draw.rank() == 2 ? 90 : 20);
    String mode = draw.oneOf(EDGES);
    String text = Draw.text(widths);
    draw.tell(" " + text + " " + mode);
    long[] to = draw.a().extents().clone();
    Arrays.setAll(to, axis -> to[axis] + widths[axis][0] + widths[axis][1]);
    return draw.exact(
        x ->
            draw.rank() == 2
                ? MatrixBlocks.pad(x, text, mode, 3)
                : VolumeBlocks.pad(x, text, mode, 3),
        d ->
            d.gathered(
                to,
                at -> {
                  for (int axis = 0; axis < at.length; axis++) {
                    at[axis] = source(mode, d.extents()[axis], at[axis] - widths[axis][0]);
                    if (at[axis] < 0) {
                      return null;
                    }
                  }
                  return at;
                },
                3));
  }

  /** The source element of a place of an axis that goes on beyond its ends; -1 if there is none. */
  private static long source(String mode, long extent, long place) {
    if (place >= 0 && place < extent) {
      return place;
    }
    long beyond = Math.floorMod(place, 2 * extent);
    long mirrored = extent == 1 ? 0 : Math.floorMod(place, 2 * extent - 2);
    return switch (mode) {
      case "constant" -> -1;
      case "edge" -> place < 0 ? 0 : extent - 1;
      case "wrap" -> Math.floorMod(place, extent);
      case "symmetric" -> Math.min(beyond, 2 * extent - 1 - beyond);
      default -> Math.min(mirrored, 2 * extent - 2 - mirrored);
    };
  }

  /** A halo that is taken off again, with a factor of each element between. */
  static Query halo(Draw draw) {
    String text = Draw.text(draw.widths(20));
    String edge = draw.oneOf(EDGES);
    double alpha = draw.random().nextInt(9) * 0.25;
    draw.tell(" " + text + " " + edge + " times " + alpha);
    return draw.exact(
        x ->
            draw.rank() == 2
                ? MatrixBlocks.trim(MatrixBlocks.scale(MatrixBlocks.halo(x, text, edge), alpha))
                : VolumeBlocks.trim(VolumeBlocks.scale(VolumeBlocks.halo(x, text, edge), alpha)),
        d -> {
          Dense scaled =
              d.isComplex() ? Dense.zeros(d.extents()).asComplex() : Dense.zeros(d.extents());
          Arrays.setAll(scaled.values(), i -> d.values()[i] * alpha);
          d.imag().ifPresent(imag -> Arrays.setAll(scaled.imag().get(), i -> imag[i] * alpha));
          return scaled;
        });
  }

  /** As a volume, and as another matrix. */
  static Query reshape(Draw draw) {
    long[] divisors =
        LongStream.rangeClosed(1, draw.a().rows()).filter(d -> draw.a().rows() % d == 0).toArray();
    long first = divisors[draw.random().nextInt(divisors.length)];
    String volume = first + ",-1," + draw.a().cols();
    long[] matrix = {first, draw.a().rows() / first * draw.a().cols()};
    draw.tell(" by " + volume);
    return draw.exact(
        x -> VolumeBlocks.reshape(MatrixBlocks.reshape(x, volume), matrix[0] + "," + matrix[1]),
        d -> new Dense(matrix, d.values(), d.imag()));
  }

  /** In blocks, slabs or pencils of some size. */
  private static UnaryOperator<Dataset<Row>> cut(Draw draw) {
    int axis = draw.random().nextInt(3);
    String letter = "xyz".substring(axis, axis + 1);
    int first = draw.size(draw.a().extents()[axis == 0 ? 1 : 0]);
    int second = draw.size(draw.a().extents()[axis == 2 ? 1 : 2]);
    int along = draw.size(draw.a().extents()[axis]);
    int way = draw.random().nextInt(5);
    draw.tell(
        List.of(" slabs ", " thick slabs ", " pencils ", " cut pencils ", "").get(way) + letter);
    return switch (way) {
      case 0 -> x -> VolumeBlocks.slabs(x, letter);
      case 1 -> x -> VolumeBlocks.slabs(x, letter, along);
      case 2 -> x -> VolumeBlocks.pencils(x, letter);
      case 3 -> x -> VolumeBlocks.pencils(x, letter, first, second);
      default -> x -> VolumeBlocks.reblock(x, first, along, second);
    };
  }
}

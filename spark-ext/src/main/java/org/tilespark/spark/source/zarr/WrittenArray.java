package org.tilespark.spark.source.zarr;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.source.WrittenBlocks;
import org.tilespark.spark.source.codec.ByteEncoder;

/**
 * An array that is to be written. Immutable.
 *
 * @param array the array, as a reader finds it
 * @param encoders the settings of the codecs of a chunk, in the order of the layout
 * @param spacing distance between neighbouring elements along each axis; may be empty
 */
record WrittenArray(ZarrArray array, List<ByteEncoder> encoders, List<Double> spacing)
    implements Serializable {
  /** Least bytes of a block whose shape chunks take over if the user states no shape of chunks. */
  private static final long LEAST_CHUNK_BYTES = 256 << 10;

  private static final long MOST_CHUNK_BYTES = 32 << 20;

  /**
   * Most bytes of a chunk near a cube, if neither the user nor the blocks give a shape of chunks.
   */
  private static final long USUAL_CHUNK_BYTES = 4 << 20;

  /** The most bytes of a chunk in a shard, if chunks have no stated shape. */
  private static final long USUAL_INNER_BYTES = 1 << 20;

  /** The most bytes of an object before it is encoded: it is one buffer. */
  private static final double MOST_OBJECT_BYTES = 0x7f000000;

  /** Copies the lists. */
  WrittenArray {
    encoders = List.copyOf(encoders);
    spacing = List.copyOf(spacing);
  }

  /**
   * The array to which blocks are written; of a vector, without the axis of extent 1 that its
   * blocks have.
   *
   * @param extents extents of the whole array
   * @throws IllegalArgumentException if the options do not fit the blocks
   */
  static WrittenArray of(ZarrWriteOptions options, WrittenBlocks blocks, Shape extents) {
    ArrayAxes axes = blocks.axes();
    int rank = axes.rank();
    NpyType type =
        NpyType.ofBlocks(
            blocks.schema(), blocks.metadata(), options.type(), "Option " + ZarrWriteOptions.DTYPE);
    int width = type.elementBytes();
    Optional<Shape> shards = options.shards(axes);
    Shape chunk =
        options
            .chunks(axes)
            .orElseGet(
                () ->
                    shards
                        .map(shard -> inner(shard, width))
                        .orElseGet(() -> usual(blocks, extents, width)));
    List<ByteEncoder> encoders = options.encoders(width);
    int[] order = new int[rank];
    for (int i = 0; i < rank; i++) {
      order[i] = options.isFortranOrder() ? rank - 1 - i : i;
    }
    ChunkLayout layout =
        new ChunkLayout.Leaf(
            chunk,
            Permutation.of(order),
            false,
            encoders.stream().map(ByteEncoder::codec).toList());
    if (shards.isPresent()) {
      requireDivides(chunk, shards.get());
      layout =
          new ChunkLayout.Shard(
              shards.get(),
              Permutation.identity(rank),
              layout,
              new ChunkLayout.Index(true, false, 1));
    }
    requireFits(layout.shape(), width, shards.isPresent());
    boolean is3 = options.version() == 3;
    List<String> names = options.names(rank).orElseGet(() -> names(blocks));
    boolean isNamed = names.stream().anyMatch(name -> !name.isEmpty());
    ZarrArray array =
        new ZarrArray(
            extents,
            type,
            is3 ? ChunkKeys.ofDefault("/") : ChunkKeys.ofVersion2("."),
            options.fill(type).orElse(is3 || !isNamed ? FillValue.ZERO : FillValue.NONE),
            layout,
            names);
    WrittenArray written =
        new WrittenArray(
            array, encoders, options.spacing(rank).orElseGet(() -> spacing(blocks, extents)));
    return options.isVector() ? written.withoutRow() : written;
  }

  private WrittenArray withoutRow() {
    ZarrArray vector =
        new ZarrArray(
            Shape.of(array.shape().extent(1)),
            array.type(),
            array.keys(),
            array.fill(),
            withoutRow(array.layout()),
            array.names().subList(1, 2));
    return new WrittenArray(vector, encoders, spacing.isEmpty() ? spacing : spacing.subList(1, 2));
  }

  private static ChunkLayout withoutRow(ChunkLayout layout) {
    Shape shape = Shape.of(layout.shape().extent(1));
    Permutation order = Permutation.identity(1);
    return layout instanceof ChunkLayout.Shard shard
        ? new ChunkLayout.Shard(shape, order, withoutRow(shard.inner()), shard.index())
        : new ChunkLayout.Leaf(shape, order, false, ((ChunkLayout.Leaf) layout).codecs());
  }

  /** True if an object has elements of several blocks, which are 1 long along leading axes. */
  boolean isGathered(ArrayAxes axes) {
    for (int axis = 0; axis < axes.leading().size(); axis++) {
      if (array.layout().shape().extent(axis) > 1) {
        return true;
      }
    }
    return false;
  }

  /** The places of blocks in this array. */
  ArrayView view() {
    return ArrayView.whole(array.shape());
  }

  private static void requireDivides(Shape chunk, Shape shard) {
    for (int axis = 0; axis < shard.rank(); axis++) {
      if (shard.extent(axis) % chunk.extent(axis) != 0) {
        throw new IllegalArgumentException(
            "Options %s and %s are %s and %s; expected shards of whole chunks"
                .formatted(ZarrWriteOptions.CHUNKS, ZarrWriteOptions.SHARDS, chunk, shard));
      }
    }
  }

  private static void requireFits(Shape object, int width, boolean isShard) {
    if (bytes(object, width) > MOST_OBJECT_BYTES) {
      throw new IllegalArgumentException(
          "Option %s: %s of %s with elements of %s bytes; one must stay below 2 GiB"
              .formatted(
                  isShard ? ZarrWriteOptions.SHARDS : ZarrWriteOptions.CHUNKS,
                  isShard ? "shards" : "chunks",
                  object,
                  width));
    }
  }

  private static double bytes(Shape shape, int width) {
    double bytes = width;
    for (int axis = 0; axis < shape.rank(); axis++) {
      bytes *= shape.extent(axis);
    }
    return bytes;
  }

  /** The shape of the blocks if it makes chunks of a usual size; otherwise one near a cube. */
  private static Shape usual(WrittenBlocks blocks, Shape extents, int width) {
    Optional<Shape> known = blocks.metadata().blockShape(blocks.kind().rank());
    if (known.isPresent()) {
      long[] clipped = blocks.axes().withLeadingOnes(known.get().toArray());
      for (int axis = 0; axis < clipped.length; axis++) {
        clipped[axis] = Math.max(1, Math.min(clipped[axis], extents.extent(axis)));
      }
      double bytes = bytes(Shape.of(clipped), width);
      if (bytes >= LEAST_CHUNK_BYTES && bytes <= MOST_CHUNK_BYTES) {
        return Shape.of(clipped);
      }
    }
    long[] chunk = blocks.axes().withLeadingOnes(blocks.axes().own(extents.toArray()));
    for (int axis = 0; axis < chunk.length; axis++) {
      chunk[axis] = Math.max(1, chunk[axis]);
    }
    while (bytes(Shape.of(chunk), width) > USUAL_CHUNK_BYTES) {
      int longest = 0;
      for (int axis = 1; axis < chunk.length; axis++) {
        longest = chunk[axis] > chunk[longest] ? axis : longest;
      }
      chunk[longest] = (chunk[longest] + 1) / 2;
    }
    return Shape.of(chunk);
  }

  /**
   * The shape of the chunks in a shard: that of the shard, whose longest even extent is halved
   * until it has at most {@link #USUAL_INNER_BYTES} bytes, or no even extent is left.
   */
  private static Shape inner(Shape shard, int width) {
    long[] chunk = shard.toArray();
    while (bytes(Shape.of(chunk), width) > USUAL_INNER_BYTES) {
      int longest = -1;
      for (int axis = 0; axis < chunk.length; axis++) {
        boolean isEven = chunk[axis] % 2 == 0;
        longest = isEven && (longest < 0 || chunk[axis] > chunk[longest]) ? axis : longest;
      }
      if (longest < 0) {
        break;
      }
      chunk[longest] /= 2;
    }
    return Shape.of(chunk);
  }

  /** The stored axis from which each axis was read; empty if unknown. */
  private static Optional<int[]> origins(ArrayMetadata metadata, int rank) {
    return metadata
        .axes()
        .map(letters -> letters.chars().map("xyz"::indexOf).toArray())
        .filter(axes -> axes.length == rank)
        .filter(axes -> IntStream.of(axes).allMatch(axis -> axis >= 0 && axis < rank));
  }

  /** The columns' names of leading axes, and those that the other axes had when they were read. */
  private static List<String> names(WrittenBlocks blocks) {
    Metadata known = blocks.metadata().toMetadata();
    List<String> leading = blocks.axes().leading();
    List<String> names = new ArrayList<>();
    for (int axis = 0; axis < leading.size(); axis++) {
      names.add(leading.get(axis).equals(ArrayAxes.unnamed(axis)) ? "" : leading.get(axis));
    }
    int own = blocks.kind().rank();
    String[] read =
        known.contains(AxisLabels.NAMES) ? known.getStringArray(AxisLabels.NAMES) : new String[0];
    int first = read.length - own;
    names.addAll(
        origins(blocks.metadata(), own)
            .filter(axes -> first >= 0)
            .map(axes -> IntStream.of(axes).mapToObj(axis -> read[first + axis]).toList())
            .orElseGet(() -> Collections.nCopies(own, "")));
    return names;
  }

  /**
   * The distances between neighbours that were read, if the array still has the extents that were
   * read; otherwise empty.
   */
  private static List<Double> spacing(WrittenBlocks blocks, Shape extents) {
    int rank = extents.rank();
    ArrayMetadata metadata = blocks.metadata();
    Metadata known = metadata.toMetadata();
    if (!known.contains(AxisLabels.SPACING)
        || !known.contains(AxisLabels.SHAPE)
        || metadata.spectrum().isPresent()) {
      return List.of();
    }
    double[] read = known.getDoubleArray(AxisLabels.SPACING);
    long[] shape = known.getLongArray(AxisLabels.SHAPE);
    int before = blocks.leading().size();
    return origins(metadata, blocks.kind().rank())
        .map(
            own ->
                IntStream.range(0, rank)
                    .map(axis -> axis < before ? axis : before + own[axis - before])
                    .toArray())
        .filter(axes -> read.length == rank && shape.length == rank)
        .filter(
            axes ->
                IntStream.range(0, rank)
                    .allMatch(axis -> shape[axes[axis]] == extents.extent(axis)))
        .map(axes -> IntStream.of(axes).mapToObj(axis -> read[axis]).toList())
        .orElseGet(List::of);
  }
}

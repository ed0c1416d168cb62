package org.tilespark.spark.source.zarr;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.source.BlockGrid;
import org.tilespark.spark.source.BlockReader;
import org.tilespark.spark.source.BlockSource;
import org.tilespark.spark.source.ChunkGrid;

/**
 * One array of a store with its tiling; all facts that a task needs. Immutable.
 *
 * @param path the array's directory, with scheme and authority
 * @param stamp version of the array's metadata document, by which a changed array is detected
 * @param array the array
 * @param view the part of the array that is read
 * @param stored labels of the whole array
 * @param columnType element type of the columns
 * @param missingIsError true if a chunk that is not stored is an error
 * @param grid the tiling by blocks
 */
record ZarrSource(
    String path,
    ZarrNode.Stamp stamp,
    ZarrArray array,
    ArrayView view,
    AxisLabels stored,
    ElementType columnType,
    boolean missingIsError,
    BlockGrid grid)
    implements BlockSource {
  /** File systems that know which machines have a file's bytes. */
  private static final Set<String> WITH_HOSTS = Set.of("hdfs", "viewfs");

  /**
   * The source for the options.
   *
   * @param spacing distance between neighbours along each axis; may be empty
   * @throws IllegalArgumentException if {@code select} or {@code blockShape} does not fit the array
   */
  static ZarrSource of(ZarrNode node, ZarrArray array, List<Double> spacing, ZarrOptions options) {
    ArrayView view = ArrayView.of(array, options.select());
    ElementType columnType = options.as().orElse(array.type().columnType());
    BlockGrid grid =
        BlockGrid.ofChunks(
            options.blockShape(),
            chunks(array, view),
            view.blockAxes(array.layout().shape()),
            columnType,
            array.type().parts());
    return new ZarrSource(
        node.directory().toString(),
        node.stamp(),
        array,
        view,
        new AxisLabels(array.names(), spacing, node.userAttributes()),
        columnType,
        options.missing().orElse(false),
        grid);
  }

  /** The chunks of the array, reduced to the axes of blocks. */
  private static ChunkGrid chunks(ZarrArray array, ArrayView view) {
    return new ChunkGrid(view.extents(), view.blockAxes(array.layout().leaf()));
  }

  /** True if blocks hold parts of chunks, each of which is then decoded for several blocks. */
  boolean cutsChunks() {
    return isCutBy(grid.blockShape());
  }

  private boolean isCutBy(long[] blockShape) {
    return chunks(array, view).isCutBy(Shape.of(blockShape));
  }

  /** The array in other blocks; empty if these would cut chunks. */
  @Override
  public Optional<BlockSource> inBlocks(Shape shape) {
    return isCutBy(axes().withLeadingOnes(shape.toArray()))
        ? Optional.empty()
        : grid.inBlocks(shape)
            .map(
                blocks ->
                    new ZarrSource(
                        path, stamp, array, view, stored, columnType, missingIsError, blocks));
  }

  @Override
  public String format() {
    return ZarrDataSource.FORMAT;
  }

  @Override
  public AxisLabels labels() {
    return new AxisLabels(
        view.ofKept(stored.names()), view.ofKept(stored.spacing()), stored.attributes());
  }

  @Override
  public ArrayAxes axes() {
    List<String> names = labels().names();
    return names.size() < 2 ? ArrayAxes.of(BlockKind.MATRIX) : ArrayAxes.ofStored(names);
  }

  @Override
  public String description() {
    boolean sharded = array.layout() instanceof ChunkLayout.Shard;
    return "%s%s in %s of %s"
        .formatted(
            array.type().numpyName(),
            array.shape(),
            sharded ? "shards" : "chunks",
            array.layout().shape());
  }

  @Override
  public NpyType storedType() {
    return array.type();
  }

  /** The path of the object with a chunk or shard. */
  Path object(long[] place) {
    return new Path(new Path(path), array.keys().of(place));
  }

  /**
   * The objects of a box's first and last element, at the length that they have without codecs;
   * none if the store has no machines to report, since asking would be a useless request.
   */
  @Override
  public List<Chunk> chunks(long[] offset, long[] size) {
    if (!WITH_HOSTS.contains(new Path(path).toUri().getScheme())) {
      return List.of();
    }
    Shape chunk = array.layout().shape();
    long[] first = view.offset(offset);
    long[] last = view.size(size);
    for (int axis = 0; axis < first.length; axis++) {
      last[axis] = (first[axis] + last[axis] - 1) / chunk.extent(axis);
      first[axis] /= chunk.extent(axis);
    }
    long bytes = chunk.elements() * storedBytes();
    Chunk ofFirst = new Chunk(object(first).toString(), 0, bytes);
    return java.util.Arrays.equals(first, last)
        ? List.of(ofFirst)
        : List.of(ofFirst, new Chunk(object(last).toString(), 0, bytes));
  }

  @Override
  public BlockReader open(Configuration conf, BufferAllocator allocator, Transposer transposer) {
    return new ZarrBlockReader(this, conf, allocator, transposer);
  }
}

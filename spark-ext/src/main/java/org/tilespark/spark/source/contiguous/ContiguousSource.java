package org.tilespark.spark.source.contiguous;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.conf.Configuration;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.source.BlockGrid;
import org.tilespark.spark.source.BlockReader;
import org.tilespark.spark.source.BlockSource;

/**
 * An array whose numbers are one after the other in one file, as a source of blocks. Immutable.
 *
 * @param format name that users give to {@code format(...)}
 * @param file the file
 * @param array the array in it
 * @param labels names and distances of its axes
 * @param columnType element type of the columns
 * @param grid the tiling by blocks
 */
public record ContiguousSource(
    String format,
    StoredFile file,
    ContiguousArray array,
    AxisLabels labels,
    ElementType columnType,
    BlockGrid grid)
    implements BlockSource {
  /**
   * The source for a user's options.
   *
   * @param blockShape the option {@code blockShape}, if given
   * @param as type to which values are converted, if given
   * @throws IllegalArgumentException if {@code blockShape} does not fit the array
   */
  public static ContiguousSource of(
      String format,
      StoredFile file,
      ContiguousArray array,
      AxisLabels labels,
      Optional<String> blockShape,
      Optional<ElementType> as) {
    boolean isScaled = !array.scaling().equals(ContiguousArray.Scaling.NONE);
    ElementType usual = isScaled ? ElementType.FLOAT64 : array.type().columnType();
    ElementType columnType = as.orElse(usual);
    Optional<String> blocks =
        blockShape.isEmpty() && file.isGzip() ? Optional.of(slabs(array, columnType)) : blockShape;
    BlockGrid grid =
        BlockGrid.of(
            blocks, array.shape(), columnType, array.type().parts(), array.firstAxisFastest());
    if (file.isGzip() && !isForward(array, grid)) {
      throw new IllegalArgumentException(
          ("Option %s: blocks of %s cut the axes that are contiguous in %s, which is compressed as a"
                  + " whole and can only be read forward; expected some whole planes, as in %s."
                  + " Re-block after reading")
              .formatted(
                  BlockGrid.BLOCK_SHAPE,
                  Shape.of(grid.blockShape()),
                  file.path(),
                  slabs(array, columnType)));
    }
    return new ContiguousSource(format, file, array, labels, columnType, grid);
  }

  /** The block shape of some MiB that has whole planes, which are contiguous in the file. */
  private static String slabs(ContiguousArray array, ElementType columnType) {
    long[] extents = array.shape().toArray();
    long[] own = Arrays.copyOfRange(extents, Math.max(0, extents.length - 3), extents.length);
    int slowest = array.firstAxisFastest() ? own.length - 1 : 0;
    long plane = (long) columnType.bytes() * array.type().parts();
    for (int axis = 0; axis < own.length; axis++) {
      plane *= axis == slowest ? 1 : Math.max(1, own[axis]);
    }
    own[slowest] = Math.max(1, BlockGrid.BLOCK_BYTES / plane);
    Arrays.setAll(own, axis -> Math.max(1, own[axis]));
    return Shape.of(own).text();
  }

  /** True if each block is one contiguous run. */
  private static boolean isForward(ContiguousArray array, BlockGrid grid) {
    return grid.count() == 0 || grid.runElements() == Shape.of(grid.blockShape()).elements();
  }

  /** The order of axes reversed. */
  static Permutation reversal(int rank) {
    int[] axes = new int[rank];
    for (int i = 0; i < rank; i++) {
      axes[i] = rank - 1 - i;
    }
    return Permutation.of(axes);
  }

  /** Numbers for each axis in the order of the axes in the file, the slowest first. */
  long[] inFileOrder(long[] perAxis) {
    long[] ordered = perAxis.clone();
    if (array.firstAxisFastest()) {
      long[] own = axes().own(perAxis);
      long[] reversed = reversal(own.length).apply(own);
      System.arraycopy(reversed, 0, ordered, ordered.length - own.length, own.length);
    }
    return ordered;
  }

  /**
   * The file in other blocks; empty if contiguous runs would be shorter, since each run is a system
   * call.
   */
  @Override
  public Optional<BlockSource> inBlocks(Shape shape) {
    return grid.inBlocks(shape)
        .filter(blocks -> blocks.runElements() >= grid.runElements())
        .filter(blocks -> !file.isGzip() || isForward(array, blocks))
        .map(blocks -> new ContiguousSource(format, file, array, labels, columnType, blocks));
  }

  @Override
  public String path() {
    return file.path();
  }

  @Override
  public String description() {
    return array.type().numpyName()
        + Arrays.toString(grid.extents())
        + (array.firstAxisFastest() ? " Fortran order" : "")
        + (file.isGzip() ? " gzip" : "");
  }

  @Override
  public NpyType storedType() {
    return array.type();
  }

  /** The range from the box's first element to its last. */
  @Override
  public List<Chunk> chunks(long[] offset, long[] size) {
    if (file.isGzip()) {
      return List.of();
    }
    long[] last = new long[offset.length];
    for (int axis = 0; axis < last.length; axis++) {
      last[axis] = offset[axis] + size[axis] - 1;
    }
    long start = fileOffset(offset);
    return List.of(new Chunk(path(), start, fileOffset(last) + storedBytes() - start));
  }

  private long fileOffset(long[] place) {
    long[] extents = inFileOrder(grid.extents());
    long[] at = inFileOrder(place);
    long element = 0;
    for (int axis = 0; axis < at.length; axis++) {
      element = element * extents[axis] + at[axis];
    }
    return array.dataOffset() + element * storedBytes();
  }

  @Override
  public BlockReader open(Configuration conf, BufferAllocator allocator, Transposer transposer)
      throws IOException {
    return new ContiguousReader(file.input(conf), this, conf, allocator, transposer);
  }
}

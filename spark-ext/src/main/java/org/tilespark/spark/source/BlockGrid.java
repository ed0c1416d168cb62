package org.tilespark.spark.source;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * The regular tiling by which a source cuts its array into blocks: full blocks of one shape, ragged
 * at the far edges. Blocks are numbered in row-major order, or with the first axis varying fastest.
 * Axes before the last three are leading axes (see {@link org.tilespark.spark.block.ArrayAxes}),
 * along which blocks have extent 1.
 *
 * <p>Immutable.
 */
public final class BlockGrid implements Serializable {
  /** The option that states the elements per axis of a block. */
  public static final String BLOCK_SHAPE = "blockShape";

  /**
   * Most bytes in the value columns of a block if the block shape is not stated; blocks of a large
   * volume may have more, up to {@link #VOLUME_BLOCK_BYTES}.
   */
  public static final long BLOCK_BYTES = 8L << 20;

  /**
   * Most bytes in the value columns of a block of a large volume, which would otherwise have short
   * rows.
   */
  private static final long VOLUME_BLOCK_BYTES = 32L << 20;

  /** Least number of blocks of a volume whose blocks exceed {@link #BLOCK_BYTES}. */
  private static final int LEAST_BLOCKS = 32;

  /** Spark's limit for a row, minus room for its fixed part. */
  private static final long MAX_BLOCK_BYTES = (1L << 31) - (64L << 10);

  /** The most blocks of a tiling, which the driver can list. */
  private static final long MAX_BLOCKS = 100_000_000;

  private final long[] extents;
  private final long[] blockShape;
  private final long[] counts; // blocks along each axis
  private final boolean firstAxisFastest;

  /** A tiling by blocks of a shape, clipped to the extents. */
  private BlockGrid(long[] extents, long[] shape, boolean firstAxisFastest) {
    this.extents = extents;
    this.blockShape = new long[extents.length];
    this.firstAxisFastest = firstAxisFastest;
    this.counts = new long[extents.length];
    for (int axis = 0; axis < extents.length; axis++) {
      long block = Math.max(1, Math.min(shape[axis], extents[axis]));
      blockShape[axis] = block;
      counts[axis] = extents[axis] / block + (extents[axis] % block == 0 ? 0 : 1);
    }
  }

  /**
   * The tiling of {@code shape} for a value of the option {@code blockShape}.
   *
   * @param text elements per axis, {@code "2048,2048"}, clipped to the extents; empty for blocks of
   *     some MiB. Leading axes may be left out
   * @param shape extents of the array, of rank 2 or more
   * @param columnType type of the elements in the columns
   * @param parts count of value columns: 2 for complex blocks, else 1
   * @param firstAxisFastest true to number blocks along the first axis first, as a Fortran file is
   *     stored
   * @throws IllegalArgumentException if the text is no shape of this rank, if a block would have 2
   *     GiB or more, or if there would be too many blocks
   */
  public static BlockGrid of(
      Optional<String> text,
      Shape shape,
      ElementType columnType,
      int parts,
      boolean firstAxisFastest) {
    int bytes = columnType.bytes() * parts;
    long[] extents = shape.toArray();
    long[] block =
        text.map(given -> parse(given, extents.length))
            .orElseGet(() -> withLeading(extents.length, defaultShape(own(extents), bytes)));
    return checked(new BlockGrid(extents, block, firstAxisFastest), bytes, parts);
  }

  /**
   * The tiling of an array that is stored in chunks, as {@link #of}; if the option is not given,
   * blocks are whole chunks.
   *
   * @param group elements along each axis of a group of chunks that are stored together; of one
   *     chunk if each is stored separately
   */
  public static BlockGrid ofChunks(
      Optional<String> text, ChunkGrid chunks, Shape group, ElementType columnType, int parts) {
    int bytes = columnType.bytes() * parts;
    long[] extents = chunks.extents().toArray();
    ChunkGrid own = new ChunkGrid(own(chunks.extents()), own(chunks.chunk()));
    long[] block =
        text.map(given -> parse(given, extents.length))
            .orElseGet(
                () -> withLeading(extents.length, own.usualBlock(own(group), bytes).toArray()));
    return checked(new BlockGrid(extents, block, false), bytes, parts);
  }

  /** The last three numbers of an array of more axes: those of the axes of a volume. */
  private static long[] own(long[] perAxis) {
    return Arrays.copyOfRange(perAxis, Math.max(0, perAxis.length - 3), perAxis.length);
  }

  private static Shape own(Shape shape) {
    return Shape.of(own(shape.toArray()));
  }

  /** A block's shape with extent 1 along the leading axes of an array of this many axes. */
  private static long[] withLeading(int rank, long[] own) {
    long[] block = new long[rank];
    Arrays.fill(block, 1);
    System.arraycopy(own, 0, block, rank - own.length, own.length);
    return block;
  }

  private static BlockGrid checked(BlockGrid grid, int bytes, int parts) {
    grid.checkBlockBytes(bytes, parts);
    grid.checkCount();
    return grid;
  }

  private double approximateCount() {
    double count = 1;
    for (long along : counts) {
      count *= along;
    }
    return count;
  }

  /**
   * A tiling of this array with another block shape.
   *
   * @param shape elements along each axis of a full block, clipped to the extents; without leading
   *     axes
   * @return empty if there would be too many blocks
   */
  public Optional<BlockGrid> inBlocks(Shape shape) {
    long[] block = withLeading(extents.length, shape.toArray());
    BlockGrid grid = new BlockGrid(extents, block, firstAxisFastest);
    return Optional.of(grid).filter(made -> made.approximateCount() <= MAX_BLOCKS);
  }

  /**
   * Length of the contiguous runs in the stored array that a full block consists of, in elements.
   */
  public long runElements() {
    long[] whole = slowestFirst().stream().mapToLong(axis -> extents[axis]).toArray();
    long[] block = slowestFirst().stream().mapToLong(axis -> blockShape[axis]).toArray();
    return new BoxRuns(whole, new long[whole.length], block).elements();
  }

  private void checkBlockBytes(int bytes, int parts) {
    // A row holds 8 bytes of null bits for every 64 elements of each part.
    double rowBytes = parts / 8.0 + bytes;
    for (long extent : blockShape) {
      rowBytes *= extent;
    }
    if (rowBytes >= MAX_BLOCK_BYTES || anyAbove(blockShape, Integer.MAX_VALUE)) {
      throw new IllegalArgumentException(
          ("Option %s: blocks of %s elements of %s bytes; a block must stay below 2"
                  + " GiB, choose a smaller %s")
              .formatted(BLOCK_SHAPE, Shape.of(blockShape), bytes, BLOCK_SHAPE));
    }
  }

  private void checkCount() {
    double count = approximateCount();
    if (count > MAX_BLOCKS) {
      throw new IllegalArgumentException(
          ("Option %s: blocks of %s cut the shape %s into %s blocks; expected at most"
                  + " %s, choose a larger %s")
              .formatted(
                  BLOCK_SHAPE,
                  Shape.of(blockShape),
                  Shape.of(extents),
                  (long) count,
                  MAX_BLOCKS,
                  BLOCK_SHAPE));
    }
  }

  private static boolean anyAbove(long[] numbers, long limit) {
    for (long number : numbers) {
      if (number > limit) {
        return true;
      }
    }
    return false;
  }

  private static long[] parse(String text, int rank) {
    String[] parts = text.split(",", -1);
    long[] block = new long[parts.length];
    for (int axis = 0; axis < parts.length; axis++) {
      try {
        block[axis] = Long.parseLong(parts[axis].trim());
      } catch (NumberFormatException e) {
        throw invalid(text, rank, e);
      }
      if (block[axis] < 1) {
        throw invalid(text, rank, null);
      }
    }
    int own = Math.min(rank, 3);
    boolean isWhole = parts.length == own;
    if (!isWhole && parts.length == rank) { // with leading axes, along which blocks are not longer
      isWhole = Arrays.stream(block).limit(rank - own).allMatch(length -> length == 1);
    }
    if (!isWhole) {
      throw invalid(text, own, null);
    }
    return withLeading(rank, own(block));
  }

  private static IllegalArgumentException invalid(String text, int rank, Throwable cause) {
    return new IllegalArgumentException(
        ("Option %s is '%s'; expected elements per axis, %s whole numbers of 1 or more"
                + " such as '%s' (more than the extent means the whole axis)")
            .formatted(BLOCK_SHAPE, text, rank, rank == 2 ? "2048,2048" : "128,128,128"),
        cause);
  }

  /**
   * Blocks near a square or a cube; axes too short for that are not cut. Blocks of a large volume
   * are larger, and usually shortest along the middle axis: a file is contiguous along its last
   * axis, and most permutations of the axes leave it last or make it first. If one puts it in the
   * middle, contiguous runs of the result are shorter than with cubes.
   */
  private static long[] defaultShape(long[] extents, int bytes) {
    long[] block = new long[extents.length];
    long blockBytes = blockBytes(extents, bytes);
    long budget = blockBytes / bytes;
    int open = extents.length;
    boolean clipped = true;
    while (open > 0 && clipped) {
      clipped = false;
      long side = roundDown(root(budget, open));
      for (int axis = 0; axis < extents.length; axis++) {
        if (block[axis] == 0 && extents[axis] <= side) {
          block[axis] = Math.max(1, extents[axis]);
          budget = Math.max(1, budget / block[axis]);
          open--;
          clipped = true;
        }
      }
    }
    if (open == 3 && blockBytes > BLOCK_BYTES) {
      long side = roundUp(root(budget, 3));
      block[0] = Math.min(extents[0], side);
      block[2] = Math.min(extents[2], side);
      block[1] = roundDown(budget / (block[0] * block[2]));
    } else if (open > 0) {
      long side = roundDown(root(budget, open));
      for (int axis = 0; axis < extents.length; axis++) {
        block[axis] = block[axis] == 0 ? side : block[axis];
      }
    }
    return block;
  }

  /** The most bytes of a block whose shape is not stated. */
  static long usualBytes(Shape extents, int bytes) {
    return blockBytes(extents.toArray(), bytes);
  }

  /** The most bytes of a block whose shape is not stated. */
  private static long blockBytes(long[] extents, int bytes) {
    double part = (double) bytes / LEAST_BLOCKS;
    for (long extent : extents) {
      part *= extent;
    }
    return extents.length == 3
        ? (long) Math.min(VOLUME_BLOCK_BYTES, Math.max(BLOCK_BYTES, part))
        : BLOCK_BYTES;
  }

  private static long root(long product, int axes) {
    return (long) Math.floor(Math.pow((double) product, 1.0 / axes) + 1e-9);
  }

  /** The largest power of two, or 3 times a power of two, that is not above {@code side}. */
  private static long roundDown(long side) {
    long power = Long.highestOneBit(Math.max(1, side));
    return power >= 2 && power + power / 2 <= side ? power + power / 2 : power;
  }

  /** The least power of two, or 3 times a power of two, that is not below {@code side}. */
  private static long roundUp(long side) {
    long down = roundDown(side);
    return down == side ? side : Long.bitCount(down) == 1 ? down / 2 * 3 : down / 3 * 4;
  }

  /** Count of axes of the array. */
  public int rank() {
    return extents.length;
  }

  /** Elements along each axis of a full block; a copy. */
  public long[] blockShape() {
    return blockShape.clone();
  }

  /** Extents of the array; a copy. */
  public long[] extents() {
    return extents.clone();
  }

  /**
   * The axes in the order in which blocks are numbered along them, the slowest first. Leading axes
   * are slower than the others.
   */
  List<Integer> slowestFirst() {
    int rank = extents.length;
    int lead = Math.max(0, rank - 3);
    return IntStream.range(0, rank)
        .map(i -> firstAxisFastest && i >= lead ? rank - 1 - (i - lead) : i)
        .boxed()
        .toList();
  }

  /** Count of blocks; 0 for an array without elements. */
  public long count() {
    long count = 1;
    for (long along : counts) {
      count *= along;
    }
    return count;
  }

  /**
   * Writes the place of block {@code index} into {@code offset} and its extents into {@code size},
   * both of length {@link #rank()}.
   */
  public void locate(long index, long[] offset, long[] size) {
    long rest = index;
    int lead = Math.max(0, extents.length - 3);
    for (int i = extents.length - 1; i >= 0; i--) {
      int axis = firstAxisFastest && i >= lead ? extents.length - 1 - (i - lead) : i;
      offset[axis] = rest % counts[axis] * blockShape[axis];
      size[axis] = Math.min(blockShape[axis], extents[axis] - offset[axis]);
      rest /= counts[axis];
    }
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof BlockGrid other
        && Arrays.equals(extents, other.extents)
        && Arrays.equals(blockShape, other.blockShape)
        && firstAxisFastest == other.firstAxisFastest;
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(extents) * 31 + Arrays.hashCode(blockShape);
  }

  @Override
  public String toString() {
    return Arrays.toString(extents) + " in blocks of " + Arrays.toString(blockShape);
  }
}

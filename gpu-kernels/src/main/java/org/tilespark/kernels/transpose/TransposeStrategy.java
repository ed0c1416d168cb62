package org.tilespark.kernels.transpose;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;

/**
 * The strategies of a transpose, among which {@link TransposePlanner} chooses. Each knows its
 * kernel and its launch shape.
 */
public interface TransposeStrategy {
  /**
   * The number of outer axes for which a kernel's argument struct has room; {@code MAX_OUTER} in
   * index.cuh.
   */
  int MAX_OUTER = 4;

  /** The widest access of a kernel, in bytes. */
  int VECTOR_BYTES = 16;

  /** Units or vectors that each thread of a copy has in flight; {@code ITEMS} in copy_*.cu. */
  int UNITS_PER_THREAD = 4;

  /** The launch on a device of these limits; empty if the driver copies the bytes. */
  Optional<KernelLaunch> launch(DeviceLimits limits);

  /** One line that describes the strategy, for EXPLAIN and for messages. */
  String describe();

  /**
   * The order in memory does not change: one copy.
   *
   * @param bytes length of the copy; may be 0
   */
  record Copy(long bytes) implements TransposeStrategy {
    @Override
    public Optional<KernelLaunch> launch(DeviceLimits limits) {
      return Optional.empty();
    }

    @Override
    public String describe() {
      return "Copy of " + bytes + " bytes";
    }
  }

  /**
   * One axis is contiguous in input and output: whole runs are copied, in units that fit every run.
   * {@code out[o][r] = in[perm(o)][r]}.
   *
   * @param unitBytes bytes of one access: the widest of 1 to 16 that divides a run and fits the
   *     alignment
   * @param run length of a run, in units
   * @param outer the other axes in output order, outermost first, strides in units
   * @param kernel the kernel that copies the runs
   */
  record StridedCopy(int unitBytes, long run, List<Axis> outer, KernelIndex.Kernel kernel)
      implements TransposeStrategy {
    /** Copies the list and checks its length. */
    public StridedCopy {
      outer = List.copyOf(outer);
      checkOuter(outer);
    }

    @Override
    public Optional<KernelLaunch> launch(DeviceLimits limits) {
      long units = volume(run, outer);
      List<Long> words = new ArrayList<>(List.of(units, run));
      addOuter(words, outer);
      int threads = kernel.shape().threads();
      long chunks = Ceil.div(units, (long) threads * UNITS_PER_THREAD);
      return Optional.of(
          new KernelLaunch(
              kernel.name(),
              LaunchConfig.forPieces(chunks, threads, 0, limits),
              words.stream().mapToLong(Long::longValue).toArray()));
    }

    @Override
    public String describe() {
      return "StridedCopy of runs of " + run * unitBytes + " bytes by " + kernel.name();
    }
  }

  /**
   * A copy as {@link StridedCopy}, but for long runs whose addresses are not aligned to 16 bytes:
   * the input is shifted into place in registers.
   *
   * @param elementBytes width of one element
   * @param run length of a run, in elements
   * @param outer the other axes in output order, outermost first
   * @param kernel the kernel that copies the runs
   */
  record ShiftedCopy(int elementBytes, long run, List<Axis> outer, KernelIndex.Kernel kernel)
      implements TransposeStrategy {
    private static final int WARP = 32;

    /** Copies the list and checks its length. */
    public ShiftedCopy {
      outer = List.copyOf(outer);
      checkOuter(outer);
    }

    @Override
    public Optional<KernelLaunch> launch(DeviceLimits limits) {
      // The largest number of vectors of memory that a run touches.
      long vectors = Ceil.div(run * elementBytes + VECTOR_BYTES - elementBytes, VECTOR_BYTES);
      // The smallest group of threads that can move a run at once; at most a warp.
      long lanes = Math.min(WARP, Long.highestOneBit(2 * Ceil.div(vectors, UNITS_PER_THREAD) - 1));
      long segmentsPerRun = Ceil.div(vectors, lanes * UNITS_PER_THREAD);
      long segments = volume(segmentsPerRun, outer);
      List<Long> words =
          new ArrayList<>(
              List.of(segments, segmentsPerRun, run, (long) Long.numberOfTrailingZeros(lanes)));
      addOuter(words, outer);
      int threads = kernel.shape().threads();
      return Optional.of(
          new KernelLaunch(
              kernel.name(),
              LaunchConfig.forPieces(Ceil.div(segments, threads / lanes), threads, 0, limits),
              words.stream().mapToLong(Long::longValue).toArray()));
    }

    @Override
    public String describe() {
      return "ShiftedCopy of runs of " + run * elementBytes + " bytes by " + kernel.name();
    }
  }

  /**
   * Two-dimensional transposes that are cut into tiles; a thread block transposes one tile at a
   * time.
   */
  sealed interface Tiled extends TransposeStrategy permits Vector, Shifted {
    /** The matrices to transpose. */
    MatrixBatch matrices();

    /** The kernel that transposes. */
    KernelIndex.Kernel kernel();

    /** The order of the tiles that neighbouring thread blocks take. */
    TileOrder order();

    /** This strategy with another kernel for the same element width. */
    Tiled with(KernelIndex.Kernel other);

    /** The number of tiles along the rows. */
    long rowTiles();

    /** The family of the kernels that this strategy can use. */
    String family();

    /** The number of tiles along the columns. */
    default long colTiles() {
      return Ceil.div(matrices().cols(), kernel().shape().cols());
    }

    @Override
    default Optional<KernelLaunch> launch(DeviceLimits limits) {
      return launchTiles(matrices(), rowTiles(), colTiles(), order(), kernel(), limits);
    }
  }

  /**
   * Transposes with accesses of 16 bytes to input and output, for pointers, strides and extents
   * that are multiples of 16 bytes.
   *
   * @param matrices the matrices to transpose
   * @param kernel the kernel that transposes; one without masks if the extents are multiples of its
   *     tile
   * @param order order of the tiles that neighbouring thread blocks take
   */
  record Vector(MatrixBatch matrices, KernelIndex.Kernel kernel, TileOrder order) implements Tiled {
    /**
     * The family of this strategy's kernels; those without masks have the suffix {@code _exact}.
     */
    static final String FAMILY = "transpose_vector";

    /** Checks the count of outer axes. */
    public Vector {
      checkOuter(matrices.outer());
    }

    /**
     * The strategy with the kernel that has no masks, if it exists and the extents need no masks.
     */
    static Vector of(
        MatrixBatch matrices, KernelIndex.Kernel masked, TileOrder order, KernelIndex index) {
      boolean full =
          matrices.rows() % masked.shape().rows() == 0
              && matrices.cols() % masked.shape().cols() == 0;
      String exact = masked.name().replace(FAMILY + "_w", FAMILY + "_exact_w");
      return new Vector(matrices, full ? index.find(exact).orElse(masked) : masked, order);
    }

    @Override
    public Vector with(KernelIndex.Kernel other) {
      return new Vector(matrices, other, order);
    }

    @Override
    public long rowTiles() {
      return Ceil.div(matrices.rows(), kernel.shape().rows());
    }

    @Override
    public String family() {
      return FAMILY;
    }

    @Override
    public String describe() {
      return "Vector " + matrices + " by " + kernel.name() + " " + order;
    }
  }

  /**
   * Transposes with accesses of 16 bytes to input and output, for rows without alignment.
   *
   * @param matrices the matrices to transpose
   * @param kernel the kernel that transposes
   * @param order order of the tiles that neighbouring thread blocks take
   */
  record Shifted(MatrixBatch matrices, KernelIndex.Kernel kernel, TileOrder order)
      implements Tiled {
    /** The family of this strategy's kernels. */
    static final String FAMILY = "transpose_shifted";

    /** Tiles end at multiples of this many bytes of the output; {@code SHIFT} in the kernel. */
    static final int SHIFT_BYTES = 32;

    /** Checks the count of outer axes. */
    public Shifted {
      checkOuter(matrices.outer());
    }

    @Override
    public Shifted with(KernelIndex.Kernel other) {
      return new Shifted(matrices, other, order);
    }

    @Override
    public long rowTiles() {
      long most = SHIFT_BYTES / matrices.elementBytes() - 1L; // by which rows' tiles may differ
      return Ceil.div(Math.addExact(matrices.rows(), most), kernel.shape().rows());
    }

    @Override
    public String family() {
      return FAMILY;
    }

    @Override
    public String describe() {
      return "Shifted " + matrices + " by " + kernel.name() + " " + order;
    }
  }

  /**
   * Transposes with one extent of at most {@link #MOST}, dense in the input or output in which that
   * extent is innermost.
   *
   * @param matrices the matrices to transpose
   * @param split true if the columns are the short extent, false if the rows are
   * @param kernel the kernel that transposes
   */
  record Narrow(MatrixBatch matrices, boolean split, KernelIndex.Kernel kernel)
      implements TransposeStrategy {
    /** The longest extent that counts as narrow. */
    static final int MOST = 31;

    /** Suffix of the families of kernels for inputs or outputs without alignment. */
    static final String SHIFTED = "_shifted";

    /** The largest number of bytes of a piece; {@code STAGE_BYTES} in transpose_narrow.cu. */
    static final int STAGE_BYTES = 16384;

    /** Checks the count of outer axes. */
    public Narrow {
      checkOuter(matrices.outer());
    }

    @Override
    public Optional<KernelLaunch> launch(DeviceLimits limits) {
      long narrow = split ? matrices.cols() : matrices.rows();
      long count = split ? matrices.rows() : matrices.cols();
      long stride = split ? matrices.outRowStride() : matrices.inRowStride();
      long most = STAGE_BYTES / (narrow * matrices.elementBytes());
      long length = Long.highestOneBit(most);
      // Vectors begin up to this number of elements before the first element.
      long before =
          split && kernel.family().endsWith(SHIFTED)
              ? VECTOR_BYTES / matrices.elementBytes() - 1L
              : 0;
      long pieces = Ceil.div(Math.addExact(count, before), length);
      long all = Math.multiplyExact(pieces, matrices.count());
      List<Long> words =
          new ArrayList<>(
              List.of(
                  narrow, count, stride, all, pieces, (long) Long.numberOfTrailingZeros(length)));
      addOuter(words, matrices.outer());
      return Optional.of(
          new KernelLaunch(
              kernel.name(),
              LaunchConfig.forPieces(all, kernel.shape().threads(), 0, limits),
              words.stream().mapToLong(Long::longValue).toArray()));
    }

    @Override
    public String describe() {
      return "Narrow " + matrices + " by " + kernel.name();
    }
  }

  /**
   * Permutations with short extents or runs, in boxes that hold many runs.
   *
   * @param box the box that a thread block stages
   * @param kernel the kernel that moves the boxes
   */
  record Packed(PackedBox box, KernelIndex.Kernel kernel) implements TransposeStrategy {
    @Override
    public Optional<KernelLaunch> launch(DeviceLimits limits) {
      return Optional.of(
          new KernelLaunch(
              kernel.name(),
              LaunchConfig.forPieces(
                  box.boxes(), kernel.shape().threads(), box.sharedBytes(), limits),
              box.words()));
    }

    @Override
    public String describe() {
      return "Packed boxes of " + box + " by " + kernel.name();
    }
  }

  private static Optional<KernelLaunch> launchTiles(
      MatrixBatch matrices,
      long rowTiles,
      long colTiles,
      TileOrder order,
      KernelIndex.Kernel kernel,
      DeviceLimits limits) {
    return Optional.of(
        new KernelLaunch(
            kernel.name(),
            LaunchConfig.forPieces(
                matrices.tiles(rowTiles, colTiles), kernel.shape().threads(), 0, limits),
            matrices.tileWords(rowTiles, colTiles, order)));
  }

  private static long volume(long inner, List<Axis> outer) {
    long volume = inner;
    for (Axis axis : outer) {
      volume = Math.multiplyExact(volume, axis.extent());
    }
    return volume;
  }

  private static void checkOuter(List<Axis> outer) {
    if (outer.size() > MAX_OUTER) {
      throw new IllegalArgumentException(
          outer.size() + " outer axes; a kernel takes at most " + MAX_OUTER);
    }
  }

  /**
   * Adds the words of the outer axes, innermost last, after axes of extent 1 up to {@link
   * #MAX_OUTER} axes.
   */
  static void addOuter(List<Long> words, List<Axis> outer) {
    long[] axes = new long[3 * MAX_OUTER];
    putOuter(axes, 0, outer);
    for (long word : axes) {
      words.add(word);
    }
  }

  /**
   * Puts the words of the outer axes, as {@link #addOuter} adds them, into {@code words} from
   * {@code at} on.
   */
  static void putOuter(long[] words, int at, List<Axis> outer) {
    int next = at;
    for (int i = outer.size(); i < MAX_OUTER; i++) {
      words[next] = 1;
      next += 3;
    }
    for (Axis axis : outer) {
      words[next] = axis.extent();
      words[next + 1] = axis.inStride();
      words[next + 2] = axis.outStride();
      next += 3;
    }
  }
}

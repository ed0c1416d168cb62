package org.tilespark.kernels.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How a transpose is done: the closed set of answers of {@link TransposePlanner}. Each case knows
 * its kernel and its launch shape.
 */
public sealed interface TransposeStrategy {
  /** Outer axes a kernel's argument struct has room for; {@code MAX_OUTER} in index.cuh. */
  int MAX_OUTER = 4;

  /** The launch on a device of these limits; empty if the driver's own copy does the work. */
  Optional<KernelLaunch> launch(DeviceLimits limits);

  /** One line for EXPLAIN and for messages. */
  String describe();

  /**
   * The order changes nothing: one copy.
   *
   * @param bytes length; may be 0
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
   * The innermost axis stays: whole contiguous runs move. {@code out[o][r] = in[perm(o)][r]}.
   *
   * @param unitBytes width of one access: the widest of 1 to 16 that divides a run and fits the
   *     alignment
   * @param run length of a run, in units
   * @param outer the other axes in output order, outermost first, strides in units
   * @param kernel the kernel that runs it
   */
  record StridedCopy(int unitBytes, long run, List<Axis> outer, KernelIndex.Kernel kernel)
      implements TransposeStrategy {
    /** Units each thread moves in one pass; {@code ITEMS} in copy_strided.cu. */
    static final int UNITS_PER_THREAD = 4;

    /** Copies the list and checks its length. */
    public StridedCopy {
      outer = List.copyOf(outer);
      checkOuter(outer);
    }

    @Override
    public Optional<KernelLaunch> launch(DeviceLimits limits) {
      long units = run;
      for (Axis axis : outer) {
        units = Math.multiplyExact(units, axis.extent());
      }
      int threads = kernel.shape().threads();
      long chunks = ceilDiv(units, (long) threads * UNITS_PER_THREAD);
      List<Long> words = new ArrayList<>(List.of(units, run));
      addOuter(words, outer);
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
   * Two-dimensional transposes through a tile in shared memory, one for each step of the outer
   * axes: {@code out[o][j][i] = in[o][i][j]}, every stride free but the two innermost, which are 1.
   *
   * @param elementBytes width of one element as moved; an innermost axis of a few bytes that stays
   *     in place is part of the element
   * @param rows extent of the input axis that becomes innermost
   * @param cols extent of the input's innermost axis
   * @param inRowStride elements between neighbours along {@code rows} in the input
   * @param outRowStride elements between neighbours along {@code cols} in the output
   * @param outer the other axes in output order, outermost first
   * @param kernel the kernel that runs it
   */
  record Tiled(
      int elementBytes,
      long rows,
      long cols,
      long inRowStride,
      long outRowStride,
      List<Axis> outer,
      KernelIndex.Kernel kernel)
      implements TransposeStrategy {
    /** Copies the list and checks its length. */
    public Tiled {
      outer = List.copyOf(outer);
      checkOuter(outer);
    }

    @Override
    public Optional<KernelLaunch> launch(DeviceLimits limits) {
      KernelIndex.TileShape tile = kernel.shape();
      long rowTiles = ceilDiv(rows, tile.rows());
      long colTiles = ceilDiv(cols, tile.cols());
      long tiles = Math.multiplyExact(rowTiles, colTiles);
      for (Axis axis : outer) {
        tiles = Math.multiplyExact(tiles, axis.extent());
      }
      List<Long> words =
          new ArrayList<>(
              List.of(rows, cols, inRowStride, outRowStride, tiles, rowTiles, colTiles));
      addOuter(words, outer);
      return Optional.of(
          new KernelLaunch(
              kernel.name(),
              LaunchConfig.forPieces(tiles, tile.threads(), 0, limits),
              words.stream().mapToLong(Long::longValue).toArray()));
    }

    @Override
    public String describe() {
      long count = outer.stream().mapToLong(Axis::extent).reduce(1, (a, b) -> a * b);
      return "Tiled "
          + (count == 1 ? "" : count + " x ")
          + rows
          + " x "
          + cols
          + " by "
          + kernel.name();
    }
  }

  private static void checkOuter(List<Axis> outer) {
    if (outer.size() > MAX_OUTER) {
      throw new IllegalArgumentException(
          outer.size() + " outer axes; a kernel takes at most " + MAX_OUTER);
    }
  }

  /** The outer axes, innermost last, padded in front with axes of extent 1. */
  private static void addOuter(List<Long> words, List<Axis> outer) {
    for (int i = outer.size(); i < MAX_OUTER; i++) {
      words.addAll(List.of(1L, 0L, 0L));
    }
    for (Axis axis : outer) {
      words.addAll(List.of(axis.extent(), axis.inStride(), axis.outStride()));
    }
  }

  private static long ceilDiv(long a, long b) {
    return a / b + (a % b == 0 ? 0 : 1);
  }
}

package org.tilespark.kernels.transpose;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.tilespark.kernels.launch.Ceil;

/** Finds the box that moves the elements of a {@link Move} at the least cost. Pure functions. */
final class PackedBoxChoice {
  /** Lengths of runs to try, in bytes; the longest serve batches of tiny matrices. */
  private static final int[] RUN_BYTES =
      IntStream.concat(
              IntStream.concat(
                  IntStream.rangeClosed(1, 16).map(n -> 32 * n),
                  IntStream.rangeClosed(9, 16).map(n -> 64 * n)),
              IntStream.concat(
                  IntStream.rangeClosed(5, 16).map(n -> 256 * n),
                  IntStream.of(6144, 8192, 12_288, 16_384)))
          .toArray();

  /**
   * The least number of bytes of shared memory to which {@link #choose} shrinks a box, to get more
   * boxes.
   */
  private static final int LEAST_SHARED_BYTES = 5 << 10;

  private PackedBoxChoice() {}

  /**
   * The best box for {@code move}; empty if input or output has no contiguous axis, or no box fits.
   *
   * @param move the move, with at least two axes
   * @param threads threads of a thread block
   * @param sharedBytes bytes of shared memory that a thread block may take
   * @param wantedBoxes least count of boxes; boxes become smaller to reach it
   */
  static Optional<PackedBox> choose(Move move, int threads, int sharedBytes, long wantedBoxes) {
    Optional<PackedBox> box = choose(move, threads, sharedBytes);
    int less = sharedBytes / 2;
    while (box.isPresent() && box.get().boxes() < wantedBoxes && less >= LEAST_SHARED_BYTES) {
      Optional<PackedBox> smaller = choose(move, threads, less);
      box = smaller.isPresent() ? smaller : box;
      less /= 2;
    }
    return box;
  }

  private static Optional<PackedBox> choose(Move move, int threads, int sharedBytes) {
    PackedBox.Ends in = PackedBox.Ends.of(move, Axis::inStride);
    PackedBox.Ends out = PackedBox.Ends.of(move, Axis::outStride);
    if (in.chain().isEmpty() || out.chain().isEmpty()) {
      return Optional.empty();
    }
    Set<List<Long>> tried = new HashSet<>();
    PackedBox best = null;
    for (int inBytes : RUN_BYTES) {
      for (int outBytes : RUN_BYTES) {
        long[] extents = new long[move.axes().size()];
        Arrays.fill(extents, 1);
        extend(extents, move, in.chain(), inBytes);
        extend(extents, move, out.chain(), outBytes);
        if (bytes(extents, move.elementBytes()) <= sharedBytes
            && tried.add(Arrays.stream(extents).boxed().toList())) {
          PackedBox box = new PackedBox(move, extents, in, out, threads);
          if (box.sharedBytes() <= sharedBytes && (best == null || box.cost() < best.cost())) {
            best = box;
          }
        }
      }
    }
    return best == null || best.cost() == Double.POSITIVE_INFINITY
        ? Optional.empty()
        : Optional.of(best);
  }

  private static double bytes(long[] extents, int elementBytes) {
    double bytes = elementBytes;
    for (long extent : extents) {
      bytes *= extent;
    }
    return bytes;
  }

  /**
   * Extends a box along the innermost axes of input or output, which are {@code chain}, until its
   * runs have {@code bytes} bytes.
   */
  private static void extend(long[] extents, Move move, List<Integer> chain, int bytes) {
    long wanted = Ceil.div(bytes, move.elementBytes());
    long run = 1;
    for (int k : chain) {
      if (run >= wanted) {
        return;
      }
      long whole = move.axes().get(k).extent();
      long steps = Math.min(whole, Ceil.div(wanted, run));
      if (steps < whole) {
        // The box's extent is chosen so that boxes end with a sector.
        long together =
            PackedBox.SECTOR_BYTES / gcd(PackedBox.SECTOR_BYTES, run * move.elementBytes());
        steps = Math.max(2, steps > together ? steps - steps % together : steps);
      }
      extents[k] = Math.max(extents[k], steps);
      run *= extents[k];
      if (extents[k] < whole) {
        return;
      }
    }
  }

  private static long gcd(long a, long b) {
    return b == 0 ? a : gcd(b, a % b);
  }
}

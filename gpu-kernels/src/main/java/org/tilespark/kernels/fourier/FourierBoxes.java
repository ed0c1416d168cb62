package org.tilespark.kernels.fourier;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;

/**
 * Arguments of the kernels of {@code fourier_boxes.cu}, which copy boxes between the planes of
 * blocks (dense; real and imaginary parts in separate planes) and one array on the device (complex
 * numbers interleaved).
 */
public final class FourierBoxes {
  /** The largest number of pieces in one launch; {@code MAX_PIECES} in the kernel. */
  static final int MOST_PIECES = 128;

  /**
   * Units of work of each thread: a unit is an element or a vector of 16 bytes; {@code ITEMS} in
   * the kernel.
   */
  static final int UNITS_PER_THREAD = 4;

  private static final int VECTOR_BYTES = 16;
  private static final int AXES = 3;

  private FourierBoxes() {}

  /** The direction in which elements are copied. */
  public enum Direction {
    /** Copies from planes into the array. */
    PUT,
    /** Copies from the array into planes. */
    TAKE
  }

  /**
   * Direction and type of the elements that are copied.
   *
   * @param type type of the numbers, or of the parts of complex numbers: FLOAT32 or FLOAT64
   * @param factor factor by which each element is multiplied; 1 keeps its bits as they are
   */
  public record Transfer(Direction direction, ElementType type, boolean isComplex, double factor) {}

  /**
   * A range of the elements of a box.
   *
   * @param array extents of the array, 1 to 3 axes, or 4 if the box has extent 1 along the first
   * @param low index of the box's first element in the array, one number per axis
   * @param size extents of the box
   * @param start number of the range's first element, counted in the box row by row
   * @param count number of elements of the range
   * @param re bytes from the planes' address to the real part of the range's first element
   * @param im bytes from the planes' address to its imaginary part; ignored for real arrays
   */
  public record Piece(
      Shape array, List<Long> low, Shape size, long start, long count, long re, long im) {
    /** Checks that the box is inside the array and the range inside the box. */
    public Piece {
      low = List.copyOf(low);
      boolean fits =
          low.size() == array.rank()
              && size.rank() == array.rank()
              && (array.rank() <= AXES || (array.rank() == AXES + 1 && size.extent(0) == 1));
      for (int axis = 0; fits && axis < low.size(); axis++) {
        fits = low.get(axis) >= 0 && low.get(axis) <= array.extent(axis) - size.extent(axis);
      }
      if (!fits || start < 0 || count < 1 || start > size.elements() - count) {
        throw new IllegalArgumentException(
            "Elements %s to %s of a box %s at %s of an array %s"
                .formatted(start, start + count, size, low, array));
      }
    }
  }

  /**
   * The launches that move pieces, in any order; each takes the addresses of the planes and of the
   * array as pointers, the input's address first.
   */
  public static List<KernelLaunch> launches(
      Transfer transfer, List<Piece> pieces, DeviceKernels device) {
    String family =
        "fourier_"
            + (transfer.direction == Direction.PUT ? "put" : "take")
            + (transfer.isComplex ? "_complex" : "_real");
    KernelIndex.Kernel kernel =
        device
            .find(family, transfer.type.bytes())
            .orElseThrow(
                () ->
                    new UnsupportedOperationException(
                        "This jar has no kernel %s for %s"
                            .formatted(family, device.limits().architecture())));
    List<KernelLaunch> launches = new ArrayList<>();
    for (int from = 0; from < pieces.size(); from += MOST_PIECES) {
      List<Piece> some = pieces.subList(from, Math.min(pieces.size(), from + MOST_PIECES));
      launches.add(launch(kernel, transfer, some, device.limits()));
    }
    return launches;
  }

  private static KernelLaunch launch(
      KernelIndex.Kernel kernel, Transfer transfer, List<Piece> pieces, DeviceLimits limits) {
    int width = transfer.type.bytes();
    boolean isComplex = transfer.isComplex;
    List<Long> parts = new ArrayList<>();
    long units = 0;
    for (Piece piece : pieces) {
      long vector = VECTOR_BYTES / (width * (isComplex ? 2L : 1L));
      Geometry geometry = Geometry.of(piece);
      boolean wide = vector > 1 && geometry.suits(piece, vector, width, isComplex);
      parts.addAll(
          List.of(
              units,
              piece.start(),
              piece.count(),
              wide ? 1L : 0L,
              geometry.run(),
              geometry.rows(),
              geometry.rowStride(),
              geometry.sliceStride(),
              geometry.base(),
              piece.re(),
              piece.im()));
      units += wide ? (piece.count() + vector - 1) / vector : piece.count();
    }
    List<Long> words =
        new ArrayList<>(
            List.of(
                units,
                (long) pieces.size(),
                transfer.factor == 1 ? 0L : 1L,
                Double.doubleToRawLongBits(transfer.factor)));
    words.addAll(parts);
    int threads = kernel.shape().threads();
    long chunk = (long) threads * UNITS_PER_THREAD;
    return new KernelLaunch(
        kernel.name(),
        LaunchConfig.forPieces((units + chunk - 1) / chunk, threads, 0, limits),
        words.stream().mapToLong(Long::longValue).toArray());
  }

  /**
   * Places of a box's elements in the array, as slices of rows of runs: a run is a range of
   * contiguous elements.
   *
   * @param run elements of a run
   * @param rows how many runs a slice has
   * @param rowStride elements of the array from the start of a run to the next
   * @param sliceStride elements of the array from the start of a slice to the next
   * @param base index of the box's first element in the array
   */
  record Geometry(long run, long rows, long rowStride, long sliceStride, long base) {
    static Geometry of(Piece piece) {
      Strides strides = Strides.rowMajor(piece.array());
      long base = 0;
      long[] extents = {1, 1, 1};
      long[] steps = new long[AXES];
      int next = AXES; // the axis filled last; axes are filled from the innermost on
      for (int axis = piece.array().rank() - 1; axis >= 0; axis--) {
        long extent = piece.size().extent(axis);
        base += piece.low().get(axis) * strides.stride(axis);
        if (extent == 1 && !(axis == 0 && next == AXES)) {
          continue;
        }
        if (next < AXES && steps[next] * extents[next] == strides.stride(axis)) {
          extents[next] *= extent; // continues the axis inside it
        } else {
          next--;
          extents[next] = extent;
          steps[next] = strides.stride(axis);
        }
      }
      if (steps[AXES - 1] > 1) { // no elements are contiguous: each is a run
        return shifted(extents, steps, base);
      }
      return new Geometry(extents[2], extents[1], steps[1], steps[0], base);
    }

    /** The geometry of a box without contiguous elements: each run is one element. */
    private static Geometry shifted(long[] extents, long[] steps, long base) {
      if (extents[0] > 1) {
        throw new IllegalStateException("Three axes without a contiguous one");
      }
      return new Geometry(1, extents[2], steps[2], steps[1], base);
    }

    boolean suits(Piece piece, long vector, int width, boolean isComplex) {
      boolean whole = run >= piece.size().elements();
      boolean aligned =
          base % vector == 0
              && piece.start() % vector == 0
              && piece.re() % (vector * width) == 0
              && (!isComplex || piece.im() % (vector * width) == 0);
      return aligned && (whole || (run % vector == 0 && (rowStride | sliceStride) % vector == 0));
    }
  }
}

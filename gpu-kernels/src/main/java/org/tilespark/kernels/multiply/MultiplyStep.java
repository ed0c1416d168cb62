package org.tilespark.kernels.multiply;

import java.util.List;
import java.util.Objects;
import org.tilespark.kernels.launch.KernelLaunch;

/**
 * One launch of a multiply, which runs after the multiply's previous launch. Only the addresses of
 * operands are missing.
 *
 * @param launch the kernel, the launch's shape, and the last fields of the kernel's struct
 * @param maps the first fields of the kernel's struct
 * @param pointers the fields of the struct after the maps
 */
public record MultiplyStep(KernelLaunch launch, List<TensorMap> maps, List<Place> pointers) {
  /** Copies the lists. */
  public MultiplyStep {
    Objects.requireNonNull(launch, "launch");
    maps = List.copyOf(maps);
    pointers = List.copyOf(pointers);
  }

  /** The memory in which a place is, whose address is known only at the launch. */
  public enum Side {
    /** The first byte of A. */
    A,
    /** The first byte of B. */
    B,
    /** The first byte of C. */
    C,
    /** The first byte of the workspace, a multiple of 256. */
    WORKSPACE,
    /** No side: the null pointer. */
    NOWHERE
  }

  /**
   * Element types that the copy engine copies; the codes are those of {@code CUtensorMapDataType}.
   */
  public enum Element {
    /** float16. */
    FLOAT16(2, 6),
    /** float32. */
    FLOAT32(4, 7),
    /** float64. */
    FLOAT64(8, 8),
    /** bfloat16. */
    BFLOAT16(2, 9),
    /** float32, which the copy engine rounds to tf32, ties to even. */
    TF32(4, 11);

    private final int bytes;
    private final int code;

    Element(int bytes, int code) {
      this.bytes = bytes;
      this.code = code;
    }

    /** Width of an element in bytes. */
    public int bytes() {
      return bytes;
    }

    /** The driver's code for the element type. */
    public int code() {
      return code;
    }
  }

  /**
   * The address of an operand, of the workspace, or of a part of either.
   *
   * @param side the operand or the workspace
   * @param bytes bytes from the side's first byte
   */
  public record Place(Side side, long bytes) {
    /** The null pointer. */
    static final Place NOWHERE = new Place(Side.NOWHERE, 0);

    /** Checks that the side is given. */
    public Place {
      Objects.requireNonNull(side, "side");
    }
  }

  /**
   * A tensor and the boxes in which the copy engine copies it to shared memory; elements outside
   * the tensor become zero. Axes are in the driver's order, the contiguous one first.
   *
   * @param from place of the tensor's first element, at a multiple of 16 bytes
   * @param element element type
   * @param extents extents of the tensor, two to four
   * @param strideBytes strides of all axes but the first, in bytes, multiples of 16; elements along
   *     several axes may overlap
   * @param box extents of a box
   * @param swizzled true if the copy engine swizzles a box's rows of 64 or 128 bytes, in the mode
   *     for this length
   * @param fetch bytes that L2 fetches at a time
   */
  public record TensorMap(
      Place from,
      Element element,
      List<Long> extents,
      List<Long> strideBytes,
      List<Integer> box,
      boolean swizzled,
      Fetch fetch) {
    /** Bytes that L2 fetches from memory at a time; the codes are those of the driver. */
    public enum Fetch {
      /** 128 bytes. */
      BYTES_128(2),
      /** 256 bytes. */
      BYTES_256(3);

      private final int code;

      Fetch(int code) {
        this.code = code;
      }

      /** The driver's code, a {@code CUtensorMapL2promotion}. */
      public int code() {
        return code;
      }
    }

    /** Strides of a tensor map must have fewer bytes than this. */
    static final long MOST_LEAD_BYTES = 1L << 40;

    /** The largest number of axes of our maps; the driver accepts five. */
    public static final int MOST_AXES = 4;

    private static final int MOST_BOX_EXTENT = 256;

    /** Copies the lists and checks what the driver requires. */
    public TensorMap {
      Objects.requireNonNull(from, "from");
      Objects.requireNonNull(fetch, "fetch");
      extents = List.copyOf(extents);
      strideBytes = List.copyOf(strideBytes);
      box = List.copyOf(box);
      if (extents.size() < 2
          || extents.size() > MOST_AXES
          || strideBytes.size() != extents.size() - 1
          || box.size() != extents.size()
          || extents.stream().anyMatch(extent -> extent < 1 || extent > Integer.MAX_VALUE)
          || strideBytes.stream()
              .anyMatch(stride -> stride % 16 != 0 || stride < 16 || stride >= MOST_LEAD_BYTES)
          || box.stream().anyMatch(extent -> extent < 1 || extent > MOST_BOX_EXTENT)
          || box.get(0) * element.bytes() % 16 != 0
          || (swizzled
              && box.get(0) * element.bytes() != 64
              && box.get(0) * element.bytes() != 128)) {
        throw new IllegalArgumentException(
            "Boxes of %s %s of %s, %s bytes apart, cannot be copied"
                .formatted(box, element, extents, strideBytes));
      }
    }

    /** A tensor map of which L2 fetches 256 bytes at a time. */
    public TensorMap(
        Place from,
        Element element,
        List<Long> extents,
        List<Long> strideBytes,
        List<Integer> box,
        boolean swizzled) {
      this(from, element, extents, strideBytes, box, swizzled, Fetch.BYTES_256);
    }

    /** A tensor map with swizzled boxes. */
    public TensorMap(
        Place from,
        Element element,
        List<Long> extents,
        List<Long> strideBytes,
        List<Integer> box) {
      this(from, element, extents, strideBytes, box, true);
    }

    /**
     * A tensor map of a row-major matrix, with swizzled boxes.
     *
     * @param cols elements of a row
     * @param rows number of rows
     * @param leadBytes bytes between the starts of neighbouring rows
     * @param boxCols elements of a row of a box
     * @param boxRows rows of a box
     */
    public TensorMap(
        Place from,
        Element element,
        long cols,
        long rows,
        long leadBytes,
        int boxCols,
        int boxRows) {
      this(from, element, List.of(cols, rows), List.of(leadBytes), List.of(boxCols, boxRows));
    }

    /** Bytes of one row of a box. */
    public int boxRowBytes() {
      return box.get(0) * element.bytes();
    }
  }
}

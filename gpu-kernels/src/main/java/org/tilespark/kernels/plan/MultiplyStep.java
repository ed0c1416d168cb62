package org.tilespark.kernels.plan;

import java.util.List;
import java.util.Objects;

/**
 * One thing that a stream does for a multiply, after the one before: ready to run but for the
 * addresses where operands begin.
 */
public sealed interface MultiplyStep {
  /** What an address is counted from. */
  enum Side {
    /** The first byte of A. */
    A,
    /** The first byte of B. */
    B,
    /** The first byte of C. */
    C,
    /** The first byte of the workspace, a multiple of 256. */
    WORKSPACE,
    /** Nothing: the null pointer. */
    NOWHERE
  }

  /** What the copy engine copies; the codes are those of {@code CUtensorMapDataType}. */
  enum Element {
    /** float16. */
    FLOAT16(2, 6),
    /** float32. */
    FLOAT32(4, 7),
    /** float64. */
    FLOAT64(8, 8),
    /** bfloat16. */
    BFLOAT16(2, 9);

    private final int bytes;
    private final int code;

    Element(int bytes, int code) {
      this.bytes = bytes;
      this.code = code;
    }

    /** Width in bytes. */
    public int bytes() {
      return bytes;
    }

    /** What the driver calls it. */
    public int code() {
      return code;
    }
  }

  /**
   * Where something begins.
   *
   * @param side what it is a part of
   * @param bytes from the side's first byte
   */
  record Place(Side side, long bytes) {
    /** The null pointer. */
    static final Place NOWHERE = new Place(Side.NOWHERE, 0);

    /** Checks that the side is given. */
    public Place {
      Objects.requireNonNull(side, "side");
    }
  }

  /**
   * A row-major matrix and the boxes in which the copy engine takes it to shared memory: rows of a
   * box, of 64 or 128 bytes, are swizzled by their length, and what lies outside the matrix arrives
   * as zero.
   *
   * @param from its first element, at a multiple of 16 bytes
   * @param element what it holds
   * @param cols elements of a row
   * @param rows count of rows
   * @param leadBytes bytes between the starts of neighbouring rows, a multiple of 16
   * @param boxCols elements of a row of a box
   * @param boxRows rows of a box
   */
  record TensorMap(
      Place from, Element element, long cols, long rows, long leadBytes, int boxCols, int boxRows) {
    /** The strides that the copy engine takes are shorter than this. */
    static final long MOST_LEAD_BYTES = 1L << 40;

    private static final int MOST_BOX_ROWS = 256;

    /** Checks what the driver demands. */
    public TensorMap {
      if (cols < 1
          || rows < 1
          || cols > Integer.MAX_VALUE
          || rows > Integer.MAX_VALUE
          || leadBytes % 16 != 0
          || leadBytes < 16
          || leadBytes >= MOST_LEAD_BYTES
          || (boxCols * element.bytes() != 64 && boxCols * element.bytes() != 128)
          || boxRows < 1
          || boxRows > MOST_BOX_ROWS) {
        throw new IllegalArgumentException(
            "Boxes of "
                + boxRows
                + " x "
                + boxCols
                + " "
                + element
                + " of "
                + rows
                + " x "
                + cols
                + ", rows "
                + leadBytes
                + " bytes apart, cannot be copied");
      }
    }

    /** Bytes of a row of a box. */
    public int boxRowBytes() {
      return boxCols * element.bytes();
    }
  }

  /**
   * Sets bytes to zero.
   *
   * @param at the first
   * @param bytes how many, at least one
   */
  record Clear(Place at, long bytes) implements MultiplyStep {}

  /**
   * One launch.
   *
   * @param launch the kernel, its shape, and the last fields of its struct
   * @param maps the first fields of its struct
   * @param pointers the fields behind the maps
   */
  record Run(KernelLaunch launch, List<TensorMap> maps, List<Place> pointers)
      implements MultiplyStep {
    /** Copies the lists. */
    public Run {
      Objects.requireNonNull(launch, "launch");
      maps = List.copyOf(maps);
      pointers = List.copyOf(pointers);
    }
  }
}

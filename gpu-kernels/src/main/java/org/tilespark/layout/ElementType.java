package org.tilespark.layout;

/** The element types a block may hold, with their widths. Kernels look only at the width. */
public enum ElementType {
  INT8(1),
  INT16(2),
  INT32(4),
  INT64(8),
  FLOAT32(4),
  FLOAT64(8);

  private final int bytes;

  ElementType(int bytes) {
    this.bytes = bytes;
  }

  /** Width of one element, in bytes. */
  public int bytes() {
    return bytes;
  }
}

package org.tilespark.kernels.device.driver;

import com.sun.jna.Native;

/**
 * The driver call that makes tensor maps, bound with JNA; separate from {@link LibCuda} since
 * drivers before CUDA 12 lack it. There, initialising this class throws {@link
 * UnsatisfiedLinkError}; kernels that take maps do not load there either.
 */
public final class LibCudaTensor {
  /** Bytes of a {@code CUtensorMap}. */
  public static final int MAP_BYTES = 128;

  /** Alignment in bytes of a struct that begins with maps; the call itself needs only 64. */
  public static final int ALIGNMENT = 128;

  public static final int CU_TENSOR_MAP_INTERLEAVE_NONE = 0;
  public static final int CU_TENSOR_MAP_SWIZZLE_NONE = 0;
  public static final int CU_TENSOR_MAP_SWIZZLE_64B = 2;
  public static final int CU_TENSOR_MAP_SWIZZLE_128B = 3;
  public static final int CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0;

  static {
    Native.register(LibCudaTensor.class, "libcuda.so.1");
  }

  private LibCudaTensor() {}

  /**
   * Encodes a tensor map.
   *
   * @param map address of the map, in host memory, as are those of the arrays
   * @param dataType element type, a {@code CUtensorMapDataType}
   * @param rank number of axes
   * @param device address of the tensor
   * @param extents address of the tensor's extents: {@code rank} longs, innermost first
   * @param strides address of the strides of all axes but the innermost: {@code rank - 1} longs, in
   *     bytes
   * @param box address of the box's extents: {@code rank} ints
   * @param steps address of the distances between elements of a box: {@code rank} ints
   */
  public static native int cuTensorMapEncodeTiled(
      long map,
      int dataType,
      int rank,
      long device,
      long extents,
      long strides,
      long box,
      long steps,
      int interleave,
      int swizzle,
      int l2Promotion,
      int outOfBoundsFill);
}

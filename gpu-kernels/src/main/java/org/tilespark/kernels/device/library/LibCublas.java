package org.tilespark.kernels.device.library;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.file.Path;
import java.util.List;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.library.LibraryFinder;
import org.tilespark.kernels.library.LibraryFinder.Release;

/**
 * The functions of cuBLAS that we call, bound with JNA once {@link #load} has found the library.
 * Pointers to device memory and streams are numbers.
 */
public final class LibCublas {
  public static final int CUBLAS_STATUS_SUCCESS = 0;
  public static final int CUBLAS_STATUS_ALLOC_FAILED = 3;
  public static final int CUBLAS_OP_N = 0;
  public static final int CUBLAS_OP_T = 1;
  public static final int CUBLAS_FILL_MODE_LOWER = 0;
  public static final int CUBLAS_FILL_MODE_UPPER = 1;
  public static final int CUBLAS_SIDE_RIGHT = 1;
  public static final int CUBLAS_DIAG_NON_UNIT = 0;
  public static final int CUBLAS_DIAG_UNIT = 1;
  public static final int CUDA_R_32F = 0;
  public static final int CUDA_R_64F = 1;
  public static final int CUBLAS_COMPUTE_32F = 68;
  public static final int CUBLAS_COMPUTE_64F = 70;
  public static final int CUBLAS_COMPUTE_32F_FAST_16F = 74;
  public static final int CUBLAS_COMPUTE_32F_FAST_16BF = 75;
  public static final int CUBLAS_COMPUTE_32F_FAST_TF32 = 77;
  public static final int CUBLAS_GEMM_DEFAULT = -1;

  /** The results of cuBLAS's calls. */
  public static final LibraryStatuses STATUSES =
      new LibraryStatuses("cuBLAS", CUBLAS_STATUS_ALLOC_FAILED, LibCublas::statusName);

  private static final LibraryFinder FINDER =
      new LibraryFinder(
          "cuBLAS",
          "gpu.libraryPath",
          LibCublas.class,
          new Release("libcublas.so.13", "libcublasLt.so.13"),
          new Release("libcublas.so.12", "libcublasLt.so.12"));

  private LibCublas() {}

  /**
   * Finds the library, once per process.
   *
   * @param directories directories to search if the system's loader does not find it
   * @return the file that is used, or why there is none, and what helps
   */
  public static Availability<String> load(List<Path> directories) {
    return FINDER.bind(directories);
  }

  /** NVIDIA's name of a result. */
  public static String statusName(int status) {
    return switch (status) {
      case CUBLAS_STATUS_SUCCESS -> "CUBLAS_STATUS_SUCCESS";
      case 1 -> "CUBLAS_STATUS_NOT_INITIALIZED";
      case CUBLAS_STATUS_ALLOC_FAILED -> "CUBLAS_STATUS_ALLOC_FAILED";
      case 7 -> "CUBLAS_STATUS_INVALID_VALUE";
      case 8 -> "CUBLAS_STATUS_ARCH_MISMATCH";
      case 11 -> "CUBLAS_STATUS_MAPPING_ERROR";
      case 13 -> "CUBLAS_STATUS_EXECUTION_FAILED";
      case 14 -> "CUBLAS_STATUS_INTERNAL_ERROR";
      case 15 -> "CUBLAS_STATUS_NOT_SUPPORTED";
      case 16 -> "CUBLAS_STATUS_LICENSE_ERROR";
      default -> "an unknown status";
    };
  }

  public static native int cublasCreate_v2(PointerByReference handle);

  public static native int cublasDestroy_v2(Pointer handle);

  public static native int cublasGetVersion_v2(Pointer handle, IntByReference version);

  public static native int cublasSetStream_v2(Pointer handle, long stream);

  public static native int cublasSetWorkspace_v2(Pointer handle, long workspace, long bytes);

  public static native int cublasGemmStridedBatchedEx_64(
      Pointer handle,
      int operationA,
      int operationB,
      long m,
      long n,
      long k,
      Pointer alpha,
      long a,
      int typeA,
      long leadA,
      long strideA,
      long b,
      int typeB,
      long leadB,
      long strideB,
      Pointer beta,
      long c,
      int typeC,
      long leadC,
      long strideC,
      long count,
      int computeType,
      int algorithm);

  public static native int cublasGemmEx_64(
      Pointer handle,
      int operationA,
      int operationB,
      long m,
      long n,
      long k,
      Pointer alpha,
      long a,
      int typeA,
      long leadA,
      long b,
      int typeB,
      long leadB,
      Pointer beta,
      long c,
      int typeC,
      long leadC,
      int computeType,
      int algorithm);

  public static native int cublasDgemv_v2_64(
      Pointer handle,
      int operation,
      long m,
      long n,
      Pointer alpha,
      long a,
      long leadA,
      long x,
      long stepX,
      Pointer beta,
      long y,
      long stepY);

  public static native int cublasDsymv_v2_64(
      Pointer handle,
      int fill,
      long n,
      Pointer alpha,
      long a,
      long leadA,
      long x,
      long stepX,
      Pointer beta,
      long y,
      long stepY);

  public static native int cublasDtrsm_v2_64(
      Pointer handle,
      int side,
      int fill,
      int operation,
      int diagonal,
      long m,
      long n,
      Pointer alpha,
      long a,
      long leadA,
      long b,
      long leadB);
}

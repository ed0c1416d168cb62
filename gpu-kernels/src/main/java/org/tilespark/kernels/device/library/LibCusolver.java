package org.tilespark.kernels.device.library;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.file.Path;
import java.util.List;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.library.LibraryFinder;
import org.tilespark.kernels.library.LibraryFinder.Release;

/**
 * The functions of cuSOLVER's dense part that we call, bound with JNA once {@link #load} has found
 * the library. Pointers to device memory and streams are numbers. The library must be of CUDA 12.2
 * or later. The library of CUDA 11, whose file name is that of CUDA 12's, lacks {@link
 * #cusolverDnSetDeterministicMode} and is refused.
 */
public final class LibCusolver {
  public static final int CUSOLVER_STATUS_SUCCESS = 0;
  public static final int CUSOLVER_STATUS_ALLOC_FAILED = 2;
  public static final int CUSOLVER_DETERMINISTIC_RESULTS = 1;
  public static final int CUSOLVER_EIG_MODE_NOVECTOR = 0;
  public static final int CUSOLVER_EIG_MODE_VECTOR = 1;
  public static final int CUSOLVER_EIG_RANGE_I = 1002;
  public static final int CUDA_R_64F = 1;

  /** The results of cuSOLVER's calls. */
  public static final LibraryStatuses STATUSES =
      new LibraryStatuses("cuSOLVER", CUSOLVER_STATUS_ALLOC_FAILED, LibCusolver::statusName);

  private static final LibraryFinder FINDER =
      new LibraryFinder(
          "cuSOLVER",
          "gpu.libraryPath",
          LibCusolver.class,
          new Release(
              "libcusolver.so.12",
              "libnvJitLink.so.13",
              "libcublasLt.so.13",
              "libcublas.so.13",
              "libcusparse.so.12"),
          new Release(
              "libcusolver.so.11",
              "libnvJitLink.so.12",
              "libcublasLt.so.12",
              "libcublas.so.12",
              "libcusparse.so.12"));

  private LibCusolver() {}

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
      case CUSOLVER_STATUS_SUCCESS -> "CUSOLVER_STATUS_SUCCESS";
      case 1 -> "CUSOLVER_STATUS_NOT_INITIALIZED";
      case CUSOLVER_STATUS_ALLOC_FAILED -> "CUSOLVER_STATUS_ALLOC_FAILED";
      case 3 -> "CUSOLVER_STATUS_INVALID_VALUE";
      case 4 -> "CUSOLVER_STATUS_ARCH_MISMATCH";
      case 5 -> "CUSOLVER_STATUS_MAPPING_ERROR";
      case 6 -> "CUSOLVER_STATUS_EXECUTION_FAILED";
      case 7 -> "CUSOLVER_STATUS_INTERNAL_ERROR";
      case 8 -> "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED";
      case 9 -> "CUSOLVER_STATUS_NOT_SUPPORTED";
      case 11 -> "CUSOLVER_STATUS_INVALID_LICENSE";
      case 31 -> "CUSOLVER_STATUS_INVALID_WORKSPACE";
      default -> "an unknown status";
    };
  }

  public static native int cusolverGetVersion(IntByReference version);

  public static native int cusolverDnCreate(PointerByReference handle);

  public static native int cusolverDnDestroy(Pointer handle);

  public static native int cusolverDnSetStream(Pointer handle, long stream);

  public static native int cusolverDnSetDeterministicMode(Pointer handle, int mode);

  public static native int cusolverDnCreateParams(PointerByReference params);

  public static native int cusolverDnDestroyParams(Pointer params);

  public static native int cusolverDnXgeqrf_bufferSize(
      Pointer handle,
      Pointer params,
      long m,
      long n,
      int typeA,
      long a,
      long leadA,
      int typeTau,
      long tau,
      int computeType,
      LongByReference deviceBytes,
      LongByReference hostBytes);

  public static native int cusolverDnXgeqrf(
      Pointer handle,
      Pointer params,
      long m,
      long n,
      int typeA,
      long a,
      long leadA,
      int typeTau,
      long tau,
      int computeType,
      long deviceArea,
      long deviceBytes,
      Pointer hostArea,
      long hostBytes,
      long info);

  public static native int cusolverDnDorgqr_bufferSize(
      Pointer handle, int m, int n, int k, long a, int leadA, long tau, IntByReference doubles);

  public static native int cusolverDnDorgqr(
      Pointer handle,
      int m,
      int n,
      int k,
      long a,
      int leadA,
      long tau,
      long deviceArea,
      int doubles,
      long info);

  public static native int cusolverDnXgesvd_bufferSize(
      Pointer handle,
      Pointer params,
      byte jobU,
      byte jobVt,
      long m,
      long n,
      int typeA,
      long a,
      long leadA,
      int typeS,
      long s,
      int typeU,
      long u,
      long leadU,
      int typeVt,
      long vt,
      long leadVt,
      int computeType,
      LongByReference deviceBytes,
      LongByReference hostBytes);

  public static native int cusolverDnXgesvd(
      Pointer handle,
      Pointer params,
      byte jobU,
      byte jobVt,
      long m,
      long n,
      int typeA,
      long a,
      long leadA,
      int typeS,
      long s,
      int typeU,
      long u,
      long leadU,
      int typeVt,
      long vt,
      long leadVt,
      int computeType,
      long deviceArea,
      long deviceBytes,
      Pointer hostArea,
      long hostBytes,
      long info);

  public static native int cusolverDnXsyevd_bufferSize(
      Pointer handle,
      Pointer params,
      int job,
      int fill,
      long n,
      int typeA,
      long a,
      long leadA,
      int typeW,
      long w,
      int computeType,
      LongByReference deviceBytes,
      LongByReference hostBytes);

  public static native int cusolverDnXsyevd(
      Pointer handle,
      Pointer params,
      int job,
      int fill,
      long n,
      int typeA,
      long a,
      long leadA,
      int typeW,
      long w,
      int computeType,
      long deviceArea,
      long deviceBytes,
      Pointer hostArea,
      long hostBytes,
      long info);

  public static native int cusolverDnXsyevdx_bufferSize(
      Pointer handle,
      Pointer params,
      int job,
      int range,
      int fill,
      long n,
      int typeA,
      long a,
      long leadA,
      Pointer low,
      Pointer high,
      long first,
      long last,
      LongByReference found,
      int typeW,
      long w,
      int computeType,
      LongByReference deviceBytes,
      LongByReference hostBytes);

  public static native int cusolverDnXsyevdx(
      Pointer handle,
      Pointer params,
      int job,
      int range,
      int fill,
      long n,
      int typeA,
      long a,
      long leadA,
      Pointer low,
      Pointer high,
      long first,
      long last,
      Pointer found,
      int typeW,
      long w,
      int computeType,
      long deviceArea,
      long deviceBytes,
      Pointer hostArea,
      long hostBytes,
      long info);

  public static native int cusolverDnXpotrf_bufferSize(
      Pointer handle,
      Pointer params,
      int fill,
      long n,
      int typeA,
      long a,
      long leadA,
      int computeType,
      LongByReference deviceBytes,
      LongByReference hostBytes);

  public static native int cusolverDnXpotrf(
      Pointer handle,
      Pointer params,
      int fill,
      long n,
      int typeA,
      long a,
      long leadA,
      int computeType,
      long deviceArea,
      long deviceBytes,
      Pointer hostArea,
      long hostBytes,
      long info);

  public static native int cusolverDnXgetrf_bufferSize(
      Pointer handle,
      Pointer params,
      long m,
      long n,
      int typeA,
      long a,
      long leadA,
      int computeType,
      LongByReference deviceBytes,
      LongByReference hostBytes);

  public static native int cusolverDnXgetrf(
      Pointer handle,
      Pointer params,
      long m,
      long n,
      int typeA,
      long a,
      long leadA,
      long pivots,
      int computeType,
      long deviceArea,
      long deviceBytes,
      Pointer hostArea,
      long hostBytes,
      long info);
}

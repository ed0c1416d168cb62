package org.tilespark.kernels.device.library;

import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import java.nio.file.Path;
import java.util.List;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.library.LibraryFinder;

/**
 * The functions of cuFFT that we call, bound with JNA once {@link #load} has found the library.
 * Pointers to device memory and streams are numbers; cuFFT's handle of a plan is a number too.
 */
public final class LibCufft {
  public static final int CUFFT_SUCCESS = 0;
  public static final int CUFFT_ALLOC_FAILED = 2;
  public static final int CUFFT_R2C = 0x2a;
  public static final int CUFFT_C2R = 0x2c;
  public static final int CUFFT_C2C = 0x29;
  public static final int CUFFT_D2Z = 0x6a;
  public static final int CUFFT_Z2D = 0x6c;
  public static final int CUFFT_Z2Z = 0x69;
  public static final int CUFFT_FORWARD = -1;
  public static final int CUFFT_INVERSE = 1;

  /** The results of cuFFT's calls. */
  public static final LibraryStatuses STATUSES =
      new LibraryStatuses("cuFFT", CUFFT_ALLOC_FAILED, LibCufft::statusName);

  /** Finds the libraries of CUDA 13 and 12, which have the interface that is bound here. */
  private static final LibraryFinder FINDER =
      new LibraryFinder(
          "cuFFT",
          "gpu.libraryPath",
          LibCufft.class,
          new LibraryFinder.Release("libcufft.so.12"),
          new LibraryFinder.Release("libcufft.so.11"));

  private LibCufft() {}

  /**
   * Loads the library, once per process.
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
      case CUFFT_SUCCESS -> "CUFFT_SUCCESS";
      case 1 -> "CUFFT_INVALID_PLAN";
      case CUFFT_ALLOC_FAILED -> "CUFFT_ALLOC_FAILED";
      case 3 -> "CUFFT_INVALID_TYPE";
      case 4 -> "CUFFT_INVALID_VALUE";
      case 5 -> "CUFFT_INTERNAL_ERROR";
      case 6 -> "CUFFT_EXEC_FAILED";
      case 7 -> "CUFFT_SETUP_FAILED";
      case 8 -> "CUFFT_INVALID_SIZE";
      case 9 -> "CUFFT_UNALIGNED_DATA";
      case 10 -> "CUFFT_INCOMPLETE_PARAMETER_LIST";
      case 11 -> "CUFFT_INVALID_DEVICE";
      case 12 -> "CUFFT_PARSE_ERROR or CUFFT_MISSING_DEPENDENCY";
      case 13 -> "CUFFT_NO_WORKSPACE or CUFFT_NVRTC_FAILURE";
      case 14 -> "CUFFT_NOT_IMPLEMENTED or CUFFT_NVJITLINK_FAILURE";
      case 15 -> "CUFFT_LICENSE_ERROR or CUFFT_NVSHMEM_FAILURE";
      case 16 -> "CUFFT_NOT_SUPPORTED";
      default -> "an unknown status";
    };
  }

  public static native int cufftCreate(IntByReference plan);

  public static native int cufftDestroy(int plan);

  public static native int cufftGetVersion(IntByReference version);

  public static native int cufftSetAutoAllocation(int plan, int allocates);

  public static native int cufftMakePlanMany64(
      int plan,
      int rank,
      long[] lengths,
      long[] inEmbed,
      long inStride,
      long inDistance,
      long[] outEmbed,
      long outStride,
      long outDistance,
      int type,
      long batch,
      LongByReference workBytes);

  public static native int cufftSetStream(int plan, long stream);

  public static native int cufftSetWorkArea(int plan, long workArea);

  public static native int cufftExecC2C(int plan, long in, long out, int direction);

  public static native int cufftExecZ2Z(int plan, long in, long out, int direction);

  public static native int cufftExecR2C(int plan, long in, long out);

  public static native int cufftExecD2Z(int plan, long in, long out);

  public static native int cufftExecC2R(int plan, long in, long out);

  public static native int cufftExecZ2D(int plan, long in, long out);
}

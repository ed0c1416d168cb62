package org.tilespark.kernels.host.engine;

import com.sun.jna.NativeLibrary;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.library.LibraryFinder;
import org.tilespark.kernels.library.LibraryFinder.Release;

/**
 * The functions of OpenBLAS that we call, bound with JNA once {@link #load} has found the library.
 * Pointers are numbers. Lengths are passed as 64 bits even if the library's integers have 32: on
 * 64-bit Linux each takes a register or eight bytes of the stack, and the library then reads the
 * low half.
 */
final class LibOpenblas {
  static final int ROW_MAJOR = 101;
  static final int UPPER = 121;
  static final int AS_STORED = 111;
  static final int TRANSPOSED = 112;

  /** Patterns of the functions' names in the libraries of Linux distributions and of numpy. */
  private static final List<String> NAMES =
      List.of("%s", "%s64_", "scipy_%s64_", "scipy_%s", "%s_64");

  /** Patterns of the names of Fortran's routines in the same libraries. */
  private static final List<String> FORTRAN_NAMES =
      List.of("%s_", "%s_64_", "scipy_%s_64_", "scipy_%s_");

  private static final LibraryFinder FINDER =
      new LibraryFinder(
              "OpenBLAS",
              "cpu.libraryPath",
              LibOpenblas.class,
              new Release("libopenblas.so.0"),
              new Release("libopenblas64_.so.0"),
              new Release("libscipy_openblas*.so"),
              new Release("libopenblas*.so*"))
          .withNames((library, method) -> nameIn(library, method.getName()));

  /** Result of {@code openblas_get_parallel} for a library with its own threads. */
  private static final int BY_THREADS = 1;

  private static final Pattern MOST_CALLERS = Pattern.compile("MAX_THREADS=(\\d+)");

  // Guarded by the class; null until the library is loaded.
  private static NativeLibrary library;
  private static Semaphore callers;

  private LibOpenblas() {}

  /**
   * Finds the library, once per process, and keeps it from using threads of its own.
   *
   * @param directories directories to look into when the system's loader does not know the library
   * @return the library that is used, or why there is none, and what helps
   */
  static synchronized Availability<Loaded> load(List<Path> directories) {
    Availability<String> file = FINDER.bind(directories);
    if (!file.isPresent()) {
      return Availability.not(file.whyNot());
    }
    Optional<String> refusal =
        refusal(file.get(), openblas_get_parallel(), System.getenv("OMP_NUM_THREADS"));
    if (refusal.isPresent()) {
      return Availability.not(refusal.get());
    }
    openblas_set_num_threads(1);
    String configuration = openblas_get_config();
    Matcher most = MOST_CALLERS.matcher(configuration);
    return Availability.of(
        new Loaded(
            file.get(),
            openblas_get_corename(),
            library,
            callers(most.find() ? Integer.parseInt(most.group(1)) : 1)));
  }

  /**
   * The reason why a library cannot be used; empty if it can. A library that uses OpenMP counts
   * threads for each caller, and a library without threads may have no locks.
   *
   * @param parallel result of {@code openblas_get_parallel}
   * @param ompThreads value of the environment variable OMP_NUM_THREADS; null if it is not set
   */
  static Optional<String> refusal(String file, int parallel, String ompThreads) {
    return parallel == BY_THREADS || "1".equals(ompThreads)
        ? Optional.empty()
        : Optional.of(
            file
                + " is built without threads or with OpenMP; a build with pthreads serves,"
                + " or one with OpenMP where OMP_NUM_THREADS=1");
  }

  /**
   * A library that is loaded.
   *
   * @param file name or path of the library's file
   * @param core the CPU core whose kernels the library chose for this machine
   * @param library JNA's handle of the library
   * @param callers permits for concurrent calls, one for each buffer of the library
   */
  record Loaded(String file, String core, NativeLibrary library, Semaphore callers) {}

  private static Semaphore callers(int most) {
    if (callers == null) {
      callers = new Semaphore(most);
    }
    return callers;
  }

  private static String nameIn(NativeLibrary library, String function) {
    keep(library);
    return firstOf(library, function, NAMES).orElse(function); // JNA then reports it missing
  }

  /**
   * Keeps the library that is bound: the library's file may be gone when a function is looked up
   * later.
   */
  private static synchronized void keep(NativeLibrary bound) {
    library = bound;
  }

  /**
   * The name in a library of a Fortran routine of LAPACK or BLAS; empty if the library lacks the
   * routine.
   */
  static Optional<String> fortranNameIn(NativeLibrary library, String routine) {
    return firstOf(library, routine, FORTRAN_NAMES);
  }

  private static Optional<String> firstOf(
      NativeLibrary library, String function, List<String> names) {
    for (String name : names) {
      String found = name.formatted(function);
      try {
        library.getGlobalVariableAddress(found);
        return Optional.of(found);
      } catch (UnsatisfiedLinkError e) {
        // The next function may be there.
      }
    }
    return Optional.empty();
  }

  static native int openblas_get_parallel();

  static native void openblas_set_num_threads(int threads);

  static native String openblas_get_config();

  static native String openblas_get_corename();

  static native void cblas_dgemm(
      int order,
      int formA,
      int formB,
      long m,
      long n,
      long k,
      double alpha,
      long a,
      long leadA,
      long b,
      long leadB,
      double beta,
      long c,
      long leadC);

  static native void cblas_sgemm(
      int order,
      int formA,
      int formB,
      long m,
      long n,
      long k,
      float alpha,
      long a,
      long leadA,
      long b,
      long leadB,
      float beta,
      long c,
      long leadC);

  static native void cblas_dsyrk(
      int order,
      int half,
      int form,
      long n,
      long k,
      double alpha,
      long a,
      long leadA,
      double beta,
      long c,
      long leadC);

  static native void cblas_ssyrk(
      int order,
      int half,
      int form,
      long n,
      long k,
      float alpha,
      long a,
      long leadA,
      float beta,
      long c,
      long leadC);
}

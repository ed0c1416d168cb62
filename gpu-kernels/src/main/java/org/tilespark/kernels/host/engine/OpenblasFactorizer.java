package org.tilespark.kernels.host.engine;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.factor.LapackFactorizer;
import org.tilespark.kernels.factor.Triangle;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Factorises on the CPU with the LAPACK of the machine's OpenBLAS, on the calling thread alone.
 * Matrices on the heap are copied to native memory for the length of a call.
 *
 * <p>Fortran takes addresses of all arguments. Integers are stored in 64 bits; a library of 32-bit
 * integers reads the low half. Integers that the library writes are read in its own width.
 */
public final class OpenblasFactorizer extends LapackFactorizer {
  private static final List<String> ROUTINES =
      List.of(
          "dgelqf", "dorglq", "dgesdd", "dgesvd", "dsyevd", "dsyevr", "dpotrf", "dgetrf", "dtrsm");

  /**
   * Length of a string argument of one letter; Fortran's compilers append the lengths of strings to
   * the arguments.
   */
  private static final Long STRING_LENGTH = 1L;

  private final LibOpenblas.Loaded library;
  private final Semaphore callers;
  private final Map<String, Function> routines;
  private final int integerBytes;

  private OpenblasFactorizer(LibOpenblas.Loaded library, Map<String, Function> routines) {
    super(new OpenblasMultiplier(library));
    this.library = library;
    this.callers = library.callers();
    this.routines = routines;
    this.integerBytes = findIntegerBytes();
  }

  /**
   * A factorizer that uses this machine's OpenBLAS.
   *
   * @param directories directories to look into when the system's loader does not know the library
   * @return the factorizer, or why there is none, and what helps
   */
  public static Availability<OpenblasFactorizer> find(List<Path> directories) {
    Availability<LibOpenblas.Loaded> loaded = LibOpenblas.load(directories);
    if (!loaded.isPresent()) {
      return Availability.not(loaded.whyNot());
    }
    String file = loaded.get().file();
    NativeLibrary library = loaded.get().library();
    Map<String, Function> routines = new HashMap<>();
    for (String routine : ROUTINES) {
      Optional<String> name = LibOpenblas.fortranNameIn(library, routine);
      if (name.isEmpty()) {
        return Availability.not(
            file + " has no LAPACK (routine " + routine + "); a build of OpenBLAS with it serves");
      }
      routines.put(routine, library.getFunction(name.get()));
    }
    return Availability.of(new OpenblasFactorizer(loaded.get(), routines));
  }

  /** The file that the library was loaded from, as the system's loader or the user names it. */
  public String library() {
    return library.file();
  }

  /**
   * Finds the width of the library's integers: factorises a matrix whose pivots are known and
   * inspects what was written.
   */
  private int findIntegerBytes() {
    try (Memory pivots = new Memory(2 * Long.BYTES);
        Memory matrix = new Memory(4 * Double.BYTES)) {
      pivots.clear();
      matrix.write(0, new double[] {0, 1, 1, 0}, 0, 4);
      LongByReference n = integer(2);
      call("dgetrf", n, n, matrix, n, pivots, integer(0));
      return pivots.getLong(0) == 2 ? Long.BYTES : Integer.BYTES; // (2, 2), of either width
    }
  }

  private void call(String routine, Object... arguments) {
    callers.acquireUninterruptibly();
    try {
      routines.get(routine).invokeVoid(arguments);
    } finally {
      callers.release();
    }
  }

  private static LongByReference integer(long value) {
    return new LongByReference(value);
  }

  private static Memory letter(char letter) {
    Memory memory = new Memory(1);
    memory.setByte(0, (byte) letter);
    return memory;
  }

  private static Pointer at(HostMemory memory) {
    return new Pointer(memory.offset());
  }

  private static int read(LongByReference info) {
    return (int) info.getValue(); // a library of 32 bits writes the low half of a zero
  }

  private static Memory allocate(long bytes) {
    try {
      return new Memory(Math.max(1, bytes));
    } catch (OutOfMemoryError e) { // thrown by JNA if malloc fails
      throw new ResourceException(
          "No memory for %d bytes outside the heap, which a factorisation works in; give the"
                  .formatted(bytes)
              + " executor more (spark.executor.memoryOverhead)",
          e);
    }
  }

  /**
   * Calls a routine that takes a workspace; with length -1 the routine only says how long the
   * workspace must be.
   */
  @FunctionalInterface
  private interface Routine {
    void call(Memory work, LongByReference length, LongByReference info);
  }

  private static int run(String name, Routine routine) {
    LongByReference info = integer(0);
    int length;
    try (Memory asked = allocate(Double.BYTES)) {
      routine.call(asked, integer(-1), info);
      if (read(info) != 0) {
        return read(info);
      }
      length = workspace(name, asked.getDouble(0));
    }
    try (Memory work = allocate((long) length * Double.BYTES)) {
      routine.call(work, integer(length), info);
    }
    return read(info);
  }

  /** Scratch that {@code malloc} allocated. */
  private record OutsideHeap(Memory owned, HostMemory memory) implements Scratch {
    @Override
    public void close() {
      owned.close();
    }
  }

  @Override
  protected Scratch scratch(long doubles) {
    long bytes = Math.multiplyExact(doubles, (long) Double.BYTES);
    Memory owned = allocate(bytes);
    return new OutsideHeap(owned, HostMemory.ofAddress(Pointer.nativeValue(owned), bytes));
  }

  @Override
  protected boolean worksOn(HostMemory memory) {
    return memory.isOffHeap();
  }

  @Override
  protected int gelqf(int rows, int cols, HostMemory a, HostMemory scales) {
    LongByReference m = integer(cols);
    LongByReference n = integer(rows);
    return run(
        "dgelqf",
        (work, length, info) -> call("dgelqf", m, n, at(a), m, at(scales), work, length, info));
  }

  @Override
  protected int orglq(int rows, int cols, HostMemory a, HostMemory scales) {
    LongByReference small = integer(Math.min(rows, cols));
    LongByReference n = integer(rows);
    LongByReference lead = integer(cols);
    return run(
        "dorglq",
        (work, length, info) ->
            call("dorglq", small, n, small, at(a), lead, at(scales), work, length, info));
  }

  @Override
  protected int gesdd(
      char job, int rows, int cols, HostMemory a, HostMemory s, HostMemory u, HostMemory vt) {
    LongByReference m = integer(cols);
    LongByReference n = integer(rows);
    LongByReference small = integer(Math.min(rows, cols));
    try (Memory letter = letter(job);
        Memory integers = allocate(8L * Math.min(rows, cols) * Long.BYTES)) {
      return run(
          "dgesdd",
          (work, length, info) ->
              call(
                  "dgesdd",
                  letter,
                  m,
                  n,
                  at(a),
                  m,
                  at(s),
                  at(vt),
                  m,
                  at(u),
                  small,
                  work,
                  length,
                  integers,
                  info,
                  STRING_LENGTH));
    }
  }

  @Override
  protected int gesvd(
      char job, int rows, int cols, HostMemory a, HostMemory s, HostMemory u, HostMemory vt) {
    LongByReference m = integer(cols);
    LongByReference n = integer(rows);
    LongByReference small = integer(Math.min(rows, cols));
    try (Memory letter = letter(job)) {
      return run(
          "dgesvd",
          (work, length, info) ->
              call(
                  "dgesvd",
                  letter,
                  letter,
                  m,
                  n,
                  at(a),
                  m,
                  at(s),
                  at(vt),
                  m,
                  at(u),
                  small,
                  work,
                  length,
                  info,
                  STRING_LENGTH,
                  STRING_LENGTH));
    }
  }

  /** Calls a routine that takes a workspace of integers too. */
  @FunctionalInterface
  private interface WithIntegers {
    void call(
        Memory work,
        LongByReference length,
        Memory integers,
        LongByReference integersLength,
        LongByReference info);
  }

  private static int runWithIntegers(String name, WithIntegers routine) {
    LongByReference info = integer(0);
    int length;
    int integers;
    try (Memory asked = allocate(Double.BYTES);
        Memory askedIntegers = allocate(Long.BYTES)) {
      askedIntegers.clear();
      routine.call(asked, integer(-1), askedIntegers, integer(-1), info);
      if (read(info) != 0) {
        return read(info);
      }
      length = workspace(name, asked.getDouble(0));
      integers = workspace(name, (double) askedIntegers.getLong(0));
    }
    try (Memory work = allocate((long) length * Double.BYTES);
        Memory workIntegers = allocate((long) integers * Long.BYTES)) {
      routine.call(work, integer(length), workIntegers, integer(integers), info);
    }
    return read(info);
  }

  @Override
  protected int syevd(char job, int n, HostMemory a, HostMemory values) {
    LongByReference order = integer(n);
    try (Memory letter = letter(job);
        Memory upper = letter('U')) {
      return runWithIntegers(
          "dsyevd",
          (work, length, integers, integersLength, info) ->
              call(
                  "dsyevd",
                  letter,
                  upper,
                  order,
                  at(a),
                  order,
                  at(values),
                  work,
                  length,
                  integers,
                  integersLength,
                  info,
                  STRING_LENGTH,
                  STRING_LENGTH));
    }
  }

  @Override
  protected int syevr(int n, int k, HostMemory a, HostMemory values, HostMemory vectors) {
    LongByReference order = integer(n);
    LongByReference found = integer(0);
    try (Memory job = letter('V');
        Memory range = letter('I');
        Memory upper = letter('U');
        Memory zero = allocate(Double.BYTES);
        Memory support = allocate(2L * n * Long.BYTES)) {
      zero.clear();
      return runWithIntegers(
          "dsyevr",
          (work, length, integers, integersLength, info) ->
              call(
                  "dsyevr",
                  job,
                  range,
                  upper,
                  order,
                  at(a),
                  order,
                  zero,
                  zero,
                  integer(n - k + 1),
                  order,
                  zero,
                  found,
                  at(values),
                  at(vectors),
                  order,
                  support,
                  work,
                  length,
                  integers,
                  integersLength,
                  info,
                  STRING_LENGTH,
                  STRING_LENGTH,
                  STRING_LENGTH));
    }
  }

  @Override
  protected int potrf(int n, HostMemory a) {
    LongByReference info = integer(0);
    LongByReference order = integer(n);
    try (Memory upper = letter('U')) {
      call("dpotrf", upper, order, at(a), order, info, STRING_LENGTH);
    }
    return read(info);
  }

  @Override
  protected int getrf(int n, HostMemory a, int[] pivots) {
    LongByReference info = integer(0);
    LongByReference order = integer(n);
    try (Memory made = allocate((long) n * Long.BYTES)) {
      call("dgetrf", order, order, at(a), order, made, info);
      for (int i = 0; i < n; i++) {
        // The numbers of rows fit the low half of 64 bits.
        pivots[i] = made.getInt((long) i * integerBytes);
      }
    }
    return read(info);
  }

  @Override
  protected void trsm(Triangle triangle, int n, int rightSides, HostMemory t, HostMemory b) {
    // BLAS is column-major, so it sees T^T, B^T and X^T: the system is X^T op(T)^T = B^T.
    char half = triangle.isLower() ? 'U' : 'L';
    char form = triangle.isTransposed() ? 'T' : 'N';
    char diagonal = triangle.hasUnitDiagonal() ? 'U' : 'N';
    trsm(new char[] {'R', half, form, diagonal}, rightSides, n, new HostMemory[] {t, b}, n);
  }

  @Override
  protected void trsmRight(int rows, int n, HostMemory r, HostMemory b) {
    // In columns: R^T X^T = B^T.
    trsm(new char[] {'L', 'L', 'N', 'N'}, n, rows, new HostMemory[] {r, b}, n);
  }

  /**
   * Calls dtrsm.
   *
   * @param letters its first four arguments
   * @param m rows of {@code b}, in columns
   * @param n columns of {@code b}
   * @param matrices the triangle and {@code b}
   * @param order rows of the triangle
   */
  private void trsm(char[] letters, int m, int n, HostMemory[] matrices, int order) {
    LongByReference high = integer(m);
    try (Memory side = letter(letters[0]);
        Memory half = letter(letters[1]);
        Memory form = letter(letters[2]);
        Memory diagonal = letter(letters[3]);
        Memory one = allocate(Double.BYTES)) {
      one.setDouble(0, 1);
      call(
          "dtrsm",
          side,
          half,
          form,
          diagonal,
          high,
          integer(n),
          one,
          at(matrices[0]),
          integer(order),
          at(matrices[1]),
          high,
          STRING_LENGTH,
          STRING_LENGTH,
          STRING_LENGTH,
          STRING_LENGTH);
    }
  }

  @Override
  public String toString() {
    return "cpu (LAPACK of OpenBLAS " + library.core() + ")";
  }
}

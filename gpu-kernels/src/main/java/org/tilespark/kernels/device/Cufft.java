package org.tilespark.kernels.device;

import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.device.library.LibCufft;
import org.tilespark.kernels.fourier.FourierPass;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.layout.ElementType;

/**
 * cuFFT on one device, which is borrowed. Safe for several threads.
 *
 * <p>A plan is made once for a problem; the {@value #MOST_PLANS} plans used last are kept. A plan
 * owns only tables: each call passes the work area, in memory of the caller. One thread at a time
 * uses a plan, for as long as it takes to queue a transform; transforms of one plan may then run on
 * several streams at once.
 */
final class Cufft implements AutoCloseable {
  /** The call of cuFFT that refuses transforms which cuFFT cannot do. */
  static final String MAKE_PLAN = "cufftMakePlanMany64";

  private static final int MOST_PLANS = 64;

  private final CudaDevice device;
  // Guarded by this; each plan itself is guarded by its own monitor.
  private final Map<FourierPass, Plan> plans = new LinkedHashMap<>(16, 0.75f, true);

  /** A plan of cuFFT. */
  private static final class Plan {
    private final int handle;
    private final long workBytes;
    private boolean destroyed;

    private Plan(int handle, long workBytes) {
      this.handle = handle;
      this.workBytes = workBytes;
    }
  }

  private Cufft(CudaDevice device) {
    this.device = device;
  }

  /**
   * Finds the library.
   *
   * @param libraryPath directories where to look when the system's loader does not know the library
   */
  static Availability<Cufft> open(CudaDevice device, List<Path> libraryPath) {
    device.enter();
    return LibCufft.load(libraryPath).map(file -> new Cufft(device));
  }

  /** The version of cuFFT, such as 12.0.0. */
  String version() {
    IntByReference version = new IntByReference();
    check(LibCufft.cufftGetVersion(version), "cufftGetVersion", "");
    int number = version.getValue();
    return number / 1000 + "." + number / 100 % 10 + "." + number % 100;
  }

  /** Bytes of work area that each execution of a pass needs. */
  long workBytes(FourierPass pass) {
    return plan(pass.plan()).workBytes;
  }

  /**
   * Queues a pass; returns before the pass is done.
   *
   * @param in device address of the array that is read
   * @param out device address of the array that is written; {@code in} if both sides are complex.
   *     The input is overwritten if the output is real
   * @param workArea device address of at least {@link #workBytes}
   */
  void enqueue(FourierPass pass, long in, long out, long workArea, CudaStream stream) {
    device.enter();
    FourierPass key = pass.plan();
    while (true) {
      Plan plan = plan(key);
      synchronized (plan) {
        if (!plan.destroyed) {
          enqueue(plan, pass, in, out, workArea, stream);
          return;
        }
      }
    }
  }

  private void enqueue(
      Plan plan, FourierPass pass, long in, long out, long workArea, CudaStream stream) {
    check(
        stream.callByAddress(address -> LibCufft.cufftSetStream(plan.handle, address)),
        "cufftSetStream",
        pass.toString());
    if (plan.workBytes > 0) {
      check(LibCufft.cufftSetWorkArea(plan.handle, workArea), "cufftSetWorkArea", pass.toString());
    }
    int width = pass.type().bytes();
    long inWidth = pass.kind() == Kind.REAL_TO_HALF ? width : 2L * width;
    long outWidth = pass.kind() == Kind.HALF_TO_REAL ? width : 2L * width;
    for (long repeat = 0; repeat < pass.repeats(); repeat++) {
      long from = in + (pass.in().start() + repeat * pass.in().step()) * inWidth;
      long to = out + (pass.out().start() + repeat * pass.out().step()) * outWidth;
      // Under the stream's lock, so that the stream is not closed meanwhile.
      check(
          stream.callByAddress(address -> execute(plan.handle, pass, from, to)),
          "cufftExec" + letters(pass),
          pass.toString());
    }
  }

  private static int execute(int handle, FourierPass pass, long in, long out) {
    boolean isDouble = pass.type() == ElementType.FLOAT64;
    return switch (pass.kind()) {
      case FORWARD, INVERSE -> {
        int direction =
            pass.kind() == Kind.FORWARD ? LibCufft.CUFFT_FORWARD : LibCufft.CUFFT_INVERSE;
        yield isDouble
            ? LibCufft.cufftExecZ2Z(handle, in, out, direction)
            : LibCufft.cufftExecC2C(handle, in, out, direction);
      }
      case REAL_TO_HALF ->
          isDouble
              ? LibCufft.cufftExecD2Z(handle, in, out)
              : LibCufft.cufftExecR2C(handle, in, out);
      case HALF_TO_REAL ->
          isDouble
              ? LibCufft.cufftExecZ2D(handle, in, out)
              : LibCufft.cufftExecC2R(handle, in, out);
    };
  }

  private static String letters(FourierPass pass) {
    boolean isDouble = pass.type() == ElementType.FLOAT64;
    return switch (pass.kind()) {
      case FORWARD, INVERSE -> isDouble ? "Z2Z" : "C2C";
      case REAL_TO_HALF -> isDouble ? "D2Z" : "R2C";
      case HALF_TO_REAL -> isDouble ? "Z2D" : "C2R";
    };
  }

  /**
   * The plan for a pass whose offsets are 0; a forward pass and an inverse one have separate plans.
   */
  private Plan plan(FourierPass key) {
    synchronized (this) {
      Plan known = plans.get(key);
      if (known != null) {
        return known;
      }
    }
    // The plan is made outside the lock, since that may take long; if another thread made the same
    // plan meanwhile, this one is destroyed.
    Plan made = make(key);
    List<Plan> unused = new ArrayList<>();
    Plan kept;
    synchronized (this) {
      Plan other = plans.putIfAbsent(key, made);
      kept = other == null ? made : other;
      if (other != null) {
        unused.add(made);
      }
      while (plans.size() > MOST_PLANS) {
        FourierPass eldest = plans.keySet().iterator().next();
        unused.add(plans.remove(eldest));
      }
    }
    destroy(unused);
    return kept;
  }

  private Plan make(FourierPass pass) {
    device.enter();
    IntByReference handle = new IntByReference();
    check(LibCufft.cufftCreate(handle), "cufftCreate", "");
    int plan = handle.getValue();
    boolean sound = false;
    try {
      check(LibCufft.cufftSetAutoAllocation(plan, 0), "cufftSetAutoAllocation", "");
      LongByReference workBytes = new LongByReference();
      check(
          LibCufft.cufftMakePlanMany64(
              plan,
              pass.lengths().size(),
              array(pass.lengths()),
              array(pass.in().embed()),
              pass.in().stride(),
              pass.in().distance(),
              array(pass.out().embed()),
              pass.out().stride(),
              pass.out().distance(),
              type(pass),
              pass.batch(),
              workBytes),
          MAKE_PLAN,
          pass.toString());
      sound = true;
      return new Plan(plan, workBytes.getValue());
    } finally {
      if (!sound) {
        LibCufft.cufftDestroy(plan);
      }
    }
  }

  private static int type(FourierPass pass) {
    boolean isDouble = pass.type() == ElementType.FLOAT64;
    return switch (pass.kind()) {
      case FORWARD, INVERSE -> isDouble ? LibCufft.CUFFT_Z2Z : LibCufft.CUFFT_C2C;
      case REAL_TO_HALF -> isDouble ? LibCufft.CUFFT_D2Z : LibCufft.CUFFT_R2C;
      case HALF_TO_REAL -> isDouble ? LibCufft.CUFFT_Z2D : LibCufft.CUFFT_C2R;
    };
  }

  private static long[] array(List<Long> numbers) {
    return numbers.stream().mapToLong(Long::longValue).toArray();
  }

  /** Destroys plans that are no longer in the cache; the device may still read their tables. */
  private void destroy(List<Plan> unused) {
    if (unused.isEmpty()) {
      return;
    }
    device.enter();
    for (Plan plan : unused) {
      synchronized (plan) {
        plan.destroyed = true;
      }
    }
    device.check(JCudaDriver.cuCtxSynchronize(), "cuCtxSynchronize", "");
    for (Plan plan : unused) {
      check(LibCufft.cufftDestroy(plan.handle), "cufftDestroy", "");
    }
  }

  private void check(int status, String call, String detail) {
    device.check(LibCufft.STATUSES, status, call, () -> detail);
  }

  /** Destroys the plans; nothing may be queued any more. */
  @Override
  public void close() {
    List<Plan> all;
    synchronized (this) {
      all = new ArrayList<>(plans.values());
      plans.clear();
    }
    destroy(all);
  }
}

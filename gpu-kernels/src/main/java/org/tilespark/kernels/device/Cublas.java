package org.tilespark.kernels.device;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.device.library.CublasCall;
import org.tilespark.kernels.device.library.CublasEnvironment;
import org.tilespark.kernels.device.library.LibCublas;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyStrategy;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

/**
 * cuBLAS on one device, which is borrowed. Its handles are not thread-safe and are kept in a pool:
 * a call takes one for as long as it queues work. Safe for several threads.
 *
 * <p>The order of its sums depends on the problem alone: atomics stay off, as is the default, and
 * each call passes its workspace, as NVIDIA requires where several streams are used. FULL precision
 * uses the default math mode, which has no tf32 and no emulation unless the environment asks cuBLAS
 * for them: {@link CublasEnvironment}, whose warning is logged once per process.
 */
final class Cublas implements AutoCloseable {
  /**
   * The largest number of idle handles that are kept: about the number of tasks that queue work at
   * one moment.
   */
  private static final int MOST_IDLE_HANDLES = 16;

  /**
   * Bytes of workspace for a {@link CublasCall}: NVIDIA's default for Hopper, the largest ("cuBLAS"
   * 13.0, cublasSetWorkspace).
   */
  static final long WORKSPACE_BYTES = 32L << 20;

  private static final Logger LOG = LoggerFactory.getLogger(Cublas.class);
  private static final AtomicBoolean ENVIRONMENT_CHECKED = new AtomicBoolean();

  private final CudaDevice device;
  private final IdleHandles<Handle> idle = new IdleHandles<>(MOST_IDLE_HANDLES);

  /**
   * A handle of cuBLAS and the memory of the factors alpha and beta, which cuBLAS reads during a
   * call.
   */
  private record Handle(Pointer library, Memory factors) {
    static final long ALPHA = 0;
    static final long BETA = 8;
  }

  private Cublas(CudaDevice device) {
    this.device = device;
  }

  /**
   * Finds the library.
   *
   * @param libraryPath directories where to look when the system's loader does not know the library
   */
  static Availability<Cublas> open(CudaDevice device, List<Path> libraryPath) {
    device.enter();
    Availability<String> library = LibCublas.load(libraryPath);
    if (library.isPresent() && !ENVIRONMENT_CHECKED.getAndSet(true)) {
      CublasEnvironment.warning(System.getenv()).ifPresent(LOG::warn);
    }
    return library.map(file -> new Cublas(device));
  }

  /** The version of cuBLAS, such as 13.1.0. */
  String version() {
    Handle handle = take();
    try {
      IntByReference version = new IntByReference();
      check(LibCublas.cublasGetVersion_v2(handle.library(), version), "cublasGetVersion", () -> "");
      int number = version.getValue();
      return number / 10_000 + "." + number / 100 % 100 + "." + number % 100;
    } finally {
      giveBack(handle);
    }
  }

  /**
   * Queues a multiply; returns before the multiply is done.
   *
   * @param a device address of A; {@code b} and {@code c} are those of B and C
   * @param workspace work area of at least {@code strategy.workspaceBytes()} for work on {@code
   *     stream}
   */
  void enqueue(
      MultiplyProblem problem,
      MultiplyStrategy.Cublas strategy,
      long a,
      long b,
      long c,
      DeviceBuffer workspace,
      CudaStream stream) {
    int width = problem.type().bytes();
    queue(
        stream,
        workspace.address(device, 0, strategy.workspaceBytes()),
        strategy.workspaceBytes(),
        handle -> {
          for (long p = 0; p < problem.k(); p += strategy.chunk()) {
            long steps = Math.min(strategy.chunk(), problem.k() - p);
            long fromA = a + (problem.a().transposed() ? p * problem.a().lead() : p) * width;
            long fromB = b + (problem.b().transposed() ? p : p * problem.b().lead()) * width;
            MultiplyProblem.Factors factors = problem.factorsFrom(p);
            check(
                stream.callByAddress(
                    address -> multiply(problem, handle, steps, fromA, fromB, c, factors)),
                problem.batch().count() == 1 ? "cublasGemmEx" : "cublasGemmStridedBatchedEx",
                problem::toString);
          }
        });
  }

  /**
   * Queues a call; returns before the call's work is done.
   *
   * @param workspace work area of at least {@link #WORKSPACE_BYTES} for work on {@code stream}
   */
  void enqueue(CublasCall call, DeviceBuffer workspace, CudaStream stream) {
    queue(
        stream,
        workspace.address(device, 0, WORKSPACE_BYTES),
        WORKSPACE_BYTES,
        handle -> {
          Memory words = handle.factors();
          words.setDouble(Handle.ALPHA, 1);
          words.setDouble(Handle.BETA, 0);
          check(
              stream.callByAddress(
                  address ->
                      call.calls()
                          .on(
                              handle.library(),
                              words.share(Handle.ALPHA),
                              words.share(Handle.BETA))),
              call.name(),
              () -> "");
        });
  }

  /**
   * Queues work with a handle; afterwards the handle is kept for other calls, unless the work
   * fails.
   */
  private void queue(CudaStream stream, long scratch, long bytes, Consumer<Handle> work) {
    device.enter();
    Handle handle = take();
    boolean sound = false;
    try {
      begin(handle, stream, scratch, bytes);
      work.accept(handle);
      sound = true;
    } finally {
      if (sound) {
        giveBack(handle);
      } else {
        LibCublas.cublasDestroy_v2(handle.library());
      }
    }
  }

  /**
   * Sets a handle's stream and then its workspace, in this order: setting the stream resets the
   * workspace.
   */
  private void begin(Handle handle, CudaStream stream, long scratch, long bytes) {
    check(
        stream.callByAddress(address -> LibCublas.cublasSetStream_v2(handle.library(), address)),
        "cublasSetStream",
        () -> "");
    check(
        LibCublas.cublasSetWorkspace_v2(handle.library(), scratch, bytes),
        "cublasSetWorkspace",
        () -> bytes + " bytes");
  }

  /**
   * cuBLAS counts column by column. Read that way, each row-major matrix is its transpose, so the
   * operands change places: C^T = op(B)^T op(A)^T.
   */
  private static int multiply(
      MultiplyProblem problem,
      Handle handle,
      long steps,
      long a,
      long b,
      long c,
      MultiplyProblem.Factors factors) {
    boolean isDouble = problem.type() == ElementType.FLOAT64;
    int type = isDouble ? LibCublas.CUDA_R_64F : LibCublas.CUDA_R_32F;
    Memory words = handle.factors();
    if (isDouble) {
      words.setDouble(Handle.ALPHA, factors.alpha());
      words.setDouble(Handle.BETA, factors.beta());
    } else {
      words.setFloat(Handle.ALPHA, (float) factors.alpha());
      words.setFloat(Handle.BETA, (float) factors.beta());
    }
    int operationA = problem.a().transposed() ? LibCublas.CUBLAS_OP_T : LibCublas.CUBLAS_OP_N;
    int operationB = problem.b().transposed() ? LibCublas.CUBLAS_OP_T : LibCublas.CUBLAS_OP_N;
    int computeType = isDouble ? LibCublas.CUBLAS_COMPUTE_64F : computeType(problem.precision());
    MultiplyProblem.Batch batch = problem.batch();
    if (batch.count() > 1) {
      return LibCublas.cublasGemmStridedBatchedEx_64(
          handle.library(),
          operationB,
          operationA,
          problem.n(),
          problem.m(),
          steps,
          words.share(Handle.ALPHA),
          b,
          type,
          problem.b().lead(),
          batch.strideB(),
          a,
          type,
          problem.a().lead(),
          batch.strideA(),
          words.share(Handle.BETA),
          c,
          type,
          problem.leadC(),
          batch.strideC(),
          batch.count(),
          computeType,
          LibCublas.CUBLAS_GEMM_DEFAULT);
    }
    return LibCublas.cublasGemmEx_64(
        handle.library(),
        operationB,
        operationA,
        problem.n(),
        problem.m(),
        steps,
        words.share(Handle.ALPHA),
        b,
        type,
        problem.b().lead(),
        a,
        type,
        problem.a().lead(),
        words.share(Handle.BETA),
        c,
        type,
        problem.leadC(),
        computeType,
        LibCublas.CUBLAS_GEMM_DEFAULT);
  }

  private static int computeType(Precision precision) {
    return switch (precision) {
      case FULL -> LibCublas.CUBLAS_COMPUTE_32F;
      case TF32 -> LibCublas.CUBLAS_COMPUTE_32F_FAST_TF32;
      case BFLOAT16 -> LibCublas.CUBLAS_COMPUTE_32F_FAST_16BF;
      case FLOAT16 -> LibCublas.CUBLAS_COMPUTE_32F_FAST_16F;
    };
  }

  private Handle take() {
    return idle.take().orElseGet(this::create);
  }

  private Handle create() {
    device.enter();
    PointerByReference made = new PointerByReference();
    check(LibCublas.cublasCreate_v2(made), "cublasCreate", () -> "");
    return new Handle(made.getValue(), new Memory(2 * Handle.BETA));
  }

  private void giveBack(Handle handle) {
    if (!idle.offer(handle)) {
      device.enter();
      LibCublas.cublasDestroy_v2(handle.library());
    }
  }

  private void check(int status, String call, Supplier<String> detail) {
    device.check(LibCublas.STATUSES, status, call, detail);
  }

  /** Destroys the handles; nothing may be queued any more. */
  @Override
  public void close() {
    for (Handle handle : idle.shut()) {
      device.enter();
      LibCublas.cublasDestroy_v2(handle.library());
    }
  }
}

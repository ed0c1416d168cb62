package org.tilespark.kernels.multiply;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;

/** The ways a multiply is done on a device. Each knows how it is described. */
public interface MultiplyStrategy {
  /** One line, for EXPLAIN and the log. */
  String describe();

  /** Its name among the ways to multiply; empty where nothing is multiplied. */
  Optional<MultiplyWay> way();

  /** The order of its sums, by name: ways of the same order give the same bits. */
  String order();

  /** Device memory that is used in addition to the operands, wherever these begin. */
  default long workspaceBytes() {
    return 0;
  }

  /**
   * Workspace for operands with this alignment; at most {@link #workspaceBytes()}.
   *
   * @param problem the problem that this was chosen for
   * @param evenA true if A begins at a multiple of 16 bytes, so that it may need no copy
   * @param evenB true if B does
   */
  default long workspaceBytes(MultiplyProblem problem, boolean evenA, boolean evenB) {
    return workspaceBytes();
  }

  /**
   * The steps of own kernels that are not a single launch; {@link MultiplyPlan#steps} has all.
   *
   * @param problem the problem that this was chosen for
   * @param evenA true if A begins at a multiple of 16 bytes, so that it may need no copy
   * @param evenB true if B does
   */
  default List<MultiplyStep> steps(MultiplyProblem problem, boolean evenA, boolean evenB) {
    return List.of();
  }

  /** C is empty, or stays as it is. */
  record Nothing() implements MultiplyStrategy {
    @Override
    public Optional<MultiplyWay> way() {
      return Optional.empty();
    }

    @Override
    public String order() {
      return "none";
    }

    @Override
    public String describe() {
      return "nothing to multiply";
    }
  }

  /**
   * An own kernel: a thread block makes a tile of C ({@code multiply_tiled.cu}).
   *
   * @param kernel entry point
   * @param shape its tile and threads
   * @param chunk steps of K that are summed in one chain; a multiple of {@value #STEP}, or fewer
   */
  record Tiled(String kernel, KernelIndex.TileShape shape, long chunk) implements MultiplyStrategy {
    /** Steps of K that are in shared memory at once; {@code STEP} of the kernel. */
    static final int STEP = 16;

    /** Checks that the kernel can end its chains there. */
    public Tiled {
      Objects.requireNonNull(kernel, "kernel");
      Objects.requireNonNull(shape, "shape");
      if (chunk < 1 || (chunk > STEP && chunk % STEP != 0)) {
        throw new IllegalArgumentException(
            "Chains of " + chunk + " steps; expected a multiple of " + STEP + ", or fewer");
      }
    }

    /**
     * Two chains of about equal length, chunks and their sums, are the least in all. A single chain
     * of 9 badly scaled doubles erred by 6.3 units, on an H200, where 6.3 are allowed.
     */
    static long chunk(long k) {
      long root = (long) Math.ceil(Math.sqrt((double) k));
      return k <= STEP ? Math.max(1, root) : (root + STEP - 1) / STEP * STEP;
    }

    /** Tiles that make up C, of all products. */
    static long tiles(MultiplyProblem problem, KernelIndex.TileShape shape) {
      return Math.multiplyExact(
          problem.batch().count(),
          Math.multiplyExact(
              ceilDiv(problem.m(), shape.rows()), ceilDiv(problem.n(), shape.cols())));
    }

    private static long ceilDiv(long extent, int piece) {
      return extent / piece + (extent % piece == 0 ? 0 : 1);
    }

    /** The launch for a problem. */
    KernelLaunch launch(MultiplyProblem problem, DeviceLimits limits) {
      // Fields of MultiplyArguments after the three pointers.
      return new KernelLaunch(
          kernel,
          LaunchConfig.forPieces(tiles(problem, shape), shape.threads(), 0, limits),
          problem.m(),
          problem.k(),
          problem.n(),
          problem.a().lead(),
          problem.b().lead(),
          problem.leadC(),
          problem.a().transposed() ? 1 : 0,
          problem.b().transposed() ? 1 : 0,
          problem.alphaWord(problem.factors()),
          problem.betaWord(problem.factors()),
          chunk,
          ceilDiv(problem.m(), shape.rows()),
          ceilDiv(problem.n(), shape.cols()),
          problem.batch().count(),
          problem.batch().strideA(),
          problem.batch().strideB(),
          problem.batch().strideC(),
          problem.k());
    }

    @Override
    public Optional<MultiplyWay> way() {
      return Optional.of(new MultiplyWay(kernel));
    }

    @Override
    public String order() {
      return "tiled";
    }

    @Override
    public String describe() {
      return kernel + ", sums of " + chunk;
    }
  }

  /**
   * Own kernels for the tensor cores: operands are brought into a form, and a thread block of each
   * multiprocessor makes one tile of C after the other ({@code multiply_split.cu}, {@code
   * multiply_tensor.cu} and {@code multiply_double.cu} for sm_90a, {@code multiply_mma.cu} for
   * sm_80 and later). Where tiles are too few for the multiprocessors, K is cut into parts that are
   * summed afterwards ({@code multiply_parts.cu}). Those of {@code multiply_fused.cu} bring
   * operands into the form as they read them, where these begin evenly; others are packed for
   * another kernel, which makes the same sums.
   *
   * @param form form of the operands
   * @param kernels kernels that pack, multiply and sum
   * @param sums how K is cut
   * @param processors multiprocessors of the device
   * @param atOnce most products of a batch that one launch makes
   * @param workspaceBytes device memory for packed operands and for the parts' sums, at least one
   */
  record Tensor(
      TensorForm form, Kernels kernels, Sums sums, int processors, long atOnce, long workspaceBytes)
      implements MultiplyStrategy {
    /**
     * The kernels of one way to multiply.
     *
     * @param main kernel that multiplies
     * @param packers kernels that bring operands into the form; for {@link TensorForm#SPLIT} also
     *     the one that makes the tiles that {@code main} leaves alone, and for a fused kernel the
     *     one that multiplies packed operands
     * @param summing kernel that sums parts of K; may be empty if K is not cut
     */
    record Kernels(
        KernelIndex.Kernel main,
        List<KernelIndex.Kernel> packers,
        Optional<KernelIndex.Kernel> summing) {
      /** Copies the list. */
      Kernels {
        packers = List.copyOf(packers);
      }
    }

    /**
     * How K is cut.
     *
     * @param chunk most steps of K that go through the workspace at once; they bound how errors of
     *     the tensor cores' sums add up
     * @param chain panels of DOUBLE whose products are summed in one chain; other forms have it in
     *     the kernel
     * @param parts into which K of a chunk is cut, at most; 1 if it is not
     * @param rest tail columns of DOUBLE after whole rounds of tiles
     */
    record Sums(long chunk, long chain, long parts, Rest rest) {}

    /**
     * The tail columns of C: what remains after the last full wave of tiles, computed with split-K.
     *
     * @param from the first of these columns, as the kernel counts them
     * @param parts parts of K for them, so that they occupy all multiprocessors; 1 if there is no
     *     tail
     */
    record Rest(long from, long parts) {
      static final Rest NONE = new Rest(0, 1);

      boolean isNone() {
        return parts == 1;
      }
    }

    /** A multiple of every form's panel. */
    static final long LONGEST_CHUNK = 8192;

    /** Columns of a tile from which the tensor cores of sm_90a are not kept waiting. */
    private static final int WIDE_COLS = 128;

    /** Parts of K that share a chunk, at most: each is short enough for one, but all are packed. */
    static final int MOST_CHUNKS = 8;

    /** Checks the parts against each other. */
    public Tensor {
      if (sums.chunk < 1 || sums.chain < 1 || processors < 1 || workspaceBytes < 1) {
        throw new IllegalArgumentException(
            "Chunks of %s on %s multiprocessors; expected some".formatted(sums.chunk, processors));
      }
      boolean cannotSum = atOnce > 1 || kernels.summing.isEmpty();
      if (sums.parts < 1 || atOnce < 1 || (sums.parts > 1 && cannotSum)) {
        throw new IllegalArgumentException(
            ("K in %s parts, %s products at once; expected one of both, and a kernel that sums"
                    + " parts")
                .formatted(sums.parts, atOnce));
      }
      if (!sums.rest.isNone() && (form != TensorForm.FLOAT64 || sums.parts > 1 || cannotSum)) {
        throw new IllegalArgumentException(
            ("The last columns in %s parts; expected doubles, K whole for the others, one product"
                    + " at once, and a kernel that sums parts")
                .formatted(sums.rest.parts()));
      }
    }

    /** The kernel that multiplies. */
    KernelIndex.Kernel kernel() {
      return kernels.main;
    }

    /**
     * Steps of K per chunk. DOUBLE has a single chunk, since its operands may be used in place.
     * With split-K each part is a shorter chain, so several parts share a longer chunk and save
     * launches.
     */
    static long chunk(TensorForm form, long k, long parts) {
      return form == TensorForm.FLOAT64 ? k : LONGEST_CHUNK * Math.min(parts, MOST_CHUNKS);
    }

    /**
     * Panels of DOUBLE per chain, for sums of {@code terms} terms: 6 sqrt(terms) steps, at least
     * 256 (cuBLAS's shortest chunk). Of the inputs tried on an H200, equal terms were the worst: n
     * of them were off by up to 0.24 n units. So sums of 1024 terms and more keep to 2 sqrt(K)
     * units, and shorter ones to 64.
     */
    static long chain(long terms) {
      return Math.max(Cublas.SHORTEST_CHUNK, (long) (6 * Math.sqrt((double) terms)))
          / TensorForm.FLOAT64.panel();
    }

    /** True if the kernel brings operands into the form as it reads them. */
    boolean isFused() {
      return TensorForm.isFused(kernels.main);
    }

    /** True if {@code mma.cuh} multiplies: it reads packed operands at their addresses. */
    boolean isMma() {
      return kernels.main.family().startsWith(TensorForm.MMA);
    }

    /** True if tiles have so few columns that shared memory is what is read the longest. */
    boolean isNarrow() {
      return form != TensorForm.FLOAT64 && !isMma() && kernels.main.shape().cols() < WIDE_COLS;
    }

    KernelIndex.Kernel packer() {
      return kernels.packers.get(0);
    }

    KernelIndex.Kernel repairer() {
      return kernels.packers.get(1);
    }

    /** The kernel that multiplies packed operands. */
    KernelIndex.Kernel packedKernel() {
      return isFused() ? kernels.packers.get(1) : kernels.main;
    }

    @Override
    public long workspaceBytes(MultiplyProblem problem, boolean evenA, boolean evenB) {
      return isFused() && FusedSteps.isFusible(problem, evenA, evenB)
          ? TensorWorkspace.partBytes(problem, sums.parts)
          : workspaceBytes;
    }

    @Override
    public List<MultiplyStep> steps(MultiplyProblem problem, boolean evenA, boolean evenB) {
      return TensorSteps.of(this, problem, evenA, evenB);
    }

    @Override
    public Optional<MultiplyWay> way() {
      return Optional.of(new MultiplyWay(kernels.main.name()));
    }

    @Override
    public String order() {
      if (isMma()) {
        return form.name() + "_mma";
      }
      return form.name() + (sums.rest.isNone() ? "" : ", the last columns apart");
    }

    @Override
    public String describe() {
      return kernels.main.name()
          + ", sums of "
          + (form == TensorForm.FLOAT64 ? sums.chain * form.panel() : sums.chunk)
          + (sums.parts == 1 ? "" : " in " + sums.parts + " parts")
          + (sums.rest.isNone() ? "" : ", the last columns in " + sums.rest.parts() + " parts");
    }
  }

  /**
   * An own kernel for products of which one extent is at most 16: the large operand, or C where K
   * is what is small, goes by once ({@code multiply_skinny.cu}; of lower precisions {@code
   * multiply_narrow.cu}). Products of a batch go one after the other.
   *
   * @param kernel kernel that multiplies
   * @param part steps of K that are summed at a time
   * @param steps steps for each product, in this order
   * @param workspaceBytes device memory for the parts' sums; 0 if there is one part
   */
  record Skinny(KernelIndex.Kernel kernel, long part, List<MultiplyStep> steps, long workspaceBytes)
      implements MultiplyStrategy {
    /** Copies the list. */
    public Skinny {
      Objects.requireNonNull(kernel, "kernel");
      steps = List.copyOf(steps);
    }

    @Override
    public List<MultiplyStep> steps(MultiplyProblem problem, boolean evenA, boolean evenB) {
      return steps;
    }

    @Override
    public Optional<MultiplyWay> way() {
      return Optional.of(new MultiplyWay(kernel.name()));
    }

    @Override
    public String order() {
      return "skinny";
    }

    @Override
    public String describe() {
      return kernel.name() + ", sums of " + part;
    }
  }

  /**
   * NVIDIA's library, called once for each chunk of K, each call but the first adding to C.
   *
   * @param precision precision of its computation
   * @param chunk most steps of K of a call, which bounds how errors add up in its chains
   * @param workspaceBytes device memory that it is given for the length of a call
   */
  record Cublas(Precision precision, long chunk, long workspaceBytes) implements MultiplyStrategy {
    /** The longest chunk: two chains of about equal length, as cuBLAS has them, for any K. */
    private static final long LONGEST_CHUNK = 8192;

    /** A shorter chunk would cost more than a sixth of the time, to read and to write C. */
    static final long SHORTEST_CHUNK = 256;

    /**
     * Steps of K per chunk, for sums of {@code terms} terms. A chain of n additions of terms of one
     * sign and about one size errs by n / 2 units in the last place at most, and half of what is
     * allowed, 2 sqrt(K), is left for the chain of the chunks.
     */
    static long chunk(Precision precision, long terms) {
      if (precision != Precision.FULL) {
        return LONGEST_CHUNK; // the inputs' own rounding weighs more
      }
      long chain = (long) Math.ceil(2 * Math.sqrt((double) terms));
      return Math.max(SHORTEST_CHUNK, Math.min(LONGEST_CHUNK, (chain + 63) / 64 * 64));
    }

    @Override
    public Optional<MultiplyWay> way() {
      return Optional.of(MultiplyWay.CUBLAS);
    }

    @Override
    public String order() {
      return "cuBLAS";
    }

    @Override
    public String describe() {
      return "cuBLAS " + precision + ", sums of " + chunk;
    }
  }
}

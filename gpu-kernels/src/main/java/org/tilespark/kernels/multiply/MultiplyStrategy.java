package org.tilespark.kernels.multiply;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;

/** The strategies that compute a multiply on a device. Each describes itself for EXPLAIN. */
public interface MultiplyStrategy {
  /** One line that describes the strategy, for EXPLAIN and the log. */
  String describe();

  /** The {@link MultiplyWay} of this strategy; empty if nothing is multiplied. */
  Optional<MultiplyWay> way();

  /**
   * The name of the order in which this strategy adds: strategies with the same order give the same
   * bits.
   */
  String order();

  /**
   * Device memory that the multiply needs besides its operands, in bytes; enough for any alignment
   * of them.
   */
  default long workspaceBytes() {
    return 0;
  }

  /**
   * Bytes of workspace for operands with this alignment; at most {@link #workspaceBytes()}.
   *
   * @param problem the problem that this strategy was chosen for
   * @param evenA true if A begins at a multiple of 16 bytes, so that it may need no copy
   * @param evenB true if B begins at a multiple of 16 bytes
   */
  default long workspaceBytes(MultiplyProblem problem, boolean evenA, boolean evenB) {
    return workspaceBytes();
  }

  /**
   * The steps if our kernels need more than a single launch; {@link MultiplyPlan#steps} has the
   * steps of all plans.
   *
   * @param problem the problem that this strategy was chosen for
   * @param evenA true if A begins at a multiple of 16 bytes, so that it may need no copy
   * @param evenB true if B begins at a multiple of 16 bytes
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
   * Our tiled kernel: a thread block computes a tile of C ({@code multiply_tiled.cu}).
   *
   * @param kernel entry point
   * @param shape its tile and threads
   * @param chunk steps of K that are summed in one chain; a multiple of {@value #STEP}, or fewer
   */
  record Tiled(String kernel, KernelIndex.TileShape shape, long chunk) implements MultiplyStrategy {
    /** Steps of K in shared memory at a time; {@code STEP} of the kernel. */
    static final int STEP = 16;

    /** Checks that the kernel can end its chains after {@code chunk} steps. */
    public Tiled {
      Objects.requireNonNull(kernel, "kernel");
      Objects.requireNonNull(shape, "shape");
      if (chunk < 1 || (chunk > STEP && chunk % STEP != 0)) {
        throw new IllegalArgumentException(
            "Chains of " + chunk + " steps; expected a multiple of " + STEP + ", or fewer");
      }
    }

    /**
     * Steps of K in a chunk: about sqrt(K), so that the chain in a chunk and the chain of the
     * chunks' sums are equally long and the error is least. A single chain of 9 badly scaled
     * doubles was off by 6.3 units on an H200, where 6.3 are allowed.
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

    /** The launch that solves a problem. */
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
   * Our kernels for the tensor cores: operands are converted to a {@link TensorForm}, and a thread
   * block on each multiprocessor computes one tile of C after the other ({@code multiply_split.cu},
   * {@code multiply_tensor.cu} and {@code multiply_double.cu} for sm_90a, {@code multiply_mma.cu}
   * for sm_80 and later). Where tiles are too few for the multiprocessors, K is cut into parts that
   * are summed afterwards ({@code multiply_parts.cu}). Kernels of {@code multiply_fused.cu} convert
   * operands while they read them, if these are aligned; otherwise operands are packed for another
   * kernel, which gives the same sums.
   *
   * @param form form of the operands
   * @param kernels kernels that pack, multiply and sum
   * @param sums how K is cut
   * @param processors multiprocessors of the device
   * @param atOnce most products of a batch that one launch makes
   * @param workspaceBytes device memory for packed operands and for the parts' sums, at least one
   *     byte
   */
  record Tensor(
      TensorForm form, Kernels kernels, Sums sums, int processors, long atOnce, long workspaceBytes)
      implements MultiplyStrategy {
    /**
     * The kernels of one way to multiply.
     *
     * @param main kernel that multiplies
     * @param packers kernels that convert operands to the {@link TensorForm}; for {@link
     *     TensorForm#SPLIT} also the kernel for the tiles that {@code main} skips, and for a fused
     *     kernel also the one that multiplies packed operands
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
     * @param chunk most steps of K that go through the workspace at once; this bounds the error of
     *     the tensor cores' sums
     * @param chain panels of DOUBLE whose products are summed in one chain; for other forms the
     *     kernel fixes it
     * @param parts most parts into which K of a chunk is cut; 1 if it is not cut
     * @param rest tail columns of DOUBLE after whole rounds of tiles
     */
    record Sums(long chunk, long chain, long parts, Rest rest) {}

    /**
     * The tail columns of C: what remains after the last full wave of tiles, computed with split-K.
     *
     * @param from the first of these columns, as the kernel counts them
     * @param parts parts into which K is cut for these columns, so that they occupy all
     *     multiprocessors; 1 if there is no tail
     */
    record Rest(long from, long parts) {
      static final Rest NONE = new Rest(0, 1);

      boolean isNone() {
        return parts == 1;
      }
    }

    /** A multiple of every form's panel. */
    static final long LONGEST_CHUNK = 8192;

    /**
     * Least columns of a tile at which the tensor cores of sm_90a do not wait for shared memory.
     */
    private static final int WIDE_COLS = 128;

    /**
     * The largest number of parts of K in a chunk: the length of each part is that of a chunk
     * without parts, but all parts need room for packed operands.
     */
    static final int MOST_CHUNKS = 8;

    /** Checks the components against each other. */
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
     * 256 (cuBLAS's shortest chunk). Of the inputs tried on an H200, equal terms were the worst:
     * sums of n terms were off by up to 0.24 n units. So the error stays within 2 sqrt(K) units for
     * sums of 1024 terms and more, and within 64 units for shorter ones.
     */
    static long chain(long terms) {
      return Math.max(Cublas.SHORTEST_CHUNK, (long) (6 * Math.sqrt((double) terms)))
          / TensorForm.FLOAT64.panel();
    }

    /** True if the kernel converts operands to the form while it reads them. */
    boolean isFused() {
      return TensorForm.isFused(kernels.main);
    }

    /**
     * True if {@code mma.cuh} multiplies: it reads packed operands by their addresses, without
     * tensor maps.
     */
    boolean isMma() {
      return kernels.main.family().startsWith(TensorForm.MMA);
    }

    /** True if tiles have so few columns that reading shared memory takes the most time. */
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
   * Our kernel for products with one extent of at most 16: it reads the large operand once, or
   * writes C once if K is small ({@code multiply_skinny.cu}; for lower precisions {@code
   * multiply_narrow.cu}). Products of a batch run one after the other.
   *
   * @param kernel kernel that multiplies
   * @param part steps of K that are summed at a time
   * @param steps the steps for each product, in the order in which they run
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
   * NVIDIA's library, called once for each chunk of K; each call after the first adds to C.
   *
   * @param precision precision of its computation
   * @param chunk most steps of K that one call sums, which bounds the rounding error of its chains
   * @param workspaceBytes bytes of device memory that cuBLAS may use during a call
   */
  record Cublas(Precision precision, long chunk, long workspaceBytes) implements MultiplyStrategy {
    /**
     * The longest chunk. Measured for cuBLAS at any K: it sums a chunk in two chains of about equal
     * length.
     */
    private static final long LONGEST_CHUNK = 8192;

    /**
     * The shortest chunk: with a shorter one, reading and writing C takes more than a sixth of the
     * time.
     */
    static final long SHORTEST_CHUNK = 256;

    /**
     * Steps of K per chunk, for sums of {@code terms} terms. A chain of n additions of terms of one
     * sign and about one size has an error of at most n / 2 units in the last place. Half of the
     * allowed error, 2 sqrt(K) units, is left for adding the chunks.
     */
    static long chunk(Precision precision, long terms) {
      if (precision != Precision.FULL) {
        return LONGEST_CHUNK; // the rounding of the inputs weighs more
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

package org.tilespark.kernels.multiply;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyStep.Place;
import org.tilespark.kernels.multiply.MultiplyStep.Side;
import org.tilespark.kernels.multiply.MultiplyStep.TensorMap;

/**
 * The launches of a tensor-core multiply, chunk by chunk of K, for several products of a batch at
 * once: pack the operands into the {@linkplain TensorWorkspace workspace} unless they are used in
 * place; multiply; repair flagged tiles; sum the {@linkplain PartsOfK parts} of split-K. A pure
 * function.
 *
 * <p>Kernels see parts of K as products of a batch, or as {@code parts} if they multiply doubles:
 * part {@code q} begins at step {@code q * partSteps}, and the last part may be shorter.
 */
abstract sealed class TensorSteps permits PackedSteps, FusedSteps, DoubleSteps {
  /** The alignment in bytes that the copy engine requires of addresses. */
  static final int EVEN_BYTES = 16;

  private static final int SUM_BLOCKS_PER_PROCESSOR = 16;

  final MultiplyStrategy.Tensor strategy;
  final MultiplyProblem problem;
  final TensorForm form;
  final KernelIndex.Kernel kernel; // the kernel that multiplies
  final KernelIndex.TileShape shape;
  final int width;
  final MultiplyProblem.Batch batch;
  private final long workspaceBytes;
  private final List<MultiplyStep> steps = new ArrayList<>();
  private long first; // number of the first of the products that go at once
  private long products;

  TensorSteps(
      MultiplyStrategy.Tensor strategy,
      MultiplyProblem problem,
      KernelIndex.Kernel kernel,
      long workspaceBytes) {
    this.strategy = strategy;
    this.problem = problem;
    this.form = strategy.form();
    this.kernel = kernel;
    this.shape = kernel.shape();
    this.width = problem.type().bytes();
    this.batch = problem.batch();
    this.workspaceBytes = workspaceBytes;
  }

  /**
   * The steps for a problem.
   *
   * @param evenA true if A begins at a multiple of 16 bytes
   * @param evenB true if B begins at a multiple of 16 bytes
   */
  static List<MultiplyStep> of(
      MultiplyStrategy.Tensor strategy, MultiplyProblem problem, boolean evenA, boolean evenB) {
    TensorSteps steps =
        strategy.form() == TensorForm.FLOAT64
            ? new DoubleSteps(strategy, problem, evenA, evenB)
            : strategy.isFused() && FusedSteps.isFusible(problem, evenA, evenB)
                ? new FusedSteps(strategy, problem)
                : new PackedSteps(strategy, problem, evenA, evenB);
    return steps.all();
  }

  private List<MultiplyStep> all() {
    long count = batch.count();
    for (first = 0; first < count; first += strategy.atOnce()) {
      products = Math.min(strategy.atOnce(), count - first);
      for (long p = 0; p < problem.k(); p += strategy.sums().chunk()) {
        addChunk(p, Math.min(strategy.sums().chunk(), problem.k() - p));
      }
    }
    return List.copyOf(steps);
  }

  /**
   * The matrices that the products of a chunk are written to: C, or the workspace for parts of K.
   */
  record Target(Place at, long lead, long step, Factors factors) {}

  /** Adds the launches for {@code k} steps of K, from {@code p} on. */
  void addChunk(long p, long k) {
    long panels = Ceil.div(k, form.panel());
    long parts = PartsOfK.partsOfChunk(form, k, strategy.sums().parts());
    if (parts == 1) {
      long step = products > 1 ? batch.strideC() : 0;
      addMultiply(p, k, 1, panels, new Target(c(), problem.leadC(), step, problem.factorsFrom(p)));
      return;
    }
    Place scratch = endOfWorkspace(TensorWorkspace.partBytes(problem, strategy.sums().parts()));
    long plane = problem.m() * problem.n();
    addMultiply(
        p,
        k,
        parts,
        Ceil.div(panels, parts),
        new Target(scratch, problem.n(), plane, Factors.OVERWRITE));
    addSum(scratch, c(), problem.m(), problem.n(), parts, problem.factorsFrom(p));
  }

  /**
   * Adds the launches that multiply a chunk of K, from step {@code p} on.
   *
   * @param parts number of parts into which the chunk is cut
   * @param partPanels panels of each part except the last
   */
  abstract void addMultiply(long p, long k, long parts, long partPanels, Target c);

  final void add(MultiplyStep step) {
    steps.add(step);
  }

  /** The number of products that go at once. */
  final long products() {
    return products;
  }

  /** The place of C of the first product that goes at once. */
  final Place c() {
    return new Place(Side.C, first * batch.strideC() * width);
  }

  /** The place {@code bytes} bytes before the workspace's end. */
  final Place endOfWorkspace(long bytes) {
    return new Place(Side.WORKSPACE, workspaceBytes - bytes);
  }

  /** The place in A or B of step {@code p} of K, of the first product that goes at once. */
  final Place from(Side side, long p) {
    boolean isA = side == Side.A;
    long lead = isA ? problem.a().lead() : problem.b().lead();
    long stride = isA ? batch.strideA() : batch.strideB();
    return new Place(side, (first * stride + (isAcross(side) ? p * lead : p)) * width);
  }

  /** Number of distinct matrices A among the products that run at once. */
  final long countA() {
    return TensorWorkspace.alike(batch.strideA(), products);
  }

  final long countB() {
    return TensorWorkspace.alike(batch.strideB(), products);
  }

  /** Adds the launch that sums the partial sums of one product, in the order of K. */
  final void addSum(Place scratch, Place c, long m, long n, long parts, Factors factors) {
    KernelIndex.Kernel sum = strategy.kernels().summing().orElseThrow();
    add(
        new MultiplyStep(
            // Fields of SumArguments.
            new KernelLaunch(
                sum.name(),
                blocks(Ceil.div(m * n, sum.shape().threads()), most(SUM_BLOCKS_PER_PROCESSOR), sum),
                m,
                n,
                problem.leadC(),
                1,
                parts,
                problem.alphaWord(factors),
                problem.betaWord(factors),
                1,
                0),
            List.of(),
            List.of(scratch, c)));
  }

  /** Tiles of C along M. */
  final long rowTiles() {
    return Ceil.div(problem.m(), shape.rows());
  }

  /** Tiles of C along N. */
  final long colTiles() {
    return Ceil.div(problem.n(), shape.cols());
  }

  /**
   * The first words of the arguments of most kernels: extents of C, its leading dimension, panels,
   * tiles.
   */
  final long[] head(Target c, long partPanels) {
    return new long[] {problem.m(), problem.n(), c.lead(), partPanels, rowTiles(), colTiles()};
  }

  /**
   * The last words of the arguments of most kernels, from alpha on.
   *
   * @param a step in A from one product or part to the next
   * @param b step in B from one product or part to the next
   * @param k steps of K from one part to the next
   */
  final long[] tail(Target c, long batches, long a, long b, long k) {
    return new long[] {
      problem.alphaWord(c.factors()), problem.betaWord(c.factors()), batches, a, b, c.step(), k
    };
  }

  static long[] words(long[]... parts) {
    return Arrays.stream(parts).flatMapToLong(Arrays::stream).toArray();
  }

  /**
   * Adds the launch of the multiplying kernel: a thread block for each piece of work, or as many
   * thread blocks as the device holds.
   */
  final void launch(List<TensorMap> maps, List<Place> pointers, long pieces, long... words) {
    LaunchConfig blocks = blocks(pieces, most(kernel.traits().blocksPerProcessor()), kernel);
    add(new MultiplyStep(new KernelLaunch(kernel.name(), blocks, words), maps, pointers));
  }

  final LaunchConfig blocks(long pieces, int most, KernelIndex.Kernel kernel) {
    return new LaunchConfig(
        (int) Math.min(pieces, most), kernel.shape().threads(), kernel.traits().dynamicBytes());
  }

  final int most(int perProcessor) {
    return Math.multiplyExact(strategy.processors(), perProcessor);
  }

  /**
   * Matrices A or B of the products that go at once, as they are stored.
   *
   * @param lead elements between the starts of neighbouring rows
   * @param count number of matrices, {@code stride} elements from one to the next; the stride of
   *     one matrix is 0
   */
  record Matrices(Place at, long rows, long cols, long lead, long count, long stride) {}

  /** The part of A or B for {@code k} steps of K from step {@code p} on. */
  final Matrices stored(Side side, long p, long k) {
    boolean isA = side == Side.A;
    boolean across = isAcross(side);
    long extent = isA ? problem.m() : problem.n();
    long count = isA ? countA() : countB();
    return new Matrices(
        from(side, p),
        across ? k : extent,
        across ? extent : k,
        isA ? problem.a().lead() : problem.b().lead(),
        count,
        count == 1 ? 0 : isA ? batch.strideA() : batch.strideB());
  }

  /** True if K runs along the columns of A or B as stored. */
  final boolean isAcross(Side side) {
    return side == Side.A ? problem.a().transposed() : !problem.b().transposed();
  }
}

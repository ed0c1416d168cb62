package org.tilespark.kernels.multiply;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyStep.Place;
import org.tilespark.kernels.multiply.MultiplyStep.Side;

/**
 * The steps of a multiply with one extent of at most {@value #MOST} ({@code skinny.cuh}): they read
 * the large operand once. If its rows or columns alone would occupy too few thread blocks, or the
 * sums would be too long, K is cut into parts, which are summed afterwards. Pure functions.
 *
 * <p>How K is cut depends on the extents and on how operands are stored, not on the device. Lengths
 * of the chains of additions: in a part of K steps one of K / 32 + 5 if the large operand is stored
 * along K, otherwise two of about sqrt(K); then one over the parts. Together they have at most
 * about 2 sqrt(K) additions, as in {@code tiled.cuh}. Lower precisions have kernels of their own
 * ({@code narrow.cuh}), for which K is cut likewise, though their chains are shorter; they do not
 * support a K of 5 to 16.
 */
final class SkinnySteps {
  /** The largest size of the small extent. */
  static final int MOST = 16;

  private static final String FAMILY = "multiply_skinny_";

  private static final String ALONG = "along";

  /** The steps of K of a part are a multiple of this; {@code SKINNY_CHUNK} of the kernels. */
  private static final long CHUNK = 256;

  /** Lanes that divide K among them if the large operand is stored along K. */
  private static final long LANES = 32;

  /** The steps of a chain are a multiple of this; {@code SKINNY_AHEAD} of the kernels. */
  private static final long AHEAD = 8;

  private static final long SHORTEST_CHAIN = 16;

  /**
   * K is cut into more parts until there are this many thread blocks: eight for each of 128
   * multiprocessors.
   */
  private static final long ENOUGH_BLOCKS = 1024;

  /**
   * Most bytes of scratch for the parts' sums; if all parts need more, they are computed in several
   * rounds.
   */
  static final long MOST_SCRATCH_BYTES = 32L << 20;

  /** Thread blocks of {@code skinny_sum} per multiprocessor: enough threads in flight. */
  private static final int SUM_BLOCKS_PER_PROCESSOR = 16;

  private final MultiplyProblem problem;
  private final DeviceLimits limits;
  private final KernelIndex.Kernel kernel;
  private final KernelIndex.Kernel summing;
  private final boolean fewCols;
  private final int width;
  private final List<MultiplyStep> steps = new ArrayList<>();

  private SkinnySteps(
      MultiplyProblem problem,
      DeviceLimits limits,
      KernelIndex.Kernel kernel,
      KernelIndex.Kernel summing) {
    this.problem = problem;
    this.limits = limits;
    this.kernel = kernel;
    this.summing = summing;
    this.fewCols = hasFewCols(problem);
    this.width = problem.type().bytes();
  }

  /**
   * The strategy with a skinny kernel for a problem; empty if no extent is small, or the jar has no
   * kernel for it.
   */
  static Optional<MultiplyStrategy.Skinny> of(MultiplyProblem problem, DeviceKernels device) {
    long least = Math.min(problem.m(), Math.min(problem.k(), problem.n()));
    if (least < 1 || least > MOST) {
      return Optional.empty();
    }
    Optional<KernelIndex.Kernel> kernel = kernel(problem, device);
    Optional<KernelIndex.Kernel> summing = summing(problem, device);
    return kernel.isEmpty() || summing.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new SkinnySteps(problem, device.limits(), kernel.get(), summing.get()).strategy());
  }

  /** Most bytes of scratch that a problem, or one of smaller extents, takes. */
  static long mostWorkspaceBytes(MultiplyProblem problem, DeviceKernels device) {
    if (problem.k() <= CHUNK // K is one part
        || summing(problem, device).isEmpty()) {
      return 0;
    }
    double elements =
        Math.max(
            (double) problem.m() * Math.min(problem.n(), MOST),
            (double) problem.n() * Math.min(problem.m(), MOST));
    return (long)
        Math.min(
            MOST_SCRATCH_BYTES,
            elements * problem.type().bytes() * Ceil.div(problem.k(), CHUNK)); // no part is shorter
  }

  /** True if the small extent is K. */
  static boolean isShallow(MultiplyProblem problem) {
    return problem.k() <= MOST && problem.m() > MOST && problem.n() > MOST;
  }

  /** The size of the small extent. */
  static long count(MultiplyProblem problem) {
    return isShallow(problem) ? problem.k() : hasFewCols(problem) ? problem.n() : problem.m();
  }

  /** The number of tiles of C, each of a thread block, of a problem with a small K. */
  static double tiles(MultiplyProblem problem, KernelIndex.TileShape shape) {
    return (double) Ceil.div(problem.m(), shape.rows()) * Ceil.div(problem.n(), shape.cols());
  }

  private static boolean hasFewCols(MultiplyProblem problem) {
    return problem.n() <= MOST && (problem.n() <= problem.m() || problem.m() > MOST);
  }

  private static Optional<KernelIndex.Kernel> summing(
      MultiplyProblem problem, DeviceKernels device) {
    return device.find(FAMILY + "sum", problem.type().bytes());
  }

  private static Optional<KernelIndex.Kernel> kernel(
      MultiplyProblem problem, DeviceKernels device) {
    int width = problem.type().bytes();
    String family =
        problem.precision() == Precision.FULL
            ? FAMILY
            : FAMILY + problem.precision().name().toLowerCase(Locale.ROOT) + "_";
    if (isShallow(problem)) {
      return device.find(family + (problem.k() <= 4 ? "depth4" : "depth16"), width);
    }
    boolean across = hasFewCols(problem) ? problem.a().transposed() : !problem.b().transposed();
    return device.findAll(family + (across ? "across" : ALONG), width).stream()
        .filter(kernel -> kernel.shape().cols() >= count(problem))
        .min(Comparator.comparingInt(kernel -> kernel.shape().cols()));
  }

  private MultiplyStrategy.Skinny strategy() {
    if (isShallow(problem)) {
      steps.add(depth());
      return new MultiplyStrategy.Skinny(kernel, problem.k(), steps, 0);
    }
    long extent = fewCols ? problem.m() : problem.n();
    long count = count(problem);
    long partSteps = partSteps(extent);
    long parts = Ceil.div(problem.k(), partSteps);
    long partBytes = extent * count * width; // at most C's bytes
    long atOnce = Math.max(1, Math.min(parts, MOST_SCRATCH_BYTES / partBytes));
    for (long p = 0; p < problem.k(); p += atOnce * partSteps) {
      long k = Math.min(problem.k() - p, atOnce * partSteps);
      addMultiply(p, k, extent, count, partSteps);
    }
    return new MultiplyStrategy.Skinny(
        kernel, partSteps, steps, atOnce > 1 ? atOnce * partBytes : 0);
  }

  /**
   * Steps of K of a part: few enough that all parts together occupy the device and that the chains
   * in a part are short, and at least sqrt(K), so that the chain over the parts is short.
   */
  private long partSteps(long extent) {
    long k = problem.k();
    long root = (long) Math.ceil(Math.sqrt((double) k));
    long wanted = Ceil.div(ENOUGH_BLOCKS, Ceil.div(extent, kernel.shape().rows()));
    long busy = Math.max(Ceil.div(k, wanted), root);
    return Ceil.to(isAlong() ? Math.min(busy, LANES * root) : busy, CHUNK);
  }

  private boolean isAlong() {
    return kernel.family().endsWith(ALONG);
  }

  private void addMultiply(long p, long k, long extent, long count, long partSteps) {
    long parts = Ceil.div(k, partSteps);
    Factors factors = problem.factorsFrom(p);
    boolean direct = parts == 1;
    Factors ofParts = direct ? factors : Factors.OVERWRITE;
    long pieces = Ceil.div(extent, kernel.shape().rows());
    long chain =
        Math.max(
            SHORTEST_CHAIN,
            Ceil.to((long) Math.ceil(Math.sqrt((double) Math.min(k, partSteps))), AHEAD));
    long stepX = fewCols ? problem.leadC() : 1;
    long stepJ = fewCols ? 1 : problem.leadC();
    boolean smallAlong = fewCols ? problem.b().transposed() : !problem.a().transposed();
    long leadSmall = fewCols ? problem.b().lead() : problem.a().lead();
    steps.add(
        new MultiplyStep(
            // Fields of SkinnyArguments.
            new KernelLaunch(
                kernel.name(),
                blocks(pieces * parts, kernel),
                extent,
                k,
                count,
                fewCols ? problem.a().lead() : problem.b().lead(),
                smallAlong ? 1 : leadSmall,
                smallAlong ? leadSmall : 1,
                direct ? stepX : count,
                direct ? stepJ : 1,
                partSteps,
                extent * count,
                chain,
                pieces,
                parts,
                problem.alphaWord(ofParts),
                problem.betaWord(ofParts)),
            List.of(),
            List.of(
                from(fewCols ? Side.A : Side.B, p),
                from(fewCols ? Side.B : Side.A, p),
                new Place(direct ? Side.C : Side.WORKSPACE, 0))));
    if (!direct) {
      addSum(extent, count, stepX, stepJ, parts, factors);
    }
  }

  private void addSum(
      long extent, long count, long stepX, long stepJ, long parts, Factors factors) {
    int threads = summing.shape().threads();
    long pieces =
        Math.min(
            Ceil.div(extent * count, threads),
            (long) SUM_BLOCKS_PER_PROCESSOR * limits.multiprocessors());
    steps.add(
        new MultiplyStep(
            // Fields of SkinnySumArguments.
            new KernelLaunch(
                summing.name(),
                blocks(pieces, summing),
                extent,
                count,
                stepX,
                stepJ,
                parts,
                problem.alphaWord(factors),
                problem.betaWord(factors)),
            List.of(),
            List.of(new Place(Side.WORKSPACE, 0), new Place(Side.C, 0))));
  }

  private MultiplyStep depth() {
    long rowTiles = Ceil.div(problem.m(), kernel.shape().rows());
    long colTiles = Ceil.div(problem.n(), kernel.shape().cols());
    return new MultiplyStep(
        // Fields of DepthArguments.
        new KernelLaunch(
            kernel.name(),
            blocks(rowTiles * colTiles, kernel),
            problem.m(),
            problem.k(),
            problem.n(),
            problem.a().transposed() ? 1 : problem.a().lead(),
            problem.a().transposed() ? problem.a().lead() : 1,
            problem.b().transposed() ? 1 : problem.b().lead(),
            problem.b().transposed() ? problem.b().lead() : 1,
            problem.leadC(),
            rowTiles,
            colTiles,
            problem.alphaWord(problem.factors()),
            problem.betaWord(problem.factors())),
        List.of(),
        List.of(from(Side.A, 0), from(Side.B, 0), new Place(Side.C, 0)));
  }

  /** The place of step {@code p} of K in A or B. */
  private Place from(Side side, long p) {
    boolean across = side == Side.A ? problem.a().transposed() : !problem.b().transposed();
    long lead = side == Side.A ? problem.a().lead() : problem.b().lead();
    return new Place(side, (across ? p * lead : p) * width);
  }

  private LaunchConfig blocks(long pieces, KernelIndex.Kernel of) {
    return LaunchConfig.forPieces(pieces, of.shape().threads(), 0, limits);
  }
}

package org.tilespark.kernels.host;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;

/**
 * The host twin: the semantics of {@link Multiplier} on the CPU's vectors, on the calling thread
 * alone (Spark gives each task one core). Oracle of the tests and fallback in production.
 *
 * <p>FLOAT is summed in float and DOUBLE in double, in short chains of fused multiply-adds whose
 * sums are added with the rounding errors carried along ({@link SumOrder}). The error of an element
 * is at most {@code 2 u sqrt(K) |A||B|}, and at most {@code 76 u |A||B|} for K up to nine million,
 * where u is 2^-24 or 2^-53. Products below FLOAT's least number, 2^-149, are lost, as in numpy.
 *
 * <p>Elements of FLOAT whose sum is not finite in float are summed again in double. So 1e30 * 1e10
 * - 1e30 * 1e10 is 0 here for FLOAT, and may be infinite or NaN on a device, which has no fast sums
 * of a wider type. There the result depends on the order of additions, so results of overflowing
 * FLOAT sums are unspecified. Alpha times a sum is rounded, then that plus beta times C; for FLOAT
 * both in double, and to float once. The lower precisions round the inputs as the device does.
 *
 * <p>No zero is skipped: NaN and infinity in one operand reach the result as in numpy, also where
 * they meet a zero.
 *
 * <p>An element's bits depend on its row of A, its column of B, and K alone: not on the tile, the
 * width of the vectors or the compiler. CPUs without fused multiply-adds are the exception.
 *
 * <p>Safe for several threads; each concurrent call uses arrays of up to 2.2 times the bytes that a
 * core has of the last-level cache, or of 8 MiB if that is more; up to three times as much for
 * FLOAT with sums that are not finite. Small products use less. Arrays are kept for the next call
 * until {@link #close}.
 */
public final class HostMultiplier implements Multiplier {
  private final HostProfile profile;
  private final FloatKernel floats;
  private final DoubleKernel doubles;
  private final Queue<Stage> stages = new ConcurrentLinkedQueue<>();

  /** A multiplier for this machine. */
  public HostMultiplier() {
    this(HostProfile.current());
  }

  /**
   * A multiplier with the tiles and panels of another machine, for tests. Caches are taken to be of
   * {@code profile}'s sizes, but vectors stay as wide as this JVM's: a profile can only switch
   * vectors off.
   */
  HostMultiplier(HostProfile profile) {
    this.profile = profile;
    this.floats = FloatKernel.of(profile);
    this.doubles = DoubleKernel.of(profile);
  }

  /** Working memory of one call. */
  final class Stage {
    private FloatPanels floatPanels;
    private DoublePanels doublePanels;

    /** The panels of an element type, made when a call first asks for them. */
    PackedPanels panels(ElementType type) {
      if (type == ElementType.FLOAT32) {
        floatPanels = floatPanels == null ? new FloatPanels(floats) : floatPanels;
        return floatPanels;
      }
      doublePanels = doublePanels == null ? new DoublePanels(doubles) : doublePanels;
      return doublePanels;
    }

    HostProfile profile() {
      return profile;
    }
  }

  @Override
  public void multiply(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c) {
    multiply(problem, a, b, c, false);
  }

  @Override
  public void multiplyHalf(MultiplyProblem problem, HostMemory a, HostMemory c) {
    Multiplier.requireHalf(problem);
    multiply(problem, a, a, c, true);
  }

  private void multiply(
      MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c, boolean isHalf) {
    problem.requireBytes(a.bytes(), b.bytes(), c.bytes());
    if (problem.keepsC()) {
      return;
    }
    Stage kept = stages.poll();
    Stage stage = kept == null ? new Stage() : kept;
    try {
      MultiplyProblem each = problem.first();
      MultiplyProblem.Batch batch = problem.batch();
      for (long i = 0; i < batch.count(); i++) {
        HostMemory partA = part(a, i * batch.strideA(), each.bytesA(), each.type());
        HostMemory partB = part(b, i * batch.strideB(), each.bytesB(), each.type());
        HostMemory partC = part(c, i * batch.strideC(), each.bytesC(), each.type());
        TiledProduct.of(each, partA, partB, partC, isHalf, stage).run();
      }
    } finally {
      stages.add(stage);
    }
  }

  private static HostMemory part(HostMemory all, long element, long bytes, ElementType type) {
    return all.slice(bytes == 0 ? 0 : element * type.bytes(), bytes);
  }

  /** Frees the arrays kept between calls; the multiplier stays usable. */
  @Override
  public void close() {
    stages.clear();
  }

  @Override
  public String toString() {
    return "cpu (" + profile.describe() + ")";
  }
}

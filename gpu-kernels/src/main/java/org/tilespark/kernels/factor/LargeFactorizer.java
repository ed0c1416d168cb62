package org.tilespark.kernels.factor;

import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Factorises large matrices with a factorizer that is faster for them and may refuse, all other
 * matrices with one that does not refuse. Borrows both factorizers.
 *
 * <p>R with Q and R without Q come from one factorizer unless that factorizer refuses one of the
 * two calls.
 */
public final class LargeFactorizer implements Factorizer {
  private final Factorizer usual;
  private final int leastSide;
  private final Supplier<? extends Optional<? extends Factorizer>> large;
  private final Consumer<RefusedException> refused;

  /**
   * A factorizer made of two others.
   *
   * @param usual factorizes what {@code large} does not
   * @param leastSide shorter side from which a matrix is large; a triangular system is large if the
   *     shorter side of its right sides reaches this
   * @param large gives the factorizer for large matrices, and is asked for each of them; that may
   *     throw {@link RefusedException} in every call, with operands as they were; empty if there is
   *     none
   * @param refused gets each refusal
   */
  public LargeFactorizer(
      Factorizer usual,
      int leastSide,
      Supplier<? extends Optional<? extends Factorizer>> large,
      Consumer<RefusedException> refused) {
    this.usual = usual;
    this.leastSide = leastSide;
    this.large = large;
    this.refused = refused;
  }

  private void use(int side, int otherSide, Consumer<Factorizer> work) {
    Optional<? extends Factorizer> other =
        Math.min(side, otherSide) >= leastSide ? large.get() : Optional.empty();
    if (other.isPresent()) {
      try {
        work.accept(other.get());
        return;
      } catch (RefusedException e) {
        refused.accept(e);
      }
    }
    work.accept(usual);
  }

  @Override
  public void qrR(int rows, int cols, HostMemory a, HostMemory r) {
    use(rows, cols, each -> each.qrR(rows, cols, a, r));
  }

  @Override
  public void qr(int rows, int cols, HostMemory a, HostMemory q, HostMemory r) {
    use(rows, cols, each -> each.qr(rows, cols, a, q, r));
  }

  @Override
  public void svdvals(int rows, int cols, HostMemory a, HostMemory s) {
    use(rows, cols, each -> each.svdvals(rows, cols, a, s));
  }

  @Override
  public void svd(int rows, int cols, HostMemory a, HostMemory u, HostMemory s, HostMemory vt) {
    use(rows, cols, each -> each.svd(rows, cols, a, u, s, vt));
  }

  @Override
  public void eigvalsh(int n, HostMemory a, HostMemory values) {
    use(n, n, each -> each.eigvalsh(n, a, values));
  }

  @Override
  public void eigh(int n, int k, HostMemory a, HostMemory values, HostMemory vectors) {
    use(n, n, each -> each.eigh(n, k, a, values, vectors));
  }

  @Override
  public void cholesky(int n, HostMemory a) {
    use(n, n, each -> each.cholesky(n, a));
  }

  @Override
  public void lu(int n, HostMemory a, int[] pivots) {
    use(n, n, each -> each.lu(n, a, pivots));
  }

  @Override
  public void solveTriangular(
      Triangle triangle, int n, int rightSides, HostMemory t, HostMemory b) {
    use(n, rightSides, each -> each.solveTriangular(triangle, n, rightSides, t, b));
  }

  @Override
  public void solveLu(int n, int rightSides, HostMemory lu, int[] pivots, HostMemory b) {
    use(n, rightSides, each -> each.solveLu(n, rightSides, lu, pivots, b));
  }

  @Override
  public void solvePositiveDefinite(int n, int rightSides, HostMemory lower, HostMemory b) {
    use(n, rightSides, each -> each.solvePositiveDefinite(n, rightSides, lower, b));
  }

  /** Does nothing, as both factorizers are borrowed. */
  @Override
  public void close() {}

  @Override
  public String toString() {
    return usual + ", others for large matrices";
  }
}

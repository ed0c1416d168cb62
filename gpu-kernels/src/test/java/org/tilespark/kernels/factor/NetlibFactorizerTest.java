package org.tilespark.kernels.factor;

/** LAPACK in Java, on the heap. */
class NetlibFactorizerTest extends FactorizerContract {
  private final Factorizer factorizer = new NetlibFactorizer();

  @Override
  protected Factorizer factorizer() {
    return factorizer;
  }
}

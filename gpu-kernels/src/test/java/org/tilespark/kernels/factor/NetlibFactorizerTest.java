package org.tilespark.kernels.factor;

import org.junit.jupiter.api.AfterAll;
import org.tilespark.kernels.host.HostMultiplier;

/** LAPACK in Java, on the heap. */
class NetlibFactorizerTest extends FactorizerContract {
  private final Factorizer factorizer = new NetlibFactorizer(new HostMultiplier());

  @AfterAll
  void close() {
    factorizer.close();
    factorizer.close();
  }

  @Override
  protected Factorizer factorizer() {
    return factorizer;
  }
}

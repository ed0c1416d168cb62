package org.tilespark.kernels.factor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.memory.HostMemory;

/** A factorizer for large matrices that refuses every second call keeps the contract. */
class LargeFactorizerTest extends FactorizerContract {
  private final Factorizer java = new NetlibFactorizer(new HostMultiplier());
  private final List<String> done = Collections.synchronizedList(new ArrayList<>());
  private final List<String> refusals = Collections.synchronizedList(new ArrayList<>());
  private final AtomicInteger calls = new AtomicInteger();
  private final LargeFactorizer factorizer =
      new LargeFactorizer(
          java, 5, () -> Optional.of(refusing()), e -> refusals.add(e.getMessage()));

  /** Tests share this object. */
  @BeforeEach
  void forget() {
    done.clear();
    refusals.clear();
    calls.set(0);
  }

  /** Plain Java, which notes the methods that it does. */
  private Factorizer refusing() {
    return (Factorizer)
        Proxy.newProxyInstance(
            Factorizer.class.getClassLoader(),
            new Class<?>[] {Factorizer.class},
            (proxy, method, arguments) -> {
              if (calls.getAndIncrement() % 2 == 1) {
                throw new RefusedException("no " + method.getName());
              }
              done.add(method.getName());
              try {
                return method.invoke(java, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Override
  protected Factorizer factorizer() {
    return factorizer;
  }

  @Test
  void smallMatricesStay() {
    HostMemory a = HostMemory.ofArray(random(4, 1000, 1));
    factorizer.svdvals(4, 1000, a, HostMemory.ofArray(new double[4]));
    HostMemory b = HostMemory.ofArray(new double[6 * 4]);
    HostMemory t = HostMemory.ofArray(random(6, 6, 1));
    factorizer.solveTriangular(Triangle.LOWER, 6, 4, t, b);
    assertEquals(List.of(), done);
    factorizer.svdvals(5, 800, a, HostMemory.ofArray(new double[5]));
    assertEquals(List.of("svdvals"), done);
  }

  @Test
  void refusalsAreHeardAndDone() {
    double[] a = random(6, 6, 2);
    double[] first = a.clone();
    double[] second = a.clone();
    int[] pivots = new int[6];
    factorizer.lu(6, HostMemory.ofArray(first), pivots);
    assertEquals(List.of(), refusals);
    factorizer.lu(6, HostMemory.ofArray(second), new int[6]);
    assertEquals(List.of("no lu"), refusals);
    assertArrayEquals(first, second);
    double[] x = random(6, 7, 3);
    double[] b = product(a, x, 6, 6, 7);
    factorizer.solveLu(6, 7, HostMemory.ofArray(first), pivots, HostMemory.ofArray(b));
    assertEquals(List.of("lu", "solveLu"), done);
    for (int i = 0; i < b.length; i++) {
      assertEquals(x[i], b[i], 1e-12);
    }
  }

  /** A matrix that has no factor here has none elsewhere. */
  @Test
  void errorsOfTheMatrixAreNoRefusals() {
    HostMemory zero = HostMemory.ofArray(new double[25]);
    assertThrows(NotPositiveDefiniteException.class, () -> factorizer.cholesky(5, zero));
    assertEquals(List.of("cholesky"), done);
    assertEquals(List.of(), refusals);
  }

  @Test
  void withoutTheOtherAllIsUsual() {
    LargeFactorizer alone =
        new LargeFactorizer(java, 1, Optional::<Factorizer>empty, e -> refusals.add("heard"));
    double[] values = new double[2];
    alone.eigvalsh(2, HostMemory.ofArray(new double[] {3, 0, 0, 1}), HostMemory.ofArray(values));
    assertArrayEquals(new double[] {1, 3}, values);
    assertTrue(refusals.isEmpty());
  }
}

package org.tilespark.spark.runtime;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Random;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Makes this process compute QR by another LAPACK at each call: one whose rounding and signs are
 * its own, as those of executors with different libraries are.
 */
public final class OtherFactorizer implements AutoCloseable {
  private final HostProducts products;
  private final Factorizer own;
  private final Random random = new Random(7);
  private int calls;

  private OtherFactorizer(HostProducts products) {
    this.products = products;
    this.own = products.factorizer();
  }

  /** Begins; ends when the result is closed. */
  public static OtherFactorizer use() {
    OtherFactorizer other = new OtherFactorizer(get(ExecutorRuntime.current(), "hostProducts"));
    other.set(
        (Factorizer)
            Proxy.newProxyInstance(
                Factorizer.class.getClassLoader(),
                new Class<?>[] {Factorizer.class},
                (proxy, method, arguments) -> {
                  try {
                    return switch (method.getName()) {
                      case "qr", "qrR" -> other.qr(arguments);
                      default -> method.invoke(other.own, arguments);
                    };
                  } catch (InvocationTargetException e) {
                    throw e.getCause();
                  }
                }));
    return other;
  }

  /** Factorizations so far. */
  public synchronized int calls() {
    return calls;
  }

  /** QR of a matrix that differs by rounding, with some rows of R and columns of Q negated. */
  private synchronized Object qr(Object[] arguments) {
    calls++;
    int rows = (Integer) arguments[0];
    int cols = (Integer) arguments[1];
    int small = Math.min(rows, cols);
    double[] a = new double[rows * cols];
    ((HostMemory) arguments[2]).copyTo(HostMemory.ofArray(a));
    for (int i = 0; i < a.length; i++) {
      a[i] += a[i] * Math.ulp(1.0) * random.nextInt(-1, 2);
    }
    double[] q = new double[rows * small];
    double[] r = new double[small * cols];
    own.qr(rows, cols, HostMemory.ofArray(a), HostMemory.ofArray(q), HostMemory.ofArray(r));
    for (int k = 0; k < small; k++) {
      int sign = random.nextBoolean() ? 1 : -1;
      for (int i = 0; i < rows; i++) {
        q[i * small + k] *= sign;
      }
      for (int j = k; j < cols; j++) {
        r[k * cols + j] *= sign;
      }
    }
    HostMemory.ofArray(r).copyTo((HostMemory) arguments[arguments.length - 1]);
    if (arguments.length == 5) {
      HostMemory.ofArray(q).copyTo((HostMemory) arguments[3]);
    }
    return null;
  }

  private void set(Factorizer used) {
    try {
      Field field = HostProducts.class.getDeclaredField("factorizer");
      field.setAccessible(true);
      synchronized (products) {
        field.set(products, used);
      }
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  @SuppressWarnings("unchecked")
  private static <T> T get(Object from, String name) {
    try {
      Field field = from.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return (T) field.get(from);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    set(own);
  }
}

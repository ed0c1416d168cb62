package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.layout.ElementType;

/** The kernels for products that this jar holds. */
class ProductKernelsTest {

  private static final int MOST_KERNELS = 120; // of an architecture
  private static final long MOST_BYTES = 24L << 20; // of all kernels

  /** Each is launched by some plan for an H200, which can run all: none is unused. */
  @Test
  void eachHasAPlan() {
    KernelIndex jar = KernelIndex.ofThisJar();
    Assumptions.assumeTrue(jar.architectures().contains("sm_90a"), "built without nvcc or sm_90a");
    Set<String> launched = new TreeSet<>();
    for (long[] shape : ProductKernels.shapes()) {
      for (int which = 0; which < 4; which++) {
        for (Precision precision : Precision.values()) {
          addKernels(
              problem(shape, which, ElementType.FLOAT32).withPrecision(precision), jar, launched);
        }
        addKernels(problem(shape, which, ElementType.FLOAT64), jar, launched);
      }
    }
    assertEquals(ProductKernels.of(jar, PlannerFixture.H200), launched);
  }

  /** Few enough to be compiled in minutes and to be carried by every executor. */
  @Test
  void areFewAndSmall() throws IOException {
    KernelIndex jar = KernelIndex.ofThisJar();
    for (String architecture : jar.architectures()) {
      long products =
          jar.kernels().stream()
              .filter(kernel -> kernel.architectures().contains(architecture))
              .filter(kernel -> kernel.source().matches("multiply_.*|pack|repair_split"))
              .count();
      assertTrue(products <= MOST_KERNELS, products + " kernels of products for " + architecture);
    }
    long bytes = 0;
    try (InputStream in = KernelIndex.class.getResourceAsStream(KernelIndex.RESOURCE)) {
      Assumptions.assumeTrue(in != null, "built without nvcc");
      String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      for (String line : text.lines().filter(each -> each.startsWith("fatbin ")).toList()) {
        bytes += Long.parseLong(line.split(" ")[2]);
      }
    }
    assertTrue(bytes > 0 && bytes <= MOST_BYTES, bytes + " bytes of fatbins");
  }

  /** A dense one; bit 0 of {@code which} if A is stored transposed, bit 1 if B is. */
  private static MultiplyProblem problem(long[] shape, int which, ElementType type) {
    return MultiplyProblem.dense(
        shape[0], shape[1], shape[2], type, (which & 1) != 0, (which & 2) != 0);
  }

  /** Kernels that all ways launch for operands that begin evenly and for others. */
  private static void addKernels(MultiplyProblem problem, KernelIndex jar, Set<String> launched) {
    for (MultiplyPlan plan :
        new MultiplyPlanner(
                new DeviceKernels(PlannerFixture.H200, jar),
                PlannerFixture.ABSENT,
                MultiplyEngine.AUTO)
            .candidates(problem, problem.k())) {
      for (boolean even : new boolean[] {false, true}) {
        plan.steps(even, even).forEach(step -> launched.add(step.launch().kernel()));
      }
    }
  }
}

package org.tilespark.kernels.tune;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.transpose.ProblemClass;
import org.tilespark.kernels.transpose.Tiling;
import org.tilespark.kernels.transpose.TransposePlan;
import org.tilespark.kernels.transpose.TransposePlanner;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

class AutotunerTest {
  private static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel v transpose_vector_w4_64x64x256 sm_80
          kernel v transpose_vector_exact_w4_64x64x256 sm_80
          kernel v transpose_vector_w4_64x32x128 sm_80
          kernel v transpose_vector_w4_32x64x128 sm_80
          kernel s transpose_shifted_w4_64x64x256 sm_80
          kernel c copy_strided_w16_256 sm_80
          """);
  private static final DeviceLimits A100 =
      new DeviceLimits(8, 0, 108, 1024, Integer.MAX_VALUE, 49152, 40L << 30);
  private static final TransposeProblem MATRIX =
      new TransposeProblem(Shape.of(2048, 2048), Permutation.of(1, 0), 4);
  private static final String MATRIX_CLASS = "vector w4 2048 x 2048 of 2^24";

  private final AtomicLong nanos = new AtomicLong();

  private Autotuner tuner(
      TuningTable<ProblemClass, Tiling> bundled,
      Optional<TuningStore<ProblemClass, Tiling>> store,
      long budgetMillis) {
    return new Autotuner(
        new DeviceKernels(A100, INDEX),
        bundled,
        store,
        Duration.ofMillis(budgetMillis),
        Autotuner.LEAST_GAIN,
        nanos::get);
  }

  private static TransposePlan plan(
      TransposeProblem problem, TuningTable<ProblemClass, Tiling> table) {
    return TransposePlanner.plan(problem, 16, new DeviceKernels(A100, INDEX), table).get();
  }

  /** Takes a millisecond by the clock; the kernel says how long by the device's. */
  private ToDoubleFunction<TransposePlan> timer(Map<String, Double> millis, Set<String> tried) {
    return trial -> {
      nanos.addAndGet(1_000_000);
      String tiling = TransposePlanner.tiling(trial).orElseThrow().toString();
      tried.add(tiling);
      return millis.getOrDefault(tiling, 1.0);
    };
  }

  @Test
  void theFastestOfAllTilingsIsTakenAndPlanned() {
    Autotuner tuner = tuner(TuningTable.empty(), Optional.empty(), 1000);
    TransposePlan byRule = plan(MATRIX, tuner.table());
    assertEquals(
        "Vector 2048 x 2048 by transpose_vector_exact_w4_64x64x256 rows-first", byRule.describe());
    assertTrue(tuner.isOpen(byRule));
    Set<String> tried = new HashSet<>();
    assertTrue(
        tuner.tune(byRule, timer(Map.of("transpose_vector_w4_32x64x128 cols-first", 0.8), tried)));
    assertEquals(6, tried.size());
    assertEquals(
        "transpose_vector_w4_32x64x128 cols-first",
        tuner.table().entries().values().iterator().next().toString());
    TransposePlan tuned = plan(MATRIX, tuner.table());
    assertEquals(
        "Vector 2048 x 2048 by transpose_vector_w4_32x64x128 cols-first", tuned.describe());
    assertFalse(tuner.isOpen(tuned));
    assertEquals(
        1, tuned.launch().orElseThrow().words()[7], "neighbouring thread blocks take columns");
  }

  @Test
  void aSmallGainChangesNothing() {
    Autotuner tuner = tuner(TuningTable.empty(), Optional.empty(), 1000);
    TransposePlan byRule = plan(MATRIX, tuner.table());
    tuner.tune(
        byRule, timer(Map.of("transpose_vector_w4_32x64x128 cols-first", 0.995), new HashSet<>()));
    assertEquals(byRule, plan(MATRIX, tuner.table()));
    assertFalse(tuner.isOpen(byRule), "decided all the same");
  }

  @Test
  void withoutTimeTheRuleStaysAndIsNotTriedAgain() {
    Autotuner tuner = tuner(TuningTable.empty(), Optional.empty(), 4);
    TransposePlan byRule = plan(MATRIX, tuner.table());
    Set<String> tried = new HashSet<>();
    assertFalse(tuner.tune(byRule, timer(Map.of(), tried)));
    assertTrue(nanos.get() <= 5_000_000, "ran " + nanos.get() + " ns with a budget of 4 ms");
    tried.clear();
    assertFalse(tuner.tune(byRule, timer(Map.of(), tried)));
    assertEquals(Set.of(), tried);
  }

  @Test
  void nothingIsOpenWithoutABudgetBelowTheLeastSizeOrWhereNothingIsTiled() {
    TransposePlan matrix = plan(MATRIX, TuningTable.empty());
    assertFalse(tuner(TuningTable.empty(), Optional.empty(), 0).isOpen(matrix));
    Autotuner tuner = tuner(TuningTable.empty(), Optional.empty(), 10);
    TransposeProblem small = new TransposeProblem(Shape.of(256, 256), Permutation.of(1, 0), 4);
    assertFalse(tuner.isOpen(plan(small, TuningTable.empty())));
    TransposeProblem runs =
        new TransposeProblem(Shape.of(256, 256, 256), Permutation.of(1, 0, 2), 4);
    assertFalse(tuner.isOpen(plan(runs, TuningTable.empty())));
  }

  @Test
  void aClassOfTheTableIsNotTuned() {
    TuningTable<ProblemClass, Tiling> bundled =
        Tiling.FORMAT.parse(MATRIX_CLASS + " = transpose_vector_w4_64x32x128 cols-first");
    Autotuner tuner = tuner(bundled, Optional.empty(), 1000);
    TransposePlan known = plan(MATRIX, tuner.table());
    assertEquals(
        "Vector 2048 x 2048 by transpose_vector_w4_64x32x128 cols-first", known.describe());
    assertFalse(tuner.isOpen(known));
  }

  @Test
  void aTilingOfAKernelThatIsNoMoreIsIgnored() {
    TuningTable<ProblemClass, Tiling> old =
        Tiling.FORMAT.parse(MATRIX_CLASS + " = transpose_vector_w4_8x8x8 cols-first");
    assertEquals(plan(MATRIX, TuningTable.empty()), plan(MATRIX, old));
  }

  @Test
  void whatIsFoundOutlivesTheProcess(@TempDir Path directory) {
    Path kept = directory.resolve("tilespark");
    Autotuner tuner =
        tuner(
            TuningTable.empty(),
            Optional.of(TuningStore.ofTilings(kept, "a device", "some kernels")),
            1000);
    tuner.tune(
        plan(MATRIX, tuner.table()),
        timer(Map.of("transpose_vector_w4_32x64x128 rows-first", 0.5), new HashSet<>()));
    Autotuner next =
        tuner(
            TuningTable.empty(),
            Optional.of(TuningStore.ofTilings(kept, "a device", "some kernels")),
            1000);
    assertEquals(tuner.table(), next.table());
    assertFalse(next.isOpen(plan(MATRIX, next.table())));
  }

  @Test
  void oneThreadTunesWhileOthersGoOn() throws InterruptedException {
    Autotuner tuner = tuner(TuningTable.empty(), Optional.empty(), 1000);
    TransposePlan byRule = plan(MATRIX, tuner.table());
    boolean[] other = {true};
    tuner.tune(
        byRule,
        trial -> {
          Thread thread = new Thread(() -> other[0] = tuner.tune(byRule, any -> 1));
          thread.start();
          try {
            thread.join();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
          return 1;
        });
    assertFalse(other[0], "the other thread was told to go on with what there is");
    assertEquals(1, tuner.table().entries().size());
  }

  @Test
  void aNegativeBudgetIsRefused() {
    Exception e =
        assertThrows(
            IllegalArgumentException.class, () -> tuner(TuningTable.empty(), Optional.empty(), -1));
    assertEquals("Tuning budget PT-0.001S; expected zero or more", e.getMessage());
  }
}

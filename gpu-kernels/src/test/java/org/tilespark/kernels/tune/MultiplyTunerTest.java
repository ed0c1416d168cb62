package org.tilespark.kernels.tune;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.multiply.MultiplyClass;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyPlanner;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyWay;
import org.tilespark.layout.ElementType;

class MultiplyTunerTest {
  private static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel m multiply_tiled_w4_128x128x256 sm_80
          kernel m multiply_tiled_w4_64x64x128 sm_80
          kernel m multiply_tiled_w4_32x32x64 sm_80
          """);
  private static final DeviceLimits A100 =
      new DeviceLimits(8, 0, 108, 1024, Integer.MAX_VALUE, 49152, 40L << 30);
  private static final String LARGE_TILE = "multiply_tiled_w4_128x128x256";
  private static final String CUBLAS = MultiplyWay.CUBLAS.name();
  private static final MultiplyProblem PROBLEM = problem(2048);
  private static final MultiplyClass PRODUCTS = MultiplyClass.of(PROBLEM);

  private final AtomicLong nanos = new AtomicLong();
  private final Set<String> tried = new HashSet<>();

  private static MultiplyProblem problem(long extent) {
    return MultiplyProblem.dense(extent, extent, extent, ElementType.FLOAT32, false, true);
  }

  /** All ways, the rule's own (cuBLAS) first. */
  private static List<MultiplyPlan> ways(MultiplyProblem problem) {
    List<MultiplyPlan> ways =
        new ArrayList<>(
            new MultiplyPlanner(
                    new DeviceKernels(A100, INDEX), Availability.of("cuBLAS"), MultiplyEngine.AUTO)
                .candidates(problem, problem.k()));
    ways.add(0, ways.remove(ways.size() - 1));
    return ways;
  }

  private MultiplyTuner tuner(
      Optional<TuningStore<MultiplyClass, MultiplyWay>> store, long budgetMillis) {
    return new MultiplyTuner(store, Duration.ofMillis(budgetMillis), nanos::get);
  }

  /** Takes a millisecond by the clock; the way says how long by the device's. */
  private ToDoubleFunction<MultiplyPlan> timer(Map<String, Double> millis) {
    return plan -> {
      nanos.addAndGet(1_000_000);
      String way = plan.strategy().way().orElseThrow().name();
      tried.add(way);
      return millis.getOrDefault(way, 1.0);
    };
  }

  private String choose(MultiplyTuner tuner, Map<String, Double> millis) {
    return tuner.choose(PRODUCTS, ways(PROBLEM), timer(millis)).name();
  }

  private static TuningStore<MultiplyClass, MultiplyWay> store(Path directory) {
    return TuningStore.ofMultiplies(
        directory.resolve("tilespark"), "a device", "kernels", "13.1.0");
  }

  @Test
  void theFastestWayIsChosenOnceAndForAll() {
    MultiplyTuner tuner = tuner(Optional.empty(), 1000);
    assertTrue(tuner.isOpen(ways(PROBLEM).get(0)));
    assertEquals(LARGE_TILE, choose(tuner, Map.of(LARGE_TILE, 0.9)));
    assertEquals(4, tried.size());
    assertFalse(tuner.isOpen(ways(PROBLEM).get(0)));
    assertEquals(Optional.of(new MultiplyWay(LARGE_TILE)), tuner.find(PRODUCTS));
    tried.clear();
    assertEquals(LARGE_TILE, choose(tuner, Map.of(CUBLAS, 0.1)));
    assertEquals(Set.of(), tried);
  }

  @Test
  void aGainThatMayBeChanceChangesNothing() {
    assertEquals(CUBLAS, choose(tuner(Optional.empty(), 1000), Map.of(LARGE_TILE, 0.96)));
    assertEquals(LARGE_TILE, choose(tuner(Optional.empty(), 1000), Map.of(LARGE_TILE, 0.94)));
  }

  @Test
  void withoutTimeTheRuleIsChosenForGood(@TempDir Path directory) {
    MultiplyTuner tuner = tuner(Optional.of(store(directory)), 4);
    assertEquals(CUBLAS, choose(tuner, Map.of(LARGE_TILE, 0.1)));
    // Each way once, to load it, and then the budget.
    assertTrue(nanos.get() <= 9_000_000, "ran " + nanos.get() + " ns with a budget of 4 ms");
    assertFalse(tuner.isOpen(ways(PROBLEM).get(0)));
    // Another process with more time would round otherwise.
    assertEquals(
        CUBLAS, choose(tuner(Optional.of(store(directory)), 1000), Map.of(LARGE_TILE, 0.1)));
  }

  /** A library that takes its time to load is not given up for that. */
  @Test
  void loadingIsNoPartOfTheBudget() {
    MultiplyTuner tuner = tuner(Optional.empty(), 50);
    Set<String> loaded = new HashSet<>();
    MultiplyWay way =
        tuner.choose(
            PRODUCTS,
            ways(PROBLEM),
            plan -> {
              String name = plan.strategy().way().orElseThrow().name();
              boolean isFirst = loaded.add(name);
              nanos.addAndGet(isFirst ? 400_000_000 : 1_000_000);
              return name.equals(LARGE_TILE) ? 0.5 : 1;
            });
    assertEquals(LARGE_TILE, way.name());
  }

  @Test
  void nothingIsOpenWithoutABudgetOrBelowTheLeastSize(@TempDir Path directory) {
    store(directory).addIfAbsent(PRODUCTS, new MultiplyWay(LARGE_TILE));
    MultiplyTuner without = tuner(Optional.of(store(directory)), 0);
    assertFalse(without.isOpen(ways(PROBLEM).get(0)));
    assertEquals(Optional.empty(), without.find(PRODUCTS), "off is off");
    assertEquals(0, MultiplyTuner.off().table().entries().size());
    assertFalse(tuner(Optional.empty(), 1000).isOpen(ways(problem(256)).get(0)));
    assertTrue(tuner(Optional.empty(), 1000).isOpen(ways(problem(400)).get(0)));
    MultiplyProblem batch = problem(400).withBatch(new MultiplyProblem.Batch(2, 0, 0, 160_000));
    assertFalse(tuner(Optional.empty(), 1000).isOpen(ways(batch).get(0)), "batches go by rule");
    Exception e = assertThrows(IllegalArgumentException.class, () -> tuner(Optional.empty(), -1));
    assertEquals("Tuning budget PT-0.001S; expected zero or more", e.getMessage());
  }

  @Test
  void whatOneProcessChoseAllTake(@TempDir Path directory) throws IOException {
    MultiplyTuner one = tuner(Optional.of(store(directory)), 1000);
    MultiplyTuner meanwhile = tuner(Optional.of(store(directory)), 1000);
    assertEquals(LARGE_TILE, choose(one, Map.of(LARGE_TILE, 0.5)));
    tried.clear();
    assertEquals(LARGE_TILE, choose(meanwhile, Map.of()), "read when it was about to try");
    assertEquals(LARGE_TILE, choose(tuner(Optional.of(store(directory)), 1000), Map.of()));
    assertEquals(Set.of(), tried);
    assertTrue(
        Files.readString(store(directory).file()).contains("= " + LARGE_TILE), "in its file");
  }

  /** The first choice on disk is right for two tuners that found none and tried. */
  @Test
  void theFirstChoiceOnDiskStays(@TempDir Path directory) {
    MultiplyTuner slow = tuner(Optional.of(store(directory)), 1000);
    MultiplyWay found =
        slow.choose(
            PRODUCTS,
            ways(PROBLEM),
            plan -> {
              store(directory).addIfAbsent(PRODUCTS, new MultiplyWay(LARGE_TILE));
              return plan.strategy().way().orElseThrow().isCublas() ? 0.1 : 1;
            });
    assertEquals(LARGE_TILE, found.name());
    assertEquals(Optional.of(found), slow.find(PRODUCTS));
    assertEquals(
        new MultiplyWay(LARGE_TILE), store(directory).addIfAbsent(PRODUCTS, MultiplyWay.CUBLAS));
  }

  @Test
  void choicesHoldForOneDeviceSetOfKernelsAndCublas(@TempDir Path directory) throws IOException {
    store(directory).addIfAbsent(PRODUCTS, MultiplyWay.CUBLAS);
    Path kept = directory.resolve("tilespark");
    for (TuningStore<MultiplyClass, MultiplyWay> store :
        List.of(
            TuningStore.ofMultiplies(kept, "another", "kernels", "13.1.0"),
            TuningStore.ofMultiplies(kept, "a device", "others", "13.1.0"),
            TuningStore.ofMultiplies(kept, "a device", "kernels", ""))) {
      assertNotEquals(store(directory).file(), store.file());
      assertEquals(TuningTable.empty(), store.load());
      Files.copy(store(directory).file(), store.file());
      assertEquals(TuningTable.empty(), store.load(), "a foreign file under our name");
      Files.delete(store.file());
    }
  }

  @Test
  void aDamagedFileIsIgnoredAndReplaced(@TempDir Path directory) throws IOException {
    store(directory).addIfAbsent(PRODUCTS, MultiplyWay.CUBLAS);
    String good = Files.readString(store(directory).file());
    for (String text :
        List.of("", good.substring(0, good.length() / 2), good.replace(CUBLAS, "CUBLAS"))) {
      Files.writeString(store(directory).file(), text);
      assertEquals(TuningTable.empty(), store(directory).load(), text);
    }
    assertEquals(
        new MultiplyWay(LARGE_TILE),
        store(directory).addIfAbsent(PRODUCTS, new MultiplyWay(LARGE_TILE)));
    assertEquals(1, store(directory).load().entries().size());
  }

  @Test
  void withoutAPlaceToKeepThemChoicesHoldForTheProcess(@TempDir Path directory) throws IOException {
    Path file = Files.createFile(directory.resolve("file"));
    MultiplyTuner tuner = tuner(Optional.of(store(file)), 1000);
    assertEquals(LARGE_TILE, choose(tuner, Map.of(LARGE_TILE, 0.5)));
    assertEquals(LARGE_TILE, choose(tuner, Map.of()));
    assertEquals(Optional.of(new MultiplyWay(LARGE_TILE)), tuner.find(PRODUCTS));
  }

  /** Nobody computes by another way meanwhile. */
  @Test
  void allThreadsWaitForTheChoice() throws Exception {
    MultiplyTuner tuner = tuner(Optional.empty(), 1000);
    AtomicInteger trials = new AtomicInteger();
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      Future<MultiplyWay> first =
          threads.submit(
              () ->
                  tuner.choose(
                      PRODUCTS,
                      ways(PROBLEM),
                      plan -> {
                        begun.countDown();
                        trials.incrementAndGet();
                        try {
                          goOn.await();
                        } catch (InterruptedException e) {
                          throw new IllegalStateException(e);
                        }
                        return plan.strategy().way().orElseThrow().isCublas() ? 1 : 0.5;
                      }));
      begun.await();
      List<Future<MultiplyWay>> others = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        others.add(
            threads.submit(
                () ->
                    tuner.choose(
                        PRODUCTS,
                        ways(PROBLEM),
                        plan -> {
                          throw new IllegalStateException("tried twice");
                        })));
      }
      assertTrue(tuner.isOpen(ways(PROBLEM).get(0)));
      goOn.countDown();
      assertFalse(first.get().isCublas());
      for (Future<MultiplyWay> other : others) {
        assertEquals(first.get(), other.get());
      }
    } finally {
      threads.shutdownNow();
    }
    assertTrue(trials.get() >= 4);
  }
}

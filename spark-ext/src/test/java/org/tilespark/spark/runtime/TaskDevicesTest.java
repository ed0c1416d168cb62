package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.launch.Availability;

class TaskDevicesTest {
  private static final List<String> NONE = List.of();

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 8})
  void localModeSpreadsItsTasks(int visible) {
    TaskDevices devices = TaskDevices.of(Optional.of(NONE), false, true, visible).get();
    assertEquals(visible, devices.count());
    int[] tasks = new int[visible];
    // 24 tasks at a time, of which always the oldest ends: as many on each device, all the time.
    Queue<Long> running = new ArrayDeque<>();
    for (long attempt = 0; attempt < 1000; attempt++) {
      if (running.size() == 24) {
        devices.ended(running.remove());
      }
      tasks[devices.of(attempt, NONE)]++;
      running.add(attempt);
    }
    for (int count : tasks) {
      assertEquals(1000.0 / visible, count, 24.0 / visible);
    }
    running.forEach(devices::ended);
    assertEquals(0, devices.choosers());
  }

  @Test
  void tasksGetTheDeviceThatTheyWishUnlessItHasFarMore() {
    TaskDevices devices = TaskDevices.of(Optional.of(NONE), false, true, 2).get();
    for (int attempt = 0; attempt < 16; attempt++) {
      int wished = attempt / 2 % 2;
      assertEquals(
          wished, devices.of(attempt, NONE, count -> OptionalInt.of(count == 1 ? 0 : wished)));
    }
    int[] tasks = new int[2];
    for (int attempt = 16; attempt < 64; attempt++) {
      tasks[devices.of(attempt, NONE, count -> OptionalInt.of(1))]++;
    }
    assertEquals(44, tasks[1] + 8, "at first; at last twice as many and four, as nearly as can be");
    assertEquals(
        5, devices.of(99, List.of("5"), count -> OptionalInt.of(1)), "Spark assigned another");
  }

  @Test
  void fewTasksUseFewDevicesAndAlwaysAllOfThem() {
    TaskDevices devices = TaskDevices.of(Optional.empty(), false, true, 8).get();
    int[] tasks = new int[8];
    for (long attempt = 0; attempt < 100; attempt++) {
      tasks[devices.of(attempt, NONE)]++;
      if (attempt % 3 > 0) { // at times two at once, at times one
        devices.ended(attempt - 1);
        devices.ended(attempt);
      }
    }
    assertEquals(50, tasks[0], 1);
    assertEquals(50, tasks[1], 1);
    assertEquals(100, tasks[0] + tasks[1]);
  }

  @Test
  void aTaskKeepsItsDevice() {
    TaskDevices devices = TaskDevices.of(Optional.empty(), false, true, 3).get();
    assertTrue(devices.isNew(7));
    assertEquals(0, devices.of(7, NONE));
    assertFalse(devices.isNew(7));
    assertEquals(1, devices.of(8, NONE));
    assertEquals(2, devices.of(9, NONE));
    assertEquals(0, devices.of(7, NONE));
    assertEquals(3, devices.choosers());
    devices.ended(8);
    devices.ended(8);
    assertEquals(1, devices.of(10, NONE), "where fewest are");
    assertEquals(0, devices.of(11, NONE), "the first of several with as many");
    devices.ended(12);
    assertEquals(4, devices.choosers());
  }

  @Test
  void manyThreadsSpreadEvenly() throws Exception {
    TaskDevices devices = TaskDevices.of(Optional.empty(), false, true, 4).get();
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<Integer>> chosen = new ArrayList<>();
      for (long attempt = 0; attempt < 400; attempt++) {
        long own = attempt;
        chosen.add(threads.submit(() -> devices.of(own, NONE)));
      }
      int[] tasks = new int[4];
      for (Future<Integer> device : chosen) {
        tasks[device.get()]++;
      }
      assertEquals(List.of(100, 100, 100, 100), java.util.Arrays.stream(tasks).boxed().toList());
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void whatSparkAssignedToTheTaskComesFirst() {
    TaskDevices devices = TaskDevices.of(Optional.of(List.of("2", "5")), true, false, 8).get();
    assertEquals(5, devices.of(1, List.of("5")));
    assertEquals(5, devices.of(1, List.of("5", "2")));
    assertEquals(0, devices.choosers());
  }

  @Test
  void tasksWithoutSpreadOverWhatTheExecutorHas() {
    TaskDevices devices = TaskDevices.of(Optional.of(List.of("2", "5")), true, false, 8).get();
    assertEquals(2, devices.first());
    assertEquals(List.of(2, 5, 2, 5), spread(devices, 4));
    // In local mode too, if Spark ever assigns any there.
    assertEquals(
        List.of(1, 1), spread(TaskDevices.of(Optional.of(List.of("1")), true, true, 8).get(), 2));
  }

  @Test
  void executorsOfAClusterWithoutSchedulingTakeTheFirst() {
    for (Optional<List<String>> assigned :
        List.of(Optional.of(NONE), Optional.<List<String>>empty())) {
      TaskDevices devices = TaskDevices.of(assigned, false, false, 2).get();
      assertEquals(List.of(0, 0, 0), spread(devices, 3));
      assertTrue(devices.leavesOthers());
    }
    assertFalse(TaskDevices.of(Optional.of(NONE), false, false, 1).get().leavesOthers());
    // Without the plugin nobody knows what the executor was assigned.
    assertEquals(List.of(0), spread(TaskDevices.of(Optional.empty(), true, false, 2).get(), 1));
  }

  @Test
  void anExecutorThatGotNoneHasNone() {
    Availability<TaskDevices> devices = TaskDevices.of(Optional.of(NONE), true, false, 2);
    assertTrue(devices.whyNot().contains("no GPU to this executor"), devices.whyNot());
    assertThrows(IllegalStateException.class, devices::get);
  }

  @Test
  void refusesAddressesThatAreNoNumbers() {
    TaskDevices devices = TaskDevices.of(Optional.of(List.of("GPU-4cf8")), true, false, 1).get();
    String message =
        assertThrows(IllegalArgumentException.class, () -> devices.of(1, NONE)).getMessage();
    assertTrue(message.contains("'GPU-4cf8'"), message);
    assertTrue(message.contains("discoveryScript"), message);
  }

  private static List<Integer> spread(TaskDevices devices, int tasks) {
    List<Integer> chosen = new ArrayList<>();
    for (long attempt = 0; attempt < tasks; attempt++) {
      chosen.add(devices.of(attempt, NONE));
    }
    return chosen;
  }
}

package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.spark.conf.TileSparkConf;

/** How host memory is shared out. */
class HostBudgetTest {
  private static final long GIB = 1L << 30;
  private static final long MIB = 1L << 20;
  private static final String OVERHEAD = "spark.executor.memoryOverhead";

  private static HostBudget budget(
      Map<String, String> settings, boolean usesDevice, HostBudget.Machine machine) {
    SparkConf conf = new SparkConf(false);
    settings.forEach(conf::set);
    return HostBudget.of(conf, usesDevice, machine);
  }

  private static HostBudget.Machine machine(long gib, long heapGib) {
    return new HostBudget.Machine(gib * GIB, 8, heapGib * GIB);
  }

  private static long whole(HostBudget budget) {
    return budget.pinnedPoolBytes() + budget.plainPoolBytes() + budget.storeBytes();
  }

  @Test
  void locallyItIsAQuarterOfTheMachine() {
    assertEquals(new HostBudget(0, GIB, 7 * GIB), budget(Map.of(), false, machine(32, 18)));
    assertEquals(new HostBudget(4 * GIB, GIB, 27 * GIB), budget(Map.of(), true, machine(128, 80)));
  }

  @Test
  void locallyItIsHalfOfWhatLargeMachinesLeave() {
    assertEquals(new HostBudget(4 * GIB, GIB, 51 * GIB), budget(Map.of(), true, machine(128, 15)));
    long left = 32 * GIB - 8 * GIB - HostBudget.restBytes(false);
    assertEquals(left / 2, whole(budget(Map.of(), false, machine(32, 8))));
  }

  @Test
  void poolsLeaveHalfOfItToStores() {
    assertEquals(new HostBudget(512 * MIB, 512 * MIB, GIB), budget(Map.of(), true, machine(8, 5)));
  }

  /** Heap, what the JVM needs, and all that we keep fit the machine or the container. */
  @ParameterizedTest
  @CsvSource({"1,0", "2,1", "4,3", "8,7", "8,8", "16,12", "16,16", "16,20", "64,50", "512,30"})
  void theDefaultFitsTheContainer(long gib, long heapGib) {
    for (boolean usesDevice : new boolean[] {false, true}) {
      HostBudget budget = budget(Map.of(), usesDevice, machine(gib, heapGib));
      long left = gib * GIB - heapGib * GIB - HostBudget.restBytes(usesDevice);
      assertTrue(whole(budget) <= Math.max(0, left), budget::toString);
      assertTrue(whole(budget) <= Math.max(gib * GIB / 4, left / 2), budget::toString);
      assertTrue(budget.storeBytes() >= 0, budget::toString);
    }
  }

  @Test
  void executorsOfOneMachineShareItByTheirCores() {
    Map<String, String> conf =
        Map.of("spark.master", "spark://host:7077", "spark.executor.cores", "2");
    assertEquals(new HostBudget(0, GIB, 3 * GIB), budget(conf, false, machine(64, 10)));
  }

  @ParameterizedTest
  @CsvSource({"yarn", "k8s://https://host"})
  void itIsWhatTheOverheadLeaves(String master) {
    Map<String, String> conf = Map.of("spark.master", master, OVERHEAD, "4480m");
    assertEquals(new HostBudget(0, GIB, 3 * GIB), budget(conf, false, machine(64, 4)));
    Map<String, String> byDefault = Map.of("spark.master", master, "spark.executor.memory", "20g");
    long left = (long) (0.1 * 20 * GIB) - HostBudget.restBytes(false);
    assertEquals(
        new HostBudget(0, left / 4, left - left / 4), budget(byDefault, false, machine(64, 20)));
    Map<String, String> least = Map.of("spark.master", master, "spark.executor.memory", "1g");
    assertEquals(new HostBudget(0, 0, 0), budget(least, true, machine(64, 1)));
  }

  /** The formula of docs/sizing.md, backwards: what it reserves for stores is what they get. */
  @ParameterizedTest
  @CsvSource({"yarn, false", "yarn, true", "k8s://https://host, false", "k8s://https://host, true"})
  void theOverheadThatTheDocsReserveIsShared(String master, boolean usesDevice) {
    HostBudget wanted = new HostBudget(usesDevice ? 3 * GIB : 0, 2 * GIB, 5 * GIB);
    long overhead = whole(wanted) + HostBudget.restBytes(usesDevice);
    Map<String, String> conf =
        Map.of(
            "spark.master",
            master,
            OVERHEAD,
            (overhead >> 20) + "m",
            TileSparkConf.HOST_POOL_SIZE.name(),
            "2g",
            TileSparkConf.PINNED_POOL_SIZE.name(),
            "3g");
    HostBudget.Machine container = new HostBudget.Machine(8 * GIB + overhead, 8, 8 * GIB);
    assertEquals(wanted, budget(conf, usesDevice, container));
  }

  /** Figures of the soak: a process's memory in addition to its heap and its pools. */
  @Test
  void theRestIsWhatWasMeasured() throws IOException {
    assertTrue(HostBudget.restBytes(false) >= (511 - 128) * MIB);
    assertTrue(HostBudget.restBytes(true) >= (1462 - 528) * MIB);
    assertTrue(
        Files.readString(Path.of("../docs/sizing.md"))
            .contains(
                "%s MiB, and %s GiB with a GPU"
                    .formatted(
                        HostBudget.restBytes(false) / MIB, HostBudget.restBytes(true) / GIB)));
  }

  /**
   * An executor of a resource profile: its container is smaller than the application's keys say.
   */
  @ParameterizedTest
  @CsvSource({"yarn", "k8s://https://host", "spark://host:7077"})
  void aSmallContainerHoldsIt(String master) {
    Map<String, String> conf =
        Map.of(
            "spark.master",
            master,
            OVERHEAD,
            "20g",
            "spark.memory.offHeap.enabled",
            "true",
            "spark.memory.offHeap.size",
            "1g",
            "spark.executor.pyspark.memory",
            "2g");
    for (boolean usesDevice : new boolean[] {false, true}) {
      HostBudget budget = budget(conf, usesDevice, machine(10, 4));
      long left = (10 - 4 - 1 - 2) * GIB - HostBudget.restBytes(usesDevice);
      assertEquals(Math.min(left, master.startsWith("spark") ? 10 * GIB / 4 : left), whole(budget));
    }
    assertEquals(0, whole(budget(conf, true, machine(7, 4))));
  }

  /** On YARN without control groups the machine is shared by others, whose part nobody knows. */
  @Test
  void executorsOfOneMachineGetTheirOverhead() {
    Map<String, String> conf =
        Map.of("spark.master", "yarn", OVERHEAD, "4480m", "spark.executor.cores", "1");
    assertEquals(new HostBudget(0, GIB, 3 * GIB), budget(conf, false, machine(40, 30)));
  }

  @Test
  void whatTheUserSetsHolds() {
    Map<String, String> conf =
        Map.of(
            TileSparkConf.STORE_SIZE.name(), "3g",
            TileSparkConf.HOST_POOL_SIZE.name(), "2g",
            TileSparkConf.PINNED_POOL_SIZE.name(), "5g");
    assertEquals(new HostBudget(5 * GIB, 2 * GIB, 3 * GIB), budget(conf, true, machine(16, 8)));
    assertEquals(
        new HostBudget(0, 2 * GIB, 0),
        budget(Map.of(TileSparkConf.HOST_POOL_SIZE.name(), "2g"), false, machine(8, 5)));
  }
}

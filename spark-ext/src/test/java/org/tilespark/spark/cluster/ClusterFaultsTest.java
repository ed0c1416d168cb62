package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.kernels.InTurn;
import org.tilespark.kernels.Sampling;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Faults of a cluster: executors and drivers that are killed, tasks that run twice, files that get
 * lost, memory that is refused. One cluster of two workers for all; after each application, none of
 * its processes and files is left. docs/reliability.md has the table.
 */
@InTurn
class ClusterFaultsTest {
  private static final Duration LIMIT = Duration.ofMinutes(20);

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  static Path directory;

  private static LocalCluster cluster;
  private static Path shared;

  @BeforeAll
  static void startCluster() throws IOException {
    shared = Files.createDirectory(directory.resolve("shared"));
    Path discovery = directory.resolve("discovery.sh");
    Files.writeString(
        discovery, "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"3\", \"5\"]}'\n");
    Files.setPosixFilePermissions(discovery, PosixFilePermissions.fromString("rwx------"));
    Map<String, String> twoGpus =
        Map.of(
            "spark.worker.resource.gpu.amount",
            "2",
            "spark.worker.resource.gpu.discoveryScript",
            discovery.toString());
    cluster =
        LocalCluster.start(directory, new LocalCluster.Layout(2, 2, 1024, twoGpus, List.of()));
  }

  @AfterAll
  static void endCluster() {
    if (cluster == null) {
      return; // it did not start, and that was said
    }
    cluster.close();
  }

  @Test
  void executorsAreKilledAndFilesLost() throws IOException {
    passes(
        KilledExecutorJob.class,
        withStore(
            Map.of(
                TileSparkConf.BATCH_SIZE.name(),
                "2k",
                "spark.shuffle.io.maxRetries",
                "1",
                "spark.shuffle.io.retryWait",
                "100ms",
                "spark.reducer.maxSizeInFlight",
                "1k")), // or the rows of others come before the first is read
        shared.resolve("killed-executors"),
        both(
            KilledZarrCases.names(false),
            "transpose",
            "multiply, before its shuffle",
            "multiply, behind its shuffle",
            "reblock, behind its shuffle",
            "executor killed while others fetch from it",
            "npy sink",
            "zarr sink",
            "executor lost between stages",
            "shuffle files lost between stages",
            "shuffle removed while executors are unknown",
            "fft, before its shuffle",
            "fft, behind its shuffle",
            "fft, pointwise product and ifft",
            "volume reblock, before its shuffle",
            "pencils of slabs, behind their shuffles",
            "fft, executor lost between stages",
            "fft, shuffle files lost between stages",
            "nothing alive"));
  }

  private static List<String> both(List<String> some, String... others) {
    List<String> all = new ArrayList<>(some);
    all.addAll(List.of(others));
    return all;
  }

  /** All stages; some of them are among those of {@link KilledExecutorJob}. */
  @Test
  @Tag("full")
  void executorsAreKilledAtAllStagesOfAWriteOfZarr() throws IOException {
    passes(
        KilledZarrJob.class,
        withStore(Map.of(TileSparkConf.BATCH_SIZE.name(), "2k")), // a task does not read far ahead
        shared.resolve("killed-zarr-executors"),
        both(KilledZarrCases.names(true), "nothing alive"));
  }

  @Test
  void tasksRunTwice() throws IOException {
    passes(
        SpeculationJob.class,
        Map.of(
            "spark.speculation", "true",
            "spark.speculation.quantile", "0.5",
            "spark.speculation.multiplier", "1.1"),
        shared.resolve("speculation"),
        List.of(
            "the second attempt wins",
            "the first attempt wins after all",
            "the second attempt at a transform wins",
            "nothing alive"));
  }

  /** In memory and files; with {@code -Pfull} in each alone too. */
  @ParameterizedTest
  @MethodSource("storeSizes")
  void blocksAreExchangedBetweenExecutors(String storeSize) throws IOException {
    passes(
        ExchangeJob.class,
        Map.of(
            TileSparkConf.EXCHANGE_MODE.name(),
            "memory",
            TileSparkConf.STORE_SIZE.name(),
            storeSize),
        shared.resolve("exchange-" + storeSize),
        List.of(
            "reblock",
            "multiply",
            "fft and back",
            "union",
            "in parts",
            "kept in memory",
            "all that was written is read",
            "outputs end with their queries",
            "nothing alive"));
  }

  private static List<String> storeSizes() {
    return Sampling.FULL ? List.of("1g", "96k", "0") : List.of("96k");
  }

  @Test
  void memoryIsRefused() throws IOException {
    passes(
        ShortHostMemoryJob.class,
        Map.of(TileSparkConf.FAIL_EVERY_NTH_HOST_ALLOCATION.name(), "100"),
        shared.resolve("short-memory"),
        List.of("transpose", "multiply", "npy source and sink", "fft and back", "nothing alive"));
  }

  @Test
  void tasksAreLedToTheGpusThatSparkAssigned() throws IOException {
    ChildJvm.Outcome outcome =
        run(
            GpuAddressesJob.class,
            Map.of(
                TileSparkConf.BACKEND.name(),
                "cpu", // these devices do not exist
                "spark.executor.resource.gpu.amount",
                "2",
                "spark.task.resource.gpu.amount",
                "1"),
            "3",
            "5");
    assertPassed(List.of("each task uses the GPU that Spark assigned to it", "transpose"), outcome);
  }

  @Test
  void theDriverIsKilledWhileItWrites() throws Exception {
    Path place = Files.createDirectory(shared.resolve("killed-driver"));
    Path target = Files.write(place.resolve("out.npy"), new byte[] {1, 2, 3});
    Path mark = shared.resolve("driver-writes");
    try (ChildJvm driver =
        cluster.begin(KilledDriverJob.class, conf(Map.of()), target.toString(), mark.toString())) {
      Interference.await(mark);
      assertEquals(1, hidden(place).size(), "the file that is being written");
      driver.kill();
    }
    cluster.awaitNoExecutors();
    assertArrayEquals(new byte[] {1, 2, 3}, Files.readAllBytes(target));
    Path left = hidden(place).get(0);

    // Too early: it might be somebody's.
    Files.setLastModifiedTime(left, FileTime.from(Instant.now())); // however long that took
    assertEquals(0, run(KilledDriverJob.class, Map.of(), target.toString()).exitCode());
    assertEquals(List.of(left), hidden(place));
    byte[] right = Files.readAllBytes(target);
    assertEquals(128 + 120 * 90 * 4, right.length);

    Instant longAgo = Instant.now().minus(Duration.ofMinutes(5));
    Files.setLastModifiedTime(left, FileTime.from(longAgo));
    ChildJvm.Outcome again = run(KilledDriverJob.class, Map.of(), target.toString());
    assertEquals(0, again.exitCode(), again::output);
    assertTrue(again.output().contains("Removed " + left), again::output);
    assertEquals(List.of(), hidden(place));
    assertArrayEquals(right, Files.readAllBytes(target));
  }

  @Test
  void theDriverIsKilledWhileItWritesAnArrayOfZarr() throws Exception {
    Path target = shared.resolve("killed.zarr");
    assertEquals(0, run(KilledDriverJob.class, Map.of(), target.toString()).exitCode());
    Map<String, String> right = KilledDriverJob.contents(target);
    assertTrue(right.containsKey("zarr.json"), right.keySet()::toString);
    Path mark = shared.resolve("driver-writes-zarr");
    try (ChildJvm driver =
        cluster.begin(KilledDriverJob.class, conf(Map.of()), target.toString(), mark.toString())) {
      Interference.await(mark);
      driver.kill();
    }
    cluster.awaitNoExecutors();
    assertFalse(Files.exists(target.resolve("zarr.json")), "a part of an array");
    assertEquals(1, hidden(target).size(), "the directory of temporary files");
    Files.setLastModifiedTime(
        hidden(target).get(0).resolve("beat"),
        FileTime.from(Instant.now().minus(Duration.ofMinutes(5))));

    assertEquals(0, run(KilledDriverJob.class, Map.of(), target.toString()).exitCode());
    assertEquals(right, KilledDriverJob.contents(target));
    assertEquals(List.of(), hidden(target));
  }

  /** All moments; in {@code ZarrSinkTest} the writer fails at each change of an object. */
  @Test
  @Tag("full")
  void theDriverIsKilledAtAllStagesOfAWriteOfZarr() throws IOException {
    Path place = Files.createDirectory(shared.resolve("killed-zarr-drivers"));
    Map<String, String> conf = withStore(Map.of());
    ChildJvm.Outcome prepared = run(KilledZarrDriverJob.class, conf, place.toString(), "prepare");
    assertEquals(0, prepared.exitCode(), prepared::output);
    for (String name : KilledZarrDriverJob.names()) {
      ChildJvm.Outcome killed = run(KilledZarrDriverJob.class, conf, place.toString(), name);
      assertEquals(137, killed.exitCode(), killed::output); // of signal 9
    }
    assertPassed(
        KilledZarrDriverJob.names(),
        run(KilledZarrDriverJob.class, conf, place.toString(), "after"));
  }

  private static List<Path> hidden(Path place) throws IOException {
    try (Stream<Path> files = Files.list(place)) {
      return files.filter(file -> file.getFileName().toString().startsWith(".")).toList();
    }
  }

  /** Settings, and those of the store that kills. */
  private static Map<String, String> withStore(Map<String, String> settings) {
    Map<String, String> all = new TreeMap<>(settings);
    all.putAll(KillingFileSystem.conf());
    return all;
  }

  private void passes(Class<?> job, Map<String, String> conf, Path place, List<String> cases)
      throws IOException {
    Files.createDirectory(place);
    ChildJvm.Outcome outcome =
        run(job, conf, place.toString(), directory.resolve("local").toString());
    assertPassed(cases, outcome);
  }

  static void assertPassed(List<String> cases, ChildJvm.Outcome outcome) {
    for (String name : cases) {
      assertTrue(
          Cases.passed(name, outcome.output()), () -> name + " did not pass:\n" + outcome.output());
    }
    assertEquals(0, outcome.exitCode(), () -> outcome.output() + cluster.logs());
  }

  /** Runs it; then none of its executors and none of their files may be left. */
  ChildJvm.Outcome run(Class<?> job, Map<String, String> conf, String... arguments)
      throws IOException {
    ChildJvm.Outcome outcome = cluster.run(job, conf(conf), LIMIT, arguments);
    cluster.awaitNoExecutors();
    assertFalse(outcome.output().contains("alive when the executor ended"), outcome::output);
    return outcome;
  }

  /** The backend and its settings. */
  Map<String, String> backend() {
    return Map.of(TileSparkConf.BACKEND.name(), "cpu");
  }

  private Map<String, String> conf(Map<String, String> further) {
    Map<String, String> conf = new TreeMap<>(backend());
    conf.putAll(further);
    return conf;
  }
}

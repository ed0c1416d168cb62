package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Blocks between tasks as Spark is run in production: with an external shuffle service, with
 * executors that come and go, with speculation, with secured connections. A cluster for each;
 * docs/reliability.md has the table.
 */
@Tag("full")
class ExchangeFaultsTest {
  private static final Duration LIMIT = Duration.ofMinutes(15);
  private static final List<String> EXCHANGES =
      List.of(
          "reblock",
          "multiply",
          "fft and back",
          "union",
          "in parts",
          "kept in memory",
          "nothing alive");

  /** A fetch from an executor that is gone fails soon. */
  private static final Map<String, String> FAST_FAILURE =
      Map.of("spark.shuffle.io.maxRetries", "1", "spark.shuffle.io.retryWait", "100ms");

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  private LocalCluster cluster;
  private Path shared;

  @AfterEach
  void endCluster() {
    if (cluster != null) {
      cluster.close();
    }
  }

  /** Two executors, each on a worker. */
  private void startCluster(Map<String, String> daemonConf) throws IOException {
    start(new LocalCluster.Layout(2, 2, 1024, daemonConf, List.of()));
  }

  private void start(LocalCluster.Layout layout) throws IOException {
    shared = Files.createDirectory(directory.resolve("shared"));
    cluster = LocalCluster.start(directory, layout);
  }

  private Path local() {
    return directory.resolve("local");
  }

  private void passes(Class<?> job, Map<String, String> conf, List<String> cases, String... first) {
    Map<String, String> settings = new TreeMap<>(FAST_FAILURE);
    settings.put(TileSparkConf.BACKEND.name(), "cpu");
    settings.put(TileSparkConf.EXCHANGE_MODE.name(), "memory");
    settings.putAll(conf);
    List<String> arguments = new java.util.ArrayList<>(List.of(first));
    arguments.addAll(List.of(shared.toString(), local().toString()));
    ChildJvm.Outcome outcome = cluster.run(job, settings, LIMIT, arguments.toArray(String[]::new));
    for (String name : cases) {
      assertTrue(
          Cases.passed(name, outcome.output()), () -> name + " did not pass:\n" + outcome.output());
    }
    assertEquals(0, outcome.exitCode(), () -> outcome.output() + cluster.logs());
    cluster.awaitNoExecutors();
    assertFalse(outcome.output().contains("alive when the executor ended"), outcome::output);
    outcome
        .output()
        .lines()
        .filter(line -> line.startsWith("recovery"))
        .forEach(System.out::println);
  }

  private void loses(String what, Map<String, String> conf) {
    passes(LostOutputsJob.class, conf, List.of(what, "nothing alive"), what);
  }

  // ---- the external shuffle service

  /** A worker with the service, and room for two executors; the service's port is one for all. */
  private Map<String, String> startService() throws IOException {
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    Map<String, String> service =
        Map.of(
            "spark.shuffle.service.enabled",
            "true",
            "spark.shuffle.service.port",
            Integer.toString(port));
    start(new LocalCluster.Layout(1, 4, 1536, service, List.of()));
    Map<String, String> conf = new TreeMap<>(service);
    conf.put("spark.executor.cores", "2");
    return conf;
  }

  @Test
  void memoryBesideTheServiceIsLostWithItsExecutor() throws IOException {
    loses("in memory beside the service", startService());
  }

  @Test
  void filesOfTheServiceOutliveTheirExecutor() throws IOException {
    Map<String, String> conf = startService();
    conf.put("spark.dynamicAllocation.enabled", "true");
    conf.put("spark.dynamicAllocation.minExecutors", "2");
    conf.put("spark.dynamicAllocation.maxExecutors", "2");
    loses("in files of the service", conf);
  }

  // ---- executors that come and go

  @Test
  void decommissionedExecutorsGiveTheirOutputsAway() throws IOException {
    startCluster(Map.of("spark.decommission.enabled", "true"));
    loses(
        "decommissioned",
        Map.of(
            "spark.decommission.enabled", "true",
            "spark.storage.decommission.enabled", "true",
            "spark.storage.decommission.shuffleBlocks.enabled", "true",
            "spark.storage.decommission.rddBlocks.enabled", "true"));
  }

  @Test
  void idleExecutorsStayWhileTheirOutputsAreDue() throws IOException {
    startCluster(Map.of());
    loses(
        "idle executors",
        Map.of(
            "spark.dynamicAllocation.enabled", "true",
            "spark.dynamicAllocation.shuffleTracking.enabled", "true",
            "spark.dynamicAllocation.minExecutors", "1",
            "spark.dynamicAllocation.initialExecutors", "2",
            "spark.dynamicAllocation.maxExecutors", "2",
            "spark.dynamicAllocation.executorIdleTimeout", "10s"));
  }

  @Test
  void theOutputOfALateLoserGoesWithItsShuffle() throws IOException {
    startCluster(Map.of());
    loses(
        "late loser",
        Map.of(
            "spark.speculation", "true",
            "spark.speculation.quantile", "0.5",
            "spark.speculation.multiplier", "1.1"));
  }

  @Test
  void recoveryCostsTheLostStage() throws IOException {
    startCluster(Map.of());
    loses("recovery", Map.of("spark.reducer.maxSizeInFlight", "1k"));
  }

  // ---- memory

  /** Memory that is refused to a task that fetches does not cost the outputs that it fetches. */
  @Test
  void refusedMemoryIsNoFailureToFetch() throws IOException {
    startCluster(Map.of());
    loses(
        "memory refused while fetching",
        Map.of(TileSparkConf.FAIL_EVERY_NTH_HOST_ALLOCATION.name(), "1000000000"));
  }

  // ---- secured connections

  @Test
  void encryptedConnectionsServeMemory() throws IOException {
    Map<String, String> secured =
        Map.of(
            "spark.authenticate", "true",
            "spark.authenticate.secret", "only for this test",
            "spark.network.crypto.enabled", "true");
    startCluster(secured);
    passes(ExchangeJob.class, secured, EXCHANGES);
  }

  @Test
  void connectionsOverTlsServeMemory() throws Exception {
    Path store = directory.resolve("keys.p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "test",
                "-keyalg",
                "RSA",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                "changeit",
                "-dname",
                "CN=test")
            .inheritIO()
            .start();
    assertEquals(0, keytool.waitFor());
    Map<String, String> secured = new TreeMap<>();
    secured.put("spark.authenticate", "true");
    secured.put("spark.authenticate.secret", "only for this test");
    secured.put("spark.ssl.rpc.enabled", "true");
    secured.put("spark.ssl.rpc.protocol", "TLSv1.3");
    for (String kind : new String[] {"keyStore", "trustStore"}) {
      secured.put("spark.ssl.rpc." + kind, store.toString());
      secured.put("spark.ssl.rpc." + kind + "Type", "PKCS12");
      secured.put("spark.ssl.rpc." + kind + "Password", "changeit");
    }
    secured.put("spark.ssl.rpc.keyPassword", "changeit");
    startCluster(secured);
    passes(ExchangeJob.class, secured, EXCHANGES);
  }

  // ---- the driver

  /** Executors end with their files: some outputs are on disk, since there is no memory for all. */
  @Test
  void aKilledDriverLeavesNoFilesOfShuffles() throws Exception {
    startCluster(Map.of());
    Path mark = shared.resolve("driver-writes");
    try (ChildJvm driver =
        cluster.begin(
            KilledDriverJob.class,
            Map.of(
                TileSparkConf.BACKEND.name(), "cpu",
                TileSparkConf.EXCHANGE_MODE.name(), "memory",
                TileSparkConf.STORE_SIZE.name(), "0"),
            shared.resolve("out.npy").toString(),
            mark.toString())) {
      Interference.await(mark);
      assertTrue(shuffleFiles() > 0, "there are no files that could be left");
      driver.kill();
    }
    cluster.awaitNoExecutors();
    for (int i = 0; i < 600 && shuffleFiles() > 0; i++) {
      Thread.sleep(100); // the worker removes what executors leave
    }
    assertEquals(0, shuffleFiles(), "files of shuffles below " + local());
  }

  private long shuffleFiles() throws IOException {
    try (Stream<Path> files = Files.walk(local())) {
      return files.filter(file -> file.getFileName().toString().contains("shuffle_")).count();
    } catch (java.io.UncheckedIOException e) {
      return 1; // something is being removed
    }
  }
}

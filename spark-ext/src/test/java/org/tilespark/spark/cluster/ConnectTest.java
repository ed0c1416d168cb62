package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;

/**
 * The operators over Spark Connect: a server in one JVM, and in another a client that has none of
 * Spark's classes for plans. The build copies Connect's jars to {@code target/connect}.
 */
class ConnectTest {
  private static final Duration LIMIT = Duration.ofMinutes(15);

  /** What the client brings itself, or must not have. */
  private static final Pattern NOT_THE_CLIENTS =
      Pattern.compile(
          "spark-(sql|sql-api|core|catalyst|connect|network-.*|launcher|kvstore)_.*\\.jar");

  @TempDir Path directory;

  @Test
  void operatorsAreCallsOfSqlFunctions() throws Exception {
    Path jars = Path.of(System.getProperty("tilespark.test.connect"));
    assumeTrue(Files.isDirectory(jars), "this Spark's Connect server could not be had");
    int port = freePort();
    Map<String, String> loopback = Map.of("SPARK_LOCAL_IP", "127.0.0.1");
    List<String> conf =
        List.of(
            "-Dspark.master=local[2]",
            "-Dspark.app.name=connect",
            "-Dspark.ui.enabled=false",
            "-Dspark.sql.shuffle.partitions=2",
            "-Dspark.sql.warehouse.dir=" + directory.resolve("warehouse").toUri(),
            "-Dspark.sql.artifact.isolation.enabled=false",
            "-Dspark.connect.grpc.binding.address=127.0.0.1",
            "-Dspark.connect.grpc.binding.port=" + port,
            "-Dspark.sql.extensions=" + TileSparkExtensions.class.getName(),
            "-Dspark.plugins=" + TileSparkPlugin.class.getName());
    String ours = System.getProperty("java.class.path");
    try (ChildJvm server =
        ChildJvm.start(
            String.join(
                ":",
                ours,
                jar(jars, "spark-connect_"),
                jar(jars, "spark-pipelines_"),
                jar(jars, "spark-mllib_"),
                jar(jars, "spark-mllib-local_")),
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            List.of(),
            conf,
            loopback,
            directory.resolve("server.log"))) {
      awaitPort(server, port);
      String clients =
          Arrays.stream(ours.split(":"))
              .filter(path -> !NOT_THE_CLIENTS.matcher(Path.of(path).getFileName() + "").matches())
              .collect(Collectors.joining(":"));
      ChildJvm.Outcome outcome =
          ChildJvm.start(
                  jar(jars, "spark-connect-client")
                      + ":"
                      + jar(jars, "spark-connect-shims")
                      + ":"
                      + clients,
                  ConnectJob.class.getName(),
                  List.of("sc://127.0.0.1:" + port),
                  List.of(),
                  loopback,
                  directory.resolve("client.log"))
              .await(LIMIT);
      assertEquals(0, outcome.exitCode(), () -> outcome.output() + "\nSERVER\n" + server.printed());
      assertTrue(outcome.output().lines().anyMatch("right"::equals), outcome::output);
    }
  }

  private static void awaitPort(ChildJvm server, int port) throws InterruptedException {
    long end = System.nanoTime() + LIMIT.toNanos();
    while (true) {
      try {
        new java.net.Socket(InetAddress.getLoopbackAddress(), port).close();
        return;
      } catch (IOException e) {
        assertTrue(
            server.isAlive() && System.nanoTime() < end,
            () -> "no server at " + port + ":\n" + server.printed());
        Thread.sleep(100);
      }
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static String jar(Path jars, String prefix) throws IOException {
    try (Stream<Path> files = Files.list(jars)) {
      return files
          .filter(file -> file.getFileName().toString().startsWith(prefix))
          .findFirst()
          .orElseThrow(() -> new IllegalStateException("no " + prefix + " in " + jars))
          .toString();
    }
  }
}

package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;

/**
 * The operators over Spark Connect: a server in one JVM, and in another a client that has none of
 * Spark's classes for plans. {@code tilespark.test.connect} is the directory of Connect's jars: the
 * build copies them to {@code target/connect}, a distribution of Spark has them among its own.
 */
@InTurn
class ConnectTest {
  private static final Duration LIMIT = Duration.ofMinutes(15);

  /** Jars that the client brings itself, or must not have. */
  private static final Pattern NOT_THE_CLIENTS =
      Pattern.compile("spark-(sql|sql-api|catalyst|connect)_.*\\.jar");

  /** Jars that the client does not need where it has Connect's shims: a distribution has none. */
  private static final Pattern SHIMMED =
      Pattern.compile("spark-(core|network-.*|launcher|kvstore)_.*\\.jar");

  @TempDir Path directory;

  @Test
  void operatorsAreCallsOfSqlFunctions() throws Exception {
    Path jars = Path.of(System.getProperty("tilespark.test.connect"));
    int port = Ports.free();
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
            classPath(
                Optional.of(ours),
                jar(jars, "spark-connect_"),
                jar(jars, "spark-pipelines_"), // since 4.1
                jar(jars, "spark-mllib_"),
                jar(jars, "spark-mllib-local_")),
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            List.of(),
            conf,
            loopback,
            directory.resolve("server.log"))) {
      Ports.await(port, server::isAlive, server::printed, LIMIT);
      Optional<String> shims = jar(jars, "spark-connect-shims_");
      String clients =
          Arrays.stream(ours.split(":"))
              .filter(path -> !isNamed(path, NOT_THE_CLIENTS))
              .filter(path -> shims.isEmpty() || !isNamed(path, SHIMMED))
              .collect(Collectors.joining(":"));
      ChildJvm.Outcome outcome =
          ChildJvm.start(
                  classPath(jar(jars, "spark-connect-client-jvm_"), shims, Optional.of(clients)),
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

  @SafeVarargs
  private static String classPath(Optional<String>... parts) {
    return Arrays.stream(parts).flatMap(Optional::stream).collect(Collectors.joining(":"));
  }

  private static boolean isNamed(String path, Pattern pattern) {
    return pattern.matcher(Path.of(path).getFileName().toString()).matches();
  }

  /** In the directory, or where distributions have those of the client. */
  private static Optional<String> jar(Path jars, String prefix) throws IOException {
    try (Stream<Path> files = Files.walk(jars, 2)) {
      return files
          .filter(file -> file.getFileName().toString().startsWith(prefix))
          .map(Path::toString)
          .findFirst();
    }
  }
}

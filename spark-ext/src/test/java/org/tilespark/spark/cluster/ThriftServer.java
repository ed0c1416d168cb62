package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;

/**
 * Spark's Thrift server, started by the {@code spark-submit} of a distribution of Spark with the
 * user jar, on two cores of this machine. Ends when this JVM does.
 */
final class ThriftServer implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofMinutes(5);
  private static final Pattern SESSIONS = Pattern.compile("([0-9]+)\\s+session\\(s\\) are online");

  /** Starts the command, and ends it when the input of this script ends. */
  private static final String UNTIL_INPUT_ENDS = "\"$@\" & read -r _; kill -9 $!";

  private final HttpClient http = HttpClient.newHttpClient();
  private final Process process;
  private final Path log;
  private final int port;
  private final int uiPort;

  private ThriftServer(Process process, Path log, int port, int uiPort) {
    this.process = process;
    this.log = log;
    this.port = port;
    this.uiPort = uiPort;
  }

  /**
   * Starts it and waits until it listens.
   *
   * @param home directory of the distribution, which holds {@code bin}
   * @param userJar the jar of tilespark
   * @param directory gets its log, metastore and warehouse
   */
  static ThriftServer start(Path home, Path userJar, Path directory)
      throws IOException, InterruptedException {
    int port = Ports.free();
    int uiPort = Ports.free();
    Map<String, String> conf = new TreeMap<>();
    conf.put("spark.sql.extensions", TileSparkExtensions.class.getName());
    conf.put("spark.plugins", TileSparkPlugin.class.getName());
    conf.put("spark.driver.memory", "1g");
    // Soft references are cleared at each collection, so that the heap shows what is held.
    conf.put(
        "spark.driver.extraJavaOptions", ChildJvm.SMALL_JVM + " -XX:SoftRefLRUPolicyMSPerMB=0");
    conf.put("spark.sql.shuffle.partitions", "2");
    conf.put("spark.sql.warehouse.dir", directory.resolve("warehouse").toUri().toString());
    conf.put("spark.ui.port", Integer.toString(uiPort));
    conf.put(
        "spark.metrics.conf.driver.source.jvm.class", "org.apache.spark.metrics.source.JvmSource");
    // What the UI remembers would grow until it held a thousand of each.
    for (String remembered :
        List.of(
            "spark.ui.retainedJobs",
            "spark.ui.retainedStages",
            "spark.ui.retainedTasks",
            "spark.sql.ui.retainedExecutions",
            "spark.sql.thriftserver.ui.retainedSessions",
            "spark.sql.thriftserver.ui.retainedStatements")) {
      conf.put(remembered, "20");
    }
    // Each new thread keeps the session it began in, closed or not, while it lives: few threads,
    // and
    // the same until the end.
    for (String pool : List.of("broadcastExchange", "shuffleExchange", "resultQueryStage")) {
      conf.put("spark.sql." + pool + ".maxThreadThreshold", "4");
    }
    List<String> command = new ArrayList<>(List.of("bash", "-c", UNTIL_INPUT_ENDS, "bash"));
    command.add(home.resolve("bin/spark-submit").toString());
    command.addAll(List.of("--master", "local[2]", "--jars", userJar.toString()));
    conf.forEach((key, value) -> command.addAll(List.of("--conf", key + "=" + value)));
    command.addAll(List.of("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"));
    command.add("spark-internal");
    Map.of(
            "hive.server2.thrift.port", Integer.toString(port),
            "hive.server2.thrift.bind.host", "127.0.0.1",
            "hive.exec.scratchdir", directory.resolve("scratch").toString(),
            "hive.server2.logging.operation.log.location", directory.resolve("logs").toString())
        .forEach((key, value) -> command.addAll(List.of("--hiveconf", key + "=" + value)));
    Path log = directory.resolve("thrift-server.log");
    ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile());
    builder.environment().keySet().removeIf(name -> name.startsWith("SPARK_"));
    builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1");
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    Process process = builder.redirectErrorStream(true).redirectOutput(log.toFile()).start();
    ThriftServer server = new ThriftServer(process, log, port, uiPort);
    try {
      Ports.await(port, () -> server.jvm().isAlive(), server::printed, LIMIT);
    } catch (AssertionError | RuntimeException | InterruptedException e) {
      server.close();
      throw e;
    }
    return server;
  }

  /** The server's process, under the script; the script itself once that has ended. */
  private ProcessHandle jvm() {
    return process.children().findFirst().orElse(process.toHandle());
  }

  /** A connection of the distribution's JDBC driver, which the class path must have. */
  Connection connect() throws SQLException {
    return DriverManager.getConnection("jdbc:hive2://127.0.0.1:" + port + "/default", "test", "");
  }

  /** Its output until now. */
  String printed() {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sessions of connections that are open, as the UI states them. */
  int openSessions() throws IOException, InterruptedException {
    String page = get("/sqlserver/");
    Matcher found = SESSIONS.matcher(page);
    assertTrue(found.find(), () -> "no count of sessions in " + page);
    return Integer.parseInt(found.group(1));
  }

  /** A gauge of Spark's metrics system, by the end of its name. */
  long gauge(String name) throws IOException, InterruptedException {
    JsonNode gauges = new ObjectMapper().readTree(get("/metrics/json/")).get("gauges");
    List<Long> values = new ArrayList<>();
    gauges
        .fields()
        .forEachRemaining(
            entry -> {
              if (entry.getKey().endsWith("." + name)) {
                values.add(entry.getValue().get("value").asLong());
              }
            });
    assertEquals(1, values.size(), () -> "gauges named " + name + " in " + gauges);
    return values.get(0);
  }

  /** Bytes of the heap that are in use after a full collection. */
  long liveHeapBytes() throws IOException, InterruptedException {
    jcmd("GC.run");
    return gauge("jvm.heap.used");
  }

  /** Objects that a full collection leaves, of classes whose names begin so. */
  long liveObjects(String prefix) throws IOException, InterruptedException {
    // A line is a number, instances, bytes, and the name of the class.
    return jcmd("GC.class_histogram")
        .lines()
        .map(line -> line.trim().split("\\s+"))
        .filter(words -> words.length >= 4 && words[3].startsWith(prefix))
        .mapToLong(words -> Long.parseLong(words[1]))
        .sum();
  }

  private String jcmd(String command) throws IOException, InterruptedException {
    String jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    Process diagnosis =
        new ProcessBuilder(jcmd, Long.toString(jvm().pid()), command)
            .redirectErrorStream(true)
            .start();
    String output = new String(diagnosis.getInputStream().readAllBytes());
    assertEquals(0, diagnosis.waitFor(), output);
    return output;
  }

  private String get(String page) throws IOException, InterruptedException {
    URI uri = URI.create("http://127.0.0.1:" + uiPort + page);
    HttpResponse<String> response =
        http.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
    assertEquals(200, response.statusCode(), uri::toString);
    return response.body();
  }

  /** Ends the server, and waits for its end. */
  @Override
  public void close() {
    List<ProcessHandle> all = new ArrayList<>(process.descendants().toList());
    all.add(process.toHandle());
    all.forEach(ProcessHandle::destroyForcibly);
    for (ProcessHandle handle : all) {
      handle.onExit().orTimeout(10, TimeUnit.SECONDS).exceptionally(late -> null).join();
    }
  }
}

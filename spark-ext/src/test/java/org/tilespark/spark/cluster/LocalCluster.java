package org.tilespark.spark.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;

/**
 * A standalone cluster of Spark on this machine: a master, workers and whatever executors they
 * start, each a JVM of its own on a loopback address. It needs no Spark installation but the jars
 * of the build.
 *
 * <p>An application is a class with a {@code main} that runs as the driver in a further JVM, since
 * the test's own may hold a {@code SparkContext} already. It finds the cluster in its
 * configuration: {@code SparkSession.builder().getOrCreate()}. Either all processes have the class
 * path of the test, and {@link #run} starts an application that is part of it; or they have Spark's
 * jars alone, as in an installation, and {@link #submit} brings jars as users do.
 *
 * <p>All files are below the directory given to {@link #start}, logs under {@code logs} and {@code
 * work}; whoever gave it keeps or removes it. Closing ends all processes; should this JVM die
 * first, they end with it.
 */
public final class LocalCluster implements AutoCloseable {
  private static final String NETWORK = "127.0.0."; // all of it is this machine
  private static final String HOST = NETWORK + 1;
  private static final Duration START_LIMIT = Duration.ofMinutes(5);
  private static final long POLL_MILLIS = 50;
  private static final String EXECUTOR = "CoarseGrainedExecutorBackend";
  private static final int TAIL_LINES = 60;

  private static final Pattern MASTER_URL =
      Pattern.compile("Starting Spark master at (spark://127\\.0\\.0\\.1:\\d+)");
  private static final Pattern REGISTERED = Pattern.compile("Successfully registered with master");

  private final Path directory;
  private final List<ChildJvm> processes = new ArrayList<>();
  private final Thread closer = new Thread(this::endAll, "local-cluster-closer");
  private final Layout layout;
  private String masterUrl;

  private LocalCluster(Path directory, Layout layout) {
    this.directory = directory;
    this.layout = layout;
  }

  /**
   * The parts of a cluster.
   *
   * @param memoryMib memory that one worker may give to executors
   * @param daemonConf Spark's configuration of the master and of each worker
   * @param sparkJars all that is on the class path of each process; if empty, the test's own is
   */
  public record Layout(
      int workers,
      int coresPerWorker,
      int memoryMib,
      Map<String, String> daemonConf,
      List<Path> sparkJars) {
    public Layout {
      daemonConf = Map.copyOf(daemonConf);
      sparkJars = List.copyOf(sparkJars);
    }

    boolean isInstallation() {
      return !sparkJars.isEmpty();
    }
  }

  /**
   * Starts a master and workers with the class path of the test.
   *
   * @param memoryMib memory that one worker may give to executors
   * @see #start(Path, Layout)
   */
  public static LocalCluster start(Path directory, int workers, int coresPerWorker, int memoryMib) {
    return start(directory, new Layout(workers, coresPerWorker, memoryMib, Map.of(), List.of()));
  }

  /**
   * Starts a master and workers, and returns when all have found each other.
   *
   * @param directory an existing directory for all they write
   * @throws IllegalStateException if they do not come up within a minute; quotes their logs
   */
  public static LocalCluster start(Path directory, Layout layout) {
    LocalCluster cluster = new LocalCluster(directory, layout);
    Runtime.getRuntime().addShutdownHook(cluster.closer);
    try {
      cluster.startDaemons();
      return cluster;
    } catch (RuntimeException | Error e) {
      cluster.close();
      throw e;
    }
  }

  /** The address of the master for drivers. */
  public String masterUrl() {
    return masterUrl;
  }

  /**
   * Runs an application, with one executor per worker unless {@code conf} says otherwise, and waits
   * for its end.
   *
   * @param main the class whose {@code main} is the driver; it gets {@code arguments}
   * @param conf Spark's configuration, beyond what makes it find the cluster and tilespark
   * @param limit after which it is killed
   * @throws IllegalStateException if it was killed for that; quotes its output
   */
  public ChildJvm.Outcome run(
      Class<?> main, Map<String, String> conf, Duration limit, String... arguments) {
    return begin(main, conf, arguments).await(limit);
  }

  /** As {@link #run}, but returns at once; closing the cluster ends the application too. */
  public ChildJvm begin(Class<?> main, Map<String, String> conf, String... arguments) {
    Map<String, String> settings = new TreeMap<>(applicationConf());
    settings.put("spark.sql.extensions", TileSparkExtensions.class.getName());
    settings.put("spark.plugins", TileSparkPlugin.class.getName());
    settings.putAll(conf);
    List<String> options = new ArrayList<>();
    settings.forEach((key, value) -> options.add("-D" + key + "=" + value));
    options.add("-Xmx512m");
    return startJava(driverName(main.getSimpleName()), options, main.getName(), List.of(arguments));
  }

  /**
   * Runs an application as {@code spark-submit} does in client mode, through its entry class, and
   * waits for its end. The cluster was started with Spark's jars.
   *
   * @param main name of a class in {@code applicationJar}
   * @param jars jars of {@code --jars}
   * @param conf settings of {@code --conf}, in addition to those by which it finds the cluster
   * @param limit after which it is killed
   * @throws IllegalStateException if it was killed for that; quotes its output
   */
  public ChildJvm.Outcome submit(
      String main,
      Path applicationJar,
      List<Path> jars,
      Map<String, String> conf,
      Duration limit,
      String... arguments) {
    if (!layout.isInstallation()) {
      throw new IllegalStateException("Executors of this cluster have the test's class path");
    }
    Map<String, String> settings = new TreeMap<>(applicationConf());
    settings.putAll(conf);
    List<String> words = new ArrayList<>(List.of("--master", settings.remove("spark.master")));
    words.addAll(List.of("--deploy-mode", "client", "--class", main));
    words.addAll(List.of("--jars", String.join(",", jars.stream().map(Path::toString).toList())));
    settings.forEach((key, value) -> words.addAll(List.of("--conf", key + "=" + value)));
    words.add(applicationJar.toString());
    words.addAll(List.of(arguments));
    String name = driverName(main.substring(main.lastIndexOf('.') + 1));
    return startJava(name, List.of("-Xmx1g"), "org.apache.spark.deploy.SparkSubmit", words)
        .await(limit);
  }

  private String driverName(String application) {
    synchronized (processes) {
      return "driver-" + processes.size() + "-" + application;
    }
  }

  /** The executors that live. */
  public List<ProcessHandle> executors() {
    synchronized (processes) {
      return processes.stream()
          .flatMap(ChildJvm::children)
          .filter(LocalCluster::isExecutor)
          .toList();
    }
  }

  /** From the whole command line: {@link ProcessHandle.Info} has its first 4096 bytes. */
  private static boolean isExecutor(ProcessHandle process) {
    try {
      byte[] words = Files.readAllBytes(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
      return new String(words, StandardCharsets.UTF_8).contains(EXECUTOR);
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  /**
   * Waits until no executor is left of the applications that have ended.
   *
   * @throws IllegalStateException if one lives on for minutes
   */
  public void awaitNoExecutors() {
    long deadline = System.nanoTime() + START_LIMIT.toNanos();
    while (!executors().isEmpty()) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("Executors live on: " + executors() + "\n" + logs());
      }
      pause();
    }
  }

  /** The last lines of every log: of master, workers, drivers and executors. */
  public String logs() {
    StringBuilder all = new StringBuilder();
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.filter(LocalCluster::isLog).sorted().toList()) {
        List<String> lines = lines(file);
        all.append("==== ").append(directory.relativize(file)).append('\n');
        lines.stream()
            .skip(Math.max(0, lines.size() - TAIL_LINES))
            .forEach(line -> all.append(line).append('\n'));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return all.toString();
  }

  /** All of what each worker says. */
  String workerLogs() {
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < layout.workers(); i++) {
      lines(directory.resolve("logs").resolve("worker-" + i + ".log"))
          .forEach(line -> all.append(line).append('\n'));
    }
    return all.toString();
  }

  /** Ends every process; may be called twice. */
  @Override
  public void close() {
    endAll();
    try {
      Runtime.getRuntime().removeShutdownHook(closer);
    } catch (IllegalStateException e) {
      // The JVM is shutting down, and the hook does the same.
    }
  }

  private void startDaemons() {
    ClassArchive.make();
    makeDirectory("home/jars"); // Spark looks for it
    makeDirectory("logs");
    if (layout.isInstallation()) {
      ChildJvm.entryOnly(directory.resolve("entry"));
    }
    List<String> options =
        new ArrayList<>(List.of("-Xmx256m", "-Dspark.master.rest.enabled=false"));
    layout.daemonConf().forEach((key, value) -> options.add("-D" + key + "=" + value));
    List<String> ports = List.of("--port", "0", "--webui-port", "0");
    List<String> place = new ArrayList<>(ports);
    place.addAll(List.of("--host", HOST));
    ChildJvm master = startJava("master", options, "org.apache.spark.deploy.master.Master", place);
    masterUrl = await(master, "master", MASTER_URL).group(1);
    Map<String, ChildJvm> started = new TreeMap<>();
    for (int i = 0; i < layout.workers(); i++) {
      // A host of its own: Spark runs a second attempt of a task on another one only.
      String host = NETWORK + (1 + i);
      List<String> arguments = new ArrayList<>(ports);
      arguments.addAll(List.of("--host", host));
      arguments.addAll(List.of("--cores", Integer.toString(layout.coresPerWorker())));
      arguments.addAll(List.of("--memory", layout.memoryMib() + "m"));
      arguments.addAll(List.of("--work-dir", directory.resolve("work").toString(), masterUrl));
      String name = "worker-" + i;
      started.put(
          name, startJava(name, host, options, "org.apache.spark.deploy.worker.Worker", arguments));
    }
    started.forEach((name, worker) -> await(worker, name, REGISTERED));
  }

  /** That of all processes. */
  private String classPath() {
    return layout.isInstallation()
        ? ClassArchive.ordered(
            String.join(":", layout.sparkJars().stream().map(Path::toString).toList()))
        : ClassArchive.classPath();
  }

  private Map<String, String> applicationConf() {
    return Map.ofEntries(
        Map.entry("spark.master", masterUrl),
        Map.entry("spark.app.name", "on a local cluster"),
        Map.entry("spark.driver.host", HOST),
        Map.entry("spark.driver.bindAddress", HOST),
        Map.entry("spark.ui.port", "0"),
        Map.entry("spark.executor.cores", Integer.toString(layout.coresPerWorker())),
        Map.entry("spark.executor.memory", "512m"),
        Map.entry("spark.executor.extraClassPath", classPath()),
        Map.entry("spark.executor.extraJavaOptions", executorOptions()),
        Map.entry("spark.cores.max", Integer.toString(layout.workers() * layout.coresPerWorker())),
        // Tasks wait until all executors are there, or one of them might do all.
        Map.entry("spark.scheduler.minRegisteredResourcesRatio", "1.0"),
        Map.entry("spark.scheduler.maxRegisteredResourcesWaitingTime", "300s"),
        Map.entry("spark.sql.shuffle.partitions", "4"),
        Map.entry("spark.sql.warehouse.dir", directory.resolve("warehouse").toUri().toString()),
        Map.entry("spark.local.dir", directory.resolve("local").toString()));
  }

  /** The options of executors' JVMs; an application that has its own needs these too. */
  String executorOptions() {
    List<String> options = new ArrayList<>(List.of(ChildJvm.SMALL_JVM));
    options.addAll(ClassArchive.options(classPath()));
    options.addAll(ChildJvm.guard());
    return String.join(" ", options);
  }

  private ChildJvm startJava(
      String name, List<String> options, String main, List<String> arguments) {
    return startJava(name, HOST, options, main, arguments);
  }

  private ChildJvm startJava(
      String name, String host, List<String> options, String main, List<String> arguments) {
    Map<String, String> environment =
        Map.of(
            "SPARK_HOME",
            directory.resolve("home").toString(),
            "SPARK_SCALA_VERSION",
            "2.13", // else the launcher looks for build folders
            "SPARK_LOCAL_IP",
            host,
            "SPARK_LOCAL_DIRS",
            directory.resolve("local").toString());
    Path log = directory.resolve("logs").resolve(name + ".log");
    String classPath =
        layout.isInstallation() ? classPath() + ":" + directory.resolve("entry") : classPath();
    ChildJvm process = ChildJvm.start(classPath, main, arguments, options, environment, log);
    synchronized (processes) {
      processes.add(process);
    }
    return process;
  }

  /** Waits until the process's log has it. */
  private Matcher await(ChildJvm process, String name, Pattern wanted) {
    long deadline = System.nanoTime() + START_LIMIT.toNanos();
    while (true) {
      Matcher matcher = wanted.matcher(process.printed());
      if (matcher.find()) {
        return matcher;
      }
      if (!process.isAlive() || System.nanoTime() > deadline) {
        throw new IllegalStateException(
            "No '" + wanted + "' from " + name + " of the local cluster\n" + logs());
      }
      pause();
    }
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting for the local cluster", e);
    }
  }

  private void endAll() {
    synchronized (processes) {
      // Drivers before workers before the master: nobody begins to replace anybody.
      for (int i = processes.size() - 1; i >= 0; i--) {
        processes.get(i).close();
      }
    }
  }

  private void makeDirectory(String path) {
    try {
      Files.createDirectories(directory.resolve(path));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isLog(Path file) {
    String name = file.getFileName().toString();
    return name.endsWith(".log") || name.equals("stderr") || name.equals("stdout");
  }

  private static List<String> lines(Path file) {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8).lines().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

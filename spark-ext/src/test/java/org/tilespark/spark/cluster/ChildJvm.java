package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.tilespark.arrow.memory.GuardedMemorySource;

/**
 * A {@code main} in a JVM of its own, with the class path and the module options of this one. For
 * what cannot be had twice in a process, such as a {@code SparkContext}, or costs it, such as a
 * lost device. Should this JVM die, the other ends too.
 */
public final class ChildJvm implements AutoCloseable {
  /** Processes that live for seconds start faster so. */
  static final String SMALL_JVM =
      "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m";

  private final String main;
  private final Path log;
  private final Process process;

  private ChildJvm(String main, Path log, Process process) {
    this.main = main;
    this.log = log;
    this.process = process;
  }

  /**
   * How it ended.
   *
   * @param exitCode 0 if its {@code main} returned, 1 if it threw
   * @param output its output, with the log
   */
  public record Outcome(int exitCode, String output) {}

  /**
   * Starts it.
   *
   * @param main name of the class
   * @param options further ones of the JVM
   * @param environment further variables; those of Spark and Hadoop that this process has are taken
   *     away
   * @param log gets what it prints; made new
   */
  public static ChildJvm start(
      String main,
      List<String> arguments,
      List<String> options,
      Map<String, String> environment,
      Path log) {
    return start(ClassArchive.classPath(), main, arguments, options, environment, log);
  }

  /**
   * Runs a small application, whose log is in {@code directory}, and fails unless it ends well.
   *
   * @param main its class
   */
  public static void assertEndsWell(Class<?> main, List<String> arguments, Path directory) {
    Outcome outcome =
        start(
                main.getName(),
                arguments,
                List.of("-Xmx512m"),
                Map.of(),
                directory.resolve("driver.log"))
            .await(Duration.ofMinutes(10));
    assertEquals(0, outcome.exitCode(), outcome::output);
  }

  /** Starts a JVM with another class path, which {@link #entryOnly} may be a part of. */
  static ChildJvm start(
      String classPath,
      String main,
      List<String> arguments,
      List<String> options,
      Map<String, String> environment,
      Path log) {
    List<String> words = new ArrayList<>(List.of(Entry.class.getName(), main));
    words.addAll(arguments);
    return launch(main, classPath, words, options, environment, log);
  }

  /** Starts a JVM that goes on should this one die; its class path may be jars alone. */
  static ChildJvm startAlone(
      String classPath,
      String main,
      List<String> arguments,
      List<String> options,
      Map<String, String> environment,
      Path log) {
    List<String> words = new ArrayList<>(List.of(main));
    words.addAll(arguments);
    return launch(main, classPath, words, options, environment, log);
  }

  private static ChildJvm launch(
      String main,
      String classPath,
      List<String> words,
      List<String> options,
      Map<String, String> environment,
      Path log) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> argument.startsWith("--") || argument.startsWith("-Djdk."))
        .forEach(command::add);
    command.addAll(guard());
    command.addAll(List.of(SMALL_JVM.split(" ")));
    command.add("-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir"));
    command.addAll(ClassArchive.options(classPath));
    command.addAll(options);
    command.addAll(List.of("-cp", classPath));
    command.addAll(words);
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().keySet().removeIf(ChildJvm::isSparks);
    builder.environment().putAll(environment);
    try {
      return new ChildJvm(
          main, log, builder.redirectErrorStream(true).redirectOutput(log.toFile()).start());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Waits for its end.
   *
   * @throws IllegalStateException if it does not end within {@code limit}, and is killed; quotes
   *     what it printed
   */
  public Outcome await(Duration limit) {
    try {
      if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException(main + " did not end within " + limit + ":\n" + printed());
      }
      return new Outcome(process.exitValue(), printed());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while " + main + " ran", e);
    } finally {
      close();
    }
  }

  /** Its output until now. */
  public String printed() {
    try {
      return new String(Files.readAllBytes(log), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** True until it has ended. */
  public boolean isAlive() {
    return process.isAlive();
  }

  /** Its number. */
  public long pid() {
    return process.pid();
  }

  /** The processes that it started, and those that they started. */
  Stream<ProcessHandle> children() {
    return process.descendants();
  }

  /** Makes {@code directory} one that holds {@link Entry} for a class path, and nothing else. */
  static void entryOnly(Path directory) {
    String resource = Entry.class.getName().replace('.', '/') + ".class";
    Path file = directory.resolve(resource);
    try (InputStream in = Entry.class.getClassLoader().getResourceAsStream(resource)) {
      Files.createDirectories(file.getParent());
      Files.copy(in, file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Kills it as {@code kill -9} does, and waits for its end; what it started goes on. */
  public void kill() {
    process.destroyForcibly();
    process.onExit().orTimeout(10, TimeUnit.SECONDS).join();
  }

  /** Kills it and what it started, and waits for their end; may be called twice. */
  @Override
  public void close() {
    List<ProcessHandle> all = new ArrayList<>(process.descendants().toList());
    all.add(process.toHandle());
    all.forEach(ProcessHandle::destroyForcibly);
    for (ProcessHandle handle : all) {
      handle.onExit().orTimeout(10, TimeUnit.SECONDS).exceptionally(late -> null).join();
    }
  }

  /** The option by which another JVM guards its memory if this one does. */
  static List<String> guard() {
    return GuardedMemorySource.isWanted()
        ? List.of("-D" + GuardedMemorySource.PROPERTY + "=true")
        : List.of();
  }

  private static boolean isSparks(String variable) {
    return variable.startsWith("SPARK_") || variable.startsWith("HADOOP_");
  }

  /** Runs the {@code main}, and ends when the process that started this one does. */
  static final class Entry {
    private Entry() {}

    public static void main(String[] args) {
      Thread parent = new Thread(Entry::endWithParent, "parent-watch");
      parent.setDaemon(true);
      parent.start();
      String[] rest = Arrays.copyOfRange(args, 1, args.length);
      try {
        Method method = Class.forName(args[0]).getMethod("main", String[].class);
        method.setAccessible(true); // its class may be nested in a test
        method.invoke(null, (Object) rest);
      } catch (ReflectiveOperationException e) {
        e.printStackTrace();
        Runtime.getRuntime().halt(1); // threads of Spark may go on
      }
    }

    /** Nobody writes to this process; its input ends when the one at the other end does. */
    private static void endWithParent() {
      try {
        while (System.in.read() >= 0) {
          // Wait for the end.
        }
      } catch (IOException e) {
        // It has ended too.
      }
      Runtime.getRuntime().halt(1);
    }
  }
}

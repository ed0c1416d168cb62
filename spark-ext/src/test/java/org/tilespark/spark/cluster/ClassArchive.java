package org.tilespark.spark.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * An archive of Spark's classes (application class data sharing) for the JVMs that tests start:
 * they map it instead of parsing and verifying each class. Where it is missing or does not fit,
 * they load the classes themselves.
 *
 * <p>It serves class paths that begin with Spark's jars, as the build lists them in the file that
 * {@code tilespark.test.archivedJars} names, and is in the directory of that file, one for each
 * list of jars and version of Java.
 */
final class ClassArchive {
  private static final Duration LIMIT = Duration.ofMinutes(10);

  /** Neither that there is none for a class path, nor which classes an archive cannot hold. */
  private static final String SILENT = "-Xlog:cds*=off";

  private ClassArchive() {}

  /** The class path of this JVM, ordered so that the archive serves it. */
  static String classPath() {
    return ordered(System.getProperty("java.class.path"));
  }

  /** The class path with Spark's jars first, if it has them all. */
  static String ordered(String classPath) {
    List<String> archived = archivedJars();
    List<String> given = List.of(classPath.split(":"));
    if (!given.containsAll(archived)) {
      return classPath;
    }
    List<String> all = new ArrayList<>(archived);
    all.addAll(besides(archived, given));
    return String.join(":", all);
  }

  /**
   * Options by which a JVM with this class path uses the archive; empty if there is none for it.
   */
  static List<String> options(String classPath) {
    List<String> archived = archivedJars();
    if (archived.isEmpty() || !(classPath + ":").startsWith(String.join(":", archived) + ":")) {
      return List.of();
    }
    Path file = file(archived);
    return Files.exists(file)
        ? List.of("-Xshare:auto", "-XX:SharedArchiveFile=" + file, SILENT)
        : List.of();
  }

  /**
   * Makes the archive if it is missing: worth its time where several JVMs use it. One JVM makes it,
   * and others wait.
   */
  static synchronized void make() {
    List<String> archived = archivedJars();
    if (archived.isEmpty()) {
      return;
    }
    Path file = file(archived);
    Path directory = file.getParent();
    try {
      Files.createDirectories(directory);
      try (FileChannel channel =
              FileChannel.open(
                  directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
          FileLock lock = channel.lock()) {
        if (lock.isValid() && !Files.exists(file)) {
          make(archived, file);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void make(List<String> archived, Path file) throws IOException {
    Path directory = file.getParent();
    Path log = directory.resolve("log");
    Path made = directory.resolve("made.jsa");
    ChildJvm.Outcome outcome = run(archived, made, directory, log);
    if (outcome.exitCode() == 0 && Files.exists(made)) {
      Files.move(made, file, StandardCopyOption.ATOMIC_MOVE);
    } else {
      System.err.println("No archive of Spark's classes was made; " + log + " may say why");
    }
  }

  /**
   * Submits {@link ClassArchiveJob}: a class path that is archived may hold jars only, so that our
   * own classes come in another way.
   */
  private static ChildJvm.Outcome run(List<String> archived, Path made, Path directory, Path log) {
    List<String> words = new ArrayList<>(List.of("--master", "local[2]"));
    words.addAll(List.of("--class", ClassArchiveJob.class.getName()));
    Map.of(
            "spark.ui.port",
            "0",
            "spark.driver.host",
            "127.0.0.1",
            "spark.sql.shuffle.partitions",
            "2",
            "spark.sql.warehouse.dir",
            directory.resolve("warehouse").toUri().toString(),
            "spark.sql.extensions",
            TileSparkExtensions.class.getName(),
            "spark.plugins",
            TileSparkPlugin.class.getName(),
            TileSparkConf.BACKEND.name(),
            "cpu")
        .forEach((key, value) -> words.addAll(List.of("--conf", key + "=" + value)));
    words.add(ClassArchiveJob.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    words.add(directory.toString());
    words.addAll(besides(archived, List.of(classPath().split(":"))));
    return ChildJvm.startAlone(
            String.join(":", archived),
            "org.apache.spark.deploy.SparkSubmit",
            words,
            List.of("-Xmx512m", "-XX:ArchiveClassesAtExit=" + made, SILENT),
            Map.of("SPARK_LOCAL_IP", "127.0.0.1"),
            log)
        .await(LIMIT);
  }

  /** Empty if the build did not say. */
  private static List<String> archivedJars() {
    String list = System.getProperty("tilespark.test.archivedJars");
    if (list == null || !Files.exists(Path.of(list))) {
      return List.of();
    }
    try {
      return List.of(Files.readString(Path.of(list)).trim().split(":"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> besides(List<String> archived, List<String> given) {
    return given.stream().filter(Predicate.not(archived::contains)).toList();
  }

  private static Path file(List<String> archived) {
    String key = archived + System.getProperty("java.vm.version");
    return Path.of(System.getProperty("tilespark.test.archivedJars"))
        .resolveSibling("class-archive-" + Integer.toHexString(key.hashCode()))
        .resolve("classes.jsa");
  }
}

package org.tilespark.spark.testing;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** A small file system in memory, mounted until it is closed. */
public final class SmallDisk implements AutoCloseable {
  private final Path path;

  private SmallDisk(Path path) {
    this.path = path;
  }

  /**
   * Mounts one below {@code directory}; the test is skipped where this process may not mount.
   *
   * @param mebibytes its size
   */
  public static SmallDisk mount(Path directory, int mebibytes) throws Exception {
    Path path = Files.createDirectory(directory.resolve("disk"));
    String size = "size=" + mebibytes + "m";
    String problem = command("mount", "-t", "tmpfs", "-o", size, "tmpfs", path.toString());
    Assumptions.assumeTrue(problem.isEmpty(), () -> "cannot mount a small file system: " + problem);
    return new SmallDisk(path);
  }

  /** The path that it is mounted at. */
  public Path path() {
    return path;
  }

  /** Unmounts it; fails if a file in it is still open or mapped. */
  @Override
  public void close() {
    assertEquals("", assertDoesNotThrow(() -> command("umount", path.toString())));
  }

  /** Runs it; returns what it printed if it failed, else nothing. */
  private static String command(String... words) throws Exception {
    Process process;
    try {
      process = new ProcessBuilder(words).redirectErrorStream(true).start();
    } catch (IOException e) {
      return e.getMessage();
    }
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(20, TimeUnit.SECONDS));
    return process.exitValue() == 0 ? "" : words[0] + ": " + printed.strip();
  }
}

package org.tilespark.kernels.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What Linux could give to processes now without swapping. */
public final class AvailableMemory {
  private static final String NAME = "MemAvailable:";

  private AvailableMemory() {}

  /** Bytes of the machine, whatever the limits of a container; all there are if nobody says. */
  public static long bytes() {
    return bytes(Path.of("/proc/meminfo"));
  }

  static long bytes(Path file) {
    try (Stream<String> lines = Files.lines(file)) {
      return lines
          .filter(line -> line.startsWith(NAME))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10) // in kB
          .findFirst()
          .orElse(Long.MAX_VALUE);
    } catch (IOException e) {
      return Long.MAX_VALUE;
    }
  }
}

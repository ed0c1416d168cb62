package org.tilespark.kernels.memory;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** Bytes that the operating system could give to this process now without swapping. */
public final class AvailableMemory {
  private static final Path MEMORY = Path.of("/proc/meminfo");

  private AvailableMemory() {}

  /**
   * Available bytes of the machine, or of the container if it has fewer; the largest number if
   * neither states them.
   */
  public static long bytes() {
    var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return bytes(MEMORY, system.getTotalMemorySize(), system.getFreeMemorySize());
  }

  /**
   * Available bytes according to a file like {@code /proc/meminfo}, which ignores containers'
   * limits.
   *
   * @param total all bytes of memory as Java sees them: those of the container if there is one
   * @param free the part of these bytes that nothing uses, not even as a cache of files
   */
  static long bytes(Path file, long total, long free) {
    long available = number(file, "MemAvailable:").orElse(Long.MAX_VALUE);
    boolean isContainer = total < number(file, "MemTotal:").orElse(0);
    return isContainer ? Math.min(available, free) : available;
  }

  private static OptionalLong number(Path file, String name) {
    try (Stream<String> lines = Files.lines(file)) {
      return lines
          .filter(line -> line.startsWith(name))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10) // in kB
          .findFirst();
    } catch (IOException e) {
      return OptionalLong.empty();
    }
  }
}

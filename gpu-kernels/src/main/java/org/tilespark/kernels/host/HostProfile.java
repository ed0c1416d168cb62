package org.tilespark.kernels.host;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/**
 * Properties of the CPU that the kernels on the host depend on: vectors, caches, cores and clock.
 * Read once for a process ({@link #current}); a plain value, so that a test can make its own.
 *
 * <p>Rates are estimates for one core, from the vectors' width and the clock. They rank plans;
 * benchmarks measure.
 *
 * @param vectorBits width of the vectors, 128, 256 or 512; 0 if kernels run without vectors
 * @param registers number of vector registers of that width
 * @param l1Bytes bytes of a core's first-level data cache
 * @param l2Bytes bytes of a core's second-level cache
 * @param l3Bytes bytes of a core's share of the last-level cache, at least {@code l2Bytes}
 * @param cores number of cores that the JVM may use
 * @param clockHertz cycles per second
 */
public record HostProfile(
    int vectorBits,
    int registers,
    long l1Bytes,
    long l2Bytes,
    long l3Bytes,
    int cores,
    double clockHertz) {
  /** Bytes of a core's first-level cache, if the system does not state them. */
  private static final long L1_BYTES = 32L << 10;

  private static final long L2_BYTES = 512L << 10;
  private static final long L3_BYTES = 2L << 20;
  private static final double CLOCK_HERTZ = 2.5e9;

  /**
   * The largest number of bits that a core's multiply-add units take in a cycle: two of 256 or one
   * of 512.
   */
  private static final int BITS_PER_CYCLE = 512;

  /** Checks that the numbers are in range. */
  public HostProfile {
    if (vectorBits != 0 && vectorBits != 128 && vectorBits != 256 && vectorBits != 512) {
      throw new IllegalArgumentException(
          "Vectors of " + vectorBits + " bits; expected 0, 128, 256 or 512");
    }
    if (registers < 1 || l1Bytes < 1 || l2Bytes < l1Bytes || l3Bytes < l2Bytes || cores < 1) {
      throw new IllegalArgumentException(
          String.format(
              "%d registers, caches of %d, %d and %d bytes, %d cores; expected 1 or more of each,"
                  + " and larger caches behind smaller ones",
              registers, l1Bytes, l2Bytes, l3Bytes, cores));
    }
    if (!(clockHertz > 0)) {
      throw new IllegalArgumentException("A clock of " + clockHertz + " Hz; expected more than 0");
    }
  }

  /** The profile of this machine and this JVM. */
  public static HostProfile current() {
    return Current.PROFILE;
  }

  /** The text for EXPLAIN: {@code 512-bit vectors}. */
  public String describe() {
    return vectorBits == 0 ? "no vectors" : vectorBits + "-bit vectors";
  }

  /** Floating-point operations per second of one core in products of FLOAT. */
  public double floatProductRate() {
    return productRate(Float.SIZE);
  }

  /** Floating-point operations per second of one core in products of DOUBLE. */
  public double doubleProductRate() {
    return productRate(Double.SIZE);
  }

  /** This profile with vectors of {@code bits} bits, and the number of registers of that width. */
  HostProfile withVectorBits(int bits) {
    return new HostProfile(bits, registersOf(bits), l1Bytes, l2Bytes, l3Bytes, cores, clockHertz);
  }

  /**
   * Operations per second on elements of {@code elementBits} bits: a multiply-add is two
   * operations; nine tenths of the peak rate are assumed.
   */
  private double productRate(int elementBits) {
    int bits = vectorBits == 0 ? elementBits : Math.min(2 * vectorBits, BITS_PER_CYCLE);
    return 0.9 * 2 * clockHertz * bits / elementBits;
  }

  private static int registersOf(int bits) {
    boolean isX86 =
        Stream.of("amd64", "x86_64").anyMatch(System.getProperty("os.arch", "")::equals);
    return isX86 && bits < 512 ? 16 : 32;
  }

  /** Holder of the current profile, which is read at the first use. */
  private static final class Current {
    static final HostProfile PROFILE = read(Path.of("/sys/devices/system/cpu/cpu0"));

    private static HostProfile read(Path cpu) {
      int bits = Vectors.bits();
      long l1 = cacheBytes(cpu, 1, L1_BYTES);
      long l2 = Math.max(l1, cacheBytes(cpu, 2, L2_BYTES));
      long l3 = Math.max(l2, cacheBytes(cpu, 3, L3_BYTES));
      return new HostProfile(
          bits,
          registersOf(bits),
          l1,
          l2,
          l3,
          Runtime.getRuntime().availableProcessors(),
          clock(cpu));
    }

    /**
     * Bytes of a core's data cache of a level, divided by the cores that share it; {@code
     * otherwise} if the system does not state them.
     */
    private static long cacheBytes(Path cpu, int level, long otherwise) {
      for (int index = 0; index < 8; index++) {
        Path cache = cpu.resolve("cache/index" + index);
        if (line(cache.resolve("level")).equals(Integer.toString(level))
            && !line(cache.resolve("type")).equals("Instruction")) {
          long bytes = bytes(line(cache.resolve("size")));
          int sharing = count(line(cache.resolve("shared_cpu_list")));
          return bytes > 0 ? bytes / Math.max(1, sharing) : otherwise;
        }
      }
      return otherwise;
    }

    /**
     * The number of bytes that a text like {@code 32K} or {@code 1M} states; 0 for any other text.
     */
    private static long bytes(String size) {
      if (!size.matches("\\d{1,9}[KM]")) {
        return 0;
      }
      long number = Long.parseLong(size.substring(0, size.length() - 1));
      return number << (size.endsWith("K") ? 10 : 20);
    }

    /** How many numbers a list like {@code 0-3,8} has, in this case five. */
    private static int count(String list) {
      int count = 0;
      for (String range : list.split(",", -1)) {
        if (range.matches("\\d{1,6}(-\\d{1,6})?")) {
          String[] ends = range.split("-", -1);
          count += Integer.parseInt(ends[ends.length - 1]) - Integer.parseInt(ends[0]) + 1;
        }
      }
      return count;
    }

    private static double clock(Path cpu) {
      String kilohertz = line(cpu.resolve("cpufreq/cpuinfo_max_freq"));
      if (kilohertz.matches("\\d{1,9}")) {
        return 1e3 * Long.parseLong(kilohertz);
      }
      try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"), StandardCharsets.UTF_8)) {
        OptionalDouble megahertz =
            lines
                .filter(each -> each.matches("cpu MHz\\s*:\\s*\\d+(\\.\\d+)?"))
                .mapToDouble(each -> Double.parseDouble(each.substring(each.indexOf(':') + 1)))
                .max();
        return megahertz.orElse(0) > 0 ? 1e6 * megahertz.getAsDouble() : CLOCK_HERTZ;
      } catch (IOException e) {
        return CLOCK_HERTZ;
      }
    }

    /** The only line of a file; empty if the file cannot be read. */
    private static String line(Path file) {
      try {
        return Files.readString(file, StandardCharsets.UTF_8).trim();
      } catch (IOException e) {
        return "";
      }
    }
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%s, caches of %d KiB, %d KiB and %d KiB for a core, %d cores of %.1f GHz",
        describe(),
        l1Bytes >> 10,
        l2Bytes >> 10,
        l3Bytes >> 10,
        cores,
        clockHertz / 1e9);
  }
}

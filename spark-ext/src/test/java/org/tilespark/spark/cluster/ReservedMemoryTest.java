package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Blocks between tasks that need more memory than there is for them. A process that exchanges
 * blocks stays inside the memory that docs/sizing.md says to reserve for it: the heap, the pool,
 * the store, and the rest. Where this process may make a cgroup, the other runs in one of that
 * size, and would be killed.
 */
@Tag("full")
class ReservedMemoryTest {
  private static final long MIB = 1 << 20;
  private static final long HEAP_MIB = 512;
  private static final long POOL_MIB = 64;
  private static final long STORE_MIB = 192;
  private static final long REST_MIB = 384;
  private static final Pattern MOST_RESIDENT = Pattern.compile("VmHWM:\\s+(\\d+) kB");

  @TempDir Path directory;

  private List<String> options(long heapMib, long storeMib) {
    Map<String, String> conf = new TreeMap<>();
    conf.put("spark.master", "local[2]");
    conf.put("spark.ui.enabled", "false");
    conf.put("spark.driver.host", "127.0.0.1");
    conf.put("spark.driver.bindAddress", "127.0.0.1");
    conf.put("spark.local.dir", directory.resolve("local").toString());
    conf.put("spark.sql.shuffle.partitions", "8");
    conf.put("spark.sql.warehouse.dir", directory.resolve("warehouse").toUri().toString());
    conf.put("spark.sql.extensions", TileSparkExtensions.class.getName());
    conf.put("spark.plugins", TileSparkPlugin.class.getName());
    conf.put(TileSparkConf.BACKEND.name(), "cpu");
    conf.put(TileSparkConf.EXCHANGE_MODE.name(), "memory");
    conf.put(TileSparkConf.HOST_POOL_SIZE.name(), POOL_MIB + "m");
    conf.put(TileSparkConf.STORE_SIZE.name(), storeMib + "m");
    List<String> options = new ArrayList<>(List.of("-Xmx" + heapMib + "m"));
    conf.forEach((key, value) -> options.add("-D" + key + "=" + value));
    return options;
  }

  /** At most 1.3 times as long as Spark's own shuffle takes on the same disk. */
  @Test
  void threeTimesTheStoreSpills() {
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                SpillJob.class.getName(),
                List.of(directory.resolve("matrix.npy").toString(), Long.toString(3 * STORE_MIB)),
                options(1024, STORE_MIB),
                Map.of(),
                directory.resolve("driver.log"))
            .await(Duration.ofMinutes(20));
    assertEquals(0, outcome.exitCode(), outcome::output);
    outcome
        .output()
        .lines()
        .filter(line -> line.startsWith("spills: "))
        .forEach(System.out::println);
  }

  @Test
  void staysInsideWhatIsReserved() throws IOException {
    long reservedMib = HEAP_MIB + POOL_MIB + STORE_MIB + REST_MIB;
    Optional<Path> group = limited(reservedMib * MIB);
    try (ChildJvm job =
        ChildJvm.start(
            ReservedMemoryJob.class.getName(),
            List.of(),
            options(HEAP_MIB, STORE_MIB),
            Map.of("MALLOC_ARENA_MAX", "2"),
            directory.resolve("driver.log"))) {
      if (group.isPresent()) { // before it has begun
        Files.writeString(group.get().resolve("cgroup.procs"), Long.toString(job.pid()));
      }
      ChildJvm.Outcome outcome = job.await(Duration.ofMinutes(10));
      assertEquals(0, outcome.exitCode(), outcome::output);
      Matcher most = MOST_RESIDENT.matcher(outcome.output());
      assertTrue(most.find(), outcome::output);
      long mostMib = Long.parseLong(most.group(1)) >> 10;
      System.out.println(
          "resident at most "
              + mostMib
              + " MiB of "
              + reservedMib
              + " MiB reserved: heap "
              + HEAP_MIB
              + ", pool "
              + POOL_MIB
              + ", store "
              + STORE_MIB
              + ", rest "
              + REST_MIB
              + group.map(path -> "; limited by " + path).orElse("; no cgroup to limit it"));
      assertTrue(mostMib <= reservedMib, mostMib + " MiB resident, " + reservedMib + " reserved");
    } finally {
      if (group.isPresent()) {
        Files.delete(group.get());
      }
    }
  }

  /** A new cgroup, version 1 or 2, of {@code bytes} bytes; empty where there is none to be had. */
  private static Optional<Path> limited(long bytes) {
    Map<String, String> limits =
        Map.of("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "/sys/fs/cgroup", "memory.max");
    for (Map.Entry<String, String> each : limits.entrySet()) {
      Path group = Path.of(each.getKey(), "tilespark-" + ProcessHandle.current().pid());
      try {
        Files.createDirectory(group);
        if (Files.exists(group.resolve(each.getValue()))) {
          Files.writeString(group.resolve(each.getValue()), Long.toString(bytes));
          return Optional.of(group);
        }
        Files.delete(group);
      } catch (IOException e) {
        System.out.println("no cgroup at " + group + ": " + e.getMessage());
      }
    }
    return Optional.empty();
  }
}

package org.tilespark.arrow.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.memory.GuardedPages;
import org.tilespark.kernels.memory.HostMemory;

@EnabledOnOs(OS.LINUX)
class GuardedMemorySourceTest {
  private final GuardedMemorySource source = new GuardedMemorySource();

  @Test
  void allOfARangeCanBeUsed() {
    for (long bytes : new long[] {0, 1, 64, 100, 4096, 4097, 1 << 20}) {
      HostMemorySource.Allocation allocation = source.allocate(bytes);
      assertEquals(0, allocation.address() % 64);
      for (long i = 0; i < bytes; i++) {
        assertEquals(GuardedPages.POISON, HostMemory.unsafe().getByte(allocation.address() + i));
        HostMemory.unsafe().putByte(allocation.address() + i, (byte) i);
      }
      allocation.free();
      assertThrows(IllegalStateException.class, allocation::free);
    }
  }

  @Test
  void freedMemoryIsNotGivenOutAgain() {
    List<Long> addresses = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      HostMemorySource.Allocation allocation = source.allocate(4096);
      addresses.add(allocation.address());
      allocation.free();
    }
    assertEquals(addresses.size(), addresses.stream().distinct().count());
  }

  /** How another JVM ends that does what {@code how} says. */
  private static int exitCode(String how, Path directory) throws Exception {
    Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    Process process =
        new ProcessBuilder(
                java.toString(),
                "-Xshare:auto",
                "-XX:TieredStopAtLevel=1",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=" + directory.resolve("hs_err"),
                "-cp",
                System.getProperty("java.class.path"),
                WrongUse.class.getName(),
                how)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("log").toFile())
            .start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return process.exitValue();
  }

  @Test
  void wrongUsesEndTheProcess(@TempDir Path directory) throws Exception {
    assertEquals(0, exitCode("right", directory), Files.readString(directory.resolve("log")));
    for (String how : List.of("read after free", "write after free", "read behind the end")) {
      assertNotEquals(0, exitCode(how, directory), how);
      assertTrue(Files.readString(directory.resolve("hs_err")).contains("SIGSEGV"), how);
      Files.delete(directory.resolve("hs_err"));
    }
  }

  /** Uses memory in a JVM of its own. */
  static final class WrongUse {
    private WrongUse() {}

    public static void main(String[] args) {
      HostMemorySource.Allocation allocation = new GuardedMemorySource().allocate(1 << 16);
      long address = allocation.address();
      switch (args[0]) {
        case "right" -> allocation.free();
        case "read after free" -> {
          allocation.free();
          System.out.println(HostMemory.unsafe().getLong(address));
        }
        case "write after free" -> {
          allocation.free();
          HostMemory.unsafe().putLong(address, 1);
        }
        default -> System.out.println(HostMemory.unsafe().getLong(address + (1 << 16)));
      }
    }
  }
}

package org.tilespark.kernels.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import sun.misc.Unsafe;

class HugePageMemoryTest {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final Path STATUS = Path.of("/proc/self/status");

  @Test
  void rangesAreAlignedAndTheirOwn() {
    HugePageMemory memory = new HugePageMemory();
    long bytes = (40L << 20) + 8; // several parts, the last one short
    long one = memory.take(bytes).getAsLong();
    long other = memory.take(bytes).getAsLong();
    assertEquals(0, one % HugePages.BYTES);
    assertEquals(0, other % HugePages.BYTES);
    assertNotEquals(one, other);
    HugePageMemory.touch(one, bytes);
    HugePageMemory.touch(other, bytes);
    UNSAFE.setMemory(one, bytes, (byte) 1);
    UNSAFE.setMemory(other, bytes, (byte) 2);
    assertEquals(1, UNSAFE.getByte(one + bytes - 1));
    assertEquals(2, UNSAFE.getByte(other));
    assertTrue(memory.holds(one));
    assertTrue(memory.free(one));
    assertFalse(memory.holds(one));
    assertFalse(memory.free(one));
    assertTrue(memory.free(other));
  }

  /** A page is 4096 bytes: a write in each gives the same zeros as one in every byte. */
  @Test
  void everyPageIsTouched() {
    HugePageMemory memory = new HugePageMemory();
    long bytes = 33L << 20;
    long address = memory.take(bytes).getAsLong();
    UNSAFE.setMemory(address, bytes, (byte) 7);
    HugePageMemory.touch(address, bytes);
    for (long at = 0; at < bytes; at += 4096) {
      assertEquals(0, UNSAFE.getByte(address + at));
      assertEquals(7, UNSAFE.getByte(address + at + 1));
    }
    assertTrue(memory.free(address));
  }

  /**
   * The C library keeps memory of this size in an arena once it was freed, under the range above
   * that is still in use.
   */
  @Test
  void whatIsFreedGoesBackToTheSystem() throws IOException {
    assumeTrue(Files.exists(STATUS), "no Linux");
    HugePageMemory memory = new HugePageMemory();
    long bytes = 6 << 20;
    long before = residentBytes();
    List<Long> inUse = new ArrayList<>();
    for (int round = 0; round < 8; round++) {
      List<Long> ranges = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        ranges.add(memory.take(bytes).getAsLong());
        UNSAFE.setMemory(ranges.get(i), bytes, (byte) 1);
      }
      inUse.add(memory.take(4096).getAsLong());
      ranges.forEach(memory::free);
    }
    long grown = residentBytes() - before;
    inUse.forEach(memory::free);
    assertTrue(grown < 2 * bytes, grown + " bytes more are resident");
  }

  private static long residentBytes() throws IOException {
    String line =
        Files.readAllLines(STATUS).stream().filter(l -> l.startsWith("RssAnon:")).findAny().get();
    return Long.parseLong(line.replaceAll("\\D", "")) << 10;
  }

  @Test
  void whatNoMachineHasIsRefused() {
    assertEquals(OptionalLong.empty(), new HugePageMemory().take(1L << 60));
  }

  @Test
  void availableBytes(@TempDir Path directory) throws IOException {
    long kib = 1 << 10;
    Path file = directory.resolve("meminfo");
    Files.writeString(file, "MemTotal:  90 kB\nMemAvailable:   12 kB\n");
    assertEquals(12 * kib, AvailableMemory.bytes(file, 90 * kib, 3 * kib));
    assertEquals(3 * kib, AvailableMemory.bytes(file, 20 * kib, 3 * kib), "in a container");
    assertEquals(12 * kib, AvailableMemory.bytes(file, 20 * kib, 13 * kib), "in a container");
    Files.writeString(file, "MemTotal:  9 kB\n");
    assertEquals(Long.MAX_VALUE, AvailableMemory.bytes(file, 9 * kib, 3 * kib));
    Path none = directory.resolve("none");
    assertEquals(Long.MAX_VALUE, AvailableMemory.bytes(none, 9 * kib, 3 * kib));
    assertTrue(AvailableMemory.bytes() > 0);
  }
}

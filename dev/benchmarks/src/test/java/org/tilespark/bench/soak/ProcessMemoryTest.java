package org.tilespark.bench.soak;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.tilespark.bench.soak.ProcessMemory.Kind;
import org.tilespark.kernels.memory.HostMemory;

class ProcessMemoryTest {
  private static final long MIB = 1 << 20;

  @Test
  void mappingsAreToldApart() {
    String smaps =
        """
        687400000-800000000 rw-p 00000000 00:00 0
        Size:            6172672 kB
        Rss:                1000 kB
        Pss:                1000 kB
        VmFlags: rd wr mr mw me ac
        800000000-800100000 rw-p 00000000 00:00 0
        Rss:                   7 kB
        55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]
        Rss:                  20 kB
        7f0000000000-7f0000200000 rw-s 00000000 00:06 512                        /dev/nvidiactl
        Rss:                 300 kB
        7f0000200000-7f0000300000 r-xp 00000000 08:01 1234                       /usr/lib/libc.so.6
        Rss:                4000 kB
        7f0000300000-7f0000400000 rw-p 00000000 00:00 0                          [anon: stack]
        Rss:                  50 kB
        """;
    List<ProcessMemory.Range> heap =
        ProcessMemory.heapRanges(
            " garbage-first heap   total 397312K, used 1K [0x0000000687400000, 0x0000000800000000)\n"
                + "  region size 4096K, 3 young (12288K), 1 survivors (4096K)\n");
    assertEquals(
        Map.of(
            Kind.JAVA_HEAP, 1000L << 10,
            Kind.ANONYMOUS, 57L << 10,
            Kind.BRK, 20L << 10,
            Kind.DEVICES, 300L << 10,
            Kind.FILES, 4000L << 10),
        ProcessMemory.resident(smaps, heap));
  }

  @Test
  void heapsOfSeveralGenerations() {
    List<ProcessMemory.Range> heap =
        ProcessMemory.heapRanges(
            """
             PSYoungGen      total 11K, used 2K [0x0000000782700000, 0x000000078a500000, 0x0000000800000000)
              eden space 97280K, 26% used [0x0000000782700000,0x0000000783fb5ad8,0x0000000788600000)
             ParOldGen       total 258K, used 0K [0x0000000687400000, 0x0000000697000000, 0x0000000782700000)
            """);
    assertEquals(
        List.of(
            new ProcessMemory.Range(0x782700000L, 0x800000000L),
            new ProcessMemory.Range(0x782700000L, 0x788600000L),
            new ProcessMemory.Range(0x687400000L, 0x782700000L)),
        heap);
    assertEquals(List.of(), ProcessMemory.heapRanges(" ZHeap           used 60M, capacity 378M"));
  }

  @Test
  void theJvmsAccount() {
    Map<String, Long> tracked =
        ProcessMemory.tracked(
            """
            Total: reserved=7846008KB, committed=490568KB
                   malloc: 13616KB #71525

            -                 Java Heap (reserved=6172672KB, committed=397312KB)
                                        (mmap: reserved=6172672KB, committed=397312KB)

            -                    Thread (reserved=19506KB, committed=802KB)
                                        (stack: reserved=19456KB, committed=752KB)
            -        Shared class space (reserved=16384KB, committed=13000KB, readonly=0KB)
            -                     Other (reserved=10KB, committed=4KB)
            """);
    assertEquals(
        Map.of(
            "Java Heap", 397312L << 10,
            "Thread", 802L << 10,
            "Shared class space", 13000L << 10,
            "Other", 4L << 10),
        tracked);
    ProcessMemory memory =
        new ProcessMemory(
            Map.of(Kind.JAVA_HEAP, 100 * MIB, Kind.ANONYMOUS, 50 * MIB, Kind.FILES, 10 * MIB),
            tracked,
            0,
            0);
    assertEquals(60 * MIB, memory.outsideHeapBytes());
    assertEquals(13802L << 10, memory.ofJvmBytes());
    assertEquals((60L << 20) - (13802L << 10), memory.notOfJvmBytes());
    assertTrue(memory.isComplete());
    assertEquals(Map.of(), ProcessMemory.tracked("Native memory tracking is not enabled"));
  }

  @Test
  void mallocsTotals() {
    String info =
        """
        <malloc version="1">
        <heap nr="0">
        <total type="fast" count="1" size="5"/>
        <total type="rest" count="1" size="6"/>
        <system type="current" size="70"/>
        </heap>
        <total type="fast" count="2" size="100"/>
        <total type="rest" count="5" size="200"/>
        <total type="mmap" count="3" size="4000"/>
        <system type="current" size="10000"/>
        <system type="max" size="20000"/>
        <aspace type="total" size="10000"/>
        </malloc>
        """;
    assertArrayEquals(new long[] {13_700, 300}, ProcessMemory.mallocTotals(info));
  }

  /**
   * The purpose of this class: memory that somebody forgets shows as not the JVM's. The bounds
   * leave room for what the JVM takes and returns meanwhile (the collector's tables shrink with the
   * heap: 17 MiB for 256 MiB of it were seen), and now and then it is more.
   */
  @Test
  @EnabledOnOs(OS.LINUX)
  void memoryThatIsForgottenShows() throws IOException {
    long forgotten = 256 * MIB;
    long slack = 64 * MIB;
    String changed = "";
    for (int attempt = 0; attempt < 5; attempt++) {
      ProcessMemory before = ProcessMemory.look();
      long address = HostMemory.unsafe().allocateMemory(forgotten);
      HostMemory.ofAddress(address, forgotten).fill((byte) 1);
      ProcessMemory with = ProcessMemory.look();
      HostMemory.unsafe().freeMemory(address);
      long grown = with.notOfJvmBytes() - before.notOfJvmBytes();
      long used = with.mallocUsed() - before.mallocUsed();
      changed = with.changeSince(before);
      if (Math.abs(grown - forgotten) < slack
          && Math.abs(used - forgotten) < slack
          && changed.contains("resident anonymous +")) {
        return;
      }
    }
    fail(changed);
  }
}

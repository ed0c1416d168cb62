package org.tilespark.kernels.memory;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class HugePagesTest {
  private static final Path ENABLED = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
  private static final long SLAB_BYTES = 64 << 20;

  /** The kernel says what a mapping was advised to be: "hg" among its flags. */
  @Test
  void advisedMemoryMayHaveHugePages() throws IOException {
    assumeTrue(
        Files.exists(ENABLED) && !Files.readString(ENABLED).contains("[never]"),
        "the kernel has no transparent huge pages");
    long raw = HostMemory.unsafe().allocateMemory(SLAB_BYTES + HugePages.BYTES);
    try {
      long address = (raw + HugePages.BYTES - 1) & -HugePages.BYTES;
      assertTrue(!flags(address).contains(" hg"), flags(address));
      HugePages.advise(address, SLAB_BYTES);
      assertTrue(flags(address).contains(" hg"), flags(address));
      HostMemory.unsafe().setMemory(address, SLAB_BYTES, (byte) 1);
    } finally {
      HostMemory.unsafe().freeMemory(raw);
    }
  }

  /** Less than a page is left as it is. */
  @Test
  void rangesWithoutAWholePageAreLeftAlone() {
    HugePages.advise(HugePages.BYTES + 4096, HugePages.BYTES);
    HugePages.advise(HugePages.BYTES, HugePages.BYTES - 1);
    HugePages.advise(HugePages.BYTES, 0);
  }

  /** The flags of the mapping that holds an address. */
  private static String flags(long address) throws IOException {
    List<String> lines = Files.readAllLines(Path.of("/proc/self/smaps"));
    boolean inside = false;
    for (String line : lines) {
      if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
        String[] ends = line.substring(0, line.indexOf(' ')).split("-", 2);
        inside =
            Long.parseUnsignedLong(ends[0], 16) <= address
                && address < Long.parseUnsignedLong(ends[1], 16);
      } else if (inside && line.startsWith("VmFlags:")) {
        return line;
      }
    }
    return "";
  }
}

package org.tilespark.kernels.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.SlabAllocator.Slab;

class SlabAllocatorTest {
  private static final long PAGE = SlabAllocator.PAGE_BYTES;
  private static final long MIB = 1 << 20;

  @Test
  void aSlabOfEqualRequestsIsUsedUp() {
    SlabAllocator slabs = new SlabAllocator(1L << 32, 256 * MIB);
    assertEquals(256 * MIB, slabs.slabBytesFor(64 * MIB));
    assertEquals(240 * MIB, slabs.slabBytesFor(60 * MIB));
    assertEquals(129 * MIB, slabs.slabBytesFor(129 * MIB));
    assertEquals(300 * MIB, slabs.slabBytesFor(300 * MIB));
    assertEquals(256 * MIB, slabs.slabBytesFor(3 * MIB));
    assertEquals(8 * MIB, slabs.slabBytesFor(1)); // small requests have slabs of their own
    assertEquals(8 * MIB, slabs.slabBytesFor(MIB));
    // What a small pool keeps must hold several slabs.
    assertEquals(4 * MIB, new SlabAllocator(64 * MIB, 256 * MIB).slabBytesFor(MIB));
    assertEquals(PAGE, new SlabAllocator(0, 256 * MIB).slabBytesFor(1));
    assertEquals(10 * MIB, new SlabAllocator(0, 256 * MIB).slabBytesFor(10 * MIB));
  }

  @Test
  void takesTheSmallestRangeThatFits() {
    SlabAllocator slabs = new SlabAllocator(1L << 32, 256 * MIB);
    slabs.add(0, 256 * MIB, 64 * MIB);
    slabs.add(1L << 40, 256 * MIB, 250 * MIB);
    assertEquals(OptionalLong.of((1L << 40) + 250 * MIB), slabs.allocate(5 * MIB));
    assertEquals(OptionalLong.of(64 * MIB), slabs.allocate(64 * MIB));
    assertEquals(OptionalLong.empty(), slabs.allocate(129 * MIB));
    assertEquals(OptionalLong.of(128 * MIB), slabs.allocate(128 * MIB));
    assertEquals(OptionalLong.empty(), slabs.allocate(1)); // no slab for small ones yet
    assertEquals((256 + 255) * MIB, slabs.liveBytes());
    assertEquals(MIB, slabs.freeBytes());
  }

  @Test
  void freedNeighboursJoinButNotAcrossSlabs() {
    SlabAllocator slabs = new SlabAllocator(1L << 32, 64 * MIB);
    slabs.add(0, 64 * MIB, 64 * MIB);
    slabs.add(64 * MIB, 64 * MIB, 64 * MIB); // right after the first
    assertEquals(List.of(), slabs.free(64 * MIB, 64 * MIB));
    assertEquals(List.of(), slabs.free(0, 64 * MIB));
    assertEquals(OptionalLong.empty(), slabs.allocate(128 * MIB));
    for (long at = 0; at < 128 * MIB; at += 16 * MIB) {
      assertEquals(OptionalLong.of(at), slabs.allocate(16 * MIB));
    }
    for (long at : new long[] {16, 48, 32, 0, 80, 64, 112, 96}) {
      slabs.free(at * MIB, 16 * MIB);
    }
    assertEquals(OptionalLong.of(0), slabs.allocate(64 * MIB));
    assertEquals(OptionalLong.of(64 * MIB), slabs.allocate(64 * MIB));
  }

  @Test
  void unusedSlabsGoWhenTooMuchIsFree() {
    SlabAllocator slabs = new SlabAllocator(64 * MIB, 4 * MIB);
    for (int i = 0; i < 20; i++) {
      slabs.add(4 * MIB * i, 4 * MIB, 2 * MIB);
      assertEquals(OptionalLong.of(4 * MIB * i + 2 * MIB), slabs.allocate(2 * MIB));
    }
    for (int i = 0; i < 20; i++) {
      assertEquals(List.of(), slabs.free(4 * MIB * i, 2 * MIB)); // each is still half in use
    }
    List<Slab> gone = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      gone.addAll(slabs.free(4 * MIB * i + 2 * MIB, 2 * MIB));
    }
    assertEquals(4, gone.size());
    assertEquals(64 * MIB, slabs.freeBytes());
    assertEquals(16, slabs.trim().size());
    assertEquals(0, slabs.slabBytes());
    slabs.add(0, 4 * MIB, 4 * MIB);
    assertEquals(List.of(), slabs.shut());
    assertEquals(List.of(new Slab(0, 4 * MIB)), slabs.free(0, 4 * MIB));
  }

  @Test
  void refusesWhatIsNotInUse() {
    SlabAllocator slabs = new SlabAllocator(64 * MIB, 4 * MIB);
    slabs.add(8 * MIB, 4 * MIB, 2 * MIB);
    assertThrows(IllegalArgumentException.class, () -> slabs.free(0, PAGE));
    assertThrows(IllegalArgumentException.class, () -> slabs.free(10 * MIB, PAGE));
    assertThrows(IllegalArgumentException.class, () -> slabs.free(9 * MIB, 2 * MIB));
    assertThrows(IllegalArgumentException.class, () -> slabs.free(11 * MIB, 2 * MIB));
    slabs.free(8 * MIB, 2 * MIB);
    assertThrows(IllegalArgumentException.class, () -> slabs.free(8 * MIB, 2 * MIB));
    assertThrows(IllegalArgumentException.class, () -> slabs.add(1, 4 * MIB, 1));
    assertThrows(IllegalArgumentException.class, () -> slabs.add(0, PAGE, 2 * PAGE));
    assertThrows(IllegalArgumentException.class, () -> new SlabAllocator(-1, PAGE));
    assertThrows(IllegalArgumentException.class, () -> new SlabAllocator(0, 0));
  }

  /** Random requests, compared with a model that knows every byte in use. */
  @Test
  void agreesWithAModel() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int trial = 0; trial < 40; trial++) {
      long kept = random.nextInt(4) == 0 ? 0 : (long) random.nextInt(512) * MIB / 8;
      new Model(new SlabAllocator(kept, 16 * MIB), kept, random, "seed " + seed).run(2000);
    }
  }

  /** An owner whose slabs are at made-up addresses, often adjacent. */
  private static final class Model {
    private final SlabAllocator slabs;
    private final long kept;
    private final Random random;
    private final String seed;
    private final TreeMap<Long, Long> slabBytes = new TreeMap<>(); // address -> bytes
    private final TreeMap<Long, Long> live = new TreeMap<>(); // address -> bytes as requested
    private long top = 1L << 30;

    private Model(SlabAllocator slabs, long kept, Random random, String seed) {
      this.slabs = slabs;
      this.kept = kept;
      this.random = random;
      this.seed = seed;
    }

    void run(int steps) {
      for (int step = 0; step < steps; step++) {
        if (live.isEmpty() || random.nextInt(100) < 52) {
          take(1 + (long) Math.exp(random.nextDouble() * Math.log(40.0 * MIB)));
        } else {
          long from = live.firstKey() + (long) (random.nextDouble() * (top - live.firstKey()));
          Long address = live.floorKey(from);
          giveBack(address == null ? live.firstKey() : address);
        }
        check();
      }
      while (!live.isEmpty()) {
        giveBack(live.lastKey());
      }
      check();
      assertTrue(slabs.freeBytes() <= kept, seed);
      assertEquals(slabBytes.size(), slabs.freeRanges(), seed); // each whole again
      removed(slabs.trim());
      assertTrue(slabBytes.isEmpty(), seed);
      assertEquals(0, slabs.slabBytes(), seed);
    }

    private void take(long bytes) {
      OptionalLong found = slabs.allocate(bytes);
      long address = found.isPresent() ? found.getAsLong() : add(bytes);
      long length = SlabAllocator.pages(bytes);
      assertEquals(0, address % PAGE, seed);
      Map.Entry<Long, Long> slab = slabBytes.floorEntry(address);
      assertTrue(address + length <= slab.getKey() + slab.getValue(), seed);
      Map.Entry<Long, Long> below = live.lowerEntry(address + length);
      assertTrue(
          below == null || below.getKey() + SlabAllocator.pages(below.getValue()) <= address,
          () -> seed + ": overlap");
      live.put(address, bytes);
    }

    private long add(long bytes) {
      long slab = slabs.slabBytesFor(bytes);
      long address = top;
      top += slab + (random.nextBoolean() ? 0 : PAGE);
      slabs.add(address, slab, bytes);
      slabBytes.put(address, slab);
      return address;
    }

    private void giveBack(long address) {
      removed(slabs.free(address, live.remove(address)));
      if (slabs.freeBytes() > kept) { // then every slab must be in use
        slabBytes.forEach(
            (slab, bytes) -> {
              Long first = live.ceilingKey(slab);
              assertTrue(first != null && first < slab + bytes, seed);
            });
      }
    }

    private void removed(List<Slab> gone) {
      for (Slab slab : gone) {
        assertEquals(slabBytes.remove(slab.address()), slab.bytes(), seed);
        Long inUse = live.ceilingKey(slab.address());
        assertFalse(inUse != null && inUse < slab.address() + slab.bytes(), seed);
      }
    }

    private void check() {
      long inUse = live.values().stream().mapToLong(SlabAllocator::pages).sum();
      assertEquals(inUse, slabs.liveBytes(), seed);
      long all = slabBytes.values().stream().mapToLong(Long::longValue).sum();
      assertEquals(all, slabs.slabBytes(), seed);
      assertEquals(all - inUse, slabs.freeBytes(), seed);
    }
  }

  /**
   * Sixteen tasks whose batches vary in size, for a long time: the slabs stay within half as much
   * again as was ever in use at once.
   */
  @Test
  void fragmentationStaysBounded() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    SlabAllocator slabs = new SlabAllocator(1L << 34, 256 * MIB);
    List<long[]> live = new ArrayList<>(); // address, bytes
    long top = 0;
    long peak = 0;
    for (int step = 0; step < 50_000; step++) {
      if (live.size() < 64 && random.nextInt(100) < 55) {
        long bytes = random.nextInt(3) == 0 ? 400 : 16 * MIB + random.nextInt(48 << 20);
        OptionalLong found = slabs.allocate(bytes);
        long address = found.orElse(top);
        if (found.isEmpty()) {
          slabs.add(address, slabs.slabBytesFor(bytes), bytes);
          top += 1L << 32;
        }
        live.add(new long[] {address, bytes});
      } else if (!live.isEmpty()) {
        long[] range = live.remove(random.nextInt(live.size()));
        slabs.free(range[0], range[1]);
      }
      peak = Math.max(peak, slabs.liveBytes());
    }
    double overhead = slabs.slabBytes() / (double) peak;
    assertTrue(
        overhead <= 1.5, () -> "seed " + seed + ": slabs of " + overhead + " times the peak");
  }
}

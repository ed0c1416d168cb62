package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyStep;
import org.tilespark.kernels.multiply.MultiplyStep.Element;
import org.tilespark.kernels.multiply.MultiplyStep.Place;
import org.tilespark.kernels.multiply.MultiplyStep.Side;
import org.tilespark.kernels.multiply.MultiplyStep.TensorMap;
import sun.misc.Unsafe;

/** Structs in native memory; the words that the driver would encode are made up. */
class ArgumentStructTest {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final long GUARD = 0x5a5a5a5a5a5a5a5aL;
  private static final int MAP_WORDS = 16;

  private static final TensorMap LEFT =
      new TensorMap(new Place(Side.A, 32), Element.FLOAT32, 64, 100, 256, 32, 64);
  private static final TensorMap RIGHT =
      new TensorMap(new Place(Side.WORKSPACE, 4096), Element.BFLOAT16, 96, 40, 192, 32, 64);
  private static final List<Place> POINTERS =
      List.of(
          new Place(Side.C, 8),
          new Place(Side.NOWHERE, 0),
          new Place(Side.B, 0),
          new Place(Side.WORKSPACE, 256));

  private final AtomicInteger encoded = new AtomicInteger();
  private final List<Long> allocated = new ArrayList<>();

  @AfterEach
  void free() {
    allocated.forEach(UNSAFE::freeMemory);
  }

  private long memory(long bytes) {
    long memory = UNSAFE.allocateMemory(bytes);
    synchronized (allocated) {
      allocated.add(memory);
    }
    return memory;
  }

  /** The words tell the map, the address and their place. */
  private long[] encode(TensorMap map, long address) {
    encoded.incrementAndGet();
    long[] words = new long[MAP_WORDS];
    for (int at = 0; at < MAP_WORDS; at++) {
      words[at] = address * 1000 + map.extents().get(1) * MAP_WORDS + at;
    }
    return words;
  }

  private ArgumentStruct struct(List<TensorMap> maps, List<Place> pointers, long... words) {
    return new ArgumentStruct(
        new MultiplyStep(
            new KernelLaunch("any", new LaunchConfig(1, 32, 0), words), maps, pointers),
        this::encode);
  }

  private static void requireFields(long at, long a, long b, long c, long workspace) {
    long field = at;
    for (long first : new long[] {(a + 32) * 1000 + 1600, (workspace + 4096) * 1000 + 640}) {
      for (int word = 0; word < MAP_WORDS; word++) {
        assertEquals(first + word, UNSAFE.getLong(field));
        field += Long.BYTES;
      }
    }
    for (long expected : new long[] {c + 8, 0, b, workspace + 256, 7, -9, GUARD}) {
      assertEquals(expected, UNSAFE.getLong(field));
      field += Long.BYTES;
    }
  }

  @Test
  void fieldsLieInOrder() {
    ArgumentStruct struct = struct(List.of(LEFT, RIGHT), POINTERS, 7, -9);
    assertEquals(2 * 128 + 6 * 8, struct.bytes());
    long memory = memory(struct.bytes() + Long.BYTES);
    UNSAFE.putLong(memory + struct.bytes(), GUARD);
    struct.fill(memory, ArgumentStruct.sides(0x1000, 0x2000, 0x3000, 0x4000));
    requireFields(memory, 0x1000, 0x2000, 0x3000, 0x4000);
    struct.fill(memory, ArgumentStruct.sides(0x7f1230000010L, 0x20, 0x30, 0x7f4560000100L));
    requireFields(memory, 0x7f1230000010L, 0x20, 0x30, 0x7f4560000100L);
  }

  @Test
  void mapsAreEncodedOnceForAnAddress() {
    ArgumentStruct struct = struct(List.of(LEFT, RIGHT), POINTERS, 7, -9);
    long memory = memory(struct.bytes() + Long.BYTES);
    for (int round = 0; round < 10; round++) {
      struct.fill(memory, ArgumentStruct.sides(0x1000, round, 0x10L * round, 0x4000));
    }
    assertEquals(2, encoded.get());
    struct.fill(memory, ArgumentStruct.sides(0x1010, 0, 0, 0x4000)); // B alone is elsewhere
    assertEquals(3, encoded.get());
  }

  /** Neighbouring buffers of any common size do not push each other out. */
  @Test
  void mapsOfAFewBuffersAreKept() {
    for (long distance : new long[] {16, 256, 4 << 10, 2 << 20, 4 << 20, 1 << 30}) {
      ArgumentStruct struct = struct(List.of(LEFT), List.of());
      long memory = memory(struct.bytes());
      encoded.set(0);
      int buffers = 4;
      int rounds = 100;
      for (int at = 0; at < buffers * rounds; at++) {
        struct.fill(
            memory, ArgumentStruct.sides(0x7f0000000000L + at % buffers * distance, 0, 0, 0));
      }
      assertTrue(encoded.get() < buffers * rounds / 2, distance + " bytes apart: " + encoded.get());
    }
  }

  /** However many addresses there are, and threads that fill in the same struct. */
  @Test
  void severalThreadsShareAStruct() throws Exception {
    ArgumentStruct struct = struct(List.of(LEFT, RIGHT), POINTERS, 7, -9);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<?>> results = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        SplittableRandom random = new SplittableRandom(thread);
        results.add(
            threads.submit(
                () -> {
                  long memory = memory(struct.bytes() + Long.BYTES);
                  UNSAFE.putLong(memory + struct.bytes(), GUARD);
                  for (int round = 0; round < 20_000; round++) {
                    long a = 16 * random.nextLong(1, 40);
                    long workspace = 256 * random.nextLong(1, 40);
                    struct.fill(memory, ArgumentStruct.sides(a, round, 2L * round, workspace));
                    requireFields(memory, a, round, 2L * round, workspace);
                  }
                }));
      }
      for (Future<?> result : results) {
        result.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void structsAreNoLongerThanTheLaunchArea() {
    int most = KernelLaunch.MOST_STRUCT_BYTES / Long.BYTES;
    assertEquals(
        KernelLaunch.MOST_STRUCT_BYTES,
        struct(List.of(LEFT), List.of(), new long[most - MAP_WORDS]).bytes());
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () -> struct(List.of(LEFT), List.of(), new long[most - MAP_WORDS + 1]));
    assertTrue(e.getMessage().startsWith("Argument struct too long: any"), e.getMessage());
  }
}

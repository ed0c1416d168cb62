package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** Arrays that are put and taken whole, in programs that only move elements: every bit of them. */
abstract class WholeArraysContract extends PipelineFixture {
  /** An array that was run: what its result must be, and where it goes. */
  private record Expected(
      BlockProgram program, List<byte[]> planes, ArrowBuf room, List<Long> roomStarts) {}

  /**
   * Many small arrays, of which equal ones follow each other; among them larger ones, and ones
   * whose program computes. Results are taken as the pipeline wants it, and in between. Rooms are
   * consecutive or separate, in memory of the pipeline's kind or not.
   */
  @Test
  void smallArraysAmongOthers() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Deque<Expected> underWay = new ArrayDeque<>();
    try (ArrowMemory plain = new ArrowMemory(new NativeMemorySource(0));
        BufferAllocator plainRooms = plain.newChild("rooms")) {
      for (int run = 0; run < 30; run++) {
        BlockProgram program = randomProgram(random);
        int count = 1 + random.nextInt(program.shape().elements() > 1000 ? 3 : 60);
        int kind = random.nextInt(4);
        long bytes = program.output().planeBytes();
        int outPlanes = program.output().planes();
        // All rooms of these arrays: a plane of each in order, then the next plane.
        ArrowBuf rooms =
            kind == 0
                ? null
                : (kind == 3 ? plainRooms : allocator).buffer((long) count * outPlanes * bytes);
        if (count > 1 && rooms != null) {
          rooms.getReferenceManager().retain(count - 1); // one for each array
        }
        for (int i = 0; i < count; i++) {
          while (pipeline.isFull() || (pipeline.inFlight() > 0 && random.nextInt(100) == 0)) {
            assertNext(underWay.remove(), seed);
          }
          List<byte[]> planes = randomPlanes(program, random);
          List<Long> starts = new ArrayList<>();
          List<HostMemory> room = new ArrayList<>();
          for (int p = 0; p < outPlanes && rooms != null; p++) {
            long start =
                kind == 2 ? ((long) i * outPlanes + p) * bytes : ((long) p * count + i) * bytes;
            starts.add(start);
            room.add(HostMemory.ofAddress(rooms.memoryAddress() + start, bytes));
          }
          pipeline.begin(program);
          put(
              Part.whole(program.shape()),
              program.shape(),
              program.type(),
              planes,
              random.nextBoolean());
          pipeline.run(List.of(Part.whole(program.output().shape())), result -> room);
          underWay.add(new Expected(program, moved(program, planes), rooms, starts));
        }
        if (random.nextInt(3) == 0) {
          transformOne(underWay, seed);
        }
      }
      while (!underWay.isEmpty()) {
        assertEquals(underWay.size(), pipeline.inFlight());
        assertNext(underWay.remove(), seed);
      }
      assertEquals(0, pipeline.inFlight());
      pipeline.close();
    }
  }

  /** All results are taken, after an array that is transformed was appended. */
  private void transformOne(Deque<Expected> underWay, long seed) {
    while (pipeline.isFull()) {
      assertNext(underWay.remove(), seed);
    }
    OracleArray array = OracleArray.random(Shape.of(6, 5), true, ElementType.FLOAT32, seed);
    Fourier transform = new Fourier(List.of(1), Form.COMPLEX, Direction.FORWARD, 0, 1);
    pipeline.begin(new BlockProgram(array.shape(), ElementType.FLOAT32, true, List.of(transform)));
    put(
        Part.whole(array.shape()),
        array.shape(),
        ElementType.FLOAT32,
        bytes(array, ElementType.FLOAT32),
        false);
    pipeline.run(List.of(Part.whole(array.shape())));
    while (!underWay.isEmpty()) {
      assertNext(underWay.remove(), seed);
    }
    OracleArray found = taken(List.of(6L, 5L), ElementType.FLOAT32, true);
    assertTrue(array.after(transform).relativeError(found) < 1e-6);
  }

  private void assertNext(Expected expected, long seed) {
    List<ArrowBuf> taken = pipeline.take();
    try {
      assertEquals(expected.room() == null ? expected.planes().size() : 0, taken.size());
      for (int p = 0; p < expected.planes().size(); p++) {
        byte[] found = new byte[expected.planes().get(p).length];
        ArrowBuf from = expected.room() == null ? taken.get(p) : expected.room();
        from.getBytes(expected.room() == null ? 0 : expected.roomStarts().get(p), found);
        assertArrayEquals(
            expected.planes().get(p), found, "seed " + seed + ": " + expected.program());
      }
    } finally {
      taken.forEach(ArrowBuf::close);
      if (expected.room() != null) {
        expected.room().close();
      }
    }
  }

  private static BlockProgram randomProgram(Random random) {
    ElementType type = ElementType.values()[random.nextInt(ElementType.values().length)];
    if (random.nextInt(4) == 0) {
      Shape large = Shape.of(20 + random.nextInt(40), 30 + random.nextInt(50), 16);
      List<BlockProgram> all = moves(large, type, random.nextBoolean());
      return all.get(random.nextInt(all.size()));
    }
    long rows = 1L + random.nextInt(12);
    long cols = 1L + random.nextInt(12);
    List<BlockStep> steps =
        switch (random.nextInt(3)) {
          case 0 -> List.of(new Permute(Permutation.of(1, 0)));
          case 1 -> List.of(new Roll(List.of(1L, 2L)), new Pad(Shape.of(rows + 1, cols)));
          default -> List.of();
        };
    return new BlockProgram(Shape.of(rows, cols), type, random.nextBoolean(), steps);
  }

  /** Arrays far larger than the batch size that {@link #open} sets. */
  @Test
  void largeArraysInHeapAndArrowMemory() {
    Random random = new Random(19);
    List<BlockProgram> programs = new ArrayList<>();
    for (String order : List.of("yzx", "zxy", "xzy", "yxz", "zyx", "xyz")) {
      programs.add(
          new BlockProgram(
              Shape.of(61, 67, 33),
              ElementType.INT32,
              true,
              List.of(new Permute(Permutation.parse(order)))));
      programs.add(
          new BlockProgram(
              Shape.of(20, 90, 71),
              ElementType.INT16,
              false,
              List.of(
                  new Permute(Permutation.parse(order)), new Permute(Permutation.parse("zxy")))));
    }
    BlockStep swap = new Permute(Permutation.of(1, 0));
    programs.add(new BlockProgram(Shape.of(300, 517), ElementType.FLOAT64, true, List.of(swap)));
    programs.add(new BlockProgram(Shape.of(3, 70_001), ElementType.INT32, false, List.of(swap)));
    programs.add(new BlockProgram(Shape.of(70_001, 3), ElementType.INT8, true, List.of(swap)));
    programs.addAll(moves(Shape.of(50, 60, 70), ElementType.INT64, true));
    Deque<Expected> underWay = new ArrayDeque<>();
    for (BlockProgram program : programs) {
      List<byte[]> planes = randomPlanes(program, random);
      List<byte[]> expected = moved(program, planes);
      for (int form = 0; form < 4; form++) {
        while (pipeline.isFull()) {
          assertNext(underWay.remove(), 19);
        }
        long bytes = program.output().planeBytes();
        ArrowBuf room = form < 2 ? null : allocator.buffer(2 * bytes + 16);
        List<Long> starts = List.of(8L, 8 + bytes);
        pipeline.begin(program);
        put(Part.whole(program.shape()), program.shape(), program.type(), planes, form % 2 == 0);
        pipeline.run(
            List.of(Part.whole(program.output().shape())),
            result ->
                room == null
                    ? List.of()
                    : starts.subList(0, planes.size()).stream()
                        .map(start -> HostMemory.ofAddress(room.memoryAddress() + start, bytes))
                        .toList());
        underWay.add(new Expected(program, expected, room, starts));
      }
    }
    while (!underWay.isEmpty()) {
      assertNext(underWay.remove(), 19);
    }
  }

  @Test
  void upstreamMayBeClosedBeforeABatchIsDone() {
    BlockProgram program =
        new BlockProgram(
            Shape.of(64, 32),
            ElementType.FLOAT64,
            false,
            List.of(new Permute(Permutation.of(1, 0))));
    List<byte[]> planes = randomPlanes(program, new Random(20));
    List<byte[]> expected = moved(program, planes);
    Shape result = program.output().shape();
    try (BufferAllocator upstream = twin().memory().newChild("upstream")) {
      BufferAllocator ours = allocator;
      allocator = upstream; // the places of the planes
      try {
        for (int i = 0; i < 3; i++) {
          while (pipeline.isFull()) {
            assertTaken(Part.whole(result), result, program.type(), expected);
          }
          pipeline.begin(program);
          put(Part.whole(program.shape()), program.shape(), program.type(), planes, true);
          pipeline.run(List.of(Part.whole(result)));
        }
      } finally {
        allocator = ours;
      }
    }
    while (pipeline.inFlight() > 0) {
      assertTaken(Part.whole(result), result, program.type(), expected);
    }
  }

  @Test
  void closingWithSmallArraysWaitingForOthers() {
    BlockProgram program =
        new BlockProgram(
            Shape.of(9, 8, 7), ElementType.INT8, true, List.of(new Roll(List.of(1L, 2L, 3L))));
    List<byte[]> planes = randomPlanes(program, new Random(21));
    Part whole = Part.whole(program.shape());
    for (int i = 0; i < 5 && !pipeline.isFull(); i++) {
      pipeline.begin(program);
      put(whole, program.shape(), program.type(), planes, i % 2 == 0);
      pipeline.run(List.of(whole));
    }
    pipeline.begin(program); // and one that was put and not run
    put(whole, program.shape(), program.type(), planes, true);
  }
}

package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** What every pipeline does, on the host or on a device. */
abstract class PermutePipelineContract {
  protected BufferAllocator allocator;
  protected final Counts counts = new Counts();
  protected PermutePipeline pipeline;

  /** The memory the pipeline takes its buffers from. */
  abstract ArrowMemory memory();

  abstract PermutePipeline open(BufferAllocator allocator, PipelineListener listener);

  @BeforeEach
  void openPipeline() {
    allocator = memory().newChild("test");
    pipeline = open(allocator, counts);
  }

  @AfterEach
  void nothingIsAlive() {
    pipeline.close();
    pipeline.close();
    assertEquals(0, allocator.getAllocatedMemory());
    allocator.close();
    assertEquals(0, memory().allocatedBytes());
  }

  @Test
  void batchesComeBackInOrderWithTheirBlocksInOrder() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Deque<List<byte[]>> expected = new ArrayDeque<>();
    for (int batch = 0; batch < 7; batch++) {
      if (pipeline.inFlight() == pipeline.capacity()) {
        assertTaken(expected.remove(), "seed " + seed);
      }
      pipeline.begin(2, 1 << 16);
      int width = 1 << random.nextInt(4); // a batch holds elements of one width
      List<byte[]> wanted = List.of(new byte[1 << 16], new byte[1 << 16]);
      int used = 0;
      for (int block = 0; block < 9; block++) {
        int repeat = 1 + random.nextInt(3); // runs of equal blocks make one launch
        TransposeProblem problem = randomProblem(random, width);
        for (int i = 0; i < repeat && pipeline.fits(problem.bytes()); i++) {
          List<Plane> planes = new ArrayList<>();
          for (byte[] plane : wanted) {
            byte[] in = new byte[(int) problem.bytes()];
            random.nextBytes(in);
            System.arraycopy(permuted(problem, in), 0, plane, used, in.length);
            planes.add(new Plane(HostMemory.ofArray(in)));
          }
          pipeline.add(problem, planes);
          used += (int) problem.bytes();
        }
      }
      pipeline.submit();
      int end = used;
      expected.add(wanted.stream().map(p -> java.util.Arrays.copyOf(p, end)).toList());
    }
    while (!expected.isEmpty()) {
      assertTaken(expected.remove(), "seed " + seed);
    }
    assertTrue(counts.computedNanos > 0);
  }

  @Test
  void readsArrowBuffersInPlaceAndLetsThemGo() {
    TransposeProblem problem = problem(4, Permutation.of(1, 0), 30, 20);
    byte[] in = new byte[(int) problem.bytes()];
    new Random(1).nextBytes(in);
    try (BufferAllocator upstream = memory().newChild("upstream")) {
      ArrowBuf source = upstream.buffer(2 * problem.bytes());
      source.setBytes(0, in);
      source.setBytes(problem.bytes(), in);
      pipeline.begin(1, 2 * problem.bytes());
      for (int i = 0; i < 2; i++) {
        pipeline.add(
            problem,
            List.of(
                new Plane(
                    HostMemory.ofAddress(
                        source.memoryAddress() + i * problem.bytes(), problem.bytes()),
                    Optional.of(source))));
      }
      assertFalse(pipeline.fits(1 << 20));
      pipeline.submit();
      source.close(); // the upstream operator may free its batch as soon as it was added
      byte[] twice = new byte[2 * in.length];
      System.arraycopy(permuted(problem, in), 0, twice, 0, in.length);
      System.arraycopy(permuted(problem, in), 0, twice, in.length, in.length);
      assertTaken(List.of(twice), "in place");
      assertEquals(0, upstream.getAllocatedMemory());
    }
  }

  @Test
  void upstreamMayBeClosedBeforeTheBatchIsDone() {
    TransposeProblem problem = problem(8, Permutation.of(1, 0), 64, 32);
    byte[] in = new byte[(int) problem.bytes()];
    new Random(2).nextBytes(in);
    try (BufferAllocator upstream = memory().newChild("upstream");
        ArrowBuf source = upstream.buffer(problem.bytes())) {
      source.setBytes(0, in);
      pipeline.begin(1, problem.bytes());
      pipeline.add(
          problem,
          List.of(
              new Plane(
                  HostMemory.ofAddress(source.memoryAddress(), problem.bytes()),
                  Optional.of(source))));
      pipeline.submit();
    }
    assertTaken(List.of(permuted(problem, in)), "upstream closed");
  }

  @Test
  void chainsOfOneToFourStepsGiveWhatTheirStepsGive() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<String> orders = List.of("xyz", "yzx", "zxy", "xzy", "yxz", "zyx");
    for (int steps = 1; steps <= 4; steps++) {
      pipeline.begin(2, 1 << 15);
      List<byte[]> wanted = List.of(new byte[1 << 15], new byte[1 << 15]);
      int used = 0;
      for (int block = 0; block < 6; block++) {
        List<Permutation> permutations = new ArrayList<>();
        for (int i = 0; i < steps; i++) {
          permutations.add(Permutation.parse(orders.get(random.nextInt(orders.size()))));
        }
        Shape shape = Shape.of(1 + random.nextInt(9), 1 + random.nextInt(9), 1 + random.nextInt(9));
        TransposeChain chain = TransposeChain.of(shape, permutations, 4);
        for (int repeat = 0; repeat <= random.nextInt(2); repeat++) {
          pipeline.add(chain, planes(random, chain, wanted, used));
          used += (int) chain.bytes();
        }
      }
      pipeline.submit();
      int end = used;
      assertTaken(
          wanted.stream().map(p -> java.util.Arrays.copyOf(p, end)).toList(), "seed " + seed);
    }
  }

  /** Blocks far larger than the batches that {@link #open} was told of, alone in their batches. */
  @Test
  void largeBlocksInHeapAndArrowMemory() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Deque<List<byte[]>> expected = new ArrayDeque<>();
    List<TransposeChain> chains = new ArrayList<>();
    for (String order : List.of("yzx", "zxy", "xzy", "yxz", "zyx", "xyz")) {
      Permutation permutation = Permutation.parse(order);
      chains.add(TransposeChain.of(Shape.of(61, 67, 33), List.of(permutation), 4));
      chains.add(
          TransposeChain.of(
              Shape.of(20, 90, 71), List.of(permutation, Permutation.parse("zxy")), 2));
    }
    chains.add(TransposeChain.of(Shape.of(300, 517), List.of(Permutation.of(1, 0)), 8));
    chains.add(TransposeChain.of(Shape.of(3, 70_001), List.of(Permutation.of(1, 0)), 4));
    chains.add(TransposeChain.of(Shape.of(70_001, 3), List.of(Permutation.of(1, 0)), 1));
    try (BufferAllocator upstream = memory().newChild("upstream")) {
      for (TransposeChain chain : chains) {
        for (boolean inPlace : new boolean[] {false, true}) {
          if (pipeline.inFlight() == pipeline.capacity()) {
            assertTaken(expected.remove(), "seed " + seed);
          }
          int bytes = (int) chain.bytes();
          List<byte[]> wanted = List.of(new byte[bytes], new byte[bytes]);
          pipeline.begin(2, bytes);
          List<Plane> heap = planes(random, chain, wanted, 0);
          if (inPlace) {
            try (ArrowBuf first = upstream.buffer(bytes);
                ArrowBuf second = upstream.buffer(bytes)) {
              pipeline.add(chain, List.of(copied(heap.get(0), first), copied(heap.get(1), second)));
            }
          } else {
            pipeline.add(chain, heap);
            heap.forEach(plane -> plane.values().fill((byte) 0)); // they have been read
          }
          pipeline.submit();
          expected.add(wanted);
        }
      }
      while (!expected.isEmpty()) {
        assertTaken(expected.remove(), "seed " + seed);
      }
    }
  }

  /** Random planes of a block; their results go to {@code at} in {@code wanted}. */
  private static List<Plane> planes(
      Random random, TransposeChain chain, List<byte[]> wanted, int at) {
    List<Plane> planes = new ArrayList<>();
    for (byte[] plane : wanted) {
      byte[] in = new byte[(int) chain.bytes()];
      random.nextBytes(in);
      byte[] result = in;
      for (TransposeProblem step : chain.steps()) {
        result = permuted(step, result);
      }
      System.arraycopy(result, 0, plane, at, result.length);
      planes.add(new Plane(HostMemory.ofArray(in)));
    }
    return planes;
  }

  private static Plane copied(Plane plane, ArrowBuf to) {
    HostMemory values = HostMemory.ofAddress(to.memoryAddress(), plane.values().bytes());
    plane.values().copyTo(values);
    return new Plane(values, Optional.of(to));
  }

  /** Large and small blocks, whose results go where the caller says, pinned or not. */
  @Test
  void resultsGoIntoRooms() {
    Random random = new Random(5);
    TransposeChain large =
        TransposeChain.of(Shape.of(61, 67, 33), List.of(Permutation.parse("yzx")), 4);
    TransposeChain small = TransposeChain.of(Shape.of(9, 7), List.of(Permutation.of(1, 0)), 4);
    TransposeChain middle = TransposeChain.of(Shape.of(120, 100), List.of(Permutation.of(1, 0)), 4);
    try (ArrowMemory plain = new ArrowMemory(new NativeMemorySource(0));
        BufferAllocator others = plain.newChild("rooms")) {
      for (List<TransposeChain> batch :
          List.of(
              List.of(large),
              List.of(middle, middle, large, middle),
              List.of(middle, small, small, middle),
              List.of(small))) {
        for (BufferAllocator from : List.of(allocator, others)) {
          long bytes = batch.stream().mapToLong(TransposeChain::bytes).sum();
          List<byte[]> wanted = List.of(new byte[(int) bytes], new byte[(int) bytes]);
          List<ArrowBuf> rooms = new ArrayList<>();
          pipeline.begin(
              2,
              bytes,
              block -> {
                assertEquals(rooms.size(), block);
                long each = batch.get(block).bytes();
                ArrowBuf room = from.buffer(2 * each + 16);
                rooms.add(room);
                return List.of(
                    HostMemory.ofAddress(room.memoryAddress() + 8, each),
                    HostMemory.ofAddress(room.memoryAddress() + 16 + each, each));
              });
          int used = 0;
          for (TransposeChain chain : batch) {
            pipeline.add(chain, planes(random, chain, wanted, used));
            used += (int) chain.bytes();
          }
          pipeline.submit();
          assertEquals(List.of(), pipeline.take());
          assertEquals(batch.size(), rooms.size());
          used = 0;
          for (ArrowBuf room : rooms) {
            int each = (int) batch.get(rooms.indexOf(room)).bytes();
            for (int plane = 0; plane < 2; plane++) {
              byte[] found = new byte[each];
              room.getBytes(8 + plane * (8L + each), found);
              assertArrayEquals(
                  java.util.Arrays.copyOfRange(wanted.get(plane), used, used + each), found);
            }
            used += each;
            room.close();
          }
        }
      }
    }
  }

  @Test
  void closingWithBatchesUnderWayFreesThem() {
    TransposeProblem problem = problem(8, Permutation.of(1, 2, 0), 9, 8, 7);
    for (int i = 0; i < pipeline.capacity(); i++) {
      pipeline.begin(1, problem.bytes());
      pipeline.add(
          problem, List.of(new Plane(HostMemory.ofArray(new byte[(int) problem.bytes()]))));
      pipeline.submit();
    }
    pipeline.begin(1, problem.bytes()); // and one that is being filled
    assertEquals(pipeline.capacity(), pipeline.inFlight());
  }

  private void assertTaken(List<byte[]> expected, String context) {
    assertTaken(pipeline, expected, context);
  }

  static void assertTaken(PermutePipeline pipeline, List<byte[]> expected, String context) {
    List<ArrowBuf> taken = pipeline.take();
    try {
      assertEquals(expected.size(), taken.size());
      for (int p = 0; p < taken.size(); p++) {
        byte[] found = new byte[expected.get(p).length];
        taken.get(p).getBytes(0, found);
        assertArrayEquals(expected.get(p), found, context);
      }
    } finally {
      taken.forEach(ArrowBuf::close);
    }
  }

  private static TransposeProblem randomProblem(Random random, int width) {
    return switch (random.nextInt(3)) {
      case 0 ->
          problem(width, Permutation.of(1, 0), 1 + random.nextInt(40), 1 + random.nextInt(30));
      case 1 ->
          problem(
              width,
              Permutation.parse(List.of("yzx", "zxy", "xzy", "yxz", "zyx").get(random.nextInt(5))),
              1 + random.nextInt(12),
              1 + random.nextInt(12),
              1 + random.nextInt(12));
      default -> problem(width, Permutation.identity(2), 5, 7);
    };
  }

  static TransposeProblem problem(int width, Permutation permutation, long... extents) {
    return new TransposeProblem(Shape.of(extents), permutation, width);
  }

  /** By index arithmetic alone. */
  private static byte[] permuted(TransposeProblem problem, byte[] in) {
    int rank = problem.shape().rank();
    int width = problem.elementBytes();
    long[] outShape = problem.outputShape().toArray();
    byte[] out = new byte[in.length];
    for (int o = 0; o < problem.shape().elements(); o++) {
      long rest = o;
      long[] at = new long[rank];
      for (int axis = rank - 1; axis >= 0; axis--) {
        at[problem.permutation().axis(axis)] = rest % outShape[axis];
        rest /= outShape[axis];
      }
      long from = 0;
      for (int axis = 0; axis < rank; axis++) {
        from = from * problem.shape().extent(axis) + at[axis];
      }
      System.arraycopy(in, Math.toIntExact(from * width), out, o * width, width);
    }
    return out;
  }

  static final class Counts implements PipelineListener {
    long bytesUp;
    long bytesDown;
    long upNanos;
    long computedNanos;
    long downNanos;
    long deviceBytes;
    long pinnedBytes;

    @Override
    public void moved(long up, long down) {
      bytesUp += up;
      bytesDown += down;
    }

    @Override
    public void copiedUp(long nanos) {
      upNanos += nanos;
    }

    @Override
    public void computed(long nanos) {
      computedNanos += nanos;
    }

    @Override
    public void copiedDown(long nanos) {
      downNanos += nanos;
    }

    @Override
    public void held(long device, long pinned) {
      deviceBytes = device;
      pinnedBytes = pinned;
    }
  }
}

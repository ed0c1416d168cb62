package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.arrow.blocks.Piece.Layout;
import org.tilespark.arrow.blocks.Piece.Run;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** How batches become pieces, played through in host memory. */
class PieceTest {
  @ParameterizedTest(name = "batch {0}, thinnest {1}, granted {2}")
  @CsvSource({
    // What fits goes in one piece, however much more was granted.
    "1000, 10, 2000, 1, 1000",
    "1000, 10, 9000, 1, 1000",
    // Two lanes, each with two buffers.
    "1000, 10, 1999, 2, 499",
    "1000, 10, 40, 2, 10",
    // No room for two.
    "1000, 10, 39, 1, 19",
    "1000, 10, 20, 1, 10",
  })
  void laysOutWhatWasGranted(
      long batchBytes, long thinnestBytes, long grantedBytes, int lanes, long pieceBytes) {
    assertEquals(new Layout(lanes, pieceBytes), Layout.of(batchBytes, thinnestBytes, grantedBytes));
  }

  @Test
  void wholeBlocksStayTogetherAndLargeOnesAreCut() {
    TransposeChain small = chain(Shape.of(5, 4), List.of(Permutation.of(1, 0)), 1);
    TransposeChain large = chain(Shape.of(10, 30), List.of(Permutation.of(1, 0)), 1);
    List<Piece> pieces =
        Piece.cut(
            List.of(new Run(small, 0, 7), new Run(large, 140, 1), new Run(small, 440, 2)), 100);
    Region first = Region.of(0, 100);
    Region second = Region.of(100, 40);
    Region last = Region.of(440, 40);
    assertEquals(new Piece(first, first, List.of(new Run(small, 0, 5))), pieces.get(0));
    assertEquals(new Piece(second, second, List.of(new Run(small, 0, 2))), pieces.get(1));
    assertEquals(new Piece(last, last, List.of(new Run(small, 0, 2))), pieces.get(5));
    assertEquals(6, pieces.size());
    TransposeChain slice = chain(Shape.of(10, 10), List.of(Permutation.of(1, 0)), 1);
    for (int i = 0; i < 3; i++) {
      assertEquals(
          new Piece(
              new Region(140 + 10 * i, 10, 30, 10),
              new Region(140 + 100 * i, 100, 300, 1),
              List.of(new Run(slice, 0, 1))),
          pieces.get(2 + i));
    }
  }

  @Test
  void piecesTogetherDoWhatTheBlocksDo() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      int steps = 1 + random.nextInt(4);
      int width = 1 << random.nextInt(5);
      List<Run> runs = new ArrayList<>();
      long bytes = 0;
      long thinnest = 0;
      for (int i = 0; i <= random.nextInt(4); i++) {
        TransposeChain chain = randomChain(random, steps, width);
        Run run = new Run(chain, bytes, 1 + random.nextInt(3));
        runs.add(run);
        bytes += run.bytes();
        thinnest = Math.max(thinnest, BlockSlices.thinnestBytes(chain));
      }
      long mostBytes = thinnest + random.nextInt(Math.toIntExact(bytes));
      byte[] in = new byte[Math.toIntExact(bytes)];
      random.nextBytes(in);
      byte[] expected = new byte[in.length];
      for (Run run : runs) {
        apply(run, run.startBytes(), in, expected);
      }
      byte[] found = new byte[in.length];
      for (Piece piece : Piece.cut(runs, mostBytes)) {
        assertTrue(piece.from().bytes() <= mostBytes, "seed " + seed);
        byte[] dense = gather(piece.from(), in);
        byte[] result = new byte[dense.length];
        for (Run run : piece.runs()) {
          apply(run, run.startBytes(), dense, result);
        }
        scatter(result, piece.to(), found);
      }
      assertArrayEquals(expected, found, "seed " + seed + ", round " + round);
    }
  }

  /** All steps of a run, with its blocks at {@code start} on both sides. */
  private static void apply(Run run, long start, byte[] in, byte[] out) {
    HostMemory from = HostMemory.ofArray(in).slice(start, run.bytes());
    try (HostTransposer transposer = new HostTransposer()) {
      for (int step = 0; step < run.chain().steps().size(); step++) {
        HostMemory to = HostMemory.ofArray(new byte[Math.toIntExact(run.bytes())]);
        transposer.transpose(run.batched(step), from, to);
        from = to;
      }
    }
    from.copyTo(HostMemory.ofArray(out).slice(start, run.bytes()));
  }

  private static byte[] gather(Region region, byte[] plane) {
    byte[] dense = new byte[Math.toIntExact(region.bytes())];
    for (int row = 0; row < region.rows(); row++) {
      HostMemory.ofArray(plane)
          .slice(region.startBytes() + row * region.pitchBytes(), region.rowBytes())
          .copyTo(HostMemory.ofArray(dense).slice(row * region.rowBytes(), region.rowBytes()));
    }
    return dense;
  }

  private static void scatter(byte[] dense, Region region, byte[] plane) {
    for (int row = 0; row < region.rows(); row++) {
      HostMemory.ofArray(dense)
          .slice(row * region.rowBytes(), region.rowBytes())
          .copyTo(
              HostMemory.ofArray(plane)
                  .slice(region.startBytes() + row * region.pitchBytes(), region.rowBytes()));
    }
  }

  private static TransposeChain randomChain(Random random, int steps, int width) {
    boolean matrix = random.nextBoolean();
    Shape shape =
        matrix
            ? Shape.of(1 + random.nextInt(200), 1 + random.nextInt(200))
            : Shape.of(1 + random.nextInt(80), 1 + random.nextInt(20), 1 + random.nextInt(30));
    List<Permutation> permutations = new ArrayList<>();
    List<String> orders = List.of("xyz", "yzx", "zxy", "xzy", "yxz", "zyx");
    for (int i = 0; i < steps; i++) {
      permutations.add(
          matrix ? Permutation.of(1, 0) : Permutation.parse(orders.get(random.nextInt(6))));
    }
    return chain(shape, permutations, width);
  }

  private static TransposeChain chain(Shape shape, List<Permutation> permutations, int width) {
    return TransposeChain.of(shape, permutations, width);
  }
}

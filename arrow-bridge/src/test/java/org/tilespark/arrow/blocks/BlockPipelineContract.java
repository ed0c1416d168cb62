package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * What every Fourier pipeline does, against {@link OracleArray}: relative errors in the Euclidean
 * norm below 1e-6 (FLOAT, 5e-6 where an extent has a prime factor above 127) and 1e-14 log2(n)
 * (DOUBLE); what only moves elements keeps their bits.
 */
abstract class BlockPipelineContract {
  private static final List<ElementType> TYPES = List.of(ElementType.FLOAT32, ElementType.FLOAT64);

  /** Small, with extents of 1, primes, powers and mixed numbers, of each rank. */
  private static final List<Shape> SMALL =
      List.of(
          Shape.of(15, 25, 10),
          Shape.of(9, 11, 5),
          Shape.of(2, 3, 5),
          Shape.of(1, 1, 64),
          Shape.of(64, 1, 1),
          Shape.of(17, 1, 13),
          Shape.of(1, 31, 8),
          Shape.of(12, 9, 1),
          Shape.of(2, 2, 2),
          Shape.of(1, 1, 1),
          Shape.of(37, 24),
          Shape.of(1, 16),
          Shape.of(131, 3),
          Shape.of(1),
          Shape.of(2),
          Shape.of(997),
          Shape.of(1000));

  BufferAllocator allocator;
  BlockPipeline pipeline;

  /** Where the buffers come from. */
  abstract ArrowMemory memory();

  /** A pipeline; the test closes it. */
  abstract BlockPipeline open(BufferAllocator allocator, PipelineListener listener);

  @BeforeEach
  void openPipeline() {
    allocator = memory().newChild("test");
    pipeline = open(allocator, PipelineListener.NONE);
  }

  @AfterEach
  void nothingIsLeft() {
    pipeline.close();
    pipeline.close();
    assertEquals(0, allocator.getAllocatedMemory(), "buffers alive");
    allocator.close();
  }

  // Transforms

  @Test
  void complexTransformsOverEverySubsetOfAxes() {
    for (Shape shape : SMALL) {
      for (List<Integer> axes : subsets(shape.rank())) {
        for (ElementType type : TYPES) {
          OracleArray array = OracleArray.random(shape, true, type, 1);
          for (Direction direction : Direction.values()) {
            assertSteps(array, type, new Fourier(axes, Form.COMPLEX, direction, 0, 1));
          }
        }
      }
    }
  }

  @Test
  void realTransformsOverEverySubsetOfAxes() {
    for (Shape shape : SMALL) {
      for (List<Integer> axes : subsets(shape.rank())) {
        for (ElementType type : TYPES) {
          OracleArray array = OracleArray.random(shape, false, type, 2);
          Fourier there = new Fourier(axes, Form.REAL, Direction.FORWARD, 0, 1);
          assertSteps(array, type, there);
          OracleArray spectrum = rounded(array.after(there), type);
          long extent = shape.extent(axes.get(axes.size() - 1));
          assertSteps(spectrum, type, new Fourier(axes, Form.REAL, Direction.INVERSE, extent, 1));
        }
      }
    }
  }

  @Test
  void theHalvedAxisMayBeAnyAndComeFirst() {
    Shape shape = Shape.of(6, 7, 9);
    for (List<Integer> axes :
        List.of(List.of(2, 0), List.of(2, 1, 0), List.of(0, 2, 1), List.of(1, 0), List.of(2, 1))) {
      OracleArray array = OracleArray.random(shape, false, ElementType.FLOAT64, 3);
      Fourier there = new Fourier(axes, Form.REAL, Direction.FORWARD, 0, 1);
      assertSteps(array, ElementType.FLOAT64, there);
      long extent = shape.extent(axes.get(axes.size() - 1));
      assertSteps(
          array.after(there),
          ElementType.FLOAT64,
          new Fourier(axes, Form.REAL, Direction.INVERSE, extent, 1));
    }
  }

  @Test
  void normsAreFactors() {
    Shape shape = Shape.of(9, 11, 5);
    double n = (double) shape.elements();
    for (ElementType type : TYPES) {
      OracleArray array = OracleArray.random(shape, true, type, 4);
      for (double[] norm :
          new double[][] {{1, 1 / n}, {1 / Math.sqrt(n), 1 / Math.sqrt(n)}, {1 / n, 1}}) {
        Fourier there = new Fourier(List.of(0, 1, 2), Form.COMPLEX, Direction.FORWARD, 0, norm[0]);
        Fourier back = new Fourier(List.of(0, 1, 2), Form.COMPLEX, Direction.INVERSE, 0, norm[1]);
        assertSteps(array, type, there);
        OracleArray again = run(array, type, List.of(there, back));
        assertTrue(array.relativeError(again) < bound(shape, type), "there and back");
      }
    }
  }

  @Test
  void largeShapesOnSampledLines() {
    for (Shape shape : List.of(Shape.of(181, 217, 181), Shape.of(128, 124, 132))) {
      assertSampled(shape, ElementType.FLOAT32, true);
      assertSampled(shape, ElementType.FLOAT32, false);
    }
    assertSampled(Shape.of(128, 124, 132), ElementType.FLOAT64, true);
    assertSampled(Shape.of(181, 217, 181), ElementType.FLOAT64, false);
  }

  /**
   * A transform over all axes: Parseval's sum, the way back, and every element of some lines of the
   * spectrum along the last axis, each computed as the sums are written down.
   */
  private void assertSampled(Shape shape, ElementType type, boolean isComplex) {
    OracleArray array = OracleArray.random(shape, isComplex, type, 5);
    Form form = isComplex ? Form.COMPLEX : Form.REAL;
    List<Integer> axes = List.of(0, 1, 2);
    OracleArray spectrum =
        run(array, type, List.of(new Fourier(axes, form, Direction.FORWARD, 0, 1)));
    String what = shape + " " + type + (isComplex ? " complex" : " real");
    double bound = bound(shape, type);
    int[] n = Arrays.stream(shape.toArray()).mapToInt(Math::toIntExact).toArray();
    int last = (int) spectrum.shape().extent(2);
    Random random = new Random(6);
    double error = 0;
    double norm = 0;
    for (int sample = 0; sample < 6; sample++) {
      int k0 = sample == 0 ? 0 : random.nextInt(n[0]);
      int k1 = sample == 0 ? 0 : random.nextInt(n[1]);
      double[] line = new double[2 * n[2]];
      for (int i = 0; i < n[0]; i++) {
        for (int j = 0; j < n[1]; j++) {
          double turn =
              (double) ((long) i * k0 % n[0]) / n[0] + (double) ((long) j * k1 % n[1]) / n[1];
          double cos = Math.cos(2 * Math.PI * turn);
          double sin = -Math.sin(2 * Math.PI * turn);
          int at = (i * n[1] + j) * n[2];
          for (int k = 0; k < n[2]; k++) {
            double re = array.re()[at + k];
            double im = isComplex ? array.im()[at + k] : 0;
            line[2 * k] += re * cos - im * sin;
            line[2 * k + 1] += re * sin + im * cos;
          }
        }
      }
      for (int k2 = 0; k2 < last; k2++) {
        double re = 0;
        double im = 0;
        for (int k = 0; k < n[2]; k++) {
          double angle = 2 * Math.PI * ((long) k * k2 % n[2]) / n[2];
          double cos = Math.cos(angle);
          double sin = -Math.sin(angle);
          re += line[2 * k] * cos - line[2 * k + 1] * sin;
          im += line[2 * k] * sin + line[2 * k + 1] * cos;
        }
        int at = (k0 * n[1] + k1) * last + k2;
        error += Math.pow(spectrum.re()[at] - re, 2) + Math.pow(spectrum.im()[at] - im, 2);
        norm += re * re + im * im;
      }
    }
    assertTrue(Math.sqrt(error / norm) < bound, what + ": error " + Math.sqrt(error / norm));
    if (isComplex) {
      double ratio = spectrum.energy() / array.energy() / (double) shape.elements();
      assertEquals(1, ratio, 2 * bound, what + ": Parseval");
    }
    Fourier back =
        new Fourier(
            axes, form, Direction.INVERSE, isComplex ? 0 : n[2], 1.0 / (double) shape.elements());
    double roundTrip = array.relativeError(run(spectrum, type, List.of(back)));
    assertTrue(roundTrip < bound, what + ": there and back " + roundTrip);
  }

  // Other steps

  @Test
  void everyStepByItself() {
    for (Shape shape :
        List.of(Shape.of(6, 7, 9), Shape.of(5, 8), Shape.of(24), Shape.of(1, 4, 1))) {
      for (ElementType type : TYPES) {
        for (boolean isComplex : new boolean[] {false, true}) {
          OracleArray array = OracleArray.random(shape, isComplex, type, 7);
          for (BlockStep step : otherSteps(shape, type, isComplex)) {
            assertSteps(array, type, step);
          }
        }
      }
    }
  }

  private static List<BlockStep> otherSteps(Shape shape, ElementType type, boolean isComplex) {
    int rank = shape.rank();
    List<BlockStep> steps = new ArrayList<>();
    steps.add(
        FilterSteps.trend(type, vectors(shape, 1), isComplex ? vectors(shape, 2) : List.of()));
    steps.add(FilterSteps.window(type, isComplex, vectors(shape, 3)));
    steps.add(FilterSteps.lowPass(type, isComplex, vectors(shape, 4), 0.3));
    steps.add(new Roll(Collections.nCopies(rank, 0L)));
    steps.add(new Roll(Collections.nCopies(rank, 3L)));
    steps.add(new Roll(Collections.nCopies(rank, -101L)));
    List<Long> zeros = Collections.nCopies(rank, 0L);
    List<Long> ones = Collections.nCopies(rank, 1L);
    Shape larger = Shape.of(Arrays.stream(shape.toArray()).map(n -> n + 3).toArray());
    steps.add(new Pad(larger, ones));
    steps.add(new Pad(shape, zeros));
    long[] smaller = Arrays.stream(shape.toArray()).map(n -> Math.max(1, n - 2)).toArray();
    steps.add(
        new Crop(
            Shape.of(smaller),
            Arrays.stream(shape.toArray()).mapToObj(n -> n > 2 ? 1L : 0L).toList()));
    steps.add(
        new Slice(Arrays.stream(shape.toArray()).mapToObj(n -> new AxisRange(n - 1, -1, n)).toList()));
    steps.add(
        new Slice(
            Arrays.stream(shape.toArray())
                .mapToObj(n -> new AxisRange(n / 3, 2, (n - n / 3 + 1) / 2))
                .toList()));
    if (rank == 3) {
      for (String letters : List.of("xyz", "xzy", "yxz", "yzx", "zxy", "zyx")) {
        steps.add(new Permute(Permutation.parse(letters)));
      }
    }
    if (isComplex) {
      steps.add(FilterSteps.power(rank, type));
    }
    return steps;
  }

  @Test
  void aLongChain() {
    Shape shape = Shape.of(9, 10, 11);
    for (ElementType type : TYPES) {
      OracleArray array = OracleArray.random(shape, false, type, 8);
      Shape padded = Shape.of(9, 12, 16);
      Shape half = Shape.of(9, 12, 9);
      Shape permuted = Shape.of(12, 9, 9);
      assertSteps(
          array,
          type,
          FilterSteps.trend(type, vectors(shape, 1), List.of()),
          FilterSteps.window(type, false, vectors(shape, 2)),
          new Pad(padded, List.of(0L, 1L, 2L)),
          new Roll(List.of(0L, 6L, 8L)),
          FilterSteps.window(type, false, vectors(padded, 3)),
          new Fourier(List.of(1, 2), Form.REAL, Direction.FORWARD, 0, 0.01),
          new Permute(Permutation.parse("yzx")),
          FilterSteps.trend(type, vectors(permuted, 4), vectors(permuted, 5)),
          new Fourier(List.of(2), Form.COMPLEX, Direction.FORWARD, 0, 0.5),
          new Roll(List.of(-6L, 0L, 4L)),
          FilterSteps.window(type, true, vectors(permuted, 6)),
          FilterSteps.lowPass(type, true, vectors(permuted, 7), 0.5),
          new Roll(List.of(6L, 0L, -4L)),
          new Fourier(List.of(2), Form.COMPLEX, Direction.INVERSE, 0, 1.0 / 9),
          new Permute(Permutation.parse("zxy")),
          FilterSteps.window(type, true, vectors(half, 8)),
          new Fourier(List.of(1, 2), Form.REAL, Direction.INVERSE, 16, 3),
          new Crop(shape, List.of(0L, 1L, 2L)));
      assertSteps(
          OracleArray.random(shape, true, type, 9),
          type,
          new Fourier(List.of(0, 2), Form.COMPLEX, Direction.FORWARD, 0, 0.1),
          FilterSteps.trend(type, vectors(shape, 1), vectors(shape, 2)),
          new Fourier(List.of(1), Form.COMPLEX, Direction.FORWARD, 0, 0.2),
          FilterSteps.power(3, type),
          FilterSteps.trend(type, vectors(shape, 3), List.of()),
          new Fourier(List.of(0), Form.REAL, Direction.FORWARD, 0, 1));
    }
  }

  @Test
  void rollsShiftTheOrigin() {
    Shape shape = Shape.of(4, 5);
    OracleArray array = OracleArray.random(shape, false, ElementType.FLOAT32, 10);
    OracleArray shifted = run(array, ElementType.FLOAT32, List.of(new Roll(List.of(2L, 2L))));
    assertEquals(array.re()[0], shifted.re()[2 * 5 + 2], "as numpy.fft.fftshift");
    assertArrayEquals(
        array.re(), run(shifted, ElementType.FLOAT32, List.of(new Roll(List.of(-2L, -2L)))).re());
  }

  @Test
  void infinitiesAreCutOffToo() {
    OracleArray array =
        new OracleArray(
            Shape.of(4), new double[] {1, Double.POSITIVE_INFINITY, Double.NaN, 2}, null);
    BlockStep keep =
        FilterSteps.lowPass(ElementType.FLOAT64, false, List.of(new double[] {0, 1, 1, 0.5}), 0.5);
    assertArrayEquals(
        new double[] {1, 0, 0, 2}, run(array, ElementType.FLOAT64, List.of(keep)).re());
  }

  // Parts

  @Test
  void raggedPartsThereAndOtherPartsBack() {
    Random random = new Random(11);
    for (Shape shape :
        List.of(
            Shape.of(13, 17, 11),
            Shape.of(8, 16, 32),
            Shape.of(16, 12, 8),
            Shape.of(40, 25),
            Shape.of(1, 1, 999),
            Shape.of(5000))) {
      for (ElementType type : TYPES) {
        for (boolean isComplex : new boolean[] {false, true}) {
          for (List<BlockStep> steps :
              List.of(
                  List.<BlockStep>of(),
                  List.<BlockStep>of(new Roll(Collections.nCopies(shape.rank(), 0L))))) {
            List<byte[]> planes = bits(shape, type, isComplex, random);
            pipeline.begin(new BlockProgram(shape, type, isComplex, steps));
            for (Part part : ArrayParts.shuffled(ArrayParts.cut(shape, random), random)) {
              put(part, shape, type, planes, random.nextBoolean());
            }
            List<Part> outputs = ArrayParts.shuffled(ArrayParts.cut(shape, random), random);
            outputs.add(Part.whole(shape));
            outputs.add(outputs.get(0));
            pipeline.run(outputs);
            assertEquals(1, pipeline.inFlight());
            for (Part part : outputs) {
              assertTaken(part, shape, type, planes);
            }
            assertEquals(0, pipeline.inFlight());
          }
        }
      }
    }
  }

  /**
   * Parts of many megabytes, which go in more pieces than there are buffers for, between small
   * ones.
   */
  @Test
  void largePartsThereAndBack() {
    Shape shape = Shape.of(100, 170, 189); // 49 MiB
    ElementType type = ElementType.FLOAT64;
    Random random = new Random(15);
    List<byte[]> planes = bits(shape, type, true, random);
    List<Part> parts =
        List.of(
            new Part(List.of(0L, 0L, 0L), List.of(90L, 170L, 189L)),
            new Part(List.of(90L, 0L, 0L), List.of(10L, 1L, 189L)),
            new Part(List.of(90L, 1L, 0L), List.of(10L, 169L, 11L)),
            new Part(List.of(90L, 1L, 11L), List.of(10L, 169L, 178L)));
    for (boolean owned : new boolean[] {true, false}) {
      pipeline.begin(new BlockProgram(shape, type, true, List.of()));
      for (Part part : ArrayParts.shuffled(parts, random)) {
        put(part, shape, type, planes, owned);
      }
      List<Part> outputs = ArrayParts.shuffled(parts, random);
      pipeline.run(outputs);
      for (Part part : outputs) {
        assertTaken(part, shape, type, planes);
      }
    }
  }

  /**
   * Parts of all sizes go where the caller says: into memory of the pipeline's kind, which a device
   * writes itself, into other memory, or into buffers. What lies around the rooms stays.
   */
  @Test
  void partsGoIntoRooms() {
    Random random = new Random(16);
    for (Shape shape : List.of(Shape.of(100, 170, 189), Shape.of(64, 100, 30))) {
      ElementType type = ElementType.FLOAT32;
      List<byte[]> planes = bits(shape, type, true, random);
      List<Part> outputs = ArrayParts.shuffled(ArrayParts.cut(shape, random), random);
      outputs.addAll(ArrayParts.grid(shape, 25, 60, 30));
      outputs.add(Part.whole(shape));
      outputs.add(new Part(List.of(0L, 0L, 0L), List.of(7L, 3L, 5L)));
      Collections.shuffle(outputs, random);
      try (ArrowMemory plain = new ArrowMemory(new NativeMemorySource(0));
          BufferAllocator plainRooms = plain.newChild("rooms")) {
        List<ArrowBuf> rooms = new ArrayList<>(); // of each output; null for none
        Rooms made =
            output -> {
              assertEquals(rooms.size(), output);
              int kind = random.nextInt(3);
              if (kind == 0) {
                rooms.add(null);
                return List.of();
              }
              long bytes = outputs.get(output).elements() * type.bytes();
              ArrowBuf room = (kind == 1 ? allocator : plainRooms).buffer(2 * bytes + 24);
              room.setZero(0, room.capacity());
              rooms.add(room);
              return List.of(
                  HostMemory.ofAddress(room.memoryAddress() + 8, bytes),
                  HostMemory.ofAddress(room.memoryAddress() + 16 + bytes, bytes));
            };
        pipeline.begin(new BlockProgram(shape, type, true, List.of()));
        put(Part.whole(shape), shape, type, planes, true);
        pipeline.run(outputs, made);
        for (int i = 0; i < outputs.size(); i++) {
          Part part = outputs.get(i);
          List<ArrowBuf> buffers = pipeline.take();
          ArrowBuf room = rooms.get(i);
          if (room == null) {
            assertEquals(2, buffers.size());
            assertBytes(part, shape, type, planes, buffers, new long[2]);
            buffers.forEach(ArrowBuf::close);
          } else {
            assertEquals(List.of(), buffers);
            long bytes = part.elements() * type.bytes();
            assertBytes(part, shape, type, planes, List.of(room, room), new long[] {8, 16 + bytes});
            assertEquals(0, room.getLong(0));
            assertEquals(0, room.getLong(8 + bytes));
            assertEquals(0, room.getLong(16 + 2 * bytes));
            room.close();
          }
        }
        assertEquals(outputs.size(), rooms.size());
      }
    }
  }

  @Test
  void roomsOfAnotherSizeAreRefused() {
    Shape shape = Shape.of(4, 5);
    pipeline.begin(new BlockProgram(shape, ElementType.FLOAT32, false, List.of()));
    try (ArrowBuf room = allocator.buffer(100)) {
      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class,
              () -> {
                pipeline.run(
                    List.of(Part.whole(shape)),
                    output -> List.of(HostMemory.ofAddress(room.memoryAddress(), 76)));
                pipeline.take();
              });
      assertTrue(refused.getMessage().contains("[76]"), refused::getMessage);
      pipeline.close();
    }
  }

  @Test
  void whatIsNotPutIsZero() {
    for (ElementType type : TYPES) {
      for (boolean isComplex : new boolean[] {false, true}) {
        Shape shape = Shape.of(5, 6, 7);
        List<byte[]> planes = bits(shape, type, isComplex, new Random(12));
        Part part = new Part(List.of(1L, 2L, 3L), List.of(3L, 2L, 4L));
        for (byte[] plane : planes) {
          byte[] inside = ArrayParts.dense(part, shape, type.bytes(), plane);
          Arrays.fill(plane, (byte) 0);
          ArrayParts.undense(part, shape, type.bytes(), inside, plane);
        }
        pipeline.begin(new BlockProgram(shape, type, isComplex, List.of()));
        put(part, shape, type, planes, false);
        pipeline.run(List.of(Part.whole(shape)));
        assertTaken(Part.whole(shape), shape, type, planes);
        pipeline.begin(new BlockProgram(shape, type, isComplex, List.of()));
        pipeline.run(List.of(Part.whole(shape)));
        planes.forEach(plane -> Arrays.fill(plane, (byte) 0));
        assertTaken(Part.whole(shape), shape, type, planes);
      }
    }
  }

  @Test
  void manySmallPartsOfATransform() {
    Shape shape = Shape.of(24, 20, 28);
    Random random = new Random(13);
    for (ElementType type : TYPES) {
      OracleArray array = OracleArray.random(shape, true, type, 14);
      Fourier transform = new Fourier(List.of(0, 1, 2), Form.COMPLEX, Direction.FORWARD, 0, 0.125);
      OracleArray expected = array.after(transform);
      pipeline.begin(new BlockProgram(shape, type, true, List.of(transform)));
      List<byte[]> planes = bytes(array, type);
      for (Part part : ArrayParts.grid(shape, 3, 4, 5)) {
        put(part, shape, type, planes, random.nextBoolean());
      }
      List<Part> outputs = ArrayParts.grid(shape, 5, 3, 4);
      pipeline.run(outputs);
      double error = 0;
      for (Part part : outputs) {
        OracleArray found = taken(part.size(), type, true);
        error +=
            Math.pow(expected.part(part).relativeError(found), 2) * expected.part(part).energy();
      }
      assertTrue(Math.sqrt(error / expected.energy()) < bound(shape, type), "error of " + type);
    }
  }

  /** What is one part may be read until it is run, and no longer. */
  @Test
  void wholeArraysAreReadUntilTheyAreRun() {
    Shape shape = Shape.of(5, 6, 7);
    ElementType type = ElementType.FLOAT64;
    for (List<BlockStep> steps :
        List.of(
            List.<BlockStep>of(),
            List.<BlockStep>of(new Permute(Permutation.parse("yzx"))),
            List.<BlockStep>of(
                FilterSteps.window(type, true, vectors(shape, 3)), FilterSteps.power(3, type)),
            List.<BlockStep>of(
                new Fourier(List.of(1), Form.COMPLEX, Direction.FORWARD, 0, 1),
                new Roll(List.of(0L, 0L, 0L))),
            List.<BlockStep>of(
                new Fourier(List.of(0, 1, 2), Form.REAL, Direction.INVERSE, 13, 1)))) {
      OracleArray array = OracleArray.random(shape, true, type, 5);
      List<byte[]> values = bytes(array, type);
      List<Plane> planes = new ArrayList<>();
      values.forEach(plane -> planes.add(new Plane(HostMemory.ofArray(plane.clone()))));
      BlockProgram program = new BlockProgram(shape, type, true, steps);
      Part result = Part.whole(program.output().shape());
      pipeline.begin(program);
      pipeline.putWhole(planes);
      pipeline.run(List.of(result));
      for (int p = 0; p < values.size(); p++) {
        assertArrayEquals(
            values.get(p), (byte[]) planes.get(p).values().base(), "written to: " + steps);
      }
      planes.forEach(plane -> plane.values().fill((byte) -1));
      OracleArray found = taken(result.size(), type, program.output().isComplex());
      assertTrue(array.after(steps).relativeError(found) < 1e-13, steps.toString());
      planes.clear();
      values.forEach(plane -> planes.add(new Plane(HostMemory.ofArray(plane.clone()))));
      pipeline.begin(program);
      pipeline.put(Part.whole(shape), planes);
      planes.forEach(plane -> plane.values().fill((byte) -1));
      pipeline.run(List.of(result));
      found = taken(result.size(), type, program.output().isComplex());
      assertTrue(array.after(steps).relativeError(found) < 1e-13, "read at once: " + steps);
    }
  }

  /** Also where results in parts and whole ones are under way at a time. */
  @Test
  void roomsAreAskedForInTheOrderOfResults() {
    Shape shape = Shape.of(2, 3, 4);
    ElementType type = ElementType.FLOAT32;
    List<Integer> asked = new ArrayList<>();
    int begun = 0;
    int taken = 0;
    for (int i = 0; i < 6; i++) {
      List<Part> outputs =
          i % 2 == 0 ? ArrayParts.grid(shape, 1, 3, 4) : List.of(Part.whole(shape));
      while (pipeline.isFull()) {
        pipeline.take().forEach(ArrowBuf::close);
        taken++;
      }
      OracleArray array = OracleArray.random(shape, false, type, i);
      BlockStep window = FilterSteps.window(type, false, vectors(shape, 1));
      pipeline.begin(new BlockProgram(shape, type, false, List.of(window)));
      put(Part.whole(shape), shape, type, bytes(array, type), false);
      int first = begun;
      pipeline.run(
          outputs,
          part -> {
            asked.add(first + part);
            return List.of();
          });
      begun += outputs.size();
    }
    for (; taken < begun; taken++) {
      pipeline.take().forEach(ArrowBuf::close);
    }
    assertEquals(IntStream.range(0, begun).boxed().toList(), asked);
  }

  @Test
  void arraysUnderWay() {
    Shape shape = Shape.of(16, 9, 20);
    ElementType type = ElementType.FLOAT32;
    Fourier transform = new Fourier(List.of(2, 1), Form.COMPLEX, Direction.FORWARD, 0, 1);
    List<Part> outputs = ArrayParts.grid(shape, 16, 3, 20);
    List<OracleArray> expected = new ArrayList<>();
    int taken = 0;
    for (int i = 0; i < 7; i++) {
      while (pipeline.isFull()) {
        assertPart(expected.get(taken / outputs.size()), outputs.get(taken % outputs.size()));
        taken++;
      }
      OracleArray array = OracleArray.random(shape, true, type, 20 + i);
      pipeline.begin(new BlockProgram(shape, type, true, List.of(transform)));
      put(Part.whole(shape), shape, type, bytes(array, type), i % 2 == 0);
      if (pipeline.inFlight() > 0) { // in the middle of the next array
        assertPart(expected.get(taken / outputs.size()), outputs.get(taken % outputs.size()));
        taken++;
      }
      pipeline.run(outputs);
      expected.add(array.after(transform));
    }
    while (pipeline.inFlight() > 0) {
      assertPart(expected.get(taken / outputs.size()), outputs.get(taken % outputs.size()));
      taken++;
    }
    assertEquals(7 * outputs.size(), taken);
  }

  private void assertPart(OracleArray whole, Part part) {
    OracleArray found = taken(part.size(), ElementType.FLOAT32, true);
    assertTrue(whole.part(part).relativeError(found) < 1e-6, "part " + part);
  }

  // Programs that only move elements

  /** Any bits of any type, put and taken whole and in parts. */
  @Test
  void everyTypeMoves() {
    Random random = new Random(17);
    for (ElementType type : ElementType.values()) {
      for (boolean isComplex : new boolean[] {false, true}) {
        for (BlockProgram program : moves(Shape.of(9, 20, 33), type, isComplex)) {
          List<byte[]> planes = randomPlanes(program, random);
          List<byte[]> expected = moved(program, planes);
          Shape result = program.output().shape();
          for (int form = 0; form < 4; form++) {
            List<Part> inputs =
                form % 2 == 0
                    ? List.of(Part.whole(program.shape()))
                    : ArrayParts.cut(program.shape(), random);
            List<Part> outputs =
                form < 2 ? List.of(Part.whole(result)) : ArrayParts.cut(result, random);
            pipeline.begin(program);
            for (Part part : inputs) {
              put(part, program.shape(), type, planes, random.nextBoolean());
            }
            pipeline.run(outputs);
            for (Part part : outputs) {
              assertTaken(part, result, type, expected);
            }
          }
        }
      }
    }
  }

  /** Large parts that are contiguous in the array, and some that are not. */
  @Test
  void largePartsOfEveryType() {
    Random random = new Random(18);
    Shape shape = Shape.of(20, 45, 100);
    for (ElementType type : ElementType.values()) {
      for (boolean isComplex : new boolean[] {false, true}) {
        BlockProgram program =
            new BlockProgram(
                shape, type, isComplex, List.of(new Permute(Permutation.parse("yzx"))));
        List<byte[]> planes = randomPlanes(program, random);
        List<byte[]> expected = moved(program, planes);
        Shape result = program.output().shape();
        pipeline.begin(program);
        for (Part part : ArrayParts.grid(shape, 13, 45, 100)) {
          put(part, shape, type, planes, true);
        }
        List<Part> outputs = new ArrayList<>(ArrayParts.grid(result, 25, 100, 20));
        outputs.addAll(ArrayParts.grid(result, 45, 77, 20));
        pipeline.run(outputs);
        for (Part part : outputs) {
          assertTaken(part, result, type, expected);
        }
      }
    }
  }

  private static List<BlockProgram> moves(Shape shape, ElementType type, boolean isComplex) {
    long[] larger = Arrays.stream(shape.toArray()).map(n -> n + 3).toArray();
    List<List<BlockStep>> all =
        List.of(
            List.of(),
            List.of(new Permute(Permutation.parse("zyx"))),
            List.of(new Permute(Permutation.parse("yzx")), new Permute(Permutation.parse("xzy"))),
            List.of(new Roll(List.of(0L, -7L, 40L))),
            List.of(
                new Slice(
                    List.of(
                        AxisRange.all(shape.extent(0)),
                        new AxisRange(shape.extent(1) - 2, -3, 5),
                        new AxisRange(1, 2, shape.extent(2) / 2)))),
            List.of(
                new Slice(
                    List.of(
                        new AxisRange(2, 3, 2),
                        new AxisRange(4, 1, 3),
                        new AxisRange(shape.extent(2) - 1, -1, shape.extent(2)))),
                new Permute(Permutation.parse("yzx"))),
            List.of(
                new Pad(Shape.of(larger), List.of(0L, 3L, 1L)),
                new Permute(Permutation.parse("zxy")),
                new Crop(Shape.of(larger[2], larger[0], 2), List.of(0L, 0L, 5L))));
    return all.stream().map(steps -> new BlockProgram(shape, type, isComplex, steps)).toList();
  }

  private static List<byte[]> randomPlanes(BlockProgram program, Random random) {
    return bits(program.shape(), program.type(), program.isComplex(), random);
  }

  private static List<byte[]> moved(BlockProgram program, List<byte[]> planes) {
    return planes.stream().map(plane -> OracleArray.moved(program, plane)).toList();
  }

  /** An array that was run: what its result must be, and where it goes. */
  private record Expected(
      BlockProgram program, List<byte[]> planes, ArrowBuf room, List<Long> roomStarts) {}

  /**
   * Many small arrays, of which equal ones follow each other; among them larger ones, and ones
   * whose program computes. Results are taken as the pipeline wants it, and in between. Rooms lie
   * one behind the other, or apart, in memory of the pipeline's kind or not.
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
        // All rooms of these arrays: a plane of each, one behind the other, then the next plane.
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

  /** All that was run is taken, after an array that is transformed was put behind it. */
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
    try (BufferAllocator upstream = memory().newChild("upstream")) {
      BufferAllocator ours = allocator;
      allocator = upstream; // where the planes lie
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

  // Mistakes

  @Test
  void partsThatDoNotFit() {
    Shape shape = Shape.of(4, 5, 6);
    pipeline.begin(new BlockProgram(shape, ElementType.FLOAT32, true, List.of()));
    Plane ten = new Plane(HostMemory.ofArray(new float[10]));
    Part outside = new Part(List.of(3L, 0L, 0L), List.of(2L, 5L, 1L));
    assertThrows(IllegalArgumentException.class, () -> pipeline.put(outside, List.of(ten, ten)));
    Part inside = new Part(List.of(0L, 0L, 0L), List.of(2L, 5L, 1L));
    IllegalArgumentException onePlane =
        assertThrows(IllegalArgumentException.class, () -> pipeline.put(inside, List.of(ten)));
    assertTrue(
        onePlane.getMessage().contains("[40] bytes; expected 2 of 40"), onePlane.getMessage());
    Plane nine = new Plane(HostMemory.ofArray(new float[9]));
    assertThrows(IllegalArgumentException.class, () -> pipeline.put(inside, List.of(ten, nine)));
    assertThrows(IllegalArgumentException.class, () -> pipeline.run(List.of(outside)));
    pipeline.put(inside, List.of(ten, ten)); // all of it has changed nothing
    pipeline.run(List.of(inside));
    taken(inside.size(), ElementType.FLOAT32, true);
  }

  @Test
  void anArrayThatNobodyTakes() {
    Shape shape = Shape.of(8, 8, 8);
    OracleArray array = OracleArray.random(shape, true, ElementType.FLOAT32, 30);
    Fourier transform = new Fourier(List.of(0), Form.COMPLEX, Direction.FORWARD, 0, 1);
    for (List<Part> outputs : List.of(List.<Part>of(), ArrayParts.grid(shape, 4, 8, 8))) {
      pipeline.begin(new BlockProgram(shape, ElementType.FLOAT32, true, List.of(transform)));
      put(Part.whole(shape), shape, ElementType.FLOAT32, bytes(array, ElementType.FLOAT32), true);
      pipeline.run(outputs);
      assertEquals(outputs.isEmpty() ? 0 : 1, pipeline.inFlight());
    }
    taken(List.of(4L, 8L, 8L), ElementType.FLOAT32, true);
    pipeline.begin(new BlockProgram(shape, ElementType.FLOAT32, true, List.of(transform)));
    put(Part.whole(shape), shape, ElementType.FLOAT32, bytes(array, ElementType.FLOAT32), true);
    // and closed with one array half put and one half taken
  }

  // Helpers

  /** Relative error allowed. */
  private static double bound(Shape shape, ElementType type) {
    if (type == ElementType.FLOAT64) {
      return 1e-14 * Math.max(1, Math.log((double) shape.elements()) / Math.log(2));
    }
    for (long extent : shape.toArray()) {
      for (long p = 128; p <= extent; p++) {
        boolean prime = true;
        for (long d = 2; d * d <= p; d++) {
          prime &= p % d != 0;
        }
        if (prime && extent % p == 0) {
          return 5e-6;
        }
      }
    }
    return 1e-6;
  }

  void assertSteps(OracleArray array, ElementType type, BlockStep... steps) {
    OracleArray expected = array.after(List.of(steps));
    OracleArray found = run(array, type, List.of(steps));
    assertEquals(expected.shape(), found.shape());
    double error = expected.relativeError(found);
    assertTrue(
        error <= bound(array.shape(), type) * steps.length,
        () -> Arrays.toString(steps) + " on " + array.shape() + " " + type + ": error " + error);
  }

  /** Puts an array through steps, whole. */
  private OracleArray run(OracleArray array, ElementType type, List<BlockStep> steps) {
    BlockProgram program = new BlockProgram(array.shape(), type, array.isComplex(), steps);
    pipeline.begin(program);
    List<Plane> planes = new ArrayList<>();
    bytes(array, type).forEach(plane -> planes.add(new Plane(HostMemory.ofArray(plane))));
    pipeline.putWhole(planes);
    Part result = Part.whole(program.output().shape());
    pipeline.run(List.of(result));
    return taken(result.size(), type, program.output().isComplex());
  }

  private void put(Part part, Shape shape, ElementType type, List<byte[]> planes, boolean owned) {
    List<Plane> put = new ArrayList<>();
    List<ArrowBuf> buffers = new ArrayList<>();
    for (byte[] plane : planes) {
      byte[] dense = ArrayParts.dense(part, shape, type.bytes(), plane);
      if (owned) {
        ArrowBuf buffer = allocator.buffer(dense.length + 16);
        long start = 4L * type.bytes() / 4; // owners need not begin with the plane
        buffer.setBytes(start, dense);
        buffers.add(buffer);
        put.add(
            new Plane(
                HostMemory.ofAddress(buffer.memoryAddress() + start, dense.length),
                Optional.of(buffer)));
      } else {
        put.add(new Plane(HostMemory.ofArray(dense)));
      }
    }
    boolean isWhole = part.equals(Part.whole(shape));
    if (isWhole) {
      pipeline.putWhole(put);
    } else {
      pipeline.put(part, put);
    }
    buffers.forEach(ArrowBuf::close);
    for (Plane plane : put) {
      if (plane.owner().isEmpty() && !isWhole) {
        plane.values().fill((byte) -1); // it has been read
      }
    }
  }

  private void assertTaken(Part part, Shape shape, ElementType type, List<byte[]> planes) {
    List<ArrowBuf> taken = pipeline.take();
    assertEquals(planes.size(), taken.size());
    assertBytes(part, shape, type, planes, taken, new long[planes.size()]);
    taken.forEach(ArrowBuf::close);
  }

  private static void assertBytes(
      Part part,
      Shape shape,
      ElementType type,
      List<byte[]> planes,
      List<ArrowBuf> buffers,
      long[] starts) {
    for (int p = 0; p < planes.size(); p++) {
      byte[] found = new byte[(int) (part.elements() * type.bytes())];
      buffers.get(p).getBytes(starts[p], found);
      assertArrayEquals(
          ArrayParts.dense(part, shape, type.bytes(), planes.get(p)),
          found,
          part + " of plane " + p);
    }
  }

  private OracleArray taken(List<Long> size, ElementType type, boolean isComplex) {
    List<ArrowBuf> taken = pipeline.take();
    assertEquals(isComplex ? 2 : 1, taken.size());
    Shape shape = Shape.of(size.stream().mapToLong(Long::longValue).toArray());
    List<double[]> parts = new ArrayList<>();
    for (ArrowBuf plane : taken) {
      double[] values = new double[(int) shape.elements()];
      for (int i = 0; i < values.length; i++) {
        values[i] = type == ElementType.FLOAT32 ? plane.getFloat(4L * i) : plane.getDouble(8L * i);
      }
      parts.add(values);
      plane.close();
    }
    return new OracleArray(shape, parts.get(0), isComplex ? parts.get(1) : null);
  }

  static List<byte[]> bytes(OracleArray array, ElementType type) {
    List<byte[]> planes = new ArrayList<>();
    for (double[] values :
        array.isComplex() ? List.of(array.re(), array.im()) : List.of(array.re())) {
      byte[] plane = new byte[values.length * type.bytes()];
      HostMemory source;
      if (type == ElementType.FLOAT32) {
        float[] floats = new float[values.length];
        for (int i = 0; i < floats.length; i++) {
          floats[i] = (float) values[i];
        }
        source = HostMemory.ofArray(floats);
      } else {
        source = HostMemory.ofArray(values);
      }
      source.copyTo(HostMemory.ofArray(plane));
      planes.add(plane);
    }
    return planes;
  }

  private static OracleArray rounded(OracleArray array, ElementType type) {
    if (type == ElementType.FLOAT32) {
      for (double[] part : List.of(array.re(), array.im())) {
        Arrays.setAll(part, i -> (float) part[i]);
      }
    }
    return array;
  }

  /** Any bits, signalling NaNs among them. */
  private static List<byte[]> bits(
      Shape shape, ElementType type, boolean isComplex, Random random) {
    List<byte[]> planes = new ArrayList<>();
    for (int p = 0; p < (isComplex ? 2 : 1); p++) {
      byte[] plane = new byte[(int) shape.elements() * type.bytes()];
      random.nextBytes(plane);
      boolean isFloat = type == ElementType.FLOAT32 || type == ElementType.FLOAT64;
      for (int i = 0; i < plane.length && isFloat; i += 7 * type.bytes()) {
        plane[i + type.bytes() - 1] = 0x7F;
        plane[i + type.bytes() - 2] = (byte) (type == ElementType.FLOAT32 ? 0xA0 : 0xF4);
      }
      planes.add(plane);
    }
    return planes;
  }

  private static List<double[]> vectors(Shape shape, long seed) {
    Random random = new Random(seed);
    List<double[]> vectors = new ArrayList<>();
    for (long extent : shape.toArray()) {
      double[] vector = new double[(int) extent];
      Arrays.setAll(vector, i -> random.nextDouble() + (seed % 2 == 0 ? -0.3 : 0.3));
      vectors.add(vector);
    }
    return vectors;
  }

  private static List<List<Integer>> subsets(int rank) {
    List<List<Integer>> subsets = new ArrayList<>();
    for (int set = 1; set < 1 << rank; set++) {
      List<Integer> axes = new ArrayList<>();
      for (int axis = 0; axis < rank; axis++) {
        if ((set >> axis & 1) == 1) {
          axes.add(axis);
        }
      }
      subsets.add(axes);
    }
    return subsets;
  }
}

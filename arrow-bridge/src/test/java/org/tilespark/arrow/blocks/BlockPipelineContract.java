package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Cases of every Fourier pipeline against {@link OracleArray}: relative errors in the Euclidean
 * norm below 1e-6 (FLOAT, 5e-6 where an extent has a prime factor above 127) and 1e-14 log2(n)
 * (DOUBLE); steps that only move elements keep their bits.
 */
abstract class BlockPipelineContract extends PipelineFixture {
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
        OracleArray.crop(
            Shape.of(smaller),
            Arrays.stream(shape.toArray()).mapToObj(n -> n > 2 ? 1L : 0L).toList()));
    steps.add(
        new Slice(
            Arrays.stream(shape.toArray()).mapToObj(n -> new AxisRange(n - 1, -1, n)).toList()));
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
          OracleArray.crop(shape, List.of(0L, 1L, 2L)));
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
   * writes itself, into other memory, or into buffers. Bytes around the rooms stay.
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

  /** A part that is the whole array may be read until it is run, and no longer. */
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
      if (i % 3 == 2) {
        assertPart(expected.get(taken / outputs.size()), outputs.get(taken % outputs.size()));
        taken++;
      }
      OracleArray array = OracleArray.random(shape, true, type, 20 + i);
      pipeline.begin(new BlockProgram(shape, type, true, List.of(transform)));
      put(Part.whole(shape), shape, type, bytes(array, type), i % 2 == 0);
      assertThrows(IllegalStateException.class, pipeline::take, "in the middle of an array");
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

  void assertSteps(OracleArray array, ElementType type, BlockStep... steps) {
    OracleArray expected = array.after(List.of(steps));
    OracleArray found = run(array, type, List.of(steps));
    assertEquals(expected.shape(), found.shape());
    double error = expected.relativeError(found);
    assertTrue(
        error <= bound(array.shape(), type) * steps.length,
        () -> Arrays.toString(steps) + " on " + array.shape() + " " + type + ": error " + error);
  }

  private static OracleArray rounded(OracleArray array, ElementType type) {
    if (type == ElementType.FLOAT32) {
      for (double[] part : List.of(array.re(), array.im())) {
        Arrays.setAll(part, i -> (float) part[i]);
      }
    }
    return array;
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

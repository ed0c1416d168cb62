package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** Opens a pipeline of one of the twins for each test, and what tests put and take. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class PipelineFixture {
  BufferAllocator allocator;
  BlockPipeline pipeline;
  private Twin twin;

  /** The twin that a class tests; closed by this. */
  abstract Twin openTwin();

  @BeforeAll
  void openMachine() {
    twin = openTwin();
  }

  @AfterAll
  void closeMachine() {
    if (twin != null) {
      twin.close();
    }
  }

  @BeforeEach
  void openPipeline() {
    allocator = twin.memory().newChild("test");
    pipeline = twin.open(allocator, PipelineListener.NONE);
  }

  @AfterEach
  void nothingIsLeft() {
    pipeline.close();
    pipeline.close();
    assertEquals(0, allocator.getAllocatedMemory(), "buffers alive");
    allocator.close();
    twin.requireNothingHeld();
  }

  Twin twin() {
    return twin;
  }

  /** Relative error allowed. */
  static double bound(Shape shape, ElementType type) {
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

  void put(Part part, Shape shape, ElementType type, List<byte[]> planes, boolean owned) {
    put(0, part, shape, type, planes, owned);
  }

  /** Puts a part of an input, which is to be read at once unless it is all of it. */
  void put(
      int input, Part part, Shape shape, ElementType type, List<byte[]> planes, boolean owned) {
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
      pipeline.putWhole(input, put);
    } else {
      pipeline.put(input, part, put);
    }
    buffers.forEach(ArrowBuf::close);
    for (Plane plane : put) {
      if (plane.owner().isEmpty() && !isWhole) {
        plane.values().fill((byte) -1); // it has been read
      }
    }
  }

  void assertTaken(Part part, Shape shape, ElementType type, List<byte[]> planes) {
    List<ArrowBuf> taken = pipeline.take();
    assertEquals(planes.size(), taken.size());
    assertBytes(part, shape, type, planes, taken, new long[planes.size()]);
    taken.forEach(ArrowBuf::close);
  }

  static void assertBytes(
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

  OracleArray taken(List<Long> size, ElementType type, boolean isComplex) {
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

  /** Any bits, signalling NaNs among them. */
  static List<byte[]> bits(Shape shape, ElementType type, boolean isComplex, Random random) {
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

  static List<double[]> vectors(Shape shape, long seed) {
    Random random = new Random(seed);
    List<double[]> vectors = new ArrayList<>();
    for (long extent : shape.toArray()) {
      double[] vector = new double[(int) extent];
      Arrays.setAll(vector, i -> random.nextDouble() + (seed % 2 == 0 ? -0.3 : 0.3));
      vectors.add(vector);
    }
    return vectors;
  }

  /** Puts an array through steps, whole. */
  OracleArray run(OracleArray array, ElementType type, List<BlockStep> steps) {
    BlockProgram program = new BlockProgram(array.shape(), type, array.isComplex(), steps);
    pipeline.begin(program);
    List<Plane> planes = new ArrayList<>();
    bytes(array, type).forEach(plane -> planes.add(new Plane(HostMemory.ofArray(plane))));
    pipeline.putWhole(planes);
    Part result = Part.whole(program.output().shape());
    pipeline.run(List.of(result));
    return taken(result.size(), type, program.output().isComplex());
  }

  static List<byte[]> randomPlanes(BlockProgram program, Random random) {
    return bits(program.shape(), program.type(), program.isComplex(), random);
  }

  static List<byte[]> moved(BlockProgram program, List<byte[]> planes) {
    return planes.stream().map(plane -> OracleArray.moved(program, plane)).toList();
  }

  static List<BlockProgram> moves(Shape shape, ElementType type, boolean isComplex) {
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
                OracleArray.crop(Shape.of(larger[2], larger[0], 2), List.of(0L, 0L, 5L))));
    return all.stream().map(steps -> new BlockProgram(shape, type, isComplex, steps)).toList();
  }
}

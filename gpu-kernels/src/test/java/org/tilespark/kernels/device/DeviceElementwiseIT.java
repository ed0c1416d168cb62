package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseCases;
import org.tilespark.kernels.pointwise.ElementwiseCases.Block;
import org.tilespark.kernels.pointwise.ElementwiseErrors;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** The device's programs against the host's: equal bits where both promise them. */
@RequiresGpu
class DeviceElementwiseIT {
  /** Bytes before and after each array, which must stay as they are. */
  private static final int GUARD = 256;

  private static CudaDevice device;
  private static DeviceElementwise elementwise;

  @BeforeAll
  static void openDevice() {
    device = CudaDevice.open(0);
    elementwise = new DeviceElementwise(device);
  }

  @AfterAll
  static void closeDevice() {
    if (device != null) {
      elementwise.close();
      device.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, device.liveDeviceBytes());
    assertEquals(0, device.livePinnedBytes());
  }

  /** Every function on every type: equal bits, or within the bound that its table states. */
  @Test
  void everyFunctionOnEveryType() {
    Random random = new Random(3);
    List<String> wrong = new ArrayList<>();
    List<ElementwiseProgram> programs = new ArrayList<>(ElementwiseCases.ofOneStep());
    for (ElementType type : ElementType.values()) {
      programs.add(ElementwiseCases.manyConstants(type));
    }
    programs.add(ElementwiseCases.normalNumbers());
    for (ElementwiseProgram program : programs) {
      Block block = ElementwiseCases.block(program, Shape.of(100_003), random);
      List<List<long[]>> found = run(program, block, 0);
      if (ElementwiseErrors.isExact(program)) {
        String difference =
            ElementwiseCases.difference(
                program, block, ElementwiseCases.results(program, block), found);
        if (!difference.isEmpty()) {
          wrong.add(difference);
        }
      }
    }
    assertEquals(List.of(), wrong);
  }

  /** Errors against numbers of many digits, as those of the host. */
  @Test
  void errorsStayWithinTheirBounds() {
    TreeMap<String, String> errors = new TreeMap<>();
    List<String> wrong =
        ElementwiseErrors.check(
            (program, block) -> run(program, block, 0), (what, ulps) -> errors.put(what, ulps));
    errors.forEach((what, ulps) -> System.out.println(what + " " + ulps));
    assertEquals(List.of(), wrong);
  }

  @Test
  void randomPrograms() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      ElementwiseProgram program = ElementwiseCases.random(random);
      Shape shape = shape(program.rank(), random);
      Block block = ElementwiseCases.block(program, shape, random);
      // Arrays at odd addresses are taken in smaller groups of elements.
      boolean isComplex = program.inputs().stream().anyMatch(Input::isComplex);
      isComplex |= program.outputs().stream().anyMatch(Output::isComplex);
      int shift = (isComplex ? 16 : 8) * random.nextInt(4);
      assertEquals(
          "",
          ElementwiseCases.difference(
              program, block, ElementwiseCases.results(program, block), run(program, block, shift)),
          "seed " + seed);
    }
  }

  private static Shape shape(int rank, Random random) {
    long[] extents = new long[rank];
    long elements = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
      long most = Math.max(1, Math.min(6000 / elements, random.nextInt(3) == 0 ? 6000 : 12));
      extents[axis] = 1L + random.nextInt((int) most);
      elements *= extents[axis];
    }
    return Shape.of(extents);
  }

  @Test
  void inPlace() {
    ElementwiseProgram program =
        new ElementwiseProgram(
            1,
            List.of(Input.of(ElementType.FLOAT32, true)),
            List.of(),
            List.of(
                new Instruction.Load(0, 0),
                new Instruction.Load(0, 1),
                new Instruction.Binary(BinaryFunction.MULTIPLY, 0, 1)),
            List.of(new Output(2, 0)));
    int count = 1001;
    float[] numbers = new float[2 * count];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = i;
    }
    try (CudaStream stream = device.newStream();
        PinnedBuffer host = device.allocatePinned(8L * count);
        DeviceBuffer array = device.allocate(8L * count, stream)) {
      HostMemory.ofArray(numbers).copyTo(host.memory());
      stream.upload(host.memory(), array, 0);
      List<At> at = List.of(new At(array, 0));
      elementwise.run(program, Shape.of(count), new long[1], List.of(), at, at, stream);
      stream.download(array, 0, host.memory());
      stream.synchronize();
      float[] found = new float[2 * count];
      host.memory().copyTo(HostMemory.ofArray(found));
      for (int i = 0; i < count; i++) {
        assertEquals((float) (2 * i) * (2 * i + 1), found[2 * i]);
        assertEquals(2 * i, found[2 * i + 1]);
      }
    }
  }

  /** More than 2^32 elements: offsets and divisions of 64 bits. */
  @Test
  void moreElementsThanThirtyTwoBitsCount() {
    long rows = (1L << 32) / 1000 + 2;
    ElementwiseProgram program =
        new ElementwiseProgram(
            2,
            List.of(),
            List.of(),
            List.of(
                new Instruction.Place(0),
                new Instruction.Place(1),
                new Instruction.Binary(BinaryFunction.ADD, 0, 1),
                new Instruction.Cast(ElementType.INT8, 2)),
            List.of(Output.real(3)));
    try (CudaStream stream = device.newStream();
        PinnedBuffer host = device.allocatePinned(2000);
        DeviceBuffer array = device.allocate(rows * 1000, stream)) {
      elementwise.run(
          program,
          Shape.of(rows, 1000),
          new long[] {5, 7},
          List.of(),
          List.of(),
          List.of(new At(array, 0)),
          stream);
      stream.download(array, (rows - 2) * 1000, host.memory());
      stream.synchronize();
      for (int i = 0; i < 2000; i++) {
        assertEquals(
            (byte) (rows - 2 + i / 1000 + 5 + i % 1000 + 7),
            HostMemory.unsafe().getByte(host.memory().offset() + i),
            "element " + i);
      }
    }
  }

  /** Several threads, and more programs than stay loaded. */
  @Test
  void threadsAndManyPrograms() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Callable<Void>> tasks = new ArrayList<>();
      for (int task = 0; task < 4; task++) {
        int first = 1000 + task * 80;
        tasks.add(
            () -> {
              for (int seed = first; seed < first + 80; seed++) {
                Random random = new Random(seed);
                ElementwiseProgram program = ElementwiseCases.random(random);
                Block block =
                    ElementwiseCases.block(program, shape(program.rank(), random), random);
                assertEquals(
                    "",
                    ElementwiseCases.difference(
                        program,
                        block,
                        ElementwiseCases.results(program, block),
                        run(program, block, 0)));
              }
              return null;
            });
      }
      for (Future<Void> done : threads.invokeAll(tasks)) {
        done.get();
      }
    } finally {
      threads.shutdown();
    }
  }

  @Test
  void mistakes() {
    ElementwiseProgram program = ElementwiseCases.cast(ElementType.FLOAT64, ElementType.FLOAT32);
    try (CudaStream stream = device.newStream();
        DeviceBuffer in = device.allocate(80, stream);
        DeviceBuffer out = device.allocate(40, stream)) {
      List<At> from = List.of(new At(in, 0));
      List<At> to = List.of(new At(out, 0));
      elementwise.run(program, Shape.of(0), new long[1], List.of(), from, to, stream);
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> elementwise.run(program, Shape.of(11), new long[1], List.of(), from, to, stream));
      assertThrows(
          IllegalArgumentException.class,
          () -> elementwise.run(program, Shape.of(10), new long[1], from, from, to, stream));
      assertThrows(
          IllegalArgumentException.class,
          () ->
              elementwise.run(
                  program,
                  Shape.of(5),
                  new long[1],
                  List.of(),
                  List.of(new At(in, 4)),
                  to,
                  stream));
      assertThrows(
          IllegalArgumentException.class,
          () ->
              elementwise.run(
                  program, Shape.of(10), new long[1], List.of(), List.of(), to, stream));
      stream.synchronize();
    }
    assertTrue(elementwise.check(program).isPresent());
  }

  /**
   * The results, with complex numbers made interleaved and split again.
   *
   * @param shift bytes by which arrays begin after a multiple of 256, a multiple of the width of an
   *     element
   */
  private static List<List<long[]>> run(ElementwiseProgram program, Block block, int shift) {
    List<byte[]> up = new ArrayList<>();
    for (int i = 0; i < block.inputs().size(); i++) {
      up.add(
          ElementwiseCases.packed(
              program.inputs().get(i).type(), interleaved(block.inputs().get(i))));
    }
    for (double[] vector : block.vectors()) {
      byte[] bytes = new byte[8 * vector.length];
      HostMemory.ofArray(vector).copyTo(HostMemory.ofArray(bytes));
      up.add(bytes);
    }
    List<ElementType> types = program.types();
    for (Output output : program.outputs()) {
      long width = (long) types.get(output.real()).bytes() * (output.isComplex() ? 2 : 1);
      up.add(new byte[(int) (block.shape().elements() * width)]);
    }
    long bytes = GUARD;
    long[] starts = new long[up.size()];
    for (int i = 0; i < starts.length; i++) {
      starts[i] = bytes + shift;
      bytes = Ceil.to(starts[i] + up.get(i).length, GUARD) + GUARD;
    }
    List<List<long[]>> found = new ArrayList<>();
    try (CudaStream stream = device.newStream();
        PinnedBuffer host = device.allocatePinned(bytes);
        DeviceBuffer memory = device.allocate(bytes, stream)) {
      host.memory().fill((byte) 0x5a);
      List<At> at = new ArrayList<>();
      for (int i = 0; i < starts.length; i++) {
        HostMemory.ofArray(up.get(i)).copyTo(host.memory().slice(starts[i], up.get(i).length));
        at.add(new At(memory, starts[i]));
      }
      byte[] before = new byte[(int) bytes];
      host.memory().copyTo(HostMemory.ofArray(before));
      stream.upload(host.memory(), memory, 0);
      int inputs = block.inputs().size();
      int vectors = block.vectors().size();
      elementwise.run(
          program,
          block.shape(),
          block.origin(),
          at.subList(inputs, inputs + vectors),
          at.subList(0, inputs),
          at.subList(inputs + vectors, at.size()),
          stream);
      stream.download(memory, 0, host.memory());
      stream.synchronize();
      byte[] after = new byte[(int) bytes];
      host.memory().copyTo(HostMemory.ofArray(after));
      for (int o = 0; o < program.outputs().size(); o++) {
        int i = inputs + vectors + o;
        byte[] out = new byte[up.get(i).length];
        System.arraycopy(after, (int) starts[i], out, 0, out.length);
        System.arraycopy(before, (int) starts[i], after, (int) starts[i], out.length);
        Output output = program.outputs().get(o);
        found.add(
            split(ElementwiseCases.unpacked(types.get(output.real()), out), output.isComplex()));
      }
      assertEquals(-1, Arrays.mismatch(before, after), "written outside: " + program);
    }
    return found;
  }

  private static long[] interleaved(List<long[]> parts) {
    int count = parts.size();
    long[] all = new long[count * parts.get(0).length];
    for (int i = 0; i < all.length; i++) {
      all[i] = parts.get(i % count)[i / count];
    }
    return all;
  }

  private static List<long[]> split(long[] all, boolean isComplex) {
    int count = isComplex ? 2 : 1;
    List<long[]> parts = new ArrayList<>();
    for (int part = 0; part < count; part++) {
      long[] one = new long[all.length / count];
      for (int i = 0; i < one.length; i++) {
        one[i] = all[i * count + part];
      }
      parts.add(one);
    }
    return parts;
  }
}

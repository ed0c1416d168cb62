package org.tilespark.kernels.host;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.FusedAxes;
import org.tilespark.kernels.pointwise.HostLoop;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import sun.misc.Unsafe;

/**
 * An elementwise program made ready for the CPU: each instruction becomes one step, which computes
 * a chunk of values into an array. The array of a value is reused after the last instruction that
 * reads the value, so even a long program stays in the first-level cache.
 *
 * <p>INT8 and INT16 are {@code int[]} here, as in {@link HostLoop}. For one thread at a time.
 */
final class HostCode {
  /**
   * Elements of a chunk. With chunks of 128 to 384 doubles, a product and a sum run at the rate of
   * memory. With 640 and more, which the JVM copies in another way, they take half as long again.
   */
  static final int CHUNK = 256;

  /**
   * Runs of at most this number of bytes are copied by our own loop, which is faster than a call
   * for them.
   */
  private static final int CALL_BYTES = 64;

  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final long BASE = Unsafe.ARRAY_BYTE_BASE_OFFSET; // for arrays of every type

  private final ElementwiseProgram program;
  private final FusedAxes axes;
  private final List<ElementType> outputTypes;
  private final List<Step> steps = new ArrayList<>();
  // Buffer for values that memory holds as bytes or shorts.
  private final byte[] bytes = new byte[CHUNK];
  private final short[] shorts = new short[CHUNK];

  /** Computes one instruction's values for a chunk, or stores an output's chunk. */
  private interface Step {
    void run(Chunk chunk);
  }

  /** A consumer of neighbouring elements of one row of the fused axes. */
  private interface RowPart {
    /**
     * Takes neighbouring elements.
     *
     * @param at index of the first element in the chunk
     * @param count how many elements
     * @param index index of the first element along each fused axis
     */
    void take(int at, int count, long[] index);
  }

  /** The chunk of a block that the steps compute, and the block's arrays. */
  private final class Chunk {
    final long[] origin;
    final List<double[]> vectors;
    final List<List<HostMemory>> inputs;
    final List<List<HostMemory>> outputs;
    final long[] extents; // of the fused axes
    final List<long[]> strides; // of each input along the fused axes
    final long[] index;
    long first;
    int count;

    Chunk(
        Shape shape,
        long[] origin,
        List<double[]> vectors,
        List<List<HostMemory>> inputs,
        List<List<HostMemory>> outputs) {
      this.origin = origin;
      this.vectors = vectors;
      this.inputs = inputs;
      this.outputs = outputs;
      extents = axes.extents(shape);
      strides = new ArrayList<>();
      program.inputs().forEach(each -> strides.add(axes.strides(each, extents)));
      index = new long[extents.length];
    }

    void eachRowPart(RowPart action) {
      int last = extents.length - 1;
      long left = first;
      for (int axis = last; axis >= 0; axis--) {
        index[axis] = left % extents[axis];
        left /= extents[axis];
      }
      for (int at = 0; at < count; ) {
        int part = (int) Math.min(count - at, extents[last] - index[last]);
        action.take(at, part, index);
        at += part;
        index[last] = 0;
        for (int axis = last - 1; axis >= 0 && ++index[axis] == extents[axis]; axis--) {
          index[axis] = 0;
        }
      }
    }
  }

  HostCode(ElementwiseProgram program) {
    this.program = program;
    axes = FusedAxes.of(program);
    List<ElementType> types = program.types();
    outputTypes = program.outputs().stream().map(output -> types.get(output.real())).toList();
    new Compiler().compile();
  }

  /** The element type of an output. */
  ElementType outputType(int output) {
    return outputTypes.get(output);
  }

  /**
   * Runs the program on a block that is not empty; parameters as in {@link HostElementwise#run}.
   */
  void run(
      Shape shape,
      long[] origin,
      List<double[]> vectors,
      List<List<HostMemory>> inputs,
      List<List<HostMemory>> outputs) {
    Chunk chunk = new Chunk(shape, origin, vectors, inputs, outputs);
    long elements = shape.elements();
    for (long first = 0; first < elements; first += CHUNK) {
      chunk.first = first;
      chunk.count = (int) Math.min(CHUNK, elements - first);
      for (Step step : steps) {
        step.run(chunk);
      }
    }
  }

  /** Gives each value of the program its array and makes the steps. */
  private final class Compiler implements Instruction.Visitor<Object> {
    private final List<ElementType> types = program.types();
    private final Object[] arrays = new Object[types.size()]; // by number of the value
    private final int[] lastUse = new int[types.size()];
    private final Map<Class<?>, Deque<Object>> free = new HashMap<>();
    private int now; // number of the instruction that is being compiled

    void compile() {
      List<Instruction> code = program.code();
      for (int i = 0; i < lastUse.length; i++) {
        lastUse[i] = i;
        for (int operand : code.get(i).operands()) {
          lastUse[operand] = i;
        }
      }
      for (ElementwiseProgram.Output output : program.outputs()) {
        lastUse[output.real()] = Integer.MAX_VALUE;
        if (output.isComplex()) {
          lastUse[output.imag()] = Integer.MAX_VALUE;
        }
      }
      for (now = 0; now < lastUse.length; now++) {
        // The result may be written to the array of an operand: each number is read before it is
        // written.
        code.get(now).operands().stream().distinct().forEach(this::release);
        arrays[now] = code.get(now).accept(this);
        release(now);
      }
      for (int o = 0; o < program.outputs().size(); o++) {
        ElementwiseProgram.Output output = program.outputs().get(o);
        store(output.real(), o, 0);
        if (output.isComplex()) {
          store(output.imag(), o, 1);
        }
      }
    }

    /**
     * Lets other values use a value's array if this was the last instruction that reads the value.
     */
    private void release(int value) {
      if (lastUse[value] == now) {
        free.get(arrays[value].getClass()).push(arrays[value]);
      }
    }

    /** An array for the value that is being compiled. */
    private Object result() {
      Object fresh = HostNumbers.array(types.get(now), CHUNK);
      Deque<Object> known = free.computeIfAbsent(fresh.getClass(), type -> new ArrayDeque<>());
      return known.isEmpty() ? fresh : known.pop();
    }

    /**
     * The array through which numbers are copied between memory and {@code values}: {@code values}
     * itself, unless elements are narrower in memory.
     */
    private Object staged(ElementType type, Object values) {
      return type == ElementType.INT8 ? bytes : type == ElementType.INT16 ? shorts : values;
    }

    @Override
    public Object load(Instruction.Load load) {
      ElementType type = types.get(now);
      int width = type.bytes();
      Object values = result();
      Object staged = staged(type, values);
      int input = load.input();
      int part = load.part();
      if (program.inputs().get(input).broadcast().isEmpty()) {
        steps.add(
            chunk -> {
              HostMemory plane = chunk.inputs.get(input).get(part);
              copy(plane, chunk.first * width, staged, 0, chunk.count * width);
              HostNumbers.widen(staged, values, chunk.count);
            });
        return values;
      }
      steps.add(
          chunk -> {
            HostMemory plane = chunk.inputs.get(input).get(part);
            long[] strides = chunk.strides.get(input);
            boolean along = strides[strides.length - 1] > 0;
            chunk.eachRowPart(
                (at, count, index) -> {
                  long element = 0;
                  for (int axis = 0; axis < strides.length; axis++) {
                    element += index[axis] * strides[axis];
                  }
                  int length = along ? count : 1;
                  copy(plane, element * width, staged, at * width, length * width);
                  if (!along) {
                    HostNumbers.repeat(staged, at, count);
                  }
                });
            HostNumbers.widen(staged, values, chunk.count);
          });
      return values;
    }

    @Override
    public Object constant(Instruction.Constant constant) {
      lastUse[now] = Integer.MAX_VALUE; // constants are filled in once
      Object values = HostNumbers.array(constant.type(), CHUNK);
      HostNumbers.fill(constant.type(), values, constant.bits());
      return values;
    }

    @Override
    public Object place(Instruction.Place place) {
      long[] values = (long[]) result();
      int fused = axes.of(place.axis());
      boolean along = fused == axes.rank() - 1;
      steps.add(
          chunk ->
              chunk.eachRowPart(
                  (at, count, index) -> {
                    long first = chunk.origin[place.axis()] + index[fused];
                    for (int i = 0; i < count; i++) {
                      values[at + i] = along ? first + i : first;
                    }
                  }));
      return values;
    }

    @Override
    public Object axisValue(Instruction.AxisValue value) {
      double[] values = (double[]) result();
      int fused = axes.of(program.vectors().get(value.vector()));
      boolean along = fused == axes.rank() - 1;
      steps.add(
          chunk -> {
            double[] vector = chunk.vectors.get(value.vector());
            chunk.eachRowPart(
                (at, count, index) -> {
                  int first = (int) index[fused];
                  for (int i = 0; i < count; i++) {
                    values[at + i] = vector[along ? first + i : first];
                  }
                });
          });
      return values;
    }

    @Override
    public Object unary(Instruction.Unary unary) {
      return apply(
          unary.function().hostLoop(types.get(unary.operand())), unary.operand(), unary.operand());
    }

    @Override
    public Object binary(Instruction.Binary binary) {
      return apply(
          binary.function().hostLoop(types.get(binary.left())), binary.left(), binary.right());
    }

    private Object apply(HostLoop loop, int left, int right) {
      Object x = arrays[left];
      Object y = arrays[right];
      Object values = result();
      steps.add(chunk -> loop.run(x, y, values, chunk.count));
      return values;
    }

    @Override
    public Object select(Instruction.Select select) {
      int[] condition = (int[]) arrays[select.condition()];
      Object yes = arrays[select.yes()];
      Object no = arrays[select.no()];
      Object values = result();
      steps.add(chunk -> HostNumbers.select(condition, yes, no, values, chunk.count));
      return values;
    }

    @Override
    public Object cast(Instruction.Cast cast) {
      Object from = arrays[cast.operand()];
      Object values = result();
      steps.add(chunk -> HostNumbers.cast(from, cast.type(), values, chunk.count));
      return values;
    }

    private void store(int value, int output, int part) {
      int width = types.get(value).bytes();
      Object values = arrays[value];
      Object staged = staged(types.get(value), values);
      steps.add(
          chunk -> {
            HostNumbers.narrow(values, staged, chunk.count);
            HostMemory plane = chunk.outputs.get(output).get(part);
            UNSAFE.copyMemory(
                staged,
                BASE,
                plane.base(),
                plane.offset() + chunk.first * width,
                (long) chunk.count * width);
          });
    }
  }

  /**
   * Copies {@code length} bytes from memory to an array; {@code start} and {@code at} are in bytes
   * too.
   */
  private static void copy(HostMemory from, long start, Object to, int at, int length) {
    Object base = from.base();
    long source = from.offset() + start;
    long target = BASE + at;
    if (length > CALL_BYTES) {
      UNSAFE.copyMemory(base, source, to, target, length);
      return;
    }
    int i = 0;
    for (; i + Long.BYTES <= length; i += Long.BYTES) {
      UNSAFE.putLong(to, target + i, UNSAFE.getLong(base, source + i));
    }
    for (; i < length; i++) {
      UNSAFE.putByte(to, target + i, UNSAFE.getByte(base, source + i));
    }
  }
}

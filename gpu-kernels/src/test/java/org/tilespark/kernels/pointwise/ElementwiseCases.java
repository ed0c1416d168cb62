package org.tilespark.kernels.pointwise;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Elementwise programs with blocks to run them on, and what comes out when one element after the
 * other is computed, each value in an array of its own.
 */
public final class ElementwiseCases {
  /** Values at the borders of a type, as their bits. */
  private static final double[] SPECIAL = {
    0.0,
    -0.0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    Double.MIN_VALUE,
    -Double.MIN_VALUE,
    Double.MIN_NORMAL,
    Double.MAX_VALUE,
    -Double.MAX_VALUE,
    Float.MIN_VALUE,
    -Float.MIN_VALUE,
    Float.MIN_NORMAL,
    Float.MAX_VALUE,
    -Float.MAX_VALUE,
    0x1p31,
    -0x1p31,
    0x1p63,
    -0x1p63,
    127,
    -128,
    32767,
    300,
    Math.PI,
    709.9,
    -745,
    1e22
  };

  private ElementwiseCases() {}

  /**
   * A block for a program.
   *
   * @param inputs for each input and each of its parts the bits of its elements
   */
  public record Block(
      Shape shape, long[] origin, List<double[]> vectors, List<List<long[]>> inputs) {}

  /** A program of one function, from one or two inputs of a type. */
  public static ElementwiseProgram of(UnaryFunction function, ElementType type) {
    return new ElementwiseProgram(
        1,
        List.of(Input.of(type, false)),
        List.of(),
        List.of(new Instruction.Load(0, 0), new Instruction.Unary(function, 0)),
        List.of(Output.real(1)));
  }

  /** A program of one function, from two inputs of a type. */
  public static ElementwiseProgram of(BinaryFunction function, ElementType type) {
    return new ElementwiseProgram(
        1,
        List.of(Input.of(type, false), Input.of(type, false)),
        List.of(),
        List.of(
            new Instruction.Load(0, 0),
            new Instruction.Load(1, 0),
            new Instruction.Binary(function, 0, 1)),
        List.of(Output.real(2)));
  }

  /** A program of one cast. */
  public static ElementwiseProgram cast(ElementType from, ElementType to) {
    return new ElementwiseProgram(
        1,
        List.of(Input.of(from, false)),
        List.of(),
        List.of(new Instruction.Load(0, 0), new Instruction.Cast(to, 0)),
        List.of(Output.real(1)));
  }

  /** Each function on each type that it takes, and each cast. */
  public static List<ElementwiseProgram> ofOneStep() {
    List<ElementwiseProgram> programs = new ArrayList<>();
    for (ElementType type : ElementType.values()) {
      for (UnaryFunction function : UnaryFunction.values()) {
        if (takes(() -> function.type(type))) {
          programs.add(of(function, type));
        }
      }
      for (BinaryFunction function : BinaryFunction.values()) {
        if (takes(() -> function.type(type))) {
          programs.add(of(function, type));
        }
      }
      for (ElementType to : ElementType.values()) {
        programs.add(cast(type, to));
      }
    }
    return programs;
  }

  private static boolean takes(Runnable type) {
    try {
      type.run();
      return true;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** Normal random numbers, each of the bits of a BIGINT. */
  public static ElementwiseProgram normalNumbers() {
    List<Instruction> code =
        List.of(
            new Instruction.Load(0, 0),
            new Instruction.Unary(UnaryFunction.MIX, 0),
            new Instruction.Unary(UnaryFunction.UPPER_BITS, 1),
            new Instruction.Cast(ElementType.FLOAT64, 2),
            Instruction.Constant.of(0x1p-53),
            new Instruction.Binary(BinaryFunction.MULTIPLY, 3, 4),
            new Instruction.Unary(UnaryFunction.NORMAL_QUANTILE, 5));
    return new ElementwiseProgram(
        1,
        List.of(Input.of(ElementType.INT64, false)),
        List.of(),
        code,
        List.of(Output.real(code.size() - 1)));
  }

  /** The sum of an element and of more constants than a kernel has arguments. */
  public static ElementwiseProgram manyConstants(ElementType type) {
    List<Instruction> code = new ArrayList<>(List.of(new Instruction.Load(0, 0)));
    for (int i = 0; i < 300; i++) {
      double number = 1 + Math.sin(i);
      code.add(
          switch (type) {
            case FLOAT32 -> Instruction.Constant.of((float) number);
            case FLOAT64 -> Instruction.Constant.of(number);
            default -> new Instruction.Constant(type, i - 150);
          });
      code.add(new Instruction.Binary(BinaryFunction.ADD, code.size() - 2, code.size() - 1));
    }
    return new ElementwiseProgram(
        1, List.of(Input.of(type, false)), List.of(), code, List.of(Output.real(code.size() - 1)));
  }

  /**
   * A program of random steps whose results have equal bits on both twins: of every instruction,
   * type and rank, with real, complex and broadcast inputs and several outputs.
   */
  public static ElementwiseProgram random(Random random) {
    int rank = 1 + random.nextInt(ElementwiseProgram.MOST_AXES);
    List<Input> inputs = new ArrayList<>();
    int inputCount = 1 + random.nextInt(3);
    for (int i = 0; i < inputCount; i++) {
      Set<Integer> broadcast = new HashSet<>();
      for (int axis = 0; axis < rank; axis++) {
        if (random.nextInt(4) == 0) {
          broadcast.add(axis);
        }
      }
      inputs.add(new Input(randomType(random), random.nextBoolean(), broadcast));
    }
    List<Integer> vectors =
        IntStream.range(0, random.nextInt(3)).mapToObj(v -> random.nextInt(rank)).toList();
    List<Instruction> code = new ArrayList<>();
    List<ElementType> types = new ArrayList<>();
    ElementwiseProgram.Scope scope = new ElementwiseProgram.Scope(rank, inputs, vectors, types);
    for (int i = 0; i < inputCount; i++) {
      code.add(new Instruction.Load(i, inputs.get(i).isComplex() ? 1 : 0));
      types.add(inputs.get(i).type());
    }
    int length = 5 + random.nextInt(25);
    while (code.size() < length) {
      Instruction next = randomInstruction(random, rank, inputs, vectors, types);
      try {
        types.add(next.type(scope));
        code.add(next);
      } catch (IllegalArgumentException e) {
        continue; // operands of other types; the next may do
      }
    }
    List<Output> outputs = new ArrayList<>();
    outputs.add(Output.real(code.size() - 1));
    int one = random.nextInt(code.size());
    int other = random.nextInt(code.size());
    outputs.add(types.get(one) == types.get(other) ? new Output(one, other) : Output.real(other));
    return new ElementwiseProgram(rank, inputs, vectors, code, outputs);
  }

  private static ElementType randomType(Random random) {
    return ElementType.values()[random.nextInt(ElementType.values().length)];
  }

  private static Instruction randomInstruction(
      Random random, int rank, List<Input> inputs, List<Integer> vectors, List<ElementType> types) {
    int a = random.nextInt(types.size());
    int b = random.nextInt(types.size());
    ElementType type = randomType(random);
    return switch (random.nextInt(10)) {
      case 0 -> new Instruction.Load(random.nextInt(inputs.size()), 0);
      case 1 -> new Instruction.Constant(type, bits(type, random.nextInt(100) - 50));
      case 2 -> new Instruction.Place(random.nextInt(rank));
      case 3 -> new Instruction.AxisValue(random.nextInt(vectors.size() + 1));
      case 4, 5 -> new Instruction.Unary(exact(random), a);
      case 6 -> new Instruction.Select(a, b, random.nextInt(types.size()));
      case 7 -> new Instruction.Cast(type, a);
      default -> new Instruction.Binary(exactBinary(random), a, b);
    };
  }

  private static UnaryFunction exact(Random random) {
    UnaryFunction[] exact = {
      UnaryFunction.NEGATE,
      UnaryFunction.ABS,
      UnaryFunction.SIGN,
      UnaryFunction.FLOOR,
      UnaryFunction.CEIL,
      UnaryFunction.ROUND,
      UnaryFunction.SQRT,
      UnaryFunction.IS_NAN,
      UnaryFunction.NOT
    };
    return exact[random.nextInt(exact.length)];
  }

  private static BinaryFunction exactBinary(Random random) {
    BinaryFunction[] all = BinaryFunction.values();
    BinaryFunction function = all[random.nextInt(all.length)];
    return switch (function) {
      case POW, ATAN2, HYPOT -> BinaryFunction.ADD;
      default -> function;
    };
  }

  /** A block of random and special numbers for a program. */
  public static Block block(ElementwiseProgram program, Shape shape, Random random) {
    long[] origin = random.longs(program.rank(), 0, 1L << 40).toArray();
    List<double[]> vectors =
        program.vectors().stream()
            .map(axis -> random.doubles(shape.extent(axis), -9, 9).toArray())
            .toList();
    List<List<long[]>> inputs =
        program.inputs().stream()
            .map(
                input ->
                    IntStream.range(0, input.isComplex() ? 2 : 1)
                        .mapToObj(
                            part ->
                                numbers(input.type(), (int) input.shape(shape).elements(), random))
                        .toList())
            .toList();
    return new Block(shape, origin, vectors, inputs);
  }

  /** Bits of random and special numbers. */
  public static long[] numbers(ElementType type, int count, Random random) {
    long[] numbers = new long[count];
    for (int i = 0; i < count; i++) {
      double scale = Math.scalb(1.0, random.nextInt(40) - 20);
      double value =
          random.nextInt(4) == 0
              ? SPECIAL[random.nextInt(SPECIAL.length)]
              : random.nextInt(4) == 0 ? random.nextInt(200) - 100 : random.nextGaussian() * scale;
      numbers[i] = bits(type, value);
    }
    return numbers;
  }

  /** The bits of a number in a type; of integers the value, sign-extended. */
  public static long bits(ElementType type, double value) {
    return switch (type) {
      case INT8 -> (byte) (long) value;
      case INT16 -> (short) (long) value;
      case INT32 -> (int) value;
      case INT64 -> (long) value;
      case FLOAT32 -> Float.floatToRawIntBits((float) value);
      case FLOAT64 -> Double.doubleToRawLongBits(value);
    };
  }

  /** These bits, with one NaN for all. */
  public static long comparable(ElementType type, long bits) {
    return switch (type) {
      case FLOAT32 -> Float.floatToIntBits(Float.intBitsToFloat((int) bits));
      case FLOAT64 -> Double.doubleToLongBits(Double.longBitsToDouble(bits));
      default -> bits;
    };
  }

  /** The results: for each output and each of its parts the bits of its elements. */
  public static List<List<long[]>> results(ElementwiseProgram program, Block block) {
    int elements = (int) block.shape().elements();
    List<List<long[]>> results = new ArrayList<>();
    for (Output output : program.outputs()) {
      List<long[]> parts = new ArrayList<>();
      parts.add(new long[elements]);
      if (output.isComplex()) {
        parts.add(new long[elements]);
      }
      results.add(parts);
    }
    long[] index = new long[program.rank()];
    for (int element = 0; element < elements; element++) {
      long left = element;
      for (int axis = index.length - 1; axis >= 0; axis--) {
        index[axis] = left % block.shape().extent(axis);
        left /= block.shape().extent(axis);
      }
      long[] values = values(program, block, index);
      for (int o = 0; o < results.size(); o++) {
        Output output = program.outputs().get(o);
        results.get(o).get(0)[element] = values[output.real()];
        if (output.isComplex()) {
          results.get(o).get(1)[element] = values[output.imag()];
        }
      }
    }
    return results;
  }

  private static long[] values(ElementwiseProgram program, Block block, long[] index) {
    List<ElementType> types = program.types();
    long[] values = new long[types.size()];
    for (int i = 0; i < values.length; i++) {
      int now = i;
      values[i] =
          program
              .code()
              .get(i)
              .accept(
                  new Instruction.Visitor<Long>() {
                    @Override
                    public Long load(Instruction.Load load) {
                      Input input = program.inputs().get(load.input());
                      long element = 0;
                      for (int axis = 0; axis < index.length; axis++) {
                        boolean all = !input.broadcast().contains(axis);
                        element =
                            all ? element * block.shape().extent(axis) + index[axis] : element;
                      }
                      return block.inputs().get(load.input()).get(load.part())[(int) element];
                    }

                    @Override
                    public Long constant(Instruction.Constant constant) {
                      return constant.bits();
                    }

                    @Override
                    public Long place(Instruction.Place place) {
                      return block.origin()[place.axis()] + index[place.axis()];
                    }

                    @Override
                    public Long axisValue(Instruction.AxisValue value) {
                      int axis = program.vectors().get(value.vector());
                      double[] vector = block.vectors().get(value.vector());
                      return Double.doubleToRawLongBits(vector[(int) index[axis]]);
                    }

                    @Override
                    public Long unary(Instruction.Unary unary) {
                      ElementType type = types.get(unary.operand());
                      return one(
                          unary.function().hostLoop(type),
                          type,
                          values[unary.operand()],
                          values[unary.operand()],
                          types.get(now));
                    }

                    @Override
                    public Long binary(Instruction.Binary binary) {
                      ElementType type = types.get(binary.left());
                      return one(
                          binary.function().hostLoop(type),
                          type,
                          values[binary.left()],
                          values[binary.right()],
                          types.get(now));
                    }

                    @Override
                    public Long select(Instruction.Select select) {
                      return values[values[select.condition()] != 0 ? select.yes() : select.no()];
                    }

                    @Override
                    public Long cast(Instruction.Cast cast) {
                      return converted(
                          types.get(cast.operand()), values[cast.operand()], cast.type());
                    }
                  });
    }
    return values;
  }

  private static long converted(ElementType from, long bits, ElementType to) {
    if (from != ElementType.FLOAT32 && from != ElementType.FLOAT64) {
      return switch (to) {
        case INT8 -> (byte) bits;
        case INT16 -> (short) bits;
        case INT32 -> (int) bits;
        case INT64 -> bits;
        case FLOAT32 -> Float.floatToRawIntBits((float) bits);
        case FLOAT64 -> Double.doubleToRawLongBits((double) bits);
      };
    }
    double value =
        from == ElementType.FLOAT32
            ? Float.intBitsToFloat((int) bits)
            : Double.longBitsToDouble(bits);
    boolean isInt = value > -0x1p31 - 1 && value < 0x1p31;
    boolean isLong = value >= -0x1p63 && value < 0x1p63;
    int asInt = isInt ? (int) value : Integer.MIN_VALUE;
    return switch (to) {
      case INT8 -> (byte) asInt;
      case INT16 -> (short) asInt;
      case INT32 -> asInt;
      case INT64 -> isLong ? (long) value : Long.MIN_VALUE;
      case FLOAT32 -> Float.floatToRawIntBits((float) value);
      case FLOAT64 -> Double.doubleToRawLongBits(value);
    };
  }

  /** A loop on one number. */
  static long one(HostLoop loop, ElementType type, long x, long y, ElementType resultType) {
    Object to = array(resultType, 0);
    loop.run(array(type, x), array(type, y), to, 1);
    if (to instanceof int[] a) {
      return a[0];
    } else if (to instanceof long[] a) {
      return a[0];
    } else if (to instanceof float[] a) {
      return Float.floatToRawIntBits(a[0]);
    }
    return Double.doubleToRawLongBits(((double[]) to)[0]);
  }

  private static Object array(ElementType type, long bits) {
    return switch (type) {
      case INT8, INT16, INT32 -> new int[] {(int) bits};
      case INT64 -> new long[] {bits};
      case FLOAT32 -> new float[] {Float.intBitsToFloat((int) bits)};
      case FLOAT64 -> new double[] {Double.longBitsToDouble(bits)};
    };
  }

  /** Bits in their memory layout. */
  public static byte[] packed(ElementType type, long[] bits) {
    byte[] bytes = new byte[bits.length * type.bytes()];
    for (int i = 0; i < bits.length; i++) {
      for (int b = 0; b < type.bytes(); b++) {
        bytes[i * type.bytes() + b] = (byte) (bits[i] >>> (8 * b));
      }
    }
    return bytes;
  }

  /** The other way; integers are sign-extended, of FLOAT32 the upper bits are 0. */
  public static long[] unpacked(ElementType type, byte[] bytes) {
    long[] bits = new long[bytes.length / type.bytes()];
    for (int i = 0; i < bits.length; i++) {
      for (int b = type.bytes() - 1; b >= 0; b--) {
        bits[i] = bits[i] << 8 | (bytes[i * type.bytes() + b] & 0xff);
      }
      bits[i] =
          switch (type) {
            case INT8 -> (byte) bits[i];
            case INT16 -> (short) bits[i];
            case INT32, FLOAT32 -> (int) bits[i];
            case INT64, FLOAT64 -> bits[i];
          };
    }
    return bits;
  }

  /** The first difference between results, or nothing. */
  public static String difference(
      ElementwiseProgram program,
      Block block,
      List<List<long[]>> expected,
      List<List<long[]>> found) {
    for (int o = 0; o < expected.size(); o++) {
      ElementType type = program.types().get(program.outputs().get(o).real());
      for (int part = 0; part < expected.get(o).size(); part++) {
        long[] a = expected.get(o).get(part);
        long[] b = found.get(o).get(part);
        for (int i = 0; i < a.length; i++) {
          if (comparable(type, a[i]) != comparable(type, b[i])) {
            return "%s of %s %s: output %s, part %s, element %s is %x, expected %x; vectors %s"
                .formatted(
                    program,
                    block.shape(),
                    Arrays.toString(block.origin()),
                    o,
                    part,
                    i,
                    b[i],
                    a[i],
                    block.vectors().size());
          }
        }
      }
    }
    return "";
  }
}
